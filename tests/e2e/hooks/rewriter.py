"""Has every command write to another file."""

from anyhook.authoring import Hooks

hooks = Hooks(on_crash="deny")


@hooks.before_tool("shell")
def elsewhere(event):
    return event.rewrite(command=event.tool_input["command"].replace("original", "rewritten"))


if __name__ == "__main__":
    hooks.run()
