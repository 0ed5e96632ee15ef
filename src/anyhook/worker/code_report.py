"""Reports which files a warm hook has loaded, so that trust can be bound to them."""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from anyhook.files import data_path
from anyhook.worker.endpoint import LOCK_FD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.trust.loaded_code import LoadedCode

MARKS = 1 << 20
"""Bytes of memory, one for each hash of a path. Only the pages that are used exist."""


class CodeReport:
    """Keeps the files that a hook file has loaded, and those that its functions load later.

    Args:
        hook_file: The hook file.
        code: What is noted of this process and of those that are forked from it.
    """

    def __init__(self, hook_file: str, code: LoadedCode) -> None:
        self._hook_file = hook_file
        self._code = code
        # Shared with all children: what one of them has kept, the next ones need not look up.
        self._marks = mmap.mmap(-1, MARKS)

    def keep_in_background(self, environ: Mapping[bytes, bytes]) -> None:
        """Keep what the hook file has loaded, in a process of its own, so that no event waits."""
        child = os.fork()
        if child == 0:
            try:
                # A process that is not a child of the server, which collects only its own.
                if os.fork() == 0:
                    os.setsid()
                    os.close(LOCK_FD)
                    with suppress(Exception):  # a full disk
                        self.keep(environ)
            finally:
                os._exit(0)
        os.waitpid(child, 0)

    def keep(self, environ: Mapping[bytes, bytes]) -> None:
        """Keep what was loaded and is not kept yet.

        Args:
            environ: Variables of the event, which name the data directory.

        Raises:
            OSError: If it cannot be written.
        """
        variables = {os.fsdecode(name): os.fsdecode(value) for name, value in environ.items()}
        directory = data_path(variables)
        files = self._code.files()
        marks = [hash((directory, "code", path)) % MARKS for path in files.code]
        marks += [hash((directory, "data", path)) % MARKS for path in files.data]
        if all(self._marks[mark] for mark in marks):
            return
        # It imports much, which the server and most of its children do not need.
        from anyhook.trust.observed import add_observed

        add_observed(self._hook_file, files.code, files.data, variables)
        for mark in marks:
            self._marks[mark] = 1
