"""Publishing microdata: views that hide who is in them, and what can be learnt from such a view.

The room is called like the function: `td.publish(...)` publishes, whether the room has been loaded or not.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from tetraodon.publish.run import publish

        return publish(*arguments, **options)


sys.modules[__name__].__class__ = _Room
