# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Targets with rules of a user, which measuring processes load as a plug-in."""

from __future__ import annotations

from typing import Any

import relax_mlir as rx

rx.register_target(rx.Target("tune_slow", parents=("llvm",), doc="A CPU with a slow rule."))
rx.register_target(rx.Target("tune_choosing", parents=("llvm",), doc="A CPU with a slow rule that has decisions."))
rx.register_target(rx.Target("tune_plain", parents=("llvm",), doc="A CPU with a rule that declines."))


def slowly(function: Any, context: Any) -> Any:
    """Sum down the columns, an element at a time."""
    sch = context.schedule(function)
    product = next(block for tree in sch.trees() for block in tree.blocks() if block.is_reduction)
    i, j, k = sch.get_loops(product.name)
    sch.reorder(k, j, i)
    return sch


@rx.schedules.register_schedule(operator="relax.matmul", target="tune_slow")
def slow(function: Any, context: Any) -> Any:
    return slowly(function, context)


@rx.schedules.register_schedule(operator="relax.matmul", target="tune_choosing")
def choosing(function: Any, context: Any) -> Any:
    sch = slowly(function, context)
    sch.sample_categorical([1, 2], default=1)
    return sch


@rx.schedules.register_plan("tune_plain")
def plan_backwards(op: Any, machine: rx.Machine) -> rx.schedules.Plan:
    raise rx.Decline("it only exists")
