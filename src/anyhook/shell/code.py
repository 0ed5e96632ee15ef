"""What code in other languages does by the usual functions with a literal text.

`os.system("rm -rf x")`, `subprocess.run(["rm", "x"])`, `unlink "x"`, `open("x", "w")`.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from anyhook.expressions import expression

if TYPE_CHECKING:
    from collections.abc import Iterator

_STRING = r"""[rbuf]{0,2}(?:"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)')"""
_RUNS = expression(
    r"(?:\b(?:system|popen[234]?|exec[lv]p?e?|execSync|execFile(?:Sync)?|spawn[lv]?p?e?(?:Sync)?"
    r"|getoutput|getstatusoutput|check_output|check_call|Popen|passthru|shell_exec|proc_open"
    r"|posix_spawnp?|os\.execute|start_process|pty\.spawn)\b|\bsubprocess\.(?:run|call)\b|\bexec\b|\bqx\b|%x\b"
    r"|\bdo shell script\b)\s*\(?\s*"
)
_LIST = expression(rf"\[\s*((?:{_STRING}\s*,?\s*)+)\]")
_ONE_STRING = expression(_STRING)
_HIDDEN = expression(
    r"\b(?:eval|getattr|__import__|importlib|compile|ctypes|globals|b64decode|unhexlify|fromhex"
    r"|child_process|instance_eval|send)\b|`"
    r"|\b(?:os|subprocess|pty|shutil)\s+as\b|\bfrom\s+subprocess\b|\bimport\s*\*"
)
_BACKTICKS = expression(r"`([^`]*)`")
_PATH = r"(?:\"([^\"]*)\"|'([^']*)')"
_CODE_DELETES = expression(
    r"\b(?:unlink|rmtree|removeSync|removedirs|remove|rmdir|rmSync|unlinkSync|rmdirSync|rm_rf|rm_r|rm|delete)\b"
    rf"\s*\(?\s*[rbuf]?(?:{_PATH}|([^\s)]))"
)
_CODE_WRITES = expression(
    rf"\bopen\s*\(\s*[rbuf]?{_PATH}\s*,\s*(?:mode\s*=\s*)?[\"'][^\"']*[wax+>]"
    r"|\b(?:writeFileSync|writeFile|appendFileSync|write_text|file_put_contents)\s*\(\s*"
    rf"{_PATH}|\bPath\s*\(\s*{_PATH}\s*\)\s*\.write_"
)
_CODE_READS = expression(
    rf"\b(?:open|readFileSync|readFile|file_get_contents|File\.read|Path)\s*\(\s*[rbuf]?{_PATH}"
)
_CODE_CONTACTS = expression(r"[\"']([a-z]+://[^\"']+)[\"']")
_ESCAPE = expression(r"\\(.)", re.DOTALL)
_AWK_STRING = r'"((?:[^"\\]|\\.)*)"'
_AWK_WRITES = expression(rf"\bprintf?\b[^;}}\n]*?>>?\s*{_AWK_STRING}")
_AWK_READS = expression(rf"\bgetline\b\s*\w*\s*<\s*{_AWK_STRING}")
_AWK_PIPE = expression(rf"\|&?\s*{_AWK_STRING}|{_AWK_STRING}\s*\|&?\s*getline")


class Calls(NamedTuple):
    """What code runs: command lines, and commands as lists of words."""

    texts: list[str]
    words: list[list[str]]
    is_certain: bool
    """Whether it runs nothing else, as far as its text shows."""


def find_calls(code: str) -> Calls:
    """Return the programs that code runs by the usual functions."""
    texts: list[str] = []
    words: list[list[str]] = []
    is_certain = True
    for call in _RUNS.finditer(code):
        several = _LIST.match(code, call.end())
        single = _ONE_STRING.match(code, call.end())
        if several:
            strings = _ONE_STRING.findall(several[1])
            words.append([_unescape(first or second) for first, second in strings])
        elif single:
            texts.append(_unescape(single[1] or single[2] or ""))
            following = code[single.end() : single.end() + 2].strip()
            is_certain = is_certain and following[:1] in {"", ")", ",", ";", "}"}
        # `regex.exec(text)` runs nothing, but only its type would tell.
        else:
            is_certain = False
    if _HIDDEN.search(code):
        texts += _BACKTICKS.findall(code)
        is_certain = False
    return Calls(texts, words, is_certain)


def find_awk_calls(program: str) -> Calls:
    """Return what a program of `awk` runs; its redirections are command lines, too."""
    written = [f"> {shlex.quote(_unescape(text))}" for text in _AWK_WRITES.findall(program)]
    read = [f"< {shlex.quote(_unescape(text))}" for text in _AWK_READS.findall(program)]
    if "system" not in program and "|" not in program:
        return Calls([*written, *read], [], is_certain=True)
    calls = find_calls(program)
    piped = [_unescape(first or second) for first, second in _AWK_PIPE.findall(program)]
    pipes = len(re.findall(r"\|(?!\|)", program.replace("||", "")))
    is_certain = calls.is_certain and pipes <= len(piped)
    return Calls([*calls.texts, *piped, *written, *read], [], is_certain)


def find_targets(code: str) -> Iterator[tuple[str, str]]:
    """Yield what code does to files and hosts: `reads`, `writes`, `deletes` or `contacts`.

    The target is empty if its text does not stand in the code.
    """
    for match in _CODE_DELETES.finditer(code):
        yield "deletes", match[1] or match[2] or ""
    for pattern, kind in ((_CODE_WRITES, "writes"), (_CODE_READS, "reads")):
        for match in pattern.finditer(code):
            yield kind, next(filter(None, match.groups()), "")
    for match in _CODE_CONTACTS.finditer(code):
        yield "contacts", match[1]


def _unescape(text: str) -> str:
    return _ESCAPE.sub(r"\1", text) if "\\" in text else text
