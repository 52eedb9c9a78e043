# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The figures of the three walks in docs/architecture.md are those that tools/dev/walks.py counts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIGURES = re.compile(r"(\d+) files, +([\d,]+) calls")


def test_the_page_has_the_figures_of_today() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "dev" / "walks.py")],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    counted, stated = (
        [(int(files), int(calls.replace(",", ""))) for files, calls in FIGURES.findall(text)]
        for text in (done.stdout, page)
    )
    assert len(counted) == len(stated) == 3
    for found, expected in zip(counted, stated, strict=True):
        assert all(abs(one - other) <= other / 5 for one, other in zip(found, expected, strict=True)), (found, expected)
