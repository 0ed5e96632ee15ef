"""The options of programs: one name for all spellings of an option.

A table is a text with one row for each option: its names, separated by `|`, without their dashes.
`=` behind it means that it takes a value, `?` that a value may be attached, `~` that one may be
attached to its long names only. The canonical name is the last of the names that are longer than a
letter, else the first.

Words that start with `%` describe how the program reads its words:

- `%stop`: options end at the first operand.
- `%exact`: long options cannot be abbreviated.
- `%negates`: `--no-force` undoes a `--force` in front of it (all subcommands of Git).
- `%single`: long options have one dash.
- `%mode`, `%signal`: `-x` and `-KILL` are not clusters of options.
- `%old`: the first word may hold letters without a dash (`tar xf`).
- `%assignments`: operands are `name=value` (`dd`).
- `%expression`: the words are the expression of `find`.

The tables were written from the manuals of the programs.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from anyhook.expressions import expression
from anyhook.shell.values import PATTERN, VAGUE, Value

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

_FLAG, _VALUED, _ATTACHED = 0, 1, 2
_SUFFIXES = {"": _FLAG, "=": _VALUED, "?": _ATTACHED, "~": _ATTACHED}
_ROW = expression(r"([^=?~\s]+)([=?~]?)")
_SIGNAL = expression(r"-(?:\d+|(?:SIG)?[A-Z][A-Z0-9+-]{2,})")
_MODE = expression(r"-[rwxXstugo,+=-]+")
_NUMBER = expression(r"-\d+")
_LETTERS = expression(r"[A-Za-z]+")
_ASSIGNMENT = expression(r"(\w+)=(.*)", re.DOTALL)
_FIND_VALUES = {
    **dict.fromkeys(
        "-amin -anewer -atime -cmin -cnewer -context -ctime -fls -fprint -fprint0 -fstype -gid"
        " -group -ilname -iname -inum -ipath -iregex -iwholename -links -lname -maxdepth"
        " -mindepth -mmin -mtime -name -newer -path -perm -printf -regex -regextype -samefile"
        " -size -type -uid -used -user -wholename -xtype -files0-from -D -newermt -newerat"
        " -newerct -newermm -newerma -newerac -neweram".split(),
        1,
    ),
    "-fprintf": 2,
}
FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
FIND_WITHOUT_TESTS = FIND_RUNS | set(
    "( ) -H -L -P -delete -depth -print -print0 -type -xdev".split()
)
"""Words of `find` with which it reaches all files, those where it starts too."""
_FIND_ALTERNATIVES = frozenset({"-o", "-or", "!", "-not", ","})
"""Words of `find` with which it also reaches files that a test is not true of."""
FIND_CHANGES = FIND_RUNS | {"-delete"}
FIND_PRINTS = frozenset({"-print", "-print0"})


class Table(NamedTuple):
    """The options of a program."""

    names: dict[str, tuple[str, int]]
    """Every name with its dashes to the canonical name and the kind of its value."""
    style: frozenset[str]
    """The words that start with `%`."""


class Arguments:
    """The arguments of a program, read by its table.

    Attributes:
        options: Canonical name of an option to its values, in order.
        operands: The other words, a subcommand first.
        rest: Index of the first word behind the operands that were asked for.
        may_have_more: Whether a word that only the running shell knows may be another option.
        is_doubtful: Whether an option that is not in the table may have taken the next word.
        commands: The words between `-exec` and `;` of `find`.
    """

    def __init__(self, rest: int) -> None:
        self.options: dict[str, list[Value]] = {}
        self.operands: list[Value] = []
        self.rest = rest
        self.may_have_more = False
        self.is_doubtful = False
        self.commands: list[list[Value]] = []

    def has(self, *options: str) -> bool:
        """Return whether there is one of some options."""
        return not self.options.keys().isdisjoint(options)

    def values(self, *options: str) -> list[Value]:
        """Return the values of some options."""
        values: list[Value] = []
        for option in options:
            values += self.options.get(option, ())
        return values


_NO_TABLE = Table({}, frozenset())
NO_OPTIONS = Table({}, frozenset({"%stop"}))
"""For a program without a table whose first operand begins a command."""


@lru_cache(maxsize=1)
def _all_tables() -> tuple[dict[str, str], dict[str, str]]:
    from anyhook.shell.options import files, remote, work

    tables = {**files.TABLES, **remote.TABLES, **work.TABLES}
    return tables, {**files.ALIASES, **remote.ALIASES, **work.ALIASES}


@lru_cache(maxsize=512)
def canonical_program(program: str) -> str:
    """Return the name of a program in the tables: `egrep` is a `grep`, `python3.12` a `python`."""
    tables, aliases = _all_tables()
    if program in tables:
        return program
    # To some file systems capitals do not count.
    program = program.lower()
    if program in aliases:
        return aliases[program]
    without_version = program.rstrip("0123456789.")
    if without_version in tables:
        return without_version
    return aliases.get(without_version, program)


@lru_cache(maxsize=256)
def find_table(*program: str) -> Table | None:
    """Return the options of a program, or of a subcommand: `find_table("git", "push")`."""
    tables, aliases = _all_tables()
    if len(program) == 1:
        text = tables.get(canonical_program(program[0]))
    else:
        name = " ".join(program)
        base = canonical_program(program[0])
        name = aliases.get(name, " ".join((base, *program[1:])))
        text = tables.get(name) or tables.get(f"{base} *")
        if base == "git" and text is not None:
            text = f"%negates {text}"
    return None if text is None else _compile(text)


@lru_cache(maxsize=256)
def _compile(text: str) -> Table:
    words = text.split()
    style = frozenset([word for word in words if word[0] == "%"])
    prefix = "-" if "%single" in style else "--"
    names: dict[str, tuple[str, int]] = {}
    for word in words:
        row = _ROW.fullmatch(word)
        if row is None or word[0] == "%":
            continue
        kind = _SUFFIXES[row[2]]
        spelled: list[str] = []
        for name in row[1].split("|"):
            dashes = "-" if len(name) == 1 else prefix
            spelled.append(name if name[0] == "-" else dashes + name)
        long = [name for name in spelled if len(name) > 2]
        canonical = long[-1] if long else spelled[0]
        for name in spelled:
            is_flag = row[2] == "~" and len(name) == 2
            names.setdefault(name, (canonical, _FLAG if is_flag else kind))
    return Table(names, style)


def takes_values(table: Table) -> bool:
    """Return whether an option of a program may take the next word."""
    return any(kind == _VALUED for _, kind in table.names.values())


def read_arguments(
    table: Table | None, values: Sequence[Value], start: int = 0, max_operands: int | None = None
) -> Arguments:
    """Read the arguments of a program, of which the first has the index `start`.

    Without a table the program is unknown, and any word may be anything. Reading stops at the word
    behind `max_operands` operands, which begins another command.
    """
    arguments = _Reader(table or _NO_TABLE, values, start, is_known=table is not None)
    arguments.read(max_operands)
    return arguments


def find_name(
    options: Mapping[str, Sequence[Value]], actions: Collection[str] = FIND_CHANGES
) -> Value | None:
    """Return the pattern of all names that actions of `find` reach; `None` if they reach others."""
    names = options.get("-name", ())
    if len(names) != 1 or not _FIND_ALTERNATIVES.isdisjoint(options):
        return None
    # A test limits the actions behind it; the options are in the order of the line.
    for word in options:
        if word == "-name":
            return names[0]
        if word in actions:
            break
    return None


def found_files(find: Arguments, actions: Collection[str] = FIND_CHANGES) -> list[Value]:
    """Return patterns of the files that actions of `find` reach, from the arguments of one."""
    roots = find.operands or [Value(".")]
    if find.has("-files0-from") or any(root.kind == VAGUE for root in roots):
        return [Value("{}", VAGUE)]
    name = find_name(find.options, actions)
    below = "/**" if name is None else f"/**/{name.text}"
    reaches_roots = find.options.keys() <= FIND_WITHOUT_TESTS
    files = [root._replace(kind=PATTERN) for root in roots if reaches_roots]
    return files + [Value(f"{root.text}{below}", PATTERN) for root in roots]


class _Reader(Arguments):
    """Reads the words of one command."""

    def __init__(self, table: Table, words: Sequence[Value], start: int, *, is_known: bool) -> None:
        super().__init__(start)
        self.names = table.names
        self.style = table.style
        self.words = words
        self.is_known = is_known

    def read(self, max_operands: int | None) -> None:
        if "%expression" in self.style:
            self._read_expression()
            return
        words = self.words
        if "%old" in self.style:
            self._read_old_cluster()
        stops = "%stop" in self.style
        while self.rest < len(words):
            value = words[self.rest]
            text = value.text
            if text == "--" and value.kind != VAGUE:
                self.rest += 1
                break
            is_mode = "%mode" in self.style and _MODE.fullmatch(text)
            if text[:1] == "-" and len(text) > 1 and not is_mode:
                self.rest += 1
                self._read_option(value)
                continue
            if max_operands is not None and len(self.operands) >= max_operands:
                return
            # An expansion may hold an option, unless the text in front of it says otherwise.
            if value.kind == VAGUE and text[:1] in "$`":
                self.may_have_more = True
            self._add_operand(value)
            self.rest += 1
            if stops and max_operands is None:
                break
        while self.rest < len(words):
            if max_operands is not None and len(self.operands) >= max_operands:
                return
            self._add_operand(words[self.rest])
            self.rest += 1

    def _add_operand(self, value: Value) -> None:
        assignment = _ASSIGNMENT.fullmatch(value.text) if "%assignments" in self.style else None
        if assignment:
            self._add(assignment[1], value._replace(text=assignment[2]))
        else:
            self.operands.append(value)

    def _add(self, name: str, value: Value | None = None) -> None:
        values = self.options.setdefault(name, [])
        if value is not None:
            values.append(value)

    def _next(self) -> Value | None:
        if self.rest >= len(self.words):
            return None
        self.rest += 1
        return self.words[self.rest - 1]

    def _read_option(self, value: Value) -> None:
        text = value.text
        name, separator, attached = text.partition("=")
        if "%signal" in self.style and _SIGNAL.fullmatch(text):
            self._add("--signal", Value(text[1:]))
            return
        row = self.names.get(name) or self._abbreviated(name)
        if "%negates" in self.style and name[:5] == "--no-":
            positive = f"--{name[5:]}"
            undone = self.names.get(positive) or self._abbreviated(positive)
            self.options.pop(undone[0] if undone else positive, None)
        is_long = text[:2] == "--" or (row is not None and len(name) > 2)
        if not is_long:
            self._read_cluster(value)
            return
        canonical, kind = row or (name, _FLAG)
        if value.kind == VAGUE and not separator:
            self.may_have_more = True
        if separator:
            self._add(canonical, value._replace(text=attached))
        elif kind == _VALUED:
            self._add(canonical, self._next())
        else:
            self._add(canonical)
            self.is_doubtful = self.is_doubtful or row is None

    def _abbreviated(self, name: str) -> tuple[str, int] | None:
        """Return the row of an abbreviated long option, or of one with one dash instead of two."""
        if "%single" in self.style and name[:2] == "--":
            return self.names.get(name[1:])
        if name[:2] != "--" or "%exact" in self.style or len(name) < 3:
            return None
        rows = {row for full, row in self.names.items() if full.startswith(name)}
        canonical = {row[0] for row in rows}
        return rows.pop() if len(canonical) == 1 else None

    def _read_cluster(self, value: Value) -> None:
        """Read letters behind one dash; the value of the last one may be the next word."""
        text = value.text
        if not self.is_known:
            self._add(text)
        for position in range(1, len(text)):
            letter = f"-{text[position]}"
            canonical, kind = self.names.get(letter, (letter, _FLAG))
            rest = text[position + 1 :]
            if kind == _FLAG:
                self._add(canonical)
                if letter not in self.names and _NUMBER.match(letter):
                    continue
                if letter in {"-$", "-`"}:
                    self.may_have_more = True
                    return
                self.is_doubtful = self.is_doubtful or letter not in self.names
                continue
            if rest:
                self._add(canonical, value._replace(text=rest.removeprefix("=")))
            else:
                self._add(canonical, self._next() if kind == _VALUED else None)
            return

    def _read_old_cluster(self) -> None:
        """Read the letters of `tar xfC archive directory`."""
        if self.rest >= len(self.words):
            return
        first = self.words[self.rest]
        if first.kind == VAGUE or not _LETTERS.fullmatch(first.text):
            return
        self.rest += 1
        for letter in first.text:
            canonical, kind = self.names.get(f"-{letter}", (f"-{letter}", _FLAG))
            self._add(canonical, self._next() if kind == _VALUED else None)

    def _read_expression(self) -> None:
        """Read the words of `find`: where it starts, and what it does with each file."""
        words = self.words
        starts = True
        while self.rest < len(words):
            value = words[self.rest]
            text = value.text
            self.rest += 1
            if text in FIND_RUNS:
                starts = False
                self._add(text)
                self.commands.append(self._take_command())
            elif text[:1] == "-" and len(text) > 1:
                starts = starts and text in {"-H", "-L", "-P", "-D"}
                self.may_have_more = self.may_have_more or value.kind == VAGUE
                self._add(text)
                for _ in range(_FIND_VALUES.get(text, 0)):
                    argument = self._next()
                    if argument is not None:
                        self._add(text, argument)
            elif text in {"(", ")", "!", ","}:
                starts = False
                self._add(text)
            else:
                if value.kind == VAGUE and value.text[:1] in "$`":
                    self.may_have_more = True
                if starts or value.kind == VAGUE:
                    self.operands.append(value)

    def _take_command(self) -> list[Value]:
        command: list[Value] = []
        while self.rest < len(self.words):
            value = self.words[self.rest]
            self.rest += 1
            if value.text == ";" or (value.text == "+" and command[-1:] == [Value("{}")]):
                break
            command.append(value)
        return command
