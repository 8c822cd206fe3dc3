"""What is secret: graphs of values that must not be told apart, and the file that says so."""

from tetraodon.policy.policy import Item, Policy
from tetraodon.policy.secret_graph import ABSENT, Factor, SecretGraph

__all__ = ["ABSENT", "Factor", "Item", "Policy", "SecretGraph"]
