"""`tetraodon-verify FOLDER`: what a release folder proves, what it does not, and why."""

import argparse
import base64
import hashlib
import json
import re
import struct
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from tetraodon_verify.answers import Answer, check_least_squares, grouped
from tetraodon_verify.folder import list_files, read_bytes, read_json, signed
from tetraodon_verify.loss import epsilon_of, items_of, price
from tetraodon_verify.policy import WRONG, Malformed, Policy, Unsupported, exact, fail_if, read_policy

PAGES = ("policy.yaml", "report.html", "README.md", "release.ipynb", "datapackage.json", "answers/csv-metadata.json")
LEFT = {
    "intervals, stated errors, and which of the nearest whole tables was taken": "not computed",
    "pages: " + ", ".join(PAGES): "not made again; only their hashes are compared",
}


@dataclass
class Result:
    """What was found: pairs of a statement and a reason. True if nothing failed."""

    proved: list[tuple[str, str]] = field(default_factory=list)
    unproved: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return not self.failed

    def claim(self, what: str, check: Callable[..., Any], *arguments: Any) -> Any:
        """Run a check: proved, with what it returns in words; unproved; or failed. It never ends in an error."""
        try:
            found = check(*arguments)
            self.proved.append((what, found if isinstance(found, str) else ""))
            return found
        except Unsupported as error:
            self.unproved.append((what, str(error)))
        except (Malformed, *WRONG, OSError, struct.error, zlib.error) as error:
            kind = "" if isinstance(error, Malformed) else f"not as the format says, {type(error).__name__}: "
            self.failed.append((what, f"{kind}{str(error)[:200]}"))


def need(holds: Any, why: str) -> None:
    fail_if(not holds, why)


def verify(folder: str | Path, key: str | None = None) -> Result:
    """Check a release folder; `key` is the text of the curator's public key, its fingerprint, or a file with either."""
    result, check = Result(), Check(Path(folder))
    if result.claim("the folder consists of plain files and has a manifest", check.read) is None:
        return result
    result.claim("the files are those of the plan", check.files)
    result.claim("every file has the stated hash", check.hashes)
    result.claim("signature", check.signature, key)
    result.claim("the manifest agrees with itself", check.statements)
    policy = result.claim("the policy is in its normal form", read_policy, check.policy)
    items = result.claim("the plan is of the items of the policy", items_of, policy, check.plan) if policy else None
    if items is None or result.failed:
        return result
    answers, queries = [], check.plan["queries"]
    for item, query in zip(items, queries, strict=True):
        result.claim(f"certificate of {query['name']}", check_certificate, query, policy, [item])
    result.claim("certificate of the whole release", check_certificate, check.plan, policy, items)
    for (item, _), query in zip(items, queries, strict=True):
        name = query["name"]
        files = [check.contents[f"{room}/{name}.parquet"] for room in ("measurements", "answers")]
        answer = result.claim(f"numbers measured for {name}", Answer, item, query, *files)
        if answer is not None:
            answers.append(answer)
            result.claim(f"rows of {name}", answer.check_rows)
            result.claim(f"CSV of {name}", check_csv, answer, check.contents[f"answers/{name}.csv"])
            if f"answers/{name}.json" in check.contents:
                result.claim(f"JSON-stat of {name}", check_json_stat, answer, check.contents[f"answers/{name}.json"])
    for alike in result.claim("items fall into groups that are fitted together", grouped, answers) or []:
        result.claim("estimates of " + ", ".join(answer.name for answer in alike), check_least_squares, alike)
    result.unproved += LEFT.items()
    return result


class Check:
    def __init__(self, folder: Path) -> None:
        self.folder, self.contents = folder, dict[str, bytes]()

    def read(self) -> Any:
        self.sizes, self.bytes = list_files(self.folder), read_bytes(self.folder, "release.json")
        self.manifest = read_json(self.bytes, "release.json")
        keys = {"policy", "plan", "files", "ledger", "date", "charged", "dataset", "policy_sha256", "software", "title"}
        need(isinstance(self.manifest, dict) and keys <= set(self.manifest), "a key is missing")
        need(self.manifest["tetraodon_release"] == 1, "no release of format 1")
        self.policy, self.plan, self.ledger = (self.manifest[key] for key in ("policy", "plan", "ledger"))
        return self.manifest

    def files(self) -> str:
        names = [one["name"] for kind in ("queries", "names") for one in self.plan.get(kind, [])]
        need(all(re.fullmatch(r"[\w.-]{1,64}", name) for name in names), "names of items")
        wanted = {*PAGES, "release.json", *(f"answers/{name}.csv" for name in names)}
        wanted |= {f"{room}/{name}.parquet" for name in names for room in ("answers", "measurements")}
        there = set(self.sizes) - {"signature.json"}
        extra, lost = there - wanted - {f"answers/{name}.json" for name in names}, wanted - there
        need(not extra and not lost, f"too many: {sorted(extra)[:3]}, missing: {sorted(lost)[:3]}")
        need(set(self.manifest["files"]) == there - {"release.json"}, "the manifest lists other files")
        need(len(set(names)) == len(names), "two items of one name")
        return f"{len(there)} files"

    def hashes(self) -> str:
        text = json.dumps(self.policy, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        need(hashlib.sha256(text.encode()).hexdigest() == self.manifest["policy_sha256"], "the policy was changed")
        for name, stated in self.manifest["files"].items():
            self.contents[name] = read_bytes(self.folder, name)
            need(hashlib.sha256(self.contents[name]).hexdigest() == stated, f"{name} was changed")
        return f"{len(self.contents)} files and the policy"

    def signature(self, key: str | None) -> str:
        if "signature.json" not in self.sizes:
            need(key is None, "unsigned")
            raise Unsupported("unsigned")
        data = read_bytes(self.folder, "signature.json")
        found = read_json(data, "signature.json")
        need(json.dumps(found, indent=1, sort_keys=True) == data.decode().rstrip("\n"), "written otherwise")
        public, signature = (base64.b64decode(found.pop(name), validate=True) for name in ("public_key", "signature"))
        finger = hashlib.sha256(public).hexdigest()
        stated = {"tetraodon_signature": 1, "signs": "release.json", "algorithm": "Ed25519", "fingerprint": finger}
        need(found == stated and self.ledger["key"] == finger, "signature.json states something else")
        need(signed(public, self.bytes, signature), "the signature is wrong")
        if key is None:
            raise Unsupported(f"signed by {finger}, a key that you have not named")
        need(fingerprint(key) == finger, f"signed by another key, {finger}")
        return f"of the key that you named, {finger}"

    def statements(self) -> None:
        policy, manifest, ledger, certificate = self.policy, self.manifest, self.ledger, self.plan["certificate"]
        made, charged = date.fromisoformat(manifest["date"]), date.fromisoformat(ledger["when"])
        need(made <= (datetime.now(UTC) + timedelta(days=1)).date(), f"it is dated {made}, in the future")
        need(charged <= made, "the ledger's entry is later than the release")
        need(manifest["dataset"] == policy["dataset"] == ledger["dataset"], "data sets differ")
        need(manifest["title"] == policy.get("title", ""), "the title is not that of the policy")
        need(exact(manifest["charged"]) == exact(ledger["charged"]) >= 0, "charges differ, or are below zero")
        need(re.fullmatch(r"tetraodon \d+\.\d+\.\d+\S*( with .{1,200})?", manifest["software"]), "other software")
        need(type(ledger["entry"]) is int and ledger["entry"] > 0, "the number of the ledger's entry")
        need(re.fullmatch("[0-9a-f]{64}", ledger["chain"]), "the chain of the ledger")
        need(ledger.get("population") == policy.get("population"), "populations differ")
        stated, delta = exact(certificate["epsilon_exact"]), exact(certificate.get("delta", 0))
        need(self.plan["epsilon"] == certificate["epsilon"] == float(stated), "the plan states another epsilon")
        need((exact(ledger["asked"]), exact(ledger["delta"])) == (stated, delta), "the ledger was asked another loss")
        budget, lost = policy["budget"], exact(certificate.get("rho_exact", 0))
        need(lost <= exact(budget["rho"]) if "rho" in budget else stated <= exact(budget["epsilon"]), "over the budget")
        need(delta <= exact(budget.get("delta", 0)), "a larger delta than the budget's")


def fingerprint(key: str) -> str:
    text = Path(key).read_text() if len(key) < 1000 and "\n" not in key and Path(key).is_file() else key
    if re.fullmatch("[0-9a-f]{64}", text.strip()):
        return text.strip()
    data = base64.b64decode(re.sub(r"-----[A-Z ]+-----|\s", "", text), validate=True)
    need(len(data) == 32 or data[:-32].hex() == "302a300506032b6570032100", "no Ed25519 key is named")
    return hashlib.sha256(data[-32:]).hexdigest()


def check_certificate(planned: dict[str, Any], policy: Policy, measured: list[Any]) -> str:
    stated, found = planned["certificate"], price(policy, measured, planned["certificate"]["witness"])
    name = "rho" if found.gaussian else "epsilon"
    epsilon, lost = exact(stated["epsilon_exact"]), exact(stated[f"{name}_exact"])
    need(planned["epsilon"] == stated["epsilon"] == float(epsilon), "epsilon is stated in two ways")
    need(stated[name] == float(lost), "rho is stated in two ways")
    need(not found.notes and found.upper is not None, "; ".join(found.notes))
    need(lost >= found.lower, f"{name} {float(lost):.6g} is stated, a pair loses {float(found.lower):.6g}")
    if lost < found.upper:
        raise Unsupported(f"{float(lost):.6g} is stated, between {float(found.lower):.6g} and {float(found.upper):.6g}")
    need(not (stated["exact"] and found.exact) or lost == found.lower, f"said to be exact: {float(found.lower):.6g} is")
    need(not stated["exact"] or found.stated in (None, lost), "said to be exact, and the stated pair loses less")
    if found.gaussian:
        need(epsilon >= epsilon_of(lost, exact(stated["delta"])), "epsilon is less than rho is at this delta")
    return f"{name} is {'' if found.lower == lost else 'at most '}{float(lost):.6g}"


def check_csv(answer: Answer, data: bytes) -> str:
    rows = [list(answer.rows), *zip(*answer.rows.values(), strict=True)]
    wanted, found = [",".join(map(csv_cell, row)) for row in rows], data.decode().replace("\r\n", "\n")
    need(found == "\n".join(wanted) + "\n", "it is not what Parquet has, cell by cell, or is written otherwise")
    return f"{len(wanted) - 1} rows"


def csv_cell(value: Any) -> str:
    value = str(value).lower() if isinstance(value, bool) else value
    if isinstance(value, str):
        risky = re.match(r"'*[=+\-@\t\r\n]", value) and not re.fullmatch(r"-?\d+(\.\d+)?(\.\.-?\d+(\.\d+)?)?", value)
        return '"' + ("'" if risky else "") + value.replace('"', '""') + '"'
    return repr(int(value) if abs(value) < 1e15 and value == int(value) else value)


def check_json_stat(answer: Answer, data: bytes) -> str:
    found = read_json(data, "JSON-stat")
    measures = found["dimension"]["measure"]["category"]["index"]
    wanted = [float(number) for row in zip(*(answer.rows[one] for one in measures), strict=True) for number in row]
    need(measures == list(answer.rows)[-len(measures) :], "other measures than the answer has")
    need([float(number) for number in found["value"]] == wanted, "numbers differ from those of the answer")
    return f"{len(wanted)} numbers"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tetraodon-verify", description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--key", help="the public key that signed it: its text, a file with it, or its fingerprint")
    parser.add_argument("--strict", action="store_true", help="exit with 3 where anything is unproved")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    given = parser.parse_args(arguments)
    result = verify(given.folder, given.key)
    kinds = {"proved": result.proved, "unproved": result.unproved, "FAILED": result.failed}
    lines = (f"{kind:9}{what}{': ' + why if why else ''}" for kind, found in kinds.items() for what, why in found)
    print(json.dumps({"holds": bool(result), **vars(result)}) if given.json else "\n".join(lines))
    return 1 if result.failed else 3 if given.strict and result.unproved else 0


if __name__ == "__main__":
    sys.exit(main())
