"""Matchers from one agent's words into another's.

A matcher is taken apart into names and patterns; what cannot be taken apart is asked what it
covers. The result covers at least what the original covers. Where it covers more, the shim has to
look at the original too (`Translated.check`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from anyhook.agents.translate import translate_subject
from anyhook.matching.matchers import MATCH_ALL, compile_matcher, explain_cost
from anyhook.model.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.agents.spec import AgentSpec, EventSpec

TOOL = "tool_name"
SOME_TOOL = "zz some tool that nobody has"
"""What covers this covers tools that nobody has heard of."""
_NAME = re.compile(r"[\w-]+\Z")
_EVERYTHING = re.compile(r"\^?\(?(?:\.\*|\.\+)\)?\$?\Z")
_RULE = re.compile(r"(\w+)\([^|?]*[ :*/][^|]*\)\Z")
_SIMPLE = re.compile(r"(?:[\w-]|\.[*+])*\Z")
"""Letters and `.*`: what can be rewritten piece by piece."""
_NO_NAME = re.compile(r"""[\s"'=&]""")
"""What no name of a tool holds."""
_PLAIN_LIST = re.compile(r"[\w\- ,|]*\Z")


class Translated(Record):
    """What a matcher becomes.

    Attributes:
        patterns: One definition for each; `None` for no matcher at all. None: nothing is left.
        check: They cover more than the original; the shim has to look at that too, as an expression
            if the source itself searches for names anywhere.
        missing: Pieces of the original for which there is nothing, each with the reason.
        wider: Pieces that cover more in the target, each with the reason.
    """

    patterns: tuple[str | None, ...]
    check: str = ""
    missing: tuple[tuple[str, str], ...] = ()
    wider: tuple[tuple[str, str], ...] = ()


def translate_matcher(
    source: AgentSpec, old: EventSpec, pattern: str | None, target: AgentSpec, new: EventSpec
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
    matcher = compile_matcher(text, old.matcher_style)
    if matcher.is_never_evaluated or len(text) > LONGEST_LIST:
        return Translated(patterns=(), missing=((text[:LONGEST_SHOWN], explain_cost(matcher)),))
    if old.subject == TOOL:
        return _tools(source, old, text, target, new)
    return _subjects(source, old, text, target, new)


LONGEST_LIST = 16 * 1024
"""Characters of a list of names; each is looked up in the words of both agents."""
LONGEST_SHOWN = 60
"""Characters of a pattern that are shown where all of it is left out."""


# -- lifecycle: closed lists of words


def _subjects(
    source: AgentSpec, old: EventSpec, text: str, target: AgentSpec, new: EventSpec
) -> Translated:
    matcher = compile_matcher(text, old.matcher_style)
    covered = [word for word in old.subjects if matcher.matches(word)]
    if not covered:
        why = f"{source.title} sends no such {old.subject} on {old.wire}"
        return Translated(patterns=(), missing=((text, why),))
    names = {
        word: translate_subject(word, old.subject_aliases, new.subject_aliases) for word in covered
    }
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
    observed = target.rule_sets.get("observed", target.documented).by_canonical.get(new.canonical)
    if observed is not None and observed.subject is None:
        return Translated(patterns=("|".join(there),), check=text, missing=missing)
    if observed is not None and observed.matcher_style == "equal":
        return Translated(patterns=tuple(there), missing=missing)
    return Translated(patterns=("|".join(there),), missing=missing)


# -- tools


def _tools(
    source: AgentSpec, old: EventSpec, text: str, target: AgentSpec, new: EventSpec
) -> Translated:
    if _EVERYTHING.match(text):
        return Translated(patterns=(text,))
    searched = _is_searched(source, old)
    pieces = _pieces(text)
    if searched and any(not piece for piece in text.split("|")) and _PLAIN_LIST.match(text):
        why = f"{source.title} itself reads an empty alternative as every tool"
        return Translated(patterns=("*",), wider=((text, why),))
    found = [_translated(source, piece, target, searched=searched) for piece in pieces]
    names = [name for one in found for name in one.names]
    patterns = [pattern for one in found for pattern in one.patterns]
    missing = tuple(pair for one in found for pair in one.missing)
    wider = (*_old_names(source, text), *(pair for one in found for pair in one.wider))
    check = any(one.check for one in found)
    if not (names or patterns or check):
        return Translated(patterns=(), missing=missing)
    checked = f"({text})" if wider and _PLAIN_LIST.match(text) else text
    if check and compile_matcher(text, "expression").matches(SOME_TOOL):
        return Translated(patterns=("*",), check=checked, missing=missing, wider=wider)
    if check:
        patterns.append(_any_mcp(target))
    written = _written(target, new, list(dict.fromkeys(names)), list(dict.fromkeys(patterns)))
    return Translated(
        patterns=(written,), check=checked if check else "", missing=missing, wider=wider
    )


def _is_searched(source: AgentSpec, old: EventSpec) -> bool:
    """Tell whether the source itself looks for a plain name anywhere in a tool's name."""
    observed = source.rule_sets.get("observed", source.documented).by_canonical.get(old.canonical)
    return observed is not None and observed.matcher_style == "expression"


def _old_names(source: AgentSpec, text: str) -> Iterator[tuple[str, str]]:
    """Yield names of former releases that stand without the newest one."""
    given = {piece.text for piece in _pieces(text)}
    for row in source.vocabulary.tools.values():
        for name in row.names[1:]:
            if name in given and row.names[0] not in given:
                yield name, f"{source.title} says {row.names[0]} now; there it covers that, too"


class _Piece(Record, kw_only=False):
    """One alternative of a matcher.

    Attributes:
        text: Without anchors.
        start: It holds at the start of a name only.
        end: It holds at its end only.
    """

    text: str
    start: bool
    end: bool


class _Found(Record):
    """What one alternative becomes.

    Attributes:
        names: Tools of the target.
        patterns: Expressions on names of MCP tools there.
        check: The original may cover MCP tools that cannot be told beforehand.
        missing: What there is nothing for, with the reason.
        wider: What covers more than the references say, with the reason.
    """

    names: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    check: bool = False
    missing: tuple[tuple[str, str], ...] = ()
    wider: tuple[tuple[str, str], ...] = ()


def _pieces(text: str) -> list[_Piece]:
    """Split a matcher at its alternatives, without anchors and the one group around all."""
    if _PLAIN_LIST.match(text):
        names = (piece.strip() for piece in re.split(r"[|,]", text))
        return [_Piece(name, True, True) for name in names if name]
    whole = _bare(text)
    if whole.text.startswith("(") and _closing(whole.text) == len(whole.text) - 1:
        inner = whole.text[1:-1].removeprefix("?:")
        if not inner.startswith("?"):
            pieces = [_bare(piece) for piece in _split(inner) if piece]
            return [_Piece(p.text, p.start or whole.start, p.end or whole.end) for p in pieces]
    if "(?" in text:  # it looks around: only the whole says what it covers
        return [_Piece(text, False, False)]
    return [_bare(piece) for piece in _split(text) if piece]


def _bare(text: str) -> _Piece:
    end = text.endswith("$") and not text.endswith("\\$")
    inner = text[:-1] if end else text
    return _Piece(inner.removeprefix("^"), inner.startswith("^"), end)


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


def _translated(source: AgentSpec, piece: _Piece, target: AgentSpec, *, searched: bool) -> _Found:
    """Put one alternative in the target's words."""
    text = piece.text
    words = source.vocabulary
    if any(text.startswith(prefix) for prefix in source.foreign_tool_prefixes):
        form = source.foreign_tool_prefixes[text[: text.index("__") + 2]]
        return _Found(missing=((text, f"{source.title} names the tools of servers {form}"),))
    patterns = _mcp_patterns(source, piece, target)
    if patterns:
        return _Found(patterns=tuple(patterns))
    is_name = _NAME.match(text) is not None
    known = text in words.canonical or text in source.tools
    if is_name and piece.start and piece.end and (known or not searched):
        return _named(source, text, target)
    exact = piece.start and piece.end and not (is_name and searched)
    matcher = compile_matcher(f"^(?:{text})$" if exact else text, "expression")
    is_costly = not all(matcher.is_evaluated(name) for name in words.canonical)
    tools = {} if is_costly else words.tools
    now = [tool for tool, row in tools.items() if matcher.matches(row.names[0])]
    once = [tool for tool, row in tools.items() if any(map(matcher.matches, row.names))]
    names = tuple(name for tool in now or once for name in _names(target, tool))
    cannot = is_costly or matcher.problem is not None or _RULE.match(text) or _NO_NAME.search(text)
    anywhere = is_name and searched and not known
    check = not cannot and (anywhere or _may_be_mcp(source, piece)) and not (is_name and known)
    if is_name and not names and not known and (text in source.renamed_tools or not searched):
        return _named(source, text, target)
    if anywhere and not names:
        names = (text,)  # a tool of the user's own, or a piece of the name of one
    wider: tuple[tuple[str, str], ...] = ()
    if is_name and searched and piece.start and piece.end and (names or check):
        why = f"{source.title} itself searches for it anywhere in a tool's name"
        wider = ((text, why),)
    nothing = not (names or check)
    why = explain_cost(matcher) if is_costly else _why_missing(source, text, target)
    missing = ((text, why),) if nothing else ()
    return _Found(names=names, check=check, missing=missing, wider=wider)


def _named(source: AgentSpec, name: str, target: AgentSpec) -> _Found:
    """Put a name in the target's words. Among alternatives, too, it means that tool."""
    words = source.vocabulary
    if (
        name not in words.canonical
        and name not in source.tools
        and name not in source.renamed_tools
    ):
        return _Found(names=(name,))  # a tool of the user's own: it has one name everywhere
    names = _names(target, words.canonical.get(name, ""))
    missing = () if names else ((name, _why_missing(source, name, target)),)
    return _Found(names=tuple(names), missing=missing)


def _may_be_mcp(source: AgentSpec, piece: _Piece) -> bool:
    """Tell whether an expression may cover names of MCP tools."""
    head = source.vocabulary.mcp_name.partition("{server}")[0]
    literal = piece.text[:1].isalnum()
    return not (piece.start and head and literal and not head.startswith(piece.text[:1]))


def _names(target: AgentSpec, tool: str) -> list[str]:
    row = target.vocabulary.tools.get(tool)
    return list(row.names) if row is not None else []


def _why_missing(source: AgentSpec, piece: str, target: AgentSpec) -> str:
    if piece in source.renamed_tools and piece not in source.tools:
        return f"{source.title} has no tool {piece}; it says {source.renamed_tools[piece]}"
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


def _mcp_patterns(source: AgentSpec, piece: _Piece, target: AgentSpec) -> list[str] | None:
    """Rewrite a name or a pattern of MCP tools; `None` if it is about other tools, or too much."""
    head, separator = _frame(source)
    text = piece.text
    if not text.startswith(head) or (not head and separator not in text):
        return None
    if text in source.vocabulary.canonical or text in source.tools or not _SIMPLE.match(text):
        return None
    rest = text.removeprefix(head)
    if not rest or set(rest) <= set(".*+"):
        return [_any_mcp(target)]
    is_open = rest.endswith((".*", ".+"))
    if not piece.end and not is_open:
        rest, is_open = f"{rest}.*", True
    if not is_open and separator not in rest:
        return []
    new_head, new_separator = _frame(target)
    if len(separator) >= len(new_separator) or separator == new_separator:
        return [new_head + rest.replace(separator, new_separator)]
    # the other agent marks the end of the server's name, and this one does not
    if re.search(r"\.[*+].", rest):
        return None  # the end may be anywhere in what the wildcard covers
    places = [at for at, _ in enumerate(rest) if rest.startswith(separator, at) and at > 0]
    cuts = [new_head + rest[:at] + new_separator + rest[at + len(separator) :] for at in places]
    if not is_open:
        return cuts
    if new_head:
        return [f"{new_head}{rest}", *(c for c in cuts if not c.endswith(f"{new_separator}.*"))]
    return [*cuts, re.sub(r"\.[*+]\Z", f".*{new_separator}.*", rest)]


def _frame(agent: AgentSpec) -> tuple[str, str]:
    """Return what stands in front of the server's name, and between it and the tool's."""
    head, _, rest = agent.vocabulary.mcp_name.partition("{server}")
    return head, rest.partition("{tool}")[0]


def _any_mcp(target: AgentSpec) -> str:
    head, separator = _frame(target)
    return f"{head}.*" if head else f".+{separator}.+"


def _written(target: AgentSpec, new: EventSpec, names: list[str], patterns: list[str]) -> str:
    """Write a matcher that means the same in every release of the target."""
    observed = target.rule_sets.get("observed", target.documented).by_canonical.get(new.canonical)
    exact = observed is None or observed.matcher_style != "expression"
    plain = [p for p in patterns if _NAME.match(p)]
    if exact and len(plain) == len(patterns):
        return "|".join([*names, *plain])
    pieces = [*names, *patterns]
    return f"^{pieces[0]}$" if len(pieces) == 1 else f"^({'|'.join(pieces)})$"


def covers_same(first: str | None, second: str | None) -> bool:
    """Tell whether two matchers are written the same but for order and blanks."""
    return _set(first) == _set(second)


def _set(pattern: str | None) -> frozenset[tuple[str, bool, bool]]:
    text = (pattern or "").strip()
    if text in MATCH_ALL or _EVERYTHING.match(text):
        return frozenset()
    return frozenset((piece.text, piece.start, piece.end) for piece in _pieces(text))
