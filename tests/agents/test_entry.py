"""How objects are loaded that tables name by path."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from anyhook.agents.entry import load_object

THREADS = 8


def test_a_module_that_another_thread_imports_is_waited_for(tmp_path, monkeypatch):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = f"with open({str(pipe)!r}) as pipe:\n    pipe.read()\nNAME = 'the object'\n"
    (tmp_path / "half_imported.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    barrier = threading.Barrier(THREADS + 1)

    def load():
        barrier.wait()
        return load_object("half_imported:NAME")

    with ThreadPoolExecutor(THREADS + 1) as threads:
        first = threads.submit(load_object, "half_imported:NAME")
        with pipe.open("w"):  # blocks until the module is being imported
            others = [threads.submit(load) for _ in range(THREADS)]
            barrier.wait()
        objects = [first.result(), *(other.result() for other in others)]
    sys.modules.pop("half_imported")

    assert objects == ["the object"] * (THREADS + 1)
