"""A kind of question is one file and its row in `KINDS`: nothing else of the package is touched."""

from __future__ import annotations

import filecmp
import shutil
import subprocess
import sys
from pathlib import Path

from tests.query import toy_kind

import tetraodon

MOST_FILES = 3
PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import polars as pl
import tetraodon as td

folder = Path(sys.argv[1])
policy = td.load_policy({
    "dataset": "d", "presence": "public", "budget": {"epsilon": 1000},
    "attributes": {"x": {"integer": [0, 4], "unit": "EUR"}, "g": {"categories": ["a", "b"]}},
    "release": [{"name": "it", "spread": "x", "by": "g"}],
})
assert td.load_policy(policy.document) == policy
with td.Ledger(folder / "ledger.db") as book:
    book.open(policy.dataset, policy.epsilon, policy.document)
    table = pl.DataFrame({"x": [0, 4, 2, 1] * 50, "g": ["a", "a", "b", "b"] * 50})
    td.release(td.plan(policy), table, ledger=book, out=folder / "made")
for row in td.load_release(folder / "made")["it"].to_pandas().itertuples():
    print(row.g, round(row.spread, 2), row.lower <= row.spread <= row.upper)
failed = [check for check in td.verify(folder / "made") if not check.passed]
print("failed", failed)
print((folder / "made" / "report.html").read_text(encoding="utf-8").count("The spread of x in EUR, for each g."))
"""


def test_a_file_and_a_row_are_enough(tmp_path: Path) -> None:
    """A copy of the package with that one file more reads, plans, releases, verifies and reports the new kind."""
    home = Path(tetraodon.__file__).parent
    copy = tmp_path / "tetraodon"
    shutil.copytree(home, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(toy_kind.__file__, copy / "query" / "spread.py")
    kinds = copy / "query" / "kinds.py"
    text = kinds.read_text(encoding="utf-8").replace(
        "    Variance,\n    StandardDeviation,", "    Variance,\n    Spread,"
    )
    text = text.replace(
        "from tetraodon.query.synthetic", "from tetraodon.query.spread import Spread\nfrom tetraodon.query.synthetic"
    )
    kinds.write_text(text, encoding="utf-8")
    assert "    Spread,\n" in text
    files = [path.relative_to(copy) for path in copy.rglob("*") if path.is_file()]
    changed = [path for path in files if not (home / path).exists() or not filecmp.cmp(home / path, copy / path, False)]
    assert len(changed) <= MOST_FILES
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    a, b, failed, told = done.stdout.splitlines()[-4:]
    assert (a, b, failed) == ("a 4.0 True", "b 0.5 True", "failed []")
    assert int(told) > 0
