# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules as a plug-in point: by pattern and target, along the chain of targets; ambiguous ones are refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import relax_mlir.targets  # noqa: F401  # makes this project's targets known
from own_rules import without_new
from relax_mlir.bindings.context import new_context
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.core.facts import OpPattern
from relax_mlir.passes.kernels.schedule import registry
from relax_mlir.passes.kernels.schedule.registry import register_schedule, schedules_for
from relax_mlir.passes.kernels.tir_apply_plan import TirApplyPlan
from relax_mlir.passes.kernels.tir_plan import TirPlan
from relax_mlir.support.errors import RelaxError
from relax_mlir.targets.core import registry as targets
from relax_mlir.targets.core.registry import Target, register_target
from scheduled import Shaped, prim_func

FILL = "%z = arith.constant 0.0 : f32\n%r0 = linalg.fill ins(%z : f32) outs(%0 : tensor<4xf32>) -> tensor<4xf32>"


@pytest.fixture(autouse=True)
def chain(monkeypatch: Any) -> Iterator[None]:
    """Register a target with llvm as its fallback, and remove the schedules that a test registers."""
    shown_first("llvm")
    monkeypatch.setattr(targets, "_TARGETS", dict(targets._TARGETS))
    register_target(Target("schedulenpu", parents=("llvm",)))
    with without_new(registry._SCHEDULES):
        yield


def shown_first(target: str) -> list[registry.Schedule]:
    """Return the schedule that a target tries first for each pattern."""
    return [schedule for pattern in OpPattern for schedule in schedules_for(pattern, target)[:1]]


def scheduled(target: str, pattern: str = "elemwise") -> str:
    out = Shaped((4,), "f32")
    context = new_context(("func", "linalg", "tensor", "arith", "scf", "vector"))
    with context, ir.Location.unknown():
        module = ir.Module.parse(prim_func([], [out], FILL, pattern))
        TirPlan(target=target)(module.operation)
        TirApplyPlan()(module.operation)
        return str(module)


def test_every_pattern_but_tuples_has_a_schedule_for_llvm() -> None:
    shown = [schedule.subject for schedule in shown_first("llvm")]
    assert shown == [pattern.attribute_text for pattern in OpPattern if pattern is not OpPattern.TUPLE]
    assert all("llvm/schedule" in schedule.label for schedule in shown_first("llvm"))


def test_the_targets_own_comes_first_and_parents_follow() -> None:
    @register_schedule("elemwise", target="schedulenpu")
    def own(function: Any, context: Any) -> None:
        function.attributes["seen"] = ir.StringAttr.get(context.target)

    assert [schedule.target for schedule in schedules_for(OpPattern.ELEMWISE, "schedulenpu")] == ["schedulenpu", "llvm"]
    assert 'seen = "schedulenpu"' in scheduled("schedulenpu")
    assert "linalg.fill" in scheduled("schedulenpu"), "the parent's is not run after the own one"
    assert "vector.transfer_write" in scheduled("schedulenpu", "broadcast")


@pytest.mark.parametrize("raises", [False, True])
def test_declined_kernels_go_to_the_parents_schedules(raises: bool) -> None:
    @register_schedule(OpPattern.ELEMWISE, target="schedulenpu")
    def own(function: Any, context: Any) -> Any:
        if raises:
            raise context.decline("never")
        return context.decline("never")

    assert "vector.transfer_write" in scheduled("schedulenpu")


def test_without_a_schedule_the_function_stays() -> None:
    assert "linalg.fill" in scheduled("default")


def test_unknown_patterns_and_targets_are_refused() -> None:
    with pytest.raises(RelaxError, match="unknown operator pattern 'reduce'"):
        register_schedule("reduce", target="llvm")
    with pytest.raises(RelaxError, match="unknown target 'lvm'"):
        register_schedule("elemwise", target="lvm")(lambda function, context: None)


def test_a_second_schedule_for_a_pair_is_refused() -> None:
    register_schedule(["elemwise", "opaque"], target="schedulenpu")(lambda function, context: None)
    with pytest.raises(RelaxError, match="pattern 'opaque' already has a schedule for target 'schedulenpu'"):
        register_schedule("opaque", target="schedulenpu")(lambda function, context: None)
