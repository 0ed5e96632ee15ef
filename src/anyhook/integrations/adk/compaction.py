"""Summarizers of conversations that let hooks decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps.base_events_summarizer import BaseEventsSummarizer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from google.adk.apps.app import EventsCompactionConfig
    from google.adk.events.event import Event
    from google.adk.workflow import BaseNode


class HookedSummarizer(BaseEventsSummarizer):
    """Lets hooks decide before events are summarized, until it is removed.

    ADK asks the summarizer of the app's configuration, which other apps may use, too: with plugins
    of their own, whose summarizers then wrap each other, or without hooks.
    """

    def __init__(
        self,
        inner: BaseEventsSummarizer,
        may_compress: Callable[[list[Event]], Awaitable[bool]],
        config: EventsCompactionConfig,
    ) -> None:
        self.inner = inner
        self.original = config.summarizer
        self._may_compress = may_compress
        self._config = config
        config.summarizer = self

    def remove(self) -> None:
        """Give the configuration back what it had."""
        if self._config.summarizer is self:
            self._config.summarizer = self.original
        outer = self._config.summarizer
        while isinstance(outer, HookedSummarizer):
            if outer.original is self:
                outer.inner, outer.original = self.inner, self.original
            outer = outer.inner

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        """Summarize events, unless a hook keeps them."""
        if not await self._may_compress(events):
            return None
        return await self.inner.maybe_summarize_events(events=events)


def default_summarizer(agent: BaseNode | None) -> BaseEventsSummarizer | None:
    """Return the summarizer that ADK would make for an agent; `None` if it would not."""
    from google.adk.apps.llm_event_summarizer import LlmEventSummarizer

    return LlmEventSummarizer(llm=agent.canonical_model) if isinstance(agent, LlmAgent) else None
