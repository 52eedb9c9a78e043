# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A package's own operators: rules, hand-written PrimFuncs, stages, and the services of this project."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from relax_mlir.dialects import relax, tir
from relax_mlir.passes.core.stages import Stages

import relax_mlir as rx

own = rx.Dialect("ownops", doc="Operators of this test.")
own.op("double", "x", infer=lambda call: call.x, doc="Twice x.")
own.op("rows", "x", infer=lambda call: rx.TensorInfo(call.x.shape[:1], call.x.dtype), doc="The sum of each row.")
own.op("forgotten", "x", infer=lambda call: call.x, doc="Has no rule.")
tir.declare_intrinsic("bump", "x", dialect=own, doc="Has no rule on llvm.")
tir.declare_intrinsic("nudge", "x", dialect=own, doc="The target of this test takes it.")

DOUBLE = """
func.func @double(%x: memref<?x4xf32>, %out: memref<?x4xf32>) attributes {tir.prim_func} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]} ins(%x : memref<?x4xf32>) outs(%out : memref<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %a : f32
    linalg.yield %sum : f32
  }
  return
}
"""


def module_of(*operators: str, times: int = 1) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 4))]) as f:
        (value,) = f
        for name in operators * times:
            value = rx.find_op(name)(value)
        f.returns(value)
    return module


def run(module: rx.Module, legalize_map: dict[str, Any]) -> Any:
    stages = rx.stages("llvm").replace("legalize", rx.LegalizeOps(target="llvm", customize_legalize_map=legalize_map))
    executable = rx.compile(module, pipeline=stages, cache=False)
    x = numpy.arange(12, dtype="float32").reshape(3, 4)
    return x, numpy.from_dlpack(executable["main"](x))


def prim_funcs(module: rx.Module, legalize_map: dict[str, Any]) -> list[str]:
    rx.LegalizeOps(target="llvm", customize_legalize_map=legalize_map)(module)
    names = [op.attributes["sym_name"].value for op in module.body.operations if "tir.prim_func" in op.attributes]
    return sorted(names)


def test_all_operators_without_a_rule_are_reported_at_legalize_with_what_would_help():
    with pytest.raises(rx.RelaxError) as caught:
        rx.compile(module_of("ownops.forgotten", "relax.exp", "ownops.double"), cache=False)
    messages = [diagnostic.message for diagnostic in caught.value.diagnostics]
    assert [message.split(" op ")[0] for message in messages] == [
        f"legalization for target 'llvm' cannot convert 'ownops.{name}'" for name in ("forgotten", "double")
    ]
    assert '@rx.rules.register_legalize("ownops.forgotten") registers one' in str(caught.value)


def test_an_intrinsic_without_a_rule_is_reported_by_its_target():
    rules = {"ownops.double": lambda call: call.elementwise(lambda x: own.bump(x))}
    with pytest.raises(
        rx.RelaxError, match=r"tir-lower-intrinsics for llvm cannot convert 'ownops\.bump' op"
    ) as caught:
        run(module_of("ownops.double"), rules)
    assert '@rx.rules.register_lower_intrinsic("ownops.bump") registers one' in str(caught.value)


def test_a_rule_calls_a_prim_func_written_as_text_which_the_module_gets_once():
    rules = {"ownops.double": lambda call: call.call_tir(DOUBLE)}
    x, y = run(module_of("ownops.double", times=2), rules)
    numpy.testing.assert_array_equal(y, 4 * x)
    assert prim_funcs(module_of("ownops.double", times=2), rules) == ["double"]


def test_a_rule_calls_a_function_that_writes_loops_on_other_operands():
    def total(x: Any, out: Any) -> None:
        def row(i: Any) -> None:
            rx.loops.store(x_zero(x), out, i)
            rx.loops.nest([rx.loops.sizes(x)[1]], lambda j: add(i, j))

        def add(i: Any, j: Any) -> None:
            rx.loops.store(rx.number(rx.loops.load(out, i)) + rx.number(rx.loops.load(x, i, j)), out, i)

        rx.loops.nest(rx.loops.sizes(out), row)

    def x_zero(x: Any) -> Any:
        return rx.number(rx.loops.load(x, 0, 0)).constant(0.0)

    def rows(call: Any) -> Any:
        return call.call_tir(total, [relax.exp(call.operands[0])])

    x, y = run(module_of("ownops.rows"), {"ownops.rows": rows})
    numpy.testing.assert_allclose(y, numpy.exp(x).sum(axis=1), rtol=1e-6)


def test_names_of_hand_written_and_generated_prim_funcs_do_not_clash():
    rules = {
        "ownops.double": lambda call: call.call_tir(DOUBLE),
        "relax.exp": lambda call: call.elementwise(tir.exp, name="double"),
    }
    assert prim_funcs(module_of("ownops.double", "relax.exp"), rules) == ["double", "double_1"]
    assert prim_funcs(module_of("relax.exp", "ownops.double"), rules) == ["double", "double_1"]


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("func.func @f( {", "expected"),
        ("func.func @f() { return }", "one func.func with the attribute tir.prim_func, found func.func"),
        (3, "a PrimFunc is MLIR text, a module of one .* or a Python function, got int"),
    ],
)
def test_kernels_that_are_no_prim_funcs_are_refused(kernel, message):
    rules = {"ownops.double": lambda call: call.call_tir(kernel)}
    with pytest.raises(rx.RelaxError, match=message):
        prim_funcs(module_of("ownops.double"), rules)


def test_a_target_changes_its_parents_stages():
    def own_stages(stages: Stages) -> Stages:
        return stages.insert_after("legalize", "clean-up", "cse").drop("plan")

    parent = rx.register_target(rx.Target("ownstages", parents=("llvm",), stages=own_stages))
    rx.register_target(
        rx.Target("ownstages-child", parents=("ownstages",), stages=lambda stages: stages.drop("clean-up"))
    )
    plain = [name for name in rx.stages("llvm").names if name != "plan"]
    behind = plain.index("legalize") + 1
    assert rx.stages(parent.name).names == [*plain[:behind], "clean-up", *plain[behind:]]
    assert rx.stages("ownstages-child").names == plain, "a child's stages are made of its parent's"
    assert rx.stages("llvm{cpu=haswell}").target == "llvm{cpu=haswell}"
    x = numpy.ones((2, 4), "float32")
    executable = rx.compile(module_of("relax.exp"), "ownstages", cache=False)
    numpy.testing.assert_allclose(numpy.from_dlpack(executable["main"](x)), numpy.exp(x), rtol=1e-6)


def test_a_target_with_wrong_stages_is_refused():
    rx.register_target(rx.Target("ownstages-wrong", parents=("llvm",), stages=lambda stages: list(stages)))
    with pytest.raises(rx.RelaxError, match=r"target 'ownstages-wrong': stages= must return Stages, got list"):
        rx.stages("ownstages-wrong")


def test_a_stage_of_the_target_lowers_what_the_target_takes():
    """Lower an intrinsic that is legal on a target in the target's own stage."""

    def expand(op: Any, rewriter: Any) -> Any:
        return (rx.number(op.x) + 1.0).value

    class Expand(rx.Pass):
        name = "ownops-expand"

        def run(self, op: Any) -> None:
            rx.apply_greedy(op, [rx.Pattern("ownops.nudge", expand)])

    rx.register_target(
        rx.Target(
            "ownlegal",
            parents=("llvm",),
            legal=frozenset({"ownops.nudge"}),
            stages=lambda stages: stages.insert_after("intrinsics", "expand", Expand()),
        )
    )
    rx.register_legalize("ownops.double", target="ownlegal")(lambda call: call.elementwise(lambda x: own.nudge(x)))
    x = numpy.ones((2, 4), "float32")
    executable = rx.compile(module_of("ownops.double"), "ownlegal", cache=False)
    numpy.testing.assert_array_equal(numpy.from_dlpack(executable["main"](x)), x + 1)
