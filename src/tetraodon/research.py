"""Tools for research: what the papers have that a curator does not need, and what tests are made of.

A listing of small worlds to hold a price against (`oracle`), the price of noise that is added to a whole table, the
secret graph itself, marginals for many histograms together, FRAPP and other ways to replace values, noise that looks
like the data, the release of one number of a Pufferfish mechanism, and how many tuples of a domain of any size satisfy
a condition.
"""
# ruff: noqa: I001  (a name that is exported is imported as itself)

from typing import TYPE_CHECKING

from tetraodon.lazy_names import lazy_names, public_names

if TYPE_CHECKING:
    from tetraodon.certificate import Sensitivity as Sensitivity, oracle as oracle
    from tetraodon.certificate.added_noise import certify_added_noise as certify_added_noise
    from tetraodon.mechanism.marginals import marginals as marginals
    from tetraodon.policy.secret_graph import ABSENT as ABSENT, SecretGraph as SecretGraph
    from tetraodon.publishing.domain_count import domain_count as domain_count
    from tetraodon.publishing.frapp import frapp as frapp
    from tetraodon.publishing.perturbation import Perturbation as Perturbation, perturbation as perturbation
    from tetraodon.publishing.source_noise import source_channel as source_channel
    from tetraodon.releasing.release_number import release_number as release_number

_NAMES = {
    "tetraodon.certificate": "Sensitivity",
    "tetraodon.certificate.added_noise": "certify_added_noise",
    "tetraodon.certificate.oracle": "oracle",
    "tetraodon.mechanism.marginals": "marginals",
    "tetraodon.policy.secret_graph": "ABSENT SecretGraph",
    "tetraodon.publishing.domain_count": "domain_count",
    "tetraodon.publishing.frapp": "frapp",
    "tetraodon.publishing.perturbation": "Perturbation perturbation",
    "tetraodon.publishing.source_noise": "source_channel",
    "tetraodon.releasing.release_number": "release_number",
}
__all__ = public_names(_NAMES)

if not TYPE_CHECKING:  # hidden from the type check, so that a misspelt name is still found
    __getattr__, __dir__ = lazy_names(__name__, _NAMES, {}, globals())
