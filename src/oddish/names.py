"""Names for experiments that were given none."""

import secrets
import string


def _words(text: str) -> list[str]:
    return text.split()


ADJECTIVES = _words(
    "amber bold brisk calm clever cosy crisp eager fair fleet gentle golden hardy keen light lively lucid mellow merry "
    "mild neat nimble patient plucky polite proud quick quiet rapid silver sleek smooth snug solid spry steady sunny "
    "tidy vivid warm witty zesty"
)
NOUNS = _words(
    "acorn badger beacon birch brook canyon cedar cliff clover crane delta ember falcon fern fjord glade harbor hazel "
    "heron island juniper lagoon lantern larch maple meadow otter pebble pine plover quartz reef ridge river robin "
    "sparrow spruce summit thistle tundra willow wren"
)
ALPHABET = string.ascii_lowercase + string.digits


def experiment_name() -> str:
    """``adjective-noun-xxxx``."""
    suffix = "".join(secrets.choice(ALPHABET) for _ in range(4))
    return f"{secrets.choice(ADJECTIVES)}-{secrets.choice(NOUNS)}-{suffix}"
