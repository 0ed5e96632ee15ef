"""The files that an agent needs in addition to its settings to run the hooks in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.model.diagnostics import Diagnostic, Place, diagnose
from anyhook.model.layers import Layer
from anyhook.settings.companions import State, find_companion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.engine.engine import Engine


def companion_files(engine: Engine) -> Iterator[Diagnostic]:
    """Report settings files with hooks whose companion is missing, outdated or edited."""
    agent = engine.agent
    for file in engine.hooks.files:
        for companion in agent.companions if file.definitions else ():
            scope = "user" if file.source.layer is Layer.USER else "project"
            command = f"anyhook add HOOK.py --agent {agent.name} --scope {scope}"
            installed = find_companion(companion, file.source.path)
            name, place = installed.path.name, Place(str(installed.path))
            match installed.state:
                case State.MISSING:
                    text = f"{agent.title} runs no hook without the file {name}, which is missing"
                    yield diagnose("companion-missing", f"{text}; write it with: {command}", place)
                case State.OUTDATED:
                    text = f"another release of anyhook has written {name}"
                    yield diagnose("companion-outdated", f"{text}; renew it with: {command}", place)
                case State.CHANGED:
                    text = f"{name} was edited, so hooks may not run as configured"
                    yield diagnose("companion-changed", f"{text}; renew it with: {command}", place)
