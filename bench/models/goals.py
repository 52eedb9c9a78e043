# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of figures against goals, in a table that is appended to a file: several programs extend it in one run."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

HEAD = "| goal | limit | found | verdict |\n|---|--:|---|---|\n"


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--goals", type=Path, help="append what figures say of each goal to this file")


def judge(path: Path | None, goal: str, limit: float, found: Mapping[str, float], *, at_least: bool = False) -> None:
    """Print a goal's row: whether each of the figures, by name and to two digits, satisfies the limit."""
    row = verdict(goal, limit, found, at_least)
    print(row, end="", flush=True)
    if path is not None:
        head = "" if path.exists() else HEAD
        with path.open("a", encoding="utf-8") as file:
            file.write(head + row)


def verdict(goal: str, limit: float, found: Mapping[str, float], at_least: bool = False) -> str:
    sign = "≥" if at_least else "≤"
    worst_first = sorted(found.items(), key=lambda pair: pair[1], reverse=not at_least)
    missing = [(name, value) for name, value in worst_first if _is_over(limit, value, at_least)]
    if not found:
        figure, says = "-", "not measured"
    else:
        name, value = worst_first[0]
        figure = f"{value:.2f} ({name})" if len(found) == 1 else f"{value:.2f} at worst ({name})"
        says = "met" if len(found) == 1 else f"met by all {len(found)}"
    if missing:
        listed = ", ".join(f"{name} {value:.2f}" for name, value in missing)
        by = f"missed by {abs(missing[0][1] - limit):.2f}"
        says = by if len(found) == 1 else f"{by}, in {len(missing)} of {len(found)}: {listed}"
    return f"| {goal} | {sign} {limit:.2f} | {figure} | {says} |\n"


def _is_over(limit: float, value: float, at_least: bool) -> bool:
    rounded = round(value, 2)
    return rounded < limit if at_least else rounded > limit
