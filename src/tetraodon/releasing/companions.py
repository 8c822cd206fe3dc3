"""What stands beside the answers for others to read: a notebook, and descriptions of the tables in open formats.

Folders of earlier days have none of these files. One that has any of them has all.
"""

from __future__ import annotations

from tetraodon.releasing.json_stat import is_json_table, json_stat_text
from tetraodon.releasing.notebook_file import NOTEBOOK, notebook_text
from tetraodon.releasing.plan import Plan
from tetraodon.releasing.release import Release
from tetraodon.releasing.table_metadata import CSV_ON_THE_WEB, PACKAGE, package_text, web_text


def companion_names(plan: Plan) -> tuple[str, ...]:
    """The files that go with the answers of a plan."""
    return (NOTEBOOK, PACKAGE, CSV_ON_THE_WEB, *json_tables(plan).values())


def json_tables(plan: Plan) -> dict[str, str]:
    """The items whose answers are written as JSON-stat too, each with its file."""
    return {item.name: f"answers/{item.name}.json" for item in plan if is_json_table(item, plan.policy.domain)}


def companion_texts(release: Release) -> dict[str, str]:
    """Each of them with what it holds. The same release always makes the same."""
    policy = release.plan.policy
    found = {NOTEBOOK: notebook_text(release), PACKAGE: package_text(release), CSV_ON_THE_WEB: web_text(release)}
    for name, file in json_tables(release.plan).items():
        found[file] = json_stat_text(release[name], policy.title or policy.dataset, release.when)
    return found
