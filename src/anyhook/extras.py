"""Imports that need the libraries of an extra of anyhook."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from anyhook.errors import MissingLibraryError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def needs_extra(package: str, library: str, extra: str) -> Iterator[None]:
    """Explain what to install if an import of a package's modules fails.

    Args:
        package: The package of anyhook.
        library: The library that it needs, for people.
        extra: The extra of anyhook that has it.

    Raises:
        ModuleNotFoundError: If a module is missing; with the command that installs it, unless it
            is one of anyhook.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "anyhook").partition(".")[0] == "anyhook":
            raise
        advice = MissingLibraryError(package, library, extra)
        raise ModuleNotFoundError(str(advice), name=error.name) from None
