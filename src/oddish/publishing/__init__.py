"""Datasets of a results directory in buckets of the Hugging Face Hub, from where a viewer elsewhere reads them."""
