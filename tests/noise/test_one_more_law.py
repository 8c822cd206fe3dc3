"""A law of noise is one class and its row in `LAWS`: nothing else of the package is touched."""

from __future__ import annotations

import filecmp
import shutil
import subprocess
import sys
from pathlib import Path

import tetraodon

MOST_FILES = 3
LAW = '''
class WideLaplace(LaplaceNoise):
    """Discrete Laplace noise of twice the scale: a shift by s costs |s| / (2 scale)."""

    __slots__ = ()

    def draw(self, scale: Fraction, size: Size) -> Integers:
        return discrete_laplace(2 * scale, size)

    def pmf(self, scale: Fraction, k: int) -> float:
        return laplace_pmf(2 * scale, k)

    def rate(self, scale: Fraction) -> Fraction:
        return 1 / (2 * scale)

    def exact_variance(self, scale: Fraction) -> float:
        return laplace_variance(2 * scale)

    def smooth_variance(self, scale: Fraction) -> float:
        return 8 * float(scale) ** 2

    def characteristic(self, scale: Fraction, angles: Floats) -> Floats:
        return LAPLACE.characteristic(2 * scale, angles)

    def quantile(self, scale: Fraction, confidence: Fraction) -> int:
        return laplace_quantile(2 * scale, confidence)

    def chernoff(self, scale: Fraction, terms: int, tail: float) -> int:
        return LAPLACE.chernoff(2 * scale, terms, tail)


WIDE = WideLaplace("wide", "wide Laplace")

'''
PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import polars as pl
import tetraodon as td

policy = td.load_policy({
    "dataset": "d", "presence": "public", "attributes": {"x": {"integer": [0, 4]}}, "budget": {"epsilon": 1},
    "release": [{"name": "h", "histogram": "x"}],
})
folder = Path(sys.argv[1])
with td.Ledger(folder / "ledger.db") as book:
    book.open(policy.dataset, policy.epsilon, policy.document)
    plan = td.plan(policy, noise="wide")
    td.release(plan, pl.DataFrame({"x": [0, 1, 1, 4] * 50}), ledger=book, out=folder / "made")
print(plan.certificate.epsilon, plan["h"].scale, plan["h"].strategy.noise.name)
print([check.what for check in td.verify(folder / "made").failed])
print("wide Laplace" in (folder / "made" / "report.html").read_text(encoding="utf-8"))
"""


def test_a_class_and_a_row_are_enough(tmp_path: Path) -> None:
    """A copy of the package with one law more plans, certifies, releases, verifies and reports with it."""
    home = Path(tetraodon.__file__).parent
    copy = tmp_path / "tetraodon"
    shutil.copytree(home, copy, ignore=shutil.ignore_patterns("__pycache__"))
    laws = copy / "noise" / "laws.py"
    text = laws.read_text(encoding="utf-8").replace(
        "for law in (LAPLACE, GAUSSIAN)})", "for law in (LAPLACE, GAUSSIAN, WIDE)})"
    )
    before, row, after = text.partition("LAWS: Mapping[str, NoiseLaw]")
    laws.write_text(before + LAW.lstrip() + "\n" + row + after, encoding="utf-8")
    files = [path.relative_to(copy) for path in copy.rglob("*") if path.is_file()]
    changed = [path for path in files if not (home / path).exists() or not filecmp.cmp(home / path, copy / path, False)]
    assert len(changed) <= MOST_FILES
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    assert done.stdout.splitlines()[-3:] == ["1 1 wide", "[]", "True"]
