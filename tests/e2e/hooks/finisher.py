"""Does not let the agent stop at once."""

from anyhook.authoring import Hooks, allow, deny

hooks = Hooks(on_crash="deny")


@hooks.after_agent
def once_more(event):
    if not event.stop_hook_active:
        return deny("run the tests first")
    return allow()


if __name__ == "__main__":
    hooks.run()
