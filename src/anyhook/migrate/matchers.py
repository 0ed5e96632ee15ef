"""Translates matchers into another agent's names.

A matcher is split into names and patterns; a pattern is tested on the known names. The result
covers at least what the original covers. Where it covers more, the shim has to apply the original
too (`TranslatedMatcher.check`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from anyhook.agents.tool_names import counterpart_tool
from anyhook.agents.translate import translate_subject
from anyhook.matching.matchers import MATCH_ALL, SEARCHING_STYLES, compile_matcher, explain_cost
from anyhook.migrate.matcher_pieces import (
    MATCHES_EVERYTHING,
    NAME_LIST,
    Reasons,
    TranslatedPiece,
    any_mcp_tool,
    loses_server,
    mcp_name_parts,
    split_matcher,
    translate_mcp_piece,
)
from anyhook.model.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.matching.matchers import Matcher
    from anyhook.migrate.matcher_pieces import Piece

TOOL = "tool_name"
IGNORED = "ignored"
"""Style of matchers on events on which the agent ignores them."""
UNKNOWN_TOOL = "zz some tool that no agent has"
"""A name that only patterns for tools with any name cover."""
# Characters of a list of names: each is looked up in the names of both agents.
MAX_LIST_LENGTH = 16 * 1024
# Characters that are shown of a pattern that is left out as a whole.
MAX_SHOWN_LENGTH = 60
_NAME = re.compile(r"[\w-]+\Z")
_PERMISSION_RULE = re.compile(r"(\w+)\([^|?]*[ :*/][^|]*\)\Z")
_NOT_IN_NAMES = re.compile(r"""[\s"'=&]""")


class TranslatedMatcher(Record):
    """What a matcher becomes."""

    patterns: tuple[str | None, ...]
    """One definition for each; `None` stands for no matcher. Empty: nothing is left."""
    check: str = ""
    """The original, if the patterns cover more and the shim has to apply it too; as an expression
    if the source itself searches for names anywhere."""
    missing: Reasons = ()
    """Pieces of the original that have no counterpart."""
    wider: Reasons = ()
    """Pieces that cover more in the target."""


def translate_matcher(
    source: AgentSpec,
    source_event: EventSpec,
    pattern: str | None,
    target: AgentSpec,
    target_event: EventSpec,
) -> TranslatedMatcher:
    """Translate a matcher."""
    text = (pattern or "").strip()
    if source_event.subject is None or text in MATCH_ALL:
        has_subjects = target_event.subject is not None and source_event.subject is not None
        # In some agents an empty pattern, or a star, matches nothing; no matcher matches all.
        matcher = compile_matcher(pattern, target_event.matcher_style)
        matches_all = matcher.pattern in MATCH_ALL and matcher.names is None
        can_match_all = has_subjects and matches_all
        return TranslatedMatcher(patterns=(pattern if can_match_all else None,))
    matcher = compile_matcher(text, source_event.matcher_style)
    if matcher.is_never_evaluated or len(text) > MAX_LIST_LENGTH:
        missing = ((text[:MAX_SHOWN_LENGTH], explain_cost(matcher)),)
        return TranslatedMatcher(patterns=(), missing=missing)
    if source_event.subject == TOOL:
        return _translate_tools(source, source_event, text, target, target_event)
    return _translate_subjects(source, source_event, text, target, target_event)


def _observed(agent: AgentSpec, event: EventSpec) -> EventSpec | None:
    """Return an event as a release of the agent was observed to treat it."""
    rules = agent.newest_rules
    return rules.by_canonical.get(event.canonical)


# -- lifecycle events: closed lists of subjects


def _translate_subjects(
    source: AgentSpec,
    source_event: EventSpec,
    text: str,
    target: AgentSpec,
    target_event: EventSpec,
) -> TranslatedMatcher:
    if target_event.subject is None:
        reason = f"{target_event.wire} of {target.title} does not name its {source_event.subject}"
        return TranslatedMatcher(patterns=(), missing=((text, reason),))
    if not source_event.subjects:
        # Names that users choose: only the shim knows how the source compares them.
        return TranslatedMatcher(patterns=(None,), check=text)
    matcher = compile_matcher(text, source_event.matcher_style)
    covered = [subject for subject in source_event.subjects if matcher.matches(subject)]
    if not covered:
        reason = f"{source.title} sends no such {source_event.subject} on {source_event.wire}"
        return TranslatedMatcher(patterns=(), missing=((text, reason),))
    names: list[str] = []
    missing: list[tuple[str, str]] = []
    for subject in covered:
        name = translate_subject(
            subject, source_event.subject_aliases, target_event.subject_aliases
        )
        if name not in target_event.subjects:
            reason = f"{target.title} sends no {target_event.subject} {name!r}"
            missing.append((subject, f"{reason} on {target_event.wire}"))
        elif name not in names:
            names.append(name)
    covers_all = len(covered) == len(source_event.subjects)
    if covers_all and names and set(names) == set(target_event.subjects):
        return TranslatedMatcher(patterns=(None,))
    observed = _observed(target, target_event)
    check = ""
    patterns: tuple[str, ...] = ("|".join(names),) if names else ()
    if names and observed is not None:
        if observed.subject is None or observed.matcher_style == IGNORED:
            check = text
        elif observed.matcher_style == "equal":
            patterns = tuple(names)
    return TranslatedMatcher(patterns=patterns, check=check, missing=tuple(missing))


# -- tools


def _translate_tools(
    source: AgentSpec,
    source_event: EventSpec,
    text: str,
    target: AgentSpec,
    target_event: EventSpec,
) -> TranslatedMatcher:
    if MATCHES_EVERYTHING.match(text):
        return TranslatedMatcher(patterns=(text,))
    observed = _observed(source, source_event)
    # Such a release searches for a plain name anywhere in a tool's name.
    is_searched = observed is not None and observed.matcher_style in SEARCHING_STYLES
    is_name_list = NAME_LIST.match(text) is not None
    if is_searched and is_name_list and "" in text.split("|"):
        reason = f"{source.title} itself reads an empty alternative as every tool"
        return TranslatedMatcher(patterns=("*",), wider=((text, reason),))
    names: dict[str, None] = {}
    patterns: dict[str, None] = {}
    missing: list[tuple[str, str]] = []
    wider = list(_former_names(source, text))
    needs_check = False
    can_check = True
    for piece in split_matcher(text):
        translated = _translate_piece(source, piece, target, is_searched=is_searched)
        names |= dict.fromkeys(translated.names)
        patterns |= dict.fromkeys(translated.patterns)
        missing += translated.missing
        wider += translated.wider
        needs_check = needs_check or translated.check
        can_check = can_check and not translated.lacks_server
    if not (names or patterns or needs_check):
        return TranslatedMatcher(patterns=(), missing=tuple(missing))
    check = ""
    if needs_check:
        if can_check:
            check = text
            if wider and is_name_list:
                check = f"({text})"
        patterns[any_mcp_tool(target)] = None
    pattern = _write_pattern(_observed(target, target_event), list(names), list(patterns))
    if can_check and not check:
        original = compile_matcher(text, source_event.matcher_style)
        is_ignored = target_event.matcher_style == IGNORED
        if is_ignored or _covers_others(original.matches, source, pattern, target, target_event):
            check = text
    if needs_check and compile_matcher(text, "expression").matches(UNKNOWN_TOOL):
        pattern = "*"
    return TranslatedMatcher(
        patterns=(pattern,), check=check, missing=tuple(missing), wider=tuple(wider)
    )


def _covers_others(
    matches: Callable[[str], bool],
    source: AgentSpec,
    pattern: str,
    target: AgentSpec,
    target_event: EventSpec,
) -> bool:
    """Return whether a translated matcher covers tools that the original does not cover.

    A pattern for MCP tools may cover other names, and a tool that takes a patch does what several
    tools of the source do.
    """
    translated = compile_matcher(pattern, target_event.matcher_style)
    vocabulary = target.vocabulary
    for name in filter(translated.matches, target.tools):
        tools = vocabulary.synonyms(name)
        takes_patch = any(vocabulary.tools[tool].patch for tool in tools)
        rows = [source.vocabulary.tools.get(tool) for tool in tools]
        covered = [any(map(matches, row.names)) for row in rows if row is not None]
        if not any(covered) or (takes_patch and not all(covered)):
            return True
    return False


def _former_names(source: AgentSpec, text: str) -> Iterator[tuple[str, str]]:
    """Yield names of former releases that stand without the newest one."""
    names = {piece.text for piece in split_matcher(text)}
    for tool in source.vocabulary.tools.values():
        newest, *former = tool.names
        for name in former:
            is_patch_tool = bool(tool.patch) and name == tool.names[-1]
            if name in names and newest not in names and not is_patch_tool:
                yield name, f"{source.title} says {newest} now; there it covers that, too"


def _translate_piece(
    source: AgentSpec, piece: Piece, target: AgentSpec, *, is_searched: bool
) -> TranslatedPiece:
    """Translate a name or a pattern of a matcher.

    `is_searched` says whether the source searches for a plain name anywhere in a tool's name.
    """
    text = piece.text
    for prefix, form in source.foreign_tool_prefixes.items():
        if text.startswith(prefix):
            reason = f"{source.title} names the tools of servers {form}"
            return TranslatedPiece(missing=((text, reason),))
    mcp_piece = translate_mcp_piece(source, piece, target)
    if mcp_piece is not None:
        return mcp_piece
    if not _NAME.match(text):
        return _translate_pattern(source, piece, target)
    is_known = text in source.vocabulary.canonical or text in source.tools
    is_whole = piece.start and piece.end
    if is_whole and (is_known or not is_searched):
        return _translate_name(source, text, target)
    return _translate_part_of_names(source, piece, target, is_searched=is_searched)


def _translate_part_of_names(
    source: AgentSpec, piece: Piece, target: AgentSpec, *, is_searched: bool
) -> TranslatedPiece:
    """Translate a plain text that covers every tool with it in its name."""
    text = piece.text
    is_known = text in source.vocabulary.canonical or text in source.tools
    names = _names_of_matching(source, compile_matcher(text, "expression"), target)
    if not names and not is_known:
        if text in source.foreign_tools or not is_searched:
            return _translate_name(source, text, target)
        # A tool of the user's own, or a part of the name of one.
        names = (text,)
    check = not is_known and (is_searched or _may_cover_mcp_tools(source, piece))
    if not names and not check:
        return TranslatedPiece(missing=((text, _why_missing(source, text, target)),))
    wider: Reasons = ()
    if is_searched and piece.start and piece.end:
        reason = f"{source.title} itself searches for it anywhere in a tool's name"
        wider = ((text, reason),)
    return TranslatedPiece(names=names, check=check, wider=wider)


def _translate_pattern(source: AgentSpec, piece: Piece, target: AgentSpec) -> TranslatedPiece:
    """Translate a regular expression to the names of the tools that it matches."""
    text = piece.text
    is_whole = piece.start and piece.end
    matcher = compile_matcher(f"^(?:{text})$" if is_whole else text, "expression")
    if not all(matcher.is_evaluated(name) for name in source.vocabulary.canonical):
        return TranslatedPiece(missing=((text, explain_cost(matcher)),))
    names = _names_of_matching(source, matcher, target)
    is_rule = _PERMISSION_RULE.match(text) is not None
    matches_no_name = is_rule or _NOT_IN_NAMES.search(text) is not None
    is_usable = matcher.problem is None and not matches_no_name
    check = is_usable and _may_cover_mcp_tools(source, piece)
    if not names and not check:
        return TranslatedPiece(missing=((text, _why_missing(source, text, target)),))
    missing: Reasons = ()
    names_of_source = [*source.tools, source.vocabulary.mcp_name.format(server="zz", tool="zz")]
    may_mean_server = not any(map(matcher.matches, names_of_source))
    if may_mean_server and loses_server(source, target):
        reason = f"{target.title} does not name the server: where it means one, it covers no tool"
        missing = ((text, reason),)
    return TranslatedPiece(names=names, check=check, missing=missing)


def _names_of_matching(source: AgentSpec, matcher: Matcher, target: AgentSpec) -> tuple[str, ...]:
    """Return the target's names of the tools of the source that a matcher covers.

    If the newest name of no tool matches, those with any such name count.
    """
    rows = source.vocabulary.tools.items()
    tools = [tool for tool, row in rows if matcher.matches(row.names[0])]
    if not tools:
        tools = [tool for tool, row in rows if any(map(matcher.matches, row.names))]
    return tuple(_tool_names(target, tools))


def _may_cover_mcp_tools(source: AgentSpec, piece: Piece) -> bool:
    """Return whether a piece may match the name of a tool of an MCP server."""
    prefix, _ = mcp_name_parts(source)
    first, quantifier = piece.text[:1], piece.text[1:2]
    begins_with_letter = piece.start and first.isalnum() and quantifier not in ("?", "*", "{")
    return not (prefix and begins_with_letter and not prefix.startswith(first))


def _translate_name(source: AgentSpec, name: str, target: AgentSpec) -> TranslatedPiece:
    """Translate a name, which among alternatives too means that tool."""
    canonical = source.vocabulary.canonical
    newest = source.tool_aliases.get(name, name)
    is_user_tool = newest not in canonical and newest not in source.tools
    if is_user_tool and name not in source.foreign_tools:
        return TranslatedPiece(names=(name,))
    tools = source.vocabulary.synonyms(newest)
    names = tuple(dict.fromkeys(_tool_names(target, tools)))
    if not names:
        return TranslatedPiece(missing=((name, _why_missing(source, name, target)),))
    return TranslatedPiece(names=names)


def _tool_names(target: AgentSpec, tools: Iterable[str]) -> Iterator[str]:
    for tool in tools:
        row = target.vocabulary.tools.get(tool)
        if row is not None:
            yield from row.names


def _why_missing(source: AgentSpec, piece: str, target: AgentSpec) -> str:
    if piece in source.foreign_tools and piece not in source.tools:
        return f"{source.title} has no tool {piece}; it says {counterpart_tool(source, piece)}"
    rule = _PERMISSION_RULE.match(piece)
    if rule:
        return (
            f"it is a permission rule, and no matcher: in {source.title} it never matches. Write "
            f'"matcher": "{rule[1]}" and "if": "{piece}"'
        )
    if _NAME.match(piece):
        return f"{target.title} has no tool that does what {piece} does"
    return f"it covers no tool of {source.title} that {target.title} has too"


def _write_pattern(observed: EventSpec | None, names: list[str], patterns: list[str]) -> str:
    """Write a matcher with the same meaning in every release of the target."""
    pieces = [*names, *patterns]
    is_searched = observed is not None and observed.matcher_style in SEARCHING_STYLES
    if not is_searched and all(map(_NAME.match, patterns)):
        return "|".join(pieces)
    if len(pieces) == 1:
        return f"^{pieces[0]}$"
    return f"^({'|'.join(pieces)})$"
