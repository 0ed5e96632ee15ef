"""The trust store: which hooks of which project the user has seen and allowed.

One file a project under the user's data directory, written atomically under a lock. It holds the
definitions and the scripts as they were, so that a change can be shown.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platformdirs import user_data_path

from anyhook.atomic import replace_file
from anyhook.model.diagnostics import Diagnostic, Place, diagnose
from anyhook.trust.scripts import named_files, unclear_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from anyhook.model.definitions import HandlerSpec, HookDefinition

VARIABLE = "ANYHOOK_DATA_DIR"
"""Environment variable that names another data directory."""
SHOWN_BYTES = 256 * 1024
"""A longer script is bound by its hash and not kept to show a difference."""
LOCK_SECONDS = 10.0
"""How long another process may hold the store before it is an error."""

FileStamp = tuple[int, int, int, int] | None


@dataclass(frozen=True, slots=True)
class Script:
    """A file as it is now.

    Attributes:
        path: The file.
        digest: SHA-256 of its content; `None` if it is not there.
        text: Its content, if it is text and not too long.
        stamp: What it looked like when it was read.
    """

    path: Path
    digest: str | None
    text: str | None
    stamp: FileStamp


@dataclass(frozen=True, slots=True)
class Subject:
    """What is trusted or not: one handler of a project, and what it is made of.

    Attributes:
        key: Digest of the definition: event, matcher, order, command, environment, timeout.
        handler: The handler.
        event: Canonical name of its event.
        matcher: The matcher of its definition.
        scripts: The files that it names.
        unclear: Words that may name files, and cannot be told before it runs.
    """

    key: str
    handler: HandlerSpec
    event: str
    matcher: str | None
    scripts: tuple[Script, ...]
    unclear: tuple[str, ...] = ()

    def is_unchanged(self) -> bool:
        """Tell whether its scripts still are what they were when it was read."""
        for script in self.scripts:
            if _stamp(script.path) == script.stamp:
                continue
            if _read(script.path).digest != script.digest:
                return False
        return True


@dataclass(frozen=True, slots=True)
class Change:
    """What differs from what was trusted.

    Attributes:
        subject: The handler.
        what: `new`, or `script` if only a file changed.
        difference: Lines of a unified difference, if there is something to compare.
    """

    subject: Subject
    what: str
    difference: tuple[str, ...] = ()


def subjects(
    definitions: Iterable[HookDefinition], project: Path, variables: Mapping[str, str]
) -> list[Subject]:
    """Read what the handlers of some definitions are made of.

    Args:
        definitions: Definitions that need trust.
        project: Directory of the project.
        variables: Variables of the dialect that hold paths.

    Returns:
        One subject a handler.
    """
    found = []
    scripts: dict[Path, Script] = {}
    for definition in definitions:
        for handler in definition.handlers:
            known = {**variables, **handler.variables}
            files = named_files(handler, project, known)
            for path in files:
                scripts.setdefault(path, _read(path))
            found.append(
                Subject(
                    _key(definition, handler),
                    handler,
                    definition.event,
                    definition.matcher,
                    tuple(scripts[path] for path in files),
                    tuple(unclear_words(handler, project, known)),
                )
            )
    return found


class TrustStore:
    """The store of one user.

    Args:
        directory: Where it lives; by default `trust` in the user's data directory, which
            `ANYHOOK_DATA_DIR` overrides.
    """

    def __init__(self, directory: str | os.PathLike[str] | None = None) -> None:
        if directory is None:
            base = os.environ.get(VARIABLE)
            directory = (Path(base) if base else user_data_path("anyhook")) / "trust"
        self.directory = Path(directory)

    def stamp(self, project: Path) -> FileStamp:
        """Look whether what is recorded about a project changed, without reading it."""
        return _stamp(self._file(project))

    def changes(
        self, project: Path, found: Iterable[Subject]
    ) -> tuple[list[Change], tuple[Diagnostic, ...]]:
        """Compare what is there with what was trusted.

        Returns:
            What is not trusted (empty: everything is), and what is wrong with the store.
        """
        entries, problems = self._load(project)
        changes = []
        for subject in found:
            known = entries.get(subject.key)
            if known is None:
                changes.append(Change(subject, "new"))
                continue
            difference = tuple(_differences(known, subject))
            if difference:
                changes.append(Change(subject, "script", difference))
        return changes, problems

    def trust(self, project: Path, found: Iterable[Subject], *, dialect: str = "") -> None:
        """Record that a project's hooks for one agent may run as they are now, and no others.

        Args:
            project: Directory of the project.
            found: Its hooks.
            dialect: Whose hooks they are; what is recorded for other agents stays.

        Raises:
            OSError: If the store cannot be written.
            filelock.Timeout: If another process holds it.
        """
        entries = {
            subject.key: {
                "dialect": dialect,
                "command": subject.handler.identifier,
                "scripts": {
                    str(s.path): {"sha256": s.digest, "text": s.text} for s in subject.scripts
                },
            }
            for subject in found
        }
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = self._file(project)
        from filelock import FileLock  # readers of the store do not need it

        with FileLock(f"{file}.lock", timeout=LOCK_SECONDS):
            known, _ = self._load(project)
            others = {k: v for k, v in known.items() if v.get("dialect", "") != dialect}
            content = json.dumps(
                {"project": str(project), "version": 1, "hooks": {**others, **entries}}, indent=1
            )
            replace_file(file, content.encode(), mode=0o600)

    def revoke(self, project: Path) -> bool:
        """Forget a project. Returns whether it was known."""
        file = self._file(project)
        if not file.exists():
            return False
        from filelock import FileLock

        with FileLock(f"{file}.lock", timeout=LOCK_SECONDS):
            file.unlink(missing_ok=True)
        return True

    def _file(self, project: Path) -> Path:
        real = os.path.realpath(project)
        name = hashlib.sha256(real.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        return self.directory / f"{name}.json"

    def _load(self, project: Path) -> tuple[dict[str, Any], tuple[Diagnostic, ...]]:
        file = self._file(project)
        try:
            entries = json.loads(file.read_text(encoding="utf-8"))["hooks"]
            if isinstance(entries, dict):
                return entries, ()
            problem = "it does not hold what anyhook wrote"
        except FileNotFoundError:
            return {}, ()
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            problem = str(error) or type(error).__name__
        return {}, (
            diagnose(
                "trust-store",
                f"{problem}; trust the project again: anyhook trust",
                Place(str(file)),
            ),
        )


def _key(definition: HookDefinition, handler: HandlerSpec) -> str:
    made_of = [
        definition.event,
        definition.matcher,
        definition.sequential,
        handler.kind,
        handler.name,
        handler.command,
        handler.argv,
        handler.condition,
        handler.on_failure,
        handler.background,
        dict(handler.options),
        handler.timeout,
        sorted(handler.env.items()),
    ]
    return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()


def _stamp(path: Path) -> FileStamp:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _read(path: Path) -> Script:
    before = _stamp(path)
    try:
        content = path.read_bytes() if path.is_file() else None
    except OSError:
        content = None
    if content is None:
        return Script(path, None, None, before)
    text = None
    if len(content) <= SHOWN_BYTES:
        with contextlib.suppress(UnicodeDecodeError):
            text = content.decode()
    return Script(path, hashlib.sha256(content).hexdigest(), text, before)


def _differences(known: object, subject: Subject) -> Iterator[str]:
    recorded = known.get("scripts") if isinstance(known, dict) else None
    scripts = recorded if isinstance(recorded, dict) else {}
    named = {str(script.path) for script in subject.scripts}
    gone = (_read(Path(path)) for path in scripts if path not in named)
    for script in (*subject.scripts, *gone):
        before = scripts.get(str(script.path))
        before = before if isinstance(before, dict) else {"sha256": None, "text": None}
        if before.get("sha256") == script.digest:
            continue
        old, new = before.get("text"), script.text
        if isinstance(old, str) and new is not None:
            yield from difflib.unified_diff(
                old.splitlines(),
                new.splitlines(),
                f"{script.path} (trusted)",
                f"{script.path} (now)",
                lineterm="",
            )
        else:
            states = (_state(before.get("sha256")), _state(script.digest))
            yield f"{script.path}: was {states[0]}, is {states[1]}"


def _state(digest: object) -> str:
    return f"sha256 {str(digest)[:12]}" if digest else "not there"
