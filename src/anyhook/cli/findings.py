"""Problems in the forms that continuous integration reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook import __version__
from anyhook.model.diagnostics import CODES, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from anyhook.model.diagnostics import Diagnostic

GITHUB_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
SARIF_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ESCAPES = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY_ESCAPES = _ESCAPES | {":": "%3A", ",": "%2C"}


def github_lines(diagnostics: Iterable[Diagnostic], *, strict: bool = False) -> Iterator[str]:
    """Write problems as workflow commands, which GitHub shows beside the lines of a change.

    Args:
        diagnostics: The problems.
        strict: Write warnings as errors.
    """
    for found in diagnostics:
        is_error = strict and found.severity is Severity.WARNING
        command = "error" if is_error else GITHUB_COMMANDS[found.severity]
        properties = {"title": found.code}
        if found.place is not None:
            properties |= {
                "file": _relative(found.place.file, Path.cwd()),
                "line": str(found.place.line or 1),
            }
            if found.place.column is not None:
                properties["col"] = str(found.place.column)
        written = ",".join(
            f"{name}={_escaped(text, _PROPERTY_ESCAPES)}" for name, text in properties.items()
        )
        yield f"::{command} {written}::{_escaped(found.message, _ESCAPES)}"


def sarif_log(diagnostics: list[Diagnostic], project: Path) -> dict[str, Any]:
    """Write problems as a log of SARIF 2.1.0, the format of code scanning.

    Args:
        diagnostics: The problems.
        project: Directory that the paths are relative to.
    """
    codes = list(dict.fromkeys(found.code for found in diagnostics))
    rules = [
        {
            "id": code,
            "shortDescription": {"text": CODES[code][1]},
            "defaultConfiguration": {"level": SARIF_LEVELS[CODES[code][0]]},
        }
        for code in codes
    ]
    results = [
        {
            "ruleId": found.code,
            "ruleIndex": codes.index(found.code),
            "level": SARIF_LEVELS[found.severity],
            "message": {"text": found.message},
            "locations": [_sarif_location(found, project)] if found.place else [],
        }
        for found in diagnostics
    ]
    driver = {"name": "anyhook", "version": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _sarif_location(found: Diagnostic, project: Path) -> dict[str, Any]:
    place = found.place
    if place is None:
        return {}
    region = {"startLine": place.line or 1}
    if place.column is not None:
        region["startColumn"] = place.column
    path = Path(_relative(place.file, project))
    uri = path.as_uri() if path.is_absolute() else path.as_posix()
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}


def _relative(file: str, base: Path) -> str:
    path = Path(file)
    return path.relative_to(base).as_posix() if path.is_relative_to(base) else file


def _escaped(text: str, escapes: dict[str, str]) -> str:
    return "".join(escapes.get(char, char) for char in text)
