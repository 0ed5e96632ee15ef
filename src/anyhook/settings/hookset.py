"""All layers together: one list of definitions, and what is switched off."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from anyhook.agents.spec import Plugins
from anyhook.files import changed_within_tick, identity_of
from anyhook.model.diagnostics import Diagnostic, Place, diagnose
from anyhook.model.layers import Layer
from anyhook.model.suggest import did_you_mean
from anyhook.settings.load import last_good, load_file
from anyhook.settings.plugins import plugin_sources
from anyhook.settings.sources import find_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec, RuleSet
    from anyhook.files import FileIdentity
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.settings.reader import LoadedFile
    from anyhook.settings.sources import Location, Source


@dataclass(frozen=True, slots=True)
class HookSet:
    """What the settings of all layers say.

    Attributes:
        agent: Whose settings they are.
        files: Every file that was looked at, in the order of a plan.
        watched: What a change of the settings would change.
        identities: Identities of the watched files when they were read.
        diagnostics: What is wrong with them.
        objects: Manifests and records of extensions and plugins.
        read_at: When the identities were taken, in nanoseconds since the epoch.
    """

    agent: AgentSpec
    files: tuple[LoadedFile, ...]
    watched: tuple[Path, ...]
    identities: tuple[FileIdentity, ...]
    diagnostics: tuple[Diagnostic, ...]
    objects: Mapping[Path, dict[str, Any]] = field(default_factory=dict)
    read_at: int = 0

    @property
    def definitions(self) -> Iterator[HookDefinition]:
        """Every definition, in the order of a plan."""
        for file in self.files:
            yield from file.definitions

    def is_stale(self) -> bool:
        """Return whether a settings file changed, or may have changed, since it was read."""
        if any(changed_within_tick(identity, self.read_at) for identity in self.identities):
            return True
        return tuple(map(identity_of, self.watched)) != self.identities

    def switched_off(self, handler: HandlerSpec, rules: RuleSet | None = None) -> str | None:
        """Tell whether a handler is switched off.

        A layer can switch off its own hooks and those of layers that are not stronger: a project
        never switches off a hook of its user, nor a user one of the system. Under rules that go by
        precedence the strongest word counts for all.

        Returns:
            File and line where it was switched off, or `None` if it is on.
        """
        for file in self.files:
            if file.only is not None and handler.layer not in file.only:
                return str(file.only_at)
        rules = rules or self.agent.documented
        return SWITCHES[rules.toggle_policy](self, rules, handler)

    def by_authority(self, rules: RuleSet, handler: HandlerSpec) -> str | None:
        """Ask the layers that are at least as strong as the handler's, the strongest first.

        What a layer switches off of its own stays off, whatever other layers switch on.
        """
        authority = self.agent.authority
        needed = authority[handler.layer]
        rank = {layer: place for place, layer in enumerate(self.agent.precedence)}
        judges = list(reversed(self.files))  # of two files of a layer the later one counts
        judges.sort(key=lambda f: (-authority[f.source.layer], -rank.get(f.source.layer, -1)))
        own = [f for f in judges if f.source.layer is handler.layer and f.enabled is not None]
        if own and not own[0].enabled:
            return str(own[0].enabled_at)
        decided = False
        for file in judges:
            if authority[file.source.layer] < needed:
                continue
            if handler.identifier in file.disabled:
                return str(file.disabled[handler.identifier])
            if file.enabled is not None and not decided:
                decided = True
                if not file.enabled:
                    return str(file.enabled_at)
        return None if decided or rules.enabled_by_default else "the agent's default"

    def by_precedence(self, rules: RuleSet, handler: HandlerSpec) -> str | None:
        """Ask every layer; the last word on all hooks has the layer of the highest precedence."""
        for file in self.files:
            if handler.identifier in file.disabled:
                return str(file.disabled[handler.identifier])
        rank = {layer: place for place, layer in enumerate(self.agent.precedence)}
        said = [f for f in self.files if f.enabled is not None and f.source.layer in rank]
        if not said:
            return None if rules.enabled_by_default else "the agent's default"
        last = max(reversed(said), key=lambda f: rank[f.source.layer])
        authority = self.agent.authority
        managed = authority.get(Layer.MANAGED)
        immune = managed is not None and (
            authority[last.source.layer] < managed <= authority[handler.layer]
        )
        return None if last.enabled or immune else str(last.enabled_at)

    def url_patterns(self, layer: Layer) -> tuple[str, ...] | None:
        """Return the URLs that hooks of a layer may ask; `None` if nobody restricts them."""
        web = self.agent.web
        return self._merged(web.allowed_urls, layer) if web else None

    def header_variables(self, layer: Layer) -> frozenset[str] | None:
        """Return the variables that headers may hold; `None` if nobody restricts them."""
        web = self.agent.web
        found = self._merged(web.allowed_variables, layer) if web else None
        return None if found is None else frozenset(found)

    def named_hosts(self) -> frozenset[str]:
        """Return the hosts that the user or somebody stronger allows by their full name."""
        web = self.agent.web
        if web is None:
            return frozenset()
        strong = self.agent.authority[Layer.USER]
        files = [f for f in self.files if self.agent.authority[f.source.layer] >= strong]
        patterns = (p for f in files for p in _strings(_value_at(f.values, web.allowed_urls)))
        hosts = (urlsplit(pattern).hostname or "" for pattern in patterns)
        return frozenset(host.rstrip(".").lower() for host in hosts if host and "*" not in host)

    def _merged(self, path: tuple[str, ...], layer: Layer) -> tuple[str, ...] | None:
        """Join a list of the files that have a say for a layer.

        The user's files, and stronger ones, speak for all; a project's for its own hooks alone,
        and only where nobody stronger has spoken.
        """
        authority = self.agent.authority
        for least in (authority[Layer.USER], authority[layer]):
            files = [f for f in self.files if authority[f.source.layer] >= least]
            lists = [v for f in files if (v := _value_at(f.values, path)) is not None]
            if lists:
                return tuple(item for value in lists for item in _strings(value))
        return None

    def redaction(self, layer: Layer) -> Mapping[str, Any]:
        """Return the redaction settings for the commands of a layer.

        Only layers that are at least as strong have a say: a project cannot take the `PATH` from a
        guard of its user. A layer of its own can make redaction stricter for itself, not looser.
        """
        merged: dict[str, Any] = {"allowed": [], "blocked": []}
        authority = self.agent.authority
        for file in sorted(self.files, key=lambda f: authority[f.source.layer]):
            rank = authority[file.source.layer]
            trusted = rank >= authority[Layer.USER]
            if rank < authority[layer] and not trusted:
                continue
            enabled = file.redaction.get("enabled")
            if isinstance(enabled, bool) and (trusted or enabled):
                merged["enabled"] = enabled
            merged["blocked"] += _strings(file.redaction.get("blocked"))
            merged["allowed"] += _strings(file.redaction.get("allowed")) if trusted else []
        return merged


def load_hooks(agent: AgentSpec, location: Location, previous: HookSet | None = None) -> HookSet:
    """Read the settings of every layer.

    Args:
        agent: Whose settings.
        location: The project, home, environment and platform.
        previous: The settings as they were read before. What cannot be read now stays as it was.

    Returns:
        The hooks and what is wrong with the files. Never raises for what files hold.
    """
    read_at = time.time_ns()
    objects: dict[Path, dict[str, Any]] = dict(previous.objects) if previous else {}
    before = {_key(file.source): file for file in previous.files} if previous else {}

    def load(source: Source) -> LoadedFile:
        return last_good(load_file(agent, source), before.get(_key(source)))

    sources, problems, places = find_sources(agent, location, objects)
    watched = (*(source.path for source in sources), *places)
    identities = tuple(map(identity_of, watched))
    files = tuple(map(load, sources))
    if isinstance(agent.packages, Plugins):
        first, _, records = plugin_sources(agent, agent.packages, location, files, objects)
        watched = (*watched, *records, *(source.path for source in first))
        # before they are read for good
        identities = (*identities, *map(identity_of, watched[len(identities) :]))
        plugins, more, _ = plugin_sources(agent, agent.packages, location, files, objects)
        order = {layer: rank for rank, layer in enumerate(agent.layer_order)}
        loaded = (*files, *map(load, plugins))
        files = tuple(sorted(loaded, key=lambda f: order[f.source.layer]))
        problems = (*problems, *more)
    found = [*problems, *(d for file in files for d in file.diagnostics)]
    found += [*_missing_switch(agent, files), *_switch_problems(agent, files)]
    return HookSet(agent, files, watched, identities, tuple(found), objects, read_at)


def _key(source: Source) -> tuple[object, ...]:
    return source.layer, source.path, source.origin, source.hooks_path


def _missing_switch(agent: AgentSpec, files: tuple[LoadedFile, ...]) -> Iterator[Diagnostic]:
    """Tell where the agent itself runs no hooks, because nobody switched them on."""
    observed = agent.rule_sets.get("observed", agent.documented)
    first = next((file for file in files if file.definitions), None)
    if (
        observed.enabled_by_default
        or first is None
        or any(file.enabled is not None for file in files)
    ):
        return
    switch = next(s for s in agent.hook_toggles if s.kind == "enabled")
    value = "true"
    for key in reversed(switch.path):
        value = f'{{"{key}": {value}}}'
    yield diagnose(
        "switch-missing",
        f"{agent.title} itself ({observed.release}) runs no hooks unless a settings file says "
        f"{value[1:-1]}",
        Place(str(first.source.path)),
    )


def _switch_problems(agent: AgentSpec, files: tuple[LoadedFile, ...]) -> Iterator[Diagnostic]:
    handlers = [h for file in files for d in file.definitions for h in d.handlers]
    known: dict[str, set[Layer]] = {}
    for handler in handlers:
        known.setdefault(handler.identifier, set()).add(handler.layer)
    shown = {handler.shown_identifier for handler in handlers}
    unknown = 0
    for file in files:
        reach = agent.authority[file.source.layer]
        for name, place in file.disabled.items():
            if name not in known:
                unknown += 1
                meant = did_you_mean(name, shown) if unknown <= SUGGESTIONS else None
                hint = meant or "the name of a hook belongs here"
                yield diagnose("unknown-hook-name", f"no hook is named {name!r}; {hint}", place)
                continue
            stronger = {str(la) for la in known[name] if agent.authority[la] > reach}
            if stronger:
                yield diagnose(
                    "powerless-switch",
                    f"{name!r} belongs to the {', '.join(sorted(stronger))} layer, which this file "
                    "cannot switch off; it still runs",
                    place,
                )


SUGGESTIONS = 20
"""Unknown names that are compared with the known ones: that takes time."""
SWITCHES: dict[str, Callable[[HookSet, RuleSet, HandlerSpec], str | None]] = {
    "authority": HookSet.by_authority,
    "precedence": HookSet.by_precedence,
}
"""Who has the last word on switches."""


def _value_at(values: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = values
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
