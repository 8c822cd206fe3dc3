"""An engine is one file and its row in the suite: nothing else of the package is touched."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
from tests.engine import toy_source

import tetraodon
from tetraodon.engine import open_table
from tetraodon.engine.open_table import ADDRESSES

PROGRAM = """
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.engine import open_table
with open_table({address!r}, Domain((Attribute("age", Integers(0, 9)),))) as engine:
    print(engine.counts([("age",)])[0].codes.tolist(), type(engine._table).__module__)
"""


def test_a_file_of_its_own_is_enough(tmp_path):
    """A copy of the package with that one file more opens, and counts, the tables of the new engine."""
    copy = tmp_path / "tetraodon"
    shutil.copytree(Path(tetraodon.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(toy_source.__file__, copy / "engine" / "toy_source.py")
    with duckdb.connect(str(tmp_path / "t.db")) as made:
        made.execute("CREATE TABLE people AS SELECT 7 AS age")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n" + PROGRAM.format(
        address=f"toy:{tmp_path}/t.db#people"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0] == "[[7]] tetraodon.engine.toy_source"


def test_every_file_of_that_name_is_an_engine():
    files = Path(open_table.__code__.co_filename).parent.glob("*_source.py")
    assert {"duckdb_source", "postgres_source", "spark_source", "ibis_source"} <= {file.stem for file in files}
    assert {"postgresql://", "postgres://", "spark:"} == set(ADDRESSES)
