# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The figures of the three walks in docs/architecture.md are upper bounds of the counts of tools/dev/walks.py."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COUNTED = re.compile(r"(\d+) files, +([\d,]+) calls")
STATED = re.compile(r"^\| an? .+? \| (\d+) \| ([\d,]+) \|", re.MULTILINE)
#: A bound that is further above its count than this is to be lowered.
MOST_SLACK = 1.1


def test_the_counts_are_within_the_bounds_of_the_page() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "dev" / "walks.py")],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    counts, bounds = (
        [int(number.replace(",", "")) for figures in pattern.findall(text) for number in figures]
        for pattern, text in ((COUNTED, done.stdout), (STATED, page))
    )
    assert len(counts) == len(bounds) == 6
    exceeded = [(count, bound) for count, bound in zip(counts, bounds, strict=True) if count > bound]
    assert not exceeded, (
        "the walks grew: find out which calls are new before you raise a figure of docs/architecture.md"
    )
    loose = [(count, bound) for count, bound in zip(counts, bounds, strict=True) if bound > count * MOST_SLACK]
    assert not loose, "the walks shrank: lower the figures of docs/architecture.md"
