"""Tells the agent something at the beginning, and after every command."""

from anyhook.authoring import Hooks, context

hooks = Hooks(on_crash="deny")


@hooks.before_prompt
def rules(event):
    return context("this project speaks French")


@hooks.after_tool("shell")
def weather(event):
    return context("the disk is nearly full")


if __name__ == "__main__":
    hooks.run()
