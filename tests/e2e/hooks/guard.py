"""Keeps keys of AWS out of files."""

from anyhook.authoring import Hooks, deny

hooks = Hooks(on_crash="deny")


@hooks.before_tool("write_file", "edit_file")
def no_keys(event):
    if "AKIA" in event.text:
        return deny("that looks like an AWS key")
    return None


if __name__ == "__main__":
    hooks.run()
