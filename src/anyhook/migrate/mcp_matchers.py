"""Translates names and patterns of MCP tools, which hold the name of the server in most agents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from anyhook.migrate.matcher_pieces import TranslatedPiece

if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec
    from anyhook.migrate.matcher_pieces import Piece

# Letters and `.*`: patterns that can be rewritten piece by piece.
_SIMPLE_PATTERN = re.compile(r"(?:[\w-]|\.[*+])*\Z")
_TRAILING_WILDCARD = re.compile(r"\.[*+]\Z")


def translate_mcp_piece(
    source: AgentSpec, piece: Piece, target: AgentSpec
) -> TranslatedPiece | None:
    """Rewrite a name or pattern of MCP tools; `None` if it is something else, or too complex."""
    if _names_servers(source) != _names_servers(target):
        return _translate_with_or_without_server(source, piece, target)
    patterns = _translate_mcp_pattern(source, piece, target)
    return TranslatedPiece(patterns=tuple(patterns)) if patterns else None


def _translate_mcp_pattern(source: AgentSpec, piece: Piece, target: AgentSpec) -> list[str] | None:
    """Rewrite a name or pattern of MCP tools; `None` if it is something else, or too complex."""
    rest = _after_mcp_prefix(source, piece)
    if rest is None:
        return None
    _, separator = mcp_name_parts(source)
    if set(rest) <= set(".*+"):
        return [any_mcp_tool(target)]
    is_open = rest.endswith((".*", ".+"))
    if not is_open and separator not in rest:
        return []
    new_prefix, new_separator = mcp_name_parts(target)
    if len(separator) >= len(new_separator) or separator == new_separator:
        return [new_prefix + rest.replace(separator, new_separator)]
    # The target marks the end of the server's name and the source does not: each separator may
    # be the end. After a wildcard it may be anywhere.
    if re.search(r"\.[*+].", rest):
        return None
    names = [
        new_prefix + rest[:offset] + new_separator + rest[offset + len(separator) :]
        for offset in _separator_offsets(rest, separator)
    ]
    if not is_open:
        return names
    if new_prefix:
        specific = [name for name in names if not name.endswith(f"{new_separator}.*")]
        return [f"{new_prefix}{rest}", *specific]
    return [*names, _TRAILING_WILDCARD.sub(f".*{new_separator}.*", rest)]


def _after_mcp_prefix(source: AgentSpec, piece: Piece) -> str | None:
    """Return what follows the prefix of MCP tools, open at the end if the piece is.

    Returns:
        A name or a simple pattern; `None` if the piece is something else.
    """
    prefix, separator = mcp_name_parts(source)
    text = piece.text
    if not text.startswith(prefix) or (not prefix and separator not in text):
        return None
    rest = text.removeprefix(prefix)
    is_own_tool = text in source.vocabulary.canonical or text in source.tools
    if is_own_tool or not _SIMPLE_PATTERN.match(rest):
        return None
    is_open = piece.end or rest.endswith((".*", ".+"))
    return rest if is_open else f"{rest}.*"


def _translate_with_or_without_server(
    source: AgentSpec, piece: Piece, target: AgentSpec
) -> TranslatedPiece | None:
    """Rewrite a name or pattern of MCP tools if only one of the agents names their servers."""
    rest = _after_mcp_prefix(source, piece)
    if rest is None:
        return None
    _, separator = mcp_name_parts(source)
    new_prefix, new_separator = mcp_name_parts(target)
    if set(rest) <= set(".*+"):
        return TranslatedPiece(patterns=(any_mcp_tool(target),))
    if not _names_servers(source):
        server = ".*" if new_prefix else ".+"
        return TranslatedPiece(patterns=(f"{new_prefix}{server}{new_separator}{rest}",))
    is_open = rest.endswith((".*", ".+"))
    if separator not in rest and not is_open:
        return None
    tools = [rest[offset + len(separator) :] for offset in _separator_offsets(rest, separator)]
    patterns = [f"{new_prefix}{tool}" for tool in tools] or [any_mcp_tool(target)]
    reason = f"{target.title} does not name the server; it covers such tools of every server there"
    if rest.startswith(f".*{separator}"):
        return TranslatedPiece(patterns=tuple(patterns))
    wider = ((piece.text, reason),)
    return TranslatedPiece(patterns=tuple(patterns), wider=wider, lacks_server=True)


def _separator_offsets(text: str, separator: str) -> list[int]:
    matches = re.finditer(f"(?={re.escape(separator)})", text)
    return [match.start() for match in matches if match.start() > 0]


def mcp_name_parts(agent: AgentSpec) -> tuple[str, str]:
    """Return the text before the server's name, and between it and the tool's."""
    if not _names_servers(agent):
        return agent.vocabulary.mcp_name.partition("{tool}")[0], ""
    prefix, _, rest = agent.vocabulary.mcp_name.partition("{server}")
    return prefix, rest.partition("{tool}")[0]


def _names_servers(agent: AgentSpec) -> bool:
    """Return whether the names of MCP tools hold the name of the server."""
    return "{server}" in agent.vocabulary.mcp_name


def any_mcp_tool(target: AgentSpec) -> str:
    """Return an expression that covers the tools of all servers."""
    prefix, separator = mcp_name_parts(target)
    return f"{prefix}.*" if prefix else f".+{separator}.+"
