# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels with other loops than their PrimFuncs, which files of schedules cannot express."""

from __future__ import annotations

from ....bindings.ir import Operation
from ....bindings.navigation import symbol_name
from ...core.journal import Journal


def note_other_loops(function: Operation, reason: str) -> None:
    """Note for a journal of schedules why a PrimFunc has other loops than its text."""
    journal = Journal.active()
    if journal is not None and journal.steps is not None:
        from .plan_steps import REASON  # rarely needed, and it imports all primitives

        journal.steps[symbol_name(function)] = [f"{REASON}{reason}"]
