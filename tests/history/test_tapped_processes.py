"""Every case of child processes, with a command that is recorded: nothing differs."""

from __future__ import annotations

import sys
import uuid

import anyio
import pytest

from anyhook.journal.lines import SWITCH
from anyhook.processes.run import run_process
from anyhook.shell.tapped import write_tapped
from tests.history.test_tap import MARK, TAP
from tests.leftovers import none_left
from tests.processes import test_process
from tests.processes.test_process import *  # noqa: F403 - its tests run here with another `shell`

# The wrapper leads the group, and the command is in it.
del test_the_command_leads_its_own_session_and_group  # noqa: F821

pytestmark = [*test_process.pytestmark, pytest.mark.slow]


@pytest.fixture
def shell(tmp_path, home):
    """Run a command line as an agent does whose hooks are recorded."""
    switch = home / "data" / "history" / SWITCH
    switch.parent.mkdir(parents=True)
    switch.write_text("{}")
    start = (sys.executable, "-I", "-S", str(TAP), "history", "claude")

    async def run(line, *, stdin=b"", timeout=30.0, **options):
        with none_left(uuid.uuid4().hex) as env, anyio.fail_after(20):
            env["ANYHOOK_DATA_DIR"] = str(home / "data")
            options.setdefault("cwd", str(tmp_path))
            argv = line
            if not isinstance(line, list):
                argv = ["bash", "-c", write_tapped(start, line, MARK)]
            return await run_process(argv, env=env, stdin=stdin, timeout=timeout, **options)

    return run
