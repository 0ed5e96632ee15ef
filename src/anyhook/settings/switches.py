"""Reads the members of a settings file that are not hooks: switches of hooks, and redaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.settings.jsonc import value_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anyhook.agents.spec import AgentSpec
    from anyhook.agents.spec.settings import HookToggle
    from anyhook.model.diagnostics import Place
    from anyhook.model.layers import Layer
    from anyhook.settings.report import Reporter
    from anyhook.settings.sources import Source

SHARED_OBJECTS = frozenset({"tools", "features"})
"""Objects of the agents that hold a switch of hooks among other settings."""


class SwitchReader:
    """Reads the switches of one settings file and reports their problems."""

    def __init__(self, agent: AgentSpec, source: Source, reporter: Reporter) -> None:
        self.agent = agent
        self.source = source
        self.reporter = reporter

    def _value_at(self, path: tuple[str, ...]) -> Any:
        return value_at(self.reporter.document.value, path)

    def _report_type(self, path: tuple[str, ...], expected: str) -> None:
        self.reporter.report("wrong-type", f"{'.'.join(path)} must be {expected}", path)

    def _toggles(self, *kinds: str) -> Iterator[tuple[HookToggle, Any]]:
        """Yield the switches of some kinds that the file may hold and holds, with their values."""
        for toggle in self.agent.settings.hook_toggles:
            value = self._value_at(toggle.path)
            is_read = not toggle.layers or self.source.layer in toggle.layers
            is_read = is_read and toggle.file in ("", self.source.path.name)
            if toggle.kind in kinds and value is not None and is_read:
                self._check_legacy(toggle, value)
                yield toggle, value

    def _check_legacy(self, toggle: HookToggle, value: object) -> None:
        # A list of objects at the older place holds the hooks of an event with the same name.
        is_event = isinstance(value, list) and any(isinstance(item, dict) for item in value)
        if not toggle.legacy or is_event:
            return
        for newer in self.agent.settings.hook_toggles:
            if newer.kind == toggle.kind and not newer.legacy:
                message = (
                    f"{'.'.join(toggle.path)} is where older releases look; newer ones read "
                    f"{'.'.join(newer.path)}"
                )
                self.reporter.report("legacy-place", message, toggle.path)
                return

    def check_switch_object(self) -> None:
        """Report unknown members of the object that holds the switches and nothing else."""
        toggles = self.agent.settings.hook_toggles
        path = next((toggle.path[:-1] for toggle in toggles if not toggle.legacy), ())
        if not path or path[0] in SHARED_OBJECTS:
            return
        value = self._value_at(path)
        if isinstance(value, dict):
            names = {toggle.path[-1] for toggle in toggles if toggle.path[:-1] == path}
            self.reporter.report_unknown_fields(
                value, names | self.agent.settings.non_event_keys, path
            )
        elif value is not None:
            self._report_type(path, "an object")

    def read_enabled(self) -> tuple[bool | None, Place | None]:
        """Return whether the file switches all hooks on or off, and where; the first one counts."""
        enabled, place = None, None
        for toggle, value in self._toggles("enabled", "off"):
            if not isinstance(value, bool):
                if self.agent.settings.drops_flawed_entries:
                    name = ".".join(toggle.path)
                    self.reporter.report(
                        "bad-structure", f"{name} must be true or false", toggle.path
                    )
                    continue
                self._report_type(toggle.path, "true or false")
                if not toggle.coerces:
                    continue
                value = isinstance(value, dict | list) or bool(value)  # noqa: PLW2901
            if enabled is None:
                enabled = value is (toggle.kind == "enabled")
                place = self.reporter.document.place(toggle.path)
        return enabled, place

    def read_disabled(self) -> dict[str, Place]:
        """Return the hooks that the file switches off, each with the place that says so."""
        disabled: dict[str, Place] = {}
        for toggle, value in self._toggles("disabled"):
            path = toggle.path
            if not isinstance(value, list):
                self._report_type(path, "a list of hook names")
                continue
            for index, name in self.reporter.limited(enumerate(value), "disabled names", path):
                if isinstance(name, str):
                    disabled[name] = self.reporter.document.place((*path, index))
                else:
                    message = "a disabled hook is named by a string"
                    self.reporter.report("wrong-type", message, (*path, index))
        return disabled

    def read_allowed_layers(self) -> tuple[frozenset[Layer] | None, Place | None]:
        """Return the only layers whose hooks may run, and where the last such switch is."""
        allowed: frozenset[Layer] | None = None
        place = None
        for toggle, value in self._toggles("only"):
            if toggle.value is not None:
                is_listed = isinstance(value, list) and toggle.value in value
                restricts = is_listed or (toggle.or_true and value is True)
            else:
                if not isinstance(value, bool):
                    self._report_type(toggle.path, "true or false; read as true")
                restricts = value is not False
            if not restricts:
                continue
            before = allowed
            allowed = toggle.keeps if allowed is None else allowed & toggle.keeps
            if allowed != before:
                place = self.reporter.document.place(toggle.path)
        return allowed, place

    # -- redaction

    def read_redaction(self) -> Mapping[str, Any]:
        """Return the settings of redaction; an empty object if there are none."""
        if self.agent.settings.redaction is None:
            return {}
        path = self.agent.settings.redaction.path
        value = self._value_at(path)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self._report_type(path, "an object")
            return {}
        self.reporter.report_unknown_fields(value, {"enabled", "allowed", "blocked"}, path)
        self.reporter.typed_member(value, "enabled", bool, "true or false", path)
        for key in ("allowed", "blocked"):
            names = self.reporter.typed_member(value, key, list, "a list of names", path) or ()
            for index, name in enumerate(names):
                if not isinstance(name, str):
                    self.reporter.report("wrong-type", f"{key} holds names", (*path, key, index))
        return value
