"""A hook file that nobody installs: it is loaded and asked before the first fork."""

import json
import pathlib
import re

from anyhook.authoring import Answer, Hooks, deny
from anyhook.model.events import BeforeTool

hooks = Hooks()
NO = re.compile("no")
NAMES = json.loads('{"no": ["no"]}')
HERE = pathlib.Path(__file__).parent


@hooks.before_tool("shell", "write_file")
def refuse(event: BeforeTool) -> Answer | None:
    """Deny what holds the word."""
    if NO.search(event.text) and NAMES and HERE.name:
        return deny(event.text)
    return None


if __name__ == "__main__":
    hooks.run()
