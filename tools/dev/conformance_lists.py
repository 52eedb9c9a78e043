# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists in test/conformance/: the failing cases of each target and codegen, with the reasons.

A line is "wrong: relax.name f32 empty n: the reason". Declined cases are correct and on no list.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from generated import ROOT
from relax_mlir_proof.testing.verdicts import FAULTS, VERDICTS, Verdict

from relax_mlir.testing import Report

FOLDER = ROOT / "test" / "conformance"
_PROBLEMS = FAULTS | {"refused", "unchecked"}
_LONGEST = 200


class Listed(NamedTuple):
    """Verdict of a case on a list, and its reason."""

    verdict: str
    reason: str


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.txt"


def read(name: str) -> dict[str, Listed]:
    """Return the listed cases by name. Empty without a list."""
    path = path_of(name)
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    found = {}
    for line in lines:
        verdict, case, reason = line.split(": ", 2)
        found[case] = Listed(verdict, reason)
    return found


def write(name: str, report: Report) -> None:
    """Rewrite the list. Cases with an unchanged verdict keep their reasons."""
    before = read(name)
    lines = []
    for each in problems(report):
        was = before.get(each.case)
        reason = was.reason if was is not None and was.verdict == each.verdict else each.reason[:_LONGEST]
        lines.append(f"{each.verdict}: {each.case}: {reason}\n")
    path_of(name).write_text("".join(lines), "utf-8")


def add(name: str, report: Report) -> None:
    """Add the problems of cases that are not on the list."""
    before = read(name)
    new = [each for each in problems(report) if each.case not in before]
    if new:
        with path_of(name).open("a", encoding="utf-8") as file:
            file.writelines(f"{each.verdict}: {each.case}: {each.reason[:_LONGEST]}\n" for each in new)


def problems(report: Report) -> list[Verdict]:
    """Return the verdicts that belong on a list."""
    return [each for each in report.verdicts if each.verdict in _PROBLEMS]


def differences(report: Report, listed: dict[str, Listed]) -> list[str]:
    """Return the differences between a run and the list."""
    found = []
    for each in report.verdicts:
        was = listed[each.case].verdict if each.case in listed else "right"
        now = each.verdict if each.verdict in _PROBLEMS else "right"
        if now == "right" != was:
            found.append(f"{each.case} is {each.verdict}: take it off the list")
        elif VERDICTS.index(now) < VERDICTS.index(was):
            found.append(f"{each.case} is {each.verdict}, was {was}: {each.reason}")
    return found
