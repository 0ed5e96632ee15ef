"""Guards that search the text of a command, which misses every other spelling of it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from anyhook.expressions import expression
from anyhook.python_source import read_python
from anyhook.shell import read_commands

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.checks.hook import CheckedHook
    from anyhook.checks.scripts import CheckedScript
    from anyhook.model.diagnostics import Diagnostic

_METHODS = frozenset({"startswith", "endswith", "find", "index", "count"})
"""Methods of a text that search it."""
_PATTERN_METHODS = frozenset({"search", "match", "fullmatch", "findall", "finditer"})
"""Functions of `re` and methods of its patterns that search a text."""
_REGEX_BLANK = expression(r"\\s[+*]?|\[\[:(?:space|blank):\]\][+*]?|\[ \\t\][+*]?")
_REGEX_SYNTAX = expression(r"\\b|[\^$()]|\\(?=[-./])")
_WORD = expression(r"[\w./-]+")
_JSON_COMMAND = expression(r"\.?tool_input(?:\.|\W+)command\b|\bCLAUDE_TOOL_INPUT\b")
_SEARCH_PROGRAMS = frozenset({"grep", "egrep", "fgrep", "rg"})
_SHELL_TEST = expression(r"=~|\bcase\b|==\s*\*")
_PROBLEM = "this searches the text of a command, which misses its other spellings"
_ADVICE = 'event.runs("rm", options={"--recursive"}), event.deletes("src/**") and their like'


def command_texts(hook: CheckedHook, script: CheckedScript) -> Iterator[Diagnostic]:
    """Report a test on the text of a command, with what to write instead."""
    if script.language == "python":
        nodes = read_python(script.text).nodes
        names = {
            target.id
            for node in nodes
            if isinstance(node, ast.Assign) and _is_command(node.value, frozenset())
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in nodes:
            searched = _searched_text(node, frozenset(names))
            if searched is not None:
                message = f"{_PROBLEM}; {_suggestion(searched)}"
                line = getattr(node, "lineno", 1)
                yield hook.diagnose("command-text", message, script.place(line))
    elif script.language == "shell" and script.path is not None:
        line = _shell_test(script.text)
        if line:
            message = f"{_PROBLEM}; write the guard in Python and ask {_ADVICE}"
            yield hook.diagnose("command-text", message, script.place(line))


def _searched_text(node: ast.AST, names: frozenset[str]) -> str | None:
    """Return the text that a test searches a command for; empty if it is not written out."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        is_contained = isinstance(node.ops[0], ast.In | ast.NotIn)
        if is_contained and _is_command(node.comparators[0], names):
            return _constant(node.left)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    method = node.func.attr
    if method in _METHODS and _is_command(node.func.value, names) and node.args:
        return _constant(node.args[0])
    if method in _PATTERN_METHODS and any(_is_command(argument, names) for argument in node.args):
        pattern = _constant(node.args[0])
        return _REGEX_SYNTAX.sub("", _REGEX_BLANK.sub(" ", pattern))
    return None


def _is_command(node: ast.expr, names: frozenset[str]) -> bool:
    """Return whether an expression is the command of a call, or a part or copy of its text."""
    match node:
        case ast.Name(id):
            return id in names
        case ast.Attribute(ast.Attribute(attr="call"), "command"):
            return True
        case ast.Subscript(value, ast.Constant("command")):
            return "tool_input" in ast.unparse(value)
        case ast.Call(ast.Attribute(value, "get"), [ast.Constant("command"), *_]):
            return "tool_input" in ast.unparse(value)
        case ast.Call(ast.Attribute(value, "lower" | "strip" | "casefold" | "lstrip"), []):
            return _is_command(value, names)
        case ast.BoolOp(_, [first, *_]):
            return _is_command(first, names)
        case _:
            return False


def _constant(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _suggestion(text: str) -> str:
    """Return what to write instead of a search for a text."""
    commands = read_commands(text) if text.strip() else ()
    command = commands[0] if len(commands) == 1 else None
    if command is None or not command.certain or not _WORD.fullmatch(command.program):
        return f"ask {_ADVICE}"
    words = [command.program, *command.operands]
    parts = [f'"{word}"' for word in words if _WORD.fullmatch(word)]
    options = ", ".join([f'"{name}"' for name in command.options])
    if options:
        parts.append(f"options={{{options}}}")
    return f"write event.runs({', '.join(parts)})"


def _shell_test(text: str) -> int:
    """Return the line of a script that searches the command of a call for a text; 0 if none."""
    if not _JSON_COMMAND.search(text):
        return 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        programs = {command.program for command in read_commands(line)}
        if programs & _SEARCH_PROGRAMS or _SHELL_TEST.search(line):
            return number
    return 0
