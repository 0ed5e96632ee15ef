"""Compiles the native program `anyhook`, where there is a C compiler.

Without one, the package is built with a console script of that name, and every hook runs cold.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path("src/anyhook/worker/client.c")
PROGRAM = SOURCE.with_name("anyhook")
SCRIPT = "anyhook-python"
"""The console script that the native program becomes for everything but `run`."""
SWITCH = "ANYHOOK_BUILD_CLIENT"
"""`off` builds a package without the native client, which serves every platform."""
WAYS = (("-O2", "-s", "-static"), ("-O2",))
"""A program without libraries starts twice as fast; not every system can link one."""
EVERY_LINUX = frozenset(("x86_64", "aarch64", "armv7l", "i686", "ppc64le", "s390x"))
"""Machines that the tags for every Linux are defined for."""


class NativeClient(BuildHookInterface[Any]):
    """Puts the program into the wheel, and next to its source when installed for development."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Compile the program, or add the console script in its place."""
        root = Path(self.root)
        (root / PROGRAM).unlink(missing_ok=True)
        scripts = self.metadata.core.scripts
        if os.environ.get(SWITCH) == "off" or os.name != "posix":
            scripts[PROGRAM.name] = scripts[SCRIPT]
            return
        flags, problem = compile_program(root / SOURCE, root / PROGRAM)
        if problem:
            scripts[PROGRAM.name] = scripts[SCRIPT]
            self.app.display_warning(f"anyhook is built without its native program: {problem}")
            return
        build_data["artifacts"].append(f"/{PROGRAM.as_posix()}")
        build_data["shared_scripts"][str(root / PROGRAM)] = PROGRAM.name
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{_platform(is_static='-static' in flags)}"


def _platform(*, is_static: bool) -> str:
    """Name the platforms that the program runs on; one without libraries needs the kernel alone."""
    name = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    system, _, machine = name.partition("_")
    if is_static and system == "linux" and machine in EVERY_LINUX:
        return f"manylinux_2_17_{machine}.musllinux_1_1_{machine}"
    return name


def compile_program(source: Path, program: Path) -> tuple[tuple[str, ...], str]:
    """Compile a program; return the flags, and why it is not possible if it is not."""
    compiler = shlex.split(os.environ.get("CC", "")) or _found("cc", "gcc", "clang")
    if not compiler:
        return (), "there is no C compiler"
    problem = ""
    for flags in WAYS:
        try:
            done = subprocess.run(
                [*compiler, *flags, "-o", str(program), str(source)],
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError as error:
            return (), f"{compiler[0]}: {error.strerror}"
        if done.returncode == 0 and _runs(program):
            return flags, ""
        problem = (done.stderr.strip().splitlines() or ["it does not run here"])[0]
    program.unlink(missing_ok=True)
    return (), problem


def _found(*names: str) -> list[str]:
    return [path for name in names if (path := shutil.which(name))][:1]


def _runs(program: Path) -> bool:
    """Return whether this machine can run it; alone, it reports that its script is missing."""
    try:
        done = subprocess.run([program], capture_output=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return SCRIPT.encode() in done.stderr
