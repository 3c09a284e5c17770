"""`make fuzz`: run for some minutes from a fresh seed, write reproducers to fuzz-findings/."""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import time
from pathlib import Path

from .campaign import Campaign
from .check import DEFAULT_OPTIONS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.schemas", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None, help="the first seed; default: fresh")
    parser.add_argument("--programs", type=int, default=0, help="at most so many seeds")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--modes", type=int, default=2, help="modes for each program, up to 5")
    parser.add_argument("--trials", type=int, default=60, help="of the minimiser, a class")
    parser.add_argument("--options", type=json.loads, default=DEFAULT_OPTIONS, help="JSON")
    parser.add_argument("--folder", type=Path, default=Path("fuzz-findings"))
    chosen = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 40) if chosen.seed is None else chosen.seed
    print(f"seed {seed}", flush=True)
    seeds = (
        itertools.count(seed) if not chosen.programs else iter(range(seed, seed + chosen.programs))
    )
    campaign = Campaign(chosen.options, chosen.modes, chosen.folder, chosen.trials)
    until = time.monotonic() + 60 * chosen.minutes
    summary = campaign.run(seeds, chosen.workers, until)
    print(summary.text())
    return 1 if summary.faults or summary.broken else 0


if __name__ == "__main__":
    sys.exit(main())
