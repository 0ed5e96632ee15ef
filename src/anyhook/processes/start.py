"""Starting a program on Linux and macOS, in a session of its own.

`subprocess.Popen` takes almost as long to prepare a start as the system takes to carry it out.
What it calls in the end is called here at once, with what it would give; where that is not known
to fit, `Popen` itself is used.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VERSIONS = frozenset({(3, 11), (3, 12), (3, 13)})
"""Versions of Python whose function takes these arguments. It is none that others may rely on."""
_fork_exec: Any = None
if sys.version_info[:2] in VERSIONS and sys.implementation.name == "cpython":
    with contextlib.suppress(ImportError):
        from _posixsubprocess import fork_exec as _fork_exec

FAILURE = 4096
"""Bytes; what a child says of a start that failed is shorter."""
ENCODING = (sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())


def start(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    ends: Sequence[int],
    program: str | None = None,
    extra: tuple[str, str] | None = None,
) -> int:
    """Start a program with nothing of ours but three descriptors.

    Args:
        argv: Program and arguments.
        cwd: Working directory.
        env: The whole environment.
        ends: Standard input, output and error.
        program: The file to start, if it is not the first word of `argv`.
        extra: A variable that is another one at each start; it takes the place of that in `env`.

    Returns:
        The process's number; whoever asked has to reap it.

    Raises:
        OSError: If it cannot be started.
        ValueError: If the system cannot take the arguments or the environment.
    """
    variables = _encoded(env) if _fork_exec is not None else None
    if variables is None:
        return _by_popen(argv, cwd, _joined(env, extra), ends, program)
    if extra is not None:
        variables = _with_extra(variables, extra, is_new=extra[0] not in env)
    read_end, write_end = os.pipe()
    try:
        if write_end < 3:
            return _by_popen(argv, cwd, _joined(env, extra), ends, program)
        found = program or argv[0]
        sys.audit("subprocess.Popen", found, argv, cwd, env)
        pid = _fork(argv, cwd, variables, _files(found, env), (*ends, read_end, write_end))
        os.close(write_end)
        write_end = -1
        if not os.read(read_end, FAILURE):
            return pid
    finally:
        os.close(read_end)
        if write_end >= 0:
            os.close(write_end)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
    # it knows how to say what went wrong
    return _by_popen(argv, cwd, _joined(env, extra), ends, program)


_last: list[tuple[dict[str, str], list[bytes]]] = []
"""The environment that was encoded last; mostly the next one is the same."""


def _encoded(env: Mapping[str, str]) -> list[bytes] | None:
    """Encode an environment; `None` if the system would read another one."""
    last = _last[0] if _last else None  # once: another thread may put its own there
    if last is not None and last[0] == env:
        return last[1]
    if any("=" in name for name in env):
        return None
    variables = [f"{name}={value}".encode(*ENCODING) for name, value in env.items()]
    _last[:] = [(dict(env), variables)]
    return variables


def _joined(env: Mapping[str, str], extra: tuple[str, str] | None) -> Mapping[str, str]:
    return env if extra is None else {**env, extra[0]: extra[1]}


def _with_extra(variables: list[bytes], extra: tuple[str, str], *, is_new: bool) -> list[bytes]:
    name, value = extra
    prefix = f"{name}=".encode(*ENCODING)
    others = variables if is_new else [v for v in variables if not v.startswith(prefix)]
    return [*others, prefix + value.encode(*ENCODING)]


def _files(program: str, env: Mapping[str, str]) -> list[str]:
    """List where a program may be."""
    if os.path.dirname(program):  # noqa: PTH120 - ten times faster
        return [program]
    return [os.path.join(place, program) for place in os.get_exec_path(env)]  # noqa: PTH118


def _fork(
    argv: Sequence[str],
    cwd: str,
    variables: list[bytes],
    files: list[str],
    descriptors: tuple[int, ...],
) -> int:
    stdin, stdout, stderr, *failure = descriptors
    pid: int = _fork_exec(
        list(argv),
        tuple(file.encode(*ENCODING) for file in files),
        True,  # close all descriptors
        (failure[1],),  # but this
        cwd,
        variables,
        *(stdin, -1),
        *(-1, stdout),
        *(-1, stderr),
        *failure,
        True,  # signals as a program expects them
        True,  # a new session
        *(-1, None, None, None),  # group and users are ours
        -1,  # so is the mask
        None,
        getattr(subprocess, "_USE_VFORK", True),
    )
    return pid


def _by_popen(
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    ends: Sequence[int],
    program: str | None,
) -> int:
    process = subprocess.Popen(
        list(argv),
        executable=program,
        stdin=ends[0],
        stdout=ends[1],
        stderr=ends[2],
        cwd=cwd,
        env=env,
        start_new_session=True,
    )
    process.returncode = 0  # so that it does not reap what is reaped elsewhere
    return process.pid
