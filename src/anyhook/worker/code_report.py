"""Reports which files a warm hook has loaded, so that trust can be bound to them."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from anyhook.trust.observed import add_observed
from anyhook.worker.endpoint import LOCK_FD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.trust.loaded_code import LoadedCode


class CodeReport:
    """Keeps the files that a hook file has loaded, and those that its functions load later.

    Args:
        hook_file: The hook file.
        code: What is noted of this process and of those that are forked from it.
    """

    def __init__(self, hook_file: str, code: LoadedCode) -> None:
        self._hook_file = hook_file
        self._code = code
        self._known_code: set[str] = set()
        self._known_data: set[str] = set()

    def keep_in_background(self, environ: Mapping[bytes, bytes]) -> None:
        """Keep what loading has loaded, in a process that nobody waits for."""
        child = os.fork()
        if child == 0:
            try:
                # A process that is no child of the server, which collects only its own.
                if os.fork() == 0:
                    os.setsid()
                    os.close(LOCK_FD)
                    with suppress(Exception):  # a full disk
                        self.keep(environ)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        self._known_code = set(self._code.code_files)
        self._known_data = set(self._code.read_files)

    def keep(self, environ: Mapping[bytes, bytes]) -> None:
        """Keep what was loaded since the hook file was.

        Args:
            environ: Variables of the event, which name the data directory.

        Raises:
            OSError: If it cannot be written.
        """
        has_new_code = not self._code.code_files <= self._known_code
        has_new_data = not self._code.read_files <= self._known_data
        if not has_new_code and not has_new_data:
            return
        variables = {os.fsdecode(name): os.fsdecode(value) for name, value in environ.items()}
        add_observed(self._hook_file, self._code.loaded(), self._code.read(), variables)
