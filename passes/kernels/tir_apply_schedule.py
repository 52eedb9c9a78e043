# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Application of schedules to PrimFuncs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from ...bindings.ir import Operation
from ...bindings.mlir import string_array, string_value
from ...bindings.navigation import symbol_name, text_in
from ...bindings.rewriting import located_error
from ...dialects.core.ir_attributes import LOOPS, NUMERICS, OPERATOR, SCHEDULE
from ...dialects.tir.prim_func import prim_funcs_in, schedule_lines
from ...support.errors import OptionError
from ...targets.core.registry import parse_target
from ..core.base import Pass
from ..core.registry import register_pass
from .schedule.registry import ScheduleContext, steps_rules
from .tir_lower_intrinsics import LowerIntrinsics

if TYPE_CHECKING:
    from .loops.tree import Tree


@register_pass
@dataclass(frozen=True)
class TirApplySchedule(Pass):
    """Rewrite PrimFuncs to loops by their schedules."""

    name: ClassVar[str] = "tir-apply-schedule"
    anchor: ClassVar[str] = "builtin.module"
    dependent_dialects: ClassVar[tuple[str, ...]] = (
        *("affine", "arith", "bufferization", "func", "gpu", "linalg", "memref", "scf", "tensor", "vector"),
        *("llvm", "math"),  # for what intrinsics emit
    )

    #: Apply the target's steps to PrimFuncs without a schedule, if possible.
    steps: bool = False
    #: Map bound loops to threads of kernels. Otherwise they run sequentially.
    threads: bool = False
    #: Emit vectors for vectorized loops. Otherwise the loops are scalar, for vectorization by C compilers.
    vectors: bool = True
    #: Target with rules for intrinsics and for C functions in tensor intrinsics; empty: neither is lowered.
    target: str = ""

    def run(self, op: Operation) -> None:
        functions = prim_funcs_in(op)
        scheduled = [function for function in functions if schedule_lines(function) is not None]
        others = [function for function in functions if self.steps and SCHEDULE not in function.attributes]
        if others:
            from .schedule.apply_steps import apply_steps  # rarely needed, and it imports all primitives

            chosen = parse_target(self.target)
            if not (rules := steps_rules(chosen.name)):
                raise OptionError(
                    f"steps=true: target '{chosen.name}' has no schedule steps (register_steps adds some)"
                )
            apply_steps(others, rules[0], ScheduleContext(chosen.name, chosen))
        for function in prim_funcs_in(op):
            if LOOPS in function.attributes and function not in scheduled:
                del function.attributes[LOOPS]
        if not scheduled:
            return
        from .loops.apply_schedule import apply_schedule
        from .schedule.constant_arguments import callers_in

        callers, target = callers_in(op), parse_target(self.target) if self.target else None
        features = None if target is None else lambda: ScheduleContext(target.name, target).machine.features
        keeps = [string_value(each) for each in op.attributes[NUMERICS]] if NUMERICS in op.attributes else ["fast"]
        for function in scheduled:
            note = partial(self._note_order, op, function)
            mine = callers[symbol_name(function)]
            constants = mine.constants()
            made, packing = apply_schedule(
                function,
                has_threads=self.threads,
                has_vectors=self.vectors,
                constants=constants,
                features=features,
                told=note if keeps[0] == "same" else None,
            )
            for place, pack in packing.items():
                mine.replace(place, mine.packed(place, pack))
            if target is not None:
                LowerIntrinsics(target.name).lower(made)

    def _note_order(self, module: Operation, function: Operation, tree: Tree, before: Tree) -> None:
        """Note a schedule that changes the order of sums in the module. Raise RelaxError if its numerics are strict."""
        from .loops.step_order import changed_order

        if not (reason := changed_order(tree, before)):
            return
        name = symbol_name(function)
        if parse_target(self.target).option("numerics") == "same":
            raise located_error(
                f"the schedule of @{name} ({text_in(function, OPERATOR) or 'a PrimFunc'}) changes the order of a sum, "
                f"for target '{self.target}': {reason}",
                function.location,
                notes=["numerics=same keeps the order of the reduction's iters; leave it out, or take numerics=fast"],
            )
        kernels = [string_value(each) for each in module.attributes[NUMERICS]]
        if name not in kernels:
            with module.context:
                module.attributes[NUMERICS] = string_array([*kernels, name])
