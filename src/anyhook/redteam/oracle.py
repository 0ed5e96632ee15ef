"""Prove that two lines do the same, by running both where nothing real can be changed."""

from __future__ import annotations

import os
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from anyhook.errors import RunEndedError, SandboxError
from anyhook.redteam.observing import Act, Scene, Task, prove
from anyhook.redteam.programs import (
    HELPERS,
    installed_shells,
    stubs_for_effects,
    stubs_for_records,
    world_of,
)
from anyhook.sandbox.sandbox import Sandbox
from anyhook.shell.words import split_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_NAME = re.compile(r"[A-Za-z_][\w.+-]*")
_UNWRITABLE = ("/bin", "/dev", "/lib", "/proc", "/run", "/sbin", "/sys", "/usr", "/.")
_DIRECTORY_PROGRAMS = frozenset("find ls du tar rmdir cd pushd".split())
_WITH_TEXT = frozenset("awk chmod chown egrep fgrep grep rg sed".split())
_COPYING = frozenset("cp install ln mv".split())
_MAKING = frozenset("mkdir mkfifo touch".split())
_OPERATOR = re.compile(r"[;&|()<>]+")
_SYSTEM_ROOTS = ("/etc", "/home", "/opt", "/root", "/srv", "/tmp", "/var")


class Oracle:
    """Compares what lines do, in a bare world. Use it in a `with` block.

    The project is empty but for a few files of the oracle's. The paths that the plain forms in
    `lines` name are made, and their programs are there.

    Raises:
        SandboxError: If this system has no namespaces, or the project is in a directory of the
            system.
    """

    def __init__(self, project: str, home: str, lines: Iterable[str]) -> None:
        for path in (project, home):
            if path == "/" or path.startswith(_UNWRITABLE):
                raise SandboxError(f"nothing can be proved in {path}, a directory of the system")
        texts = list(lines)
        self.scene = make_scene(project, home, texts)
        programs: set[str] = set()
        for text in texts:
            programs.update(filter(_NAME.fullmatch, split_tokens(text)))
        world = world_of(programs, (project, home, *self.scene.roots))
        self._sandbox = Sandbox(project, home, environ={}, programs=world, discards_output=True)
        self.shells = installed_shells()

    def prove(
        self,
        pairs: Sequence[tuple[Act, Act]],
        shell: str,
        *,
        on_result: Callable[[int, bool], object] = lambda _number, _is_proved: None,
    ) -> list[bool]:
        """Return for each pair of a plain form and another one whether they do the same.

        Pairs with the same plain form stand together, and the shell is one of `shells`. `on_result`
        is called for each result as it comes, with the number of its pair.
        """
        results: dict[int, bool] = {}

        def take(message: list[tuple[int, bool]]) -> None:
            for number, is_proved in message:
                results[number] = is_proved
                on_result(number, is_proved)

        groups: dict[Act, list[tuple[int, Act]]] = {}
        for number, (plain, other) in enumerate(pairs):
            groups.setdefault(plain, []).append((number, other))
        tasks: list[Task] = []
        for plain, others in groups.items():
            words = split_tokens(plain.line)
            programs = [word for word in words if _NAME.fullmatch(word)]
            own_programs = [name for name in programs if name not in HELPERS] + programs[:1]
            # First records are compared, then effects.
            views = (stubs_for_records(own_programs), stubs_for_effects(programs))
            tasks.append(Task(plain, tuple(others), shell, views, "git" in words))
        # The files are made anew when the next task needs others.
        tasks.sort(key=lambda task: task.has_repository)
        while len(results) < len(pairs):
            before = len(results)
            try:
                self._sandbox.run(prove, self.scene, tasks, dict(results), on_message=take)
            except RunEndedError as error:
                # The line has ended the process that observes it.
                results.setdefault(error.step, False)
            if len(results) == before:
                raise SandboxError("the oracle ends before it compares anything")
        return [results[number] for number in range(len(pairs))]

    def close(self) -> None:
        """End the world."""
        self._sandbox.close()


def make_scene(project: str, home: str, lines: Iterable[str]) -> Scene:
    """Return files for lines: a small project and home, and the paths that the lines name."""
    files: dict[str, str | None] = {
        f"{project}/README.md": "readme\n",
        f"{project}/notes.txt": "notes\n",
        f"{project}/.env": "TOKEN=secret-token\n",
        f"{project}/src/app.py": "print(1)\n",
        f"{project}/build/out.o": "object\n",
        f"{project}/.git/HEAD": "ref: refs/heads/main\n",
        f"{home}/.ssh/id_rsa": "private key\n",
        f"{home}/notes.txt": "home notes\n",
        "/etc/passwd": f"root:x:0:0:root:{home}:/bin/sh\n",
        "/etc/hosts": "127.0.0.1 localhost\n",
        "/var/lib/data/table": "rows\n",
    }
    for line in lines:
        words = split_tokens(line)
        is_recursive = bool(_DIRECTORY_PROGRAMS.intersection(words)) or any(
            re.fullmatch(r"-[a-zA-Z]*[rR][a-zA-Z]*|--recursive", word) for word in words
        )
        # A file must not be made for a word that is a text, a mode, or the name of a branch, nor
        # where a copy or a new file will be: a pattern would match it.
        is_text = words[:1] in (["echo"], ["printf"])
        starts_with_text = bool(_WITH_TEXT.intersection(words))
        copies = bool(_COPYING.intersection(words))
        makes = False
        directory = project
        for before, word, after in zip(words, words[1:], [*words[2:], ";"], strict=False):
            makes = before in _MAKING or (makes and not _OPERATOR.fullmatch(before))
            if makes:
                continue
            if word.isdigit() or (is_text and before not in (">", ">>")):
                continue
            if starts_with_text and (before in _WITH_TEXT or before.startswith("-")):
                continue
            if copies and _OPERATOR.fullmatch(after):
                continue
            if "git" in words and "/" not in word:
                continue
            path = _path_of(word, directory, home)
            directory = path if before == "cd" and path else directory
            if path and not any(name.startswith(f"{path}/") for name in files):
                is_file = "." in os.path.basename(path)[1:]
                if word.endswith("/") or (is_recursive and not is_file):
                    files[f"{path}/inner"] = f"inner of {path}\n"
                else:
                    files.setdefault(path, f"content of {path}\n")
    # There is no file where a directory is needed.
    directories: set[str] = set()
    for path in files:
        directories.update(map(str, PurePosixPath(path).parents))
    files = {path: content for path, content in files.items() if path not in directories}
    tops = {f"/{path.split('/')[1]}" for path in files}
    roots = tuple(sorted({*_SYSTEM_ROOTS, *tops}))
    return Scene(project, home, files, roots)


def _path_of(word: str, directory: str, home: str) -> str:
    """Return the path that a word of a line may name; empty if it is none that can be made."""
    for name, value in (("~", home), ("$HOME", home), ("${HOME}", home), ("$PWD", directory)):
        if word == name or word.startswith(f"{name}/"):
            word = value + word[len(name) :]
    is_plain = re.fullmatch(r"[\w./@+,:-]+\*?", word) and not word.startswith("-")
    if not is_plain or "//" in word or word in (".", "..", "/", "*"):
        return ""
    path = os.path.normpath(os.path.join(directory, word.rstrip("*") or "."))
    if word.endswith("*"):
        path = f"{path}/entry" if word.endswith("/*") else f"{path}1"
    if path.startswith(_UNWRITABLE) or path == "/":
        return ""
    return path
