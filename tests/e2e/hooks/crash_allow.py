"""Cannot do its work; then the tool is to be run."""

from pathlib import Path

from anyhook.authoring import Hooks

hooks = Hooks(on_crash="allow")


@hooks.before_tool("shell")
def broken(event):
    Path(__file__).with_name("seen.txt").touch()
    raise RuntimeError("nobody at home")


if __name__ == "__main__":
    hooks.run()
