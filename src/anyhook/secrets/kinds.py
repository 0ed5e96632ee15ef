"""The table of secrets: private keys, tokens of services, and what its place shows to be secret.

Tokens are recognized by the rules of gitleaks (`anyhook.secrets.gitleaks`). Here are those that its
rules do not have in this form: services whose tokens vary more than the rules say, and marks that
are not at the start.
"""

from __future__ import annotations

from anyhook.secrets.gitleaks import RULES
from anyhook.secrets.kind import START, SecretKind
from anyhook.secrets.names import NAME_MARKS, NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# -- secrets that have a form

PRIVATE_KEYS = (
    SecretKind(
        "private-key",
        ("-----BEGIN ",),
        (
            (
                r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
                r"(?:(?!-----END)(?:[^\"\\]|\\+[nrt/]))*"
                r"(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?"
            ),
        ),
        "-----BEGIN PRIVATE KEY-----{64:EXAMPLE0}-----END PRIVATE KEY-----",
        follows="[A-Z0-9]",
    ),
    SecretKind(
        "putty-key",
        ("Private-Lines:",),
        (
            (
                r"Private-Lines: ?[0-9]+(?P<secret>(?:(?:\s|\\+[nrt])+(?!Private-MAC)"
                r"[A-Za-z0-9+/=]{4,})+)"
            ),
        ),
        follows=" ?[0-9]",
    ),
)


def _kind(
    label: str, marks: str, patterns: str | tuple[str, ...], example: str, **options: Any
) -> SecretKind:
    """Return a kind whose marks are given as one text with blanks between them."""
    if isinstance(patterns, str):
        patterns = (patterns,)
    return SecretKind(label, tuple(marks.split()), patterns, example, **options)


TOKENS = (
    _kind("anthropic-key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{16,}", "sk-ant-api03-{64:EXAMPLE0}"),
    _kind(
        "api-key",
        "sk- sk_ rk_",
        rf"{START}(?:sk|rk)[-_](?!ant-)[A-Za-z0-9_-]{{20,}}",
        "sk-{48:EXAMPLE0}",
    ),
    _kind("webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{20,}", "whsec_{32:EXAMPLE0}"),
    _kind(
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"(?:gh[pousr]_|github_pat_)[A-Za-z0-9]{20}[A-Za-z0-9_]*",
        "ghp_{36:EXAMPLE0}",
    ),
    _kind(
        "gitlab-token",
        "glpat- glptt- gldt- glrt- glrtr- glcbt- glffct- glft- glimt- glagent- gloas- glsoat- glwt-"
        " _gitlab_session=",
        (
            r"gl(?:pat|ptt|dt|rtr?|cbt|ffct|ft|imt|agent|oas|soat|wt)-[A-Za-z0-9_.-]{19,}[A-Za-z0-9_-]",
            r"_gitlab_session=(?P<secret>[0-9a-f]{32,})",
        ),
        "glpat-{20:EXAMPLE0}",
    ),
    _kind("gitlab-token", "gr1348941", r"GR1348941[A-Za-z0-9_-]{20,}", "", any_case=True),
    _kind(
        "slack-token",
        "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe.xox xapp-",
        (
            r"xox[abcdeoprs]-[A-Za-z0-9-]{10,}",
            r"xoxe\.xox[bp]-[A-Za-z0-9-]{10,}",
            r"xapp-[A-Za-z0-9-]{20,}",
        ),
        "xoxb-{12:0}-{12:0}-{24:EXAMPLE0}",
        follows=r"[A-Za-z0-9-]{8}",
    ),
    _kind(
        "slack-webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}",
        "hooks.slack.com/services/T{8:0}/B{8:0}/{24:EXAMPLE0}",
    ),
    _kind(
        "teams-webhook",
        "webhook.office.com/",
        r"webhook\.office\.com/webhookb2/[A-Za-z0-9@/-]{20,}",
        "webhook.office.com/webhookb2/{36:EXAMPLE0}",
    ),
    _kind(
        "aws-key",
        "AKIA ASIA ABIA ACCA A3T",
        r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}(?![A-Z0-9])",
        "AKIAIOSFODNN7EXAMPLE",
        follows="[A-Z0-9]{16}",
    ),
    _kind(
        "google-key", "AIza", r"AIza[A-Za-z0-9_-]{35}", "AIza{35:EXAMPLE0}", follows=r"[\w-]{35}"
    ),
    _kind("google-token", "ya29.", r"ya29\.[A-Za-z0-9_-]{20,}", "ya29.{64:EXAMPLE0}"),
    _kind("google-client-secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{20,}", "GOCSPX-{28:EXAMPLE0}"),
    _kind("huggingface-token", "hf_", r"hf_[A-Za-z0-9]{20,}", "hf_{34:EXAMPLE0}"),
    _kind("npm-token", "npm_", r"npm_[A-Za-z0-9]{30,}", "npm_{36:EXAMPLE0}"),
    _kind("pypi-token", "pypi-", r"pypi-[A-Za-z0-9_-]{40,}", "pypi-{64:EXAMPLE0}"),
    _kind("docker-token", "dckr_pat_", r"dckr_pat_[A-Za-z0-9_-]{20,}", "dckr_pat_{27:EXAMPLE0}"),
    _kind(
        "sendgrid-key",
        "SG.",
        r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
        "SG.{22:EXAMPLE0}.{43:EXAMPLE0}",
    ),
    _kind(
        "age-key",
        "AGE-SECRET-KEY-",
        r"AGE-SECRET-KEY-1[A-Z0-9]{40,}",
        "AGE-SECRET-KEY-1{58:EXAMPLE0}",
    ),
    # Where it is not a token, the rest of the word is taken, too: `-eyJ-eyJ…` would be searched
    # to its end from each of its beginnings.
    _kind(
        "json-web-token",
        "eyJ",
        (
            r"(?:(?P<secret>eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]*"
            r"|eyJrIjoi[A-Za-z0-9]{62,}={0,3})|eyJ[A-Za-z0-9_-]*)"
        ),
        "eyJ{20:EXAMPLE0}.{40:EXAMPLE0}.{43:EXAMPLE0}",
        follows=r"[\w-]{8}",
    ),
    _kind(
        "onepassword-token",
        "ops_eyJ",
        r"ops_eyJ[A-Za-z0-9+/_-]{100,}={0,3}",
        "ops_eyJ{250:EXAMPLE0}",
    ),
    _kind(
        "atlassian-token", "ATATT3 ATCTT3", r"AT[AC]TT3[A-Za-z0-9_=-]{40,}", "ATATT3{186:EXAMPLE0}"
    ),
    _kind("notion-token", "ntn_", r"ntn_[A-Za-z0-9]{40,}", "ntn_{46:EXAMPLE0}"),
    _kind("sentry-token", "sntrys_", r"sntrys_[A-Za-z0-9+/=_]{40,}", "sntrys_{60:EXAMPLE0}"),
    _kind("vault-token", "hvs. hvr.", r"hv[sr]\.[A-Za-z0-9_-]{20,}", "hvs.{90:EXAMPLE0}"),
    _kind("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,}", "gsk_{52:EXAMPLE0}"),
    _kind("xai-key", "xai-", r"xai-[A-Za-z0-9]{40,}", "xai-{80:EXAMPLE0}"),
    _kind("replicate-token", "r8_", r"r8_[A-Za-z0-9]{30,}", "r8_{37:EXAMPLE0}"),
    _kind("figma-token", "figd_", r"figd_[A-Za-z0-9_-]{30,}", "figd_{40:EXAMPLE0}"),
    _kind("sonar-token", "squ_ sqp_ sqa_", r"sq[upa]_[A-Za-z0-9]{40,}", "squ_{40:abcdef01}"),
    _kind(
        "sourcegraph-token",
        "sgp_",
        r"sgp_(?:(?:[a-fA-F0-9]{16}|local)_)?[a-fA-F0-9]{40,}",
        "sgp_{40:abcdef01}",
    ),
    _kind("square-token", "sq0atp- sq0csp-", r"sq0[ac][ts]p-[\w-]{22,}", "sq0atp-{22:EXAMPLE0}"),
    _kind(
        "twilio-key",
        "sk",
        rf"{START}SK[0-9a-f]{{32}}(?![A-Za-z0-9])",
        "SK{32:abcdef01}",
        follows="[0-9a-f]{32}",
        any_case=True,
    ),
    _kind(
        "airtable-token",
        "pat",
        rf"{START}pat[A-Za-z0-9]{{14}}\.[a-f0-9]{{64,}}",
        "pat{14:EXAMPLE0}.{64:abcdef01}",
        follows=r"[a-z0-9]{14}\.",
        any_case=True,
    ),
    _kind(
        "harness-key",
        "pat. sat.",
        r"[ps]at\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20,}",
        "pat.{22:EXAMPLE0}.{24:EXAMPLE0}.{20:EXAMPLE0}",
        follows=r"(?=.{22}\.)[\w-]{22}\.",
    ),
    _kind(
        "authress-key",
        ".acc- .acc_",
        r"(?:sc|ext|scauth|authress)_[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][A-Za-z0-9-]{10,32}\.[\w+/=-]{30,}",
        "sc_{5:example0}.{4:example0}.acc-{10:example0}.{30:example0}",
        before=46,
    ),
    _kind(
        "terraform-token",
        ".atlasv1.",
        r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{50,}",
        "{14:EXAMPLE0}.atlasv1.{60:EXAMPLE0}",
        before=14,
    ),
    _kind(
        "azure-client-secret",
        "Q~",
        r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,}",
        "EXA8Q~{34:EXAMPLE0}",
        before=4,
    ),
    _kind(
        "maxmind-key",
        "_mmk",
        r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?![A-Za-z0-9])",
        "{6:EXAMPLE0}_{29:EXAMPLE0}_mmk",
        follows=r"(?!\w)",
        before=36,
    ),
    _kind(
        "telegram-token",
        ":AA",
        r"(?<=[0-9]{6}):(?P<secret>AA[A-Za-z0-9_-]{32,})",
        "12345678:AA{33:EXAMPLE0}",
        follows=r"[\w-]{32}",
    ),
    _kind(
        "discord-token",
        ".",
        r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
        "MT{24:EXAMPLE0}.{6:EXAMPLE0}.{38:EXAMPLE0}",
        follows=r"(?=.{6}\.)[\w-]{6}\.[\w-]{27}",
        before=28,
    ),
)
_IN_LOWER_CASE = (
    "artifactory-reference-token",
    "clickhouse-cloud-api-secret-key",
    "databricks-api-token",
    "easypost-test-api-token",
)
"""Rules whose marks share a letter with others only in lower case."""
TOKENS_OF_RULES = tuple(
    _kind(label, marks.lower(), pattern, example, any_case=True, follows="[a-z0-9]{20}")
    if label in _IN_LOWER_CASE
    else _kind(label, marks, pattern, example)
    for label, marks, pattern, example in RULES
)


# -- secrets that are recognized by a name, an option, a header or an address

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

KINDS = (*PRIVATE_KEYS, *TOKENS, *TOKENS_OF_RULES, *PLACES)
"""The first one that finds a secret names it."""
