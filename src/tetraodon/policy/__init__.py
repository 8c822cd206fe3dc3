"""Policies: secret graphs, known facts, attackers, and the policy file that states them."""

from tetraodon.policy.policy import Item, Policy
from tetraodon.policy.secret_graph import ABSENT, Factor, SecretGraph

__all__ = ["ABSENT", "Factor", "Item", "Policy", "SecretGraph"]
