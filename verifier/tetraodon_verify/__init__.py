"""An independent verifier of Tetraodon releases: the standard library, and nothing of the package that makes them."""

from tetraodon_verify.loss import Loss, loss
from tetraodon_verify.policy import Malformed, Unsupported

__all__ = ["Loss", "Malformed", "Unsupported", "loss"]
