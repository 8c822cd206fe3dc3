"""`tetraodon-verify FOLDER`: what a release folder proves, what it does not, and why."""

import argparse
import base64
import hashlib
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

from tetraodon_verify.answers import Answer, check_least_squares
from tetraodon_verify.folder import canonical_hash, list_files, read_bytes, read_csv, read_json, read_parquet, signed
from tetraodon_verify.loss import epsilon_of, items_of, price
from tetraodon_verify.policy import Malformed, Unsupported, exact, read_policy

PAGES = ("policy.yaml", "report.html", "README.md", "release.ipynb", "datapackage.json", "answers/csv-metadata.json")


@dataclass
class Result:
    """What was found: pairs of a statement and a reason. True if nothing failed."""

    proved: list[tuple[str, str]] = field(default_factory=list)
    unproved: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return not self.failed

    def claim(self, what: str, check: Callable[[], Any]) -> Any:
        """Run a check: proved with what it returns in words, failed where it raises Malformed, or unproved."""
        try:
            found = check()
            self.proved.append((what, found if isinstance(found, str) else ""))
            return found
        except Unsupported as error:
            self.unproved.append((what, str(error)))
        except Malformed as error:
            self.failed.append((what, str(error)))
        except (
            KeyError,
            TypeError,
            ValueError,
            IndexError,
            AttributeError,
            ArithmeticError,
            RecursionError,
            MemoryError,
            OSError,
        ) as error:
            self.failed.append((what, f"not as the format says ({type(error).__name__}: {str(error)[:60]})"))
        return None


def need(holds: Any, why: str) -> None:
    if not holds:
        raise Malformed(why)


def verify(folder: str | Path, key: str | None = None) -> Result:
    """Check a release folder; `key` is the text of the curator's public key, its fingerprint, or a file with either."""
    folder, result = Path(folder), Result()
    sizes = result.claim("the folder consists of plain files", lambda: list_files(folder))
    manifest = result.claim("release.json is a manifest", lambda: read_manifest(folder)) if sizes is not None else None
    if manifest is None:
        return result
    plan = manifest["plan"]
    contents: dict[str, bytes] = {}
    result.claim("the files are those of the plan", lambda: check_files(sizes, manifest))
    result.claim("every file has the stated hash", lambda: check_hashes(folder, manifest, contents))
    result.claim(
        "the policy has the stated hash",
        lambda: need(canonical_hash(manifest["policy"]) == manifest["policy_sha256"], "it has not"),
    )
    result.claim("signature", lambda: check_signature(folder, manifest, sizes, key))
    result.claim("the manifest agrees with itself", lambda: check_manifest(manifest))
    policy = result.claim("the policy is in its normal form", lambda: read_policy(manifest["policy"]))
    if policy is None or result.failed:
        return result
    items = result.claim("the plan is of the items of the policy", lambda: items_of(policy, plan)) or []
    whole = plan["certificate"]
    for (item, measurements), query in zip(items, plan["queries"], strict=False):
        name = query["name"]
        result.claim(
            f"certificate of {name}",
            lambda: check_certificate(
                query["certificate"], *price(policy, [(item, measurements)], query["certificate"].get("witness"))
            ),
        )
    if plan.get("names"):
        result.unproved.append(("certificate of the whole release", "names above a threshold"))
    else:
        result.claim(
            "certificate of the whole release",
            lambda: check_certificate(whole, *price(policy, items, whole.get("witness"))),
        )
    answers = []
    for (item, _), query in zip(items, plan["queries"], strict=False):
        name = query["name"]
        answer = result.claim(f"numbers measured for {name}", lambda: read_answer(item, query, contents))
        if answer is not None:
            answers.append(answer)
            result.claim(f"rows of {name}", answer.check_rows)
            result.claim(f"CSV of {name}", lambda: check_csv(answer, contents[f"answers/{name}.csv"], name))
            if f"answers/{name}.json" in contents:
                result.claim(
                    f"JSON-stat of {name}", lambda: check_json_stat(answer, contents[f"answers/{name}.json"], name)
                )
    linear = []
    for answer in answers:
        try:
            answer.fits()
            linear.append(answer)
        except Unsupported as error:
            result.unproved.append((f"estimates of {answer.query['name']}", str(error)))
    for where in dict.fromkeys(answer.item.item.get("where") for answer in linear):
        alike = [answer for answer in linear if answer.item.item.get("where") == where]
        result.claim(
            "estimates of " + ", ".join(answer.query["name"] for answer in alike), lambda: check_least_squares(alike)
        )
    result.unproved.append(
        ("which whole counts were taken, and intervals", "rounding and quantiles of weighted sums are not computed")
    )
    result.unproved.append(("stated errors", "not computed"))
    result.unproved.append(("pages: " + ", ".join(PAGES), "their words and pictures are not made again"))
    return result


def read_manifest(folder: Path) -> dict[str, Any]:
    manifest = read_json(read_bytes(folder, "release.json"), "release.json")
    keys = ("policy", "plan", "files", "ledger", "date", "charged", "dataset", "policy_sha256", "software", "title")
    need(isinstance(manifest, dict) and manifest.get("tetraodon_release") == 1, "no release of format 1")
    need(all(key in manifest for key in keys), "a key is missing")
    return manifest


def check_files(sizes: dict[str, int], manifest: dict[str, Any]) -> str:
    names = [query["name"] for query in manifest["plan"]["queries"]] + [
        entry["name"] for entry in manifest["plan"].get("names", [])
    ]
    need(all(re.fullmatch(r"[\w.-]{1,64}", name) for name in names) and len(set(names)) == len(names), "names of items")
    wanted = {*PAGES, "release.json"} | {
        f"{room}/{name}.parquet" for name in names for room in ("answers", "measurements")
    }
    wanted |= {f"answers/{name}.csv" for name in names}
    there = set(sizes) - {"signature.json"}
    extra, lost = there - wanted - {f"answers/{name}.json" for name in names}, wanted - there
    need(not extra and not lost, f"too many: {sorted(extra)[:3]}, missing: {sorted(lost)[:3]}")
    need(set(manifest["files"]) == there - {"release.json"}, "the manifest lists other files")
    return f"{len(there)} files"


def check_hashes(folder: Path, manifest: dict[str, Any], contents: dict[str, bytes]) -> str:
    for name, stated in manifest["files"].items():
        data = read_bytes(folder, name)
        need(hashlib.sha256(data).hexdigest() == stated, f"{name} was changed")
        contents[name] = data
    return f"{len(contents)} hashes"


def check_signature(folder: Path, manifest: dict[str, Any], sizes: dict[str, int], key: str | None) -> str:
    if "signature.json" not in sizes:
        need(key is None, "unsigned")
        raise Unsupported("unsigned")
    found = read_json(read_bytes(folder, "signature.json"), "signature.json")
    public, signature = (base64.b64decode(found[name], validate=True) for name in ("public_key", "signature"))
    fingerprint = hashlib.sha256(public).hexdigest()
    stated = {"tetraodon_signature": 1, "signs": "release.json", "algorithm": "Ed25519", "fingerprint": fingerprint}
    need(
        all(found.get(name) == value for name, value in stated.items()) and len(found) == 6,
        "signature.json states something else",
    )
    need(manifest["ledger"]["key"] == fingerprint, "the manifest states another key")
    need(signed(public, read_bytes(folder, "release.json"), signature), "the signature is wrong")
    if key is None:
        raise Unsupported(f"signed by {fingerprint}, a key that you have not named")
    need(named_key(key) == fingerprint, f"signed by another key, {fingerprint}")
    return f"of the key that you named, {fingerprint}"


def named_key(key: str) -> str:
    """The fingerprint of a key given as a fingerprint, as Base64, as PEM, or as a file with one of these."""
    text = Path(key).read_text() if len(key) < 4096 and "\n" not in key and Path(key).is_file() else key
    text = text.strip()
    if re.fullmatch("[0-9a-f]{64}", text):
        return text
    data = base64.b64decode(re.sub("-----[A-Z ]+-----|\\s", "", text), validate=True)
    need(
        len(data) == 32 or (len(data) == 44 and data[:12].hex() == "302a300506032b6570032100"),
        "the named key is no Ed25519 key",
    )
    return hashlib.sha256(data[-32:]).hexdigest()


def check_manifest(manifest: dict[str, Any]) -> str:
    policy, plan, ledger = manifest["policy"], manifest["plan"], manifest["ledger"]
    made, charged = date.fromisoformat(manifest["date"]), date.fromisoformat(ledger["when"])
    need(made <= (datetime.now(UTC) + timedelta(days=1)).date(), f"it is dated {made}, in the future")
    need(charged <= made, "the ledger's entry is later than the release")
    need(manifest["dataset"] == policy["dataset"] == ledger["dataset"], "data sets differ")
    need(manifest["title"] == policy.get("title", policy["dataset"]), "the title is not that of the policy")
    need(exact(manifest["charged"]) >= 0 and exact(ledger["charged"]) == exact(manifest["charged"]), "charges differ")
    need(re.fullmatch(r"tetraodon \d+\.\d+\.\d+\S*( with .{1,200})?", manifest["software"]), "software of another name")
    need(
        re.fullmatch("[0-9a-f]{64}", ledger["chain"]) and type(ledger["entry"]) is int and ledger["entry"] > 0,
        "the ledger's entry",
    )
    need(ledger.get("population") == policy.get("population"), "populations differ")
    stated = exact(plan["certificate"]["epsilon_exact"])
    need(
        plan["epsilon"] in (float(stated), plan["certificate"]["epsilon"]),
        "the plan's epsilon is not that of its certificate",
    )
    need(exact(ledger["asked"]) == stated, "the ledger was asked for another epsilon")
    need(exact(ledger["delta"]) == exact(plan["certificate"].get("delta", 0)), "the ledger has another delta")
    budget = policy["budget"]
    if "rho" in budget:
        need(exact(plan["certificate"].get("rho_exact", 0)) <= exact(budget["rho"]), "more rho than the budget")
    else:
        need(stated <= exact(budget["epsilon"]), "more epsilon than the budget")
    return ""


def check_certificate(stated: dict[str, Any], found: Any, gaussian: bool) -> str:
    epsilon = exact(stated["epsilon_exact"])
    need(stated["epsilon"] == float(epsilon), "epsilon and epsilon_exact differ")
    need(found.upper is not None, "; ".join(found.notes))
    need(not found.notes, "; ".join(found.notes))
    lost, name = (exact(stated["rho_exact"]), "rho") if gaussian else (epsilon, "epsilon")
    need(found.lower <= found.upper, "this verifier contradicts itself")
    need(lost >= found.lower, f"{name} {float(lost):.6g} is stated, and {found.pair} loses {float(found.lower):.6g}")
    need(
        not (found.exact and lost < found.upper),
        f"{name} {float(lost):.6g} is stated, and the worst step loses {float(found.upper):.6g}",
    )
    need(
        not stated["exact"] or found.lower == lost or not lost, "it is said to be exact, and the stated pair loses less"
    )
    if lost < found.upper:
        raise Unsupported(f"between {float(found.lower):.6g} and {float(found.upper):.6g}; {float(lost):.6g} is stated")
    if gaussian:
        need(stated["rho"] == float(lost), "rho and rho_exact differ")
        need(epsilon >= epsilon_of(lost, exact(stated["delta"])), "epsilon is less than rho is at this delta")
    return f"{name} {'is' if found.lower == lost else 'is at most'} {float(lost):.6g}"


def read_answer(item: Any, query: dict[str, Any], contents: dict[str, bytes]) -> Answer:
    name = query["name"]
    measured, rows = (
        read_parquet(contents[f"{room}/{name}.parquet"], f"{room}/{name}.parquet", 20_000_000)
        for room in ("measurements", "answers")
    )
    return Answer(item, query, measured, rows)


def check_csv(answer: Answer, data: bytes, name: str) -> str:
    found = read_csv(data, name)
    columns = list(answer.rows)
    wanted = [["'" + column for column in columns]]
    wanted += [[csv_cell(value) for value in row] for row in zip(*answer.rows.values(), strict=True)]
    need(len(found) == len(wanted), f"{len(found) - 1} rows where Parquet has {len(wanted) - 1}")
    for number, (row, want) in enumerate(zip(found, wanted, strict=True)):
        need(row == want, f"row {number} is {row}, where Parquet has {want}")
    return f"{len(found) - 1} rows"


def csv_cell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "'" + ("'" if re.match(r"'*[=+\-@\t\r\n]", value) and not re.fullmatch(r"-?\d.*", value) else "") + value
    return repr(value)


def check_json_stat(answer: Answer, data: bytes, name: str) -> str:
    found = read_json(data, name)
    measures = found["dimension"]["measure"]["category"]["index"]
    wanted = [
        float(number) for row in zip(*(answer.rows[column] for column in measures), strict=True) for number in row
    ]
    need(measures == list(answer.rows)[-len(measures) :], "other measures than the answer has")
    need([float(number) for number in found["value"]] == wanted, "numbers differ from those of the answer")
    return f"{len(wanted)} numbers"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tetraodon-verify", description=__doc__)
    parser.add_argument("folder")
    parser.add_argument(
        "--key", help="the public key that must have signed it: its text, a file with it, or its fingerprint"
    )
    parser.add_argument("--strict", action="store_true", help="exit with 3 where anything is unproved")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    given = parser.parse_args(arguments)
    result = verify(given.folder, given.key)
    if given.json:
        print(
            json.dumps(
                {"holds": bool(result), "proved": result.proved, "unproved": result.unproved, "failed": result.failed}
            )
        )
    else:
        for word, found in (("proved", result.proved), ("unproved", result.unproved), ("FAILED", result.failed)):
            for what, why in found:
                print(f"{word:9}{what}{': ' + why if why else ''}")
    return 1 if result.failed else 3 if given.strict and result.unproved else 0


if __name__ == "__main__":
    sys.exit(main())
