"""The classes of spellings: each writes what is denied in other ways that may do the same.

Whether they do is not decided here: the oracle runs them. The spellings depend on the plain form
and on a seed alone.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyhook.redteam import effect_classes, text_classes
from anyhook.redteam.plain import Spelling, lines_of, unquoted
from anyhook.shell.words import split_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from anyhook.redteam.plain import Line, Plain

MAX_LENGTH = 2000
"""Characters of a line that is written in other ways."""
IN_TEXT = "reads what the shell runs in the end, however it is written"
IN_EFFECT = "names the effect, and not the program or the path as it is written"
SCRIPT = "deny a file that a call writes and a later one runs: event.writes(…), then read its lines"


@dataclass(frozen=True, slots=True)
class SpellingClass:
    """A class of spellings."""

    name: str
    of_line: Callable[[Line], Iterable[str | Spelling]]
    """Writes a line in other ways."""
    closed_by: str = IN_TEXT
    """Why a guard that is written in another way stops it."""
    of_call: Callable[[Plain, str, str], Iterable[Spelling]] | None = None
    """Writes a call of another tool in other ways."""


CLASSES = (
    *(SpellingClass(name, of_line) for name, of_line in text_classes.TEXTS.items()),
    SpellingClass("script, then run", text_classes.steps, SCRIPT),
    SpellingClass("option", effect_classes.options, IN_EFFECT),
    SpellingClass("path", effect_classes.paths, IN_EFFECT, effect_classes.file_paths),
    SpellingClass("directory", effect_classes.directories, IN_EFFECT),
    SpellingClass("other program", effect_classes.programs, IN_EFFECT),
    SpellingClass(
        "other tool",
        effect_classes.tools,
        "covers the tools that write and read files, too",
        lambda plain, _project, _home: effect_classes.writes(plain),
    ),
    SpellingClass(
        "list of words",
        text_classes.lists,
        "deny a command that is not a text: not isinstance(event.tool_input['command'], str)",
    ),
)
BY_NAME = {spelling_class.name: spelling_class for spelling_class in CLASSES}


@dataclass(frozen=True, slots=True)
class Variant:
    """A spelling of something that is denied, and its class."""

    plain: Plain
    class_name: str
    spelling: Spelling


def variants_of(
    plain: Plain, *, project: str, home: str, seed: int, classes: Iterable[str] = BY_NAME
) -> list[Variant]:
    """Return the spellings of something that is denied, without repetitions.

    The seed chooses among variants; the same one gives the same spellings.
    """
    variants: dict[str, Variant] = {}
    for name in classes:
        chance = random.Random(f"{seed} {name} {plain.text}")  # noqa: S311 - repeatable on purpose
        for spelling in _spellings(BY_NAME[name], plain, project, home, chance):
            calls = json.dumps([[call.tool, call.input] for call in spelling.calls])
            if spelling.act != plain.act or spelling.calls != (plain.call,):
                variants.setdefault(calls, Variant(plain, name, spelling))
    return list(variants.values())


def _spellings(
    spelling_class: SpellingClass, plain: Plain, project: str, home: str, chance: random.Random
) -> Iterator[Spelling]:
    if plain.call.tool != "shell":
        if spelling_class.of_call is not None:
            yield from spelling_class.of_call(plain, project, home)
        return
    if len(plain.text) > MAX_LENGTH:
        return
    for line in lines_of(plain.text, project, home, chance):
        for spelling in spelling_class.of_line(line):
            if not isinstance(spelling, str):
                yield spelling
            elif spelling != plain.text:
                links = ("/tmp/link",) if "/tmp/link" in spelling else ()  # noqa: S108 - the oracle's
                yield Spelling.of_line(spelling, *links)


# -- what closes a class


def sentence_for(plain: Plain) -> str:
    """Return the condition that covers every spelling of what is denied.

    It is a line of Python for a function of a hook file, on `event`.
    """
    if plain.call.tool != "shell":
        path = str(plain.call.input.get("file_path", ""))
        verb = "writes" if plain.call.tool == "write_file" else "reads"
        return f"event.{verb}({json.dumps(path)})"
    words = [unquoted(word) for word in split_tokens(plain.text)]
    while words and (re.match(r"\w+=", words[0]) or words[0] in ("sudo", "doas", "env")):
        words = words[1:]
    if not words:
        return 'event.runs("…")'
    program, rest = words[0].rpartition("/")[2], words[1:]
    operands = [word for word in rest if not word.startswith("-") and re.match(r"[\w./~$]", word)]
    paths: list[str] = []
    for operand in operands:
        path = operand
        is_file = re.search(r"\w\.\w+$", path) or path.rstrip("/") in ("", "~", "*")
        # Another path may be a directory.
        if not is_file and "*" not in path:
            path = f"{path.rstrip('/')}/**"
        paths.append(json.dumps(path))
    hosts = re.findall(r"https?://([\w.-]+)", plain.text)
    targets = re.findall(r">>?\s*([\w./~-]+)", plain.text)
    if program in ("rm", "rmdir", "unlink", "shred", "find") and paths:
        return f"event.deletes({', '.join(paths)})"
    if hosts:
        return f"event.contacts({', '.join(json.dumps(host) for host in hosts)})"
    if targets:
        return f"event.writes({', '.join(map(json.dumps, targets))})"
    if program in ("cat", "less", "head", "tail", "more", "grep") and paths:
        return f"event.reads({json.dumps(operands[-1])})"
    named = [program, *[word for word in operands[:1] if word.isalpha()]]
    flags = [word for word in rest if re.fullmatch(r"-[\w-]+", word)]
    options = f", options={{{', '.join(map(json.dumps, flags))}}}" if flags else ""
    return f"event.runs({', '.join(map(json.dumps, named))}{options})"
