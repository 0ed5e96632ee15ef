"""Writes the tables of `capabilities.md` from the dialects; `make docs` runs it."""

from __future__ import annotations

from pathlib import Path

from anyhook.cli.capabilities import markdown_tables
from anyhook.dialects import AGENTS, get_dialect

PAGE = Path(__file__).with_name("capabilities.md")
FIRST = "### "

dialects = [get_dialect(name) for name in AGENTS]
events = list(dict.fromkeys(spec.canonical for d in dialects for spec in d.events))
head = PAGE.read_text(encoding="utf-8").partition(FIRST)[0]
tables = "\n".join(markdown_tables(dialects, events)).rstrip("\n")
PAGE.write_text(f"{head}{tables}\n", encoding="utf-8")
