"""Plugins: which are installed and enabled, and where their hooks are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.agents.spec.settings import HOOKS_PATH
from anyhook.model.layers import Layer
from anyhook.settings.jsonc import dict_at, value_at
from anyhook.settings.sources import Source, SourceSearch, config_dir

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anyhook.agents.spec import AgentSpec
    from anyhook.agents.spec.settings import Plugins
    from anyhook.settings.reader import LoadedFile
    from anyhook.settings.sources import Location

_OPTION_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def find_plugin_sources(
    agent: AgentSpec,
    spec: Plugins,
    location: Location,
    files: Sequence[LoadedFile],
    objects: dict[Path, dict[str, Any]],
) -> SourceSearch:
    """Find the hook files of the plugins that are installed and enabled by the settings files.

    A plugin that the administrator enables belongs to the administrator's layer. The objects are
    manifests and records as they were last read; they are updated.
    """
    search = SourceSearch(agent, location, objects)
    record = Path(spec.record.format(config=config_dir(agent, location)))
    search.watched.append(record)
    for name, entry in dict_at(search.read_object(record), ("plugins",)).items():
        for row in entry if isinstance(entry, list) else [entry]:
            if not isinstance(row, dict) or not isinstance(row.get("installPath"), str):
                continue
            path = row.get("projectPath")
            # Without a path it is installed for all projects.
            if isinstance(path, str) and Path(path) != location.project:
                continue
            is_local = isinstance(path, str)
            layer = _plugin_layer(agent, spec, files, name, is_local=is_local)
            if layer is not None:
                root = Path(row["installPath"])
                _find_hook_files(search, spec, files, name=name, root=root, layer=layer)
            break
    return search


def _plugin_layer(
    agent: AgentSpec, spec: Plugins, files: Sequence[LoadedFile], name: str, *, is_local: bool
) -> Layer | None:
    """Return the layer of a plugin's hooks; `None` if it is not enabled.

    The user's settings and those with more authority decide. Where they do not, a project decides
    about plugins that the user installed for this project alone.
    """
    enabled: dict[Layer, bool] = {}
    rank_of = agent.settings.precedence_of
    for file in sorted(files, key=lambda file: rank_of(file.source.layer)):
        value = value_at(file.values, (*spec.enabled, name))
        if isinstance(value, bool):
            enabled[file.source.layer] = value
    if enabled.get(Layer.MANAGED):
        return Layer.MANAGED
    user_authority = agent.settings.authority[Layer.USER]
    deciding = [layer for layer in enabled if agent.settings.authority[layer] >= user_authority]
    if not deciding and is_local:
        deciding = list(enabled)
    if not deciding:
        return None
    return Layer.PLUGIN if enabled[max(deciding, key=rank_of)] else None


def _find_hook_files(
    search: SourceSearch,
    spec: Plugins,
    files: Sequence[LoadedFile],
    *,
    name: str,
    root: Path,
    layer: Layer,
) -> None:
    search.watched.append(root / spec.manifest)
    manifest = search.read_object(root / spec.manifest) or {}
    config = config_dir(search.agent, search.location)
    data = spec.data.format(config=config, plugin=name.partition("@")[0])
    paths = {"plugin": str(root), "data": data}
    path_variables = {variable: paths[key] for variable, key in spec.path_variables.items()}
    env: dict[str, str] = {}
    placeholders: dict[str, str] = {}
    # The user, or a layer with more authority, sets the options of a plugin.
    authority = search.agent.settings.authority
    options: dict[str, str] = {}
    for file in files:
        if authority[file.source.layer] < authority[Layer.USER]:
            continue
        for key, value in dict_at(file.values, ("pluginConfigs", name, "options")).items():
            text = value if isinstance(value, str) else json.dumps(value)
            if "\0" not in text and _OPTION_NAME.fullmatch(str(key)):
                options[str(key)] = text
    for key, value in options.items():
        env[f"{spec.option_variable}{key.upper()}"] = value
        placeholders[f"{spec.option_placeholder}{key}"] = value
    for path, hooks_path in _hook_files(search, spec, root, manifest):
        source = Source(
            layer,
            path,
            origin=name,
            path_variables=path_variables,
            env=env,
            placeholders=placeholders,
            forbidden=f"${{{spec.option_placeholder}",
            hooks_path=hooks_path,
        )
        search.sources.append(source)


def _hook_files(
    search: SourceSearch, spec: Plugins, root: Path, manifest: Mapping[str, Any]
) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Yield the usual file of hooks, and the files that the manifest names or the manifest itself.

    The keys to the hooks in the file are yielded with it.
    """
    usual = root / spec.hooks
    yield usual, HOOKS_PATH
    named = manifest.get("hooks")
    if isinstance(named, dict):
        is_nested = isinstance(named.get("hooks"), dict)
        yield root / spec.manifest, (*HOOKS_PATH, "hooks") if is_nested else HOOKS_PATH
        return
    names = named if isinstance(named, list) else [named]
    for name in names:
        if not isinstance(name, str):
            continue
        path = (root / name).resolve()
        if not path.is_relative_to(root.resolve()):
            search.report(f"it names {name!r} outside the plugin; left out", root)
        elif path != usual.resolve():
            yield path, HOOKS_PATH
