"""Origins of hooks."""

from __future__ import annotations

from enum import StrEnum


class Layer(StrEnum):
    """The origin of a definition: a settings file, an extension, or code."""

    RUNTIME = "runtime"
    PROJECT = "project"
    LOCAL = "local"
    """The user's own settings of one project, which its repository does not share."""
    USER = "user"
    SYSTEM = "system"
    SYSTEM_DEFAULTS = "system-defaults"
    MANAGED = "managed"
    EXTENSION = "extension"
    PLUGIN = "plugin"
