# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules for plans as a plug-in point: a target's own rules come first for each operation; ambiguous ones are
refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from compiling import array, floats, module_with
from own_rules import without_new
from relax_mlir.passes.kernels.schedule import registry
from relax_mlir.passes.kernels.schedule.registry import plan_rules

import relax_mlir as rx
from relax_mlir import relax


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """Remove the rules that a test registers, and load llvm's own."""
    rx.register_target(rx.Target("plannpu", parents=("llvm",)))
    plan_rules("plannpu")
    with without_new(registry._PLAN_RULES):
        yield


def _module() -> rx.Module:
    return module_with([rx.tensor((6, 40))], lambda x: relax.nn.softmax(relax.exp(x)))


def _plans(target: str) -> str:
    return str(rx.lower(_module(), target, pipeline=rx.stages(target).until("plan")))


def test_llvms_rules_in_their_order() -> None:
    assert [rule.name for rule in plan_rules("llvm")] == [*"tiles dot matmul conv reduction elementwise".split()]
    assert plan_rules("default") == []


def test_a_targets_own_comes_first_and_may_decline() -> None:
    seen = []

    @rx.register_plan("plannpu")
    def plan_narrow(op: Any, machine: Any) -> rx.Plan:
        seen.append(machine.vector_bytes)
        if op.reductions:
            raise rx.Decline("it reduces")
        return rx.Plan(order=tuple(op.dims), vector=op.dims[-1], lanes=2)

    assert [rule.name for rule in plan_rules("plannpu")][:2] == ["narrow", "tiles"]
    text = _plans("plannpu{vector-bytes=16}")
    assert "x 2; rule narrow" in text and "rule reduction" in text and "rule elementwise" not in text
    assert set(seen) == {16}
    assert "rule narrow" not in _plans("llvm")
    x = floats(6, 40)
    plain, own = (array(rx.compile(_module(), target)["main"](x)) for target in ("llvm", "plannpu"))
    assert abs(plain - own).max() < 1e-6


def test_the_plan_of_a_rule_is_checked_when_applied() -> None:
    @rx.register_plan("plannpu")
    def plan_wide(op: Any, machine: Any) -> rx.Plan:
        if op.reductions:
            raise rx.Decline("lanes of a sum are checked when the rule returns")
        return rx.Plan(order=tuple(op.dims), vector=op.dims[-1], lanes=4096)

    with pytest.raises(rx.RelaxError, match="4096 lanes of 32 bits do not fit in a vector of 16 bytes"):
        rx.lower(_module(), "plannpu{vector-bytes=16}")


def test_a_second_rule_of_a_name_is_refused() -> None:
    def plan_matmul(op: Any, machine: Any) -> rx.Plan:
        raise rx.Decline("never")

    with pytest.raises(rx.RelaxError, match=r"target 'llvm' already has a plan rule 'matmul': .*matmul\.py"):
        rx.register_plan("llvm")(plan_matmul)
    with pytest.raises(rx.RelaxError, match="unknown target 'lvm'"):
        rx.register_plan("lvm")(plan_matmul)
