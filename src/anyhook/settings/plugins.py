"""Plugins: which are installed and enabled, and where their hooks are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.model.diagnostics import Diagnostic, Place, diagnose
from anyhook.model.layers import Layer
from anyhook.settings.sources import Source, config_dir, read_object

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anyhook.agents.spec import AgentSpec, Plugins
    from anyhook.settings.reader import LoadedFile
    from anyhook.settings.sources import Location


def plugin_sources(
    agent: AgentSpec,
    spec: Plugins,
    location: Location,
    files: Sequence[LoadedFile],
    objects: dict[Path, dict[str, Any]],
) -> tuple[tuple[Source, ...], tuple[Diagnostic, ...], tuple[Path, ...]]:
    """List the files of hooks of the plugins that are installed and enabled.

    Args:
        agent: Whose plugins.
        spec: Where they are recorded and what they look like.
        location: The project, home, environment and platform.
        files: The settings, which say what is enabled.
        objects: Manifests and records as they were read last; updated.

    Returns:
        The files, what is wrong with plugins, and the places whose change could change that. A
        plugin that the administrator enables belongs to the administrator's layer.
    """
    problems: list[Diagnostic] = []
    config = config_dir(agent, location)
    record = Path(spec.record.format(config=config))
    installed = (read_object(record, problems, objects) or {}).get("plugins")
    watched = [record]
    sources: list[Source] = []
    for name, entry in (installed if isinstance(installed, dict) else {}).items():
        row = _install(entry, location.project)
        if row is None:
            continue
        root, is_local = Path(row["installPath"]), isinstance(row.get("projectPath"), str)
        layer = _layer(agent, spec, files, name, is_local=is_local)
        if layer is None:
            continue
        watched.append(root / spec.manifest)
        manifest = read_object(root / spec.manifest, problems, objects) or {}
        data = spec.data.format(config=config, plugin=name.partition("@")[0])
        paths = {"plugin": str(root), "data": data}
        options = _options(agent, files, name)
        known = {variable: paths[what] for variable, what in spec.path_variables.items()}
        for path, keys in _hook_files(spec, root, manifest, problems):
            sources.append(
                Source(
                    layer,
                    path,
                    origin=name,
                    path_variables=known,
                    env=_option_variables(spec, options),
                    placeholders={f"{spec.option_placeholder}{k}": v for k, v in options.items()},
                    forbidden=f"${{{spec.option_placeholder}",
                    hooks_path=keys,
                )
            )
    return tuple(sources), tuple(problems), tuple(watched)


def _layer(
    agent: AgentSpec, spec: Plugins, files: Sequence[LoadedFile], name: str, *, is_local: bool
) -> Layer | None:
    """Return the layer of a plugin's hooks; `None` if it is not enabled.

    A project does not switch a plugin of its user on or off. It has a say on those that its user
    installed for this project, as long as nobody stronger has one.
    """
    rank = {layer: place for place, layer in enumerate(agent.precedence)}
    strong = agent.authority[Layer.USER]
    said: dict[Layer, bool] = {}
    for file in sorted(files, key=lambda f: rank.get(f.source.layer, -1)):
        value: Any = file.values
        for key in spec.enabled_by_default:
            value = value.get(key) if isinstance(value, dict) else None
        switch = value.get(name) if isinstance(value, dict) else None
        if isinstance(switch, bool):
            said[file.source.layer] = switch
    if said.get(Layer.MANAGED):
        return Layer.MANAGED
    weighty = [layer for layer in said if agent.authority[layer] >= strong]
    voices = weighty or (list(said) if is_local else [])
    strongest = max(voices, key=lambda layer: rank.get(layer, -1), default=None)
    return Layer.PLUGIN if strongest is not None and said[strongest] else None


def _install(entry: object, project: Path) -> Mapping[str, Any] | None:
    """Return the record of an installation: for all projects, or for this one."""
    rows = entry if isinstance(entry, list) else [entry]
    for row in rows:
        if isinstance(row, dict) and isinstance(row.get("installPath"), str):
            where = row.get("projectPath")
            if not isinstance(where, str) or Path(where) == project:
                return row
    return None


def _hook_files(
    spec: Plugins, root: Path, manifest: Mapping[str, Any], problems: list[Diagnostic]
) -> Iterator[tuple[Path, tuple[str, ...] | None]]:
    """Yield the files of hooks: the usual one, those that the manifest names, or itself."""
    usual = root / spec.hooks
    yield usual, None
    given = manifest.get("hooks")
    if isinstance(given, dict):
        keys = ("hooks", "hooks") if isinstance(given.get("hooks"), dict) else ("hooks",)
        yield root / spec.manifest, keys
        return
    for path in given if isinstance(given, list) else [given]:
        if not isinstance(path, str):
            continue
        found = (root / path).resolve()
        if not found.is_relative_to(root.resolve()):
            text = f"it names {path!r} outside the plugin; left out"
            problems.append(diagnose("extension-unreadable", text, Place(str(root))))
        elif found != usual.resolve():
            yield found, None


_OPTION = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def _options(agent: AgentSpec, files: Sequence[LoadedFile], name: str) -> dict[str, str]:
    """Return what the user, or somebody stronger, set for a plugin."""
    found: dict[str, str] = {}
    strong = agent.authority[Layer.USER]
    for file in files:
        if agent.authority[file.source.layer] < strong:
            continue
        configs = file.values.get("pluginConfigs")
        own = configs.get(name) if isinstance(configs, dict) else None
        options = own.get("options") if isinstance(own, dict) else None
        for key, value in (options if isinstance(options, dict) else {}).items():
            text = value if isinstance(value, str) else json.dumps(value)
            if "\0" not in text and _OPTION.fullmatch(str(key)):
                found[str(key)] = text
    return found


def _option_variables(spec: Plugins, options: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that hold what the user set."""
    return {f"{spec.option_variable}{key.upper()}": value for key, value in options.items()}
