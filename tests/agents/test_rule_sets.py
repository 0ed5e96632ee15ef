"""Rule sets: which there are, how they are named, and that a release is a small table."""

from __future__ import annotations

from itertools import pairwise

import pytest

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.errors import UnknownNameError

CLAUDE = get_agent("claude")


def test_a_former_release_has_a_rule_set_of_its_own():
    former = CLAUDE.rules("observed@2.1.197")

    assert former.release == "2.1.197"
    assert former.name == "observed@2.1.197"
    assert former is CLAUDE.rules("observed@2.1.197")
    assert CLAUDE.rules("observed").release == "2.1.332"


@pytest.mark.parametrize("agent", CODING_AGENTS)
def test_the_newest_release_can_be_named(agent):
    agent = get_agent(agent)
    newest = agent.rules("observed")
    assert agent.rules(f"observed@{newest.version}") is newest


@pytest.mark.parametrize(
    ("newer", "older"),
    list(pairwise(["observed", *(f"observed@{v}" for v in CLAUDE.older_releases)])),
)
def test_two_releases_differ_only_where_their_table_says_so(newer, older):
    newest, former = CLAUDE.rules(newer), CLAUDE.rules(older)
    table = CLAUDE.older_releases[former.version]

    names = set(newest.record_fields) - {"name", "release", "events", *table.rules}
    assert all(getattr(newest, name) == getattr(former, name) for name in names)
    for new, old in zip(newest.events, former.events, strict=True):
        changed = {n for n in new.record_fields if getattr(new, n) != getattr(old, n)}
        assert changed <= {*table.every_event, *table.events.get(new.canonical, {})}


@pytest.mark.parametrize("rules", ["observed@1.0.0", "observed@", "documented@2.1.330", "seen"])
def test_an_unknown_rule_set_is_refused_with_a_list_of_those_that_exist(rules):
    with pytest.raises(UnknownNameError) as caught:
        CLAUDE.rules(rules)
    releases = ("2.1.332", "2.1.330", "2.1.197")
    names = [f"observed@{release}" for release in releases]
    assert caught.value.known == ("documented", "observed", *names)
    for name in caught.value.known:
        assert name in str(caught.value)


@pytest.mark.parametrize("rules", CLAUDE.rule_set_names)
def test_standard_error_of_exit_code_2_reaches_the_user_when_a_session_ends(rules):
    events = CLAUDE.rules(rules).by_canonical

    assert events["session_end"].shows_stderr
    assert not events["before_tool"].shows_stderr
    assert events["notification"].shows_stderr is (rules == "documented")


def test_a_release_runs_no_hook_on_an_event_that_it_does_not_have():
    newest, former = CLAUDE.rules("observed"), CLAUDE.rules("observed@2.1.197")
    for name in ("pre_model_switch", "directory_added"):
        assert newest.by_canonical[name].handler_kinds != frozenset()
        assert former.by_canonical[name].handler_kinds == frozenset()


@pytest.mark.parametrize("agent", CODING_AGENTS)
def test_the_default_timeout_of_commands_is_the_one_in_the_settings_format(agent):
    spec = get_agent(agent)

    assert spec.default_timeout == spec.settings.handler_types["command"].timeout
