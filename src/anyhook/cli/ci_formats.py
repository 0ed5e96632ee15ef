"""Diagnostics in the formats that continuous integration reads: GitHub annotations and SARIF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook import __version__
from anyhook.model.diagnostics import CODES, Diagnostic, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


GITHUB_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
GITHUB_TEXT_ESCAPES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
GITHUB_PROPERTY_ESCAPES = GITHUB_TEXT_ESCAPES | str.maketrans({":": "%3A", ",": "%2C"})
SARIF_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def github_lines(diagnostics: Iterable[Diagnostic], *, strict: bool) -> Iterator[str]:
    """Write diagnostics as workflow commands, which GitHub shows next to the lines of a change.

    With `strict`, warnings are errors.
    """
    for diagnostic in diagnostics:
        severity = diagnostic.severity
        if strict and severity is Severity.WARNING:
            severity = Severity.ERROR
        members = {"title": diagnostic.code}
        place = diagnostic.place
        if place is not None:
            members["file"] = _relative_path(place.file, Path.cwd())
            members["line"] = str(place.line or 1)
            if place.column is not None:
                members["col"] = str(place.column)
        properties = []
        for name, value in members.items():
            properties.append(f"{name}={value.translate(GITHUB_PROPERTY_ESCAPES)}")
        message = diagnostic.message.translate(GITHUB_TEXT_ESCAPES)
        yield f"::{GITHUB_COMMANDS[severity]} {','.join(properties)}::{message}"


def sarif_log(diagnostics: list[Diagnostic], project: Path) -> dict[str, Any]:
    """Return diagnostics as a log of SARIF 2.1.0; paths are relative to the project."""
    codes = list(dict.fromkeys(diagnostic.code for diagnostic in diagnostics))
    rules = []
    for code in codes:
        severity, description = CODES[code]
        rule = {"id": code, "shortDescription": {"text": description}}
        rules.append({**rule, "defaultConfiguration": {"level": SARIF_LEVELS[severity]}})
    run = {
        "tool": {"driver": {"name": "anyhook", "version": __version__, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(diagnostic, codes, project) for diagnostic in diagnostics],
    }
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _sarif_result(diagnostic: Diagnostic, codes: list[str], project: Path) -> dict[str, Any]:
    place = diagnostic.place
    locations = []
    if place is not None:
        region = {"startLine": place.line or 1}
        if place.column is not None:
            region["startColumn"] = place.column
        path = Path(_relative_path(place.file, project))
        uri = path.as_uri() if path.is_absolute() else path.as_posix()
        location = {"artifactLocation": {"uri": uri}, "region": region}
        locations.append({"physicalLocation": location})
    return {
        "ruleId": diagnostic.code,
        "ruleIndex": codes.index(diagnostic.code),
        "level": SARIF_LEVELS[diagnostic.severity],
        "message": {"text": diagnostic.message},
        "locations": locations,
    }


def _relative_path(file: str, base: Path) -> str:
    path = Path(file)
    if not path.is_relative_to(base):
        return file
    return path.relative_to(base).as_posix()
