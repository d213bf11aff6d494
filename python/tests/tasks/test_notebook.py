"""How many calls have ended, as it is shown below a cell of a notebook: with a real kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from . import programs

CELL = """
import operator
import tidings.tasks as tt

with tt.Executor("memory:", workers=2) as executor:
    found = sum(executor.map(operator.neg, range(20), progress={progress}))
print(found)
"""


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BlockingKernelClient]:
    """Return a client of a kernel, as a notebook has one."""
    for variable in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    manager = KernelManager(transport="ipc", ip=str(tmp_path / "kernel"))
    manager.start_kernel(cwd=str(tmp_path), env=programs.environment())
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        yield client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def shown(kernel: BlockingKernelClient, progress: str) -> list[dict[str, Any]]:
    """Run the cell, and return what it has shown, one after the other."""
    messages: list[dict[str, Any]] = []
    reply = kernel.execute_interactive(
        CELL.format(progress=progress), timeout=60, output_hook=messages.append
    )
    assert reply["content"]["status"] == "ok", reply["content"]
    printed = "".join(
        one["content"]["text"] for one in messages if one["header"]["msg_type"] == "stream"
    )
    assert printed == "-190\n"
    kinds = ("display_data", "update_display_data")
    return [one for one in messages if one["header"]["msg_type"] in kinds]


def test_a_bar_below_the_cell_is_filled(kernel: BlockingKernelClient) -> None:
    """One bar is shown, and changed, until all calls have ended."""
    first, *others = shown(kernel, "True")
    assert first["header"]["msg_type"] == "display_data"
    assert {one["header"]["msg_type"] for one in others} == {"update_display_data"}
    names = {one["content"]["transient"]["display_id"] for one in (first, *others)}
    assert len(names) == 1
    last = others[-1]["content"]["data"]
    assert re.fullmatch(r"20 of 20, .*took \d+ s", last["text/plain"])
    assert last["text/html"] == f'<progress value="1.0000"></progress> {last["text/plain"]}'


def test_nothing_is_shown_if_nobody_wants_it(kernel: BlockingKernelClient) -> None:
    """A cell that asks for no progress prints its own output only."""
    assert shown(kernel, "False") == []
