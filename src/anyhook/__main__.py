"""`python -m anyhook`."""

from __future__ import annotations

import sys

from anyhook._entry_point import main

if __name__ == "__main__":
    sys.exit(main())
