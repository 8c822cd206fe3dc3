"""Compare the certificates of the package with those of the independent verifier, on random policies.

    python -m scripts.verifier_trials --cases 5000 --seed 1

Policies are drawn from the documented keys of policy files. Each is planned by the command line, and what the plan
states is compared with what `tetraodon_verify.loss` computes from the same two documents. A certificate fails where it
is below what some pair of records loses; it is unproved where the verifier only has a bound above it.
"""

import argparse
import contextlib
import io
import json
import random
import sys
import tempfile
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

VERIFIER = Path(__file__).resolve().parent.parent / "verifier"


def draw_policy(coins: random.Random) -> dict[str, Any]:
    """A random policy: few attributes of few values, so that worlds differ in shape and not in size."""
    sizes = {name: coins.choice([2, 3, 4, 7, 12, 40]) for name in coins.sample("abcde", coins.randint(1, 4))}
    attributes = {name: draw_attribute(coins, size) for name, size in sizes.items()}
    secrets = {name: draw_secret(coins, attributes[name], size) for name, size in sizes.items() if coins.random() < 0.8}
    policy: dict[str, Any] = {"dataset": "trial", "attributes": attributes, "secrets": secrets}
    policy["presence"] = coins.choice(["public", "secret"])
    policy["together"] = coins.choice(["all at once", "one attribute at a time", {"at most": coins.randint(1, 3)}])
    policy["budget"] = coins.choice(
        [{"epsilon": 1}, {"epsilon": "0.3"}, {"epsilon": 1, "delta": "1e-6"}, {"rho": "0.1"}]
    )
    numeric = [name for name in sizes if "integer" in attributes[name] or "real" in attributes[name]]
    if len(numeric) >= 2 and coins.random() < 0.15 and not any("missing" in attributes[name] for name in numeric[:2]):
        over = {"over": numeric[:2], "within": coins.randint(1, 6), "metric": coins.choice(["l1", "l2", "linf"])}
        policy |= {"together": over, "secrets": {n: s for n, s in secrets.items() if n not in numeric[:2]}}
    special = coins.random()
    if special < 0.1:
        policy["individuals"] = {"key": "person", coins.choice(["at most", "secret"]): coins.randint(1, 3)}
    elif special < 0.2 and len(sizes) > 1:
        by = coins.choice(list(sizes))
        names = attributes[by].get("categories") if "categories" in attributes[by] else None
        if names and "over" not in str(policy["together"]):
            policy["secrets"] = {**policy["secrets"], by: "public"}
            rules: dict[str, Any] = {names[0]: "none"}
            rules |= {names[1]: {"together": "one attribute at a time"}} if coins.random() < 0.5 else {}
            policy["groups"] = {"by": by, "rules": rules}
    elif special < 0.25:
        policy["attackers"] = [{"groups": "household", "at most": coins.randint(1, 3)}]
    elif special < 0.32:
        policy["known"] = [{"marginal": [coins.choice(list(sizes))]}]
    items = [draw_item(coins, attributes, numeric) for _ in range(coins.randint(1, 4))]
    policy["release"] = [{"name": f"i{number}", **item} for number, item in enumerate(items)]
    return policy


def draw_attribute(coins: random.Random, size: int) -> dict[str, Any]:
    low = coins.choice([0, 1, -3, 17])
    forms: list[dict[str, Any]] = [
        {"integer": [low, low + size - 1]},
        {"integer": [low, low + size - 1]},
        {"real": [0, str(Fraction(size - 1, 2))], "step": "0.5"},
        {"categories": [f"v{i}" for i in range(size)]},
        {"ordered": [f"v{i}" for i in range(size)]},
        {"date": ["2026-01-01", f"2026-{1 + (size - 1) // 28:02}-{1 + (size - 1) % 28:02}"]} if size <= 28 else {},
        {"boolean": True} if size == 2 else {},
    ]
    form = coins.choice([one for one in forms if one])
    return form | ({"missing": "separate"} if coins.random() < 0.15 else {})


def values_of(attribute: dict[str, Any]) -> list[Any]:
    if "integer" in attribute:
        return list(range(attribute["integer"][0], attribute["integer"][1] + 1))
    if "categories" in attribute or "ordered" in attribute:
        return list(attribute.get("categories") or attribute["ordered"])
    return []


def draw_secret(coins: random.Random, attribute: dict[str, Any], size: int) -> Any:
    found: list[Any] = ["everything", "public"]
    if "categories" not in attribute and "boolean" not in attribute:
        found += [{"within": coins.randint(1, max(1, size // 3))}] * 2
    values = values_of(attribute)
    if len(values) >= 3 and "missing" not in attribute:
        cut = coins.randint(1, len(values) - 1)
        ends = [[values[0], values[cut - 1]], [values[cut], values[-1]]]
        found.append({"blocks": ends if "integer" in attribute else [values[:cut], values[cut:]]})
        found.append({"pairs": [coins.sample(values, 2) for _ in range(coins.randint(1, 4))]})
    return coins.choice(found)


def draw_condition(coins: random.Random, attributes: dict[str, Any]) -> str:
    parts = []
    for name in coins.sample(list(attributes), min(len(attributes), coins.randint(1, 2))):
        values = values_of(attributes[name])
        if "integer" in attributes[name]:
            low, high = sorted(coins.sample(values, 2))
            parts.append(coins.choice([f"{name} > {low}", f"{name} between {low} and {high}", f"not {name} <= {low}"]))
        elif values:
            parts.append(coins.choice([f"{name} = '{values[0]}'", f"{name} in ('{values[0]}', '{values[-1]}')"]))
        else:
            parts.append(f"{name} is not missing")
    return coins.choice([" and ", " or "]).join(parts)


def draw_item(coins: random.Random, attributes: dict[str, Any], numeric: list[str]) -> dict[str, Any]:
    names = list(attributes)
    ordered = [name for name in names if "categories" not in attributes[name] and "boolean" not in attributes[name]]
    found: list[dict[str, Any]] = [{"count": draw_condition(coins, attributes)}, {"count": "all"}]
    found += [{"histogram": coins.sample(names, coins.randint(1, min(3, len(names))))}] * 3
    if ordered:
        one = coins.choice(ordered)
        found += [{kind: one} for kind in ("cdf", "ranges", "median")]
        found.append({"quantiles": one, "at": ["0.1", "0.5"], "bounds": False})
    if numeric:
        one = coins.choice(numeric)
        found += [{kind: one} for kind in ("total", "mean", "variance")]
        weights = [name for name in names if attributes[name].get("integer", [-1])[0] >= 0 and name != one]
        found += [{"total": one, "weight": weights[0]}] if weights else []
    if len(numeric) > 1:
        found += [{kind: coins.sample(numeric, 2)} for kind in ("covariance", "ratio")]
        found.append({"rectangles": coins.sample(numeric, 2)})
    item = dict(coins.choice(found))
    used = {name for asked in item.values() for name in (asked if isinstance(asked, list) else [asked])}
    free = [name for name in names if name not in used and name not in str(item.get("count", ""))]
    if free and coins.random() < 0.3 and "rectangles" not in item:
        item["by"] = coins.choice(free)
    if coins.random() < 0.2:
        item["where"] = draw_condition(coins, attributes)
    return item


def planned(policy: dict[str, Any], folder: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The policy in its normal form and its plan, as JSON has them; nothing where the package refuses."""
    import tetraodon as td
    from tetraodon.cli.main import main

    path, said = Path(folder) / "policy.yaml", io.StringIO()
    path.write_text(json.dumps(policy))
    before, sys.argv = sys.argv, ["tetraodon", "plan", str(path), "--json"]
    try:
        with (
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(io.StringIO()),
            contextlib.suppress(SystemExit),
        ):
            main()
    finally:
        sys.argv = before
    plan = json.loads(said.getvalue() or "{}")
    return (json.loads(json.dumps(td.load_policy(policy).document)), plan) if "queries" in plan else None


def compare(policy: dict[str, Any], plan: dict[str, Any]) -> list[tuple[str, str]]:
    """What the verifier says of each certificate: equal, at most, unproved, not computed, or FAILED."""
    from tetraodon_verify import Malformed, Unsupported, loss

    found = []
    for query in [None, *plan["queries"]]:
        part = plan if query is None else {"certificate": query["certificate"], "queries": [query]}
        stated = part["certificate"]
        try:
            computed = loss(policy, part)
        except Unsupported as error:
            found.append(("not computed", str(error)))
            continue
        except Malformed as error:
            found.append(("FAILED", str(error)))
            continue
        lost = Fraction(stated["rho_exact" if computed.gaussian else "epsilon_exact"])
        if computed.upper is None or computed.notes or lost < computed.lower or computed.lower > computed.upper:
            found.append(("FAILED", f"{lost} is stated, {computed}"))
        elif stated["exact"] and (lost > computed.upper or computed.stated not in (None, lost)):
            found.append(("FAILED", f"{lost} is stated as exact, {computed}"))
        elif lost < computed.upper:
            found.append(("unproved", f"{float(lost):.6g}, up to {float(computed.upper):.6g}"))
        else:
            found.append(("equal" if computed.lower == lost else "at most", ""))
    return found


def run(cases: int, seed: int, show: bool = True) -> Counter[str]:
    """Draw so many policies that the package plans, and count what is said of their certificates."""
    sys.path.insert(0, str(VERIFIER))
    total: Counter[str] = Counter()
    coins = random.Random(seed)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        while total["policies"] < cases:
            policy = draw_policy(coins)
            documents = planned(policy, folder)
            total["refused" if documents is None else "policies"] += 1
            if documents is None:
                continue
            for said, why in compare(*documents):
                total[said] += 1
                if show and (said == "FAILED" or (said == "not computed" and total[why] == 0)):
                    print(said, why, json.dumps(policy) if said == "FAILED" else "", flush=True)
                total[why] += said == "not computed"
            if show and total["policies"] % 100 == 0 and total["policies"]:
                print(f"{time.monotonic() - begun:.0f} s: {dict(total)}", flush=True)
    return total


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    sys.exit(1 if run(given.cases, given.seed)["FAILED"] else 0)
