"""The tests. What stands here comes before every import of theirs."""

from __future__ import annotations

import os
import sys

# Without byte code, pytest compiles the tests and the package again each time, and so does every
# process that a test starts: a second for a command.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
