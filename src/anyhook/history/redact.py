"""Replace the secrets in a JSON text before it is stored, exported or sent.

A pattern is only tried where a text contains one of its marks, because a search for a fixed string
is a hundred times faster than a pattern, and most events contain none.

Libraries that look for secrets (detect-secrets) read files line by line with entropy rules and take
milliseconds for an event; here an agent may be waiting.
"""

from __future__ import annotations

import os
import re
from functools import cache, lru_cache

from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

SHORTEST_VALUE = 8
"""Characters. The value of a variable that is shorter may be a common word."""
SEARCHED_BEYOND = 16 * 1024
"""Characters behind a cut that are searched: more than the longest tokens have."""
MOST_ESCAPED = 3
"""How many JSON texts may be within each other around the value of a variable."""

_NAMES = (
    r"passw(?:or)?d|passphrase|secret|token|credential|authorization"
    r"|(?:api|access|private|secret)[_-]?key"
)
NAME_MARKS = ("passw", "passphrase", "secret", "token", "credential", "authorization", "key")
_SECRET_VARIABLE = re.compile(rf"(?i)(?:{_NAMES})s?$|(?i:_key|_pass|_pwd|_pat)$")
_VALUE = r"(?![$\[{<(]|[\w.]+\(|(?i:bearer|basic)\b)[A-Za-z0-9_./+~@!%^&*=-]{6,}"
"""The value of an assignment: no variable, no call of a function, no scheme of a header."""
_START = r"(?:\b|(?<=\\[bfnrt])|(?<=[0-9]m))"
"""The start of a word in a JSON string: also behind an escaped line break, whose letter would be
part of the word, and behind the colors of a terminal."""


class SecretKind(Record, kw_only=False):
    """One kind of secret.

    Attributes:
        label: Stands in its place.
        marks: Texts of which one is at the start of each match.
        patterns: Match the secret; the group `secret` if only a part is replaced.
        any_case: Whether marks are searched in lower case.
        starts_with_name: Whether the marks are parts of names, and matches start where a name does.
    """

    label: str
    marks: tuple[str, ...]
    patterns: tuple[str, ...]
    any_case: bool = False
    starts_with_name: bool = False


# No pattern can match a quotation mark that ends a JSON string, so the text stays valid JSON.
KINDS = (
    SecretKind(
        "private-key",
        ("-----BEGIN ",),
        (
            (
                r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:(?!-----END)(?:[^\"\\]|\\.))*"
                r"(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?"
            ),
        ),
    ),
    SecretKind("anthropic-key", ("sk-ant-",), (rf"{_START}sk-ant-[A-Za-z0-9_-]{{16,}}",)),
    SecretKind(
        "api-key", ("sk-", "sk_", "rk_"), (rf"{_START}(?:sk|rk)[-_](?!ant-)[A-Za-z0-9_-]{{20,}}",)
    ),
    SecretKind(
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        (rf"{_START}(?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{{20,}}",),
    ),
    SecretKind("gitlab-token", ("glpat-",), (rf"{_START}glpat-[A-Za-z0-9_-]{{20,}}",)),
    SecretKind("slack-token", ("xox",), (rf"{_START}xox[abeoprs]-[A-Za-z0-9-]{{10,}}",)),
    SecretKind(
        "slack-webhook", ("hooks.slack.com",), (r"hooks\.slack\.com/services/[A-Za-z0-9/_-]{20,}",)
    ),
    SecretKind(
        "aws-key", ("AKIA", "ASIA"), (rf"{_START}(?:AKIA|ASIA)[A-Z0-9]{{16}}(?![A-Za-z0-9])",)
    ),
    SecretKind("google-key", ("AIza",), (rf"{_START}AIza[A-Za-z0-9_-]{{35}}",)),
    SecretKind("google-token", ("ya29.",), (rf"{_START}ya29\.[A-Za-z0-9_-]{{20,}}",)),
    SecretKind("huggingface-token", ("hf_",), (rf"{_START}hf_[A-Za-z0-9]{{20,}}",)),
    SecretKind("npm-token", ("npm_",), (rf"{_START}npm_[A-Za-z0-9]{{30,}}",)),
    SecretKind("pypi-token", ("pypi-",), (rf"{_START}pypi-[A-Za-z0-9_-]{{40,}}",)),
    SecretKind(
        "sendgrid-key", ("SG.",), (rf"{_START}SG\.[A-Za-z0-9_-]{{16,}}\.[A-Za-z0-9_-]{{16,}}",)
    ),
    SecretKind("age-key", ("AGE-SECRET-KEY-",), (rf"{_START}AGE-SECRET-KEY-1[A-Z0-9]{{40,}}",)),
    SecretKind(
        "json-web-token",
        ("eyJ",),
        # Where it is no token, the rest of the word is taken, too: `-eyJ-eyJ…` would be searched
        # to its end from each of its beginnings.
        (
            (
                rf"{_START}(?:(?P<secret>eyJ[A-Za-z0-9_-]{{8,}}+\.[A-Za-z0-9_-]{{8,}}+"
                r"\.[A-Za-z0-9_-]*)|eyJ[A-Za-z0-9_-]*)"
            ),
        ),
    ),
    SecretKind(
        "http-authorization",
        ("bearer ", "basic "),
        (rf"{_START}(?i:bearer|basic) +(?P<secret>(?=\S*[0-9A-Z])[A-Za-z0-9._~+/=-]{{12,}})",),
        any_case=True,
    ),
    SecretKind(
        "url-password",
        ("://",),
        (r"://[^\s/:@\"'\\]{0,256}:(?P<secret>(?!\$)[^\s/\"'\\]{1,256})@",),
    ),
    SecretKind(
        "secret",
        NAME_MARKS,
        (
            # A member of an object: {"api_key": "…"}.
            rf'(?i:{_NAMES})"\s*:\s*"(?P<secret>(?!(?i:bearer|basic) )(?:[^"\\]|\\.){{4,}})"',
            # An assignment inside a string: API_KEY='…', \"token\": \"…\", also deeper.
            (
                rf"(?i:{_NAMES})(?:\\*[\"'])?\s*[=:]\s*(?P<quote>\\+\"|')"
                r"(?P<secret>(?!\$|(?i:bearer|basic) )[^\"'\\]{4,})(?P=quote)"
            ),
            # The same without quotation marks: API_KEY=…, token: ….
            rf"(?i:{_NAMES})\s*[=:]\s*(?P<secret>{_VALUE})",
            # An option: --password ….
            rf"(?<=-)(?i:{_NAMES})\s+(?:\\+[\"']|')?(?P<secret>{_VALUE})",
        ),
        any_case=True,
        starts_with_name=True,
    ),
)
LABELS = frozenset([kind.label for kind in KINDS])
KEY_KINDS = ("api", "access", "private", "secret")
"""Stand before `key` in the name of a secret."""


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern when the first text needs it: together they take 10 ms."""
    return re.compile(pattern)


class Redactor:
    """Replaces secrets by their kind, like `[redacted:github-token]`.

    Args:
        environ: Environment whose secret values are replaced, too; by default this process's.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._values = _secret_values(os.environ if environ is None else environ)

    def redact(self, text: str, *, is_cut: bool = False) -> tuple[str, int]:
        """Replace the secrets in a JSON text, which stays valid JSON, or in any other text.

        Args:
            text: The text.
            is_cut: Whether it is a part of a text, and never JSON.

        Returns:
            The text without secrets, and the number of those that were replaced.
        """
        count = 0
        for value, label in self._values.items():
            if value in text:
                text, found = _replace_value(text, value, label, is_json=not is_cut)
                count += found
        lower = _lower(text)
        possible = self._possible_kinds(text, lower)
        if not possible:
            return text, count
        for kind in KINDS:
            # What stands in the place of a secret may hold the mark of another kind.
            if not count and kind.label not in possible:
                continue
            for pattern in kind.patterns:
                starts = self._find_starts(kind, text, lower)
                if not starts:
                    break
                text, found = _replace(_matches_at(compiled(pattern), text, starts), kind, text)
                if found:
                    lower = _lower(text)
                    count += found
        return text, count

    def redact_start(self, text: str, limit: int) -> str:
        """Return the start of a text without secrets.

        The start of a secret would not be recognized after a cut through it, so the text is
        searched beyond the cut.

        Args:
            text: The text.
            limit: How many characters are kept.
        """
        part = text[: limit + SEARCHED_BEYOND]
        redacted, _ = self.redact(part, is_cut=True)
        if len(part) < len(text):  # the end of this part may go through a secret, too
            redacted = redacted[:-SEARCHED_BEYOND]
        return redacted[:limit]

    def _possible_kinds(self, _text: str, _lower: str) -> AbstractSet[str]:
        """Return the labels of the kinds of which a text may have a mark.

        Args:
            _text: The text.
            _lower: The text in lower case.
        """
        return LABELS

    def _find_starts(self, kind: SecretKind, text: str, lower: str) -> list[int]:
        """Return where secrets of a kind may begin, from left to right."""
        if kind.starts_with_name:
            return self._find_names(lower)
        return _find_all(lower if kind.any_case else text, kind.marks)

    def _find_names(self, lower: str) -> list[int]:
        return _find_names(lower)


def _lower(text: str) -> str:
    """Return a text in lower case, in which each letter keeps its position."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text.replace("İ", "I").lower()


def _find_all(text: str, marks: Iterable[str]) -> list[int]:
    """Return where marks begin, from left to right."""
    starts: list[int] = []
    for mark in marks:
        position = text.find(mark)
        while position >= 0:
            starts.append(position)
            position = text.find(mark, position + len(mark))
    return sorted(starts)


def redact_json(text: str) -> tuple[str, int]:
    """Replace the secrets in a JSON text, also the values of this process's secret variables.

    Returns:
        The text without secrets, and the number of those that were replaced.
    """
    return _own_redactor().redact(text)


def redact_text(text: str) -> str:
    """Replace the secrets in any text; see `redact_json`."""
    return _own_redactor().redact(text)[0]


def redact_start(text: str, limit: int) -> str:
    """Return the start of any text without secrets; see `Redactor.redact_start`."""
    return _own_redactor().redact_start(text, limit)


@cache
def _own_redactor() -> Redactor:
    return Redactor()


def _matches_at(
    pattern: re.Pattern[str], text: str, starts: Iterable[int]
) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern that begin at certain positions, from left to right."""
    end = 0
    for start in starts:
        match = pattern.match(text, start) if start >= end else None
        if match is not None:
            end = match.end()
            yield match


@lru_cache(maxsize=1)
def _find_names(lower: str) -> list[int]:
    """Return where names of secrets begin that a value may follow, from left to right.

    A pattern that begins with the names tries each of them at every position, which takes a hundred
    times as long on source code, where `token` and `key` are common words.
    """
    starts: set[int] = set()
    for mark in NAME_MARKS:
        position = lower.find(mark)
        while position >= 0:
            end = position + len(mark)
            start = position if mark != "key" else start_of_key(lower, position)
            if start >= 0 and (mark == "passw" or _may_have_value(lower, start, end)):
                starts.add(start)
            position = lower.find(mark, end)
    return sorted(starts)


def start_of_key(lower: str, position: int) -> int:
    """Return where a name that ends with `key` begins; -1 if it is none of a secret."""
    end = position - 1 if lower[position - 1 : position] in ("_", "-") else position
    for kind in KEY_KINDS:
        if lower.endswith(kind, 0, end):
            return end - len(kind)
    return -1


def _may_have_value(lower: str, start: int, end: int) -> bool:
    """Return whether a name is followed by what all patterns want between it and its value."""
    following = lower[end : end + 1]
    if following == "\\":
        return bool(compiled(r"\\+[\"']").match(lower, end))
    if following.isspace():
        return lower[start - 1 : start] == "-" or bool(compiled(r"\s*[=:]").match(lower, end))
    return following in ("'", '"', "=", ":")


def _replace(matches: Iterable[re.Match[str]], kind: SecretKind, text: str) -> tuple[str, int]:
    replacement = f"[redacted:{kind.label}]"
    parts: list[str] = []
    end = 0
    for match in matches:
        group = "secret" if "secret" in match.re.groupindex else 0
        secret = match.group(group)
        if secret is None or secret.startswith("[redacted:"):
            continue
        parts += [text[end : match.start(group)], replacement]
        end = match.end(group)
    return "".join([*parts, text[end:]]) if parts else text, len(parts) // 2


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
        replaced, found = part, 0
        if part[0] == '"':
            replaced, found = in_string.subn(lambda match: match[1] + label, part)
        elif in_number is not None:
            replaced, found = in_number.subn(lambda _match: f'"{label}"', part)
        parts.append(replaced)
        count += found
    return "".join(parts), count


def _secret_values(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the values of variables with a secret name, as they are and as JSON holds them."""
    import json

    values: dict[str, str] = {}
    for name, value in environ.items():
        if len(value) < SHORTEST_VALUE or not _SECRET_VARIABLE.search(name):
            continue
        form = value
        for _ in range(MOST_ESCAPED + 1):
            values[form] = f"[redacted:${name}]"
            form = json.dumps(form, ensure_ascii=False)[1:-1]
    return dict(sorted(values.items(), key=lambda item: -len(item[0])))
