"""Command lines: variables renamed, arguments quoted, the shim put in front and taken off again."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from anyhook.agents import get_agent
from anyhook.authoring.inspect import AUTHORING, MAX_SIZE
from anyhook.errors import UsageError
from anyhook.files import read_user_file
from anyhook.migrate.options import ShimOptions, parse_shim_options, write_options
from anyhook.shell.path_variables import TOP_OF_REPOSITORY, replace_variables
from anyhook.shell.words import split_literal

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec
    from anyhook.shell.path_variables import VariableUse

PROGRAM = ("anyhook",)
_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
EVERYWHERE = {"cwd": "PWD"}
"""What variables hold to the variable of every shell that holds it too."""
SAME_DIRECTORY = ("project_dir", "root")
"""What variables hold that is the same directory, where the project is a whole repository."""
CANNOT_BE_QUOTED = ("powershell",)
"""Shells with other rules for quotes."""


def wrap(options: ShimOptions, target: AgentSpec, program: Sequence[str] = PROGRAM) -> str:
    """Write the command line that runs a command through the shim."""
    words = [*program, "shim", *write_options(options)]
    variables = get_agent(options.agent).hook_environment
    return " ".join(quote(word, target, variables) for word in words)


def quote(word: str, target: AgentSpec, own: Collection[str] = ()) -> str:
    """Quote a word so that neither a shell nor the reader of the settings changes it.

    Some agents put environment variables into their settings as they read them, with any
    quotes: there a `$` is kept apart from the name behind it.

    `own` are variables that are set for hooks alone: `${name}` of them stays readable.
    """
    quoted = shlex.quote(word)
    if not target.settings.expands_env:
        return quoted
    kept = "".join(rf"(?!\{{{name}\}})" for name in own)
    return re.sub(rf"\${kept}(?=[A-Za-z0-9_{{])", "$''", quoted)


def read_shim(command: str | None) -> ShimOptions | None:
    """Read a command line that runs a command through the shim; `None` if it is something else.

    A line that lets the shell change the options of the shim is not one.
    """
    if command is None or "shim" not in command:
        return None
    words = split_literal(command)
    if words is None or "shim" not in words:
        return None
    index = words.index("shim")
    # `/bin/anyhook`, or `python -P -m anyhook`.
    name = words[0].replace("\\", "/").rpartition("/")[2]
    is_program = index == 1 and name == PROGRAM[0]
    options = [word for word in words[1:index] if word != "-P"]
    if not is_program and options != ["-m", "anyhook"]:
        return None
    try:
        return parse_shim_options(words[index + 1 :])
    except UsageError:
        return None


def own_variables(line: str, source: AgentSpec, shell: str = "") -> str:
    """Write an agent's own variables in the one form that means the same everywhere.

    `$NAME` becomes `${NAME}`, which no agent replaces in the text by itself, and gets the quotes
    that keep a path with blanks one word.
    """
    if shell in CANNOT_BE_QUOTED:
        return line
    texts = {name: f"${{{name}}}" for name in source.hook_environment}
    return _rewritten(line, texts, in_single=False)


def with_top_of_repository(line: str, names: Collection[str], shell: str) -> str:
    """Write what finds the top of the repository in place of variables for the project.

    `shell` is the shell that reads the line, if it is not a POSIX one; then the line stays as it
    is.
    """
    if shell in CANNOT_BE_QUOTED:
        return line
    return _rewritten(line, dict.fromkeys(names, TOP_OF_REPOSITORY), in_single=True)


def renamed(
    line: str, names: Mapping[str, str], shell: str = "", *, kept_apart: bool = False
) -> str:
    """Give the variables of a command line other names, in all their forms.

    `names` maps old names to new ones; `shell` is the shell that reads the line, if it is not a
    POSIX one. `kept_apart` keeps the `$` apart from other names in single quotes, where no shell
    would put a value in but the reader of the settings does.
    """
    if shell not in CANNOT_BE_QUOTED:
        texts = {old: f"${{{new}}}" for old, new in names.items()}
        line = _rewritten(line, texts, in_single=True)
        if kept_apart:
            own = frozenset(names.values())

            def split_dollar(use: VariableUse) -> str | None:
                is_other = use.quote == "'" and use.name not in own
                return f"$''{use.source[1:]}" if is_other else None

            line = replace_variables(line, split_dollar)
    # The uses that are left have no `$` in front: `$env:NAME`, a name in a nested script.
    for old, new in names.items():
        if old != new:
            line = re.sub(rf"(?<![A-Za-z0-9_]){re.escape(old)}(?![A-Za-z0-9_])", new, line)
    return line


def _rewritten(line: str, texts: Mapping[str, str], *, in_single: bool) -> str:
    """Put texts in place of variables, in quotes that keep a path with blanks one word."""

    def rename(use: VariableUse) -> str | None:
        text = texts.get(use.name)
        if text is None or (use.quote == "'" and not in_single):
            return None
        return text if use.quote else f'"{text}"'

    return replace_variables(line, rename)


def for_agent(line: str, source: str, target: str) -> str:
    """Write the target's name for the source's in `--agent`, the option of hook files."""
    option = re.compile(rf"(?<!\S)--agent(=|\s+)(['\"]?){re.escape(source)}\2(?![^\s;&|)])")
    return option.sub(rf"--agent\1{target}", line)


def counterpart_variables(source: AgentSpec, target: AgentSpec) -> tuple[dict[str, str], list[str]]:
    """Pair the variables that two agents set.

    Return the source's variables with the target's names, and those that the target has nothing
    for.
    """
    pairs: dict[str, str] = {}
    lost: list[str] = []
    for name, content in source.hook_environment.items():
        if content.startswith("="):
            continue
        contents = SAME_DIRECTORY if content in SAME_DIRECTORY else (content,)
        counterpart = EVERYWHERE.get(content)
        for own_name, own_content in target.hook_environment.items():
            if own_content in contents:
                counterpart = own_name
                break
        if counterpart is None:
            lost.append(name)
        else:
            pairs[name] = counterpart
    return pairs, lost


def line_of(argv: Sequence[str], names: Collection[str]) -> str:
    """Write a program and its arguments as a command line.

    `${name}` in a word stands for a variable if it is one of `names`; everything else stands in
    single quotes.
    """
    words: list[str] = []
    for word in argv:
        pieces: list[str] = []
        end = 0
        for match in _PLACEHOLDER.finditer(word):
            if match[1] not in names:
                continue
            before = word[end : match.start()]
            if before:
                pieces.append(shlex.quote(before))
            pieces.append(f'"{match[0]}"')
            end = match.end()
        rest = word[end:]
        if rest or not pieces:  # an empty word is written as ''
            pieces.append(shlex.quote(rest))
        words.append("".join(pieces))
    return " ".join(words)


def is_portable(command: str, files: Sequence[Path]) -> bool:
    """Return whether a command is a hook file of anyhook, which works in every agent."""
    if read_shim(command) is not None:
        return False
    for file in files:
        try:
            if file.suffix == ".py" and AUTHORING.encode() in read_user_file(file, MAX_SIZE):
                return True
        except (OSError, ValueError):
            continue
    return False
