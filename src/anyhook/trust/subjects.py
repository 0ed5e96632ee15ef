"""What is trusted or not: the handlers of a project, with the files that they are made of."""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.files import changed_within_tick, file_stamp
from anyhook.model.definitions import each_handler
from anyhook.model.record import EMPTY, Record
from anyhook.shell.launched import launched_line
from anyhook.trust.following import Followed, Follower
from anyhook.trust.name_search import ProjectFiles
from anyhook.trust.observed import MAX_CODE, observed_file, read_observed
from anyhook.trust.scripts import command_files
from anyhook.trust.trees import (
    MAX_SCRIPT_SIZE,
    MAX_TREES,
    Script,
    Tree,
    read_script,
    read_tree,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from anyhook.files import FileIdentity
    from anyhook.model.definitions import HandlerSpec, HookDefinition


MAX_SHOWN_DATA = 3
"""Files that a hook was seen to read and that are listed."""


class TrustSubject(Record, kw_only=False):
    """One handler of a project, and what it is made of.

    Attributes:
        key: Digest of the definition: event, matcher, order, command, environment, timeout.
        event: Canonical name of its event.
        matcher: The matcher of its definition.
        scripts: The files that it names, and those to which their texts lead.
        trees: The directories that belong to it, with all their files.
        unclear: What it may run and what is not bound.
        operands: Relative paths that it loads from the directory in which it runs.
        observed: Files among the scripts that it was seen to load, with the date of the first time.
        looked_at: Identities of everything that this depends on.
        read_at: When it was read, in nanoseconds since the epoch.
    """

    key: str
    handler: HandlerSpec
    event: str
    matcher: str | None
    scripts: tuple[Script, ...] = ()
    trees: tuple[Tree, ...] = ()
    unclear: tuple[str, ...] = ()
    operands: frozenset[str] = frozenset()
    observed: Mapping[str, str] = EMPTY
    looked_at: Mapping[str, FileIdentity] = EMPTY
    read_at: int = 0

    def is_unchanged(self) -> bool:
        """Return whether no file or directory that it depends on was touched since it was read."""
        identities: list[tuple[Path | str, FileIdentity]] = [*self.looked_at.items()]
        identities += [(script.path, script.identity) for script in self.scripts]
        for tree in self.trees:
            identities += tree.identities.items()
        for path, identity in identities:
            if file_stamp(path) != identity or changed_within_tick(identity, self.read_at):
                return False
        return True


class SubjectReader:
    """Reads what the hooks of one project are made of; a directory that they share is read once.

    The variables of the agent hold paths.
    """

    def __init__(self, agent: str, project: Path, variables: Mapping[str, str]) -> None:
        self.agent = agent
        self.project = project
        self.variables = variables
        self._read_tree = cache(read_tree)
        self._identity_of = cache(file_stamp)
        self._bound: dict[Path, set[str]] = {}
        self._files = ProjectFiles()
        self._modes: dict[str, int] = {}
        self._started = time.time_ns()

    def read_all(self, definitions: Iterable[HookDefinition]) -> list[TrustSubject]:
        """Read what all handlers of some definitions are made of."""
        return [self.read(definition, handler) for definition, handler in each_handler(definitions)]

    def read(self, definition: HookDefinition, handler: HandlerSpec) -> TrustSubject:
        """Read what one handler is made of."""
        variables = {**self.variables, **handler.variables}
        named = command_files(handler, self.project, variables, modes=self._modes)
        settings_directory = Path(os.path.realpath(definition.place.file)).parent
        hooks_directory = settings_directory / "hooks"
        # These hold more than hooks, so they are not bound as trees.
        shared = {self.project, settings_directory}

        roots = [path for path in named.directories if path not in shared]
        if hooks_directory.is_dir():
            roots.insert(0, hooks_directory)
        outermost: list[Path] = []
        for path in sorted(dict.fromkeys(roots), key=lambda path: len(path.parts)):
            if not any(path.is_relative_to(other) for other in outermost):
                outermost.append(path)
        trees = tuple(map(self._read_tree, outermost[:MAX_TREES]))

        scripts = _read_scripts(named.files)
        existing = [path for path, script in scripts.items() if script.digest]
        runs = self._runs_of(existing)
        existing += map(Path, runs.code)
        followed = self.follow(handler, existing, trees=trees)
        scripts |= _read_scripts(map(Path, runs.code.keys() - map(str, scripts)))
        scripts |= _read_scripts(map(Path, followed.files.keys() - map(str, scripts)))

        unclear = [*named.unclear, *followed.unclear, *runs.unclear]
        unclear += self._unbound_files(scripts.values(), trees)
        unclear += [f"{root} (a directory)" for root in outermost[MAX_TREES:]]
        looked_at = [*named.looked_at, *followed.directories, str(hooks_directory), *runs.files]
        return TrustSubject(
            key=definition_key(self.agent, definition, handler),
            handler=handler,
            event=definition.event,
            matcher=definition.matcher,
            scripts=tuple(scripts.values()),
            trees=trees,
            unclear=tuple(dict.fromkeys(unclear)),
            operands=frozenset(followed.operands),
            observed=runs.code,
            looked_at={path: self._identity_of(path) for path in looked_at},
            read_at=self._started,
        )

    def _runs_of(self, scripts: Iterable[Path]) -> _Runs:
        """Return what the runs of some scripts were seen to load."""
        runs = _Runs()
        for script in scripts:
            file = observed_file(str(script))
            runs.files.append(file)
            # Few hook files run warm, and a look costs less than an attempt to read.
            if self._identity_of(file) is None:
                continue
            observed = read_observed(file)
            directory = Path(os.path.realpath(script)).parent
            for path, date in observed.code.items():
                loaded = Path(path)
                if loaded.is_relative_to(self.project) or loaded.is_relative_to(directory):
                    runs.code[path] = date
                else:
                    runs.unclear.append(f"{path}, which {script.name} was seen to load")
            if observed.is_full:
                runs.unclear.append(f"more than {MAX_CODE} files that {script.name} loads")
            if observed.data:
                # A guard may read every file that an agent edits.
                listed = ", ".join(list(observed.data)[:MAX_SHOWN_DATA])
                more = len(observed.data) - MAX_SHOWN_DATA
                files = f"{listed} and {more} more" if more > 0 else listed
                runs.unclear.append(f"{files}, which {script.name} was seen to read as data")
        return runs

    def follow(
        self,
        handler: HandlerSpec,
        scripts: Iterable[Path],
        *,
        start: Path | None = None,
        trees: Iterable[Tree] = (),
    ) -> Followed:
        """Follow the texts of a handler's command and scripts to the files that they load.

        The command runs in `start`, by default in its own directory, else in the project. The files
        of the trees are bound anyway.
        """
        if start is None:
            start = self.project if handler.cwd is None else Path(handler.cwd)
        bound: set[str] = set()
        for tree in trees:
            if tree.root not in self._bound:
                files = {str(file.path) for file in tree.files.values() if file.is_bound}
                self._bound[tree.root] = files
            bound |= self._bound[tree.root]
        environment = [f"{name}={value}" for name, value in handler.env.items()]
        command = handler.command_line
        text = "\n".join([*environment, launched_line(command)])
        return Follower(self.project, start, self._files, bound).follow(text, scripts)

    def _unbound_files(self, scripts: Iterable[Script], trees: Iterable[Tree]) -> Iterator[str]:
        """Yield files whose changes would not be noticed."""
        for script in scripts:
            if not script.is_bound:
                yield f"{script.path} ({script.digest})"
            elif script.digest and not script.path.is_relative_to(self.project):
                yield f"what {script.path} loads, which is outside of the project"
        for tree in trees:
            for name in tree.left_out:
                yield f"{tree.root}: {name}"


@dataclass(slots=True)
class _Runs:
    """What the runs of the scripts of a handler were seen to load.

    Attributes:
        code: Files with the date on which they were seen first.
        unclear: What is not bound, for a person.
        files: The files from which this was read.
    """

    code: dict[str, str] = field(default_factory=dict)
    unclear: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def _read_scripts(paths: Iterable[Path]) -> dict[Path, Script]:
    """Read files up to a size of all together; those behind it are not bound."""
    scripts: dict[Path, Script] = {}
    bytes_left = MAX_SCRIPT_SIZE
    for path in paths:
        identity = file_stamp(path)
        bytes_left -= identity[2] if identity else 0
        limit = MAX_SCRIPT_SIZE if bytes_left >= 0 else 0
        scripts[path] = read_script(path, limit)
    return scripts


def definition_key(agent: str, definition: HookDefinition, handler: HandlerSpec) -> str:
    """Return the digest of what the settings of an agent say of a handler.

    Agents bind the same command to different files, so each keeps its own.
    """
    members = [
        agent,
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
    if handler.cwd is not None:
        members.append(handler.cwd)
    if handler.matcher is not None:
        members.append(f"matcher {handler.matcher}")
    return hashlib.sha256(json.dumps(members).encode()).hexdigest()
