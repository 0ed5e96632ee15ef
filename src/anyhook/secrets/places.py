"""Secrets that are recognized by their place: by a name, an option, a header or an address."""

from __future__ import annotations

from anyhook.secrets.kind import START, SecretKind
from anyhook.secrets.names import NAME_MARKS, NAMES

_SPACE = r"(?:\s|\\+[nrt])"
_QUOTE = r"\\*[\"'`]"
_MIXED = r"(?=[^\s\"'\\<>()]*[0-9]|[^\s\"'\\<>()]*[a-z][^\s\"'\\<>()]*[A-Z])"
"""Has a digit, or a capital behind a small letter: no word of a sentence or a program."""
_NO_CODE = (
    r"(?![$\[{<(]|[A-Za-z_]\w*(?:\.\w+)*[\[(]|[A-Za-z_]+(?:\.[A-Za-z_]+)+(?![\w./+~@!%^&*=-])"
    r"|(?i:bearer|basic|string|number|boolean|undefined|function|unknown|optional|required)\b)"
)
"""No variable, no call of a function, no member of an object, no type, no scheme of a header."""
_VALUE = (
    rf"{_NO_CODE}(?:[A-Za-z0-9_./+~@!%^&*=-]|\\+u[0-9a-fA-F]{{4}}"
    r"|\\{3,}n(?=[A-Za-z0-9])|\\\n){6,}"
)
"""A value without quotation marks, also with escaped letters, and behind an escaped line break."""
_NAME = rf"(?i:{NAMES})(?:_?[0-9]{{1,2}})?"
_WORDS = ("password", "passwd", "passphrase", "secret", "token", "key", "apikey", "credentials")
"""Ends of names behind which a blank stands before the value."""
_OPERATOR = rf"(?::?\s*(?i:str(?:ing)?)\b)?\s*(?::{{0,3}}=>?|[?.+]=|:){_SPACE}*"
_VALUE_FOLLOWS = (
    r"""(?:_?[0-9]{1,2})?(?:["'=:>]|[?.+]=|\\+["']"""
    r"""|\s+(?:[=:>]|[?.+]=|value=|str(?:ing)?\s*[=:?.+]))"""
)
_ARGUMENT = r"""(?:\\*["'])?(?P<secret>(?!\$|\\*["'])[^\s"'\\;|&]{3,})"""
"""The value of an option: no variable."""


def _command(programs: str, option: str, secret: str = _ARGUMENT) -> str:
    """Return a pattern of an option, at most 400 characters behind its program."""
    between = rf"(?:(?!{programs}|(?<!\\)(?:\n|\\n)|(?:\n|\\n)\w)[^;|]){{0,400}}?"
    return rf"(?:{programs})\b{between}(?:\s|\\t){option}{secret}"


PLACES = (
    SecretKind(
        "http-authorization",
        ("bearer ", "basic "),
        (
            (
                rf"{START}(?i:bearer|basic) +"
                r"(?P<secret>(?:(?=\S*[0-9A-Z])[A-Za-z0-9._~+/=-]{12,}|[a-z]{24,}))"
            ),
        ),
        follows=" *[A-Za-z0-9._~+/=-]{12}",
        any_case=True,
    ),
    SecretKind(
        "cookie",
        ("cookie",),
        (
            (
                rf"(?i:cookies?)(?:{_QUOTE})?\s*[:=]\s*(?:{_QUOTE})?"
                r"(?P<secret>(?!\$)[\w.-]{1,100}=[^\"'\\\s,$({][^\"'\\\n]{7,})"
            ),
        ),
        follows=r"s?[\\\"'`]*\s*[:=]",
        any_case=True,
    ),
    SecretKind(
        "url-signature",
        ("sig=", "signature="),
        (r"(?i:(?<![a-z])sig|signature)=(?P<secret>[A-Za-z0-9%+/_=-]{20,})",),
        follows="[A-Za-z0-9%+/_=-]{20}",
        any_case=True,
    ),
    SecretKind(
        "url-password",
        ("://",),
        (
            (
                r"://[^\s/:@\"'\\]{0,256}:(?P<secret>(?!\$|[0-9]{1,5}/)"
                r"(?:[^\s/\"'\\]{1,256}|[^\s@\"'\\]{1,256}))@"
            ),
        ),
        follows=r"[^\s/:@\"'\\]*:",
    ),
    SecretKind(
        "command-password",
        ("curl", "mysql", "mariadb", "sshpass", " login", "ssh-keygen", "pass:", "machine "),
        (
            _command(
                "curl", r"(?:-u|--user|--proxy-user)[ =]*", rf"\\*[\"']?[^\s:\"'\\]*:{_ARGUMENT}"
            ),
            _command(
                "curl",
                r"(?:-b|--cookie)[ =]*",
                r"\\*[\"']?(?P<secret>(?!\$)[\w.-]+=[^\"'\\\s]{4,})",
            ),
            _command(r"(?:mysql|mariadb)[a-z-]{0,20}", "-p(?!rint|ath|ort)"),
            _command("sshpass", "-p *"),
            rf" login\b(?:(?!login|[;|]|\\n\w).){{0,400}}?\s-p +{_ARGUMENT}",
            _command("ssh-keygen", "-[NP] *"),
            rf"(?<=[ \"'=])pass:{_ARGUMENT}",
            (
                rf"machine {_SPACE}*\S{{1,200}}?{_SPACE}+login{_SPACE}+\S{{1,200}}?{_SPACE}+"
                r"password(?:\s|\\+[nrt])+(?P<secret>[^\s\"'\\]{3,})"
            ),
        ),
        follows="",
        any_case=True,
    ),
    SecretKind(
        "secret",
        tuple([f"-{word}" for word in _WORDS]),
        # An option: --password …, --db-password …; `get-password` is a command.
        (
            (
                rf"(?:(?<![\w-])|(?<=\\[nrt]))--?(?:[A-Za-z][\w-]{{0,30}})??{_NAME}{_SPACE}+"
                rf"(?:{_QUOTE})?(?P<secret>(?!-){_VALUE})"
            ),
        ),
        follows=rf"(?:_?[0-9]{{1,2}})?{_SPACE}",
        any_case=True,
        before=40,
    ),
    SecretKind(
        "secret",
        (*[f"_{word}" for word in _WORDS], *[f"x {word}" for word in (*_WORDS, "api_key")]),
        # Fish and Windows: set -x TOKEN …, setx TOKEN ….
        (
            (
                rf"(?i:set -[glux]+|setx(?: /m)?) +\w{{0,30}}?{_NAME} +(?:{_QUOTE})?"
                rf"(?P<secret>{_VALUE})"
            ),
        ),
        follows="(?:_?[0-9]{1,2})? ",
        any_case=True,
        before=48,
    ),
    SecretKind(
        "secret",
        ("pass", "pwd", "_pat", "auth"),
        (
            rf"{START}(?i:pass|pwd|_pat)\s*=\s*(?:{_QUOTE})?(?P<secret>(?![/~]){_VALUE})",
            rf"(?<=_)(?i:pass|pwd)\s*=\s*(?:{_QUOTE})?(?P<secret>(?![/~]){_VALUE})",
            rf"(?:(?<=[A-Za-z0-9])(?i:_pat)|(?<=_)(?i:auth))=(?:{_QUOTE})?(?P<secret>(?![/~]){_VALUE})",
            r"(?i:auth)\\*\"\s*:\s*\\*\"(?P<secret>[A-Za-z0-9+/]{12,}={0,2})\\*\"",
            r"(?i:pass|pwd)\\*\"\s*:\s*\\*\"(?P<secret>[^\"\\]{4,})\\*\"",
        ),
        follows=r"\s*=|\\*\"\s*:",
        any_case=True,
    ),
    SecretKind(
        "secret",
        NAME_MARKS,
        (
            # A member of an object: {"api_key": "…"}.
            rf'{_NAME}"\s*:\s*"(?P<secret>(?!(?i:bearer|basic) )(?:[^"\\]|\\.){{4,}})"',
            # An assignment inside a string: \"token\": \"…\", also deeper. What is behind a
            # quotation mark that ends a string of JSON is left out.
            (
                rf"{_NAME}(?:{_QUOTE})?{_OPERATOR}(?P<quote>\\*\")"
                r"(?P<secret>(?!\$|[\s,:}\]]|(?i:bearer|basic) )[^\"'\\]{4,})(?P=quote)"
            ),
            rf"{_NAME}(?:{_QUOTE})?{_OPERATOR}`(?P<secret>(?!\$)[^\s\"'`\\]{{4,}})`",
            # API_KEY='…': a dollar sign is not a variable there, but '$TOKEN' is one elsewhere.
            (
                rf"{_NAME}(?:{_QUOTE})?{_OPERATOR}'"
                r"(?P<secret>(?!\$(?:[A-Z0-9_]+'|[a-z0-9_]+'|[({])|(?i:bearer|basic) )"
                r"[^\"'\\]{4,})'"
            ),
            # The same without quotation marks: API_KEY=…, token: ….
            rf"{_NAME}\s*(?::{{0,3}}=|\?=|:)\s*(?P<secret>{_VALUE})",
            # In brackets: token=<…>, where a sample would have words.
            rf"{_NAME}\s*[=:]\s*(?:\(|<)(?P<secret>{_MIXED}[A-Za-z0-9_./+~@!%^&*=$-]{{6,}})[)>]",
            # With a dollar sign that is not a variable: PASSWORD=\$….
            rf"{_NAME}=\\+(?P<secret>\$[A-Za-z0-9_./+~@!%^&*=-]{{6,}})",
            # On the next line of YAML.
            rf"{_NAME}:{_SPACE}+(?P<secret>{_MIXED}{_VALUE})(?=\\|\s|\"|$)",
            # XML: <password>…</password>, <add key="Password" value="…"/>.
            rf"{_NAME}>{_SPACE}*(?P<secret>[^\s<>\"'\\]{{4,}}){_SPACE}*</",
            rf"{_NAME}\\*[\"']\s+value=\\*[\"'](?P<secret>[^\"'\\]{{4,}})\\*[\"']",
            # An argument behind the name: setProperty("TOKEN", "…").
            rf"{_NAME}\\*[\"']\s*,\s*\\*[\"'](?P<secret>{_MIXED}[\w+/=.-]{{12,}})\\*[\"']",
        ),
        follows=_VALUE_FOLLOWS,
        any_case=True,
    ),
)
