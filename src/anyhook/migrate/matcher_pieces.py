"""Splits a matcher into its alternatives, and translates those about tools of MCP servers.

The names of these tools hold the name of the server in most agents: `mcp__github__create_issue` of
Claude Code is `mcp_github_create_issue` in Gemini CLI. Where a name has one underscore between
server and tool, each of its underscores may be that one, so a pattern can become several.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from anyhook.matching.matchers import MATCH_ALL
from anyhook.model.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.agents.spec import AgentSpec


MATCHES_EVERYTHING = re.compile(r"\^?\(?(?:\.\*|\.\+)\)?\$?\Z")
NAME_LIST = re.compile(r"[\w\- ,|]*\Z")


Reasons = tuple[tuple[str, str], ...]
"""Pieces of a matcher, each with a reason."""


class Piece(Record, kw_only=False):
    """One alternative of a matcher."""

    text: str
    """The alternative without anchors."""
    start: bool
    """Whether it holds at the start of a name only."""
    end: bool
    """Whether it holds at the end of a name only."""


class TranslatedPiece(Record):
    """What one alternative becomes."""

    names: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    """Expressions on names of MCP tools of the target."""
    check: bool = False
    """Whether the original may cover MCP tools that are not known."""
    missing: Reasons = ()
    wider: Reasons = ()
    """Texts that cover more than the references promise."""
    lacks_server: bool = False
    """Whether the target does not name the server that the original names, so that the shim cannot
    apply the original."""


def split_matcher(text: str) -> list[Piece]:
    """Split a matcher at its alternatives, without anchors and a group around all of them."""
    if NAME_LIST.match(text):
        names = (name.strip() for name in re.split(r"[|,]", text))
        return [Piece(name, True, True) for name in names if name]
    whole = _strip_anchors(text)
    inner = whole.text[1:-1].removeprefix("?:")
    group_ends = [offset for offset, _, depth in _characters(whole.text) if depth == 0]
    is_group = whole.text.startswith("(") and group_ends[:1] == [len(whole.text) - 1]
    is_lookaround = inner.startswith("?")
    if is_group and not is_lookaround:
        # Anchors around the group hold for each of its alternatives.
        pieces: list[Piece] = []
        for part in _split_alternatives(inner):
            if part:
                piece = _strip_anchors(part)
                start, end = piece.start or whole.start, piece.end or whole.end
                pieces.append(Piece(piece.text, start, end))
        return pieces
    # Only the whole shows what a lookaround covers.
    if "(?" in text:
        return [Piece(text, False, False)]
    return [_strip_anchors(part) for part in _split_alternatives(text) if part]


def covers_same(first: str | None, second: str | None) -> bool:
    """Return whether two matchers are written the same except for order and blanks."""
    return _piece_set(first) == _piece_set(second)


def _piece_set(pattern: str | None) -> frozenset[tuple[str, bool, bool]]:
    text = (pattern or "").strip()
    if text in MATCH_ALL or MATCHES_EVERYTHING.match(text):
        return frozenset()
    return frozenset((piece.text, piece.start, piece.end) for piece in split_matcher(text))


def _strip_anchors(text: str) -> Piece:
    has_end = text.endswith("$") and not text.endswith("\\$")
    inner = text[:-1] if has_end else text
    return Piece(inner.removeprefix("^"), inner.startswith("^"), has_end)


def _split_alternatives(text: str) -> list[str]:
    parts: list[str] = []
    start = 0
    for offset, char, depth in _characters(text):
        if char == "|" and depth == 0:
            parts.append(text[start:offset])
            start = offset + 1
    return [*parts, text[start:]]


def _characters(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield offset, character and depth of groups after it, without escapes and classes."""
    depth = 0
    is_in_class = False
    offset = 0
    while offset < len(text):
        char = text[offset]
        if char == "\\":
            offset += 1
        elif is_in_class:
            is_in_class = char != "]"
        elif char == "[":
            is_in_class = True
        else:
            if char == "(":
                depth += 1
            elif char == ")":
                depth -= 1
            yield offset, char, depth
        offset += 1


# -- tools of MCP servers

_SIMPLE_PATTERN = re.compile(r"(?:[\w-]|\.[*+])*\Z")
"""Letters and `.*`: patterns that can be rewritten piece by piece."""
_QUANTIFIERS = ("?", "*", "+", "{")
_TRAILING_WILDCARD = re.compile(r"\.[*+]\Z")
_INNER_WILDCARD = re.compile(r"\.[*+].")


class McpNameParts(NamedTuple):
    """The constant texts in an agent's names of MCP tools."""

    prefix: str
    separator: str
    """Between the names of the server and of the tool; empty if there is no server."""


def translate_mcp_piece(
    source: AgentSpec, piece: Piece, target: AgentSpec
) -> TranslatedPiece | None:
    """Rewrite a name or pattern of MCP tools; `None` if it is something else, or too complex."""
    prefix, separator = mcp_name_parts(source)
    text = piece.text
    # Without a prefix only the separator distinguishes these names from others.
    is_marked = text.startswith(prefix) if prefix else separator in text
    is_own_tool = text in source.vocabulary.canonical or text in source.tools
    if not is_marked or is_own_tool:
        return None
    rest = text.removeprefix(prefix)
    # The shim can apply any other expression to the names, but not where they lack the server.
    can_check = not loses_server(source, target) or rest.startswith(_QUANTIFIERS)
    if can_check and not _SIMPLE_PATTERN.match(rest):
        return None
    if not piece.end and not _is_open(rest):
        rest = f"{rest}.*"
    covers_all = set(rest) <= set(".*+")
    if covers_all:
        return TranslatedPiece(patterns=(any_mcp_tool(target),))
    if _names_servers(source) == _names_servers(target):
        patterns = _translate_mcp_pattern(source, rest, target)
        return TranslatedPiece(patterns=tuple(patterns)) if patterns else None
    new_prefix, new_separator = mcp_name_parts(target)
    if not _names_servers(source):
        server = ".*" if new_prefix else ".+"
        return TranslatedPiece(patterns=(f"{new_prefix}{server}{new_separator}{rest}",))
    if separator not in rest and not _is_open(rest):
        return None
    patterns = [f"{new_prefix}{tool}" for _server, tool in _splits(rest, separator)]
    if not patterns:
        patterns = [any_mcp_tool(target)]
    covers_all_servers = rest.startswith(f".*{separator}")
    if covers_all_servers:
        return TranslatedPiece(patterns=tuple(patterns))
    reason = f"{target.title} does not name the server; it covers such tools of every server there"
    wider = ((text, reason),)
    return TranslatedPiece(patterns=tuple(patterns), wider=wider, lacks_server=True)


def _translate_mcp_pattern(source: AgentSpec, rest: str, target: AgentSpec) -> list[str]:
    """Rewrite what follows the prefix of MCP tools; empty if it is too complex."""
    separator = mcp_name_parts(source).separator
    if separator not in rest and not _is_open(rest):
        return []
    new_prefix, new_separator = mcp_name_parts(target)
    if len(separator) >= len(new_separator) or separator == new_separator:
        return [new_prefix + rest.replace(separator, new_separator)]
    # The target marks the end of the server's name and the source does not: each separator may
    # be the end. After a wildcard it may be anywhere.
    if _INNER_WILDCARD.search(rest):
        return []
    names: list[str] = []
    for server, tool in _splits(rest, separator):
        names.append(f"{new_prefix}{server}{new_separator}{tool}")
    if not _is_open(rest):
        return names
    # The server's name may also end in what the wildcard stands for.
    if new_prefix:
        specific = [name for name in names if not name.endswith(f"{new_separator}.*")]
        return [f"{new_prefix}{rest}", *specific]
    return [*names, _TRAILING_WILDCARD.sub(f".*{new_separator}.*", rest)]


def _is_open(pattern: str) -> bool:
    return pattern.endswith((".*", ".+"))


def _splits(text: str, separator: str) -> list[tuple[str, str]]:
    """Return every way to split a text into the names of a server and a tool, outside of groups."""
    splits: list[tuple[str, str]] = []
    outside = {offset for offset, _, depth in _characters(text) if depth == 0}
    # A lookahead finds overlapping separators, too: `a___b` has two of `__`.
    for match in re.finditer(f"(?={re.escape(separator)})", text):
        offset = match.start()
        if offset > 0 and offset in outside:
            splits.append((text[:offset], text[offset + len(separator) :]))
    return splits


def mcp_name_parts(agent: AgentSpec) -> McpNameParts:
    """Return the constant texts in an agent's names of MCP tools."""
    template = agent.vocabulary.mcp_name
    if not _names_servers(agent):
        return McpNameParts(prefix=template.partition("{tool}")[0], separator="")
    prefix, _, rest = template.partition("{server}")
    return McpNameParts(prefix=prefix, separator=rest.partition("{tool}")[0])


def loses_server(source: AgentSpec, target: AgentSpec) -> bool:
    """Return whether only the names of the source hold the servers of MCP tools."""
    return _names_servers(source) and not _names_servers(target)


def _names_servers(agent: AgentSpec) -> bool:
    """Return whether the names of MCP tools hold the name of the server."""
    return "{server}" in agent.vocabulary.mcp_name


def any_mcp_tool(target: AgentSpec) -> str:
    """Return an expression that covers the tools of all servers."""
    prefix, separator = mcp_name_parts(target)
    if prefix:
        return f"{prefix}.*"
    return f".+{separator}.+"
