"""Where hooks come from."""

from __future__ import annotations

from enum import StrEnum


class Layer(StrEnum):
    """Where a definition came from."""

    RUNTIME = "runtime"
    PROJECT = "project"
    LOCAL = "local"
    """The user's own settings of one project, beside those that its repository shares."""
    USER = "user"
    SYSTEM = "system"
    SYSTEM_DEFAULTS = "system-defaults"
    MANAGED = "managed"
    EXTENSION = "extension"
    PLUGIN = "plugin"
