"""Chromium for tests of the page: that of the system, or the one that `ANYHOOK_CHROMIUM` names."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager

import pytest

CHROMIUM = os.environ.get("ANYHOOK_CHROMIUM") or shutil.which("chromium")
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium: apt-get install chromium"
)


@contextmanager
def start_chromium():
    """Start a browser, and end it."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def rows_of(page):
    """Return the texts of the rows of a live list, and the events that its gaps stand for."""
    return page.evaluate(
        "[...document.querySelectorAll('#feed > li')].map(row =>"
        " row.dataset.count ? Number(row.dataset.count)"
        " : row.querySelector('.subject a').textContent)"
    )
