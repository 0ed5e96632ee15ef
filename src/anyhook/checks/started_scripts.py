"""Which scripts the command of a hook starts, and the interpreter that reads each of them.

A script counts only where the command surely runs it: as the program of a simple command, or as the
first argument of an interpreter. A file that a script gets as its argument may be anything.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from anyhook.checks.hook import HookReader
from anyhook.checks.interpreters import (
    ScriptText,
    check_scripts,
    interpreter_in,
    language_of_interpreter,
)
from anyhook.expressions import expression
from anyhook.files import read_json_object, read_user_file
from anyhook.model.diagnostics import Diagnostic, Place
from anyhook.settings.directories import find_root
from anyhook.settings.sources import SIZE_LIMIT
from anyhook.shell import read_commands
from anyhook.shell.parser import UnreadableError, parse_command_line
from anyhook.shell.path_variables import replace_variables
from anyhook.shell.programs import SHELLS, base_name
from anyhook.shell.runners import WRAPPERS
from anyhook.shell.structure import parse_script
from anyhook.trust.languages import PYTHON
from anyhook.trust.words import LITERAL_DOLLAR, expand_variables, name_directories
from anyhook.worker.commands import HookCommand, read_command

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from anyhook.checks.hook import CheckedHook
    from anyhook.engine.engine import Engine
    from anyhook.shell.path_variables import VariableUse
    from anyhook.shell.structure import Pipeline


_HARMLESS_OPTIONS = {
    "python": expression(r"-[bBdEiIOPqsSuv]+|-[XW].+"),
    "shell": expression(r"-[abefhkmnptuvx]+|--(?:norc|noprofile|posix|login)"),
    "javascript": expression(r"--[a-z-]+(?:=.*)?"),
    "ruby": expression(r"-[wWvU]\d?"),
}
"""Options that take no word of their own and leave the next argument the script."""
_VALUED_OPTIONS = {
    "python": expression(r"-[bBdEiIOPqsSuv]*[XW]"),
    "shell": expression(r"[-+][abefhkmnptuvx]*[oO]"),
}
"""Options that take the next word, and leave the one behind it the script."""
_LOADING_OPTIONS = frozenset(
    "--require --import --loader --experimental-loader --eval --print --check --test --run".split()
)
"""Options of Node after which the next argument is not the script."""

_PLAIN_PATH = expression(r"[\w./@+-]+")
"""Paths that no shell changes, without quotes too."""
_QUOTED_PATH = expression(r"[^$`\\\"]+")
"""Paths that no shell changes in double quotes."""
_SAME_ENVIRONMENT = SHELLS.union(WRAPPERS)
"""Programs behind which a name means the same program as in front of them."""
_OTHER_LANGUAGES = frozenset({".ts", ".mts", ".cts", ".tsx", ".jsx"})
"""Suffixes of scripts that Node reads, if at all, only without their types."""


class StartedScript(NamedTuple):
    """A script that a hook starts.

    Attributes:
        interpreter: Absolute path of the interpreter that checks it.
        is_named: Whether that is the interpreter that also runs it; else another one of the same
            language, which may find other modules.
    """

    hook: CheckedHook
    path: Path
    text: str
    interpreter: str
    is_named: bool


class Start(NamedTuple):
    """The start of a script by a command.

    Attributes:
        script: Its path, which may not exist.
        interpreter: The word that names its interpreter; `None` if its first line does.
        arguments: The words after it.
        is_in_environment: Whether a program like `poetry run` chooses the environment in which the
            interpreter is found.

    A `$` in a word means that it is not known; a `$` of a known path is `LITERAL_DOLLAR`.
    """

    script: Path
    interpreter: str | None
    arguments: tuple[str, ...]
    is_in_environment: bool


def started_scripts(hook: CheckedHook) -> Iterator[StartedScript]:
    """Yield the scripts that a hook surely starts and whose interpreter can check them."""
    for start in find_starts(hook):
        script = _read(hook, start)
        if script is not None:
            yield script


def started_paths(hook: CheckedHook) -> Iterator[Path]:
    """Yield the paths of the scripts that a hook surely starts; they may not exist."""
    for start in find_starts(hook):
        yield start.script


def find_starts(hook: CheckedHook) -> Iterator[Start]:
    """Yield the scripts that a hook surely starts, as its command starts them."""
    if not hook.is_command:
        return
    if hook.handler.argv is not None:
        yield from _starts_of(hook, [_SimpleCommand(list(hook.handler.argv))])
    else:
        yield from starts_of(hook, hook.handler.command or "")


def starts_of(hook: CheckedHook, line: str) -> Iterator[Start]:
    """Yield the scripts that a command line, or a part of it, surely starts."""

    def expand(use: VariableUse) -> str | None:
        value = hook.variables.get(use.name, "")
        form = _QUOTED_PATH if use.quote else _PLAIN_PATH
        # The shell sets the variable of its directory itself.
        is_known = use.quote != "'" and use.name != "PWD"
        return value if is_known and form.fullmatch(value) else None

    # `cd "$CLAUDE_PROJECT_DIR"` leads to a directory that is known.
    known = replace_variables(name_directories(line), expand)
    yield from _starts_of(hook, _commands_of_line(known))


def only_starts_file(hook: CheckedHook, file: str) -> bool:
    """Return whether a hook does nothing but start a file, so that the file's answer is its own.

    With another command line (`cat guard.py`, `x=$(guard.py)`, `guard.py | tee log`) the file may
    not run, or the agent may not get what it answers.
    """
    line = hook.handler.command_line
    starts = list(find_starts(hook))
    scripts = [os.path.realpath(start.script) for start in starts]
    is_read = all(_is_interpreter(start.interpreter) for start in starts)
    return is_read and _is_one_command(line) and scripts == [os.path.realpath(file)]


def _is_interpreter(word: str | None) -> bool:
    """Return whether a word is known to run the script behind it; `/bin/true` does not."""
    if word is None or base_name(word) == "anyhook":
        return True
    return language_of_interpreter(base_name(word)) is not None


def _is_one_command(line: str) -> bool:
    """Return whether the output and the exit code of a line are those of one command in it."""
    try:
        statements = parse_script(line)
        has_substitution = any(step.kind == "open" for step in parse_command_line(line).steps)
    except UnreadableError:
        return False
    while statements and _is_preparation(statements[0]):
        statements = statements[1:]
    if has_substitution or len(statements) != 1:
        return False
    (pipeline,) = statements
    (element, *others) = pipeline.elements
    if others or pipeline.operator == "&" or pipeline.is_negated or element.kind != "command":
        return False
    for redirection in element.redirections:
        is_standard_error = redirection.operator.startswith("2")
        if not is_standard_error or redirection.target == "1":
            return False
    match [word.text for word in element.words]:
        case [shell, option, text, *_] if base_name(shell) in SHELLS and "c" in option:
            return _is_one_command(text)
    return True


def _is_preparation(pipeline: Pipeline) -> bool:
    """Return whether a statement only sets variables or changes the directory."""
    (element, *others) = pipeline.elements
    if others:
        return False
    words = [word.text for word in element.words]
    return element.kind == "assignment" or (pipeline.operator == "&&" and words[:1] == ["cd"])


def _starts_of(hook: CheckedHook, commands: Iterable[_SimpleCommand]) -> Iterator[Start]:
    base = _directory(hook)
    for command in commands:
        # With a `$` in it, a word is not known.
        texts = [expand_variables(word, hook.variables, base) for word in command.words]
        is_in_environment = not _SAME_ENVIRONMENT.issuperset(command.wrappers)
        script, interpreter = _start_of(texts)
        if script is None and is_in_environment and texts and texts[0].endswith(".py"):
            script = texts[0]
        directory = base / command.directory
        if script is not None and "$" not in script and directory.is_dir():
            arguments = tuple(texts[texts.index(script) + 1 :])
            script = script.replace(LITERAL_DOLLAR, "$")
            path = Path(os.path.normpath(directory / os.path.expanduser(script)))
            yield Start(path, interpreter, arguments, is_in_environment)


def _directory(hook: CheckedHook) -> Path:
    """Return the directory in which the command of a hook starts."""
    return Path(hook.handler.cwd) if hook.handler.cwd else hook.engine.project_dir


class _SimpleCommand(NamedTuple):
    """A simple command, the directory in which it runs, and the programs in front of it."""

    words: list[str]
    directory: str = ""
    wrappers: tuple[str, ...] = ()


def _commands_of_line(line: str) -> list[_SimpleCommand]:
    """Return the simple commands of a line; instead of `anyhook shim` what it starts.

    Those are left out that run elsewhere, or in a directory that only the shell knows.
    """
    commands: list[_SimpleCommand] = []
    for command in read_commands(line):
        directory = command.directories[0]
        is_known = directory is not None and len(command.directories) == 1
        if command.is_remote or not is_known:
            continue
        words = [command.path, *command.arguments] if command.path else [*command.arguments]
        is_shim = [base_name(text) for text in words[:2]] == ["anyhook", "shim"]
        if not is_shim or "--" not in words:
            commands.append(_SimpleCommand(words, directory or "", command.chain))
            continue
        words = words[words.index("--") + 1 :]
        if len(words) == 1:
            commands += _commands_of_line(words[0])
        else:
            commands.append(_SimpleCommand(words, directory or ""))
    return commands


def _start_of(words: Sequence[str]) -> tuple[str | None, str | None]:
    """Return the script that a simple command surely starts, if any, and its interpreter."""
    match [base_name(word) for word in words[:2]]:
        case []:
            return None, None
        case ["anyhook", "run"]:
            command = read_command(words)
            return (command.words[0], command.python or words[0]) if command else (None, None)
        case [name, *_] if language_of_interpreter(name) is not None:
            return _first_argument(str(language_of_interpreter(name)), words[1:]), words[0]
    return (words[0] if "/" in words[0] else None), None


def _first_argument(language: str, arguments: Sequence[str]) -> str | None:
    """Return the first argument behind the options; `None` if an option may take or replace it."""
    valued_options = _VALUED_OPTIONS.get(language)
    is_value = False
    for argument in arguments:
        if is_value:
            is_value = False
            continue
        if not argument.startswith(("-", "+")):
            return argument
        is_value = valued_options is not None and valued_options.fullmatch(argument) is not None
        if is_value:
            continue
        is_harmless = _HARMLESS_OPTIONS[language].fullmatch(argument) is not None
        if not is_harmless or argument.partition("=")[0] in _LOADING_OPTIONS:
            return None
    return None


def _read(hook: CheckedHook, start: Start) -> StartedScript | None:
    """Read a script and find its interpreter; `None` without one."""
    path = start.script
    if path.suffix in _OTHER_LANGUAGES:
        return None
    try:
        text = read_user_file(path, SIZE_LIMIT).decode("utf-8")
    except (OSError, ValueError):
        return None
    word = start.interpreter
    if word is None and text.startswith("#!"):
        word = interpreter_in(text)
    elif word is None and path.suffix not in {".py", ".js", ".mjs", ".cjs", ".rb"}:
        # The shell that runs the command line runs a script without a first line itself; one with
        # such a suffix is reported by the rule about first lines.
        word = hook.shell
    if word is None and start.is_in_environment and path.suffix == ".py":
        word = "python"
    if word is None:
        return None
    if base_name(word) == "anyhook":
        own = HookCommand(program=word, python=None, words=()).interpreter(hook.engine.environ)
        word = own or "anyhook"
    is_python = word == "anyhook" or language_of_interpreter(base_name(word)) == "python"
    is_known = not (is_python and start.is_in_environment)
    interpreter = _find_interpreter(hook, word) if is_known else None
    if interpreter is not None:
        return StartedScript(hook, path, text, interpreter, is_named=True)
    if is_python:
        return StartedScript(hook, path, text, sys.executable, is_named=False)
    return None


def _find_interpreter(hook: CheckedHook, word: str) -> str | None:
    """Return the path of an interpreter that may be started; `None` if there is none.

    A program of the project, or at a path that settings name, is started only for a hook that the
    user trusts: the author of the settings may have written the program, too.
    """
    if "$" in word or language_of_interpreter(base_name(word)) is None:
        return None
    word = word.replace(LITERAL_DOLLAR, "$")
    search_path = hook.engine.environ.get("PATH", os.defpath).split(os.pathsep)
    directories = [directory for directory in search_path if os.path.isabs(directory)]
    if "/" in word:
        path = os.path.normpath(_directory(hook) / os.path.expanduser(word))
    else:
        path = shutil.which(word, path=os.pathsep.join(directories)) or ""
    if not os.access(path, os.X_OK):
        return None
    is_on_path = os.path.dirname(path) in [*directories, *os.defpath.split(os.pathsep)]
    root = find_root(hook.engine.project_dir)
    is_foreign = is_on_path and not Path(path).is_relative_to(root)
    if is_foreign or hook.engine.guard.withhold(hook.handler) is None:
        return path
    return None


# -- files that cannot be read


def unreadable_scripts(engine: Engine) -> Iterator[Diagnostic]:
    """Report scripts with a syntax error, and modules that Python scripts import in vain."""
    reader = HookReader(engine)
    # Each script counts once for every interpreter that runs it.
    scripts: dict[tuple[str, Path], StartedScript] = {}
    for definition in engine.definitions:
        for hook in reader.hooks_of(definition):
            for script in started_scripts(hook):
                scripts.setdefault((script.interpreter, script.path), script)
    by_interpreter: dict[str, list[StartedScript]] = {}
    for script in scripts.values():
        by_interpreter.setdefault(script.interpreter, []).append(script)
    for interpreter, group in by_interpreter.items():
        texts = [
            ScriptText(
                text=script.text,
                path=script.path.name,
                directories=_module_directories(script),
                module_type=_module_type(script.path),
            )
            for script in group
        ]
        for script, report in zip(group, check_scripts(interpreter, texts), strict=True):
            file, name = str(script.path), os.path.basename(script.interpreter)
            if report.problem is not None:
                text = f"{name} cannot read {script.path.name}: {report.problem}"
                yield script.hook.diagnose("script-syntax", text, Place(file, report.line))
            for line, module in report.missing_modules:
                before = "\n".join(script.text.splitlines()[: line - 1])
                # A script may install its modules, or start itself again in another environment.
                if not PYTHON.runs.search(before):
                    text = (
                        f"{script.path.name} imports {module!r}, which {script.interpreter} does "
                        f"not find; install it where {name} finds it"
                    )
                    yield script.hook.diagnose("missing-module", text, Place(file, line))


def _module_directories(script: StartedScript) -> tuple[str, ...] | None:
    """Return where a Python script's own modules are; `None` if only the running script knows."""
    if not script.is_named or PYTHON.searches.search(script.text):
        return None
    directories = [os.path.dirname(os.path.realpath(script.path))]
    hook = script.hook
    for environment in (hook.handler.env, hook.engine.environ):
        if "PYTHONPATH" in environment:
            project = hook.engine.project_dir
            names = environment["PYTHONPATH"].split(os.pathsep)
            directories += [os.path.join(project, name) for name in names]
            break
    # `PYTHONPATH=lib python3 guard.py`
    is_changed = PYTHON.searches.search(hook.handler.command or "") is not None
    return None if is_changed else tuple(directories)


def _module_type(path: Path) -> str:
    """Return how Node reads a script: by its suffix, else by the next `package.json` above it."""
    if path.suffix in {".mjs", ".cjs"}:
        return "module" if path.suffix == ".mjs" else "commonjs"
    for directory in path.resolve().parents:
        package = directory / "package.json"
        if package.is_file():
            kind = (read_json_object(package, SIZE_LIMIT) or {}).get("type")
            return kind if kind in {"module", "commonjs"} else ""
    return ""
