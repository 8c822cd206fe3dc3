"""Measurements, plans and certificates as plain data and back."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, assert_never

import numpy as np

from tetraodon.certificate.certificate import Certificate, Dataset, Sensitivity, TableChance, TableShare
from tetraodon.domain import Domain
from tetraodon.errors import QueryError, ReleaseError
from tetraodon.exact.arrays import Ints
from tetraodon.exact.rational import decimal_text, stated_number
from tetraodon.ledger import document_hash
from tetraodon.noise.laws import law_from
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.query.adaptive_partition import Divided
from tetraodon.query.aim import ChosenTables
from tetraodon.query.contribution import (
    AllRanges,
    Among,
    Answerers,
    Beyond,
    Contribution,
    EachPerson,
    One,
    Prefix,
    Table,
    WeightedSums,
)
from tetraodon.query.edge_flows import FlowLine, Flows
from tetraodon.query.kinds import Query, linear
from tetraodon.query.levels import LevelSums
from tetraodon.query.linear import LinearQuery, Measurement, Split
from tetraodon.query.local_log_noise import Disguised
from tetraodon.query.number import Number
from tetraodon.query.ranks import Ranks
from tetraodon.query.smooth import Hats, Ramps, SmoothRunning, SmoothSums
from tetraodon.query.soft_bins import UNIT_LIMIT, Product, Soft
from tetraodon.query.weighted_margins import WeighedMargins
from tetraodon.releases.names_plan import PlannedNames
from tetraodon.releases.plan import Plan, PlannedItem

# -- codec ------------------------------------------------------------------------------------------

PARTS_LIMIT = 10_000
"""The finest parts that weights are told in, and the largest weight: products with counts stay whole numbers."""
FINEST, MOST_WAYS = 2**24, 8
"""The finest parts that multiples of margins are told in, and the most attributes that their tables have."""
MOST_ROWS, WIDTHS = 2**26, 20
"""More rows no person has, nor a larger cap; more weighted sums for each value no search begins with."""


def measurement_document(measurement: Measurement) -> dict[str, Any]:
    """A measurement as JSON: what is counted, split by what, with how much noise."""
    return {
        "counts": _contribution_document(measurement.query.contribution),
        "by": [split_document(split) for split in measurement.query.by],
        "noise": measurement.noise.document(measurement.scale) if measurement.scale else None,
    }


def split_document(split: Split) -> dict[str, Any]:
    """A split as JSON."""
    bins = {} if split.bins is None else {"bins": list(split.bins), "labels": list(split.labels)}
    return {"attribute": split.name} | bins


def split_from(document: Mapping[str, Any], domain: Domain) -> Split:
    """The split of a domain that a document describes. Raises ValueError where its bins are not those of any split."""
    attribute = domain[document["attribute"]]
    if "bins" not in document:
        return Split(attribute.name)
    bins, labels = tuple(document["bins"]), tuple(document["labels"])
    whole = all(type(bin_) is int for bin_ in bins) and all(isinstance(label, str) for label in labels)
    if not whole or len(bins) != attribute.size or len(set(bins)) != max(bins) + 1 or min(bins) < 0:
        raise ValueError("bins that are not those of the attribute")
    if labels and len(labels) != max(bins) + 1:
        raise ValueError("bins that are not those of the attribute")
    return Split(attribute.name, bins, labels)


def _whole(number: Any, least: int, most: int) -> int:
    if type(number) is not int or not least <= number <= most:
        raise ValueError("a number that no plan would have")
    return number


def _centred(counts: Mapping[str, Any]) -> bool:
    """Whether numbers are distances from the middle of the declared values."""
    if counts.get("from", "middle") != "middle":
        raise ValueError("numbers that are counted from an unknown place")
    return "from" in counts


def _contribution_document(contribution: Contribution) -> dict[str, Any]:
    match contribution:
        case One():
            return {"kind": "records"}
        case Answerers():
            return {"kind": "answerers", "attribute": contribution.names[0]}
        case Prefix():
            return {"kind": "running", "attribute": contribution.name, "rows": contribution.rows}
        case Number():
            times = {} if contribution.times is None else {"times": contribution.times.name}
            centred = {"from": "middle"} if contribution.centred else {}
            return {
                "kind": "squares" if contribution.squared else "sum",
                "attribute": contribution.attribute.name,
                "unit": decimal_text(contribution.unit),
                **times,
                **centred,
            }
        case WeightedSums() | SmoothSums() as sums:
            return {
                "kind": "smooth sums" if isinstance(sums, SmoothSums) else "weighted sums",
                "attribute": sums.names[0],
                "parts": sums.unit.denominator,
                "single": _weights_text(sums.single),
                "rows": [_weights_text(row) for row in sums.sums],
                **({"width": sums.width, "kernel": _weights_text(sums.kernel)} if isinstance(sums, SmoothSums) else {}),
            }
        case SmoothRunning(name=name, unit=unit) as sums:
            told = {"parts": unit.denominator, "kernel": _weights_text(sums.kernel)}
            return {"kind": "running sums", "attribute": name, **told}
        case Beyond():
            return {"kind": "beyond", "attribute": contribution.names[0], "parents": list(contribution.parents)}
        case Table():
            return {"kind": "asked"}
        case EachPerson(attribute=None):
            return {"kind": "people", "rows": contribution.rows}
        case EachPerson():
            return {"kind": "capped sum", "attribute": contribution.names[0], "cap": contribution.cap}
        case Ranks():
            shares = [str(share) for share in contribution.shares]
            return {"kind": "ranks", "attribute": contribution.name, "shares": shares}
        case ChosenTables():
            return {
                "kind": "chosen tables",
                "of": [split_document(split) for split in contribution.splits],
                "tables": contribution.rounds,
                "most": contribution.most,
                "free": list(contribution.free),
                "total": contribution.total,
            }
        case Disguised():
            return {"kind": contribution.kind, "attribute": contribution.attribute.name}
        case Divided():
            return {"kind": "divided", "attributes": list(contribution.names)}
        case Hats() | Ramps():
            smooth = "smooth bins" if isinstance(contribution, Hats) else "smooth running"
            return {"kind": smooth, "attribute": contribution.name, "width": contribution.width}
        case Soft():
            return {"kind": "soft bins", **_soft_document(contribution)}
        case Product():
            return {"kind": "soft table", "of": [_soft_document(part) for part in contribution.parts]}
        case Flows():
            lines = [_line_document(line) for line in (contribution.first, contribution.second)]
            return {"kind": "flows", "attributes": list(contribution.names), "borders": lines}
        case WeighedMargins():
            return {
                "kind": "weighed margins",
                "attributes": list(contribution.names),
                "parts": contribution.unit.denominator,
                "times": list(contribution.times),
            }
        case AllRanges():
            raise AssertionError("every range at once is never measured")
        case Among():
            raise AssertionError("what is measured of some records is written as it is over what they can be like")
        case _:
            assert_never(contribution)


def _line_document(line: FlowLine) -> dict[str, Any]:
    return {"steps": decimal_text(line.steps), "width": line.width, "smooth": decimal_text(line.smooth)}


def _flows_from(document: Mapping[str, Any], domain: Domain) -> Flows:
    one, two = (domain[name] for name in document["attributes"])
    lines = [
        FlowLine(size, stated_number(line["steps"]), _whole(line["width"], 0, size), stated_number(line["smooth"]))
        for line, size in zip(document["borders"], (two.size, one.size), strict=True)
    ]
    return Flows((one.name, two.name), lines[0], lines[1])


def _soft_document(soft: Soft) -> dict[str, Any]:
    return {"attribute": soft.name, "parts": soft.units, "tread": soft.tread, "ramps": list(soft.starts)}


def _soft_from(document: Mapping[str, Any], domain: Domain) -> Soft:
    attribute = domain[document["attribute"]]
    starts = tuple(_whole(start, -attribute.size, attribute.size) for start in document["ramps"])
    units, tread = _whole(document["parts"], 1, UNIT_LIMIT), _whole(document["tread"], 1, attribute.size)
    return Soft(attribute.name, attribute.size, units, starts, tread)


def _weights_text(weights: Ints) -> str:
    """Weights in one line: there may be a hundred thousand of them."""
    return " ".join(map(str, weights.tolist()))


def _weights_from(text: str, most: int) -> list[int]:
    return [_whole(int(weight), -most, most) for weight in str.split(text, " ")]  # a TypeError for what is no text


def _weighted_from(document: Mapping[str, Any], domain: Domain) -> WeightedSums:
    attribute, parts = domain[document["attribute"]], _whole(document["parts"], 1, PARTS_LIMIT)
    most = parts * PARTS_LIMIT
    single, *rows = (_weights_from(row, most) for row in (document["single"], *document["rows"]))
    if not 1 <= len(rows) <= attribute.size * WIDTHS or any(len(row) != attribute.size for row in (single, *rows)):
        raise ValueError("weights that are not those of the attribute")
    if min(single) <= 0:
        raise ValueError("single values without a weight")
    return WeightedSums.of(attribute.name, np.array(single), np.array(rows), Fraction(1, parts))


def _chosen_from(document: Mapping[str, Any], domain: Domain) -> ChosenTables:
    of = tuple(split_from(split, domain) for split in document["of"])
    sizes = tuple(split.size(domain) for split in of)
    rounds, most = (_whole(document[key], 0, len(of) ** 3) for key in ("tables", "most"))
    free = tuple(_whole(place, 0, len(of) - 1) for place in document["free"])
    if type(document["total"]) is not bool:
        raise ValueError("a total that is neither told nor not")
    return ChosenTables(of, sizes, rounds, most, free, document["total"])


def _smooth_from(document: Mapping[str, Any], domain: Domain) -> SmoothSums | SmoothRunning:
    attribute, unit = domain[document["attribute"]], Fraction(1, _whole(document["parts"], 1, UNIT_LIMIT))
    name, size, running = attribute.name, attribute.size, document["kind"] == "running sums"
    texts = (document["kernel"], *([] if running else (document["single"], *document["rows"])))
    kernel, *more = (np.array(_weights_from(text, 2**31)) for text in texts)
    if len(kernel) > 2 * size or (not running and not 1 <= len(more) - 1 <= size):
        raise ValueError("sums that no plan would have")
    if running:
        return SmoothRunning(name, size, kernel, unit)
    return SmoothSums(name, size, _whole(document["width"], 1, size), np.array(more[1:]), kernel, more[0], unit)


def _margins_from(document: Mapping[str, Any], domain: Domain) -> WeighedMargins:
    attributes, parts = [domain[name] for name in document["attributes"]], _whole(document["parts"], 1, FINEST)
    names, sizes = tuple(a.name for a in attributes), tuple(a.size for a in attributes)
    if not 1 <= len(set(names)) == len(names) <= MOST_WAYS:
        raise ValueError("margins that no plan would have")
    times = tuple(_whole(many, -FINEST, FINEST) for many in document["times"])
    return WeighedMargins(names, sizes, times, Fraction(1, parts))


def measurement_from(document: Mapping[str, Any], query: Query, domain: Domain) -> Measurement:
    """The measurement a document describes; "asked" stands for the rows of the item's own question."""
    try:
        counts = document["counts"]
        match counts["kind"]:
            case "records":
                contribution: Contribution = One()
            case "answerers":
                attribute = domain[counts["attribute"]]
                _whole(int(attribute.separate), 1, 1)
                contribution = Answerers((attribute.name,), attribute.size)
            case "running":
                attribute = domain[counts["attribute"]]
                contribution = Prefix(attribute.name, attribute.size, _whole(counts["rows"], 1, attribute.size))
            case "ranks":
                attribute = domain[counts["attribute"]]
                shares = tuple(stated_number(share) for share in counts["shares"])
                contribution = Ranks(attribute.name, attribute.size, shares)
            case "chosen tables":
                contribution = _chosen_from(counts, domain)
            case "shown" | "level sums" as kind:
                contribution = (Disguised if kind == "shown" else LevelSums)(domain[counts["attribute"]])
            case "divided":
                attributes = [domain[name] for name in counts["attributes"]]
                contribution = Divided(tuple(a.name for a in attributes), tuple(a.size for a in attributes))
            case "smooth bins" | "smooth running" as smooth:
                attribute, made = domain[counts["attribute"]], Hats if smooth == "smooth bins" else Ramps
                contribution = made(attribute.name, attribute.size, _whole(counts["width"], 1, attribute.size))
            case "weighted sums":
                contribution = _weighted_from(counts, domain)
            case "smooth sums" | "running sums":
                contribution = _smooth_from(counts, domain)
            case "weighed margins":
                contribution = _margins_from(counts, domain)
            case "soft bins":
                contribution = _soft_from(counts, domain)
            case "soft table":
                contribution = Product(tuple(_soft_from(part, domain) for part in counts["of"]))
            case "beyond":
                attribute = domain[counts["attribute"]]
                places = range(_whole(len(counts["parents"]), attribute.size, attribute.size))
                parents = tuple(_whole(place, 0, len(places) - 1) for place in counts["parents"])
                contribution = Beyond.of(attribute.name, parents)
            case "flows":
                contribution = _flows_from(counts, domain)
            case "sum":
                times = domain[counts["times"]] if "times" in counts else None
                contribution = Number(domain[counts["attribute"]], times, centred=_centred(counts))
            case "squares":
                contribution = Number(domain[counts["attribute"]], squared=True)
            case "people":
                contribution = EachPerson(rows=_whole(counts["rows"], 1, MOST_ROWS))
            case "capped sum":
                contribution = EachPerson(domain[counts["attribute"]], _whole(counts["cap"], 1, MOST_ROWS))
            case "asked":
                contribution = linear(query, domain).contribution
            case _:
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
    return {a.name: _json(a.value(a.code(part))) for a, part in zip(domain, value, strict=True)}


def _json(value: Any) -> Any:
    if isinstance(value, Fraction):
        return decimal_text(value)
    return value if isinstance(value, bool | int | str) else str(value)


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
