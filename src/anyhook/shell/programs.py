"""What the names of programs mean in a command line: one table for every reader of commands."""

from __future__ import annotations

import os
import re
from functools import lru_cache

BUILTINS = frozenset(
    ". : [ [[ alias break case cd command continue declare echo eval exec exit export false for"
    " function getopts hash if let local printf pwd read readonly return select set shift source"
    " test time times trap true type ulimit umask unalias unset until wait while { !".split()
)
"""Commands and keywords that shells run without a program on the `PATH`."""
KEYWORDS = frozenset("if then elif else fi while until do done ! time { }".split())
"""Words in front of a command that the shell takes for itself."""
POSIX_SHELLS = frozenset("sh bash dash zsh ash ksh".split())
"""Shells whose texts are read; the others have a syntax of their own."""
SHELLS = frozenset(
    "sh bash rbash dash ash hush zsh ksh ksh93 mksh lksh oksh rksh yash posh fish csh tcsh"
    " pwsh powershell nu elvish xonsh".split()
)
TASK_RUNNERS = frozenset(
    "bazel bundle cargo composer docker go gradle hatch just make mvn nix nox npm pdm pnpm podman"
    " rake task tox yarn".split()
)
"""Programs that run what a file of the project defines under a name."""
PACKAGE_RUNNERS = frozenset("bun bunx npx pipx pnpx poetry uv uvx".split())
"""Programs that run a program of a package."""
_INTERPRETER = re.compile(r"(?:.*/)?(?:python|pypy|node|ruby|perl|php|lua|bun|deno)[\d.]*\Z")


def base_name(word: str) -> str:
    """Return the last part of a path, of any system; the word itself if it has none."""
    path = word.rstrip("/\\").replace("\\", "/")
    return path.rpartition("/")[2] or word


def is_interpreter(program: str) -> bool:
    """Return whether a program, with or without directories and version, runs scripts."""
    return _INTERPRETER.match(program) is not None


@lru_cache(maxsize=64)
def find_shell(
    candidates: tuple[tuple[str, ...], ...], *paths: str | None
) -> tuple[str, ...] | None:
    """Return the absolute path of the first shell that exists, with its options.

    The best of the candidates comes first. `paths` are values of `PATH`; `None` is that of the
    system itself.
    """
    # Late: labels import this module, and `shutil` takes 3 ms for its compression libraries.
    import shutil

    for search_path in paths:
        # A relative entry would run a program of the directory that this process happens to be in.
        absolute = search_path
        if search_path is not None:
            absolute = os.pathsep.join(filter(os.path.isabs, search_path.split(os.pathsep)))
        for program, *options in candidates:
            executable = shutil.which(program, path=absolute)
            if executable:
                return (executable, *options)
    return None
