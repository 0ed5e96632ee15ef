"""Diagnostics in the formats that continuous integration reads: GitHub annotations and SARIF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook import __version__
from anyhook.model.diagnostics import CODES, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from anyhook.model.diagnostics import Diagnostic, Place

GITHUB_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
GITHUB_TEXT_ESCAPES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
GITHUB_PROPERTY_ESCAPES = GITHUB_TEXT_ESCAPES | str.maketrans({":": "%3A", ",": "%2C"})
SARIF_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def github_lines(diagnostics: Iterable[Diagnostic], *, strict: bool) -> Iterator[str]:
    """Write diagnostics as workflow commands, which GitHub shows next to the lines of a change.

    Args:
        diagnostics: The diagnostics.
        strict: Write warnings as errors.
    """
    for diagnostic in diagnostics:
        severity = diagnostic.severity
        if strict and severity is Severity.WARNING:
            severity = Severity.ERROR
        properties = []
        for name, value in _github_properties(diagnostic).items():
            properties.append(f"{name}={value.translate(GITHUB_PROPERTY_ESCAPES)}")
        message = diagnostic.message.translate(GITHUB_TEXT_ESCAPES)
        yield f"::{GITHUB_COMMANDS[severity]} {','.join(properties)}::{message}"


def _github_properties(diagnostic: Diagnostic) -> dict[str, str]:
    properties = {"title": diagnostic.code}
    place = diagnostic.place
    if place is not None:
        properties["file"] = _relative_path(place.file, Path.cwd())
        properties["line"] = str(place.line or 1)
        if place.column is not None:
            properties["col"] = str(place.column)
    return properties


def sarif_log(diagnostics: list[Diagnostic], project: Path) -> dict[str, Any]:
    """Return diagnostics as a log of SARIF 2.1.0, the format of code scanning.

    Args:
        diagnostics: The diagnostics.
        project: The directory that paths are relative to.
    """
    codes = list(dict.fromkeys(diagnostic.code for diagnostic in diagnostics))
    driver = {
        "name": "anyhook",
        "version": __version__,
        "rules": [_sarif_rule(code) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(diagnostic, codes, project) for diagnostic in diagnostics],
    }
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _sarif_rule(code: str) -> dict[str, Any]:
    severity, description = CODES[code]
    return {
        "id": code,
        "shortDescription": {"text": description},
        "defaultConfiguration": {"level": SARIF_LEVELS[severity]},
    }


def _sarif_result(diagnostic: Diagnostic, codes: list[str], project: Path) -> dict[str, Any]:
    place = diagnostic.place
    return {
        "ruleId": diagnostic.code,
        "ruleIndex": codes.index(diagnostic.code),
        "level": SARIF_LEVELS[diagnostic.severity],
        "message": {"text": diagnostic.message},
        "locations": [] if place is None else [_sarif_location(place, project)],
    }


def _sarif_location(place: Place, project: Path) -> dict[str, Any]:
    region = {"startLine": place.line or 1}
    if place.column is not None:
        region["startColumn"] = place.column
    path = Path(_relative_path(place.file, project))
    uri = path.as_uri() if path.is_absolute() else path.as_posix()
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}


def _relative_path(file: str, base: Path) -> str:
    path = Path(file)
    if not path.is_relative_to(base):
        return file
    return path.relative_to(base).as_posix()
