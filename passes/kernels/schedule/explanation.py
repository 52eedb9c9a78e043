# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables for people: the rules and intrinsics that schedule each kernel, and the reasons why others do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....support.registry import table
from ...core.facts import ScheduleFact

_Fact = Mapping[str, Any]


def explain(facts: Sequence[Mapping[str, object]]) -> str:
    """Return two tables: the rule and the intrinsics of each kernel, and the reasons why others are unused.

    The facts come from a Journal(schedules=True).
    """
    kernels = [fact for fact in facts if fact["kind"] == ScheduleFact.kind]
    return _kernel_table(kernels) + _unused_table(kernels)


def _kernel_table(kernels: Sequence[_Fact]) -> str:
    if not kernels:
        return ""
    rows: list[Sequence[str]] = [("kernel", "computes", "rule", "intrinsics")]
    for fact in kernels:
        rule = f"{fact['schedule']} ({fact['place']})" if fact["schedule"] else "-"
        rows.append((fact["kernel"], fact["operator"] or "-", rule, ", ".join(fact["intrinsics"]) or "-"))
    return table(*rows) + "\n"


def _unused_table(kernels: Sequence[_Fact]) -> str:
    rows: list[Sequence[str]] = [("not used", "kernel", "why")]
    for fact in kernels:
        rows += [(each["schedule"], fact["kernel"], f"declined: {each['reason']}") for each in fact["declined"]]
        rows += [(each["name"], fact["kernel"], each["reason"]) for each in fact["unused"]]
    return table(*rows) + "\n" if len(rows) > 1 else ""
