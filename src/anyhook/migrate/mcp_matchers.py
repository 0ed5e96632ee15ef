"""Translates names and patterns of MCP tools, which hold the name of the server in most agents.

`mcp__github__create_issue` of Claude Code is `mcp_github_create_issue` in Gemini CLI. Where a name
has one underscore between server and tool, each of its underscores may be that one, so a pattern
can become several.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from anyhook.migrate.matcher_pieces import TranslatedPiece

if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec
    from anyhook.migrate.matcher_pieces import Piece

_SIMPLE_PATTERN = re.compile(r"(?:[\w-]|\.[*+])*\Z")
"""Letters and `.*`: patterns that can be rewritten piece by piece."""
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
    if not _SIMPLE_PATTERN.match(rest):
        return None
    if not piece.end and not _is_open(rest):
        rest = f"{rest}.*"
    covers_all = set(rest) <= set(".*+")
    if covers_all:
        return TranslatedPiece(patterns=(any_mcp_tool(target),))
    if _names_servers(source) != _names_servers(target):
        return _translate_with_or_without_server(source, piece, rest, target)
    patterns = _translate_mcp_pattern(source, rest, target)
    return TranslatedPiece(patterns=tuple(patterns)) if patterns else None


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


def _translate_with_or_without_server(
    source: AgentSpec, piece: Piece, rest: str, target: AgentSpec
) -> TranslatedPiece | None:
    """Rewrite a name or pattern of MCP tools if only one of the agents names their servers."""
    separator = mcp_name_parts(source).separator
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
    wider = ((piece.text, reason),)
    return TranslatedPiece(patterns=tuple(patterns), wider=wider, lacks_server=True)


def _splits(text: str, separator: str) -> list[tuple[str, str]]:
    """Return every way to split a text into the names of a server and a tool."""
    splits: list[tuple[str, str]] = []
    # A lookahead finds overlapping separators, too: `a___b` has two of `__`.
    for match in re.finditer(f"(?={re.escape(separator)})", text):
        offset = match.start()
        if offset > 0:
            splits.append((text[:offset], text[offset + len(separator) :]))
    return splits


def mcp_name_parts(agent: AgentSpec) -> McpNameParts:
    """Return the constant texts in an agent's names of MCP tools."""
    template = agent.vocabulary.mcp_name
    if not _names_servers(agent):
        return McpNameParts(prefix=template.partition("{tool}")[0], separator="")
    prefix, _, rest = template.partition("{server}")
    return McpNameParts(prefix=prefix, separator=rest.partition("{tool}")[0])


def _names_servers(agent: AgentSpec) -> bool:
    """Return whether the names of MCP tools hold the name of the server."""
    return "{server}" in agent.vocabulary.mcp_name


def any_mcp_tool(target: AgentSpec) -> str:
    """Return an expression that covers the tools of all servers."""
    prefix, separator = mcp_name_parts(target)
    if prefix:
        return f"{prefix}.*"
    return f".+{separator}.+"
