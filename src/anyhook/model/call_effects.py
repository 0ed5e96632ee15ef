"""What a tool call runs, reads, writes, deletes and contacts: the sentences of guards.

`event.runs("git", "push", options={"--force"})` and its like ask this module. Each returns a
`Match`, which is true if the call certainly does it, and also if only the running shell knows.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from anyhook.model.globs import matches_glob
from anyhook.model.record import Record
from anyhook.shell.paths import PathPattern, join_path, patched_paths
from anyhook.shell.values import LITERAL, PATTERN, VAGUE, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from typing import Any

    from anyhook.model.tools import ToolCall
    from anyhook.shell.command import Command
    from anyhook.shell.effects import Effect


class Match(Record):
    """The answer to a question about a call; `if event.deletes("src/**"):` asks whether it may.

    Attributes:
        matched: Whether the call does it, or may do it. This is the match's truth.
        certain: Whether that is certain: without a match it is `False`.
        command: The command that does it; `None` for another tool than the shell.
        why: A sentence for a reason: "`find` deletes src/a.py".
        path: What it reads, writes or deletes; empty if only the shell knows. Absolute where the
            working directory is known.
        others: What else in the call does it.

    Iterating yields the match and the others: `npm ci; npm publish` runs `npm` twice, and a guard
    that excuses one command has to look at the next.
    """

    matched: bool
    certain: bool = True
    command: Command | None = None
    why: str = ""
    path: str = ""
    others: tuple[Match, ...] = ()

    def __bool__(self) -> bool:
        return self.matched

    def __iter__(self) -> Iterator[Match]:
        if self.matched:
            yield self
            yield from self.others


NO_MATCH = Match(matched=False, certain=False)
_FILE_TOOLS: dict[str, tuple[str, tuple[str, ...]]] = {
    "read_file": ("reads", ("file_path",)),
    "read_many_files": ("reads", ("include",)),
    "write_file": ("writes", ("file_path",)),
    "edit_file": ("writes", ("file_path",)),
    "edit_notebook": ("writes", ("notebook_path",)),
    "grep": ("reads", ("path",)),
}
"""Canonical tools to what they do with the paths in some arguments."""
_MCP_WORDS = {
    "deletes": ("delete", "remove", "rm", "unlink", "trash", "move", "rename"),
    "writes": tuple(
        "write edit create append update save put patch insert replace move copy duplicate".split()
    ),
    "reads": "read get view open cat load show search grep copy duplicate".split(),
}
"""Words in the names of MCP tools that work on files."""
_MCP_PATHS = frozenset(
    "path paths file files filename file_path filepath file_name source destination src dst target"
    " target_file old_path new_path relative_path notebook_path directory uri from to".split()
)
_MCP_RUNS = frozenset("run exec execute shell bash command cmd terminal process start".split())
"""Words in the names of MCP tools that run their argument `command`."""
_FILE_WORDS = frozenset({"file", "files", "operations"}).union(*_MCP_WORDS.values())
"""Words that alone say what a tool outside of the vocabulary does: `Delete`, `move_file`,
`file_operations` with `{"operation": "delete"}`."""
_ANY_PATCH = (("writes", None), ("deletes", None))
"""What a patch that is not a text may do."""


class CallEffects:
    """Answers questions about one tool call.

    Args:
        call: The call by canonical names.
        commands: What it runs, if it is a call of the shell.
        directory: The absolute path that relative paths start from; empty if it is not known.
        home: The absolute path that `~` stands for.
        patch: The argument that holds a patch, if the agent's tool takes one.
    """

    def __init__(
        self,
        call: ToolCall,
        commands: tuple[Command, ...],
        *,
        directory: str,
        home: str | None,
        patch: str = "",
    ) -> None:
        self._call = call
        self.commands = commands
        self._directory = directory
        self._home = home
        self._patch = patch

    def runs(self, program: str, *operands: str, options: Collection[str] = ()) -> Match:
        """Return whether the call runs a program; see `ToolEvent.runs`."""
        # Taken literally, `runs("git push --force")` and `runs("git", "push", "--force")` would
        # match nothing, and the guard would be absent without a message. A name may have blanks,
        # too.
        meanings = [(program, list(operands))]
        words = program.split()
        if len(words) > 1:
            meanings.append((words[0], [*words[1:], *operands]))
        spellings: list[tuple[str, list[str], set[str]]] = []
        for name, others in meanings:
            named = {word for word in others if word.startswith("-") and word.strip("-")}
            rest = [word for word in others if word not in named]
            spellings.append((name.lower(), rest, named.union(options)))
        matches: list[Match] = []
        for command in self.commands:
            for candidate in (*command.wrappers, command):
                answers = [_runs(candidate, *spelling) for spelling in spellings]
                certainty = next((answer for answer in answers if answer is not None), None)
                if certainty is not None:
                    is_certain = certainty and command.certain
                    why = _runs_sentence(candidate, command, is_certain)
                    matches.append(_match(command, is_certain, why))
        return _joined(matches)

    def does(self, kind: str, patterns: Collection[str], but_not: Collection[str]) -> Match:
        """Return whether the call reads, writes or deletes a path that a pattern covers.

        The kind is `reads`, `writes` or `deletes`. Paths that `but_not` covers do not count.
        """
        path_patterns = [PathPattern(text, self._directory, self._home) for text in patterns]
        exceptions = [PathPattern(text, self._directory, self._home) for text in but_not]
        matches: list[Match] = []
        for command in self.commands:
            if not command.certain and not command.program:
                matches.append(_match(command, False, _unread_sentence(command)))
                continue
            for effect in command.effects:
                is_excepted = effect.is_known and _is_except(effect.target, exceptions)
                if effect.kind == kind and not is_excepted:
                    matches += self._touches(command, effect, path_patterns)
        for target_kind, path, is_recursive in self._tool_paths():
            is_path = isinstance(path, str)
            is_excepted = is_path and _is_except(self._absolute(path), exceptions)
            if target_kind == kind and not is_excepted:
                matches += self._tool_touches(kind, path, is_recursive, path_patterns)
        return _joined(matches)

    def contacts(self, patterns: Collection[str], but_not: Collection[str]) -> Match:
        """Return whether the call contacts a host that a pattern covers, and `but_not` does not."""
        matches: list[Match] = []
        for command in self.commands:
            if not command.certain and not command.program:
                matches.append(_match(command, False, _unread_sentence(command)))
                continue
            for candidate in (*command.wrappers, command):
                for effect in candidate.effects:
                    if effect.kind != "contacts":
                        continue
                    if not effect.is_known:
                        why = f"{_name(candidate)} contacts a host that only the shell knows"
                        matches.append(_match(candidate, False, why))
                    elif _covers_host(effect.target, patterns, but_not):
                        why = f"{_name(candidate)} contacts {effect.target}"
                        matches.append(_match(candidate, candidate.certain, why))
        url = self._call.arguments.get("url")
        if self._call.tool == "web_fetch" and isinstance(url, str):
            from anyhook.shell.effects import host_of

            if _covers_host(host_of(url), patterns, but_not):
                matches.append(Match(matched=True, why=f"web_fetch contacts {host_of(url)}"))
        return _joined(matches)

    def _touches(
        self, command: Command, effect: Effect, patterns: list[PathPattern]
    ) -> Iterator[Match]:
        """Yield whether an effect touches one of some patterns: at most one match."""
        verb = effect.kind
        if not effect.is_known:
            why = f"{_name(command)} {verb} {effect.target}, which only the shell knows"
            yield _match(command, False, why)
            return
        doubtful = NO_MATCH
        for pattern in patterns:
            is_covered = pattern.matches(
                effect.target, is_recursive=effect.is_recursive is not False
            )
            if is_covered is False:
                continue
            is_direct = effect.is_recursive is not None or pattern.matches(effect.target) is True
            is_certain = (
                is_covered is True
                and is_direct
                and command.certain
                and not effect.is_likely
                and not command.is_remote
            )
            why = f"{_name(command)} {_verb(verb, is_certain)} {effect.target}"
            match = _match(command, is_certain, why, effect.target)
            if is_certain:
                yield match
                return
            doubtful = doubtful or match
        yield from doubtful

    def _tool_touches(
        self, kind: str, path: Any, is_recursive: bool, patterns: list[PathPattern]
    ) -> Iterator[Match]:
        tool = self._call.tool
        if not isinstance(path, str):
            why = f"the call {kind} a path that is not a text"
            yield Match(matched=True, certain=False, why=why)
            return
        target = self._absolute(path)
        for pattern in patterns:
            is_covered = pattern.matches(target, is_recursive=is_recursive)
            if is_covered is not False:
                is_certain = is_covered is True and not tool.startswith("mcp__")
                # Agents name the tool and the path differently; the sentence is the same in all.
                why = f"the call {_verb(kind, is_certain)} {target}"
                yield Match(matched=True, certain=is_certain, why=why, path=target)
                return

    def _absolute(self, path: str) -> str:
        if self._home is not None and (path == "~" or path[:2] == "~/"):
            path = self._home + path[1:]
        return join_path(self._directory, path.removeprefix("file://"))

    def _tool_paths(self) -> Iterator[tuple[str, Any, bool]]:
        """Yield what another tool than the shell does: the kind, the path, whether all in it."""
        arguments = self._call.arguments
        tool = self._call.tool
        patch = arguments.get(self._patch) if self._patch else None
        if patch is not None:
            is_text = isinstance(patch, str)
            for patched in patched_paths(patch) if is_text else _ANY_PATCH:
                yield *patched, False
            return
        if tool.startswith("mcp__"):
            yield from _mcp_paths(tool, arguments)
            return
        row = _FILE_TOOLS.get(tool)
        if not row:
            if not self._call.is_known and _FILE_WORDS.issuperset(_words(tool, arguments)):
                yield from _mcp_paths(tool, arguments)
            return
        kind, names = row
        for name in names:
            value = arguments.get(name, "." if name == "path" else None)
            glob = arguments.get("glob") if tool == "grep" else None
            if isinstance(glob, str) and isinstance(value, str) and glob[:1] != "!":
                yield kind, f"{value}/**/{glob}", False
                continue
            for path in value if isinstance(value, list) else [value]:
                yield kind, path, tool in {"grep", "read_many_files"}


def _words(tool: str, arguments: Mapping[str, Any]) -> list[str]:
    name = f"{tool.rpartition('__')[2]}_{arguments.get('operation', '')}".strip("_")
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)  # `writeFile`
    return name.lower().replace("-", "_").split("_")


def runs_command(call: ToolCall) -> bool:
    """Return whether a call is one of an MCP tool that runs a command line, by its name."""
    is_text = isinstance(call.arguments.get("command"), str)
    return is_text and call.tool[:5] == "mcp__" and not _MCP_RUNS.isdisjoint(_words(call.tool, {}))


def _mcp_paths(tool: str, arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any, bool]]:
    """Yield the paths that a call names, by the words in the name of its tool or operation."""
    words = _words(tool, arguments)
    is_recursive = tool.startswith("mcp__") or arguments.get("recursive") is True
    kinds = [kind for kind, verbs in _MCP_WORDS.items() if not set(verbs).isdisjoint(words)]
    for name, value in arguments.items():
        if name.lower() in _MCP_PATHS or name.lower().endswith(("path", "paths")):
            for path in value if isinstance(value, list) else [value]:
                inner = list(_mcp_paths(tool, path)) if isinstance(path, dict) else []
                yield from inner
                for kind in () if inner else kinds:
                    yield kind, path, kind == "deletes" and is_recursive


def _runs(
    command: Command, program: str, operands: Collection[str], options: Collection[str]
) -> bool | None:
    """Return whether a command is a program with operands and options.

    It is `None` if the command is not, and `False` if only the shell knows.
    """
    if not command.program:
        return None if command.certain else False
    if not matches_glob(program, command.program.lower()):
        return None if command.is_complete else False
    read = command.read
    is_certain = True
    for index, operand in enumerate(operands):
        before = read.operands[: index + 1]
        if any(value.kind == VAGUE and value.may_split for value in before):
            is_certain = False
        elif len(before) > index and _may_be(before[index], operand):
            is_certain = is_certain and before[index].kind == LITERAL
        # An option that is not known may have taken the word in front.
        elif read.may_have_more and Value(operand) in read.operands:
            is_certain = False
        else:
            return None
    has_options = command.has_options(options)
    if has_options is False:
        return None
    return is_certain and has_options is True


def _may_be(value: Value, operand: str) -> bool:
    """Return whether a word may be an operand, which may be a pattern of names."""
    if value.kind == PATTERN and fnmatchcase(operand, value.text):
        return True
    return value.kind == VAGUE or matches_glob(operand, value.text)


def _is_except(target: str, exceptions: list[PathPattern]) -> bool:
    """Return whether a pattern of exceptions certainly covers a target."""
    return any(pattern.matches(target) is True for pattern in exceptions)


def _joined(matches: list[Match]) -> Match:
    """Return the first match, a certain one if there is one, with the others."""
    if not matches:
        return NO_MATCH
    first, *others = sorted(matches, key=lambda match: not match.certain)
    return first.replace(others=tuple(others))


def _match(command: Command, is_certain: bool, why: str, path: str = "") -> Match:
    return Match(matched=True, certain=is_certain, command=command, why=why, path=path)


def _name(command: Command) -> str:
    return f"`{command.program}`" if command.program else "a redirection"


def _verb(verb: str, is_certain: bool) -> str:
    return verb if is_certain else f"may {verb.removesuffix('s')}"


def _runs_sentence(candidate: Command, command: Command, is_certain: bool) -> str:
    if not candidate.program:
        return _unread_sentence(candidate)
    words = " ".join([candidate.program, *candidate.operands[:1]])
    through = " through ".join(dict.fromkeys(reversed(command.chain)))
    way = f" through {through}" if through and candidate is command else ""
    return f"the command {'runs' if is_certain else 'may run'} `{words}`{way}"


def _unread_sentence(command: Command) -> str:
    source = command.source if len(command.source) <= 80 else f"{command.source[:77]}..."
    return f"only the shell knows what `{source}` runs"


def _covers_host(host: str, patterns: Collection[str], but_not: Collection[str] = ()) -> bool:
    host = host.lower()
    if but_not and _covers_host(host, but_not):
        return False
    return any(matches_glob(pattern.lower().removesuffix("."), host) for pattern in patterns)
