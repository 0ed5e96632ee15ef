"""Writes down what happens and has no opinion."""

from pathlib import Path

from anyhook.authoring import Hooks

hooks = Hooks(on_crash="allow")


def write_down(event_name):
    with Path(__file__).with_name("seen.txt").open("a") as seen:
        seen.write(event_name + "\n")


@hooks.before_prompt
def prompt(event):
    write_down("before_prompt")


@hooks.before_tool("shell", "write_file")
def tool(event):
    write_down(f"before_tool {event.tool}")


@hooks.after_tool("shell", "write_file")
def result(event):
    write_down(f"after_tool {event.tool}")


@hooks.after_agent
def end(event):
    write_down("after_agent")


if __name__ == "__main__":
    hooks.run()
