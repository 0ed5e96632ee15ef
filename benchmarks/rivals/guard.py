"""The guard with anyhook."""

import re

from anyhook.authoring import Answer, Hooks, deny
from anyhook.model.events import BeforeTool

hooks = Hooks()
KEY = re.compile("AKIA[0-9A-Z]{16}")


@hooks.before_tool("shell", "write_file")
def guard(event: BeforeTool) -> Answer | None:
    return deny("that looks like an AWS key") if KEY.search(event.text) else None


if __name__ == "__main__":
    hooks.run()
