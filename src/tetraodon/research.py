"""Tools for research: what the papers have that a curator does not need, and what tests are made of.

A listing of small worlds to hold a price against (`oracle`), the price of noise that is added to a whole table, the
secret graph itself, FRAPP and other ways to replace values, noise that looks like the data, the release of one number
of a Pufferfish mechanism, and how many tuples of a domain of any size satisfy a condition. Domains and adversaries as
values, for policies that are built rather than read.
"""
# ruff: noqa: I001  (a name that is exported is imported as itself)

from typing import TYPE_CHECKING

from tetraodon.lazy_names import lazy_names, public_names

if TYPE_CHECKING:
    from tetraodon.certificate import Sensitivity as Sensitivity, oracle as oracle
    from tetraodon.certificate.added_noise import certify_added_noise as certify_added_noise
    from tetraodon.domain import Attribute as Attribute, Domain as Domain
    from tetraodon.policy.adversary import Adversary as Adversary
    from tetraodon.policy.secret_graph import ABSENT as ABSENT, SecretGraph as SecretGraph
    from tetraodon.releases.pufferfish_number import release_number as release_number
    from tetraodon.views.domain_count import domain_count as domain_count
    from tetraodon.views.perturbation import (
        Perturbation as Perturbation,
        frapp as frapp,
        perturbation as perturbation,
    )
    from tetraodon.views.source_noise import source_channel as source_channel

_NAMES = {
    "tetraodon.certificate": "Sensitivity",
    "tetraodon.certificate.added_noise": "certify_added_noise",
    "tetraodon.certificate.oracle": "oracle",
    "tetraodon.domain": "Attribute Domain",
    "tetraodon.policy.adversary": "Adversary",
    "tetraodon.policy.secret_graph": "ABSENT SecretGraph",
    "tetraodon.releases.pufferfish_number": "release_number",
    "tetraodon.views.domain_count": "domain_count",
    "tetraodon.views.perturbation": "frapp Perturbation perturbation",
    "tetraodon.views.source_noise": "source_channel",
}
__all__ = public_names(_NAMES)

if not TYPE_CHECKING:  # hidden from the type check, so that a misspelt name is still found
    __getattr__, __dir__ = lazy_names(__name__, _NAMES, {}, globals())
