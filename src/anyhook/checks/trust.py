"""Hooks that do not run because the user has not trusted them, in anyhook or in the agent."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from anyhook.model.definitions import HandlerSpec, each_handler
from anyhook.model.diagnostics import Diagnostic, Place, diagnose
from anyhook.trust.changes import changes_to_review
from anyhook.trust.native import RUNNING, native_states

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.engine.engine import Engine
    from anyhook.settings.hookset import HookSet


def not_trusted(engine: Engine) -> Iterator[Diagnostic]:
    """Report the hooks that anyhook does not run, because the user has not trusted them in it."""
    yield from engine.guard.diagnostics()


def not_trusted_by_the_agent(engine: Engine) -> Iterator[Diagnostic]:
    """Report the hooks that the agent itself does not run, because it does not trust them."""
    yield from report_native_trust(engine.hooks)


def changed_guards(engine: Engine) -> Iterator[Diagnostic]:
    """Report files of the guards that changed while no hook saw it, until the user reviews them."""
    for change in changes_to_review(engine.project_dir):
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime(change.time))
        message = f"it was found changed at {at}, and no hook saw the change; review: anyhook trust"
        yield diagnose("guard-changed", message, Place(change.file))


def report_native_trust(hooks: HookSet) -> Iterator[Diagnostic]:
    """Report the hooks that the agent itself does not run, because it does not trust them.

    A hook that a file has for several events, like a recorder, is reported once, at its first one.
    """
    native = native_states(hooks.agent, hooks)
    if native is None:
        return
    groups: dict[tuple[str, str, str], list[HandlerSpec]] = {}
    for _, handler in each_handler(hooks.definitions):
        state = native.of(handler)
        if state is not None and state not in RUNNING:
            key = (handler.place.file, handler.identifier, state)
            groups.setdefault(key, []).append(handler)
    for (_, _, state), handlers in groups.items():
        events = dict.fromkeys(str(handler.path[-4]) for handler in handlers)
        first = handlers[0]
        message = (
            f"{first.label!r} on {', '.join(events)} is {state} in {hooks.agent.title}, which "
            f"does not run it; {native.review}"
        )
        yield diagnose("native-trust", message, first.place, handler=first.label)
