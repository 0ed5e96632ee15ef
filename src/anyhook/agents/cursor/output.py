"""How commands end, as Cursor reads it."""

from __future__ import annotations

from anyhook.agents.output import ExitReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from anyhook.model.status import Status


class CursorExitReader(ExitReader):
    """Expects JSON of every command."""

    def has_failed(self, status: Status) -> bool:
        """Return whether a hook has failed: also if it prints nothing, which is not JSON.

        Sources: ljos 0.35.5; vibetime #40, 2026-09-14.
        """
        is_silent = self.end.code == 0 and self.output.form == "empty"
        return super().has_failed(status) or (is_silent and self.context.spec.can_block)
