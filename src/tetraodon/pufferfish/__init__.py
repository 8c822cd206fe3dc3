"""Pufferfish: say the secrets and the attackers, verify any mechanism, see the attacker who breaks it."""

from tetraodon.pufferfish import pairs, scenarios
from tetraodon.pufferfish.channel import Channel, mixture
from tetraodon.pufferfish.definition import Definition
from tetraodon.pufferfish.prior import Prior
from tetraodon.pufferfish.secret import Secret
from tetraodon.pufferfish.verdict import Verdict, Witness
from tetraodon.pufferfish.verification import verify
from tetraodon.pufferfish.world import World

__all__ = [
    "Channel",
    "Definition",
    "Prior",
    "Secret",
    "Verdict",
    "Witness",
    "World",
    "mixture",
    "pairs",
    "scenarios",
    "verify",
]
