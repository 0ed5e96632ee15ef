"""Which files hooks come from: places by platform, overrides by environment, extensions."""

from __future__ import annotations

import fnmatch
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.agents.spec import Extensions
from anyhook.files import read_user_file
from anyhook.model.diagnostics import Diagnostic, Place, diagnose
from anyhook.model.layers import Layer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anyhook.agents.spec import AgentSpec


SIZE_LIMIT = 1024 * 1024
"""Bytes; settings are written by people, and a repository must not fill the memory."""


@dataclass(frozen=True, slots=True)
class Location:
    """What the place of a file depends on; given, so that nothing here asks the machine.

    Attributes:
        project: Directory of the project.
        home: Home directory of the user.
        environ: Environment of the host.
        platform: As `sys.platform`.
    """

    project: Path
    home: Path
    environ: Mapping[str, str]
    platform: str = sys.platform

    @classmethod
    def of(
        cls,
        project: str | os.PathLike[str],
        *,
        home: str | os.PathLike[str] | None = None,
        environ: Mapping[str, str] | None = None,
        home_variable: str | None = None,
    ) -> Location:
        """Fill in what was not given from the machine."""
        environ = os.environ if environ is None else environ
        stand_in = environ.get(home_variable) if home_variable and home is None else None
        where = Path(home or stand_in or environ.get("HOME") or Path.home())
        return cls(Path(project).absolute(), where.absolute(), environ)


@dataclass(frozen=True, slots=True)
class Source:
    """A file that may hold hooks.

    Attributes:
        layer: Its layer.
        path: The file; it need not exist.
        origin: Name of the extension or plugin that it belongs to.
        path_variables: Paths that commands in it may name like variables.
        text_variables: Other variables in its texts.
        env: Variables for every command in it.
        placeholders: What stands for itself in the arguments of programs, and nowhere else.
        forbidden: What no line for the shell may hold.
        hooks_path: Keys to the hooks, where they are not at the agent's usual place.
    """

    layer: Layer
    path: Path
    origin: str | None = None
    path_variables: Mapping[str, str] = field(default_factory=dict)
    text_variables: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    placeholders: Mapping[str, str] = field(default_factory=dict)
    forbidden: str | None = None
    hooks_path: tuple[str, ...] | None = None


def find_sources(
    agent: AgentSpec, location: Location, objects: dict[Path, dict[str, Any]] | None = None
) -> tuple[tuple[Source, ...], tuple[Diagnostic, ...], tuple[Path, ...]]:
    """List the files of every layer, in the order of a plan.

    Args:
        agent: Whose files.
        location: The project, home, environment and platform.
        objects: Manifests and records as they were read last; updated.

    Returns:
        The files, whether they exist or not, what is wrong with extensions, and the places whose
        change could add or remove one.
    """
    known = places(agent, location)
    sources = []
    seen: set[str] = set()
    by_strength = sorted(known, key=lambda place: -agent.authority[place[0]])
    for layer, path in by_strength:  # a file that is two layers at once is the stronger one
        real = os.path.realpath(path)
        if real not in seen:
            seen.add(real)
            sources.append(Source(layer, path))
    problems: list[Diagnostic] = []
    watched = [path.parent for _, path in patterns(agent, location) if "*" in path.name]
    if isinstance(agent.packages, Extensions):
        objects = {} if objects is None else objects
        sources += _extension_sources(agent.packages, location, problems, watched, objects)
    order = {layer: rank for rank, layer in enumerate(agent.layer_order)}
    found = tuple(sorted(sources, key=lambda s: order[s.layer]))
    return found, tuple(problems), tuple(watched)


def config_dir(agent: AgentSpec, location: Location) -> Path:
    """Return the agent's own directory in the home."""
    given = location.environ.get(agent.config_variable) if agent.config_variable else None
    return Path(given or agent.config_dir.format(home=location.home))


def places(agent: AgentSpec, location: Location) -> list[tuple[Layer, Path]]:
    """List the settings files of every layer, whether they exist or not."""
    found: list[tuple[Layer, Path]] = []
    for layer, path in patterns(agent, location):
        if "*" in path.name:
            found += [(layer, one) for one in sorted(path.parent.glob(path.name))]
        else:
            found.append((layer, path))
    return found


def patterns(agent: AgentSpec, location: Location) -> Iterator[tuple[Layer, Path]]:
    """Yield the places of settings files of every layer; a `*` stands for many files."""
    known = {
        "home": str(location.home),
        "project": str(location.project),
        "config": str(config_dir(agent, location)),
        "system_dir": "",
    }
    for entry in agent.settings:
        override = location.environ.get(entry.variable) if entry.variable else None
        template = entry.paths.get(location.platform) or entry.paths["*"]
        path = Path(override or template.format(**known))
        if entry.layer in SYSTEM_LAYERS and not known["system_dir"]:
            known["system_dir"] = str(path.parent)
        yield entry.layer, path


SYSTEM_LAYERS = frozenset({Layer.SYSTEM, Layer.MANAGED})
"""Layers whose first file says where the administrator's other files are."""


def _extension_sources(
    spec: Extensions,
    location: Location,
    problems: list[Diagnostic],
    watched: list[Path],
    objects: dict[Path, dict[str, Any]],
) -> Iterator[Source]:
    root = Path(spec.directory.format(home=location.home))
    watched += [root, root / spec.enablement]
    try:
        directories = sorted(root.iterdir()) if root.is_dir() else []
    except OSError as error:
        problems.append(diagnose("extension-unreadable", f"{error.strerror}", Place(str(root))))
        return
    overrides = read_object(root / spec.enablement, problems, objects) or {}
    for directory in directories:
        if not os.path.isdir(directory):  # noqa: PTH112 - never raises
            continue
        record = read_object(directory / spec.install_record, problems, objects) or {}
        linked = record.get("source") if record.get("type") == "link" else None
        base = Path(linked) if isinstance(linked, str) else directory
        watched += [base / spec.manifest, base / ".env"]
        manifest = read_object(base / spec.manifest, problems, objects)
        if manifest is None:
            if (base / spec.hooks).is_file() and not (base / spec.manifest).exists():
                text = f"it has hooks and no {spec.manifest}, so they do not run"
                place = Place(str(base / spec.hooks))
                problems.append(diagnose("extension-unreadable", text, place))
            continue
        name = str(manifest.get("name") or directory.name)
        if not _is_enabled(overrides.get(name), location.project):
            continue
        paths = {"extension": str(base), "project": str(location.project)}
        yield Source(
            Layer.EXTENSION,
            base / spec.hooks,
            origin=name,
            path_variables={k: paths[v] for k, v in spec.path_variables.items()},
            text_variables=spec.text_variables,
            env=_extension_env(manifest, base),
        )


def _is_enabled(entry: object, project: Path) -> bool:
    """Apply the rules of an extension in order; the last one that covers the project stands."""
    rules = entry.get("overrides") if isinstance(entry, dict) else None
    enabled = True
    for rule in rules if isinstance(rules, list) else ():
        text = str(rule)
        negated, pattern = text.startswith("!"), text.removeprefix("!").rstrip("/")
        here = str(project)
        if fnmatch.fnmatchcase(here, pattern) or (
            pattern.endswith("/*") and here == pattern.removesuffix("/*")
        ):
            enabled = not negated
    return enabled


def _extension_env(manifest: Mapping[str, Any], base: Path) -> dict[str, str]:
    """Read the values of an extension's declared settings from its `.env` file."""
    settings = manifest.get("settings")
    declared = {
        str(item["envVar"])
        for item in (settings if isinstance(settings, list) else ())
        if isinstance(item, dict) and item.get("envVar")
    }
    file = base / ".env"
    try:
        text = read_user_file(file, SIZE_LIMIT).decode("utf-8", "replace") if declared else ""
    except OSError:  # it has none, or none for us
        return {}
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
    values = {key.strip(): value.strip().strip("\"'") for key, _, value in pairs}
    return {key: values[key] for key in sorted(declared & values.keys()) if "\0" not in values[key]}


def read_object(
    path: Path, problems: list[Diagnostic], objects: dict[Path, dict[str, Any]]
) -> dict[str, Any] | None:
    """Read a JSON object.

    Args:
        path: The file.
        problems: What is wrong with it is added here.
        objects: Objects as they were read last. One that cannot be read now stays as it was: it may
            be half-written.

    Returns:
        The object; `None` if there is no such file, or if it never could be read.
    """
    try:
        value = _as_object(json.loads(read_user_file(path, SIZE_LIMIT).decode()))
    except (FileNotFoundError, NotADirectoryError):
        objects.pop(path, None)
        return None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        why = getattr(error, "strerror", None) or str(error)
        if path in objects:
            why = f"{why}; it stays in force as it was before"
        problems.append(diagnose("extension-unreadable", why, Place(str(path))))
        return objects.get(path)
    objects[path] = value
    return value


def _as_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("it must hold an object")
    return value
