"""Where settings files are: patterns of files, the root of the repository, other agents' files."""

from __future__ import annotations

import json

from anyhook.agents import get_agent
from anyhook.agents.spec.settings import SettingsFile
from anyhook.model.layers import Layer
from anyhook.settings.detect import agents_with_hooks, choose_agent
from anyhook.settings.hookset import load_hook_set
from anyhook.settings.sources import Location, find_sources, own_places, places, written_file

CLAUDE = get_agent("claude")
TREE = SettingsFile(
    Layer.PROJECT,
    {"*": "{root}/.hooks/**/*.json"},
    descending=True,
    written_name="anyhook.json",
)


def agent_with(*files, **changes):
    return CLAUDE.with_settings(files=files, packages=None, **changes)


def write(path, text="true"):
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = {"type": "command", "command": text}
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [handler]}]}}))


def commands(agent, project):
    hooks = load_hook_set(agent, Location.of(project, home=project, environ={}))
    return [handler.command for hook in hooks.definitions for handler in hook.handlers]


def test_files_of_a_directory_run_before_those_of_its_subdirectories(tmp_path):
    for name in ("b", "a", "C", "10", "9", "sub/z", "sub/a", "a/q"):
        write(tmp_path / ".hooks" / f"{name}.json", name)

    order = commands(agent_with(TREE), tmp_path)

    assert order == ["b", "a", "C", "9", "10", "sub/z", "sub/a", "a/q"]


def test_other_endings_hidden_files_and_directories_are_no_settings(tmp_path):
    for name in ("a.jsonc", "a.JSON", ".a.json", ".b/a.json"):
        write(tmp_path / ".hooks" / name)
    (tmp_path / ".hooks" / "directory.json").mkdir()

    assert commands(agent_with(TREE), tmp_path) == []


def test_a_link_to_a_parent_directory_is_searched_once(tmp_path):
    write(tmp_path / ".hooks" / "a.json", "a")
    (tmp_path / ".hooks" / "loop").symlink_to(tmp_path / ".hooks")

    assert commands(agent_with(TREE), tmp_path) == ["a"]


def test_a_linked_file_is_read(tmp_path):
    write(tmp_path / "real.json", "linked")
    (tmp_path / ".hooks").mkdir()
    (tmp_path / ".hooks" / "a.json").symlink_to(tmp_path / "real.json")

    assert commands(agent_with(TREE), tmp_path) == ["linked"]


def test_new_files_are_noticed_in_every_directory(tmp_path):
    below = tmp_path / ".hooks" / "sub"
    below.mkdir(parents=True)
    location = Location.of(tmp_path, home=tmp_path, environ={})

    assert find_sources(agent_with(TREE), location).watched == [below.parent, below]


def test_a_project_inside_a_repository_reads_the_files_of_its_root(tmp_path):
    write(tmp_path / ".git" / "HEAD", "")
    write(tmp_path / ".hooks" / "a.json", "root")
    write(tmp_path / "sub" / ".hooks" / "a.json", "below")

    assert commands(agent_with(TREE), tmp_path / "sub") == ["root"]


def test_a_project_without_a_repository_reads_its_own_files(tmp_path):
    write(tmp_path / ".hooks" / "a.json", "above")
    write(tmp_path / "sub" / ".hooks" / "a.json", "own")

    assert commands(agent_with(TREE), tmp_path / "sub") == ["own"]


def test_hooks_are_written_into_a_file_of_their_own_in_a_directory(tmp_path):
    write(tmp_path / ".hooks" / "zz.json")
    location = Location.of(tmp_path, home=tmp_path, environ={})
    own_file = tmp_path / ".hooks" / "anyhook.json"

    assert written_file(agent_with(TREE), location, Layer.PROJECT) == own_file
    assert (Layer.PROJECT, own_file) in places(agent_with(TREE), location)
    assert written_file(agent_with(TREE), location, Layer.USER) is None


def test_a_file_of_another_agent_is_read_and_never_written(tmp_path):
    foreign = SettingsFile(Layer.PROJECT, {"*": "{project}/foreign.json"}, is_foreign=True)
    agent = agent_with(foreign, TREE)
    write(tmp_path / "foreign.json", "foreign")
    location = Location.of(tmp_path, home=tmp_path, environ={})

    assert commands(agent, tmp_path) == ["foreign"]
    assert written_file(agent, location, Layer.PROJECT) == tmp_path / ".hooks" / "anyhook.json"
    assert own_places(agent, location) == [(Layer.PROJECT, tmp_path / ".hooks" / "anyhook.json")]


def test_layers_can_run_in_the_order_of_their_files(tmp_path):
    files = [
        SettingsFile(layer, {"*": f"{{project}}/{name}.json"})
        for name, layer in (
            ("a", Layer.PROJECT),
            ("b", Layer.LOCAL),
            ("c", Layer.PROJECT),
            ("d", Layer.LOCAL),
        )
    ]
    for name in "abcd":
        write(tmp_path / f"{name}.json", name)
    layers = frozenset({Layer.PROJECT, Layer.LOCAL})

    assert commands(agent_with(*files), tmp_path) == ["a", "c", "b", "d"]
    assert commands(agent_with(*files, interleaved_layers=layers), tmp_path) == list("abcd")


def test_a_claude_project_belongs_to_claude_alone(tmp_path):
    write(tmp_path / ".claude" / "settings.json")

    agents = agents_with_hooks(tmp_path, home=tmp_path / "home", environ={})

    assert [settings.agent for settings in agents] == ["claude"]


def test_recorders_do_not_count_as_hooks_of_several_agents(tmp_path):
    home = tmp_path / "home"
    recorder = "python3 /lib/anyhook/authoring/recorder.py"
    files = (home / ".claude" / "settings.json", home / ".qwen" / "settings.json")
    for file in files:
        write(file, recorder)
    agents = agents_with_hooks(tmp_path, home=home, environ={})
    write(files[1], "true")
    with_hook = agents_with_hooks(tmp_path, home=home, environ={})

    assert [settings.files for settings in agents] == [(file,) for file in files]
    assert [problem.code for problem in choose_agent(agents, None).diagnostics] == ["agent-assumed"]
    assert choose_agent(agents[:1], None).agent == "claude"
    assert choose_agent(with_hook, None).agent == "qwen"
    assert choose_agent(with_hook, None).diagnostics == ()
    # The named agent has only a recorder, so nothing guards it.
    (problem,) = choose_agent(with_hook, "claude").diagnostics
    assert (problem.code, problem.severity) == ("other-agent", "warning")


def test_settings_that_cannot_be_looked_at_count_as_hooks(tmp_path):
    (tmp_path / ".gemini").symlink_to(".gemini")

    agents = agents_with_hooks(tmp_path, home=tmp_path / "home", environ={})

    assert "gemini" in [settings.agent for settings in agents]
