"""Pufferfish: say the secrets and the attackers, verify any mechanism, see the attacker who breaks it."""

from tetraodon.certificate.table_secret_loss import AnswerLaw, LawPair
from tetraodon.pufferfish import named, pairs, scenarios, view_attackers, view_privacy, view_usefulness
from tetraodon.pufferfish.additive import Additive, DiscreteLaplace, Gaussian, Laplace
from tetraodon.pufferfish.axioms import (
    Composition,
    Template,
    compiled,
    compose,
    convexity_counterexample,
    k_anonymity,
    post_processing_counterexample,
)
from tetraodon.pufferfish.calibrated import Calibrated, NoisyNumber, absolute_sum, relative_sum
from tetraodon.pufferfish.channel import Channel, mixture
from tetraodon.pufferfish.definition import Definition, Verdict, Witness
from tetraodon.pufferfish.derived_mechanism import Mixed, Processed
from tetraodon.pufferfish.laws_of_sums import (
    TreeModel,
    chain_model,
    epidemic,
    exchangeable,
    exchangeable_histogram,
    hidden_chain_model,
    ising_model,
    long_chain,
    tree_laws,
)
from tetraodon.pufferfish.least_noise import (
    GaussianAnswer,
    LeastNoise,
    Staircase,
    first_accepted,
    gaussian_wasserstein,
    least_accepted,
    least_noise,
    least_noise_on,
    least_staircase,
    renyi_together,
)
from tetraodon.pufferfish.meaning import (
    Simulator,
    choose_epsilon,
    if_the_scenario_is_wrong,
    meaning,
    posterior,
    readings,
    simulation,
)
from tetraodon.pufferfish.optimal import Optimal, optimal_mechanism
from tetraodon.pufferfish.policy_graph import (
    Longest,
    PolicyGraph,
    Sparsity,
    histogram_bound,
    longest_cycle,
    longest_path,
    policy_graph,
    sparsity,
)
from tetraodon.pufferfish.scenarios import Composable, Prior, Scenario
from tetraodon.pufferfish.table_secrets import GaussianSecret, secret_share
from tetraodon.pufferfish.verification import verify
from tetraodon.pufferfish.wasserstein import wasserstein
from tetraodon.pufferfish.world import Secret, World

__all__ = [
    "Additive",
    "AnswerLaw",
    "Calibrated",
    "Channel",
    "Composable",
    "Composition",
    "Definition",
    "DiscreteLaplace",
    "Gaussian",
    "GaussianAnswer",
    "GaussianSecret",
    "Laplace",
    "LawPair",
    "LeastNoise",
    "Longest",
    "Mixed",
    "NoisyNumber",
    "Optimal",
    "PolicyGraph",
    "Prior",
    "Processed",
    "Scenario",
    "Secret",
    "Simulator",
    "Sparsity",
    "Staircase",
    "Template",
    "TreeModel",
    "Verdict",
    "Witness",
    "World",
    "absolute_sum",
    "chain_model",
    "choose_epsilon",
    "compiled",
    "compose",
    "convexity_counterexample",
    "epidemic",
    "exchangeable",
    "exchangeable_histogram",
    "first_accepted",
    "gaussian_wasserstein",
    "hidden_chain_model",
    "histogram_bound",
    "if_the_scenario_is_wrong",
    "ising_model",
    "k_anonymity",
    "least_accepted",
    "least_noise",
    "least_noise_on",
    "least_staircase",
    "long_chain",
    "longest_cycle",
    "longest_path",
    "meaning",
    "mixture",
    "named",
    "optimal_mechanism",
    "pairs",
    "policy_graph",
    "post_processing_counterexample",
    "posterior",
    "readings",
    "relative_sum",
    "renyi_together",
    "scenarios",
    "secret_share",
    "simulation",
    "sparsity",
    "tree_laws",
    "verify",
    "view_attackers",
    "view_privacy",
    "view_usefulness",
    "wasserstein",
]


def __dir__() -> list[str]:
    return __all__
