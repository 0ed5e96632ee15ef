"""What programs run that take a command as their arguments: `sudo`, `xargs`, `docker exec`, `find`.

Their own options are read by the tables of `anyhook.shell.options`, so that the command begins
where the program lets it begin.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from anyhook.shell.builtins import change_directory
from anyhook.shell.options import (
    NO_OPTIONS,
    canonical_program,
    find_table,
    found_files,
    read_arguments,
)
from anyhook.shell.parser import ASSIGNMENT
from anyhook.shell.runners import (
    RUNNERS,
    TEXT,
    TMUX_ALIASES,
    TMUX_COMMANDS,
    WRAPPER_NAMES,
    Runner,
)
from anyhook.shell.scope import NO_INPUT, Redirect, Scope
from anyhook.shell.values import LITERAL, PATTERN, VAGUE, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyhook.shell.command import Command
    from anyhook.shell.options import Arguments, Table
    from anyhook.shell.reader import ExpandedCall, Reader

_IN_THIS_SHELL = frozenset({"builtin", "command"})
"""Wrappers behind which a builtin changes the shell itself; others run a program."""
_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
_PACKAGE_RUNNERS = frozenset({"npx", "uvx", "bunx", "pnpx"})
_KEEPS_WORDS = frozenset(
    "--max-args --no-run-if-empty --verbose --max-procs --max-chars --exit --null -I"
    " --replace".split()
)
"""Options of `xargs` that change nothing in the words that it adds."""
_SEARCHES = frozenset({"grep", "egrep", "fgrep", "rg"})
_SPLIT_OPTION = "--split-string"
"""Option of `env` whose value is split into words, in front of the others."""
_QUOTES = frozenset("'\"\\")
_EXPANSIONS = frozenset("$`")
_FD_RUNS = frozenset({"-x", "-X", "--exec", "--exec-batch"})
_FD_MAY_RUN = re.compile(r"-\w+[xX]$|-[xX].|--exec")


def _run_wrapper(reader: Reader, call: ExpandedCall) -> None:
    """Add what a program runs, or what a subcommand of it runs."""
    base = canonical_program(call.name)
    runner = RUNNERS.get(base) or RUNNERS.get(call.name)
    if runner is not None:
        _run_inner(reader, call, runner, find_table(call.name), 1)
        return
    index = _after_options(find_table(call.name), call.values, 1)
    words = [value.text for value in call.values[index : index + 3]]
    # `docker container exec` is `docker exec`.
    if base == "docker" and words[:1] in (["container"], ["image"]):
        index += 1
        words = words[1:]
    for length in range(len(words), 0, -1):
        path = words[:length]
        runner = RUNNERS.get(" ".join([base, *path]))
        if runner is not None:
            _run_inner(reader, call, runner, find_table(call.name, *path), index + length)
            return
    if words[:1] == ["compose"]:
        index = _after_options(find_table(call.name, "compose"), call.values, index + 1)
        words = ["compose", *[value.text for value in call.values[index : index + 1]]]
        runner = RUNNERS.get(" ".join([base, *words]))
        if runner is not None:
            _run_inner(reader, call, runner, find_table(call.name, *words), index + 1)
            return
    reader.add(call)


def _after_options(table: Table | None, values: Sequence[Value], start: int) -> int:
    """Return the index of the first word that is not an option, nor its value."""
    return read_arguments(table or NO_OPTIONS, values, start, 0).rest


def _run_inner(
    reader: Reader, call: ExpandedCall, runner: Runner, table: Table | None, start: int
) -> None:
    """Add the command behind the options and operands of a wrapper."""
    values = call.values
    read = read_arguments(table or NO_OPTIONS, values, start, runner.operands)
    split = _split_values(call, read, table, start)
    if split is not None:
        _run_inner(reader, call._replace(values=split), runner, table, start)
        return
    index = read.rest
    while runner.assigns and index < len(values) and ASSIGNMENT.match(values[index].text):
        index += 1
    scope = _with_environment(call.scope, read, values[read.rest : index])
    only_prints = call.name == "command" and not {"-v", "-V"}.isdisjoint(read.options)
    has_command = index < len(values) and not only_prints
    own = reader.make(call, None if runner.is_shown or not has_command else values[1:index])
    if runner.is_shown or not has_command:
        reader.commands.append(own)
    if runner.is_remote:
        scope = Scope(None, None)
        scope.input = call.scope.input
    elif call.name not in _IN_THIS_SHELL:
        scope = scope.copy()
        if read.options.get("--chdir"):
            change_directory(scope, read.options["--chdir"][-1])
    may_split = any(value.may_split for value in values[start:index] if value.kind == VAGUE)
    is_input_empty = scope.input is not NO_INPUT and scope.input.text == ""
    runs_nothing = is_input_empty and "--no-run-if-empty" in read.options
    is_doubtful = read.may_have_more or read.is_doubtful or may_split or runs_nothing
    reader.doubts += is_doubtful
    reader.remotes += runner.is_remote
    reader.typed += runner.is_typed
    reader.read_options(own, scope, read.options)
    inner = call._replace(
        scope=scope,
        wrappers=(*call.wrappers, own),
        redirects=() if runner.is_shown else call.redirects,
        values=values[index:],
    )
    if only_prints:
        pass
    elif not has_command:
        _run_without_command(reader, inner, runner, own, is_doubtful)
    elif runner.kind == TEXT:
        reader.read_joined(inner.values, scope, inner.wrappers)
    else:
        _run_words(reader, inner, own)
    reader.doubts -= is_doubtful
    reader.remotes -= runner.is_remote
    reader.typed -= runner.is_typed


def _with_environment(scope: Scope, read: Arguments, assignments: Sequence[Value]) -> Scope:
    """Return what is known behind `env`, which sets variables, and forgets others with `-i`."""
    is_empty = "--ignore-environment" in read.options
    if not assignments and not is_empty:
        return scope
    scope = scope.copy()
    if is_empty:
        scope.forget_variables()
    for value in assignments:
        name, _, text = value.text.partition("=")
        scope.variables[name] = text if value.kind == LITERAL else None
    return scope


def _split_values(
    call: ExpandedCall, read: Arguments, table: Table | None, start: int
) -> list[Value] | None:
    """Return the words of `env -S 'rm -f' x` with `x` behind the words of the option's value."""
    values = call.values
    split = read.options.get(_SPLIT_OPTION)
    rest = read.rest
    while split and read_arguments(table, values[: rest - 1], start).options.get(_SPLIT_OPTION):
        rest -= 1
    if not split or rest >= len(values):
        return None
    text = shlex.join([value.text for value in values[rest:]])
    is_known = all(value.kind == LITERAL for value in values[rest:])
    joined = split[-1]._replace(text=f"{split[-1].text} {text}")
    paths = read.options.get("--chdir", ())
    return [
        *values[:1],
        *[word for path in paths for word in (Value("--chdir"), path)],
        Value(_SPLIT_OPTION),
        joined if is_known else joined._replace(kind=VAGUE),
    ]


def _run_without_command(
    reader: Reader, inner: ExpandedCall, runner: Runner, own: Command, is_doubtful: bool
) -> None:
    """Add what a program runs that was given no command: `ssh host < script`, `sudo -s`."""
    if is_doubtful or own.read.has(*runner.shell_options):
        reader.add_uncertain(inner.source, inner.scope, inner.wrappers)
    elif runner.is_remote and runner.kind == TEXT:
        reader.read_input(inner.scope, inner.wrappers, inner.source)


def _run_words(reader: Reader, inner: ExpandedCall, own: Command) -> None:
    """Run the words behind a wrapper, with what it adds to them."""
    words = list(inner.values)
    scope = inner.scope
    program = own.program
    if program in {"xargs", "gxargs"}:
        for file in own.read.options.get("--arg-file", ()):
            redirect = Redirect("<", file.text, file.kind == LITERAL)
            reader.run(inner._replace(values=(), redirects=(redirect,)))
        scope = scope.copy()
        words = _with_input(own, words, scope)
        if scope.input.source:
            inner = inner._replace(source=f"{scope.input.source} | {inner.source}")
        scope.input = NO_INPUT
    elif program == "parallel":
        _run_parallel(reader, inner, own)
        return
    elif program in _PACKAGE_RUNNERS:
        package = words[0].text
        version = package.find("@", 1)
        words[0] = words[0]._replace(text=package[:version] if version > 0 else package)
    elif program == "screen" and words[0].text == "stuff":
        # `screen -X stuff 'rm x^M'` types into the program that runs there.
        typed = [value._replace(text=value.text.replace("^M", "\n")) for value in words[1:]]
        reader.typed += 1
        reader.read_joined(typed, scope, inner.wrappers)
        reader.typed -= 1
        return
    elif program == "uv" and "--module" in own.read.options:
        words = [Value("python"), Value("-m"), *words]
    elif program in _CONTAINERS:
        words = [*own.read.options.get("--entrypoint", [])[-1:], *words]
    reader.run(inner._replace(values=words, scope=scope))


def _run_parallel(reader: Reader, inner: ExpandedCall, own: Command) -> None:
    texts = [value.text for value in inner.values]
    end = next((index for index, text in enumerate(texts) if text[:3] == ":::"), len(texts))
    scope = inner.scope.copy()
    # It replaces `{}`, `{.}`, `{1}`, …
    # Its input may hold several words, and whatever the shell reads in them.
    scope.placeholder = _placeholder_of(own) or "{"
    unknown = Value(scope.placeholder, VAGUE)
    template = _with_names(inner.values[:end], scope.placeholder, [unknown])
    if template == list(inner.values[:end]):
        template.append(Value("{}", VAGUE))
    reader.read_joined(template, scope, inner.wrappers)


def _placeholder_of(own: Command) -> str:
    """Return what options of `xargs` or `parallel` replace by a word of the input, or nothing."""
    options = own.read.options
    values = [value.text for name in ("-I", "-J", "-U") for value in options.get(name, ())]
    if "--replace" in options:
        values += [value.text for value in options["--replace"]] or ["{}"]
    return values[-1] if values else ""


def _with_input(xargs: Command, words: list[Value], scope: Scope) -> list[Value]:
    """Return the words of a command with those that `xargs` adds; note its placeholder."""
    options = xargs.read.options
    placeholder = _placeholder_of(xargs)
    scope.placeholder = placeholder or scope.placeholder
    files = scope.input.files if options.keys() <= _KEEPS_WORDS else ()
    are_whole = bool(files) and scope.input.is_certain and "--null" in options
    if placeholder:
        return _with_names(words, placeholder, files if are_whole else [Value(placeholder, VAGUE)])
    unknown = Value("{}", VAGUE, may_split=True)
    if are_whole:
        return [*words, *files]
    # Of other programs, the last word may be something else than a name in front of it.
    if files and words[0].text in _SEARCHES:
        return [*words, unknown, *files]
    text = scope.input.text
    separator = "\0" if "--null" in options else None
    is_plain = separator is not None or (text is not None and _QUOTES.isdisjoint(text))
    if text is not None and is_plain and options.keys() <= _KEEPS_WORDS:
        for word in text.removesuffix("\0").split(separator):
            is_known = scope.input.is_certain or _EXPANSIONS.isdisjoint(word)
            words = [*words, Value(word, LITERAL if is_known else VAGUE, may_split=not is_known)]
        return words
    return [*words, unknown]


def _run_tmux(reader: Reader, call: ExpandedCall) -> None:
    """Add the commands of tmux, which `;` separates, and what they run."""
    start = _after_options(find_table("tmux"), call.values, 1)
    groups: list[list[Value]] = [[]]
    for value in call.values[start:]:
        if value.text[-1:] == ";":
            groups[-1] += [value._replace(text=value.text[:-1])] if value.text != ";" else []
            groups.append([])
        else:
            groups[-1].append(value)
    for number, group in enumerate(groups):
        if not group:
            if number == 0:
                reader.add(call)
            continue
        word = group[0].text
        name = next((name for name in TMUX_COMMANDS if name.startswith(word)), word)
        name = TMUX_ALIASES.get(name, name)
        inner = call._replace(values=[*call.values[:start], Value(name), *group[1:]])
        runner, table = RUNNERS.get(f"tmux {name}"), find_table("tmux", name)
        if runner is not None:
            _run_inner(reader, inner, runner, table, start + 1)
            continue
        own = reader.add(inner)
        if name == "if-shell":
            wrappers = (*call.wrappers, own)
            condition = _after_options(table, inner.values, start + 1)
            for index, value in enumerate(inner.values[condition:]):
                # Behind the condition stand commands of tmux.
                text = f"tmux {value.text}" if index else value.text
                reader.read_value(value._replace(text=text), call.scope, wrappers)


def _run_find(reader: Reader, call: ExpandedCall) -> None:
    """Add `find`, and what it runs for each file."""
    own = reader.add(call)
    is_doubtful = own.read.may_have_more
    reader.doubts += is_doubtful
    for command in own.read.commands:
        inner = call._replace(wrappers=(*call.wrappers, own), redirects=())
        # What `{}` stands for has another name in the directory of the file.
        is_elsewhere = own.read.has("-execdir")
        files = [Value("{}", VAGUE)] if is_elsewhere else found_files(own.read)
        reader.run(inner._replace(values=_with_names(command, "{}", files)))
    reader.doubts -= is_doubtful


def _with_names(words: Sequence[Value], placeholder: str, names: Sequence[Value]) -> list[Value]:
    """Return words with names in place of a placeholder; next to other characters it is unknown."""
    replaced: list[Value] = []
    for word in words:
        if word.text == placeholder:
            replaced += names
        else:
            is_vague = placeholder in word.text
            replaced.append(word._replace(kind=VAGUE, may_split=False) if is_vague else word)
    return replaced


def _run_fd(reader: Reader, call: ExpandedCall) -> None:
    """Add `fd`, and what it runs behind `-x`."""
    own = reader.add(call)
    inner = call._replace(wrappers=(*call.wrappers, own), redirects=())
    for index, value in enumerate(call.values):
        if value.text in _FD_RUNS:
            reader.run(inner._replace(values=[*call.values[index + 1 :], Value("{}", VAGUE)]))
            return
        if _FD_MAY_RUN.match(value.text):
            reader.add_uncertain(call.source, call.scope, inner.wrappers)


def _run_as_user(reader: Reader, call: ExpandedCall) -> None:
    """Add `runuser`, and the command behind its option `-u`."""
    own = reader.add(call)
    if own.read.has("--user"):
        inner = call._replace(wrappers=(*call.wrappers, own), redirects=())
        reader.run(inner._replace(values=own.read.operands))


def _run_parts(reader: Reader, call: ExpandedCall) -> None:
    """Add `run-parts`, and the programs of its directory."""
    own = reader.add(call)
    if own.read.operands and not own.read.has("--test", "--list"):
        inner = call._replace(wrappers=(*call.wrappers, own), redirects=())
        program = Value(f"{own.read.operands[0].text}/*", PATTERN)
        reader.run(inner._replace(values=[program, *own.read.values("--arg")]))


WRAPPER_HANDLERS: dict[str, Callable[[Reader, ExpandedCall], None]] = {
    **dict.fromkeys(WRAPPER_NAMES, _run_wrapper),
    "tmux": _run_tmux,
    "runuser": _run_as_user,
    "run-parts": _run_parts,
    **dict.fromkeys(("find", "gfind"), _run_find),
    **dict.fromkeys(("fd", "fdfind"), _run_fd),
}
"""Program to the function that adds what it runs."""
