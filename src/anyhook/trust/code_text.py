"""What the text of a script or command names, found without running it.

One reader for all languages: `anyhook.trust.languages` says how each of them loads and runs. The
result holds names, parts of paths, because scripts put paths together; `anyhook.trust.following`
looks for files of the project with such names. A name too many does no harm, because only files
that exist are bound. Texts come from strangers, so their length and the depth are limited.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from anyhook.expressions import expression
from anyhook.shell.parser import UnreadableError, Word, parse_command_line
from anyhook.shell.programs import base_name
from anyhook.shell.words import split_tokens
from anyhook.shell.wrappers import unwrap
from anyhook.trust.code_names import CodeText, is_vague, names_in
from anyhook.trust.examples import without_examples
from anyhook.trust.languages import (
    ARGUMENT_RUNNERS,
    DATA,
    FILE_OPTION_PROGRAMS,
    FILE_OPTIONS,
    LANGUAGES,
    OTHER,
    PROJECT_RUNNERS,
    PYTHON,
    SHELL,
    VALUE_OPTIONS,
    Language,
    language_of_program,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TEXT = 256 * 1024
"""Characters; a longer script is not looked into."""
MAX_DEPTH = 4
"""Programs inside of programs that are looked into."""
MAX_STATEMENT = 40
"""Lines of a statement in brackets."""
MAX_CALLS = 50
"""Calls of a statement that are looked into."""
MAX_ARGUMENTS = 4096
"""Characters of the arguments of a call."""

_STRING = r"(?:[fFrRbBuU]{0,2})(?:\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)"
_ARGUMENT = expression(
    rf"(?P<string>{_STRING})|(?P<name>[\w.$@:]+)(?P<is_key>\s*=(?!=))?|(?P<end>\))"
)
_IMPORT = expression(r"\s*(?:from\s+[\w.]+\s+)?import\s[\w\s.,*()]+\Z")
_INTERPOLATION = expression(r"[$#]?\{[^{}]*\}")
_BARE_VARIABLE = expression(r"[$@][\w.:]+")
_ASSIGNMENT = expression(
    r"^[ \t]*(?:export |local |readonly |declare )?(\w+)="
    r"(?:\"([^\"$`\n]*)\"|'([^'\n]*)'|([^\s\"'$`;&|()]*))(?=[\s;]|$)",
    re.MULTILINE,
)
_VARIABLE = expression(r"\$(?:(\w+)|\{(\w+)\})")
_HERE_DOCUMENT = expression(r"<<-?[ \t]*[\"'\\]?(\w+)")
_COMMAND_BREAK = expression(r"[\s/\"'|;&(]+")
_CONTINUES = expression(r"\s*(?:\+|%|\.\.|\.\s*[$\"'\w]*\b(?!read))")
"""Behind a string: it is only a part of the value."""
_RELATIVE_DIRECTORY = expression(r"""["'](\.{1,2}(?:/\.{1,2})*/?)["']""")
_EXPANSION = expression(r"\$[\w({@*]|`")
_PROGRAM_PATH = expression(r"[^\s\\()<>|^;&']+")
_SPLIT_STRING = expression(r"-\w*S|--split-string")
_RUNS_REST = frozenset("eval trap parallel ssh su script watch batch at alias".split())
_EXEC_OPTION = expression(r"-(?:exec|ok)(?:dir)?|-x|-X|--exec(?:-batch)?")
_SOURCES = frozenset({".", "source"})
_SUBCOMMANDS = frozenset({"run", "test", "x", "task"})
"""Words of `bun` and `deno` in front of the program."""
_RUNS_OPTION = frozenset({"find", "fd", "fdfind"})
_PROGRAM_FILE_OPTIONS = frozenset(
    "-f --file --from-file -E -File --makefile --justfile --config".split()
)
_EMBEDDED = tuple(language for language in LANGUAGES if language not in (OTHER, DATA))


@lru_cache(maxsize=1024)
def read_code(text: str, language: Language) -> CodeText:
    """Find out what a text names; the result is shared and must not be changed."""
    code = CodeText(text, language)
    if len(text) > MAX_TEXT:
        code.add_computed("a text that is too long to look into", "")
        return code
    if language is PYTHON:
        text = code.text = without_examples(text)
    # Of what `package.json` holds, only some members are loaded.
    if language is not DATA:
        code.names |= names_in(text)
    _Reader(code).read(text, language, 0)
    return code


class _Reader:
    """Reads one text, and the programs inside of it, into a `CodeText`."""

    def __init__(self, code: CodeText) -> None:
        self.code = code

    def read(self, text: str, language: Language, depth: int) -> None:
        if depth > MAX_DEPTH:
            self.code.add_computed(text, text)
            return
        if text.startswith("#!"):
            first, _, _ = text.partition("\n")
            # The script itself is the last argument of its interpreter.
            self._read_shell(f"{first[2:].strip()} /dev/null", depth)
        if language is SHELL:
            self._read_shell(_expand_assignments(text), depth)
            self._read_here_documents(text, depth)
        # A shell script may hold programs of every language in quotes.
        is_script = language is SHELL and depth == 0
        languages = _EMBEDDED if is_script else (language,)
        for statement in _statements(text, language.comment):
            for row in languages:
                self._read_statement(statement, row, depth, is_embedded=row is not language)

    # --- statements of all languages ---------------------------------------------------------

    def _read_statement(
        self, statement: str, row: Language, depth: int, *, is_embedded: bool
    ) -> None:
        names: frozenset[str] | None = None
        if row.searches.search(statement):
            names = names_in(statement)
            self.code.searched |= names
            self.code.loaded |= names
        if row.loads.search(statement):
            names = names or names_in(statement)
            loaded = self.code.loaded
            if row is PYTHON and not is_embedded and _IMPORT.match(statement):
                loaded = self.code.imported
            loaded.update(names)
            if row is DATA:
                self.code.names |= names
            self.code.entered.update(_RELATIVE_DIRECTORY.findall(statement))
        # In a shell script these calls may be words of a text, so they are only followed.
        if is_embedded or row is SHELL:
            return
        for argument in _arguments(row.loads_value, statement):
            self._read_loaded_value(statement, argument)
        for arguments in _arguments(row.runs, statement):
            command = _command_in_call(arguments, row)
            self._read_shell(command, depth + 1, statement)

    def _read_loaded_value(self, statement: str, argument: str) -> None:
        string = re.match(rf"\s*(?:open\s*\(\s*)?({_STRING})", argument)
        if string is not None and not _INTERPOLATION.search(string[1]):
            is_whole = not _CONTINUES.match(argument, string.end())
            if is_whole:
                return
        for text in re.findall(_STRING, statement[:MAX_ARGUMENTS]):
            content = text.strip("\"'`")
            if content.endswith("/"):
                content += "*"
            self.code.hold_directory(content)
        self.code.add_computed(statement, statement)

    # --- command lines -----------------------------------------------------------------------

    def _read_shell(self, text: str, depth: int, statement: str = "") -> None:
        """Read a command line, which a statement of another language may run."""
        if depth > MAX_DEPTH:
            self.code.add_computed(text, text)
            return
        try:
            parsed = parse_command_line(text).commands
        except UnreadableError:
            commands = _split_loosely(text)
        else:
            commands = [(command.words, command.full_source) for command in parsed]
        for words, source in commands:
            origin = statement or source
            if not statement and language_of_program(base_name(words[-1].text)) is not None:
                start = text.find(source)
                if start >= 0 and "\n" not in source:
                    # What is in front of the pipe may be what is run.
                    end = text.find("\n", start)
                    line_end = end if end > 0 else len(text)
                    origin = text[text.rfind("\n", 0, start) + 1 : line_end]
            self._read_command(words, origin, depth)

    def _read_here_documents(self, text: str, depth: int) -> None:
        """Read the programs that a script hands to interpreters as their input."""
        lines = iter(text.split("\n"))
        for line in lines:
            document = _HERE_DOCUMENT.search(line)
            if document is None:
                continue
            body_lines: list[str] = []
            for body_line in lines:
                if body_line.strip() == document[1]:
                    break
                body_lines.append(body_line)
            body = "\n".join(body_lines)
            for word in _COMMAND_BREAK.split(line):
                language = language_of_program(word)
                if language is not None:
                    self.read(body, language, depth + 1)

    def _read_command(self, words: list[Word], source: str, depth: int) -> None:
        try:
            command = unwrap(words)
        except UnreadableError:
            command = self._unwrap_loosely(words, depth)
        if not command:
            return
        program, *arguments = command
        name = base_name(program.text)
        language = language_of_program(name)
        self._note_program(program, name, source)
        if name in _SOURCES:
            for word in arguments[:1]:
                self.code.load(word, source)
        elif name in FILE_OPTION_PROGRAMS:
            self._read_file_options(arguments, source)
        elif language is not None:
            self._read_interpreter(language, arguments, source, depth)
        elif name == "for":
            self._hold_directories(arguments)
        elif name in _RUNS_REST and arguments:
            self._read_rest(name, arguments, source, depth)
        elif name in _RUNS_OPTION:
            self._read_exec_options(arguments, source, depth)
        elif name in PROJECT_RUNNERS:
            self._read_file_options(arguments, source)

    def _hold_directories(self, words: list[Word]) -> None:
        for word in words:
            self.code.hold_directory(word.text)

    def _read_exec_options(self, arguments: list[Word], source: str, depth: int) -> None:
        for index, word in enumerate(arguments):
            if _EXEC_OPTION.fullmatch(word.text):
                self._read_command(arguments[index + 1 :], source, depth)

    def _note_program(self, program: Word, name: str, source: str) -> None:
        text = program.text
        is_computed = _EXPANSION.match(text) is not None
        # A pattern in quotes, as guards list them in arrays, is not a program.
        if is_computed or ("/" in text and _PROGRAM_PATH.fullmatch(text)):
            self.code.load(program, source)
        else:
            self.code.programs.add(name)
        if name in PROJECT_RUNNERS:
            self.code.runners.add(name)

    def _unwrap_loosely(self, words: list[Word], depth: int) -> list[Word]:
        """Return what a wrapper runs whose options are not known for certain."""
        rest = words[1:]
        while rest and (rest[0].text.startswith("-") or "=" in rest[0].text):
            option, *rest = rest
            if _SPLIT_STRING.match(option.text):
                text = " ".join([option.text[2:], *[word.text for word in rest]])
                self._read_shell(text, depth + 1)
                return []
        return rest

    def _read_rest(self, name: str, arguments: list[Word], source: str, depth: int) -> None:
        """Read arguments that are a command line themselves."""
        rest = " ".join(word.text for word in arguments)
        is_computed = name == "eval" and any(word.is_vague for word in arguments)
        if is_computed or name == "parallel":
            self.code.add_computed(source, rest)
            self.code.loaded |= names_in(rest)
        if not is_computed:
            self._read_shell(rest, depth + 1)

    def _read_file_options(self, arguments: list[Word], source: str) -> None:
        for option, value in pairwise(arguments):
            if option.text in _PROGRAM_FILE_OPTIONS:
                self.code.load(value, source)

    def _read_interpreter(
        self, language: Language, arguments: list[Word], source: str, depth: int
    ) -> None:
        """Read the options of an interpreter up to the program that it runs."""
        code = self.code
        has_program = runs_arguments = False
        words = iter(arguments)
        for word in words:
            option = word.text
            if option == "-":
                break
            if not option.startswith(("-", "+")):
                if option in _SUBCOMMANDS:
                    continue
                has_program = True
                code.load(word, source)
                if not runs_arguments:
                    break
                continue
            has_program |= self._read_option(option, words, language, source, depth)
            runs_arguments |= not code.modules.isdisjoint(ARGUMENT_RUNNERS)
        if has_program:
            return
        code.searches_start |= language is not SHELL
        # The interpreter runs its standard input, unless it only shows something.
        ends_at_once = any(option in source for option in ("--version", "--help", " -V", " -v"))
        if "<<" not in source and not ends_at_once:
            code.loaded |= names_in(source)
            for text in source.split():
                code.hold_directory(text)
            code.add_computed(source, source)

    def _read_option(
        self, option: str, words: Iterator[Word], language: Language, source: str, depth: int
    ) -> bool:
        """Read an option of an interpreter and its value; return whether that is the program."""
        code = self.code
        code.loaded |= names_in(option)
        is_code = language.code_option.fullmatch(option) is not None
        takes_value = is_code or option in FILE_OPTIONS or option in VALUE_OPTIONS
        value = next(words, None) if takes_value else None
        if option.startswith("-I"):
            code.searched |= names_in(option)
            if value is not None:
                code.searched |= names_in(value.text)
        is_module = option.startswith("-m") and language is not SHELL
        code.searches_start |= is_module
        if value is None or option in VALUE_OPTIONS:
            return is_module
        if is_code:
            is_variable = _BARE_VARIABLE.fullmatch(value.text.strip("\"'{}")) is not None
            if is_variable or value.text.startswith("$("):
                code.add_computed(source, value.text)
            code.searches_start |= language is not SHELL
            self.read(value.text, language, depth + 1)
            return True
        code.load(value, source)
        if is_module:
            code.modules.add(value.text)
            code.runners |= {value.text} & PROJECT_RUNNERS
        return is_module or option in _PROGRAM_FILE_OPTIONS


def _expand_assignments(text: str) -> str:
    """Replace the variables of a shell script that are assigned once, to a literal value."""
    values: dict[str, str | None] = {}
    for name, *alternatives in _ASSIGNMENT.findall(text):
        values[name] = None if name in values else "".join(alternatives)
    if not any(values.values()):
        return text

    def replace(match: re.Match[str]) -> str:
        return values.get(match[1] or match[2]) or match[0]

    return _VARIABLE.sub(replace, text)


def _statements(text: str, comment: str) -> Iterator[str]:
    """Yield the lines of a text without comments; one with open brackets with what closes them."""
    waiting: list[str] = []
    depth = 0
    for line in text.split("\n"):
        if line.lstrip().startswith(comment) and not line.startswith("#!"):
            continue
        waiting.append(line)
        depth += sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
        if depth <= 0 or len(waiting) >= MAX_STATEMENT or line.rstrip().endswith(("{", ";", ":")):
            yield "\n".join(waiting)
            waiting = []
            depth = 0
    if waiting:
        yield "\n".join(waiting)


def _arguments(call: re.Pattern[str], statement: str) -> Iterator[str]:
    """Yield the beginning of what stands behind every call in a statement."""
    for match in islice(call.finditer(statement), MAX_CALLS):
        yield statement[match.end() : match.end() + MAX_ARGUMENTS]


def _command_in_call(arguments: str, row: Language) -> str:
    """Return the command line that a call runs; what is computed becomes a variable."""
    words: list[str] = []
    if row.itself:
        arguments = arguments.replace(row.itself, f'"{row.programs[0]}"')
    for argument in _ARGUMENT.finditer(arguments):
        is_end = argument["end"] is not None or argument["is_key"] is not None
        if is_end and words:
            break
        if argument["string"] is not None:
            text = argument["string"].lstrip("fFrRbBuU")[1:-1]
            words.append(_INTERPOLATION.sub("$x", text))
        elif argument["is_key"] is None and argument["name"] is not None:
            words.append("$x")
    # A list of words may hold blanks in one of them; a single text is a command line.
    return " ".join(words) or "$x"


def _split_loosely(text: str) -> list[tuple[list[Word], str]]:
    """Split a text that no shell surely reads in one way."""
    commands: list[tuple[list[Word], str]] = []
    for line in text.replace("\\\n", " ").split("\n"):
        if line.lstrip().startswith("#"):
            continue
        words: list[Word] = []
        for token in [*split_tokens(line), ";"]:
            if set(token) <= set("();<>|&"):
                if words:
                    commands.append((words, line))
                words = []
            elif token not in {"then", "do", "else", "if", "while", "!", "{", "}", "elif"}:
                words.append(Word(token, is_vague(token)))
    return commands
