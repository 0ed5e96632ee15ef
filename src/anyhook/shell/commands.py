"""What a command line for a POSIX shell runs, told without running it.

Whatever shells read in different ways is unreadable: who asks whether a guard must run had better
run it too often.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple


class UnreadableError(Exception):
    """Nobody can tell for sure what a command line runs."""


class Run(NamedTuple):
    """One simple command: the ways to write it, and whether its name is known only to the shell."""

    texts: tuple[str, ...]
    is_vague: bool


@dataclass(slots=True)
class Script:
    """What a command line runs.

    Attributes:
        runs: Its simple commands.
        expansions: How often it expands something.
    """

    runs: list[Run] = field(default_factory=list)
    expansions: int = 0


class _Word(NamedTuple):
    text: str
    is_vague: bool


@dataclass(slots=True)
class _Draft:
    """A simple command that is being read; positions count characters."""

    start: int
    name: int = 0
    end: int = 0
    words: list[_Word] = field(default_factory=list)


class _Here(NamedTuple):
    delimiter: str
    is_literal: bool
    has_tabs: bool


def read_commands(text: str) -> Script:
    """Read a command line.

    Raises:
        UnreadableError: If nobody can tell for sure what it runs.
    """
    script = Script()
    _Reader(text, script).commands("")
    return script


_MAX_DEPTH = 32
"""How deep commands may nest: keeps the work linear, and the stack of the reader small."""

_SPACE = re.compile(r"(?:[ \t]|\\\n)*+")
_BLANK = re.compile(r"(?:[ \t]|\\\n|#[^\n]*+)*+")
_SIGN = re.compile(
    r"(?P<torn>(?:<<|[(<>])\\\n)"
    r"|(?P<here><<(?!<)-?)"
    r"|(?P<into>&>>?|<<<|[<>]&|<>|>>|>\||[<>](?!\())"
    r"|(?P<stop>;;&?|;&|&&|\|[|&]?|[;&\n])"
    r"|(?P<open>\()"
    r"|(?P<close>\))"
)
_EXPANSION = r"\$\(?\\\n|\$\(\(|\$\(|\$\{[\s|(]|\$[\[{]|\$(?:[A-Za-z_]\w*|[0-9@*#?!$-])|`"
_PIECE = re.compile(
    r"""(?P<plain>[^ \t\n;&|()<>\\'"$`]++)"""
    r"""|(?P<escape>\\.)"""
    r"""|(?P<single>'[^']*+')"""
    r"""|(?P<ansi>\$'(?:[^'\\]|\\.)*+')"""
    r"""|(?P<torn>\$?')"""
    r"""|(?P<double>\$?")"""
    rf"""|(?P<expansion>{_EXPANSION}|[<>]\()"""
    r"""|(?P<paren>\()"""
    r"""|(?P<lone>[$\\])""",
    re.DOTALL,
)
_INSIDE = re.compile(rf"""\\.|\$'|{_EXPANSION}|['"}}]|[<>]\(""", re.DOTALL)
_IN_ARITHMETIC = re.compile(rf"""{_EXPANSION}|[()'"\\]""")
_PLAIN_EXPANSION = re.compile(
    r"""\$\w+|\$.|\$\{[^(){}'"`\\]*+\}|\$\([^()'"`\\#]*+\)|`[^()'"`\\]*+`"""
)
_TICKS = re.compile(r"((?:[^`\\]|\\.)*+)`", re.DOTALL)
_IN_TICKS = re.compile(r"\\([\\`$])")
_IN_QUOTES = re.compile(r"\\(?:\n|([\\\"`$]))")

_QUOTED = re.compile(r"[^']*+'")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_SUBSCRIPT = re.compile(r"[A-Za-z_]\w*\[(?![\w$@*+-]*\])")
"""An array's index that may hold blanks and operators."""
_EVALUATED = re.compile(r"\w\[(?:[^\[\]]|\[[^\[\]]*\])*?(?:\$\(|`)")
"""An array's index that `let`, `test` and others run even if it was quoted."""
_WRONG_ITEM = re.compile(r"[?*+@!=]\(")
_DESCRIPTOR = re.compile(r"[0-9]+|\{\w+\}")
_PARAMETERS = re.compile(r"[ \t]*\([ \t]*\)")
_ARITHMETIC = re.compile(r"[ \t]*\(\(")
_IN = re.compile(r"in(?=[\s(])")
_ESAC = re.compile(r"esac(?=[\s;&|)<>]|\Z)")
_MANY_FILES = re.compile(r"[*?\[{]")

_KEYWORDS = frozenset("if then elif else fi while until do done ! time { }".split())
_WRAPPERS = {
    "busybox": "",
    "caffeinate": "tw",
    "chroot": "",
    "chrt": "TPD",
    "doas": "uC",
    "faketime": "f",
    "fakeroot": "lsib",
    "flock": "wE",
    "gosu": "",
    "ltrace": "aADeFlnopsuxX",
    "pkexec": "u",
    "proxychains": "f",
    "proxychains4": "f",
    "strace": "abeEIoOpPsSuUX",
    "su-exec": "",
    "taskset": "",
    "torsocks": "",
    "toybox": "",
    "unbuffer": "",
    "valgrind": "",
    "winpty": "",
    "xvfb-run": "enspw",
    "timeout": "ks",
    "time": "fo",
    "nice": "",
    "nohup": "",
    "stdbuf": "ioe",
    "xargs": "adEILnPs",
    "env": "uC",
    "sudo": "ugCDhpRrTtU",
    "watch": "",
    "ionice": "cnpPu",
    "setsid": "",
    "command": "",
    "builtin": "",
    "exec": "a",
}
"""Programs that run their arguments as a command, and their options that take the next word."""
_FIRST = frozenset("chroot chrt faketime flock gosu su-exec taskset".split())
"""Those of them that take one word of their own before the command."""
_TEXT_OPTIONS = {
    "env": ("S", "--s"),
    "flock": ("c", "--c"),
    "sudo": ("si", "--s"),
    "doas": ("s", "--s"),
}
"""Their options that make a shell read the rest, or split it into words once more."""
_DURATION = re.compile(r"[0-9][0-9.]*[smhd]?")
_SHELLS = frozenset(
    "sh bash rbash dash ash hush zsh ksh ksh93 mksh lksh oksh rksh yash posh fish csh tcsh"
    " pwsh powershell nu elvish xonsh".split()
)
_RUN_TEXT = re.compile(r"-\w*c\w*")
_SHELL_OPTION = re.compile(
    r"[-+][abefhiklmnprtuvxBCDEHPT]*(o?)|--(?:norc|noprofile|posix|login|verbose|restricted)"
)
"""Options after which a shell still reads its script from a file; `o` takes the next word."""
_RUN_TEXTS = frozenset(
    "eval trap alias su ssh rsh parallel sem script runuser sg at batch"
    " setarch setpriv nsenter unshare systemd-run bwrap firejail dbus-run-session cmd".split()
)
"""Programs that hand a text to a shell, or of whose options nobody knows which take a word."""
_RUN_OPTIONS = {
    "find": re.compile(r"-(?:exec|ok)(?:dir)?"),
    "fd": re.compile(r"-\w*[xX].*|--exec.*"),
    "fdfind": re.compile(r"-\w*[xX].*|--exec.*"),
}
"""Programs that run others if they are told to."""
_OPEN_FILE = re.compile(r"/(?:dev|proc)/")
"""Where the files are that hold what a command line says."""
_SHELL_SIGN = re.compile(r"[;&|`$()<>\n]")
_TELLS = re.compile(r"-\w*[vV]")
"""Options with which `command` only tells where a program is."""


class _Reader:
    """One pass over a command line for a POSIX shell, which collects what it runs.

    What shells read in different ways raises: it is better to run a guard too often. Above all,
    nothing may count as quoted, commented or part of a here-document that a shell would run.
    """

    __slots__ = ("at", "depth", "pending", "script", "text")

    def __init__(self, text: str, script: Script, depth: int = 0) -> None:
        if "\0" in text or "\r" in text:  # shells drop the one, and words may hold the other
            raise UnreadableError
        self.text = text
        self.script = script
        self.depth = depth
        self.at = 0
        self.pending: list[_Here] = []

    def commands(self, end: str) -> None:
        """Read commands up to a sign: `)`, `;;` of a case, or nothing for the end of the text."""
        self._enter()
        while (sign := self._command(end)) != end:
            if sign in {"", ")", ";;"}:
                raise UnreadableError
        self.depth -= 1

    def _enter(self) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise UnreadableError

    def _matched(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match[0]

    # --- signs between words

    def _command(self, end: str) -> str:
        """Read one command and return the sign that ended it."""
        self._matched(_BLANK)
        draft = _Draft(self.at)
        while True:
            self._matched(_BLANK)
            sign = _SIGN.match(self.text, self.at)
            kind = sign.lastgroup if sign else "word" if self.at < len(self.text) else "stop"
            ended = None
            if kind == "torn":
                raise UnreadableError
            if kind == "word":
                ended = self._argument(draft, end)
            elif kind == "open":
                ended = self._group(draft)
            elif kind == "here":
                self._here()
            elif kind == "into":
                self._target()
            else:
                self._record(draft)
                return self._stop()
            draft.end = self.at
            if ended is not None:
                return ended

    def _stop(self) -> str:
        sign = self._matched(_SIGN)
        if sign == "\n":
            self._bodies()
        return ";;" if sign in {";;", ";&", ";;&"} else sign

    def _argument(self, draft: _Draft, end: str) -> str | None:
        """Read a word, or what a keyword begins; return the sign that this amounts to, if any."""
        start = self.at
        word = self._word()
        raw = self._raw(start)
        if _DESCRIPTOR.fullmatch(raw) and self.text[self.at : self.at + 1] in {"<", ">"}:
            return None
        if not draft.words:
            if raw in _KEYWORDS or raw.startswith("-") or _ASSIGNMENT.match(raw):
                return None
            if raw == "esac" and end == ";;":
                self.at = start
                return ";;"
            if self._compound(raw):
                return ";"
            draft.name = start
        elif raw == "do" and len(draft.words) == 2 and draft.words[0].text in {"for", "select"}:
            self._record(draft)
            return ";"
        draft.words.append(word)
        return None

    def _compound(self, keyword: str) -> bool:
        """Read what follows a keyword that does not simply precede a command."""
        if keyword == "case":
            self._case()
        elif keyword == "[[":
            self._test()
        elif keyword == "function":
            self._space()
            self._word()
            self._matched(_PARAMETERS)
        elif keyword in {"for", "select"} and self._matched(_ARITHMETIC):
            self._arithmetic()
        elif keyword == "coproc":
            raise UnreadableError
        else:
            return False
        return True

    def _group(self, draft: _Draft) -> str:
        """Read a subshell, an arithmetic command, or the parentheses of a function's definition."""
        if draft.words:
            if len(draft.words) > 1 or not self._matched(_PARAMETERS):
                raise UnreadableError
        elif self._matched(_ARITHMETIC):
            self._arithmetic()
        else:
            self.at += 1
            self.commands(")")
        return ";"

    def _record(self, draft: _Draft) -> None:
        if not draft.words:
            return
        words, end = draft.words, draft.end
        inner = _unwrapped(words)
        texts = (
            self.text[draft.name : end],
            self.text[draft.start : end],
            " ".join(word.text for word in words),
            " ".join(word.text for word in inner),
        )
        is_vague = words[0].is_vague or _runs_text(inner)
        self.script.runs.append(Run(tuple(dict.fromkeys(texts)), is_vague))

    def _space(self, blank: re.Pattern[str] = _BLANK) -> None:
        """Skip blanks and line ends."""
        self._matched(blank)
        while self.text.startswith("\n", self.at):
            self.at += 1
            self._bodies()
            self._matched(blank)

    def _case(self) -> None:
        self._space()
        self._word()
        self._space()
        if self._matched(_IN) != "in":
            raise UnreadableError
        while True:
            self._space()
            if self._matched(_ESAC):
                return
            if self.text.startswith("(", self.at):
                self.at += 1
            self._patterns()
            self.commands(";;")

    def _patterns(self) -> None:
        """Read words with `|` between them up to a closing parenthesis."""
        self._enter()
        while self._inner_word() or self.text.startswith("|", self.at):
            if self.text.startswith("|", self.at):
                self.at += 1
        self._closing()
        self.depth -= 1

    def _items(self) -> None:
        """Read the words of an array; after a wrong one a shell would go on with the next line."""
        self._enter()
        while item := self._inner_word():
            if _WRONG_ITEM.search(item):
                raise UnreadableError
        self._closing()
        self.depth -= 1

    def _closing(self) -> None:
        if not self.text.startswith(")", self.at):
            raise UnreadableError
        self.at += 1

    def _test(self) -> None:
        while (word := self._inner_word()) != "]]":
            if not word:
                if self.text[self.at : self.at + 1] not in {"&", "|", "(", ")", "<", ">"}:
                    raise UnreadableError
                self.at += 1

    def _inner_word(self) -> str:
        """Read a word where `#` may or may not begin a comment."""
        self._space(_SPACE)
        if self.text.startswith("#", self.at):
            raise UnreadableError
        start = self.at
        self._word()
        return self.text[start : self.at]

    # --- redirections

    def _target(self) -> None:
        self._matched(_SIGN)
        self._matched(_SPACE)
        start = self.at
        self._word()
        if self.at == start:
            raise UnreadableError

    def _here(self) -> None:
        sign = self._matched(_SIGN)
        self._matched(_SPACE)
        start = self.at
        word = self._word()
        raw = self.text[start : self.at]
        if not raw or "$" in raw or "`" in raw or "\n" in raw:
            raise UnreadableError
        is_literal = any(quote in raw for quote in "\\'\"")
        self.pending.append(_Here(word.text, is_literal, sign == "<<-"))

    def _bodies(self) -> None:
        for here in self.pending:
            start = self.at
            end = self._body(here)
            if not here.is_literal:
                _Reader(self.text[start:end], self.script, self.depth)._through("")  # noqa: SLF001
        self.pending.clear()

    def _body(self, here: _Here) -> int:
        """Go past a here-document and return where its body ends."""
        while self.at < len(self.text):
            start = self.at
            line = self._line(here)
            if line == here.delimiter:
                return start
            # Some shells end a document at its delimiter's line even if a `)` stands there too.
            if self.depth > 1 and line.startswith(here.delimiter) and ")" in line:
                raise UnreadableError
        return len(self.text)

    def _line(self, here: _Here) -> str:
        pieces = []
        while True:
            end = self.text.find("\n", self.at)
            piece = self.text[self.at : end if end >= 0 else len(self.text)]
            self.at = end + 1 if end >= 0 else len(self.text)
            slashes = len(piece) - len(piece.rstrip("\\"))
            if here.is_literal or slashes % 2 == 0:
                break
            pieces.append(piece[:-1])
        line = "".join([*pieces, piece])
        return line.lstrip("\t") if here.has_tabs else line

    # --- words

    def _word(self) -> _Word:
        start, before = self.at, self.script.expansions
        parts, is_vague = [], False
        while piece := _PIECE.match(self.text, self.at):
            if piece.lastgroup == "paren" and not self._belongs(start):
                break
            self.at = piece.end()
            text, is_unknown = self._piece(piece)
            parts.append(text)
            is_vague = is_vague or is_unknown
        if _SUBSCRIPT.match(self._raw(start)):
            raise UnreadableError
        text = "".join(parts)
        if _EVALUATED.search(text):
            raise UnreadableError
        return _Word(text, (is_vague and text != "[") or self.script.expansions > before)

    def _belongs(self, start: int) -> bool:
        """Tell whether a parenthesis goes on with a word: an array or an extended pattern."""
        before = self.text[self.at - 1] if self.at > start else ""
        if before == "\n":
            raise UnreadableError  # the line goes on, and so may be what stands before it
        if before == "=":
            return _ASSIGNMENT.fullmatch(self._raw(start)) is not None
        return before != "" and before in "?*+@!"

    def _raw(self, start: int) -> str:
        """Return what was read since a position, with continued lines joined."""
        return self.text[start : self.at].replace("\\\n", "")

    def _piece(self, piece: re.Match[str]) -> tuple[str, bool]:
        """Read on from the start of a piece; return its text, and whether it stands for others."""
        sign, start = piece[0], piece.end()
        match piece.lastgroup:
            case "plain":
                return sign, _MANY_FILES.search(sign) is not None
            case "escape":
                return sign[1:].replace("\n", ""), False
            case "single":
                return sign[1:-1], False
            case "ansi":
                return sign[2:-1], "\\" in sign
            case "double":
                self._through('"')
                return _IN_QUOTES.sub(r"\1", self.text[start : self.at - 1]), False
            case "expansion":
                self._expand(sign)
            case "paren" if self.text[piece.start() - 1] == "=":
                self._items()
            case "paren":
                self._patterns()
            case "torn":
                raise UnreadableError
        return self.text[piece.start() : self.at], piece.lastgroup == "paren"

    def _expand(self, sign: str, *, is_quoted: bool = False) -> None:
        self.script.expansions += 1
        if sign in {"$(", "<(", ">("}:
            self._substitution()
        elif sign == "$((":
            self._arithmetic()
        elif sign == "${":
            self._through("}", is_quoted=is_quoted)
        elif sign == "`":
            self._backticks(is_quoted=is_quoted)
        elif sign[1] in "\\([{":
            raise UnreadableError

    def _substitution(self) -> None:
        # Shells do not agree on where the body of a document begins that is open out here.
        if self.pending:
            raise UnreadableError
        self.commands(")")
        if self.pending:
            raise UnreadableError

    def _backticks(self, *, is_quoted: bool) -> None:
        match = _TICKS.match(self.text, self.at)
        if match is None or (is_quoted and '\\"' in match[1]):
            raise UnreadableError
        self.at = match.end()
        _Reader(_IN_TICKS.sub(r"\1", match[1]), self.script, self.depth).commands("")

    def _through(self, closer: str, *, is_quoted: bool = False) -> None:
        """Read up to `"` or `}`, or to the end, and look into the expansions on the way."""
        self._enter()
        while found := _INSIDE.search(self.text, self.at):
            sign, self.at = found[0], found.end()
            if sign[0] in "$`" and sign != "$'":
                self._expand(sign, is_quoted=is_quoted or closer != "}")
            elif sign == closer:
                break
            elif closer == "}":
                self._in_braces(sign, is_quoted=is_quoted)
        else:
            if closer:
                raise UnreadableError
        self.depth -= 1

    def _in_braces(self, sign: str, *, is_quoted: bool) -> None:
        if sign == '"':
            self._through('"')
        elif sign == "'" and not is_quoted:
            quoted = self._matched(_QUOTED)
            # As an index or offset, what is quoted here is expanded all the same.
            if not quoted or "$" in quoted or "`" in quoted:
                raise UnreadableError
        elif sign in {"'", "$'", "<(", ">("}:
            raise UnreadableError

    def _arithmetic(self) -> None:
        """Read up to `))`. Shells count the parentheses before they look into expansions."""
        self._enter()
        opened = 0
        while found := _IN_ARITHMETIC.search(self.text, self.at):
            sign, self.at = found[0], found.end()
            if sign[0] in "$`":
                self._expand(sign)
                if not _PLAIN_EXPANSION.fullmatch(self.text, found.start(), self.at):
                    raise UnreadableError
            elif sign == "(":
                opened += 1
            elif sign == ")" and opened:
                opened -= 1
            elif sign == ")":
                self._closing()  # it takes two, or they were subshells
                self.depth -= 1
                return
            else:
                break
        raise UnreadableError


def _name(word: _Word) -> str:
    """Return the name of the program that a word leads to."""
    return word.text.rpartition("/")[2].removesuffix(".exe")


def _unwrapped(words: list[_Word]) -> list[_Word]:
    """Skip the programs that only run another one, with their options."""
    at = 0
    while at < len(words) and (valued := _WRAPPERS.get(name := _name(words[at]))) is not None:
        start, at, lacks = at, at + 1, name in _FIRST
        while at < len(words):
            word = words[at].text
            if _takes_text(name, word, valued):
                raise UnreadableError
            if name == "command" and _TELLS.match(word):
                return words[start:]
            is_first = name in _FIRST and not word.startswith("-")
            width = int(lacks) if is_first else _option(word, valued)
            if not width:
                break
            lacks = lacks and not is_first
            at += width
        if name == "watch" and any(_SHELL_SIGN.search(word.text) for word in words[at:]):
            raise UnreadableError
    return words[at:]


def _takes_text(name: str, word: str, valued: str) -> bool:
    """Tell whether an option of a program makes a text of what follows."""
    letters, long = _TEXT_OPTIONS.get(name, ("", ""))
    if not letters or not word.startswith("-"):
        return False
    if word.startswith("--"):
        return word.startswith(long)
    first = next((letter for letter in word[1:] if letter in letters or letter in valued), "")
    return first != "" and first in letters


def _option(word: str, valued: str) -> int:
    """Count the words of an option, assignment or duration; 0 if it is none of them."""
    if word.startswith("--") and valued and len(word) > 2 and "=" not in word:
        raise UnreadableError  # who knows which of them take the next word
    if word.startswith("-"):
        taking = next((i for i, letter in enumerate(word) if letter in valued), 0)
        return 2 if taking and taking == len(word) - 1 else 1
    return 1 if _ASSIGNMENT.match(word) or _DURATION.fullmatch(word) else 0


def _runs_text(words: list[_Word]) -> bool:
    """Tell whether a command runs a text or a program that only the shell will know."""
    if not words:
        return False
    name, rest = _name(words[0]), words[1:]
    if words[0].is_vague or name in _RUN_TEXTS:
        return True
    if name in _SHELLS:
        return not _has_script(rest) or any(_RUN_TEXT.fullmatch(word.text) for word in rest)
    if name in {"source", "."}:
        return any(word.is_vague or _OPEN_FILE.match(word.text) for word in rest)
    options = _RUN_OPTIONS.get(name)
    return options is not None and any(options.fullmatch(word.text) for word in rest)


def _has_script(words: list[_Word]) -> bool:
    """Tell whether a shell with these arguments runs a file, and nothing else."""
    if [word.text for word in words] in (["--version"], ["--help"]):
        return True
    at = 0
    while at < len(words):
        text, is_vague = words[at]
        if is_vague:
            return False
        at += 1
        if text in {"-", "--"}:
            break
        if text[:1] not in {"-", "+"}:
            at -= 1
            break
        option = _SHELL_OPTION.fullmatch(text)
        if option is None:
            return False
        at += 1 if option[1] else 0
    return at < len(words) and not words[at].is_vague and not _OPEN_FILE.match(words[at].text)
