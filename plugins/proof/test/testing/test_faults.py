# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults in an external codegen, in a kernel and in a pass are found and named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import faulty_codegen  # noqa: F401  # registers it
import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.passes.core.external import external_modules
from relax_mlir_proof.testing.bisect import bisect
from relax_mlir_proof.testing.each import each, first_wrong


def const(*shape: int) -> Any:
    return relax.const(numpy.random.default_rng(sum(shape)).normal(size=shape).astype("float32"))


def model() -> tuple[rx.Module, list[Any]]:
    """Return a layer, tanh, a difference with the constant first, and quantization."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((6, 8))}) as f:
        y = relax.nn.relu(relax.matmul(*f, const(8, 16)))
        y = relax.exp(relax.multiply(y, relax.const(-0.1)))
        y = relax.tanh(y)
        y = relax.subtract(relax.const(numpy.float32(0.75)), y)
        f.returns(relax.quantize(y, relax.const(numpy.float32(0.125)), relax.const(numpy.int8(0)), 0))
    return module, [numpy.random.default_rng(0).normal(size=(6, 8)).astype("float32")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "only"),
    [("bound", "matmul*"), ("order", "subtract*constants*"), ("empty", "tanh f32*"), ("rounding", "quantize*")],
)
def test_the_kit_finds_a_fault(fault: str, only: str) -> None:
    report = rx.testing.check(f"faulty{{fault={fault}}}", only=[only, "faulty.*"], jobs=2)
    assert report.faults, str(report)


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "verdict"), [("leak", "leak"), ("memory", "no memory"), ("none", "right")])
def test_the_kit_finds_what_a_model_does_with_memory(fault: str, verdict: str) -> None:
    report = rx.testing.check(f"faulty{{fault={fault}}}", only=["lstm"], groups=["models"], jobs=1)
    assert [each.verdict for each in report.verdicts] == [verdict], str(report)


@pytest.mark.slow
def test_a_codegen_without_faults_is_right() -> None:
    report = rx.testing.check("faulty", only=["tanh f32*", "subtract f32*"], jobs=2)
    assert report.is_right, str(report)


@pytest.mark.parametrize(("fault", "operator"), [("bound", "relax.nn.relu"), ("order", "relax.subtract")])
def test_bisecting_names_the_operator(fault: str, operator: str) -> None:
    module, arguments = model()
    culprit = bisect(module, arguments, partition=[f"faulty{{fault={fault}}}"])
    assert culprit is not None
    assert culprit.kind == "part"
    assert operator in str(culprit.module)
    assert culprit.error > 0
    assert len(external_modules(culprit.module.operation)) == 1


def test_a_right_program_has_no_wrong_value() -> None:
    module, arguments = model()
    assert first_wrong(each(module, arguments, partition=["faulty"])) is None
    assert bisect(module, arguments, partition=["faulty"]) is None


# ---- a rule, and a pass ----

rx.register_target(rx.Target("wrong-rule", parents=("llvm",), doc="Of this test."))


@rx.rules.register_legalize("relax.tanh", target="wrong-rule")
def wrong_tanh(call: Any) -> Any:
    return call.elementwise(lambda x: rx.select(x > 0.0, rx.number(rx.tir.tanh(x.value)), 0.0))


@rx.register_pass
@dataclass(frozen=True)
class SwapOperands(rx.Pass):
    """Wrong rewrite that swaps the operands of differences."""

    name: ClassVar[str] = "test-swap-operands"

    def run(self, op: Any) -> None:
        for operation in operations_in(op):
            if operation.name == "relax.subtract":
                first, second = operation.operands
                operation.operands[0], operation.operands[1] = second, first


rx.register_target(
    rx.Target(
        "wrong-pass",
        parents=("llvm",),
        stages=lambda stages: stages.insert_before("legalize", "swap", "test-swap-operands"),
        doc="Of this test.",
    )
)


def test_a_wrong_rule_is_found_by_its_pass_and_operator() -> None:
    module, arguments = model()
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((6, 8))}) as f:
        f.returns(relax.exp(relax.tanh(*f)))
    culprit = bisect(module, arguments, target="wrong-rule")
    assert culprit is not None
    assert (culprit.kind, culprit.name) == ("pass", "relax-legalize-ops (stage legalize)")
    assert "relax.tanh" in str(culprit.module)


def test_a_wrong_rewrite_is_found_by_its_pass() -> None:
    module, arguments = model()
    culprit = bisect(module, arguments, target="wrong-pass")
    assert culprit is not None
    assert (culprit.kind, culprit.name) == ("pass", "test-swap-operands (stage swap)")


@rx.register_pass
@dataclass(frozen=True)
class SwapDifferences(rx.Pass):
    """Wrong rewrite of lowered code that swaps the operands of differences."""

    name: ClassVar[str] = "test-swap-differences"

    def run(self, op: Any) -> None:
        for operation in operations_in(op):
            if operation.name in ("arith.subf", "llvm.fsub"):
                first, second = operation.operands
                operation.operands[0], operation.operands[1] = second, first


#: Stages of llvm that a wrong pass follows.
LOWERED = ("legalize", "intrinsics", "plan", "apply", "bufferize", "parallel", "entries", "errors", "calls", "to-llvm")

for _stage in LOWERED:
    rx.register_target(
        rx.Target(
            f"wrong-{_stage}",
            parents=("llvm",),
            stages=lambda stages, after=_stage: stages.insert_after(after, "swap", "test-swap-differences"),
            doc="Of this test.",
        )
    )


@pytest.mark.parametrize("stage", LOWERED)
def test_a_wrong_pass_is_found_behind_each_stage(stage: str) -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 8)), "y": rx.tensor(("n", 8))}) as f:
        x, y = f
        f.returns(relax.matmul(relax.subtract(x, y), const(8, 16)))
    arguments = [numpy.random.default_rng(seed).normal(size=(6, 8)).astype("float32") for seed in (0, 1)]
    culprit = bisect(module, arguments, target=f"wrong-{stage}")
    assert culprit is not None
    assert (culprit.kind, culprit.name) == ("pass", "test-swap-differences (stage swap)")


def test_threads_that_race_are_found() -> None:
    report = rx.testing.check("faulty{fault=race}", only=["tanh f32 many"], jobs=1)
    assert {each.verdict for each in report.faults} <= {"wrong", "unsteady"}
    assert report.faults, str(report)


def test_refusals_without_a_reference_result_are_right() -> None:
    """Accept refusals during compilation or at run time if the reference has no result either."""
    report = rx.testing.check("llvm", only=["image.resize2d f32 empty w"], jobs=1)
    assert report.is_right and "the image is empty" in report.verdicts[0].reason, str(report)
    report = rx.testing.check("llvm", only=["multinomial_from_uniform f32 empty m"], jobs=1)
    assert report.is_right and "there is no class to draw" in report.verdicts[0].reason, str(report)


def test_a_targets_table_counts_the_cases_of_its_own_rules() -> None:
    name = "own_tanh"
    if name not in [each.name for each in rx.all_targets()]:
        rx.register_target(rx.Target(name, parents=("llvm",)))

        @rx.register_legalize("relax.tanh", name)
        def legalize_tanh(call: Any) -> Any:
            default = next(each for each in rx.all_rules() if (each.op, each.target) == ("relax.tanh", "default"))
            return default.function(call)

    report = rx.testing.check(name, only=["tanh f32", "tanh f32 dynamic", "exp f32"], jobs=1)
    head, *rows = report.support_rows()
    assert {row[0]: row[head.index("own rules")] for row in rows} == {"relax.exp": "0", "relax.tanh": "2"}, str(report)
    report = rx.testing.check("faulty", only=["tanh f32"], jobs=1)
    assert "own rules" not in report.support_rows()[0] and "not taken" in report.support_rows()[0]


def test_operators_without_operands_have_no_type_in_the_table() -> None:
    report = rx.testing.check("llvm", only=["arange", "arange many", "tanh f32"], jobs=1)
    head, *rows = report.support_rows()
    types = {row[0]: row[head.index("types")] for row in rows}
    assert types["relax.arange"] == "" and types["relax.tanh"] == "f32"
