"""Small changes of a hook file that its examples should notice."""

from __future__ import annotations

import ast
import re
from difflib import unified_diff
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.authoring.inspect import CALLS
from anyhook.model.events import event_class

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType


# -- expressions that match a little more or a little less than another one

_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[^)(]*?[:=!>)]|.", re.DOTALL)
ANCHORS = frozenset({"^", "$", r"\b", r"\A", r"\Z", r"\B"})
WIDENED = {"+": "*"}
NARROWED = {"*": "+", "?": ""}
_BEFORE_QUANTIFIER = frozenset("*+?{|(^")
"""Tokens after which `?`, `+` and `*` do not repeat anything."""


def widened(pattern: str) -> Iterator[str]:
    """Yield the pattern without one of its anchors, and with `*` in the place of one `+`."""
    tokens: list[str] = _TOKEN.findall(pattern)
    for number, token in enumerate(tokens):
        if token in ANCHORS:
            yield from _valid(tokens, number, "")
        elif token in WIDENED and _is_quantifier(tokens, number):
            yield from _valid(tokens, number, WIDENED[token])


def narrowed(pattern: str) -> Iterator[str]:
    """Yield the pattern without one of its alternatives, and with one optional part required."""
    tokens: list[str] = _TOKEN.findall(pattern)
    for number, token in enumerate(tokens):
        if token in NARROWED and _is_quantifier(tokens, number):
            yield from _valid(tokens, number, NARROWED[token])
    for start, end in _alternatives(tokens):
        yield from _valid([*tokens[:start], "", *tokens[end:]], start, "")


def _is_quantifier(tokens: list[str], number: int) -> bool:
    return number > 0 and tokens[number - 1] not in _BEFORE_QUANTIFIER


def _alternatives(tokens: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the range of each alternative with one `|`, in groups and outside."""
    starts: list[list[int]] = [[0]]
    for number, token in enumerate([*tokens, ")"]):
        if token.startswith("(") and not token.endswith(")"):
            starts.append([number + 1])
        elif token == "|":  # noqa: S105 - a token of a pattern
            starts[-1].append(number + 1)
        elif token == ")" and starts:  # noqa: S105 - as above
            begins = starts.pop()
            if len(begins) == 1:
                continue
            for begin, after in zip(begins, [*begins[1:], number + 1], strict=True):
                is_last = after == number + 1
                yield (begin - 1, number) if is_last else (begin, after)


def _valid(tokens: list[str], number: int, replacement: str) -> Iterator[str]:
    """Yield the pattern with another token, if it is one."""
    pattern = "".join([*tokens[:number], replacement, *tokens[number + 1 :]])
    try:
        re.compile(pattern)
    except re.error:
        return
    yield pattern


MUTATED_METHODS = frozenset({"startswith", "endswith", "find", "index", "count", "fullmatch"})
"""Methods whose text arguments are what a guard looks for."""
UNTOUCHED_CALLS = frozenset({*CALLS, "allow", "example", "about", "Hooks", "run"})
"""Calls whose arguments are texts for people, tests or settings."""
COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
}
"""A comparison to its pattern in the source, and to what it is turned into."""
_REGEX_SIGN = re.compile(r"\\[bsSwWdD.]|\(\?|\[\^|.*[\s|()].*\.\*|\.\*.*[\s|()]")
"""Signs of a pattern. `.*` alone is not one: globs like `.env.*` have it, too."""


class Edit(NamedTuple):
    """A replacement in the source: offsets in characters, and the new text."""

    start: int
    end: int
    text: str


class Mutant(NamedTuple):
    """A hook file with one small change."""

    operator: str
    line: int
    """1-based line of the change."""
    source: str

    def diff(self, original: str, name: str) -> str:
        """Return the change as a unified diff."""
        lines = unified_diff(
            original.splitlines(), self.source.splitlines(), name, name, n=1, lineterm=""
        )
        return "\n".join(lines)


class Operator(NamedTuple):
    """A kind of change."""

    name: str
    what: str
    """What it does, for people."""
    edits: Callable[[_Source, ast.AST], Iterator[Edit]]


class _Source:
    """The text of a hook file, with the offsets of its nodes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self._lines = text.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))
        calls = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]
        of_re = [call for call in calls if ast.unparse(call.func).startswith("re.")]
        self._patterns = {call.args[0] for call in of_re if call.args}

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a place; columns of nodes are bytes of UTF-8."""
        text = self._lines[line - 1].encode()[:column].decode()
        return self._starts[line - 1] + len(text)

    def start(self, node: Any) -> int:
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: Any) -> int:
        return self.offset(node.end_lineno, node.end_col_offset)

    def pattern_of(self, node: ast.AST) -> str:
        """Return a constant that is, or looks like, a pattern; an empty text for other nodes."""
        value = node.value if isinstance(node, ast.Constant) else None
        if not isinstance(value, str) or not (node in self._patterns or _REGEX_SIGN.search(value)):
            return ""
        try:
            re.compile(value)
        except re.error:
            return ""
        return value

    def replace(self, node: Any, text: str) -> Edit:
        return Edit(self.start(node), self.end(node), text)

    def replace_between(self, left: Any, right: Any, pattern: str, text: str) -> Iterator[Edit]:
        """Yield the replacement of an operator between two nodes, which a comment may follow."""
        start, end = self.end(left), self.start(right)
        gap = re.sub(r"#[^\n]*", lambda comment: " " * len(comment[0]), self.text[start:end])
        sign = re.search(rf"(?<!\w){pattern}(?!\w)", gap)
        if sign:
            yield Edit(start + sign.start(), start + sign.end(), text)


# -- operators


def _remove_rule(source: _Source, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.If) and _answers(node):
        yield source.replace(node.test, "False")
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        for decorator in filter(_is_event, node.decorator_list):
            start = source.text.rindex("@", 0, source.start(decorator))
            text = " ".join(source.text[start : source.end(decorator)].split())
            yield Edit(start, source.end(decorator), f"# {text}")


def _drop_condition(source: _Source, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.If) and _answers(node):
        yield source.replace(node.test, "True")


def _widen_pattern(source: _Source, node: ast.AST) -> Iterator[Edit]:
    for pattern in widened(source.pattern_of(node)):
        yield source.replace(node, _literal(pattern))


def _narrow_pattern(source: _Source, node: ast.AST) -> Iterator[Edit]:
    for pattern in narrowed(source.pattern_of(node)):
        yield source.replace(node, _literal(pattern))


def _swap_and_or(source: _Source, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.BoolOp):
        sign, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            yield from source.replace_between(left, right, sign, other)


def _remove_not(source: _Source, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield Edit(source.start(node), source.start(node.operand), "")


def _turn_comparison(source: _Source, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        for sign, left, right in zip(node.ops, operands, node.comparators, strict=False):
            pattern, other = COMPARISONS[type(sign)]
            yield from source.replace_between(left, right, pattern, other)


def _shift_constant(source: _Source, node: ast.AST) -> Iterator[Edit]:
    if not isinstance(node, ast.Constant):
        return
    if isinstance(node.value, bool):
        yield source.replace(node, str(not node.value))
    elif isinstance(node.value, int | float):
        yield source.replace(node, repr(node.value + 1))
        yield source.replace(node, repr(node.value - 1))


def _change_text(source: _Source, node: ast.AST) -> Iterator[Edit]:
    """Change the texts that a guard looks for: in comparisons and calls of text methods."""
    texts: list[ast.expr] = []
    if isinstance(node, ast.Compare):
        texts = [node.left, *node.comparators]
    elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in MUTATED_METHODS:
        texts = node.args
    for text in texts:
        value = text.value if isinstance(text, ast.Constant) else None
        if isinstance(value, str) and not source.pattern_of(text):
            yield source.replace(text, _literal(f"{value}~"))


def _remove_item(source: _Source, node: ast.AST) -> Iterator[Edit]:
    if not isinstance(node, ast.Set | ast.List | ast.Tuple) or len(node.elts) == 1:
        return
    if not all(isinstance(item, ast.Constant) for item in node.elts):
        return
    for number, item in enumerate(node.elts):
        if isinstance(node, ast.Tuple) and len(node.elts) == 2:  # a tuple of one needs its comma
            rest, end = node.elts[1 - number], source.end(node.elts[1])
            comma = "" if source.text[end:].lstrip().startswith(",") else ","
            text = source.text[source.start(rest) : source.end(rest)] + comma
            yield Edit(source.start(node.elts[0]), end, text)
        elif number + 1 < len(node.elts):
            yield Edit(source.start(item), source.start(node.elts[number + 1]), "")
        else:
            yield Edit(source.end(node.elts[number - 1]), source.end(item), "")


def _drop_matcher(source: _Source, node: ast.AST) -> Iterator[Edit]:
    for decorator, subjects in _matchers(node):
        if isinstance(decorator.func, ast.Attribute) and decorator.func.attr == "on":
            yield Edit(source.end(decorator.args[0]), source.end(subjects[-1]), "")
        else:
            yield Edit(source.end(decorator.func), source.end(decorator), "")


def _remove_subject(source: _Source, node: ast.AST) -> Iterator[Edit]:
    for _, subjects in _matchers(node):
        if len(subjects) == 1:
            continue
        for number, subject in enumerate(subjects):
            if number + 1 < len(subjects):
                yield Edit(source.start(subject), source.start(subjects[number + 1]), "")
            else:
                yield Edit(source.end(subjects[number - 1]), source.end(subject), "")


def _remove_return(source: _Source, node: ast.AST) -> Iterator[Edit]:
    for field in ("body", "orelse", "finalbody"):
        statements = getattr(node, field, [])
        if not isinstance(statements, list):  # the body of a `lambda` is one expression
            continue
        for statement in statements:
            if not isinstance(statement, ast.Return) or statement.value is None:
                continue
            # `if …: return deny()` alone is what `rule-removed` changes.
            is_rule = isinstance(node, ast.If) and node.body == [statement] and not node.orelse
            # `return False` and `return None` mostly are the same.
            is_empty = isinstance(statement.value, ast.Constant) and not statement.value.value
            if not (is_empty or is_rule):
                yield source.replace(statement.value, "None")


OPERATORS = (
    Operator("rule-removed", "a function or the condition of an answer never holds", _remove_rule),
    Operator("condition-dropped", "the condition of an answer always holds", _drop_condition),
    Operator("pattern-widened", "an anchor is removed, or `+` becomes `*`", _widen_pattern),
    Operator("pattern-narrowed", "an alternative is removed, `*` becomes `+`", _narrow_pattern),
    Operator("and-or", "`and` becomes `or`, and the reverse", _swap_and_or),
    Operator("not-removed", "`not` is removed", _remove_not),
    Operator("comparison-turned", "`==` becomes `!=`, `<` becomes `<=`, `in` …", _turn_comparison),
    Operator(
        "constant-shifted", "a number is one more or less; True becomes False", _shift_constant
    ),
    Operator("text-changed", "a text that is looked for gets another end", _change_text),
    Operator("item-removed", "one of several constants in a list, set or tuple", _remove_item),
    Operator("matcher-dropped", "a function covers every tool of its event", _drop_matcher),
    Operator("matcher-narrowed", "a function covers one tool less", _remove_subject),
    Operator("return-removed", "`return …` becomes `return None`", _remove_return),
)


def mutants_of(text: str) -> list[Mutant]:
    """Return the changes of a hook file, in the order of their lines.

    A change with the byte code of the file itself, or of an earlier change, is left out: this is
    the only proof of equality that is used.

    Raises:
        SyntaxError: If it is not Python.
    """
    source = _Source(text)
    edits: list[tuple[int, int, str, Edit]] = []
    # No docstrings, annotations, examples and reasons: neither statements with examples, nor
    # functions that add some, nor the calls of these.
    nodes: list[ast.AST] = []
    makers = {"example"}
    for statement in source.tree.body:
        if makers.isdisjoint(map(called_name, ast.walk(statement))):
            if not _is_untouched(statement):
                nodes += _nodes(statement)
        elif isinstance(statement, ast.FunctionDef):
            makers.add(statement.name)
    for node in nodes:
        for number, operator in enumerate(OPERATORS):
            edits += [
                (edit.start, number, operator.name, edit) for edit in operator.edits(source, node)
            ]
    seen = {_content(compile(text, "<hook>", "exec", dont_inherit=True))}
    mutants: list[Mutant] = []
    for start, _, name, edit in sorted(edits):
        changed = text[:start] + edit.text + text[edit.end :]
        try:
            content = _content(compile(changed, "<hook>", "exec", dont_inherit=True))
        except (SyntaxError, ValueError):
            continue
        if content not in seen:
            seen.add(content)
            mutants.append(Mutant(name, text.count("\n", 0, start) + 1, changed))
    return mutants


# -- nodes


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        children = value if isinstance(value, list) else [value]
        for child in children:
            if isinstance(child, ast.AST) and not _is_untouched(child):
                yield from _nodes(child)


def _is_untouched(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.If) and "__name__" in ast.dump(node.test):
        return True
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):  # `A, B = "a", "b"`
        return isinstance(node.value, ast.Tuple)
    is_of_people = called_name(node) in UNTOUCHED_CALLS
    return is_of_people or isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr)


def called_name(node: ast.AST) -> str:
    """Return the name of the function or method that a call names; empty for other nodes."""
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "id", "") or getattr(function, "attr", "")


def _answers(node: ast.If) -> bool:
    """Return whether the body of a condition itself returns something."""
    return any(isinstance(statement, ast.Return) and statement.value for statement in node.body)


def _is_event(decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = getattr(target, "attr", "")
    return name == "on" or (name != "" and event_class(name).name == name)


def _matchers(node: ast.AST) -> Iterator[tuple[ast.Call, list[ast.expr]]]:
    """Yield the decorators of a function that name subjects, with these."""
    for decorator in getattr(node, "decorator_list", ()):
        if isinstance(decorator, ast.Call) and _is_event(decorator):
            is_on = getattr(decorator.func, "attr", "") == "on"
            subjects = decorator.args[1:] if is_on else decorator.args
            if subjects:
                yield decorator, subjects


def _literal(text: str) -> str:
    if not text.isprintable() or '"' in text or text.endswith("\\"):
        return repr(text)
    return f'r"{text}"' if "\\" in text else f'"{text}"'


def _content(code: CodeType) -> tuple[Any, ...]:
    """Return what a code object does, without its lines."""
    constants: list[Any] = []
    for value in code.co_consts:
        constant: tuple[Any, ...] = (type(value).__name__, repr(value))
        if hasattr(value, "co_code"):
            constant = _content(value)
        constants.append(constant)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return (code.co_code, tuple(constants), names, code.co_flags, code.co_exceptiontable)
