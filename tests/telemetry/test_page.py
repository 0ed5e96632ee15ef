"""`docs/telemetry.md` shows the tables of the code."""

from __future__ import annotations

import inspect

from tools.telemetry_page import ATTRIBUTES, PAGE, tables

from anyhook.telemetry import Telemetry

TEXT = PAGE.read_text("utf-8")


def test_the_page_shows_every_span_attribute_and_metric():
    shown = TEXT.partition("<!-- telemetry -->")[2].partition("<!-- /telemetry -->")[0]

    assert shown.strip() == tables()  # if not: make docs


def test_the_page_names_every_option():
    for option in inspect.signature(Telemetry).parameters:
        assert f"`{option}" in TEXT


def test_no_name_is_in_the_tables_twice():
    keys = [attribute.key for attribute in ATTRIBUTES]
    assert len(set(keys)) == len(keys)
    assert all(key.startswith(("gen_ai.", "anyhook.", "error.")) for key in keys)
