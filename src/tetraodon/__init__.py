"""Tetraodon: say what is secret, what is known and who might attack; publish the rest with proof.

Names are fetched on first use, so that `import tetraodon` costs next to nothing. Definitions of privacy are in
`tetraodon.pufferfish`, tools for research in `tetraodon.research`.
"""

from typing import TYPE_CHECKING
from tetraodon.lazy_names import lazy_names
from tetraodon.lazy_names import public_names

if TYPE_CHECKING:
    from tetraodon import noise as noise
    from tetraodon import pufferfish as pufferfish
    from tetraodon import research as research
    from tetraodon.certificate import Certificate as Certificate
    from tetraodon.certificate import certify as certify
    from tetraodon.certificate import sensitivity as sensitivity
    from tetraodon.client import connect as connect
    from tetraodon.domain import Attribute as Attribute
    from tetraodon.domain import Domain as Domain
    from tetraodon.errors import BudgetExhausted as BudgetExhausted
    from tetraodon.errors import Charged as Charged
    from tetraodon.errors import DataRefusal as DataRefusal
    from tetraodon.errors import DomainError as DomainError
    from tetraodon.errors import LedgerError as LedgerError
    from tetraodon.errors import NoiseError as NoiseError
    from tetraodon.errors import Overtaken as Overtaken
    from tetraodon.errors import PolicyError as PolicyError
    from tetraodon.errors import QueryError as QueryError
    from tetraodon.errors import Refused as Refused
    from tetraodon.errors import ReleaseError as ReleaseError
    from tetraodon.errors import TableError as TableError
    from tetraodon.errors import TetraodonError as TetraodonError
    from tetraodon.ledger import Ledger as Ledger
    from tetraodon.mechanism.kmeans.estimator import PolicyKMeans as PolicyKMeans
    from tetraodon.policy.adversary import Adversary as Adversary
    from tetraodon.policy.draft import init as init
    from tetraodon.policy.edit import edited as edited
    from tetraodon.policy.explain import explain as explain
    from tetraodon.policy.load import hold as hold
    from tetraodon.policy.load import load_policy as load_policy
    from tetraodon.policy.policy import Policy as Policy
    from tetraodon.views.perturb import Perturbed as Perturbed
    from tetraodon.views.perturb import load_perturbed as load_perturbed
    from tetraodon.views.perturb import perturb as perturb
    from tetraodon.views.publish import publish as publish
    from tetraodon.views.view import View as View
    from tetraodon.views.view import load_view as load_view
    from tetraodon.query.kinds import cdf as cdf
    from tetraodon.query.kinds import correlation as correlation
    from tetraodon.query.kinds import count as count
    from tetraodon.query.kinds import covariance as covariance
    from tetraodon.query.kinds import histogram as histogram
    from tetraodon.query.kinds import kmeans as kmeans
    from tetraodon.query.kinds import mean as mean
    from tetraodon.query.kinds import mean_per_person as mean_per_person
    from tetraodon.query.kinds import median as median
    from tetraodon.query.kinds import people as people
    from tetraodon.query.kinds import proportion as proportion
    from tetraodon.query.kinds import quantiles as quantiles
    from tetraodon.query.kinds import ranges as ranges
    from tetraodon.query.kinds import ratio as ratio
    from tetraodon.query.kinds import rectangles as rectangles
    from tetraodon.query.kinds import regression as regression
    from tetraodon.query.kinds import total as total
    from tetraodon.query.kinds import total_per_person as total_per_person
    from tetraodon.query.kinds import standard_deviation as standard_deviation
    from tetraodon.query.kinds import synthetic as synthetic
    from tetraodon.query.kinds import variance as variance
    from tetraodon.releases.counting import check as check
    from tetraodon.releases.compare import compare as compare
    from tetraodon.releases.folder import load_release as load_release
    from tetraodon.releases.least_epsilon import plan_for_error as plan_for_error
    from tetraodon.releases.plan import Plan as Plan
    from tetraodon.releases.plan import plan as plan
    from tetraodon.releases.plan import preview as preview
    from tetraodon.releases.release import Release as Release
    from tetraodon.releases.reprice import reprice as reprice
    from tetraodon.releases.run import release as release
    from tetraodon.releases.simulated import simulate as simulate
    from tetraodon.releases.simulated import synthesize as synthesize
    from tetraodon.releases.joint_errors import errors_together as errors_together
    from tetraodon.report.odds import picture as picture
    from tetraodon.views.verify import verify as verify

# ruff: noqa: I001  (a name that is exported is imported as itself)


__version__ = "0.1.0"

_NAMES = {
    "tetraodon.noise": "noise",
    "tetraodon.pufferfish": "pufferfish",
    "tetraodon.research": "research",
    "tetraodon.certificate": "Certificate certify sensitivity",
    "tetraodon.client": "connect",
    "tetraodon.domain": "Attribute Domain",
    "tetraodon.errors": (
        "BudgetExhausted Charged DataRefusal DomainError LedgerError NoiseError Overtaken PolicyError "
        "QueryError Refused ReleaseError TableError TetraodonError"
    ),
    "tetraodon.ledger": "Ledger",
    "tetraodon.mechanism.kmeans.estimator": "PolicyKMeans",
    "tetraodon.policy.adversary": "Adversary",
    "tetraodon.policy.draft": "init",
    "tetraodon.policy.edit": "edited",
    "tetraodon.policy.explain": "explain",
    "tetraodon.policy.load": "hold load_policy",
    "tetraodon.policy.policy": "Policy",
    "tetraodon.views.perturb": "Perturbed load_perturbed perturb",
    "tetraodon.views.publish": "publish",
    "tetraodon.views.view": "View load_view",
    "tetraodon.query.kinds": (
        "cdf correlation count covariance histogram kmeans mean mean_per_person median people proportion "
        "quantiles ranges ratio rectangles regression standard_deviation synthetic total total_per_person "
        "variance"
    ),
    "tetraodon.releases.counting": "check",
    "tetraodon.releases.compare": "compare",
    "tetraodon.releases.folder": "load_release",
    "tetraodon.releases.least_epsilon": "plan_for_error",
    "tetraodon.releases.plan": "Plan plan preview",
    "tetraodon.releases.release": "Release",
    "tetraodon.releases.reprice": "reprice",
    "tetraodon.releases.run": "release",
    "tetraodon.releases.simulated": "simulate synthesize",
    "tetraodon.releases.joint_errors": "errors_together",
    "tetraodon.report.odds": "picture",
    "tetraodon.views.verify": "verify",
}
_MOVED = {
    "pufferfish": "Channel Definition Secret World compose optimal_mechanism pairs scenarios",
    "research": "ABSENT Perturbation SecretGraph Sensitivity domain_count frapp oracle perturbation",
}

__all__ = public_names(_NAMES)

if not TYPE_CHECKING:  # hidden from the type check, so that a misspelt name is still found
    __getattr__, __dir__ = lazy_names(__name__, _NAMES, _MOVED, globals())
