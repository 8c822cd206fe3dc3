"""What a plain installation gets: what the package requires, and nothing that only developers need."""

from __future__ import annotations

import tomllib

from scripts.lock import DEV, PLAIN, ROOT, entries, needed, only_entries, plain_lock


def test_the_plain_lock_is_what_is_needed() -> None:
    assert PLAIN.read_text(encoding="utf-8") == plain_lock()


def test_everything_that_is_declared_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [
        *project["dependencies"],
        *(one for extra in project["optional-dependencies"].values() for one in extra),
    ]
    locked = entries(DEV.read_text(encoding="utf-8"))
    assert {name for each in declared for name in needed([each], locked)} <= {*locked}
    assert all(needed([each], locked) for each in declared)


def test_every_entry_has_its_hashes() -> None:
    for path in (DEV, PLAIN):
        assert all("--hash=sha256:" in lines for lines in entries(path.read_text(encoding="utf-8")).values())


def test_what_only_developers_need_is_left_out() -> None:
    names = {*entries(PLAIN.read_text(encoding="utf-8"))}
    assert not names & {"pyspark", "mypy", "mkdocs", "pytest", "ortools", "polars", "scikit-learn", "dp-accounting"}


def test_what_an_extra_asks_for_is_found() -> None:
    locked = entries(DEV.read_text(encoding="utf-8"))
    assert "psycopg-binary" in needed(["psycopg[binary]"], locked)
    assert "psycopg-binary" not in needed(["psycopg"], locked)


def test_nothing_but_entries_is_written() -> None:
    locked = "numpy==2.4.6 ; python_full_version < '3.12' \\\n    --hash=sha256:1 \\\n    --hash=sha256:2\n"
    written = f"# made by a tool\n-i https://index.example/simple\n--pre\n{locked}    # via scipy\n\n"
    assert only_entries(written) == locked
    assert all(only_entries(path.read_text(encoding="utf-8")) == path.read_text("utf-8") for path in (DEV, PLAIN))
