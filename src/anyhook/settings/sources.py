"""Which files hooks come from: places by platform, overrides by environment, extensions."""

from __future__ import annotations

import fnmatch
import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.agents.spec.settings import HOOKS_PATH, Extensions
from anyhook.file_errors import explain_error, may_exist
from anyhook.files import home_path, read_user_file
from anyhook.model.diagnostics import Diagnostic, Place, diagnose
from anyhook.model.layers import Layer
from anyhook.model.record import EMPTY, Record
from anyhook.settings.directories import (
    base_directory,
    directories_down_to,
    find_root,
    is_pattern,
    list_directories,
    list_files,
    report_closed_directories,
)
from anyhook.settings.jsonc import list_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from anyhook.agents.spec import AgentSpec
    from anyhook.agents.spec.settings import SettingsFile

# Bytes. People write far smaller files; a repository must not be able to fill the memory.
SIZE_LIMIT = 1024 * 1024
MAX_FILES = 1000
"""Files of one pattern that are read."""
MAX_TOTAL_SIZE = 4 * 1024 * 1024
"""Bytes of all files of one pattern that are read."""
ROOT_USER = 0
DIRECTORY = "{directory}"
"""Part of the template of files that every directory of a project can have."""
ADMINISTRATOR_LAYERS = frozenset({Layer.SYSTEM, Layer.MANAGED})
"""Layers whose first file lies in the directory `{system_dir}` of their other files."""


class Location(NamedTuple):
    """Everything that the places of settings files depend on.

    Attributes:
        project: Directory of the project.
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
        agent: AgentSpec | None = None,
        *,
        home: str | os.PathLike[str] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Location:
        """Take from this process what is not given; a variable of the agent may name its home."""
        environ = os.environ if environ is None else environ
        if home is None and agent is not None and agent.settings.home_variable:
            home = environ.get(agent.settings.home_variable)
        user_home = Path(home or home_path(environ))
        return cls(Path(project).absolute(), user_home.absolute(), environ)


class Source(Record, kw_only=False):
    """A file that may hold hooks.

    Attributes:
        path: The file; it need not exist.
        origin: Name of the extension or plugin that it belongs to.
        path_variables: Paths that commands in it may use like variables.
        text_variables: Other variables in its texts.
        env: Variables for every command in it.
        placeholders: Placeholders in arguments of programs, with their values.
        forbidden: Text that no command line for a shell may hold.
        hooks_path: Keys from the root of the file to the hooks.
        file: The place that it was found at, if it is a settings file.
        directory: Working directory of its commands; empty if it is the event's.
        project: Directory of the project, to which `cwd` of a handler is relative then.
        owner: User ID that the file has to belong to; `None` for any.
    """

    layer: Layer
    path: Path
    origin: str | None = None
    path_variables: Mapping[str, str] = EMPTY
    text_variables: Mapping[str, str] = EMPTY
    env: Mapping[str, str] = EMPTY
    placeholders: Mapping[str, str] = EMPTY
    forbidden: str | None = None
    hooks_path: tuple[str, ...] = HOOKS_PATH
    file: SettingsFile | None = None
    directory: str = ""
    project: str = ""
    owner: int | None = None

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of the agent whose hooks it can hold (`SettingsFile.forms`)."""
        return self.file.forms if self.file is not None else ("",)

    @property
    def is_foreign(self) -> bool:
        """Whether it is a settings file of another agent, which this one reads as well."""
        return self.file is not None and self.file.is_foreign


@dataclass(slots=True)
class SourceSearch:
    """A search for the files of an agent, and its results.

    Attributes:
        objects: Manifests and records as they were last read.
        sources: The files, whether they exist or not.
        diagnostics: Problems of extensions and plugins.
        watched: Other paths whose change could change the results.
    """

    agent: AgentSpec
    location: Location
    objects: dict[Path, dict[str, Any]]
    sources: list[Source] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    watched: list[Path] = field(default_factory=list)

    def report(self, message: str, path: Path) -> None:
        """Report a problem of an extension or plugin."""
        self.diagnostics.append(diagnose("extension-unreadable", message, Place(str(path))))

    def read_object(self, path: Path) -> dict[str, Any] | None:
        """Read a JSON object; `None` if there is no such file, or it could never be read.

        A file that cannot be read now keeps its former content, as it may be half-written.
        """
        try:
            value = json.loads(read_user_file(path, SIZE_LIMIT).decode())
        except (FileNotFoundError, NotADirectoryError):
            self.objects.pop(path, None)
            return None
        except OSError as error:
            problem = explain_error(path, error)
        except (ValueError, RecursionError) as error:
            problem = str(error)
        else:
            if isinstance(value, dict):
                self.objects[path] = value
                return value
            problem = "it must hold an object"
        if path in self.objects:
            problem = f"{problem}; it stays in force as it was before"
        self.report(problem, path)
        return self.objects.get(path)


def find_sources(
    agent: AgentSpec, location: Location, objects: dict[Path, dict[str, Any]] | None = None
) -> SourceSearch:
    """Find the files of every layer, in the order of a plan; plugins are not included.

    The objects are manifests and records as they were last read; they are updated.
    """
    search = SourceSearch(agent, location, {} if objects is None else objects)
    # A file that belongs to two layers counts for the one with more authority.
    patterns = list(_place_patterns(agent, location))
    places_found = _settings_places(patterns, search.diagnostics)
    by_authority = sorted(
        places_found, key=lambda place: -agent.settings.authority[place.file.layer]
    )
    real_paths: set[str] = set()
    root = (
        str(find_root(location.project))
        if "root" in agent.settings.hook_directories.values()
        else ""
    )
    working_directories = {"project": str(location.project), "root": root}
    for place in by_authority:
        kind = agent.settings.hook_directories.get(place.file.layer, "")
        working_directories["file"] = str(place.path.parent)
        real_path = os.path.realpath(place.path)
        if real_path not in real_paths:
            real_paths.add(real_path)
            source = Source(
                place.file.layer,
                place.path,
                file=place.file,
                directory=working_directories.get(kind, ""),
                project=str(location.project),
                owner=ROOT_USER if place.file.is_protected and not place.is_overridden else None,
            )
            search.sources.append(source)
    for place in patterns:
        if is_pattern(place.path):
            search.watched += list_directories(place.path)
    if isinstance(agent.settings.packages, Extensions):
        _find_extensions(search, agent.settings.packages)
    search.sources.sort(key=lambda source: agent.settings.layer_ranks[source.layer])
    return search


def config_dir(agent: AgentSpec, location: Location) -> Path:
    """Return the agent's own directory in the home."""
    override = (
        location.environ.get(agent.settings.config_variable)
        if agent.settings.config_variable
        else None
    )
    if override:
        return Path(override)
    config_home = location.environ.get("XDG_CONFIG_HOME") or location.home / ".config"
    return Path(agent.settings.config_dir.format(home=location.home, config_home=config_home))


def places(agent: AgentSpec, location: Location) -> list[tuple[Layer, Path]]:
    """List the settings files of every layer, whether they exist or not."""
    settings_places = _settings_places(_place_patterns(agent, location), [])
    return [(place.file.layer, place.path) for place in settings_places]


def own_places(agent: AgentSpec, location: Location) -> list[tuple[Layer, Path]]:
    """List the settings files like `places`, without those of other agents."""
    return [
        (place.file.layer, place.path)
        for place in _settings_places(_place_patterns(agent, location), [])
        if not place.file.is_foreign
    ]


def written_file(agent: AgentSpec, location: Location, layer: Layer) -> Path | None:
    """Return the settings file that hooks of a layer are written into; `None` if there is none."""
    for place in _place_patterns(agent, location):
        if place.file.layer is layer and not place.file.is_foreign and not place.is_above:
            return _written_path(place)
    return None


class _SettingsPlace(Record, kw_only=False):
    """A place of settings: a file, or a pattern of files.

    Attributes:
        file: Its entry in the agent's tables.
        is_overridden: Whether an environment variable names it.
        is_above: Whether it belongs to a directory above the project.
    """

    file: SettingsFile
    path: Path
    is_overridden: bool = False
    is_above: bool = False


def _settings_places(
    patterns: Iterable[_SettingsPlace], diagnostics: list[Diagnostic]
) -> list[_SettingsPlace]:
    """List the settings files of every layer, whether they exist or not.

    There is a diagnostic for each pattern with more files than are read, and for each directory
    that cannot be read.
    """
    files: list[_SettingsPlace] = []
    for place in patterns:
        if not is_pattern(place.path):
            files.append(place)
            continue
        descending = place.file.descending
        diagnostics += report_closed_directories(list_directories(place.path))
        listed = list_files(place.path, descending=descending)
        paths: list[Path] = []
        total_size = 0
        for path in listed[:MAX_FILES]:
            with suppress(OSError):  # why it cannot be read is reported when it is read
                total_size += path.stat().st_size
            if total_size > MAX_TOTAL_SIZE:
                break
            paths.append(path)
        left_out = listed[len(paths) :]
        if left_out:
            message = (
                f"{len(listed):,} files are more than anyhook reads ({MAX_FILES:,} files or "
                f"{MAX_TOTAL_SIZE >> 20} MiB in a directory); the last {len(left_out):,}, from "
                f"{left_out[0].name} on, are left out; write their hooks into fewer files"
            )
            directory = Place(str(base_directory(place.path)))
            diagnostics.append(diagnose("too-many-hooks", message, directory))
        own_path = _written_path(place)
        if place.file.written_name and own_path not in paths:
            paths.append(own_path)
        files += [place.replace(path=path) for path in paths]
    return files


def _written_path(place: _SettingsPlace) -> Path:
    if not is_pattern(place.path):
        return place.path
    return base_directory(place.path) / place.file.written_name


def _place_patterns(agent: AgentSpec, location: Location) -> Iterator[_SettingsPlace]:
    """Yield the places of settings files of every layer; a `*` in the name stands for many."""
    fields = {
        "home": str(location.home),
        "project": str(location.project),
        "config": str(config_dir(agent, location)),
        "system_dir": "",
    }
    done: set[int] = set()
    for index, file in enumerate(agent.settings.files):
        if index in done:
            continue
        override = location.environ.get(file.variable) if file.variable else None
        template = _template(file, location)
        if DIRECTORY in template:
            # The files of one directory come together: those of the same layer with the same mark.
            group = [
                position
                for position, other in enumerate(agent.settings.files)
                if other.layer is file.layer and DIRECTORY in _template(other, location)
            ]
            done.update(group)
            for directory, position in product(directories_down_to(location.project), group):
                other = agent.settings.files[position]
                path = Path(_template(other, location).format(directory=directory))
                yield _SettingsPlace(other, path, is_above=directory != location.project)
            continue
        if "{root}" in template and "root" not in fields:
            fields["root"] = str(find_root(location.project))
        path = Path(override or template.format(**fields))
        if file.layer in ADMINISTRATOR_LAYERS and not fields["system_dir"]:
            fields["system_dir"] = str(path.parent)
        yield _SettingsPlace(file, path, bool(override))


def _template(file: SettingsFile, location: Location) -> str:
    return file.paths.get(location.platform) or file.paths["*"]


def _find_extensions(search: SourceSearch, spec: Extensions) -> None:
    config = config_dir(search.agent, search.location)
    root = Path(spec.directory.format(home=search.location.home, config=config))
    search.watched += [root, root / spec.enablement]
    try:
        directories = sorted(root.iterdir()) if os.path.isdir(root) else []
    except OSError as error:
        search.report(explain_error(root, error), root)
        return
    overrides = search.read_object(root / spec.enablement) or {}
    for directory in directories:
        if os.path.isdir(directory):
            _find_extension(search, spec, directory, overrides)


def _find_extension(
    search: SourceSearch, spec: Extensions, directory: Path, overrides: Mapping[str, Any]
) -> None:
    record = search.read_object(directory / spec.install_record) or {}
    base = directory
    if record.get("type") == "link" and isinstance(record.get("source"), str):
        base = Path(record["source"])
    search.watched += [base / spec.manifest, base / ".env"]
    manifest = search.read_object(base / spec.manifest)
    hooks_file = base / spec.hooks
    if manifest is None:
        if os.path.isfile(hooks_file) and not may_exist(base / spec.manifest):
            search.report(f"it has hooks and no {spec.manifest}, so they do not run", hooks_file)
        return
    name = str(manifest.get("name") or directory.name)
    project = search.location.project
    if not _is_enabled(overrides.get(name), project):
        return
    paths = {"extension": str(base), "project": str(project)}
    named_hooks = manifest.get("hooks") if spec.manifest_hooks else None
    if isinstance(named_hooks, dict):
        hooks_file = base / spec.manifest
    elif isinstance(named_hooks, str) and os.path.isfile(base / named_hooks):
        hooks_file = base / named_hooks
    source = Source(
        Layer.EXTENSION,
        hooks_file,
        origin=name,
        path_variables={variable: paths[key] for variable, key in spec.path_variables.items()},
        text_variables=spec.text_variables,
        env=_extension_env(manifest, base),
    )
    search.sources.append(source)


def _is_enabled(entry: object, project: Path) -> bool:
    """Apply the rules of an extension in order; the last one that covers the project counts."""
    path = str(project)
    enabled = True
    for rule in list_at(entry, ("overrides",)):
        text = str(rule)
        pattern = text.removeprefix("!").rstrip("/")
        is_root = pattern.endswith("/*") and path == pattern.removesuffix("/*")
        if is_root or fnmatch.fnmatchcase(path, pattern):
            enabled = not text.startswith("!")
    return enabled


def _extension_env(manifest: Mapping[str, Any], base: Path) -> dict[str, str]:
    """Read the values of an extension's declared settings from its `.env` file."""
    declared: set[str] = set()
    for setting in list_at(manifest, ("settings",)):
        if isinstance(setting, dict) and setting.get("envVar"):
            declared.add(str(setting["envVar"]))
    if not declared:
        return {}
    try:
        text = read_user_file(base / ".env", SIZE_LIMIT).decode("utf-8", "replace")
    except OSError:  # there is none, or this user may not read it
        return {}
    values: dict[str, str] = {}
    for line in text.splitlines():
        name, separator, value = line.strip().partition("=")
        if separator and not name.startswith("#"):
            values[name.strip()] = value.strip().strip("\"'")
    present = sorted(declared & values.keys())
    return {name: values[name] for name in present if "\0" not in values[name]}
