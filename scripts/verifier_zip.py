"""`python -m scripts.verifier_zip OUT`: the verifier as one file that Python runs, the same bytes every time."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "verifier" / "tetraodon_verify"
START = "import sys\n\nfrom tetraodon_verify.__main__ import main\n\nsys.exit(main())\n"
WHEN = (2026, 1, 1, 0, 0, 0)


def write_zip(out: Path) -> None:
    """Write `verify.pyz`: `python verify.pyz FOLDER` needs nothing else."""
    sources = {f"tetraodon_verify/{path.name}": path.read_text("utf-8") for path in sorted(PACKAGE.glob("*.py"))}
    out.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in {"__main__.py": START, **sources}.items():
            file.writestr(zipfile.ZipInfo(name, WHEN), text, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m scripts.verifier_zip OUT")
    write_zip(Path(sys.argv[1]))
