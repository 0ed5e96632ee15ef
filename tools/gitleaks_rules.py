"""Write `src/anyhook/secrets/gitleaks.py` from the rules of gitleaks.

python -m tools.gitleaks_rules GITLEAKS.toml COMMIT      (config/gitleaks.toml of that commit)
ruff format src/anyhook/secrets/gitleaks.py

A rule is kept if the secrets themselves have a form: fixed characters (the mark), and what follows.
It is changed as follows:

- What stands around a secret is left out, so that one in a sentence or behind a letter is found.
- The last repetition has no upper limit, so that nothing remains of a longer token.
- The limits of entropy are left out: what has the form of a token is replaced.

Rules that only know the name of a service and the length of a value are left out; the names of
variables, members and options find such values (`anyhook.secrets.kinds`).
"""

from __future__ import annotations

import re
import sys
import tomllib
from itertools import product
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined] # the parser of `re` itself
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

TARGET = Path("src/anyhook/secrets/gitleaks.py")
LEFT_OUT = {
    "airtable-personnal-access-token": "in `anyhook.secrets.kinds`: three letters are the mark",
    "authress-service-client-access-key": "in `anyhook.secrets.kinds`: its mark is in the middle",
    "aws-amazon-bedrock-api-key-short-lived": "a prefix without a value",
    "azure-ad-client-secret": "in `anyhook.secrets.kinds`: its mark is in the middle",
    "beamer-api-token": "two letters; `secret` finds it",
    "curl-auth-header": "not linear; `http-authorization` and `secret` find it",
    "curl-auth-user": "not linear; `command-password` finds it",
    "dropbox-short-lived-api-token": "two letters; `secret` finds it",
    "facebook-access-token": "no mark: digits and a bar",
    "flutterwave-public-key": "public",
    "flutterwave-secret-key": "the rule of the encryption key finds it",
    "generic-api-key": "entropy; `secret` finds it",
    "gocardless-api-token": "live_ begins many names; `secret` finds it",
    "harness-api-key": "in `anyhook.secrets.kinds`: three parts",
    "hashicorp-tf-api-token": "in `anyhook.secrets.kinds`: its mark is in the middle",
    "hashicorp-tf-password": "a name and a value; `secret` finds it",
    "jwt": "in `anyhook.secrets.kinds`: the rule takes backslashes",
    "jwt-base64": "base64 of a secret",
    "kubernetes-secret-yaml": "base64, found by its surroundings",
    "lob-api-key": "live_ and test_ begin many names; `secret` finds it",
    "lob-pub-api-key": "public",
    "mailgun-pub-key": "public",
    "mapbox-api-token": "public",
    "maxmind-license-key": "in `anyhook.secrets.kinds`: its mark is at the end",
    "microsoft-teams-webhook": "in `anyhook.secrets.kinds`",
    "nuget-config-password": "a name and a value; `secret` finds it",
    "okta-access-token": "a value that begins with 00; `secret` finds it",
    "openai-api-key": "`api-key` finds it",
    "pkcs12-file": "the name of a file",
    "private-key": "in `anyhook.secrets.kinds`: the rule takes quotation marks",
    "sidekiq-secret": "a name and a value; `secret` finds it",
    "sidekiq-sensitive-url": "`url-password` finds it",
    "sonar-api-token": "in `anyhook.secrets.kinds`: it has an optional mark",
    "sourcegraph-access-token": "in `anyhook.secrets.kinds`: the rule takes every hash",
    "square-access-token": "in `anyhook.secrets.kinds`: EAAA stands in every second image",
    "sumologic-access-id": "two letters, and not secret",
    "telegram-bot-api-token": "in `anyhook.secrets.kinds`: digits before the mark",
    "twilio-api-key": "in `anyhook.secrets.kinds`: two letters are the mark",
    "twitter-bearer-token": "a row of A; `secret` finds it",
    "vault-service-token": "in `anyhook.secrets.kinds`: the rule takes `s.` and any name",
    "yandex-access-token": "two letters; `secret` finds it",
    "yandex-aws-access-token": "two letters; `secret` finds it",
}
"""Rule to the reason for which it is left out."""
COVERED = {
    "anthropic-key": "anthropic-",
    "github-token": "github-",
    "gitlab-token": "gitlab-",
    "slack-token": "slack-",
    "aws-key": "aws-access-token",
    "google-key": "gcp-api-key",
    "huggingface-token": "huggingface-access-token",
    "npm-token": "npm-access-token",
    "pypi-token": "pypi-upload-token",
    "sendgrid-key": "sendgrid-api-token",
    "age-key": "age-secret-key",
    "api-key": "stripe-access-token",
    "atlassian-token": "atlassian-api-token",
    "notion-token": "notion-api-token",
    "sentry-token": "sentry-org-token",
    "json-web-token": "grafana-api-key",
    "onepassword-token": "1password-service-account-token",
}
"""Kind of `anyhook.secrets.kinds` to the rules, or the start of their names, that it replaces."""
VENDOR = "(?:=|>|:{1,3}=|"
"""Part of every rule that is made of the name of a service and a value."""
MIN_MARK = 3
"""Characters. A shorter prefix stands in many words."""
END = r"""(?:[\x60'"\s;]|\\[nr]|$)"""
ENDS = (END, END.replace("|$)", r"|$|\b)"), r"(?:[^\w-]|\z)", r"(?:[^a-zA-Z0-9+/]|\z)", r"\b")
FILLERS = ("EXAMPLE0", "example0", "abcdef01", "01234567")
"""Of an example, for classes of characters: the first one that a class contains."""


class Rule(NamedTuple):
    """A rule as `anyhook.secrets.gitleaks` has it.

    Attributes:
        kind: Its name.
        marks: What its secrets begin with.
        pattern: Its pattern, for `re`.
        example: An example; `{20:abc}` stands for 20 characters that repeat `abc`.
    """

    kind: str
    marks: tuple[str, ...]
    pattern: str
    example: str


def main() -> None:
    """Write the module."""
    file, commit = sys.argv[1:]
    rules: list[Rule] = []
    for rule in tomllib.loads(Path(file).read_text(encoding="utf-8"))["rules"]:
        kind = rule["id"]
        is_covered = any(kind.startswith(name) for name in COVERED.values())
        if kind in LEFT_OUT or is_covered:
            continue
        pattern = translate(rule["regex"])
        marks = marks_of(parser.parse(pattern)) if pattern else []
        if not marks or min(map(len, marks)) < MIN_MARK:
            continue  # the name of a service and the length of a value
        rules.append(Rule(kind, tuple(sorted(marks)), pattern, example_of(parser.parse(pattern))))
    TARGET.write_text(text_of(rules, commit), encoding="utf-8")


def translate(pattern: str) -> str:
    """Return a pattern of Go as one of Python that begins with the mark; empty if it has none."""
    if VENDOR in pattern:  # a service, an operator, and the value in the group
        pattern = "(?i)" + pattern.partition(r"""[\x60'"\s=]{0,5}""")[2].removesuffix(END)
    for end in ENDS:
        pattern = pattern.removesuffix(end)
    pattern = pattern.replace("[[:alnum:]]", "[A-Za-z0-9]").replace(r"\w", "A-Za-z0-9_")
    pattern = re.sub(r"(?<!\[)A-Za-z0-9_(?![^\[]*\])", "[A-Za-z0-9_]", pattern)
    pattern = re.sub(r"^((?:\(\?i\))?)\\b", r"\1", pattern)
    return unlimited(scope_flags(pattern))


def scope_flags(pattern: str) -> str:
    """Return a pattern whose flags in the middle, which Go allows, are those of a group.

    A flag at the start holds for what follows the mark: the mark is searched as it is written.
    """
    mark = re.match(r"\(\?i\)(\(*(?:\?:)?[A-Za-z0-9_.|)-]*?)(?=[\[(\\]|$)", pattern)
    if mark is not None:
        pattern = f"{mark[1]}(?i){pattern[mark.end() :]}"
    while "(?i)" in pattern:
        before, _, after = pattern.partition("(?i)")
        depth = 0
        end = len(after)
        for position, letter in enumerate(after):
            depth += (letter == "(") - (letter == ")")
            if depth < 0:
                end = position
                break
        pattern = f"{before}(?i:{after[:end]}){after[end:]}"
    return pattern


def unlimited(pattern: str) -> str:
    """Return a pattern whose last repetition has no upper limit."""
    return re.sub(r"\{(\d+)(?:,\d+)?\}((?:={0,2}|\)|=\{\d,\d\})*)$", r"{\1,}\2", pattern)


def marks_of(items: Any) -> list[str]:
    """Return the texts of which one is at the start of each match; `[""]` if there is none."""
    marks = [""]
    for code, argument in items:
        parts = _literals(code, argument)
        marks = [mark + part[0] for mark, part in product(marks, parts or [("", True)])]
        if not parts or any(is_end for _, is_end in parts) or len(marks) > 40:
            break
    return marks


def _literals(code: Any, argument: Any) -> list[tuple[str, bool]]:
    """Return what an item begins with, each with whether something else follows within it."""
    if code is codes.LITERAL:
        return [(chr(argument), False)]
    if code is codes.SUBPATTERN and not argument[1]:
        return _of_sequence(argument[3])
    if code is codes.BRANCH:
        return [part for branch in argument[1] for part in _of_sequence(branch)]
    if code is codes.IN and all(item[0] is codes.LITERAL for item in argument):
        return [(chr(item[1]), False) for item in argument]
    return []


def _of_sequence(items: Any) -> list[tuple[str, bool]]:
    texts = marks_of(items)
    is_literal = all(_literals(*item) for item in items)
    return [(text, not is_literal) for text in texts]


def example_of(items: Any) -> str:
    """Return an example of what a pattern matches, as `Rule` has it."""
    return "".join([_example(code, argument) for code, argument in items])


def _example(code: Any, argument: Any) -> str:
    if code is codes.LITERAL:
        return chr(argument)
    if code is codes.SUBPATTERN:
        example: str = example_of(argument[3])
        # Where case does not matter, secrets have both.
        return example.replace(":a}", ":exampleEXAMPLE}") if argument[1] else example
    if code is codes.BRANCH:
        return example_of(argument[1][0])
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        least: int = argument[0]
        item = argument[2]
        if len(item) == 1 and item[0][0] is codes.IN and least > 1:
            return f"{{{least}:{_filler(item[0][1])}}}"
        return example_of(item) * least
    if code is codes.IN:
        return _filler(argument)[-1]
    raise ValueError(f"no example of {code}")


def _filler(parts: Any) -> str:
    letters: set[str] = set()
    for code, argument in parts:
        if code is codes.LITERAL:
            letters.add(chr(argument))
        elif code is codes.RANGE:
            letters |= set(map(chr, range(argument[0], argument[1] + 1)))
        elif code is codes.CATEGORY:
            letters |= set("0123456789")
    return next((filler for filler in FILLERS if letters.issuperset(filler)), min(letters))


HEAD = '''"""Forms of secrets. `tools/gitleaks_rules.py` writes this module: change that program.

From the rules of gitleaks, commit {commit}.
Copyright (c) 2019 Zachary Rice, MIT License: see `gitleaks-license.txt` in this directory.
"""

RULES: tuple[tuple[str, str, str, str], ...] = (
'''
TAIL = ''')
"""Kind, marks with blanks between them, pattern, and example, in which `{20:abc}` stands for 20
characters that repeat `abc`."""
'''


def text_of(rules: list[Rule], commit: str) -> str:
    """Return the text of the module."""
    rows = []
    for rule in rules:
        marks = " ".join(rule.marks)
        rows.append(f'    ("{rule.kind}", "{marks}", r"{rule.pattern}", "{rule.example}"),\n')
    return HEAD.replace("{commit}", commit) + "".join(rows) + TAIL


if __name__ == "__main__":
    main()
