"""What a shell script prints to its standard output and standard error, and how it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from anyhook.checks.script_facts import (
    Branch,
    Exit,
    Flow,
    Return,
    ScriptCall,
    ScriptOutput,
    Statement,
)
from anyhook.expressions import expression
from anyhook.shell.parser import UnreadableError
from anyhook.shell.structure import Block, Element, Redirection, parse_script
from anyhook.shell.wrappers import unwrap

if TYPE_CHECKING:
    from collections.abc import Sequence


_JSON = expression(r"\s*\{")
_OBJECT_FILTER = expression(r"(?:[^'\"]*\|)?\s*\{")
_QUOTED_DECISION = expression(r"""["']?\b(?:decision|permissionDecision|continue)\b["']?\s*[:=]""")
_OPTION = expression(r"-[neE]+")
_STDERR = frozenset({"/dev/stderr", "/proc/self/fd/2"})
_STDOUT_OPERATORS = frozenset({">", ">>", ">|", ">&", "1>", "1>>", "1>|", "1>&", "&>", "&>>"})
_KEEPS_JSON = frozenset({("cat",), ("jq", "."), ("jq", "-c", "."), ("tee", "/dev/stderr")})
"""Commands that print the JSON that they read."""


class _Target(NamedTuple):
    """Where the standard output of a statement goes."""

    is_hidden: bool = False
    is_stderr: bool = False


def shell_flow(text: str) -> Flow:
    """Return the flow of a shell script; an empty one if shells may read it in different ways."""
    flow = Flow(text)
    try:
        block = parse_script(text)
    except UnreadableError:
        return flow
    flow.statements = _Reader(flow).read_block(block, _Target())
    return flow


class _Reader:
    """Turns the statements of a script into its flow; the functions are added to it."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow

    def read_block(self, block: Block, target: _Target) -> list[Statement]:
        """Return what the statements of a block do."""
        statements: list[Statement] = []
        condition = ""
        for pipeline in block:
            *feeding, last = pipeline.elements
            if not feeding:
                inner = self._read_element(last, target)
            else:
                inner = []
                # Only standard error of the others is seen, and none of them ends the script.
                for element in feeding:
                    inner += _printed(self._read_element(element, _Target(is_hidden=True)))
                keeps_json = tuple(word.text for word in last.words) in _KEEPS_JSON
                source = last
                if keeps_json and len(feeding) == 1:
                    source = feeding[0]
                inner += _printed(self._read_element(source, target))
            # The command behind `&&` and `||` may not run.
            if condition in {"&&", "||"}:
                statements.append(Branch([inner, []]))
            else:
                statements += inner
            # `exec` without a program redirects the rest of the script.
            if not feeding and [word.text for word in last.words] == ["exec"]:
                target = _redirected(target, last.redirections)
            condition = pipeline.operator
        return statements

    def _read_element(self, element: Element, target: _Target) -> list[Statement]:
        target = _redirected(target, element.redirections)
        match element.kind:
            case "command":
                return self._read_command(element, target)
            case "function":
                body = self.read_block(element.blocks[0], target)
                self._flow.functions[element.name] = body
                return []
            case "branch":
                return [Branch([self.read_block(block, target) for block in element.blocks])]
            case "loop":
                return [Branch([self.read_block(element.blocks[0], target), []])]
            case "group":
                return self.read_block(element.blocks[0], target)
            case "subshell":
                return _printed(self.read_block(element.blocks[0], target))
        return []

    def _read_command(self, element: Element, target: _Target) -> list[Statement]:
        try:
            words = [word.text for word in unwrap(list(element.words))]
        except UnreadableError:
            return []
        line = self._flow.text.count("\n", 0, element.position) + 1
        match words:
            case ["exit"]:
                return [Exit(line, None)]
            case ["exit", code, *_]:
                return [Exit(line, int(code) if code.isdecimal() else None)]
            case ["return", *_]:
                return [Return()]
            case []:
                return []
        if target.is_hidden:
            return []
        printed = _printed_text(words, element.redirections)
        if printed is None:
            return [ScriptCall(words[0])]
        is_json = _JSON.match(printed) is not None
        is_unknown = printed.lstrip().startswith(("$", "`")) or not printed.strip()
        return [
            ScriptOutput(
                line=line,
                text=printed,
                is_json=is_json,
                is_text=not is_json and not is_unknown,
                is_stderr=target.is_stderr,
                has_decision=_QUOTED_DECISION.search(printed) is not None,
            )
        ]


def _redirected(target: _Target, redirections: Sequence[Redirection]) -> _Target:
    """Return where standard output goes behind some redirections."""
    for redirection in redirections:
        if redirection.operator not in _STDOUT_OPERATORS:
            continue
        is_copy = redirection.operator.endswith("&")
        if redirection.target in _STDERR or (is_copy and redirection.target == "2"):
            target = _Target(is_stderr=True)
        elif not (is_copy and redirection.target == "1"):
            target = _Target(is_hidden=True)
    return target


def _printed(statements: list[Statement]) -> list[Statement]:
    """Return only what is printed: a subshell does not end the script."""
    printed: list[Statement] = []
    for statement in statements:
        if isinstance(statement, ScriptOutput):
            printed.append(statement)
        elif isinstance(statement, Branch):
            printed.append(Branch([_printed(block) for block in statement.blocks]))
    return printed


def _printed_text(words: list[str], redirections: Sequence[Redirection]) -> str | None:
    """Return what a command prints, as it is written; `None` if that is not known."""
    match words:
        case ["echo", *arguments]:
            while arguments and _OPTION.fullmatch(arguments[0]):
                arguments = arguments[1:]
            return " ".join(arguments)
        case ["printf", "--", *arguments] | ["printf", *arguments] if arguments:
            first, *values = arguments
            # `printf '%s\n' "$REPLY"` prints the value.
            if first.startswith("%") and values:
                return values[0]
            return first
        case ["cat"]:
            documents = [item.target for item in redirections if item.operator.startswith("<<")]
            return documents[-1] if documents else None
        case ["jq", *arguments] if any(_OBJECT_FILTER.match(item) for item in arguments):
            filters = [item for item in arguments if _OBJECT_FILTER.match(item)]
            return filters[0][filters[0].index("{") :]
    return None
