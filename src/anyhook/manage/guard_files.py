"""The guards that come with anyhook, and their copies: what `anyhook add NAME` writes.

A copy has one line before the text of the guard, with its name, version and hash:
`# anyhook guard git, version 1, sha256:…`. The package keeps the text of every version that was
released, so that an update can merge what the user changed.
"""

from __future__ import annotations

import ast
import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.errors import SettingsError, UnknownNameError, UsageError
from anyhook.file_errors import explain_error
from anyhook.files import data_directory, read_user_file
from anyhook.settings.changes import Change
from anyhook.settings.sources import SIZE_LIMIT
from anyhook.settings.write import stay_inside

if TYPE_CHECKING:
    from collections.abc import Mapping


GUARDS = Path(__file__).parents[1] / "guards"
"""The guards: `NAME.py`, with `_` for `-`; older versions are `released/NAME-VERSION.py`."""
FIELDS = ("Families", "Why", "Source", "Version")
"""What the docstring of a guard has after its prose, each as `NAME: TEXT`."""
_FIELD = re.compile(rf"(?P<name>{'|'.join(FIELDS)}):\s*(?P<text>.*)")
_HEADER = re.compile(
    r"# anyhook guard (?P<name>[\w-]+), version (?P<version>\d+), sha256:(\w+)\r?(?:\n|\Z)"
)


@dataclass(frozen=True)
class GuardFile:
    """A guard that comes with anyhook.

    Attributes:
        name: Its name, like `remote-code`.
        summary: What it guards, in one line.
        prose: What it does, and what it does not do.
        families: The kinds of danger that it is for.
        why: What happened without it.
        source: Where that is documented: a URL.
    """

    name: str
    text: str
    summary: str
    prose: str
    families: tuple[str, ...]
    why: str
    source: str
    version: int

    @cached_property
    def copy(self) -> str:
        """The text of a copy."""
        header = f"# anyhook guard {self.name}, version {self.version}, sha256:{digest(self.text)}"
        return f"{header}\n{self.text}"


@dataclass(frozen=True)
class GuardCopy:
    """A copy of a guard in a project, or in the user's data directory.

    Attributes:
        version: The version of which it is a copy.
        digest: SHA-256 of the text of that version.
    """

    path: Path
    text: str
    name: str
    version: int
    digest: str

    @property
    def guard_text(self) -> str:
        """The text without the line that `add` wrote before it, with the line ends of guards."""
        return self.text.replace("\r\n", "\n").partition("\n")[2]

    @property
    def is_edited(self) -> bool:
        """Whether it differs from the version of which it is a copy."""
        return digest(self.guard_text) != self.digest


def digest(text: str) -> str:
    """Return the SHA-256 of the text of a guard, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def all_guards() -> dict[str, GuardFile]:
    """Return the guards by their names, in the order of these."""
    guards: dict[str, GuardFile] = {}
    for path in sorted(GUARDS.glob("[!_]*.py")):
        guard = read_guard(path.stem.replace("_", "-"), path.read_text(encoding="utf-8"))
        guards[guard.name] = guard
    return guards


def read_guard(name: str, text: str) -> GuardFile:
    """Return a guard with what its docstring says.

    Raises:
        SettingsError: If the docstring lacks one of `FIELDS`.
    """
    summary, _, rest = (ast.get_docstring(ast.parse(text)) or "").partition("\n")
    prose: list[str] = []
    fields: dict[str, list[str]] = {}
    field = ""
    for line in rest.splitlines():
        match = _FIELD.match(line)
        if match is not None:
            field = match["name"]
            fields[field] = [match["text"]]
        elif field:
            fields[field].append(line.strip())
        else:
            prose.append(line)
    missing = [name for name in FIELDS if name not in fields]
    if missing:
        raise SettingsError(f"its docstring lacks {', '.join(missing)}", path=f"guard {name!r}")
    values = {field: " ".join(lines).strip() for field, lines in fields.items()}
    return GuardFile(
        name=name,
        text=text,
        summary=summary,
        prose="\n".join(prose).strip(),
        families=tuple(re.split(r"[,\s]+", values["Families"])),
        why=values["Why"],
        source=values["Source"],
        version=int(values["Version"]),
    )


def find_guard(name: str, guards: Mapping[str, GuardFile]) -> GuardFile:
    """Return the guard of a name.

    Raises:
        UnknownNameError: If there is none, with the name that was probably meant.
    """
    if name not in guards:
        raise UnknownNameError("guard", name, guards)
    return guards[name]


def released_text(name: str, version: int) -> str | None:
    """Return the text of an older version of a guard; `None` if it was never released."""
    try:
        return (GUARDS / "released" / f"{name}-{version}.py").read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


# -- copies


def copy_path(name: str, project: Path, scope: str) -> Path:
    """Return where the copy of a guard is: in the project, or in the user's data directory."""
    if scope == "user":
        return data_directory() / "guards" / f"guard-{name}.py"
    return project / ".anyhook" / f"guard-{name}.py"


def read_copy(name: str, project: Path, scope: str) -> GuardCopy | None:
    """Return the copy of a guard; `None` if there is none.

    Raises:
        SettingsError: If a file of that name is not a copy of the guard, cannot be read, or a link
            of the repository leads out of the project.
    """
    path = copy_path(name, project, scope)
    if scope != "user":
        stay_inside(project, path)
    try:
        text = read_user_file(path, SIZE_LIMIT).decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        cause = explain_error(path, error) if isinstance(error, OSError) else error
        raise SettingsError(f"it cannot be read ({cause})", path=str(path)) from error
    header = _HEADER.match(text)
    if header is None or header["name"] != name:
        message = (
            f"`anyhook add {name}` has not written it, because its first line does not name the "
            f"guard; rename it, or add it as a file of yours: anyhook add {path}"
        )
        raise SettingsError(message, path=str(path))
    return GuardCopy(path, text, name, int(header["version"]), header[3])


def plan_copy(guard: GuardFile, project: Path, scope: str) -> Change:
    """Return the change that copies a guard; a copy that is there stays as the user has it.

    Raises:
        SettingsError: As `read_copy`.
    """
    copy = read_copy(guard.name, project, scope)
    if copy is not None:
        return Change(copy.path, copy.text, copy.text, f"Keep the guard {guard.name}")
    path = copy_path(guard.name, project, scope)
    return Change(path, None, guard.copy, f"Write the guard {guard.name}")


def require_copy(name: str, project: Path, scope: str) -> GuardCopy:
    """Return the copy of a guard.

    Raises:
        UsageError: If there is none.
        SettingsError: As `read_copy`.
    """
    copy = read_copy(name, project, scope)
    if copy is None:
        path = copy_path(name, project, scope)
        raise UsageError(
            f"the guard {name!r} is not added in the scope {scope!r}: there is no {path}; see: "
            "anyhook add --list"
        )
    return copy


# -- new versions, merged with what the user changed in a copy

MARKER_SIZE = 40
"""Characters of the marks around a conflict: no guard has a line of so many of them."""
MAX_CONFLICTS = 127
"""`git merge-file` exits with the number of conflicts, at most this; any other code is an error."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Lines that both the user and a new version changed.

    Attributes:
        line: Number of the first of the user's lines in the copy; `None` if the user removed them.
        yours: The lines of the copy.
        released: The lines of the new version.
    """

    line: int | None
    yours: tuple[str, ...]
    released: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GuardUpdate:
    """What a new version of a guard changes in a copy.

    Attributes:
        guard: The guard, as it comes with anyhook now.
        change: The change of the copy; it has no effect if the copy is current, or in a conflict.
        conflicts: Where the user and the new version changed the same lines.
    """

    guard: GuardFile
    copy: GuardCopy
    change: Change
    conflicts: tuple[Conflict, ...] = ()

    @property
    def state(self) -> str:
        """What becomes of the copy: `current`, `updated`, `merged` or `conflict`."""
        if self.conflicts:
            return "conflict"
        if not self.change.has_effect:
            return "current"
        return "merged" if self.copy.is_edited else "updated"


def plan_update(guard: GuardFile, copy: GuardCopy) -> GuardUpdate:
    """Return what the present version of a guard changes in a copy.

    Raises:
        UsageError: If the user changed the copy, and it cannot be merged: the version of which it
            is a copy is not known, or git is missing.
    """
    header = guard.copy.partition("\n")[0]
    why = f"Update the guard {guard.name} to version {guard.version}"
    if copy.text.startswith(header):
        return GuardUpdate(guard, copy, Change(copy.path, copy.text, copy.text, why))
    if not copy.is_edited:
        return GuardUpdate(guard, copy, Change(copy.path, copy.text, guard.copy, why))
    base = released_text(guard.name, copy.version)
    if base is None or digest(base) != copy.digest:
        raise UsageError(
            f"{copy.path}: this anyhook lacks version {copy.version} of {guard.name!r} with its "
            "hash, so that your changes cannot be merged; rename the file, then: "
            f"anyhook add {guard.name}"
        )
    merged, conflicts = _merge(base, copy.guard_text, guard.text)
    if conflicts:
        unchanged = Change(copy.path, copy.text, copy.text, why)
        return GuardUpdate(guard, copy, unchanged, tuple(conflicts))
    return GuardUpdate(guard, copy, Change(copy.path, copy.text, f"{header}\n{merged}", why))


def _merge(base: str, yours: str, released: str) -> tuple[str, list[Conflict]]:
    """Merge two texts that come from the same one, with `git merge-file`."""
    # Late: a shell that completes names of guards starts nothing.
    import os
    import shutil
    import subprocess
    from tempfile import TemporaryDirectory

    program = shutil.which("git")
    if program is None:
        raise UsageError("git, which merges your changes with a new version, is not on the PATH")
    texts = {"yours": yours, "base": base, "released": released}
    with TemporaryDirectory() as scratch:
        for name, text in texts.items():
            Path(scratch, name).write_text(text, encoding="utf-8")
        # Variables of git would lead it to a repository, which it does not need.
        environ = {name: os.environ[name] for name in os.environ if not name.startswith("GIT_")}
        process = subprocess.run(
            [program, "merge-file", "-p", f"--marker-size={MARKER_SIZE}", *texts],
            cwd=scratch,
            env=environ,
            capture_output=True,
            check=False,
        )
    if not 0 <= process.returncode <= MAX_CONFLICTS:
        raise UsageError(
            f"git merge-file failed: {process.stderr.decode(errors='replace').strip()}"
        )
    merged = process.stdout.decode()
    conflicts: list[Conflict] = []
    lines = yours.splitlines()
    mine: list[str] = []
    theirs: list[str] = []
    side: list[str] | None = None
    for line in merged.splitlines():
        if line.startswith("<" * MARKER_SIZE):
            mine, theirs = [], []
            side = mine
        elif line == "=" * MARKER_SIZE:
            side = theirs
        elif line.startswith(">" * MARKER_SIZE):
            conflicts.append(Conflict(_line_of(mine, lines), tuple(mine), tuple(theirs)))
            side = None
        elif side is not None:
            side.append(line)
    return merged, conflicts


def _line_of(part: list[str], lines: list[str]) -> int | None:
    """Return the number in a copy of the first line of a part; `None` if it has no lines."""
    for index in range(len(lines)):
        if part and lines[index : index + len(part)] == part:
            # Counted from 1, after the line that `add` wrote.
            return index + 2
    return None
