"""A gallery of attacks, each of them run: what it gets, and what defends."""

from tetraodon.attacks.attack import Attack, Story
from tetraodon.attacks.gallery import GALLERY, find

__all__ = ["GALLERY", "Attack", "Story", "find"]


def __dir__() -> list[str]:
    return __all__
