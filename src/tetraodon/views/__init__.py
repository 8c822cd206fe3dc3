"""Publishing microdata: views of whole tables, records among noise, and what can be learnt from them."""

import os
from pathlib import Path

MANIFEST = "view.json"


def is_view(folder: Path) -> bool:
    """Whether a folder says it is a view rather than a release."""
    return os.path.lexists(folder / MANIFEST)
