"""What `make bench` reports as worse than another run."""

from __future__ import annotations

import random

import pytest
from benchmarks.measure import Samples
from benchmarks.ratios import ratios_of, read, worse, write
from benchmarks.table import Row, Section


def section(times, *, seed, floor=True, rounds=200):
    """Return a section whose rows take that many times their floor, on a noisy machine."""
    noise = random.Random(seed)
    rows = []
    for what, factor in times.items():
        loads = [noise.choice([1.0, 1.0, 3.0]) for _ in range(rounds // 10)]
        ours = [factor * load * noise.uniform(0.9, 1.1) for load in loads for _ in range(10)]
        bare = [load * noise.uniform(0.9, 1.1) for load in loads for _ in range(10)]
        rows.append(Row(what, Samples(what, ours), floor=Samples("bare", bare) if floor else None))
    return Section("hooks", rows)


@pytest.mark.parametrize("seed", range(5))
def test_what_got_worse_is_named_and_noise_is_not(tmp_path, seed):
    file = tmp_path / "a" / "ratios.json"
    write(file, ratios_of(section({"warm": 2.0, "cold": 9.0}, seed=seed)))

    lines = worse(read(file), ratios_of(section({"warm": 2.3, "cold": 9.0}, seed=seed + 100)))

    assert [line.split(": ")[1] for line in lines] == ["warm"]


def test_what_got_better_or_is_new_is_not_named():
    before = ratios_of(section({"warm": 2.0, "gone": 1.0}, seed=1))

    assert worse(before, ratios_of(section({"warm": 1.5, "new": 9.0}, seed=2))) == []


def test_a_row_without_a_floor_is_compared_with_the_speed_of_the_machine():
    before = ratios_of(section({"import": 1.0}, seed=1, floor=False))

    (line,) = worse(before, ratios_of(section({"import": 9.0}, seed=2, floor=False)))

    assert line.startswith("hooks: import: ")
