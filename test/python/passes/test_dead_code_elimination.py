# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-dead-code-elimination: results stay the same, and no unused operator is left.

Situations of Apache TVM's tests/python/relax/test_transform_dead_code_elimination.py and test_transform_cse.py; in
scripts: test/passes/relax-dead-code-elimination.py, upstream-cse.py.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import before_after
import blocks
import numpy
import pytest
from before_after import functions_by_name, op_names
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.dialects.core.call_graph import references_of
from relax_mlir.dialects.core.dialect import all_ops
from relax_mlir.passes.graph.relax_dead_code_elimination import DeadCodeElimination

import relax_mlir as rx
from relax_mlir import relax

GRAPHS = st.one_of(blocks.images(), blocks.sequences())


@draws(15)
@given(GRAPHS, st.sampled_from(["", "relax-legalize-ops,", "cse,relax-legalize-ops,relax-fuse-ops,tir-fuse,"]))
def test_random_graphs(module: rx.Module, before: str) -> None:
    after = before_after.keeps_results(module, f"{before}relax-dead-code-elimination")
    called = {name for op in operations_in(after.operation) for name in references_of(op)}
    assert called == set(functions_by_name(after)) - {"main"}


@draws(15)
@given(GRAPHS)
def test_random_graphs_and_cse(module: rx.Module) -> None:
    before_after.keeps_results(module, "cse", tolerance=0)


def test_every_pure_operator_is_computed_once() -> None:
    """Merge equal pure operators, and keep operators with effects: cse uses the rows, here of every operator."""
    rows = [row for row in all_ops() if row.dialect.name == "relax"]
    assert len(rows) > 150
    module = rx.Module.parse("func.func @main(%x: tensor<4xf32>) {\n  return\n}")
    block = module.body.operations[0].regions[0].blocks[0]
    with module.context, rx.ir.Location.unknown(), rx.ir.InsertionPoint(block.operations[0]):
        for row in rows:
            made = [_of(row.full_name, block.arguments[0]) for _ in range(2)]
            rx.ir.Operation.create("test.keep", operands=made)
    # These operators would need more than an operand, so the module is not verified.
    rx.Pipeline("cse", verify_each=False).run(module, all_or_nothing=False)
    counts = Counter(op.name for op in operations_in(module.operation))
    assert {row.full_name for row in rows if counts[row.full_name] > 1} == {
        row.full_name for row in rows if not row.pure
    }


def _of(name: str, operand: Any) -> Any:
    return rx.ir.Operation.create(name, results=[operand.type], operands=[operand]).results[0]


def split_in_two(private: bool = True) -> rx.Module:
    """Return a legalized split of which one of three parts is used."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((6, 4))}) as f:
        _, middle, _ = relax.split(*f, 3)
        f.returns(relax.exp(middle))
    rx.Pipeline("relax-legalize-ops").run(module)
    if not private:
        del functions_by_name(module)["split"].attributes["sym_visibility"]
    return module


def test_an_output_of_a_kernel_goes_with_its_work() -> None:
    after = before_after.keeps_results(split_in_two(), "relax-dead-code-elimination", tolerance=0)
    split = functions_by_name(after)["split"]
    assert len(split.attributes["function_type"].value.inputs) == 2
    assert str(split).count("tensor.extract_slice") == 1


def test_public_functions_keep_their_types() -> None:
    module = split_in_two(private=False)
    text = str(module)
    DeadCodeElimination()(module)
    assert str(module) == text


def test_a_kernel_whose_outputs_are_one_loop_s_stays() -> None:
    module = rx.Module.parse("""
      #same = affine_map<(i) -> (i)>
      func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
        %0:2 = "relax.call_tir"(%x) {func = @both} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
        return %0#1 : tensor<4xf32>
      }
      func.func private @both(%x: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>)
          -> (tensor<4xf32>, tensor<4xf32>) attributes {tir.prim_func} {
        %0:2 = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel"]}
            ins(%x : tensor<4xf32>) outs(%a, %b : tensor<4xf32>, tensor<4xf32>) {
          ^bb0(%i: f32, %p: f32, %q: f32):
            %1 = arith.negf %i : f32
            linalg.yield %i, %1 : f32, f32
        } -> (tensor<4xf32>, tensor<4xf32>)
        return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
      }""")
    text = str(module)
    before_after.keeps_results(module, "relax-dead-code-elimination", tolerance=0)
    DeadCodeElimination()(module)
    assert str(module) == text


def test_results_used_by_any_caller_stay() -> None:
    """Keep two results of a function, each with a user in another caller, and remove the third."""
    module = rx.Module.parse("""
      func.func @one(%x: tensor<4xf32>) -> tensor<4xf32> {
        %0:3 = call @three(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
        return %0#0 : tensor<4xf32>
      }
      func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
        %0:3 = call @three(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
        return %0#1 : tensor<4xf32>
      }
      func.func private @three(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
        %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
        %1 = "relax.sin"(%x) : (tensor<4xf32>) -> tensor<4xf32>
        %2 = "relax.tan"(%x) : (tensor<4xf32>) -> tensor<4xf32>
        return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
      }""")
    x = numpy.ones(4, "f4")
    for name in ("one", "other"):
        before_after.keeps_results(module, "relax-dead-code-elimination", [x], function=name, tolerance=0)
    DeadCodeElimination()(module)
    assert op_names(module) == ["relax.exp", "relax.sin"]


def test_chains_for_unread_parameters_are_removed() -> None:
    """Remove chains of results that are only for unread parameters, also with recursion."""
    count = 6
    functions = [
        f"""
      func.func private @f{n}(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {{
        %0 = "relax.exp"(%y) : (tensor<4xf32>) -> tensor<4xf32>
        %1:2 = call @f{n + 1}(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
        return %1#0, %1#1 : tensor<4xf32>, tensor<4xf32>
      }}"""
        for n in range(count)
    ]
    module = rx.Module.parse(f"""
      func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
        %0:2 = call @f0(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
        return %0#0 : tensor<4xf32>
      }}
      {"".join(functions)}
      func.func private @f{count}(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {{
        return %x, %y : tensor<4xf32>, tensor<4xf32>
      }}""")
    before_after.keeps_results(module, "relax-dead-code-elimination", [numpy.ones(4, "f4")], tolerance=0)
    DeadCodeElimination()(module)
    assert op_names(module) == []
    for name, function in functions_by_name(module).items():
        type_ = function.attributes["function_type"].value
        assert (len(type_.inputs), len(type_.results)) == (1, 1), name


RECURSIVE = """
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @again(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %x : tensor<4xf32>
  }
  func.func private @again(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @again(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func private @unreached(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }"""


def test_a_call_that_may_not_end_stays() -> None:
    module = rx.Module.parse(RECURSIVE)
    DeadCodeElimination()(module)
    assert set(functions_by_name(module)) == {"main", "again"} and str(module).count("call @again") == 2


def test_entry_functions_are_somebody_s() -> None:
    module = rx.Module.parse(RECURSIVE)
    DeadCodeElimination(entry_functions=("unreached",))(module)
    assert "unreached" in functions_by_name(module)


def test_functions_with_other_references_are_unchanged() -> None:
    """Keep a codegen's function, and one with a reference other than a call."""
    module = rx.Module.parse("""module attributes {somebody.keeps = @kept} {
      func.func private @kept() {
        return
      }
      func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
        %0 = call @theirs(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        %1 = call @named(%0, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        return %1 : tensor<4xf32>
      }
      func.func private @theirs(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32>
          attributes {relax.codegen = "mine"} {
        return %x : tensor<4xf32>
      }
      func.func private @named(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
        return %x : tensor<4xf32>
      }
      func.func @knows() attributes {somebody.knows = [@named, {it = @alone}]} {
        return
      }
      func.func private @alone() {
        return
      }
    }""")
    text = str(module)
    DeadCodeElimination()(module)
    assert str(module) == text


def test_sizes_that_only_an_unread_parameter_tells_are_kept() -> None:
    module = rx.Module()
    with module.function("inner", {"x": rx.tensor(("n",)), "y": rx.tensor(("n",))}, private=True) as inner:
        inner.returns(relax.zeros(relax.shape_expr(("n",)), "float32"))
    with module.function("main", {"x": rx.tensor(("n",)), "y": rx.tensor(("n",))}) as f:
        with module.context, f.operation.location:
            called = rx.ir.Operation.create(
                "func.call",
                results=[inner.operation.attributes["function_type"].value.results[0]],
                operands=list(f),
                attributes={"callee": rx.ir.FlatSymbolRefAttr.get("inner")},
            )
        f.returns(called.results[0])
    after = before_after.keeps_results(module, "relax-dead-code-elimination", tolerance=0)
    # Only one of the two functions keeps the parameter.
    assert len(functions_by_name(after)["inner"].attributes["function_type"].value.inputs) == 1


@pytest.mark.parametrize("op", ["relax.print", "relax.assert_op"])
def test_effects_stay(op: str) -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(()), "c": rx.tensor((), "bool")}) as f:
        x, c = f
        if op == "relax.print":
            relax.print(relax.exp(x), format="{}")
        else:
            relax.assert_op(relax.logical_not(c))
        f.returns(x)
    names = op_names(module)
    DeadCodeElimination()(module)
    assert op_names(module) == names


@pytest.mark.parametrize("prints", [False, True])
def test_an_unused_call_goes_with_a_function_without_effects(prints: bool) -> None:
    module = rx.Module()
    with module.function("inner", {"x": rx.tensor((4,))}, private=True) as f:
        (x,) = f
        if prints:
            relax.print(x, format="{}")
        f.returns(relax.exp(x))
    with module.function("main", {"x": rx.tensor((4,))}) as f:
        type_ = functions_by_name(module)["inner"].attributes["function_type"].value.results[0]
        callee = {"callee": rx.ir.FlatSymbolRefAttr.get("inner")}
        rx.ir.Operation.create("func.call", results=[type_], operands=list(f), attributes=callee)
        f.returns(*f)
    DeadCodeElimination()(module)
    assert ("call @inner" in str(module)) == ("inner" in functions_by_name(module)) == prints


def took(calls: int) -> float:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((4,))}) as f:
        x = next(iter(f))
        for _ in range(calls):
            relax.sin(x)
            x = relax.exp(x)
        f.returns(x)
    best = numpy.inf
    for _ in range(3):
        copied: Any = module.copy()
        start = time.thread_time()
        DeadCodeElimination()(copied)
        best = min(best, time.thread_time() - start)
    return float(best)


def test_the_time_is_nearly_linear() -> None:
    took(10)
    assert took(4000) < 8 * took(1000)
