# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cached groups of fusion change nothing: each function gets the same groups as by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import blocks
import numpy as np
import pytest
from before_after import functions_by_name, keeps_results
from example_counts import draws
from hypothesis import example, given
from hypothesis import strategies as st
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import functions_in, operations_in
from relax_mlir.dialects.core.ir_attributes import APART, GROUP
from relax_mlir.frontends.core import random_numbers
from relax_mlir.passes.graph.fuse.block_reading import readings_in
from relax_mlir.passes.graph.fuse.kinds import Kinds
from relax_mlir.passes.graph.fuse.prim_infos import PrimInfos
from relax_mlir.passes.graph.fuse.stated import StatedGroups

import relax_mlir as rx
from relax_mlir import relax

MARK = "relax-legalize-ops,relax-fuse-ops{epilogues=true reasons=true}"


def halves(x: Any) -> Any:
    first, second = (relax.strided_slice(x, axes=[1], begin=[begin], end=[begin + 2]) for begin in (0, 2))
    return relax.concat([second, first], axis=1)


#: All of [rows, 4], so that each may read each.
STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "exp": lambda x, y: relax.exp(x),
    "negative": lambda x, y: relax.negative(x),
    "softmax": lambda x, y: relax.nn.softmax(x),
    "centered": lambda x, y: relax.subtract(x, relax.mean(y, axis=[1], keepdims=True)),
    "halves": lambda x, y: halves(x),
    "turned": lambda x, y: relax.permute_dims(relax.abs(relax.permute_dims(x))),
    "scores": lambda x, y: relax.matmul(relax.matmul(x, relax.permute_dims(y)), y),
    "add": relax.add,
    "multiply": relax.multiply,
}

#: Names of steps with the operands, counted from the last value backwards.
Program = list[tuple[str, int, int]]
PROGRAMS = st.lists(
    st.tuples(st.sampled_from(list(STEPS)), st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=8
)


def run_steps(values: list[Any], program: Program) -> list[Any]:
    for name, first, second in program:
        values.append(STEPS[name](values[-1 - first % len(values)], values[-1 - second % len(values)]))
    return values


def module_of(functions: dict[str, tuple[Program, Any, list[int]]]) -> rx.Module:
    module = rx.Module()
    for name, (program, rows, results) in functions.items():
        with module.function(name, [rx.tensor((rows, 4)), rx.tensor((rows, 4))]) as f:
            values = run_steps(list(f), program)
            f.returns(*(values[-1 - each % len(program)] for each in results))
    return module


def marks(module: rx.Module, function: str) -> list[tuple[str, str, str]]:
    """Return the calls of a function: their operators, groups, and reasons against a fusion with their operands."""
    functions, found = functions_by_name(module), []
    for op in operations_in(functions[function]):
        if op.name == "relax.call_tir":
            written = [str(op.attributes[name]) if name in op.attributes else "" for name in (GROUP, APART)]
            operator = functions[op.opview.func].attributes["relax.operator"].value
            # Names of functions are others where more functions are.
            reason = written[1] if "@" not in written[1] else "named"
            found.append((operator, written[0], reason))
    return found


def fused(module: rx.Module, function: str) -> list[tuple[str, str]]:
    functions = functions_by_name(module)
    calls = [op for op in operations_in(functions[function]) if op.name == "relax.call_tir"]
    return [(functions[call.opview.func].attributes["relax.operator"].value, str(call.results.types)) for call in calls]


@draws(60, deadline=None)
@given(st.lists(st.tuples(PROGRAMS, st.sampled_from([3, 6, "n"]), st.lists(st.integers(0, 7), min_size=1, max_size=3)),
                min_size=2, max_size=4))  # fmt: skip
def test_functions_are_grouped_as_if_alone(given_functions: list[tuple[Program, Any, list[int]]]) -> None:
    # The first function appears twice, so that the second time uses the cache.
    functions = {f"f{index}": each for index, each in enumerate([*given_functions, given_functions[0]])}
    together = module_of(functions)
    rx.Pipeline(MARK).run(together)
    alone = {name: module_of({name: function}) for name, function in functions.items()}
    for name, module in alone.items():
        rx.Pipeline(MARK).run(module)
        assert marks(together, name) == marks(module, name)
    rx.Pipeline("tir-fuse").run(together)
    together.verify()
    for name, module in alone.items():
        rx.Pipeline("tir-fuse").run(module)
        assert fused(together, name) == fused(module, name)


@draws(20, deadline=None)
@given(PROGRAMS, st.sampled_from([3, "n"]))
# An unused operator next to used ones: they were grouped into one kernel, which was impossible.
@example([("exp", 0, 0), ("exp", 5, 0), ("exp", 0, 0), ("exp", 1, 0), ("multiply", 0, 4), ("exp", 0, 0)], 3)
@example([("softmax", 0, 0), ("exp", 0, 0), ("multiply", 5, 2), ("exp", 3, 0), ("exp", 0, 0)], 3)
def test_repeated_steps_compute_the_same(program: Program, rows: Any) -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((rows, 4)), rx.tensor((rows, 4))]) as f:
        values = list(f)
        for _ in range(3):
            *_, before, last = run_steps(values, program)
            values = [relax.tanh(before), relax.tanh(last)]
        f.returns(*values)
    keeps_results(module, f"{MARK},tir-fuse", tolerance=1e-3)


@pytest.mark.parametrize("block", [blocks.resnet, blocks.transformer, blocks.llama])
def test_layers_share_kernels(block: Any) -> None:
    """Check that more layers make more calls, but no more functions than two layers."""
    counts = []
    for layers in (2, 4):
        module = block(layers)
        rx.Pipeline("relax-legalize-ops,relax-fuse-ops{epilogues=true},tir-fuse").run(module)
        counts.append(len(list(functions_in(module.operation))))
    assert counts[0] == counts[1]


# ---- differences between kinds: each pair differs in one decisive property ----


def groups_of(inputs: Any, body: Callable[..., Any]) -> list[str]:
    """Return the groups of calls in the function that `body` builds."""
    module = rx.Module()
    with module.function("main", inputs) as f:
        values = body(*f)
        f.returns(*(values if isinstance(values, tuple) else (values,)))
    rx.Pipeline("relax-legalize-ops,relax-fuse-ops").run(module)
    return [group.partition(" ")[0] for _, group, _ in marks(module, "main")]


SQUARE = rx.tensor((4, 4))


def test_other_readers_decide_which_producers_are_fused() -> None:
    def body(x: Any, y: Any) -> Any:
        left, right = relax.exp(x), relax.exp(y)
        return relax.mean(left, axis=[1]), relax.mean(right, axis=[1]), right

    # A reduction stores nothing but its own result.
    assert groups_of([SQUARE, SQUARE], body) == ["0", "", "0", ""]


def test_operands_in_two_layouts_are_not_fused_together() -> None:
    def body(x: Any, y: Any) -> Any:
        left, right = relax.exp(x), relax.exp(y)
        turned = relax.permute_dims(left), relax.permute_dims(left), relax.permute_dims(right)
        return relax.add(turned[0], turned[1]), relax.add(turned[2], right)

    # Where one is read turned and in its layout, no loop comes by both elements at once.
    assert groups_of([SQUARE, SQUARE], body) == ["0", "", "0", "0", "1", "0", "1"]


def test_sizes_by_their_names() -> None:
    """Separate kinds by symbols, which are parts of types, without confusing sizes."""
    module = rx.Module()
    for name, size in (("f", "n"), ("g", "m")):
        with module.function(name, [rx.tensor((size, 4))]) as f:
            f.returns(relax.negative(relax.exp(*f)))
    rx.Pipeline("relax-legalize-ops,relax-fuse-ops,tir-fuse").run(module)
    module.verify()
    assert [str(op.results.types[0]) for op in operations_in(module.operation) if op.name == "relax.call_tir"] == [
        'tensor<?x4xf32, #relax.sym<["n", 4]>>',
        'tensor<?x4xf32, #relax.sym<["m", 4]>>',
    ]


# ---- stated groups ----


def number(module: rx.Module, numbers: list[int | None]) -> None:
    calls = [op for op in operations_in(module.operation) if op.name == "relax.call_tir"]
    with module.context:
        for call, group in zip(calls, numbers, strict=True):
            if group is not None:
                call.attributes[GROUP] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), group)


def test_groups_are_placed_after_their_operands() -> None:
    """Place the first group after sort and before negative, which belongs to multiply's group."""
    module = rx.Module()
    with module.function("main", [rx.tensor((4,)), rx.tensor((4,))]) as f:
        x, y = f
        powers, in_order = relax.exp(x), relax.sort(y)
        turned = relax.negative(powers)
        f.returns(relax.multiply(turned, relax.add(powers, in_order)))
    rx.Pipeline("relax-legalize-ops").run(module)
    number(module, [0, None, 1, 0, 1])
    operators = [operator for operator, _ in fused(keeps_results(module, "tir-fuse"), "main")]
    assert operators == ["relax.sort", "relax.exp+relax.add", "relax.negative+relax.multiply"]


def test_siblings_wait_for_the_place_of_their_consumers() -> None:
    """Place the first group after sort, which is possible only after the second group has moved there."""
    module = rx.Module()
    with module.function("main", [rx.tensor(()), rx.tensor((4,))]) as f:
        x, y = f
        first = relax.add(relax.exp(x), y)
        last = relax.sum(relax.sort(y), axis=[0])
        f.returns(first, relax.add(relax.exp(relax.add(last, x)), y))
    rx.Pipeline("relax-legalize-ops").run(module)
    number(module, [0, 1, None, None, 0, 0, 1])
    operators = [operator for operator, _ in fused(keeps_results(module, "tir-fuse"), "main")]
    assert operators == ["relax.sort", "relax.sum", "relax.exp+relax.add+relax.exp", "relax.add+relax.add"]


def test_several_draws_of_random_numbers_compile() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((5,))]) as f:
        moved = relax.add(random_numbers.normal(random_numbers.draw(), 3, [5], "f32"), *f)
        f.returns(moved, random_numbers.uniform(random_numbers.draw(), 7, [5], "f32"))
    first, second = rx.compile(module)["main"](np.zeros(5, "float32"))
    assert len(set(first)) == len(set(second)) == 5


def test_the_second_group_of_a_kind_may_have_no_place() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,)), rx.tensor((4,))]) as f:
        x, y = f
        first = relax.add(relax.exp(x), y)
        powers = relax.exp(y)
        f.returns(first, relax.add(powers, relax.sort(powers)))
    rx.Pipeline("relax-legalize-ops").run(module)
    number(module, [0, 0, 1, None, 1])
    before = str(module)
    with pytest.raises(
        rx.RelaxError, match="group 1 cannot become one kernel: @exp and @add: no position in the program"
    ):
        rx.Pipeline("tir-fuse").run(module)
    assert str(module) == before


def test_stated_groups_are_found() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,)), rx.tensor((4,))]) as f:
        f.returns(*(relax.negative(relax.exp(value)) for value in f))
    rx.Pipeline("relax-legalize-ops,relax-fuse-ops").run(module)
    with module.context:
        kinds = Kinds(PrimInfos(module.operation))
        found = [StatedGroups(reading, kinds).find() for reading in readings_in(module.operation)]
    assert [len(groups) for groups in found] == [2]


def names_of_functions(module: rx.Module) -> set[str]:
    return set(functions_by_name(module))


@pytest.mark.parametrize("refers", [True, False])
def test_functions_stay_that_something_else_names(refers: bool) -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,))]) as f:
        f.returns(relax.negative(relax.exp(*f)))
    rx.Pipeline("relax-legalize-ops,relax-fuse-ops").run(module)
    with module.context:
        if refers:
            functions_by_name(module)["main"].attributes["mine.spare"] = ir.FlatSymbolRefAttr.get("exp")
    rx.Pipeline("tir-fuse").run(module)
    assert names_of_functions(module) == {"main", "fused_exp_negative", *(["exp"] if refers else [])}


def test_functions_stay_that_are_called_in_regions_or_with_attributes() -> None:
    text = """
func.func @main(%b: i1, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.negative"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.abs"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %r = scf.if %b -> (tensor<4xf32>) {
    %3 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %3 : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  %4 = "relax.abs"(%r) : (tensor<4xf32>) -> tensor<4xf32>
  return %2, %r, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}"""
    module = rx.Module.parse(text)
    rx.Pipeline("relax-legalize-ops,relax-fuse-ops").run(module)
    with module.context:
        [*_, last] = [op for op in operations_in(module.operation) if op.name == "relax.call_tir"]
        last.attributes["mine.note"] = ir.UnitAttr.get()
    rx.Pipeline("tir-fuse").run(module)
    module.verify()
    assert names_of_functions(module) == {"main", "exp", "abs", "fused_exp_negative_abs"}


def test_calls_between_branches_are_left_alone() -> None:
    text = """
func.func @main(%b: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.negative"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.sort"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  cf.cond_br %b, ^bb1, ^bb2
^bb1:
  return %0 : tensor<4xf32>
^bb2:
  return %2 : tensor<4xf32>
}"""
    module = rx.Module.parse(text)
    rx.Pipeline("relax-legalize-ops").run(module)
    before = str(module)
    rx.Pipeline("relax-fuse-ops,tir-fuse").run(module)
    assert str(module) == before
