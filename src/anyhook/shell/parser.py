"""A parser of command lines for POSIX shells that finds every simple command, however nested.

Conditions use it to decide whether a guard runs, so it errs towards running guards: a construct
that shells read in different ways raises `UnreadableError`. Nothing may count as quoted, commented
or part of a here-document that some shell would run.

Command lines come from strangers. The parser reads in one pass, its expressions never backtrack,
and nesting is limited, so the time is linear in the length of the line. It is one module because
the grammar is one recursive descent.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from anyhook.expressions import expression
from anyhook.shell.programs import KEYWORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any


class UnreadableError(Exception):
    """It is not certain what a command line runs."""


class _SubshellError(UnreadableError):
    """What looked like arithmetic begins with two subshells: `((a); (b))`, `$((a) )`."""


class Word(NamedTuple):
    """A word of a simple command."""

    text: str
    """The word without its quotes; expansions as they are written."""
    is_vague: bool
    """Whether the shell may replace it: it holds an expansion or a file pattern."""
    source: str = ""
    """As it is written."""
    expansions: tuple[tuple[int, int], ...] = ()
    """Where its expansions begin and end in `source`; not those inside of others."""


class SimpleCommand(NamedTuple):
    """A program with its arguments; `words` has neither assignments nor redirections."""

    words: list[Word]
    source: str
    full_source: str
    """With the assignments and redirections in front."""


class Step(NamedTuple):
    """A part of a command line in the order of its text; `shell.structure` puts them together."""

    kind: str
    """`command`, `keyword`, `assignment`, `function`, `test`, `redirection`, `body` (of a
    here-document), `pattern` (of a case), `end`, or `open` and `close` around what is inside a
    substitution. Around what dash runs of an arithmetic command, `open` and `close` have a text."""
    text: str
    """The keyword, the name of the function, the operator with its descriptor, or the body."""
    position: int
    words: tuple[Word, ...] = ()
    """The words of a command, the target of a redirection, or the assignment."""
    source: str = ""
    """Of a command: as it is written, from the program's name."""


class CommandLine:
    """What a command line runs; also what is inside substitutions.

    This and the next class are not dataclasses: a cold guard would import `dataclasses` for them,
    an eighth of its instructions.

    Attributes:
        commands: The simple commands.
        expansions: How many expansions it holds.
        steps: All of it in order. What is inside the substitutions of a command precedes it.
    """

    def __init__(self) -> None:
        self.commands: list[SimpleCommand] = []
        self.expansions = 0
        self.steps: list[Step] = []


class _OpenCommand:
    """A simple command that is being read; `start`, `name_start` and `end` are positions.

    Attributes:
        is_timed: Whether `time` precedes it, so that a word with a dash is an option of that.
        has_prefix: Whether an assignment or a redirection precedes it.
    """

    def __init__(self, start: int) -> None:
        self.start = start
        self.is_timed = False
        self.has_prefix = False
        self.name_start = 0
        self.end = 0
        self.words: list[Word] = []


class _HereDocument(NamedTuple):
    delimiter: str
    is_literal: bool
    strips_tabs: bool


def parse_command_line(text: str) -> CommandLine:
    """Parse a command line.

    Raises:
        UnreadableError: If it is not certain what it runs.
    """
    result = CommandLine()
    _Parser(text, result).parse_list("")
    return result


ASSIGNMENT = expression(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_MAX_DEPTH = 32
"""Nesting of commands. It keeps the work linear and the parser's own stack small."""

# Blanks between words. A backslash at the end of a line joins it with the next one.
_SPACE = expression(r"(?:[ \t]|\\\n)*+")
_SPACE_OR_COMMENT = expression(r"(?:[ \t]|\\\n|#[^\n]*+)*+")

_OPERATOR = expression(
    r"(?P<joined>(?:<<|[(<>])\\\n)"  # goes on behind a joined line, as which operator is unclear
    r"|(?P<here_document><<(?!<)-?)"
    r"|(?P<redirection>&>>?|<<<|[<>]&|<>|>>|>\||[<>](?!\())"
    r"|(?P<end>;;&?|;&|&&|\|[|&]?|[;&\n])"
    r"|(?P<open>\()"
    r"|(?P<close>\))"
)
_EXPANSION = r"\$\(?\\\n|\$\(\(|\$\(|\$\{[\s|(]|\$[\[{]|\$(?:[A-Za-z_]\w*|[0-9@*#?!$-])|`"
_PLAIN_WORD = expression(r"[\w./:@%+,=-]++(?=[ \t\n;&|)]|\Z)", re.ASCII)
"""A word in which nothing has a meaning; most words are."""
_WORD_PIECE = expression(
    r"""(?P<plain>[^ \t\n;&|()<>\\'"$`]++)"""
    r"""|(?P<escape>\\.)"""
    r"""|(?P<single>'[^']*+')"""
    r"""|(?P<ansi_c>\$'(?:[^'\\]|\\.)*+')"""
    r"""|(?P<unclosed>\$?')"""
    r"""|(?P<double>\$?")"""
    rf"""|(?P<expansion>{_EXPANSION}|[<>]\()"""
    r"""|(?P<paren>\()"""
    r"""|(?P<lone>[$\\])""",
    re.DOTALL,
)
_IN_QUOTES_OR_BRACES = expression(rf"""\\.|\$'|{_EXPANSION}|['"}}]|[<>]\(""", re.DOTALL)
_IN_ARITHMETIC = expression(rf"""{_EXPANSION}|[()'"\\]""")
_SIMPLE_EXPANSION = expression(
    r"""\$\w+|\$.|\$\{[^(){}'"`\\]*+\}|\$\([^()'"`\\#]*+\)|`[^()'"`\\]*+`"""
)
_BACKTICKS = expression(r"((?:[^`\\]|\\.)*+)`", re.DOTALL)
_ESCAPE_IN_BACKTICKS = expression(r"\\([\\`$])")
_ESCAPE_IN_QUOTES = expression(r"\\(?:\n|([\\\"`$]))")
_UP_TO_QUOTE = expression(r"[^']*+'")

_ARRAY_INDEX = expression(r"[A-Za-z_]\w*\[(?![\w$@*+-]*\])")
"""An index that may hold blanks and operators."""
_EVALUATED_INDEX = expression(r"\w\[(?:[^\[\]]|\[[^\[\]]*\])*?(?:\$\(|`)")
"""An index that `let`, `test` and others evaluate, and so run, even if it was quoted."""
_PATTERN_IN_ARRAY = expression(r"[?*+@!=]\(")
_DESCRIPTOR = expression(r"[0-9]+|\{\w+\}")
_OPERAND = r"(?:\$\{\w+\}|\$[\w@*#?!$-]|\w#|\d\.|\w|\[[^\[\]]*\])++"
_ARITHMETIC = expression(
    rf"(?:[-+!~(\s]|\w++\()*+{_OPERAND}"
    rf"(?:[\s)]*+[-+*/%&|^<>=!?:,](?:[-+*/%&|^<>=!?:,~(\s]|\w++\()*+{_OPERAND})*+"
    r"(?:\+\+|--|[\s)])*+"
)
"""What may be arithmetic: operators between all operands."""
_INDEX = expression(r"(?<=\w)\[[^\[\]]*\]")
_SHIFT = expression(r"<<-?[ \t]*([^\s;&|()<>]*)")
_PLAIN_VARIABLE = expression(r"\$(?:\w+|.)|\$\{\w+\}")
_REJECTED_BY_DASH = expression(r"[^\s(&|!;][ \t]*\(|\)[ \t]*[^\s)&|;<>]")
"""A parenthesis behind a word, or a word behind a subshell."""
_FUNCTION_PARENTHESES = expression(r"[ \t]*\([ \t]*\)")
_OPEN_ARITHMETIC = expression(r"[ \t]*\(\(")
_IN = expression(r"in(?=[\s(])")
_ESAC = expression(r"esac(?=[\s;&|)<>]|\Z)")
_FILE_PATTERN = expression(r"[*?\[{]")
_LOOPS = frozenset({"for", "select"})
_COMPOUNDS = frozenset({"[[", "case", "function", "coproc", *_LOOPS})
_TEST_OPERATORS = frozenset("&|()<>")
_CASE_ENDS = frozenset({";;", ";&", ";;&"})


class _Parser:
    """One pass over a text; what it finds goes into `result`.

    The body of a here-document and the text in backticks have a parser each, which adds to the same
    result.
    """

    __slots__ = (
        "depth",
        "descriptor",
        "expansions",
        "here_documents",
        "position",
        "result",
        "rows",
        "subshells",
        "text",
    )

    def __init__(self, text: str, result: CommandLine, depth: int = 0) -> None:
        # Shells drop NUL, and a carriage return may belong to a word.
        if "\0" in text or "\r" in text:
            raise UnreadableError
        self.text = text
        self.result = result
        self.depth = depth
        self.position = 0
        self.descriptor = ""
        self.here_documents: list[_HereDocument] = []
        self.expansions: list[tuple[int, int]] = []
        self.subshells: set[int] = set()
        """Positions behind `((` and `$((` where no arithmetic begins: each is tried once."""
        self.rows: frozenset[str] = frozenset()
        """The rows of the text, where a shift is read."""

    @contextmanager
    def _nested(self) -> Iterator[None]:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise UnreadableError
        yield
        self.depth -= 1

    def _skip(self, pattern: re.Pattern[str]) -> str:
        """Go behind a pattern and return the text that it matched; empty if there is none."""
        match = pattern.match(self.text, self.position)
        if match is None:
            return ""
        self.position = match.end()
        return match[0]

    def _next_is(self, characters: str) -> bool:
        return self.text.startswith(characters, self.position)

    def _expect_closing(self) -> None:
        if not self._next_is(")"):
            raise UnreadableError
        self.position += 1

    def _record(self, kind: str, text: str, position: int, words: Iterable[Word] = ()) -> None:
        self.result.steps.append(Step(kind, text, position, tuple(words)))

    def _source(self, start: int) -> str:
        """Return the text since a position, with continued lines joined."""
        return self.text[start : self.position].replace("\\\n", "")

    # --- commands ----------------------------------------------------------------------------

    def parse_list(self, closer: str) -> None:
        """Parse commands up to `)`, up to `;;` in a case, or up to the end of the text."""
        with self._nested():
            end = self._parse_command(closer)
            while end != closer:
                if end in {"", ")", ";;"}:
                    raise UnreadableError
                end = self._parse_command(closer)

    def _parse_command(self, closer: str) -> str:
        """Parse one command and return the operator that ends it."""
        self._skip(_SPACE_OR_COMMENT)
        command = _OpenCommand(self.position)
        while True:
            self._skip(_SPACE_OR_COMMENT)
            end = None
            operator = _OPERATOR.match(self.text, self.position)
            match operator and operator.lastgroup:
                case None if self.position < len(self.text):
                    end = self._parse_argument(command, closer)
                case "open":
                    end = self._parse_parenthesis(command)
                case "here_document" | "redirection":
                    command.has_prefix = True
                    self._parse_redirection()
                case "joined":
                    raise UnreadableError
                case _:
                    break
            command.end = self.position
            if end is not None:
                return end
        self._add(command)
        start = self.position
        text = self._skip(_OPERATOR)
        self._record("end", text, start)
        if text == "\n":
            self._parse_here_document_bodies()
        return ";;" if text in _CASE_ENDS else text

    def _parse_argument(self, command: _OpenCommand, closer: str) -> str | None:
        """Parse a word, or what a keyword begins; return the operator that this amounts to."""
        start = self.position
        word = self._parse_word()
        source = self._source(start)
        is_redirected = self._next_is("<") or self._next_is(">")
        if is_redirected and _DESCRIPTOR.fullmatch(source):
            self.descriptor = source
            return None
        if not command.words:
            is_option_of_time = command.is_timed and source.startswith("-")
            if source in KEYWORDS or is_option_of_time:
                command.is_timed = source == "time" or is_option_of_time
                command.has_prefix = False
                self._record("keyword", source, start)
                return None
            if ASSIGNMENT.match(source):
                command.has_prefix = True
                self._record("assignment", source, start, [word])
                return None
            if source == "esac" and closer == ";;":
                self.position = start
                return ";;"
            # Behind `A=1`, the word `[[` is a program, and `||` ends its arguments.
            if command.has_prefix and source in _COMPOUNDS:
                raise UnreadableError
            if self._parse_compound(source, start):
                return ";"
            command.name_start = start
        # `for x do` has no separator between the variable and the loop's body.
        elif source == "do" and len(command.words) == 2 and command.words[0].text in _LOOPS:
            self._add(command)
            self._record("keyword", source, start)
            return ";"
        command.words.append(word)
        return None

    def _parse_compound(self, keyword: str, start: int) -> bool:
        """Parse what follows a keyword that does more than precede a command."""
        if keyword == "case":
            self._record("keyword", keyword, start)
            self._parse_case()
        elif keyword == "[[":
            self._record("test", keyword, start)
            while (word := self._parse_inner_word()) != "]]":
                if not word:
                    if self.text[self.position : self.position + 1] not in _TEST_OPERATORS:
                        raise UnreadableError
                    self.position += 1
        elif keyword == "function":
            self._skip_blank_lines()
            name = self._parse_word()
            self._record("function", name.text, start)
            self._skip(_FUNCTION_PARENTHESES)
        elif keyword in _LOOPS and self._skip(_OPEN_ARITHMETIC):
            self._record("keyword", keyword, start)
            if not self._reads_as_arithmetic():
                raise UnreadableError
        elif keyword == "coproc":
            raise UnreadableError
        else:
            return False
        return True

    def _parse_parenthesis(self, command: _OpenCommand) -> str:
        """Parse a subshell, an arithmetic command, or the `()` of a function's definition."""
        if command.words:
            if len(command.words) > 1 or not self._skip(_FUNCTION_PARENTHESES):
                raise UnreadableError
            self._record("function", command.words[0].text, command.name_start)
        elif _OPEN_ARITHMETIC.match(self.text, self.position) and self._parse_arithmetic_command():
            pass
        else:
            self._record("keyword", "(", self.position)
            self.position += 1
            self.parse_list(")")
        return ";"

    def _parse_arithmetic_command(self) -> bool:
        """Parse `((…))`, also as the two subshells that dash makes of it.

        Return `False`, at the same position, if it is not arithmetic in any shell.
        """
        start = self.position
        outer_count = len(self.expansions)
        self._skip(_OPEN_ARITHMETIC)
        first = self.position
        if not self._reads_as_arithmetic():
            self.position = start
            return False
        self._record("test", "((", first)
        spans, self.expansions[outer_count:] = self.expansions[outer_count:], []
        text = ""
        for span_start, end in (*spans, (self.position - 2, 0)):
            text += self.text[first:span_start]
            # What is inside of substitutions runs in every shell, and was read.
            if end:
                source = self.text[span_start:end]
                text += source if _PLAIN_VARIABLE.fullmatch(source) else "$!"
                first = end
        self._parse_as_subshells(text)
        return True

    def _parse_as_subshells(self, text: str) -> None:
        """Add what dash runs of the text of an arithmetic command; nothing if dash rejects it."""
        kind = ""
        if "<<" in text and not self.rows:
            self.rows = frozenset(re.split(r"\n\t*", self.text))
        if _ARITHMETIC.fullmatch(text):
            if _REJECTED_BY_DASH.search(text):
                return
            kind = "(("
            # To dash a shift begins a here-document, which may hide what other shells run.
            for shift in _SHIFT.finditer(text):
                if shift[1] in self.rows:
                    raise UnreadableError
            text = _INDEX.sub("[0]", text.replace("<<", "<"))
        line = CommandLine()
        self._record("open", kind, self.position)
        with self._nested():
            parser = _Parser(text, line, self.depth)
            parser.rows = self.rows
            parser.parse_list("")
        self.result.steps += line.steps
        self._record("close", kind, self.position)
        self.result.commands += [
            command for command in line.commands if not (kind and command.words[0].is_vague)
        ]

    def _add(self, command: _OpenCommand) -> None:
        if command.words:
            source = self.text[command.name_start : command.end]
            full_source = self.text[command.start : command.end]
            self.result.commands.append(SimpleCommand(command.words, source, full_source))
            words = tuple(command.words)
            self.result.steps.append(Step("command", "", command.name_start, words, source))

    def _skip_blank_lines(self, blank: re.Pattern[str] = _SPACE_OR_COMMENT) -> None:
        self._skip(blank)
        while self._next_is("\n"):
            self.position += 1
            self._parse_here_document_bodies()
            self._skip(blank)

    def _parse_case(self) -> None:
        self._skip_blank_lines()
        self._parse_word()
        self._skip_blank_lines()
        if not self._skip(_IN):
            raise UnreadableError
        self._skip_blank_lines()
        while not self._skip(_ESAC):
            if self._next_is("("):
                self.position += 1
            self._record("pattern", "", self.position)
            self._parse_patterns()
            self.parse_list(";;")
            self._skip_blank_lines()
        self._record("keyword", "esac", self.position)

    def _parse_patterns(self) -> None:
        """Parse words with `|` between them up to a closing parenthesis."""
        with self._nested():
            while self._parse_inner_word() or self._next_is("|"):
                if self._next_is("|"):
                    self.position += 1
            self._expect_closing()

    def _parse_array(self) -> None:
        with self._nested():
            while item := self._parse_inner_word():
                # Behind a pattern in the wrong place a shell goes on with the next line.
                if _PATTERN_IN_ARRAY.search(item):
                    raise UnreadableError
            self._expect_closing()

    def _parse_inner_word(self) -> str:
        """Parse a word where `#` may or may not begin a comment, and return its source."""
        self._skip_blank_lines(_SPACE)
        if self._next_is("#"):
            raise UnreadableError
        start = self.position
        self._parse_word()
        return self.text[start : self.position]

    # --- redirections ------------------------------------------------------------------------

    def _parse_redirection(self) -> None:
        descriptor, self.descriptor = self.descriptor, ""
        operator = self._skip(_OPERATOR)
        self._skip(_SPACE)
        start = self.position
        word = self._parse_word()
        source = self.text[start : self.position]
        if not source:
            raise UnreadableError
        if operator in {"<<", "<<-"}:
            if not {"$", "`", "\n"}.isdisjoint(source):
                raise UnreadableError
            is_literal = not {"\\", "'", '"'}.isdisjoint(source)
            self.here_documents.append(_HereDocument(word.text, is_literal, operator == "<<-"))
            descriptor = ""
        self._record("redirection", descriptor + operator, start, [word])

    def _parse_here_document_bodies(self) -> None:
        for document in self.here_documents:
            start = self.position
            end = len(self.text)
            while self.position < len(self.text):
                line_start = self.position
                line = self._read_line(document)
                if line == document.delimiter:
                    end = line_start
                    break
                # Some shells end a document at its delimiter's line even if a `)` stands there too.
                if self.depth > 1 and line.startswith(document.delimiter) and ")" in line:
                    raise UnreadableError
            self._record("body", self.text[start:end], start)
            if not document.is_literal:
                body = _Parser(self.text[start:end], self.result, self.depth)
                body.parse_quoted("")
        self.here_documents.clear()

    def _read_line(self, document: _HereDocument) -> str:
        """Read one line of a here-document, with continued lines joined."""
        pieces = []
        while True:
            end = self.text.find("\n", self.position)
            end = len(self.text) if end < 0 else end
            line = self.text[self.position : end]
            self.position = min(end + 1, len(self.text))
            backslashes = len(line) - len(line.rstrip("\\"))
            if document.is_literal or backslashes % 2 == 0:
                break
            pieces.append(line[:-1])
        joined = "".join([*pieces, line])
        return joined.lstrip("\t") if document.strips_tabs else joined

    # --- words -------------------------------------------------------------------------------

    def _parse_word(self) -> Word:
        plain = _PLAIN_WORD.match(self.text, self.position)
        if plain is not None:
            self.position = plain.end()
            return Word(plain[0], is_vague=False, source=plain[0])
        start = self.position
        outer_expansions, self.expansions = self.expansions, []
        texts: list[str] = []
        is_pattern = False
        while piece := _WORD_PIECE.match(self.text, self.position):
            kind = piece.lastgroup
            if kind == "paren" and not self._continues_word(start):
                break
            self.position = piece.end()
            texts.append(self._parse_piece(piece))
            if kind == "plain":
                is_pattern = is_pattern or _FILE_PATTERN.search(piece[0]) is not None
            elif kind == "ansi_c":
                is_pattern = is_pattern or "\\" in piece[0]
            else:
                is_pattern = is_pattern or kind == "paren"
        text = "".join(texts)
        if _ARRAY_INDEX.match(self._source(start)) or _EVALUATED_INDEX.search(text):
            raise UnreadableError
        spans = tuple([(first - start, end - start) for first, end in self.expansions])
        self.expansions = outer_expansions
        # The program `[` is not a pattern.
        is_vague = bool(spans) or (is_pattern and text != "[")
        return Word(text, is_vague, self.text[start : self.position], spans)

    def _continues_word(self, start: int) -> bool:
        """Return whether a parenthesis belongs to the word: of an array or an extended pattern."""
        before = self.text[self.position - 1] if self.position > start else ""
        # What counts stands in front of the joined line.
        if before == "\n":
            raise UnreadableError
        if before == "=":
            return ASSIGNMENT.fullmatch(self._source(start)) is not None
        return before != "" and before in "?*+@!"

    def _parse_piece(self, piece: re.Match[str]) -> str:
        """Parse the rest of a piece whose beginning matched; return it without quotes."""
        beginning = piece[0]
        match piece.lastgroup:
            case "plain":
                return beginning
            case "escape":
                return beginning[1:].replace("\n", "")
            case "single":
                return beginning[1:-1]
            case "ansi_c":
                return beginning[2:-1]
            case "double":
                self.parse_quoted('"')
                content = self.text[piece.end() : self.position - 1]
                return _ESCAPE_IN_QUOTES.sub(r"\1", content)
            case "expansion":
                self._parse_expansion(beginning)
            case "paren" if self.text[piece.start() - 1] == "=":
                self._parse_array()
            case "paren":
                self._parse_patterns()
            case "unclosed":
                raise UnreadableError
        return self.text[piece.start() : self.position]

    def _parse_expansion(self, beginning: str, *, is_quoted: bool = False) -> None:
        self.result.expansions += 1
        start = self.position - len(beginning)
        outer_count = len(self.expansions)
        if beginning in {"$(", "<(", ">("}:
            # Shells do not agree on where the body of a document begins that is open out here.
            if self.here_documents:
                raise UnreadableError
            self._record("open", "", self.position)
            self.parse_list(")")
            self._record("close", "", self.position)
            if self.here_documents:
                raise UnreadableError
        elif beginning == "$((" and self._reads_as_arithmetic():
            pass
        elif beginning == "$((":
            self.position -= 1
            self._parse_expansion("$(", is_quoted=is_quoted)
            return
        elif beginning == "${":
            self.parse_quoted("}", is_quoted=is_quoted)
        elif beginning == "`":
            match = _BACKTICKS.match(self.text, self.position)
            # Inside double quotes, shells disagree about `\"`.
            if match is None or (is_quoted and '\\"' in match[1]):
                raise UnreadableError
            self.position = match.end()
            inner = _ESCAPE_IN_BACKTICKS.sub(r"\1", match[1])
            self._record("open", "", self.position)
            _Parser(inner, self.result, self.depth).parse_list("")
            self._record("close", "", self.position)
        # `$[`, `${ command; }` of some shells, and `$` in front of a joined line.
        elif beginning[1] in "\\([{":
            raise UnreadableError
        self.expansions[outer_count:] = [(start, self.position)]

    def parse_quoted(self, closer: str, *, is_quoted: bool = False) -> None:
        """Parse the expansions up to `"`, up to `}`, or up to the end of a here-document."""
        with self._nested():
            while match := _IN_QUOTES_OR_BRACES.search(self.text, self.position):
                mark = match[0]
                self.position = match.end()
                if mark[0] in "$`" and mark != "$'":
                    self._parse_expansion(mark, is_quoted=is_quoted or closer != "}")
                elif mark == closer:
                    return
                elif closer == "}":
                    self._parse_in_braces(mark, is_quoted=is_quoted)
            if closer:
                raise UnreadableError

    def _parse_in_braces(self, mark: str, *, is_quoted: bool) -> None:
        """Parse what begins at a mark inside `${...}`."""
        if mark == '"':
            self.parse_quoted('"')
        elif mark == "'" and not is_quoted:
            quoted = self._skip(_UP_TO_QUOTE)
            # In an index or offset, shells expand also what is quoted.
            if not quoted or "$" in quoted or "`" in quoted:
                raise UnreadableError
        # Whether these mean something here depends on the shell and on the quotes around.
        elif mark in {"'", "$'", "<(", ">("}:
            raise UnreadableError

    def _reads_as_arithmetic(self) -> bool:
        """Parse up to `))`; return `False`, at the same position, if that is not how it ends."""
        start, depth, result = self.position, self.depth, self.result
        if start in self.subshells:
            return False
        lists: tuple[list[Any], ...] = (result.commands, result.steps, self.expansions)
        lengths = [len(items) for items in lists]
        expansions = result.expansions
        try:
            self._parse_arithmetic()
        except _SubshellError:
            self.position, self.depth, result.expansions = start, depth, expansions
            for items, length in zip(lists, lengths, strict=True):
                del items[length:]
            self.subshells.add(start)
            return False
        return True

    def _parse_arithmetic(self) -> None:
        """Parse up to `))`. Shells count the parentheses before they look into expansions."""
        with self._nested():
            open_parentheses = 0
            while match := _IN_ARITHMETIC.search(self.text, self.position):
                mark = match[0]
                self.position = match.end()
                if mark[0] in "$`":
                    self._parse_expansion(mark)
                    if not _SIMPLE_EXPANSION.fullmatch(self.text, match.start(), self.position):
                        raise UnreadableError
                elif mark == "(":
                    open_parentheses += 1
                elif mark == ")" and open_parentheses:
                    open_parentheses -= 1
                elif mark == ")":
                    if not self._next_is(")"):
                        raise _SubshellError
                    self.position += 1
                    return
                # Quotes may or may not hide a parenthesis.
                else:
                    break
            raise UnreadableError
