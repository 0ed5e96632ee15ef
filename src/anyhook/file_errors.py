"""Why a file of the user cannot be read or written, and what to do about it."""

from __future__ import annotations

import errno
import os
import shlex

_RIGHTS = {"read": (os.R_OK, "r"), "change": (os.W_OK, "w"), "enter": (os.X_OK, "rx")}
"""What a user does with a file: the right that it takes, and its letter in `chmod`."""


def may_exist(path: str | os.PathLike[str]) -> bool:
    """Return whether something is at a path, be it a link that leads nowhere.

    A path that cannot be looked at counts.
    """
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        pass
    return True


def dead_link(path: str | os.PathLike[str]) -> str:
    """Return the link on the way to a path that leads nowhere; empty if there is none."""
    place = _nearest(os.path.abspath(path))
    try:
        os.stat(place)
    except FileNotFoundError:
        return place
    except OSError:
        pass
    return ""


def explain_error(path: str | os.PathLike[str], error: OSError, verb: str = "read") -> str:
    """Return why a file cannot be read or written, with a remedy where there is one.

    Args:
        path: The file.
        error: What the system reports.
        verb: What was tried: `read`, `change`, or `enter` for a directory.
    """
    link = dead_link(path)
    if link:
        name = "it" if link == os.path.abspath(path) else link
        target = os.readlink(link)
        remedy = "restore that, or delete the link"
        return f"{name} is a link to {target}, which does not exist; {remedy}"
    if isinstance(error, (NotADirectoryError, FileExistsError)):
        parent = _nearest(os.path.dirname(os.path.abspath(path)))
        if os.path.isdir(parent):
            cause = ""
        elif parent == os.environ.get("HOME"):
            cause = f"HOME is {parent}, which is not a directory; set it to your home directory"
        else:
            cause = f"{parent} is not a directory; move this file away"
    elif isinstance(error, PermissionError):
        cause = _explain_missing_right(os.path.realpath(path), verb)
    elif isinstance(error, IsADirectoryError):
        cause = "it is a directory; move it away"
    elif error.errno == errno.ELOOP:
        cause = "it is a link that leads back to itself; delete the link, or let it lead to a file"
    else:
        cause = ""
    return cause or error.strerror or str(error)


def _nearest(path: str) -> str:
    """Return the part of a path that exists, be it a link that leads nowhere."""
    parent = os.path.dirname(path)
    while not os.path.lexists(path) and parent != path:  # a drive of Windows may not exist
        path, parent = parent, os.path.dirname(parent)
    return path


def _explain_missing_right(path: str, verb: str) -> str:
    """Return which right a user lacks to read or change a file; empty if none seems to lack.

    A file is changed by putting a new one into its place, which takes the right to change its
    directory.
    """
    steps = [(path, verb)]
    below = path
    while (parent := os.path.dirname(below)) != below:
        steps.insert(0, (parent, "enter"))
        below = parent
    if verb == "change":
        steps.append((_nearest(os.path.dirname(path)), verb))
    for place, action in steps:
        right, letter = _RIGHTS[action]
        if os.access(place, right) or not os.path.lexists(place):
            continue
        name = "it" if place == path else place
        status = os.stat(place)
        if not hasattr(os, "geteuid") or status.st_uid == os.geteuid():
            return f"you may not {action} {name}; run: chmod u+{letter} {shlex.quote(place)}"
        return f"you may not {action} {name}, which belongs to {_user_name(status.st_uid)}"
    return ""


def _user_name(number: int) -> str:
    import pwd  # not on Windows

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
