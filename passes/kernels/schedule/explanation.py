# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables for people: the rules and intrinsics that schedule each kernel, and the reasons why others do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....support.registry import table
from ...core.facts import DeclinedPlansFact, ScheduleFact

_Fact = Mapping[str, Any]


def explain(facts: Sequence[Mapping[str, object]]) -> str:
    """Return two tables: the rule and the intrinsics of each kernel, and the reasons why others and plans are unused.

    The facts come from a Journal(schedules=True).
    """
    kernels = [fact for fact in facts if fact["kind"] == ScheduleFact.kind]
    plans = [fact for fact in facts if fact["kind"] == DeclinedPlansFact.kind]
    return _kernel_table(kernels) + _unused_table([*kernels, *plans])


def _kernel_table(kernels: Sequence[_Fact]) -> str:
    if not kernels:
        return ""
    rows: list[Sequence[str]] = [("kernel", "computes", "rule", "intrinsics")]
    for fact in kernels:
        rule = f"{fact['schedule']} ({fact['place']})" if fact["schedule"] else "-"
        rows.append((fact["kernel"], fact["operator"] or "-", rule, ", ".join(fact["intrinsics"]) or "-"))
    return table(*rows) + "\n"


def _unused_table(reasons: Sequence[_Fact]) -> str:
    rows: list[tuple[str, ...]] = [("not used", "kernel", "why")]
    for fact in reasons:
        rows += [(each["schedule"], fact["kernel"], f"declined: {each['reason']}") for each in fact["declined"]]
        rows += [(each["name"], fact["kernel"], each["reason"]) for each in fact.get("unused", ())]
    return table(*dict.fromkeys(rows)) + "\n" if len(rows) > 1 else ""
