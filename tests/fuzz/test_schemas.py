"""Programs drawn from PyTorch's op schemas, compiled and compared with eager: fixed seeds, with
separate worker processes for each batch. `make fuzz` runs fresh seeds; `python -m
tests.fuzz.schemas --seed N --programs 1` repeats one and minimises it.
"""

from __future__ import annotations

import pytest

from .outstanding import unexplained
from .schemas.campaign import Campaign
from .schemas.catalogue import EXCLUDED, catalogue
from .schemas.check import check
from .schemas.expected import EXPECTED, Known, known
from .schemas.generate import generate
from .schemas.modes import MODES

BATCH = 50
QUICK = range(0, 200, BATCH)
MANY = range(10_000, 12_000, BATCH)


def check_batch(first: int) -> None:
    seeds = range(first, first + BATCH)
    summary = Campaign().run(iter(seeds))
    assert not summary.broken, summary.text()
    new = unexplained(summary, seeds)
    assert not new, "\n\n".join([summary.text(), *new[:5]])


@pytest.mark.parametrize("first", QUICK)
def test_programs_of_schemas(first: int) -> None:
    check_batch(first)


@pytest.mark.slow
@pytest.mark.parametrize("first", MANY)
def test_many_programs_of_schemas(first: int) -> None:
    check_batch(first)


@pytest.mark.parametrize("entry", EXPECTED, ids=lambda entry: entry.signature)
def test_expected_differences_are_there(entry: Known) -> None:
    finding = check(entry.program, MODES[entry.mode])
    assert finding is not None, f"no longer different: {entry.reason}"
    assert known(finding) is entry and not finding.upstream


def test_draws_from_most_of_the_schemas() -> None:
    assert len(catalogue()) > 1000
    assert all(reason for reason in EXCLUDED.values())


def test_a_seed_gives_one_program() -> None:
    assert generate(3)[0] == generate(3)[0]
