"""Hooks that are written for another form of the engine's agent (`AgentSpec.forms`).

The engine plans and combines in the agent's own form. A hook of another form gets the event in
that form, and its answer is translated back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.agents.translate import translate_answer, translate_event, translate_subject_name

if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec, RuleSet
    from anyhook.model.answers import Answer
    from anyhook.model.events import Event


def form_rules(agent: AgentSpec, rules: RuleSet, form: str) -> RuleSet:
    """Return the same rule set of a form of the agent."""
    return agent.form(form).rules(rules.name) if form else rules


def match_names_in_form(
    agent: AgentSpec, rules: RuleSet, event: str, subject: str | None, form: str
) -> tuple[str | None, ...]:
    """Return the names that the matchers of a form are applied to.

    The subject is the agent's own name of it. The form is empty for the agent itself.
    """
    form_agent = agent.form(form)
    spec = form_rules(agent, rules, form).by_canonical.get(event)
    if spec is None:  # no definition of this form can be for the event
        return ()
    if not form or subject is None:
        return form_agent.match_names(spec, subject)
    translated = translate_subject_name(subject, event, agent, form_agent)
    names = form_agent.match_names(spec, translated)
    return tuple(dict.fromkeys((*names, subject))) if form_agent.matches_both_names else names


def answer_from_form(agent: AgentSpec, form: str, event: Event, answer: Answer) -> Answer:
    """Return the answer of a hook of a form as an answer for the agent itself.

    The event is the one that the agent itself sends. The form is empty for the agent itself.
    """
    if not form:
        return answer
    form_agent = agent.form(form)
    shown = translate_event(event, agent, form_agent)
    translated, _ = translate_answer(answer, shown, event, form_agent, agent)
    if answer.tool_input is None:
        return translated
    arguments = {name: tool.keys for name, tool in agent.vocabulary.tools.items()}
    form_arguments = {name: tool.keys for name, tool in form_agent.vocabulary.tools.items()}
    if arguments != form_arguments:
        return translated
    return translated.replace(tool_input=answer.tool_input)
