"""How commands end and what they reply, as Claude Code reads it."""

from __future__ import annotations

from anyhook.agents.output import ExitReader
from anyhook.agents.printed import parse_object
from anyhook.model.answers import Answer, Outcome
from anyhook.model.json import trim
from anyhook.model.layers import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from anyhook.model.decisions import Status

MISSING_FILE = ("no such file or directory", "can't open file", "cannot find module")
"""What standard error holds if the script of a command does not exist."""
TOLERANT = frozenset({"after_agent", "subagent_stop", "task_completed"})
"""Events on which such a command does not deny; for `before_prompt`, only one of a plugin."""

NEEDS_VERDICT = frozenset(
    "before_tool permission_request pre_skill_shell_command pre_model_switch before_prompt "
    "user_prompt_expansion config_change elicitation elicitation_result post_tool_batch "
    "task_created".split()
)
"""Events on which an MCP tool that must not fail answers with members of a reply, or nothing."""


class ClaudeExitReader(ExitReader):
    """Takes the reason of exit code 2 from standard error alone."""

    def runs_in_background(self) -> bool:
        """Return whether the first line or all of it is an object with `"async": true`."""
        if '"async"' not in self.end.stdout:
            return False
        text = trim(self.end.stdout)
        for candidate in (text.partition("\n")[0], text):
            value = parse_object(candidate)
            if value is not None and value.get("async") is True:
                return True
        return False

    def can_block(self) -> bool:
        """Return whether exit code 2 denies; not if it means that the command does not exist."""
        event = self.context.spec.canonical
        is_plugin = self.context.handler.layer is Layer.PLUGIN
        is_tolerant = event in TOLERANT or (event == "before_prompt" and is_plugin)
        if is_tolerant and self.output.form == "empty":
            error = self.end.stderr.lower()
            return not any(message in error for message in MISSING_FILE)
        return super().can_block()

    def reason_on_stdout(self) -> str:
        """Report that a text on standard output is not the reason."""
        self.context.report(
            "ignored-output",
            f"the text on standard output is not used: {self.context.agent.title} takes the reason "
            f"of exit code {self.end.code} from standard error; print it there (>&2)",
        )
        return ""


class ObservedExitReader(ClaudeExitReader):
    """Release 2.1.332: standard error is not the reason of a denial in JSON without one."""

    def has_failed(self, status: Status) -> bool:
        """Return whether a hook that must not fail has failed, or an MCP tool gave no verdict."""
        context = self.context
        # What a file replied is also read without its entry in the settings.
        kind = getattr(context.handler, "kind", "")
        if kind == "mcp_tool" and context.spec.canonical in NEEDS_VERDICT:
            text = trim(self.end.stdout)
            reply = parse_object(text)
            members = {field.path[0] for field in context.agent.output_fields}
            members = (members | context.agent.reply_signals) - {"reason"}
            is_verdict = reply is not None and (not reply or not members.isdisjoint(reply))
            if text and not is_verdict:
                return True
        return super().has_failed(status)

    def with_denial(self, answer: Answer) -> Answer:
        """Return the answer of a reply as a denial."""
        if answer.outcome is Outcome.DENY:
            return answer.replace(approve=False, reason=self.default_reason())
        return super().with_denial(answer)


class OlderExitReader(ObservedExitReader):
    """Release 2.1.197: an invalid reply has no effect, also with exit code 2."""

    def blocks_with_invalid_reply(self) -> bool:
        """Return that it does not deny."""
        return False


def drop_denied_compaction(event: str, _reply: Mapping[str, Any], fields: dict[str, Any]) -> None:
    """Drop the verdict on a compaction, which cannot be denied; the user gets the reason."""
    if event != "before_compress":
        return
    outcome, reason = fields.pop("outcome", None), fields.pop("reason", None)
    fields.pop("approve", None)
    if outcome is Outcome.DENY and reason:
        messages = [fields.get("system_message"), reason]
        fields["system_message"] = "\n".join(filter(None, messages))
