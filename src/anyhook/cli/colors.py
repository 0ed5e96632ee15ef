"""The colours of the terminal. No other module of `cli` names one; a test checks it.

The page has its colours in one table, too: at the top of `page/static/page.css`.
"""

from __future__ import annotations

BAD = "bold red"
"""A denial, an error, a failure."""
CAUTION = "yellow"
"""What the user should look at."""
GOOD = "green"
ACCENT = "cyan"
"""Names of events, tools and sessions, and places in files."""
HEADING = "bold cyan"
QUIET = "dim"
SHADOW = "magenta"
"""What a hook would have decided."""

OUTCOMES = {
    "deny": BAD,
    "stop": BAD,
    "crash": BAD,
    "ask": CAUTION,
    "defer": CAUTION,
    "allow": GOOD,
    "change": ACCENT,
    "none": QUIET,
}
"""Verdict of an event or of an answer, the strictest first."""
STATUSES = {
    "failed": BAD,
    "timed_out": BAD,
    "warned": CAUTION,
    "withheld": CAUTION,
    "skipped": QUIET,
    "started": ACCENT,
}
"""How a hook ended that gave no answer."""
SEVERITIES = {"error": BAD, "warning": CAUTION, "info": ACCENT}
STATES = {
    "on": GOOD,
    "shadow": SHADOW,
    "off": QUIET,
    "not trusted": CAUTION,
    "changed": CAUTION,
}
"""State of a configured hook."""
RESULTS = {
    "ok": ("✓", GOOD),
    "works": ("✓", GOOD),
    "fine": ("✓", GOOD),
    "degraded": ("~", CAUTION),
    "failed": ("✗", BAD),
    "broken": ("✗", BAD),
    "wrong": ("✗", BAD),
    "unknown": ("?", CAUTION),
    "untested": ("?", CAUTION),
    "note": ("!", CAUTION),
    "absent": ("-", QUIET),
    "off": ("-", QUIET),
}
"""Result of a test, a probe, a check or a proof, and the health of a hook: its mark and colour."""
LOSSES = {"lost": BAD, "weaker": CAUTION, "changed": CAUTION, "note": ACCENT}
"""What a migration loses."""
SUPPORT = {
    "yes": GOOD,
    "promised": CAUTION,
    "undocumented": ACCENT,
    "no": QUIET,
}
"""How far an agent has an ability."""
DIFFERENCES = {"+": GOOD, "-": BAD, "@": ACCENT}
"""First character of a line of a unified difference."""


def badge(style: str) -> str:
    """Return the style of a word that stands out in the colours of another style."""
    return style if style == QUIET else f"{style} reverse"
