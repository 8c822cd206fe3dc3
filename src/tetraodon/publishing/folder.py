"""The view folder: complete for an analyst who has nothing of ours.

view.json        the probabilities as exact fractions, the domain, the plan, and a hash of every other file
tuples.parquet   the rows; tuples.csv the same, unless they are very many
public/          the side tables that conditions may read
policy.yaml      the policy
report.html      what it hides and how far off it is, in words; README.md says the same
estimate.sql     the estimator for DuckDB
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tetraodon
from tetraodon.errors import PolicyError, ReleaseError
from tetraodon.ledger import document_hash
from tetraodon.policy.dump import dump_policy
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy
from tetraodon.publishing.conditions import paper_channel
from tetraodon.publishing.drawn import PARTS, take_drawn
from tetraodon.publishing.estimate_sql import estimate_sql
from tetraodon.publishing.plan import ViewPlan
from tetraodon.publishing.report import report_html, report_text
from tetraodon.publishing.series import Series
from tetraodon.publishing.view import MANIFEST, channel_document, channel_from
from tetraodon.publishing.writing import write_csv
from tetraodon.releasing.folder import BROKEN, file_hash

VERSION = 1
CSV_ROWS = 2_000_000
"""Longer views come as Parquet only: a CSV file of them is a burden."""
SIDE_TABLES = (".csv", ".parquet")


def fill_folder(
    folder: Path,
    plan: ViewPlan,
    drawn: Path,
    *,
    side: Mapping[str, Path],
    charged: str,
    when: str,
    number: int = 1,
) -> str:
    """Write a view that was drawn into an empty folder; the hash of view.json. `number` is its place in a series."""
    policy = plan.policy
    tuples = take_drawn(drawn, folder)
    later = plan.series if number > 1 else None
    seen = None if later is None else {"number": number, "channel": channel_document(later.seen), **PARTS}
    if tuples <= CSV_ROWS:
        write_csv(folder / "tuples.parquet", folder / "tuples.csv")
    public = {}
    for name, path in side.items():
        (folder / "public").mkdir(exist_ok=True)
        public[name] = f"public/{name}{path.suffix.lower()}"
        shutil.copyfile(path, folder / public[name])
    document = {**policy.document, "adversary": plan.adversary.document(), **({"public": public} if public else {})}
    (folder / "policy.yaml").write_text(dump_policy(document), encoding="utf-8")
    (folder / "report.html").write_text(report_html(plan, tuples, charged), encoding="utf-8")
    (folder / "README.md").write_text(report_text(plan, tuples, charged), encoding="utf-8")
    channel = None if later is None else later.seen
    script = estimate_sql(policy.dataset, policy.domain, plan.channel, seen=channel)
    (folder / "estimate.sql").write_text(script, encoding="utf-8")
    manifest: dict[str, Any] = {
        "tetraodon_view": VERSION,
        "software": f"tetraodon {tetraodon.__version__}",
        "name": policy.dataset,
        "title": policy.title,
        "date": when,
        "charged": charged,
        "policy": document,
        "policy_sha256": document_hash(document),
        "plan": plan.document(),
        "channel": channel_document(plan.channel),
        "rows": "tuples.parquet",
        "tuples": tuples,
        "n": plan.records,
        "m": str(policy.domain.size),
        "public": public,
        "seen": seen,
        "files": {name: file_hash(folder / name) for name in files_of(folder)},
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    return hashlib.sha256(text.encode()).hexdigest()


def stated_plan(manifest: Mapping[str, Any]) -> ViewPlan:
    """The plan that a view.json states: its probabilities as they are there, everything else computed anew."""
    try:
        policy, channel = load_policy(manifest["policy"]), channel_from(manifest["channel"])
        adversary = policy.adversary
        if adversary is None:
            raise ValueError
        prior = adversary.prior(policy.domain.size)
        series = None
        if adversary.views > 1:
            series = Series(channel, channel_from(manifest["plan"]["seen"]), adversary.views)
        paper = paper_channel(adversary, prior) if series is None else None
        return ViewPlan(policy, adversary, prior, adversary.records, channel, paper, series)
    except BROKEN:
        raise ReleaseError("view.json does not describe a view", fix="ask for a new copy") from None


def files_of(folder: Path) -> list[str]:
    """Every file of a view but view.json, which names them."""
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and p.name != MANIFEST)


def side_tables(policy: Policy) -> dict[str, Path]:
    """The policy's public tables, looked for beside its file. Refuses those that are not there."""
    found = {}
    for name, file in policy.public:
        path = policy.folder / file
        if path.suffix.lower() not in SIDE_TABLES or not path.is_file():
            raise PolicyError(
                f"the public table {name} is not a CSV or Parquet file", fix="check its path", where=f"public {name}"
            )
        if name == policy.dataset:
            raise PolicyError("a public table is called like the data set", fix="rename it", where=f"public {name}")
        found[name] = path
    return found
