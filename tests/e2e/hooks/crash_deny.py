"""Cannot do its work; then the tool is to be blocked."""

from anyhook.authoring import Hooks

hooks = Hooks(on_crash="deny")


@hooks.before_tool("shell")
def broken(event):
    raise RuntimeError("nobody at home")


if __name__ == "__main__":
    hooks.run()
