"""`python -m anyhook`."""

from __future__ import annotations

import sys

from anyhook.entry import main

if __name__ == "__main__":
    sys.exit(main())
