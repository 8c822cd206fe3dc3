"""For programs that help somebody write a policy file: read it unfinished, edit it, preview and picture its promise."""

from tetraodon.policy.edit import edit_policy
from tetraodon.policy.load import parse_partial
from tetraodon.releases.plan import preview
from tetraodon.releases.simulated import simulate
from tetraodon.report.odds import picture

__all__ = ["edit_policy", "parse_partial", "picture", "preview", "simulate"]


def __dir__() -> list[str]:
    return __all__
