"""What was migrated, put beside what the target's file has already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.migrate.commands import unwrap
from anyhook.migrate.losses import Loss
from anyhook.migrate.matchers import covers_same
from anyhook.model.diagnostics import Place
from anyhook.settings.edit import add_item, read_settings, set_member
from anyhook.settings.jsonc import strip_comments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.agents.spec import AgentSpec
    from anyhook.migrate.plan import Migration


def merge_into(migration: Migration, text: str, file: str) -> tuple[str, list[Loss]]:
    """Add the migrated hooks to a settings file.

    A hook that is there already, on the same event with the same matcher and command, is left as
    it is, whatever its other members say: somebody may have changed them on purpose.

    Args:
        migration: What to add.
        text: The target's file; empty if there is none.
        file: Its path, for messages.

    Returns:
        The new text, with comments, order and everything else kept, and what was there already
        and differs.

    Raises:
        SettingsError: If the file is no JSON with comments, or something in it is in the way.
    """
    target = migration.target
    notes: list[Loss] = []
    before = text
    for entry in migration.entries:
        where = (*target.hooks_path, entry.event)
        there = list(_handlers(before, where, file))
        matcher = entry.definition.get("matcher")
        missing = []
        for handler in entry.definition["hooks"]:
            same = [h for h in there if _is_same(h, matcher, handler)]
            if not same:
                missing.append(handler)
            elif all(own != handler for _, own, _ in same):
                notes += _differences(same[0], handler, file)
        if missing:
            text = add_item(text, where, {**entry.definition, "hooks": missing}, file=file)
    if migration.entries:
        text = switched_on(target, text, file)
    return text, notes


def switched_on(target: AgentSpec, text: str, file: str) -> str:
    """Switch hooks on where an agent runs none without that.

    Raises:
        SettingsError: If the file switches them off.
    """
    observed = target.rule_sets.get("observed", target.documented)
    if observed.enabled_by_default:
        return text
    switch = next(s for s in target.hook_toggles if s.kind == "enabled")
    return set_member(text, switch.path, True, file=file)


WEAKENS = frozenset({"async", "if", "once"})
"""Members of a handler that make it do less."""


def _shorter(own: dict[str, Any], wanted: dict[str, Any]) -> bool:
    there, here = own.get("timeout"), wanted.get("timeout")
    return isinstance(there, int | float) and isinstance(here, int | float) and there < here


def _handlers(
    text: str, where: tuple[str, ...], file: str
) -> Iterator[tuple[str | None, dict[str, Any], int]]:
    """Yield the handlers of an event with their matchers and lines."""
    if not strip_comments(text).strip():
        return
    document = read_settings(text, file)
    value: Any = document.value
    for key in where:
        value = value.get(key) if isinstance(value, dict) else None
    for i, definition in enumerate(value if isinstance(value, list) else ()):
        handlers = definition.get("hooks") if isinstance(definition, dict) else None
        for j, handler in enumerate(handlers if isinstance(handlers, list) else ()):
            if isinstance(handler, dict):
                line = document.place((*where, i, "hooks", j)).line or 0
                yield definition.get("matcher"), handler, line


def _is_same(
    there: tuple[str | None, dict[str, Any], int], matcher: Any, handler: dict[str, Any]
) -> bool:
    if isinstance(there[0], str | None) and covers_same(there[0], matcher):
        return bool(_command(there[1]) == _command(handler))
    return False


def _command(handler: dict[str, Any]) -> Any:
    command = handler.get("command")
    inner = unwrap(command) if isinstance(command, str) else None
    if inner is not None:
        inner = inner.replace(was="")
    return (inner or command, *(handler.get(key) for key in ("args", "env")))


def _differences(
    there: tuple[str | None, dict[str, Any], int], handler: dict[str, Any], file: str
) -> Iterator[Loss]:
    _, own, line = there
    for key in sorted(own.keys() | handler.keys()):
        is_unnamed = key == "name" and own.get(key) is None
        if key != "command" and not is_unnamed and own.get(key) != handler.get(key):
            weaker = key in WEAKENS or (key == "timeout" and _shorter(own, handler))
            yield Loss(
                kind="weaker" if weaker else "note",
                place=Place(file, line),
                what=f"{key} of a hook that is there already",
                why=f"it says {own.get(key)!r}; the source means {handler.get(key)!r}",
                instead="change it yourself if you want that",
            )
