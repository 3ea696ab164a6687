"""Another Harbor than the one the workers came with: how it is named, allowed, resolved and built."""
