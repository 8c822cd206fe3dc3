"""What the web process holds: no source of data, and no way to one."""

from __future__ import annotations

from tests.house import SOURCE, imports, syntax
from tests.web.conftest import World


def test_the_web_process_knows_no_source(open_world: World) -> None:
    """Nothing that it holds names the table or the file of sources, and none of its modules can read that file."""
    assert str(open_world.table).encode() not in (open_world.folder / "ledger.db").read_bytes()
    modules = "app server app_context api pages forms datasets requests planner jobs auth"
    for name in modules.split():
        taken = {found for found, _ in imports(syntax(SOURCE / "web" / f"{name}.py"))}
        assert "tetraodon.web.worker" not in taken, name
        assert not any(found.startswith("tetraodon.engine") for found in taken), name
