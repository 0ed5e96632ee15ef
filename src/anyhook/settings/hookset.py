"""The settings of all layers together: their definitions, and which hooks are switched off."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from anyhook.agents.spec.settings import Plugins
from anyhook.model.definitions import each_handler, handlers_of
from anyhook.model.diagnostics import Diagnostic, Place, diagnose
from anyhook.model.layers import Layer
from anyhook.model.record import EMPTY, Record, replace
from anyhook.model.suggest import did_you_mean
from anyhook.settings.jsonc import list_at, value_at
from anyhook.settings.load import FileStamp, keep_last_good, load_file
from anyhook.settings.plugins import find_plugin_sources
from anyhook.settings.report import MAX_ITEMS
from anyhook.settings.sources import find_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec, RuleSet
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.settings.reader import LoadedFile
    from anyhook.settings.sources import Location, Source, SourceSearch

MAX_SUGGESTIONS = 20
"""Unknown hook names that are compared with the known ones; a comparison takes milliseconds."""
AGENT_DEFAULT = "the agent's default"
"""What switches a hook off where no file does."""


class HookSet(Record, kw_only=False):
    """The settings of all layers of one agent.

    Attributes:
        files: Every file that was looked for, in the order of a plan.
        stamps: Stamps of all paths whose change may change the settings.
        diagnostics: Problems of the files.
        objects: Manifests and records of extensions and plugins, as they were last read.
    """

    agent: AgentSpec
    files: tuple[LoadedFile, ...]
    stamps: tuple[FileStamp, ...]
    diagnostics: tuple[Diagnostic, ...]
    objects: Mapping[Path, dict[str, Any]] = EMPTY

    @property
    def definitions(self) -> Iterator[HookDefinition]:
        """Every definition, in the order of a plan."""
        for file in self.files:
            yield from file.definitions

    def only(self, keeps: Callable[[HookDefinition, HandlerSpec], bool]) -> HookSet:
        """Return the set without the handlers that `keeps` returns false for."""
        files: list[LoadedFile] = []
        for file in self.files:
            definitions: list[HookDefinition] = []
            for definition in file.definitions:
                handlers = tuple(spec for spec in definition.handlers if keeps(definition, spec))
                if handlers:
                    definitions.append(replace(definition, handlers=handlers))
            files.append(replace(file, definitions=tuple(definitions)))
        return replace(self, files=tuple(files))

    def is_stale(self) -> bool:
        """Return whether a settings file changed, or may have changed, since it was read."""
        return not all(stamp.is_current() for stamp in self.stamps)

    # -- switches

    def switched_off(self, handler: HandlerSpec, rules: RuleSet | None = None) -> str | None:
        """Return where a handler is switched off, as file and line; `None` if it is on.

        A layer can switch off its own hooks and those of layers without more authority: a project
        never switches off a hook of its user, nor a user one of the system. In rule sets that go
        by precedence the switch of the layer with the highest precedence counts for all hooks.
        """
        for file in self._switching_files:
            allowed = file.allowed_layers
            if allowed is not None and handler.layer not in allowed:
                return str(file.allowed_layers_at)
        rules = rules or self.agent.documented
        if rules.toggle_policy == "precedence":
            return self._switched_off_by_precedence(rules, handler)
        if rules.toggle_policy == "authority":
            return self._switched_off_by_authority(rules, handler)
        # The first switch that is off counts; no layer switches hooks on again.
        for file in self._switching_files:
            if file.enabled is not False or not self._switches(file, handler, rules):
                continue
            if not self._is_protected(handler, file):
                return str(file.enabled_at)
        return None

    def _switched_off_by_authority(self, rules: RuleSet, handler: HandlerSpec) -> str | None:
        """Ask the layers with at least the handler's authority, the strongest first.

        A layer that switches off its own hooks does so even if others switch hooks on.
        """
        files = self._files_by_authority
        for file in files:
            if file.source.layer is not handler.layer or file.enabled is None:
                continue
            if self._switches(file, handler, rules):
                if not file.enabled:
                    return str(file.enabled_at)
                break
        needed = self.agent.settings.authority[handler.layer]
        is_enabled = False
        for file in files:
            if self._authority(file) < needed:
                continue
            if handler.identifier in file.disabled:
                return str(file.disabled[handler.identifier])
            # The strongest switch decides; weaker files still name hooks that are off.
            if is_enabled or file.enabled is None or not self._switches(file, handler, rules):
                continue
            if not file.enabled:
                return str(file.enabled_at)
            is_enabled = True
        if is_enabled or _is_on_by_default(rules, handler):
            return None
        return AGENT_DEFAULT

    @cached_property
    def _switching_files(self) -> list[LoadedFile]:
        """The files with a switch, in the order of a plan; every hook asks all of them."""
        return [
            file
            for file in self.files
            if file.enabled is not None or file.disabled or file.allowed_layers is not None
        ]

    @cached_property
    def _files_by_authority(self) -> list[LoadedFile]:
        # Of two files of a layer the later one counts, so it comes first.
        files = list(reversed(self._switching_files))
        files.sort(key=lambda file: (self._authority(file), self._precedence(file)), reverse=True)
        return files

    def _switched_off_by_precedence(self, rules: RuleSet, handler: HandlerSpec) -> str | None:
        """Ask the switch with the highest precedence; any file can name hooks that are off."""
        for file in self._switching_files:
            if handler.identifier in file.disabled:
                return str(file.disabled[handler.identifier])
        switches = [file for file in self._switching_files if file.enabled is not None]
        ranked = [file for file in switches if file.source.layer in self.agent.settings.precedence]
        # Of two files of a layer the later one counts: `max` returns the first of equal ones.
        ranked.reverse()
        switch = max(ranked, key=self._precedence, default=None)
        if switch is None:
            return None if _is_on_by_default(rules, handler) else AGENT_DEFAULT
        if switch.enabled or self._is_protected(handler, switch):
            return None
        return str(switch.enabled_at)

    def _switches(self, file: LoadedFile, handler: HandlerSpec, rules: RuleSet) -> bool:
        """Return whether the switches of a file can count for a handler."""
        place = file.source.file
        is_limited = place is not None and place.switches_itself
        if is_limited or file.source.layer in rules.self_switching_layers:
            return handler.place.file == str(file.source.path)
        return True

    def _is_protected(self, handler: HandlerSpec, file: LoadedFile) -> bool:
        """Return whether the administrator's hooks run although a file switches all hooks off."""
        if Layer.MANAGED not in self.agent.settings.layer_order:
            return False
        managed = self.agent.settings.authority[Layer.MANAGED]
        return self._authority(file) < managed <= self.agent.settings.authority[handler.layer]

    def _authority(self, file: LoadedFile) -> int:
        return self.agent.settings.authority[file.source.layer]

    def _precedence(self, file: LoadedFile) -> int:
        return self.agent.settings.precedence_of(file.source.layer)

    # -- limits of requests, and redaction

    def url_patterns(self, layer: Layer) -> tuple[str, ...] | None:
        """Return the URLs that hooks of a layer may request; `None` if all are allowed."""
        web = self.agent.settings.web
        if web is None:
            return None
        return self._merge_lists(web.allowed_urls, layer)

    def header_variables(self, layer: Layer) -> frozenset[str] | None:
        """Return the variables that headers may hold; `None` if all are allowed."""
        web = self.agent.settings.web
        if web is None or not web.allowed_variables:
            return None
        names = self._merge_lists(web.allowed_variables, layer)
        return None if names is None else frozenset(names)

    def named_hosts(self) -> frozenset[str]:
        """Return the hosts that the user, or a layer with more authority, allows by full name."""
        web = self.agent.settings.web
        if web is None or not web.allowed_urls:
            return frozenset()
        hosts: set[str] = set()
        for file in self._files_with_authority(Layer.USER):
            for pattern in _strings(list_at(file.values, web.allowed_urls)):
                host = urlsplit(pattern).hostname or ""
                if "*" not in host:
                    hosts.add(host.rstrip(".").lower())
        return frozenset(hosts - {""})

    def _merge_lists(self, path: tuple[str, ...], layer: Layer) -> tuple[str, ...] | None:
        """Join a list of the files that decide about hooks of a layer.

        The user's files, and those with more authority, decide for all layers; where they do not,
        a project's files decide for its own hooks.
        """
        if not path:
            return None
        by_user = self._join_lists(path, Layer.USER)
        if by_user is not None:
            return by_user
        return self._join_lists(path, layer)

    def _join_lists(self, path: tuple[str, ...], layer: Layer) -> tuple[str, ...] | None:
        """Join a list of the files with at least a layer's authority; `None` if none has one."""
        joined: list[str] = []
        is_set = False
        for file in self._files_with_authority(layer):
            if value_at(file.values, path) is not None:
                is_set = True
                joined += _strings(list_at(file.values, path))
        return tuple(joined) if is_set else None

    def _files_with_authority(self, layer: Layer) -> list[LoadedFile]:
        """Return the files whose layer has at least the authority of another layer."""
        least = self.agent.settings.authority[layer]
        return [file for file in self.files if self._authority(file) >= least]

    def redaction(self, layer: Layer) -> Mapping[str, Any]:
        """Return the redaction settings for the commands of a layer.

        Only layers with at least its authority count: a project cannot remove the `PATH` of a
        user's guard. A layer below the user can make redaction stricter for itself, not looser.
        """
        merged: dict[str, Any] = {"allowed": [], "blocked": []}
        for file in sorted(self.files, key=self._authority):
            may_loosen = self._authority(file) >= self.agent.settings.authority[Layer.USER]
            may_tighten = (
                may_loosen or self._authority(file) >= self.agent.settings.authority[layer]
            )
            if not may_tighten:
                continue
            enabled = file.redaction.get("enabled")
            if enabled is True or (enabled is False and may_loosen):
                merged["enabled"] = enabled
            merged["blocked"] += _strings(list_at(file.redaction, ("blocked",)))
            if may_loosen:
                merged["allowed"] += _strings(list_at(file.redaction, ("allowed",)))
        return merged


def _is_on_by_default(rules: RuleSet, handler: HandlerSpec) -> bool:
    """Return whether a hook runs that no file switches on; what a host registers does."""
    return rules.enabled_by_default or handler.layer is Layer.RUNTIME


def load_hook_set(agent: AgentSpec, location: Location, previous: HookSet | None = None) -> HookSet:
    """Read the settings of every layer; never raises because of the content of files.

    Files that cannot be read now stay as they were in the previous settings.
    """
    objects: dict[Path, dict[str, Any]] = dict(previous.objects) if previous else {}
    before = {_source_key(file.source): file for file in previous.files} if previous else {}

    def load(search: SourceSearch) -> Iterator[LoadedFile]:
        for source in search.sources:
            # One that cannot be read now keeps its last content.
            yield keep_last_good(load_file(agent, source), before.get(_source_key(source)))

    search = find_sources(agent, location, objects)
    stamps = _take_stamps(search)
    files = list(load(search))
    diagnostics = search.diagnostics
    if isinstance(agent.settings.packages, Plugins):
        # The first search finds the records and manifests to watch, the second one reads them.
        search = find_plugin_sources(agent, agent.settings.packages, location, files, objects)
        stamps += _take_stamps(search)
        search = find_plugin_sources(agent, agent.settings.packages, location, files, objects)
        files += load(search)
        diagnostics += search.diagnostics
        files.sort(key=lambda file: agent.settings.layer_ranks[file.source.layer])
    files = _limit_hooks(files)
    for file in files:
        diagnostics += file.diagnostics
    diagnostics += _check_enabled(agent, files)
    diagnostics += _check_disabled_names(agent, files)
    return HookSet(agent, tuple(files), tuple(stamps), tuple(diagnostics), objects)


def _limit_hooks(files: Sequence[LoadedFile]) -> list[LoadedFile]:
    """Leave out the hooks of a layer that are more than anyhook reads.

    The first file of a layer with hooks that are left out gets a diagnostic.
    """
    counts: dict[Layer, int] = {}
    for file in files:
        hooks = len(handlers_of(file.definitions))
        counts[file.source.layer] = counts.get(file.source.layer, 0) + hooks
    if all(count <= MAX_ITEMS for count in counts.values()):
        return list(files)
    remaining = dict.fromkeys(counts, MAX_ITEMS)
    reported: set[Layer] = set()
    limited: list[LoadedFile] = []
    for file in files:
        layer = file.source.layer
        definitions: list[HookDefinition] = []
        for definition in file.definitions:
            remaining[layer] -= len(definition.handlers)
            if remaining[layer] >= 0:
                definitions.append(definition)
        diagnostics = file.diagnostics
        if len(definitions) < len(file.definitions):
            if layer not in reported:
                reported.add(layer)
                message = (
                    f"{counts[layer]:,} hooks in the files of the {layer} layer are more than "
                    f"anyhook reads ({MAX_ITEMS:,}); those from here on are left out; remove hooks "
                    "that are not needed"
                )
                place = Place(str(file.source.path))
                diagnostics += (diagnose("too-many-hooks", message, place),)
            file = replace(file, definitions=tuple(definitions), diagnostics=diagnostics)  # noqa: PLW2901
        limited.append(file)
    return limited


def _take_stamps(search: SourceSearch) -> list[FileStamp]:
    """Take the stamps of all paths of a search.

    That comes before the files are read: a change in between must be noticed.
    """
    paths = [source.path for source in search.sources]
    return [FileStamp.take(path) for path in (*paths, *search.watched)]


def _source_key(source: Source) -> tuple[object, ...]:
    return source.layer, source.path, source.origin, source.hooks_path


def _check_enabled(agent: AgentSpec, files: Sequence[LoadedFile]) -> Iterator[Diagnostic]:
    """Report hooks that the agent itself does not run because no file switches hooks on."""
    observed = agent.newest_rules
    toggles = [toggle for toggle in agent.settings.hook_toggles if toggle.kind == "enabled"]
    if observed.enabled_by_default or not toggles:
        return
    if any(file.enabled is not None for file in files):
        return
    with_hooks = [file for file in files if file.definitions]
    if not with_hooks:
        return
    member = "true"
    for key in reversed(toggles[0].path):
        member = f'{{"{key}": {member}}}'
    member = member[1:-1]  # the outer braces are those of the file
    yield diagnose(
        "switch-missing",
        f"{agent.title} itself ({observed.release}) runs no hooks unless a settings file holds "
        f"{member}",
        Place(str(with_hooks[0].source.path)),
    )


def _check_disabled_names(agent: AgentSpec, files: Sequence[LoadedFile]) -> Iterator[Diagnostic]:
    """Report disabled names that no hook has, and hooks that the file cannot switch off."""
    if not any(file.disabled for file in files):
        return
    layers: dict[str, set[Layer]] = {}
    shown_names: set[str] = set()
    for file in files:
        for _, handler in each_handler(file.definitions):
            layers.setdefault(handler.identifier, set()).add(handler.layer)
            shown_names.add(handler.shown_identifier)
    suggestions_left = MAX_SUGGESTIONS
    for file in files:
        authority = agent.settings.authority[file.source.layer]
        for name, place in file.disabled.items():
            if name not in layers:
                suggestion = did_you_mean(name, shown_names) if suggestions_left > 0 else None
                suggestions_left -= 1
                hint = suggestion or "the name of a hook belongs here"
                yield diagnose("unknown-hook-name", f"no hook is named {name!r}; {hint}", place)
                continue
            stronger = sorted(
                layer for layer in layers[name] if agent.settings.authority[layer] > authority
            )
            if stronger:
                yield diagnose(
                    "powerless-switch",
                    f"{name!r} belongs to the {', '.join(stronger)} layer, which this file "
                    "cannot switch off; it still runs",
                    place,
                )


def _strings(values: Sequence[Any]) -> list[str]:
    return [value for value in values if isinstance(value, str)]
