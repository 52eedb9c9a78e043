# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random schedules: each PrimFunc of a program runs by random steps, which only depend on the PrimFunc."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

from schedule_steps import random_steps

import relax_mlir as rx

_PATTERNS = ["elemwise", "broadcast", "injective", "comm_reduce", "out_ewise_fusable", "opaque"]
_MOST_STEPS = 12


@cache
def register_once() -> None:
    """Register random schedules for all PrimFuncs on CPUs that can be scheduled."""

    @rx.register_schedule(_PATTERNS, target="llvm")
    def random_schedule(function: Any, context: Any) -> Any:
        rng = Random(str(function))
        try:
            sch = context.schedule(function)
            trees = sch.trees()
        except rx.RelaxError as error:
            return context.decline(error.message)
        if not trees:
            return context.decline("no loops around blocks")
        random_steps(rng, sch, rng.randint(0, _MOST_STEPS))
        return sch
