"""`docs/telemetry.md` shows the tables of the code."""

from __future__ import annotations

import inspect
from pathlib import Path

from anyhook.telemetry import Telemetry, names

PAGE = (Path(__file__).parents[2] / "docs" / "telemetry.md").read_text("utf-8")


def test_the_page_shows_every_span_attribute_and_metric():
    shown = PAGE.partition("<!-- telemetry -->")[2].partition("<!-- /telemetry -->")[0]

    assert shown.strip() == names.markdown_tables()  # if not: make docs


def test_the_page_names_every_option():
    for option in inspect.signature(Telemetry).parameters:
        assert f"`{option}" in PAGE


def test_no_name_is_in_the_tables_twice():
    keys = [attribute.key for attribute in names.ATTRIBUTES]
    assert len(set(keys)) == len(keys)
    assert all(key.startswith(("gen_ai.", "anyhook.", "error.")) for key in keys)
