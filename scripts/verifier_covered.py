"""What the independent verifier covers, for the page `docs/verifier.md`.

    python -m scripts.verifier_covered [--write]

Each row is a policy that uses one feature. It is planned by the command line, and the verifier is asked for the loss of
its plan: the table says whether it proves the stated loss to be the worst there is, proves a bound, or computes none.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from scripts.verifier_trials import VERIFIER, compare, planned

PAGE = Path(__file__).resolve().parent.parent / "docs" / "verifier.md"
BEGIN, END = "<!-- scripts/verifier_covered.py -->", "<!-- end -->"
ATTRIBUTES: dict[str, Any] = {
    "age": {"integer": [0, 39]},
    "pay": {"real": [0, 10], "step": "0.5"},
    "sex": ["f", "m"],
    "place": {"tree": {"East": ["ON", "QC"], "West": ["BC", "AB"]}, "levels": ["region"]},
    "open": {"integer": [0, 9], "missing": "separate"},
}
ALONE = {"presence": "public"}
LINE = ALONE | {"attributes": {"age": {"integer": [0, 999]}}}
MAP = ALONE | {"attributes": {"x": {"integer": [0, 15]}, "y": {"integer": [0, 15]}}}
RHO = {"budget": {"rho": "0.1"}}
AGES = {"histogram": ["age", "sex"]}
TWO = {"attributes": {name: ATTRIBUTES[name] for name in ("age", "sex")}}
FEATURES: list[tuple[str, dict[str, Any], list[dict[str, Any]]]] = [
    ("counts in tables, Laplace noise", ALONE, [AGES]),
    ("counts in tables, Gaussian noise", ALONE | RHO, [AGES]),
    (
        "tables planned as one (weighed margins)",
        RHO,
        [{"histogram": pair} for pair in (["age", "sex"], ["sex", "pay"], ["age", "pay"])],
    ),
    ("presence as a secret", {}, [AGES, {"count": "all"}]),
    ("none but presence", {"secrets": "none but presence"}, [AGES]),
    ("conditions and `where`", ALONE, [{"count": "age < 30 and sex = 'f'"}, {"cdf": "pay", "where": "sex = 'f'"}]),
    ("one attribute at a time", ALONE | {"together": "one attribute at a time"}, [AGES, {"cdf": "pay"}]),
    ("at most two attributes", ALONE | {"together": {"at most": 2}}, [AGES, {"histogram": ["sex", "pay"]}]),
    ("secrets within a distance", ALONE | {"secrets": {"age": {"within": 5}}}, [{"cdf": "age", "by": "sex"}]),
    (
        "secrets within a share",
        ALONE | {"attributes": {"w": {"integer": [100, 2000]}}, "secrets": {"w": {"within": "10%"}}},
        [{"total": "w"}],
    ),
    (
        "blocks, levels and pairs",
        ALONE
        | {
            "secrets": {
                "place": {"level": "region"},
                "age": {"blocks": [[0, 9], [10, 39]]},
                "sex": {"pairs": [["f", "m"]]},
            }
        },
        [{"histogram": "place"}, {"histogram": "age"}],
    ),
    (
        "joint metrics l1, l2 and linf",
        MAP | {"together": {"metric": "l2", "over": ["x", "y"], "within": 4}},
        [{"cdf": "x"}, {"cdf": "y"}],
    ),
    ("missing values that stand apart", ALONE, [{"histogram": "open"}, {"mean": "open"}, {"cdf": "open"}]),
    (
        "groups of people",
        ALONE | {"secrets": {"sex": "public"}, "groups": {"by": "sex", "rules": {"f": "none"}}},
        [{"cdf": "age", "by": "sex"}],
    ),
    ("several rows per person", {"individuals": {"key": "id", "at most": 3}}, [AGES]),
    ("attackers: groups", ALONE | TWO | {"attackers": [{"groups": "household", "at most": 3}]}, [AGES]),
    (
        "one known table",
        ALONE | TWO | {"known": [{"marginal": ["sex"]}]},
        [AGES],
    ),
    (
        "totals, means, variances, covariances",
        ALONE,
        [{"total": "age"}, {"mean": "pay"}, {"variance": "age"}, {"covariance": ["age", "pay"]}],
    ),
    ("weights", ALONE, [{"histogram": "sex", "weight": "pay"}]),
    ("smooth bins and their running sums", LINE | {"secrets": {"age": {"within": 100}}}, [{"ranges": "age"}]),
    ("weighted sums", {"attributes": {"age": {"integer": [0, 63]}}}, [{"ranges": "age"}]),
    ("adaptive partitions", LINE, [{"ranges": "age", "shape": "sparse"}]),
    ("quantiles by ranks", LINE, [{"quantiles": "age", "at": ["0.5"], "bounds": False}]),
    ("smooth sums (Gaussian ranges)", LINE | RHO, [{"ranges": "age"}]),
    (
        "running sums (Gaussian ranges, short steps)",
        LINE | RHO | {"secrets": {"age": {"within": 8}}},
        [{"ranges": "age"}],
    ),
    (
        "noise along steps",
        MAP | {"together": {"metric": "l1", "over": ["x", "y"], "within": 1}},
        [{"rectangles": ["x", "y"]}],
    ),
    (
        "k-means",
        MAP | {"together": {"metric": "l2", "over": ["x", "y"], "within": 4}},
        [{"kmeans": ["x", "y"], "clusters": 2}],
    ),
    ("made-up records", MAP, [{"synthetic": {"records": 100}}]),
    ("questions about people", {"individuals": {"key": "id", "at most": 3}}, [{"people": "all"}]),
    (
        "two known counts",
        ALONE | {"attributes": {"age": ATTRIBUTES["age"]}, "known": [{"count": "age < 9"}, {"count": "age > 20"}]},
        [{"histogram": "age"}],
    ),
    (
        "names above a threshold",
        {"attributes": {"town": {"open": "text"}, "sex": ["f", "m"]}, "budget": {"epsilon": 1, "delta": "1e-6"}},
        [{"names": "town"}],
    ),
    (
        "attackers: contacts",
        ALONE
        | {
            "attributes": {"sex": ["f", "m"]},
            "attackers": [{"contacts": {"at most": 3, "influence": "1.2", "source": "a survey"}}],
        },
        [{"histogram": "sex"}],
    ),
]
WORDS = {"equal": "proved: exactly this", "at most": "proved: at most this", "unproved": "a bound above it only"}


def table() -> str:
    """Rows of a table in Markdown."""
    sys.path.insert(0, str(VERIFIER))
    rows = ["| feature | the stated loss is |", "| --- | --- |"]
    with tempfile.TemporaryDirectory() as folder:
        for name, more, items in FEATURES:
            policy: dict[str, Any] = {"dataset": "d", "attributes": ATTRIBUTES, "budget": {"epsilon": 1}} | more
            policy["release"] = [{"name": f"i{number}", **item} for number, item in enumerate(items)]
            documents = planned(policy, folder)
            if documents is None:
                raise ValueError(f"{name}: the package does not plan {json.dumps(policy)}")
            said, why = compare(*documents)[0]
            rows.append(f"| {name} | {WORDS.get(said, f'not covered: {why}')} |")
    return "\n".join(rows)


def page() -> str:
    """The page with its table as it is now."""
    before, rest = PAGE.read_text("utf-8").split(BEGIN)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page(), "utf-8")
    else:
        print(table())
