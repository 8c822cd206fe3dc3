"""Measurements, plans and certificates as plain data and back; plans as tables of texts, and as they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from tetraodon.certificate.certificate import Certificate, Dataset, Sensitivity, TableChance, TableShare
from tetraodon.domain import Domain
from tetraodon.errors import QueryError, ReleaseError
from tetraodon.exact.rational import decimal_text
from tetraodon.ledger import document_hash, shown_above
from tetraodon.noise.laws import law_from
from tetraodon.policy.load import load_policy, stated_policy
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.query.adaptive_partition import Divided
from tetraodon.query.aim import ChosenTables
from tetraodon.query.contribution import Answerers, Beyond, Contribution, One, Prefix, WeightedSums
from tetraodon.query.edge_flows import Flows
from tetraodon.query.kinds import linear
from tetraodon.query.levels import LevelSums
from tetraodon.query.linear import LinearQuery, Measurement, split_document, split_from
from tetraodon.query.local_log_noise import Disguised
from tetraodon.query.number import EachPerson, Number
from tetraodon.query.query import Query
from tetraodon.query.ranks import Ranks
from tetraodon.query.smooth import Hats, Ramps, SmoothRunning, SmoothSums
from tetraodon.query.soft_bins import Product, Soft
from tetraodon.query.weighted_margins import WeighedMargins
from tetraodon.releases.estimates import joint_errors
from tetraodon.releases.least_epsilon import plan_for_error
from tetraodon.releases.plan import Plan, PlannedItem, PlannedNames, plan
from tetraodon.wording import of_one, shown_number

# -- codec ------------------------------------------------------------------------------------------

KINDS: dict[str, type[Contribution]] = {
    "records": One,
    "answerers": Answerers,
    "running": Prefix,
    "sum": Number,
    "squares": Number,
    "weighted sums": WeightedSums,
    "beyond": Beyond,
    "people": EachPerson,
    "capped sum": EachPerson,
    "smooth bins": Hats,
    "smooth running": Ramps,
    "smooth sums": SmoothSums,
    "running sums": SmoothRunning,
    "soft bins": Soft,
    "soft table": Product,
    "weighed margins": WeighedMargins,
    "flows": Flows,
    "ranks": Ranks,
    "chosen tables": ChosenTables,
    "divided": Divided,
    "shown": Disguised,
    "level sums": LevelSums,
}
"""What is measured, by its name in a release; "asked" stands for the rows of the item's own question."""


def measurement_document(measurement: Measurement) -> dict[str, Any]:
    """A measurement as JSON: what is counted, split by what, with how much noise."""
    return {
        "counts": measurement.query.contribution.document(),
        "by": [split_document(split) for split in measurement.query.by],
        "noise": measurement.noise.document(measurement.scale) if measurement.scale else None,
    }


def measurement_from(document: Mapping[str, Any], query: Query, domain: Domain) -> Measurement:
    """The measurement a document describes; "asked" stands for the rows of the item's own question."""
    try:
        counts = document["counts"]
        if counts["kind"] == "asked":
            contribution = linear(query, domain).contribution
        elif (kind := KINDS.get(counts["kind"])) is not None:
            contribution = kind.read(counts, domain)
        else:
            raise ReleaseError("unknown kind of measurement", fix="upgrade tetraodon")
        by = tuple(split_from(split, domain) for split in document["by"])
        scale, noise = law_from(document["noise"])
    except (KeyError, TypeError, ValueError, QueryError) as error:
        raise ReleaseError("release.json does not describe its measurements", fix="ask for a new copy") from error
    return Measurement(LinearQuery(contribution, by), scale, noise)


# -- documents --------------------------------------------------------------------------------------
# Plans and certificates as plain data, for `--json`, for the ledger and for release.json.


def value_document(value: Any, domain: Domain) -> Any:
    """A record as {attribute: value}, the words for somebody who is absent, or a list of these; or a share."""
    if isinstance(value, Dataset):
        return [value_document(record, domain) for record in value.records]
    if isinstance(value, TableShare):
        return {"share": value.condition, "records": value.having, "of": value.records}
    if isinstance(value, TableChance):
        return {"chance": value.condition, "is": decimal_text(value.chance), "of": value.records}
    if value is ABSENT:
        return ABSENT.value
    found = {a.name: a.value(a.code(part)) for a, part in zip(domain, value, strict=True)}
    texts = {name: decimal_text(part) if isinstance(part, Fraction) else str(part) for name, part in found.items()}
    return {name: part if isinstance(part, bool | int | str) else texts[name] for name, part in found.items()}


def certificate_document(certificate: Certificate | Sensitivity, domain: Domain) -> dict[str, Any]:
    """A certificate as JSON: epsilon as exact text and the witness as two records, lists of records, or shares."""
    witness = certificate.witness
    pair = None if witness is None else [value_document(value, domain) for value in witness]
    rest: dict[str, Any] = {"witness": pair, "method": certificate.method, "exact": certificate.exact}
    if isinstance(certificate, Sensitivity):
        return {"sensitivity": number(certificate.value), "sensitivity_exact": decimal_text(certificate.value)} | rest
    if certificate.delta or certificate.rho is not None:
        rest["delta"] = decimal_text(certificate.delta)
    if certificate.rho is not None:
        rest |= {"rho": number(certificate.rho), "rho_exact": str(certificate.rho)}
    if not isinstance(certificate.epsilon, Fraction):
        return {"epsilon": None, "epsilon_exact": "infinite"} | rest
    return {"epsilon": number(certificate.epsilon), "epsilon_exact": decimal_text(certificate.epsilon)} | rest


def number(value: Fraction) -> int | float:
    """The nearest JSON number."""
    return int(value) if value.denominator == 1 else float(value)


def item_document(item: PlannedItem, domain: Domain) -> dict[str, Any]:
    """One planned item: how it is measured, what that costs, and what comes out."""
    return {
        "name": item.name,
        "mechanism": item.mechanism,
        "epsilon": number(item.epsilon),
        "expected_error": item.expected_error,
        "baseline_error": item.baseline_error,
        "baseline_mechanism": item.baseline.name,
        "certificate": certificate_document(item.certificate, domain),
        "measurements": [measurement_document(m) for m in item.strategy.stated(item.scale)],
        "table": [split_document(split) for split in item.strategy.table],
    }


def plan_document(plan: Plan) -> dict[str, Any]:
    """A whole plan: everything that is needed to run it again or to check it. Written once; it is not to be changed."""
    domain = plan.policy.domain
    if "document" not in plan._derived:
        plan._derived["document"] = {
            "epsilon": number(plan.epsilon),
            "certificate": certificate_document(plan.certificate, domain),
            "queries": [item_document(item, domain) for item in plan],
            **({"names": [names_document(item, domain) for item in plan.names]} if plan.names else {}),
        }
    found: dict[str, Any] = plan._derived["document"]
    return found


def plan_hash(plan: Plan) -> str:
    """The hash of its document."""
    if "hash" not in plan._derived:
        plan._derived["hash"] = document_hash(plan_document(plan))
    return str(plan._derived["hash"])


def names_document(item: PlannedNames, domain: Domain) -> dict[str, Any]:
    """What is told of a column of open text, and what that costs."""
    return {
        "name": item.name,
        "column": item.above.column,
        "scale": decimal_text(item.above.scale),
        "threshold": item.above.threshold,
        "certificate": certificate_document(item.certificate, domain),
    }


# -- plan table -------------------------------------------------------------------------------------
# A plan as a table: what is asked, how it is answered, what that costs and how far off it is.

PLAN_HEADS = ("item", "what is asked", "how", "epsilon", "expected error", "plain DP", "ratio", "together")
"""`together`, where something is told there: the error once all items are estimated together."""


def plan_rows(plan: Plan) -> list[list[str]]:
    """One row of texts for every item, in the order of `PLAN_HEADS`, without those at the end that say nothing."""
    domain, together = plan.policy.domain, joint_errors(plan)
    rows = [
        [
            item.name,
            item.item.asked,
            item.strategy.mechanism.words,
            shown_above(item.epsilon),
            error_in_words(item.expected_error, item.item.query.unit(domain)),
            "no answer" if item.strategy.mechanism.in_shares else error_in_words(item.baseline_error, ""),
            _ratio(item),
            error_in_words(together[item.name], "") if item.name in together else "",
        ]
        for item in plan
    ] + [
        [
            item.name,
            item.asked,
            f"above {item.above.threshold:,}, with noise",
            shown_above(item.epsilon),
            error_in_words(item.expected_error, "people"),
            "",
            "",
            "",
        ]
        for item in plan.names
    ]
    return rows if together else [row[:-1] for row in rows]


def error_in_words(error: float, unit: str) -> str:
    """An expected error: `±12 records`, `±1 record`, or the word for none.

    >>> error_in_words(12.0, "records"), error_in_words(1.0, "records"), error_in_words(0, "records")
    ('±12 records', '±1 record', 'none')
    """
    off = shown_number(error)
    return "none" if error == 0 else f"±{off} {of_one(unit) if off == '1' else unit}".rstrip()


def _ratio(item: PlannedItem) -> str:
    """How many times the error of plain differential privacy is larger."""
    if item.strategy.mechanism.in_shares:
        return ""
    if item.baseline_error == 0:
        return "1"
    return "∞" if item.expected_error == 0 else f"{item.baseline_error / item.expected_error:.3g}"


# -- plan shape -------------------------------------------------------------------------------------


def plan_shape(found: Plan, if_public: Mapping[str, float] | None) -> dict[str, Any]:
    """A plan as JSON; `if_public` are its errors if only presence were public."""
    document, together = plan_document(found), joint_errors(found)
    queries = [
        query
        | {
            "asked": item.item.asked,
            "unit": item.item.query.unit(found.policy.domain),
            "error_together": together.get(item.name),
            "interval_reach": item.interval_reach,
            "expected_error_if_presence_public": None if if_public is None else if_public[item.name],
        }
        for item, query in zip(found, document["queries"], strict=True)
    ]
    budget = {"budget": number(found.policy.epsilon), "delta": number(found.policy.delta)}
    return {"dataset": found.policy.dataset} | budget | document | {"queries": queries}


def errors_if_public(found: Plan) -> dict[str, float] | None:
    """Expected errors of the same items at the same budget, if only presence were public; None where it is."""
    if found.policy.presence == "public":
        return None
    public = load_policy({**found.policy.document, "presence": "public"})
    return {item.name: item.expected_error for item in plan(public)}


def asked_plan(policy: Mapping[str, Any], asked: Mapping[str, Any]) -> Plan:
    """The plan of `items` under a policy's document, for an `epsilon`, or for an `error` with `confidence`."""
    read = stated_policy({**policy, "release": asked["items"]})
    if asked.get("error") is None:
        return plan(read, epsilon=asked.get("epsilon"))
    sure = 95 if asked.get("confidence") is None else asked["confidence"]
    return plan_for_error(read, asked["error"], confidence=sure, records=asked.get("records"))
