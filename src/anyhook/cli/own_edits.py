"""Accept what a user has edited in the files of trusted hooks, with one key."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from anyhook.agents import agent_that_started, get_agent
from anyhook.cli.output import console
from anyhook.cli.render import confirm
from anyhook.cli.trust import print_review, review_hooks
from anyhook.trust.changes import forget_changes
from anyhook.trust.store import TrustStore

if TYPE_CHECKING:
    from pathlib import Path

    from anyhook.trust.records import TrustChange


def accept_own_edits(project: Path, agent_name: str) -> None:
    """Show what changed in files of this user and trust it if the user presses `y`.

    Nothing is offered without a terminal, in a process that an agent has started, for new hooks and
    changed definitions, and for files of other users: `anyhook trust` shows these.

    Raises:
        OSError: If the trust store cannot be written.
        SettingsError: If others can write the trust store.
    """
    has_terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    if not has_terminal or agent_that_started(os.environ) is not None:
        return
    store = TrustStore()
    review = review_hooks(store, project, get_agent(agent_name))
    if not review.changes or not all(map(_is_own_edit, review.changes)):
        return
    out = console(stderr=True)
    print_review(out, project, review)
    question = "Did you make these changes, and do you trust them?"
    if confirm(question, is_agreed=False, instead="see: anyhook trust", err=True):
        store.trust(project, review.subjects, agent=agent_name)
        forget_changes(project)


def _is_own_edit(change: TrustChange) -> bool:
    if change.what != "script":
        return False
    files = [script.path for script in change.subject.scripts]
    for tree in change.subject.trees:
        files += [script.path for script in tree.files.values()]
    return all(map(_is_own_file, files))


def _is_own_file(path: Path) -> bool:
    """Return whether a file belongs to this user; one that is gone has no owner."""
    try:
        owner = path.stat().st_uid
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return not hasattr(os, "geteuid") or owner == os.geteuid()
