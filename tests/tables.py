"""Tests of a table: one test for many rows that cost less than a test of their own."""

from __future__ import annotations

import functools
import inspect

import pytest


def each(names, rows):
    """Call a test with every row of a table, and report all rows that fail.

    The rows share the fixtures of the test, so it leaves those as they are. Where a row starts
    processes or writes files, use `pytest.mark.parametrize` instead.

    Args:
        names: Parameters of the test that a row fills, separated by commas.
        rows: Values of the parameters, or of the only one.
    """
    parameters = [name.strip() for name in names.split(",")]
    table = [row if len(parameters) > 1 else (row,) for row in rows]
    assert table

    def decorate(test):
        @functools.wraps(test)
        def check_table(**fixtures):
            failures = []
            for row in table:
                values = dict(zip(parameters, row, strict=True))
                try:
                    test(**fixtures, **values)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"in the row {values!r}")
                    failures.append(error)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(table)} rows", failures)

        signature = inspect.signature(test)
        others = [p for name, p in signature.parameters.items() if name not in parameters]
        check_table.__signature__ = signature.replace(parameters=others)
        return check_table

    return decorate


def fast_for(rows, *fast):
    """Return the rows of `pytest.mark.parametrize`, slow except for some.

    Args:
        rows: One for each test.
        fast: The rows that are tried in each run of the tests; by default the first one.
    """
    rows = list(rows)
    fast = fast or (rows[0],)
    assert all(row in rows for row in fast), fast
    return [row if row in fast else _slow(row) for row in rows]


def _slow(row):
    values = row if isinstance(row, tuple) else (row,)
    return pytest.param(*values, marks=pytest.mark.slow)
