"""The view folder: complete for an analyst who has nothing of ours.

view.json        the probabilities as exact fractions, the domain, the plan, and a hash of every other file
tuples.parquet   the rows; tuples.csv the same, unless they are very many
public/          the side tables that conditions may read
policy.yaml      the policy
report.html      what it promises and how far off it is, in words; README.md says the same
estimate.sql     the estimator for DuckDB
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tetraodon.errors import ReleaseError
from tetraodon.ledger import document_hash
from tetraodon.policy.load import stated_policy
from tetraodon.policy.policy import SideTable
from tetraodon.policy.source import dump_policy
from tetraodon.releases.folder import BROKEN, VERSION, file_hash, software, write_manifest
from tetraodon.views import MANIFEST
from tetraodon.views.channel import channel_document, channel_from, paper_channel
from tetraodon.views.estimate_sql import estimate_sql
from tetraodon.views.exposure import Exposure, folder_exposure, refuse_exposure
from tetraodon.views.plan import ViewPlan
from tetraodon.views.report import report_html, report_text
from tetraodon.views.series import Series
from tetraodon.views.tuple_files import PARTS, TUPLES, take_drawn, write_csv

ROWS_AS_TEXT = "tuples.csv"
CSV_ROWS = 2_000_000
"""Longer views come as Parquet only: a CSV file of them is a burden."""


def fill_folder(
    folder: Path,
    plan: ViewPlan,
    drawn: Path,
    *,
    side: Mapping[str, SideTable],
    charged: str,
    when: str,
    chained: str = "",
    number: int = 1,
    accept_exposure: bool = False,
) -> str:
    """Write a view that was drawn into an empty folder; the hash of view.json. `number` is its place in a series.

    Raises Refused if the view exposes too many by itself, unless that is accepted.
    """
    policy = plan.policy
    tuples = take_drawn(drawn, folder)
    later = plan.series if number > 1 else None
    seen = None if later is None else {"number": number, "channel": channel_document(later.seen), **PARTS}
    if tuples <= CSV_ROWS:
        write_csv(folder / TUPLES, folder / ROWS_AS_TEXT)
    public = {}
    for name, table in side.items():
        (folder / "public").mkdir(exist_ok=True)
        public[name] = f"public/{name}{table.path.suffix.lower()}"
        shutil.copyfile(table.path, folder / public[name])
    document = policy_document(plan, public)
    (folder / "policy.yaml").write_text(dump_policy(document), encoding="utf-8")
    exposed = folder_exposure(folder, plan, seen)
    if not accept_exposure:
        refuse_exposure(exposed)
    stated = exposed.document()
    for name, text in pages_of(plan, tuples, charged, Exposure.of(stated), chained, later=later is not None).items():
        (folder / name).write_text(text, encoding="utf-8")
    manifest: dict[str, Any] = {
        "tetraodon_view": VERSION,
        "software": software(),
        "name": policy.dataset,
        "title": policy.title,
        "date": when,
        "charged": charged,
        "policy": document,
        "policy_sha256": document_hash(document),
        "plan": plan.document(),
        "channel": channel_document(plan.channel),
        "rows": TUPLES,
        "tuples": tuples,
        "exposure": stated,
        "n": plan.records,
        "m": str(policy.domain.size),
        "public": public,
        "seen": seen,
        "files": {name: file_hash(folder / name) for name in file_names(tuples, public, later is not None)},
    }
    return write_manifest(folder, MANIFEST, manifest)


def policy_document(plan: ViewPlan, public: Mapping[str, str]) -> dict[str, Any]:
    """The policy of a view as its folder states it, with the side tables where they are in the folder."""
    stated = {**plan.policy.document, "adversary": plan.adversary.document()}
    return {**stated, "public": dict(public)} if public else stated


def stated_plan(manifest: Mapping[str, Any]) -> ViewPlan:
    """The plan that a view.json states: its probabilities as they are there, everything else computed anew."""
    try:
        policy, channel = stated_policy(manifest["policy"]), channel_from(manifest["channel"])
        adversary = policy.adversary
        if adversary is None:
            raise ValueError
        prior = adversary.prior(policy.domain.size)
        series = None
        if adversary.views > 1:
            series = Series(channel, channel_from(manifest["plan"]["seen"]), adversary.views)
        paper = paper_channel(adversary, prior) if series is None and not adversary.source else None
        return ViewPlan(policy, adversary, prior, adversary.records, channel, paper, series)
    except BROKEN:
        raise ReleaseError("view.json does not describe a view", fix="ask for a new copy") from None


def pages_of(
    plan: ViewPlan, tuples: int, charged: str, exposed: Exposure, chained: str, *, later: bool
) -> dict[str, str]:
    """The texts of a view folder that follow from what its manifest states, by their file's name."""
    policy = plan.policy
    channel = plan.series.seen if later and plan.series is not None else None
    return {
        "report.html": report_html(plan, tuples, charged, exposed, chained),
        "README.md": report_text(plan, tuples, charged, exposed, chained),
        "estimate.sql": estimate_sql(policy.dataset, policy.domain, plan.channel, seen=channel),
    }


def file_names(tuples: int, public: Mapping[str, str], later: bool) -> tuple[str, ...]:
    """Every file that a view folder consists of, but view.json, which names them."""
    names = ["README.md", "estimate.sql", "policy.yaml", "report.html", TUPLES, *public.values()]
    names += [ROWS_AS_TEXT] if tuples <= CSV_ROWS else []
    return tuple(sorted([*names, *(PARTS.values() if later else ())]))
