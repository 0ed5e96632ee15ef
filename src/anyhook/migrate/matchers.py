"""Matchers from one agent's words into another's.

A matcher is taken apart into names and patterns; what cannot be taken apart is asked what it
covers. The result covers at least what the original covers. Where it covers more, the shim has to
look at the original too (`Translated.check`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from anyhook.dialects.translate import translate_subject
from anyhook.model.matching import MATCH_ALL, compile_matcher
from anyhook.model.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.dialects.base import Dialect, EventSpec

TOOL = "tool_name"
SOME_TOOL = "zz some tool that nobody has"
"""What covers this covers tools that nobody has heard of."""
_NAME = re.compile(r"[\w-]+\Z")
_EVERYTHING = re.compile(r"\^?\(?(?:\.\*|\.\+)\)?\$?\Z")
_RULE = re.compile(r"(\w+)\([^|?]*[ :*/][^|]*\)\Z")
_PLAIN_LIST = re.compile(r"[\w\- ,|]*\Z")


class Translated(Record):
    """What a matcher becomes.

    Attributes:
        patterns: One definition for each; `None` for no matcher at all. None: nothing is left.
        check: They cover more than the original; the shim has to look at that too.
        missing: Pieces of the original for which there is nothing, each with the reason.
    """

    patterns: tuple[str | None, ...]
    check: bool = False
    missing: tuple[tuple[str, str], ...] = ()


def translate_matcher(
    source: Dialect, old: EventSpec, pattern: str | None, target: Dialect, new: EventSpec
) -> Translated:
    """Put a matcher in another agent's words.

    Args:
        source: The agent that it was written for.
        old: The event there.
        pattern: The matcher; `None` if there is none.
        target: The other agent.
        new: The event there.
    """
    text = (pattern or "").strip()
    if old.subject is None or text in MATCH_ALL:
        kept = pattern if new.subject is not None and old.subject is not None else None
        return Translated(patterns=(kept,))
    if old.subject == TOOL:
        return _tools(source, old, text, target, new)
    return _subjects(source, old, text, target, new)


# -- lifecycle: closed lists of words


def _subjects(
    source: Dialect, old: EventSpec, text: str, target: Dialect, new: EventSpec
) -> Translated:
    matcher = compile_matcher(text, old.style)
    covered = [word for word in old.subjects if matcher.matches(word)]
    if not covered:
        why = f"{source.title} sends no such {old.subject} on {old.wire}"
        return Translated(patterns=(), missing=((text, why),))
    names = {word: translate_subject(word, old.words, new.words) for word in covered}
    there = [name for name in dict.fromkeys(names.values()) if name in new.subjects]
    missing = tuple(
        (word, f"{target.title} sends no {new.subject} {name!r} on {new.wire}")
        for word, name in names.items()
        if name not in new.subjects
    )
    if not there:
        return Translated(patterns=(), missing=missing)
    if set(there) == set(new.subjects) and len(covered) == len(old.subjects):
        return Translated(patterns=(None,))
    observed = target.rules.get("observed", target.documented).by_canonical.get(new.canonical)
    if observed is not None and observed.subject is None:
        return Translated(patterns=("|".join(there),), check=True, missing=missing)
    if observed is not None and observed.style == "equal":
        return Translated(patterns=tuple(there), missing=missing)
    return Translated(patterns=("|".join(there),), missing=missing)


# -- tools


def _tools(
    source: Dialect, old: EventSpec, text: str, target: Dialect, new: EventSpec
) -> Translated:
    if _EVERYTHING.match(text):
        return Translated(patterns=(text,))
    names: list[str] = []
    patterns: list[str] = []
    missing: list[tuple[str, str]] = []
    check = False
    for piece in _pieces(text):
        found, expressions, more = _piece(source, old, piece, target)
        names += found
        patterns += expressions
        check = check or more
        if not (found or expressions):
            missing.append((piece, _why_missing(source, piece, target)))
    if not (names or patterns):
        return Translated(patterns=(), missing=tuple(missing))
    if check and compile_matcher(text, "expression").matches(SOME_TOOL):
        return Translated(patterns=("*",), check=True, missing=tuple(missing))
    if check:
        patterns.append(_any_mcp(target))
    written = _written(target, new, list(dict.fromkeys(names)), list(dict.fromkeys(patterns)))
    return Translated(patterns=(written,), check=check, missing=tuple(missing))


def _pieces(text: str) -> list[str]:
    """Split a matcher at its alternatives, without anchors and the one group around all."""
    if _PLAIN_LIST.match(text):
        return [piece.strip() for piece in re.split(r"[|,]", text) if piece.strip()]
    inner = text.removeprefix("^")
    if inner.endswith("$") and not inner.endswith("\\$"):
        inner = inner[:-1]
    if inner.startswith("(") and _closing(inner) == len(inner) - 1:
        inner = inner[1:-1].removeprefix("?:")
    if inner.startswith(("?", "(?")):  # it looks around: only the whole says what it covers
        return [text]
    return [_without_anchors(piece) for piece in _split(inner) if piece]


def _without_anchors(piece: str) -> str:
    piece = piece.removeprefix("^")
    return piece[:-1] if piece.endswith("$") and not piece.endswith("\\$") else piece


def _closing(text: str) -> int:
    """Return where the group ends that a text starts with."""
    depth = 0
    for at, char in _outside_classes(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return at
    return -1


def _split(text: str) -> list[str]:
    pieces, start, depth = [], 0, 0
    for at, char in _outside_classes(text):
        depth += (char == "(") - (char == ")")
        if char == "|" and depth == 0:
            pieces.append(text[start:at])
            start = at + 1
    return [*pieces, text[start:]]


def _outside_classes(text: str) -> Iterator[tuple[int, str]]:
    inside = False
    at = 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
        elif inside:
            inside = char != "]"
        elif char == "[":
            inside = True
        else:
            yield at, char
        at += 1


def _piece(
    source: Dialect, old: EventSpec, piece: str, target: Dialect
) -> tuple[list[str], list[str], bool]:
    """Return the names and patterns for one alternative, and whether they cover more."""
    words = source.vocabulary
    mcp = _mcp_pattern(source, piece, target)
    if mcp is not None:
        return [], mcp, False
    if _NAME.match(piece):
        tool = words.canonical.get(piece)
        if tool is not None:
            return _names(target, tool), [], False
        if piece in source.tools or piece in source.old_tools:
            return [], [], False
        return [piece], [], False  # a tool of the user's own: it has one name everywhere
    matcher = compile_matcher(piece, "expression")
    observed = source.rules.get("observed", source.documented).by_canonical.get(old.canonical)
    now = [tool for tool, row in words.tools.items() if matcher.matches(row.names[0])]
    once = [t for t, row in words.tools.items() if any(map(matcher.matches, row.names[1:]))]
    names = [name for tool in now or once for name in _names(target, tool)]
    starts = piece[:1].isalpha() and not piece.lower().startswith("m")
    anywhere = observed is None or observed.style == "expression" or not starts
    return names, [], anywhere and bool(now)


def _names(target: Dialect, tool: str) -> list[str]:
    row = target.vocabulary.tools.get(tool)
    return list(row.names) if row is not None else []


def _why_missing(source: Dialect, piece: str, target: Dialect) -> str:
    if piece in source.old_tools and piece not in source.tools:
        return f"{source.title} has no tool {piece}; it says {source.old_tools[piece]}"
    rule = _RULE.match(piece)
    if rule:
        return (
            f"it is a permission rule, and no matcher: in {source.title} it never matches. Write "
            f'"matcher": "{rule[1]}" and "if": "{piece}"'
        )
    if _NAME.match(piece):
        return f"{target.title} has no tool that does what {piece} does"
    return f"it covers no tool of {source.title} that {target.title} has too"


# -- tools of MCP servers


def _mcp_pattern(source: Dialect, piece: str, target: Dialect) -> list[str] | None:
    """Rewrite a name or a pattern of MCP tools; `None` if it is about other tools."""
    head, separator = _frame(source)
    if not head and separator not in piece:
        return None
    if head and not piece.startswith(head):
        return None
    if piece in source.vocabulary.canonical or piece in source.tools:
        return None
    rest = piece.removeprefix(head)
    if not rest or set(rest) <= set(".*+"):
        return [_any_mcp(target)]
    new_head, new_separator = _frame(target)
    if len(separator) >= len(new_separator) or separator == new_separator:
        return [new_head + rest.replace(separator, new_separator)]
    # the other agent marks the end of the server's name, and this one does not
    places = [at for at, char in enumerate(rest) if rest.startswith(separator, at) and at > 0]
    cuts = [new_head + rest[:at] + new_separator + rest[at + len(separator) :] for at in places]
    if not cuts:
        return [f"{new_head}{rest}"]
    wide = {".*", ".+"}
    if rest[places[-1] + len(separator) :] in wide:
        if new_head:
            return [f"{new_head}{rest}"]
        server = rest[: places[-1]]
        return [f"{server}{new_separator}.*", f"{server}{separator}.*{new_separator}.*"]
    return cuts


def _frame(dialect: Dialect) -> tuple[str, str]:
    """Return what stands in front of the server's name, and between it and the tool's."""
    head, _, rest = dialect.vocabulary.mcp_name.partition("{server}")
    return head, rest.partition("{tool}")[0]


def _any_mcp(target: Dialect) -> str:
    head, separator = _frame(target)
    return f"{head}.*" if head else f".+{separator}.+"


def _written(target: Dialect, new: EventSpec, names: list[str], patterns: list[str]) -> str:
    """Write a matcher that means the same in every release of the target."""
    observed = target.rules.get("observed", target.documented).by_canonical.get(new.canonical)
    exact = observed is None or observed.style != "expression"
    plain = [p for p in patterns if _NAME.match(p)]
    if exact and len(plain) == len(patterns):
        return "|".join([*names, *plain])
    pieces = [*names, *patterns]
    return f"^{pieces[0]}$" if len(pieces) == 1 else f"^({'|'.join(pieces)})$"


def covers_same(first: str | None, second: str | None) -> bool:
    """Tell whether two matchers are written the same but for order and blanks."""
    return _set(first) == _set(second)


def _set(pattern: str | None) -> frozenset[str]:
    text = (pattern or "").strip()
    return frozenset() if text in MATCH_ALL or _EVERYTHING.match(text) else frozenset(_pieces(text))
