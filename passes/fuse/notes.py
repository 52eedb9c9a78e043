# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What fusion tells a journal: calls that became one, those that stayed apart and why, the kernels that there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...bindings.navigation import symbol_name, text_in
from ...dialects.tir.prim_func import OP_PATTERN, prim_funcs_in
from ..core.facts import FusedFact, KernelFact, NotFusedFact, origins_of
from ..core.journal import Journal
from ..legalize.builder import OPERATOR

_MOST_CHARACTERS = 6000


def note_fused(journal: Journal | None, kernel: str, calls: Sequence[Any]) -> None:
    """Tells that these calls, which are still there, become one of `kernel`."""
    if journal is None:
        return
    members = [_member(call) for call in calls]
    names = dict.fromkeys(name for member in members for name in member["origins"])
    journal.add(FusedFact(kernel, list(names), members))


def note_not_fused(journal: Journal, reasons: Mapping[tuple[Any, Any], str]) -> None:
    """Tells for each producer and consumer why they stay two calls."""
    for (producer, consumer), reason in reasons.items():
        journal.add(NotFusedFact(_member(producer), _member(consumer), reason))


def note_kernels(journal: Journal | None, module: Any) -> None:
    """Tells what the PrimFuncs of a module compute."""
    if journal is None:
        return
    for function in prim_funcs_in(module):
        operator, pattern = text_in(function, OPERATOR), text_in(function, OP_PATTERN)
        journal.add(KernelFact(symbol_name(function), operator, pattern, _script(function)))


def _member(call: Any) -> dict[str, Any]:
    return {"kernel": call.opview.func, "origins": origins_of(call)}


def _script(function: Any) -> str:
    """The function for people, its beginning where it is long. Comments say where lines come from: that is known."""
    from ...dialects.script import print_script  # seldom needed

    lines = [line.partition("  # ")[0].rstrip() for line in print_script(function).splitlines()]
    text = "\n".join(lines)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}\n..."
