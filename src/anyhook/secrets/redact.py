"""Find the secrets in a text, and replace them before it is stored, exported or sent.

A pattern is only tried where a text contains one of its marks. Marks that share a letter are
searched at once: a pattern that begins with one letter is a fast loop, and a rare letter seldom
ends it.

Libraries that look for secrets (detect-secrets) read files line by line with entropy rules and take
milliseconds for an event; here an agent may be waiting.
"""

from __future__ import annotations

import os
import re
from functools import cache

from anyhook.model.record import Record
from anyhook.secrets.kinds import KINDS
from anyhook.secrets.names import has_secret_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from anyhook.secrets.kind import SecretKind

MIN_VALUE = 8
"""Characters. The value of a variable that is shorter may be a common word."""
SEARCHED_BEYOND = 16 * 1024
"""Characters behind a cut that are searched: more than the longest tokens have."""
MAX_ESCAPED = 3
"""How many JSON texts may be within each other around the value of a variable."""
SHORT_TEXT = 8192
EARLY_TEXTS = 20
"""The first texts of a process are searched mark by mark if they have no more characters: a hook
that an agent starts searches one or two."""
ANCHORS = "~AJ-:_."
"""Characters from which marks are searched, rare ones of code and JSON first: of each mark the
first of these that it has, otherwise its own first letter."""
LOWER_ANCHORS = "qbkgpch"
"""The same for marks that are searched in a text in lower case."""


class Secret(Record, kw_only=False):
    """A secret in a text: its first character, and that behind its last one."""

    start: int
    end: int
    kind: str
    """Its label in `anyhook.secrets.kinds.KINDS`."""


class Redactor:
    """Replaces secrets by their kind, like `[redacted:github-token]`.

    Args:
        environ: Environment whose secret values are replaced, too; by default this process's.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        import json

        values: dict[str, str] = {}
        for name, value in (os.environ if environ is None else environ).items():
            if len(value) < MIN_VALUE or not has_secret_value(name):
                continue
            # As it is, and as JSON holds it.
            form = value
            for _ in range(MAX_ESCAPED + 1):
                values[form] = f"[redacted:${name}]"
                form = json.dumps(form, ensure_ascii=False)[1:-1]
        self._values = dict(sorted(values.items(), key=lambda item: -len(item[0])))

    def redact(self, text: str, *, is_json: bool = True) -> tuple[str, int]:
        """Replace the secrets in a text.

        Args:
            text: The text.
            is_json: Whether it is a JSON text, which stays valid JSON.

        Returns:
            The text without secrets, and the number of those that were replaced.
        """
        count = 0
        for value, label in self._values.items():
            if value in text:
                text, replaced = _replace_value(text, value, label, is_json=is_json)
                count += replaced
        secrets = find_secrets(text)
        if not secrets:
            return text, count
        parts: list[str] = []
        end = 0
        for secret in secrets:
            parts += [text[end : secret.start], f"[redacted:{secret.kind}]"]
            end = secret.end
        return "".join([*parts, text[end:]]), count + len(secrets)

    def redact_start(self, text: str, limit: int) -> str:
        """Return the start of a text, up to a limit of characters, without secrets.

        The start of a secret would not be recognized after a cut through it, so the text is
        searched beyond the cut.
        """
        part = text[: limit + SEARCHED_BEYOND]
        redacted, _ = self.redact(part, is_json=False)
        if len(part) < len(text):  # the end of this part may go through a secret, too
            redacted = redacted[:-SEARCHED_BEYOND]
        return redacted[:limit]


def redact_json(text: str) -> tuple[str, int]:
    """Replace the secrets in a JSON text, also the values of this process's secret variables.

    Returns:
        The text without secrets, and the number of those that were replaced.
    """
    return _own_redactor().redact(text)


def redact_text(text: str) -> str:
    """Replace the secrets in any text; see `redact_json`."""
    return _own_redactor().redact(text, is_json=False)[0]


def redact_start(text: str, limit: int) -> str:
    """Return the start of any text without secrets; see `Redactor.redact_start`."""
    return _own_redactor().redact_start(text, limit)


@cache
def _own_redactor() -> Redactor:
    return Redactor()


_early_texts = iter(range(EARLY_TEXTS))


def find_secrets(text: str) -> list[Secret]:
    """Return the secrets in a JSON text, or in any other text, from left to right.

    They do not overlap, and begin and end between the escapes of JSON.
    """
    lower = text.lower()
    if len(lower) != len(text):  # each letter has to keep its position
        lower = text.replace("İ", "I").lower()
    is_early = len(text) <= SHORT_TEXT and next(_early_texts, None) is not None
    matches = find_mark_by_mark(text, lower) if is_early else find_at_once(text, lower)
    # Matches that overlap are one secret, of the kind that is first in the table.
    united: list[tuple[int, int, int]] = []
    for start, end, number in sorted(matches):
        if united and start < united[-1][1]:
            first, last, kind = united[-1]
            united[-1] = (first, max(last, end), min(kind, number))
        else:
            united.append((start, end, number))
    secrets: list[Secret] = []
    for start, end, number in united:
        # The parts of escapes, like the `n` of `\n`, do not belong to the secret.
        before = start
        while before and text[before - 1] == "\\":
            before -= 1
        first = start + (start - before) % 2
        last = end
        while last > first and text[last - 1] == "\\":
            last -= 1
        if first < last and not text.startswith("[redacted:", first):
            secrets.append(Secret(first, last, KINDS[number].label))
    return secrets


Match = tuple[int, int, int]
"""Start and end of a secret, and the number of its kind."""


def find_mark_by_mark(text: str, lower: str) -> list[Match]:
    """Find what may be secrets in a text, which is also given in lower case.

    It takes 0.2 ms for a short text, and nothing has to be compiled that is not in the text.
    """
    matches: list[Match] = []
    for number, kind in enumerate(KINDS):
        searched = lower if kind.any_case else text
        places: list[tuple[int, str]] = []
        for mark in kind.marks:
            start = searched.find(mark)
            while start >= 0:
                places.append((start, mark))
                start = searched.find(mark, start + 1)
        end = 0
        for start, mark in sorted(places):
            if start < end:  # each kind passes over a text once
                continue
            match = _match(kind, searched, text, start, mark)
            if match is not None:
                end = match.end()
                matches += _secret_in(match, number)
    return matches


def find_at_once(text: str, lower: str) -> list[Match]:
    """Find the same in less time for each letter, with expressions that take 12 ms to compile."""
    matches: list[Match] = []
    for any_case, searched in ((False, text), (True, lower)):
        for search in _searches(any_case=any_case):
            hit = search.pattern.search(searched)
            if hit:
                matches += _matches(search, hit.start(), searched, text)
    return matches


class _Search(Record, kw_only=False):
    """A search for the marks that share a letter."""

    pattern: re.Pattern[str]
    """Finds the letter where it is part of a mark that may begin a secret."""
    marks: tuple[tuple[str, int, tuple[int, ...]], ...]
    """The marks, each with the index of the letter in it and the numbers of its kinds."""


@cache
def _searches(*, any_case: bool) -> tuple[_Search, ...]:
    """Return the searches for marks, those in a text in lower case if `any_case`."""
    anchors = LOWER_ANCHORS if any_case else ANCHORS
    groups: dict[str, dict[str, list[int]]] = {}
    for number, kind in enumerate(KINDS):
        if kind.any_case == any_case:
            for mark in kind.marks:
                anchor = next((letter for letter in anchors if letter in mark), mark[0])
                groups.setdefault(anchor, {}).setdefault(mark, []).append(number)
    searches: list[_Search] = []
    for anchor, marks in groups.items():
        # What is behind a letter is tried once for all marks that want the same.
        alternatives: dict[tuple[str, str], dict[str, None]] = {}
        for mark, numbers in marks.items():
            for number in numbers:
                key = (mark.rpartition(anchor)[2], KINDS[number].follows)
                alternatives.setdefault(key, {})[mark] = None
        parts = [
            (after, _preceded_by(of_alternative, anchor + after, follows))
            for (after, follows), of_alternative in alternatives.items()
        ]
        pattern = re.compile(re.escape(anchor) + _any_of(parts))
        entries = [(mark, mark.rindex(anchor), tuple(marks[mark])) for mark in marks]
        searches.append(_Search(pattern, tuple(entries)))
    return tuple(searches)


def _any_of(alternatives: Sequence[tuple[str, str]]) -> str:
    """Return a pattern of alternatives, each a text and the pattern behind it.

    What several begin with is tried once: `p(?:ass|wd)`.
    """
    if len(alternatives) == 1:
        return re.escape(alternatives[0][0]) + alternatives[0][1]
    by_letter: dict[str, list[tuple[str, str]]] = {}
    parts: list[str] = []
    for text, pattern in alternatives:
        if text:
            by_letter.setdefault(text[0], []).append((text[1:], pattern))
        else:
            parts.append(pattern)
    parts += [re.escape(letter) + _any_of(rest) for letter, rest in by_letter.items()]
    return f"(?:{'|'.join(parts)})"


def _preceded_by(marks: Iterable[str], end: str, follows: str) -> str:
    """Return a pattern of what is around the end of marks, which it stands behind."""
    following = f"(?={follows})" if follows else ""
    if end in marks:
        return following
    by_length: dict[int, list[str]] = {}
    for mark in marks:
        by_length.setdefault(len(mark), []).append(re.escape(mark))
    # A lookbehind wants texts of the same length.
    lookbehinds = [f"(?<={'|'.join(texts)})" for texts in by_length.values()]
    if len(lookbehinds) == 1:
        return lookbehinds[0] + following
    # Most letters fail at a quick test, which is that of one or two letters in front of them.
    quick = re.escape(end)
    for distance in range(1, min(3, min(by_length) - len(end) + 1)):
        letters = "".join(sorted({mark[-len(end) - distance] for mark in marks}))
        quick = f"[{re.escape(letters)}]{quick}"
    quick = f"(?<={quick})"
    return f"{quick}{following}(?:{'|'.join(lookbehinds)})"


def _matches(search: _Search, first: int, searched: str, text: str) -> Iterator[Match]:
    """Yield the secrets that one search finds.

    `first` is the position of the first letter that is part of a mark.
    """
    ends: dict[int, int] = {}
    for found in search.pattern.finditer(searched, first):
        for mark, index, numbers in search.marks:
            start = found.start() - index
            if start < 0 or not searched.startswith(mark, start):
                continue
            for number in numbers:
                # Each kind passes over a text once.
                if start < ends.get(number, 0):
                    continue
                match = _match(KINDS[number], searched, text, start, mark)
                if match is None:
                    continue
                ends[number] = match.end()
                yield from _secret_in(match, number)


def _match(
    kind: SecretKind, searched: str, text: str, start: int, mark: str
) -> re.Match[str] | None:
    """Match a kind of secret at one of its marks in a text, of which `searched` is a form."""
    if not compiled(kind.follows).match(searched, start + len(mark)):
        return None
    for pattern in kind.patterns:
        match = compiled(pattern, kind.before).match(text, max(0, start - kind.before))
        if match is not None:
            return match
    return None


def _secret_in(match: re.Match[str], number: int) -> Iterator[Match]:
    """Yield the part of a match that is the secret, if that part is there."""
    group = "secret" if "secret" in match.re.groupindex else 0
    if match[group] is not None:
        yield (*match.span(group), number)


@cache
def compiled(pattern: str, before: int = 0) -> re.Pattern[str]:
    """Compile a pattern when the first text needs it: together they take 20 ms.

    A match may begin so many characters `before` its mark.
    """
    if not before:
        return re.compile(pattern)
    secret = pattern if "(?P<secret>" in pattern else f"(?P<secret>{pattern})"
    return re.compile(rf"(?s:.{{0,{before}}}?){secret}")


def _replace_value(text: str, value: str, label: str, *, is_json: bool) -> tuple[str, int]:
    r"""Replace the value of a variable; JSON stays JSON.

    A value of digits may be a part of a number, and the first letter of a value may be that of an
    escape like `\n`.
    """
    if not is_json or text[:1] not in ("{", "["):
        return text.replace(value, label), text.count(value)
    escaped = re.escape(value)
    in_string = re.compile(rf"(?<!\\)((?:\\\\)*){escaped}")
    is_number = compiled(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?").fullmatch(value)
    in_number = re.compile(rf"(?<![\w.+-]){escaped}(?![\w.+-])") if is_number else None
    count = 0
    parts: list[str] = []
    for part in compiled(r'"(?:[^"\\]|\\.)*"|[^"]+|"').findall(text):
        replaced, number = part, 0
        if part[0] == '"':
            replaced, number = in_string.subn(lambda match: match[1] + label, part)
        elif in_number is not None:
            replaced, number = in_number.subn(lambda _match: f'"{label}"', part)
        parts.append(replaced)
        count += number
    return "".join(parts), count
