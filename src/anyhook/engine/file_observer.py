"""Which files the hook files that a host registers load, so that trust can be bound to them."""

from __future__ import annotations

import logging
import os
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.trust.loaded_code import LoadedCode, noting
from anyhook.trust.observed import add_observed

if TYPE_CHECKING:
    from collections.abc import Iterator

_logger = logging.getLogger("anyhook")


class FileObserver:
    """Keeps what a hook file loads in this process, while it is loaded and when it is called.

    The same file may be a hook in the settings of a project, whose trust is bound to that.
    """

    def __init__(self, hook_file: str | os.PathLike[str]) -> None:
        self._hook_file = str(Path(os.fsdecode(hook_file)).resolve())
        self._code = LoadedCode()
        self._kept: tuple[int, int] = (0, 0)
        self._lock = threading.Lock()

    @contextmanager
    def observe(self) -> Iterator[None]:
        """Note what is loaded within the block; keep it afterwards, without waiting for that."""
        try:
            with noting(self._code):
                yield
        finally:
            if self._counts() != self._kept:
                # The interpreter waits for it, whichever thread has started it.
                threading.Thread(target=self._keep, name="anyhook-observed", daemon=False).start()

    def _counts(self) -> tuple[int, int]:
        return len(self._code.code_files), len(self._code.read_files)

    def _keep(self) -> None:
        with self._lock:
            self._kept = self._counts()
            files = self._code.files()
            try:
                add_observed(self._hook_file, files.code, files.data)
            except OSError as error:
                _logger.debug("what %s loads is not kept: %s", self._hook_file, error)
