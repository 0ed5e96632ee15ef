"""The hook that `anyhook history record on` adds to the settings of agents, for every event.

It has no functions and answers nothing: like every hook file, it is recorded while recording is on.
"""

from anyhook.authoring.hooks import Hooks
from anyhook.journal.records import RECORDER

hooks = Hooks(RECORDER)

if __name__ == "__main__":
    hooks.run()
