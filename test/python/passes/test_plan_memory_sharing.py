# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared memory of tensors: programs give the same results as with separate memory for each tensor."""

from __future__ import annotations

from random import Random
from typing import Any

import blocks
import numpy
import pytest
from before_after import functions_by_name, random_arrays
from example_counts import draws
from hypothesis import Phase, given
from hypothesis import strategies as st
from planned_memory import finished, planned, random_graph, set_apart
from relax_mlir.bindings.mlir import string_array
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.dialects.core.ir_attributes import MEMORY, MEMORY_PLAN
from relax_mlir.runtime import to_numpy

import relax_mlir as rx
from relax_mlir import relax


def results_of(module: rx.Module, level: int, arrays: list[Any], target: str = "llvm") -> list[Any]:
    found = finished(module, level, target)["main"](*arrays)
    several = len(functions_by_name(module)["main"].attributes["function_type"].value.results) > 1
    return [to_numpy(each).copy() for each in (found if several else [found])]


@draws(60, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(st.integers(0, 10**9), st.sampled_from([4, 6, "n"]), st.sampled_from([0, 2]))
def test_shared_memory_changes_no_result(seed: int, length: int | str, level: int) -> None:
    random = Random(seed)
    module = random_graph(random, length)
    check_against_apart(module, random_arrays(module, sizes={"n": random.choice([0, 1, 5, 40])}), level)


@draws(20, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(blocks.images())
def test_kernels_that_read_all_before_they_write(module: rx.Module) -> None:
    """Check convolutions and pools over padded operands, whose results may have another size."""
    check_against_apart(module, random_arrays(module), 2)


def check_against_apart(module: rx.Module, arrays: list[Any], level: int, target: str = "llvm") -> None:
    shared = planned(module, level, target)
    found = [results_of(each, level, arrays, target) for each in (shared, set_apart(shared))]
    for one, other in zip(*found, strict=True):
        numpy.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("target", ["llvm{cpu=haswell}", "llvm{cpu=skylake-avx512 cores=1}", "llvm{cores=1}"])
def test_rows_of_unknown_number_are_written_over_what_is_added(target: str) -> None:
    """Share memory: the loops over whole tiles, over their remainder and over single rows access different rows."""
    main = functions_by_name(planned(_residuals(), 2, target))["main"]
    (slot,) = main.attributes[MEMORY_PLAN]["slots"]
    rows = int(slot.value.removesuffix("*n")) // (4 * _WIDTH)
    assert rows <= 2, f"x, what is added and the sum do not share memory: {slot.value} bytes"


@pytest.mark.parametrize("rows", [0, 1, 5, 11, 64, 101])
def test_rows_of_unknown_number_in_place(rows: int) -> None:
    module = _residuals()
    check_against_apart(module, random_arrays(module, sizes={"n": rows}), 2, "llvm{cores=1}")


_WIDTH = 64


def _residuals() -> rx.Module:
    """Return three blocks of n rows with two products each. The result is added to the block's input."""
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", _WIDTH)), rx.tensor((_WIDTH, _WIDTH))]) as f:
        x, weight = f
        for _ in range(3):
            x = relax.add(x, relax.matmul(relax.nn.relu(relax.matmul(x, weight)), weight))
        f.returns(relax.nn.softmax(x))
    return module


def test_pools_lie_over_what_they_read() -> None:
    """Overwrite the input of pools: they read it into padded memory first, and the result is smaller."""
    module = rx.Module()
    with module.function("main", [rx.tensor((1, 4, 16, 16))]) as f:
        (x,) = f
        for _ in range(2):
            x = relax.nn.max_pool2d(
                relax.permute_dims(x, axes=(0, 1, 3, 2)), (3, 3), strides=(2, 2), padding=(1, 1, 1, 1)
            )
        f.returns(relax.permute_dims(x, axes=(0, 1, 3, 2)))
    shared = planned(module, 0)
    memory = functions_by_name(shared)["main"].attributes[MEMORY_PLAN]
    assert memory["arena"].value == memory["peak"].value == 4096 < memory["sum"].value
    check_against_apart(module, random_arrays(module), 0)


_CALLS = """
!t = tensor<16xf32>
func.func @main(%x: !t, %y: !t) -> !t {{
  %a = "relax.call_tir"(%x) {{func = @turned}} : (!t) -> !t
  %b = "relax.call_tir"(%y) {{func = @turned}} : (!t) -> !t
  {calls}
  %z = "relax.call_tir"({result}) {{func = @turned}} : (!t) -> !t
  return %z : !t
}}
func.func private @turned(%x: memref<16xf32>, %y: memref<16xf32>) attributes {{tir.prim_func}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {{
    %j = arith.subi %c16, %i : index
    %k = arith.subi %j, %c1 : index
    %a = memref.load %x[%k] : memref<16xf32>
    memref.store %a, %y[%i] : memref<16xf32>
  }}
  return
}}
func.func private @chosen(%x: memref<16xf32>, %y: memref<16xf32>, %z: memref<16xf32>) attributes {{tir.prim_func}} {{
  %c0 = arith.constant 0 : index
  %a = memref.load %x[%c0] : memref<16xf32>
  %zero = arith.constant 0.0 : f32
  %less = arith.cmpf olt, %a, %zero : f32
  scf.if %less {{
    memref.copy %x, %z : memref<16xf32> to memref<16xf32>
  }} else {{
    memref.copy %y, %z : memref<16xf32> to memref<16xf32>
  }}
  return
}}
func.func private @doubled(%x: memref<16xf32>, %y: memref<32xf32>) attributes {{tir.prim_func}} {{
  %low = memref.subview %y[0] [16] [1] : memref<32xf32> to memref<16xf32, strided<[1]>>
  memref.copy %x, %low : memref<16xf32> to memref<16xf32, strided<[1]>>
  return
}}
func.func private @joined(%x: memref<16xf32>, %y: memref<16xf32>, %z: memref<32xf32>) attributes {{tir.prim_func}} {{
  %low = memref.subview %z[0] [16] [1] : memref<32xf32> to memref<16xf32, strided<[1]>>
  %high = memref.subview %z[16] [16] [1] : memref<32xf32> to memref<16xf32, strided<[1], offset: 16>>
  memref.copy %x, %low : memref<16xf32> to memref<16xf32, strided<[1]>>
  memref.copy %y, %high : memref<16xf32> to memref<16xf32, strided<[1], offset: 16>>
  return
}}
func.func private @changed(%x: memref<16xf32>) attributes {{tir.prim_func}} {{
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  memref.store %zero, %x[%c0] : memref<16xf32>
  return
}}
func.func private @shown(%x: memref<16xf32>, %y: memref<16xf32>) attributes {{tir.prim_func}} {{
  memref.copy %x, %y : memref<16xf32> to memref<16xf32>
  return
}}
func.func private @low(%x: memref<32xf32>, %y: memref<16xf32>) attributes {{tir.prim_func}} {{
  %low = memref.subview %x[0] [16] [1] : memref<32xf32> to memref<16xf32, strided<[1]>>
  memref.copy %low, %y : memref<16xf32, strided<[1]>> to memref<16xf32>
  return
}}
"""


def words(calls: str, result: str) -> list[str]:
    """Return the stated kind of place for each call's results."""
    module = rx.Module.parse(_CALLS.format(calls=calls, result=result))
    rx.Pipeline("relax-plan-memory").run(module)
    found = [op.attributes[MEMORY] for op in operations_in(module.operation) if MEMORY in op.attributes]
    return [text.value.split(";")[0].split(" ")[0] for texts in found for text in texts]


@pytest.mark.parametrize(
    ("calls", "result", "expected"),
    [
        # One of two: both would be made in its place.
        ('%c = "relax.call_tir"(%a, %b) {func = @chosen} : (!t, !t) -> !t', "%c", "arena arena operand result"),
        ('%c = "relax.call_tir"(%a) {func = @shown} : (!t) -> !t', "%c", "arena arena view result"),
        # More than it reads: it is made there, not shown.
        (
            '%c = "relax.call_tir"(%a) {func = @doubled} : (!t) -> tensor<32xf32>\n'
            '%d = "relax.call_tir"(%c) {func = @low} : (tensor<32xf32>) -> !t',
            "%d",
            "part arena arena view result",
        ),
        # The same in two places is made in one of them.
        (
            '%c = "relax.call_tir"(%a, %a) {func = @joined} : (!t, !t) -> tensor<32xf32>\n'
            '%d = "relax.call_tir"(%c) {func = @low} : (tensor<32xf32>) -> !t',
            "%d",
            "part arena arena view result",
        ),
        (
            '%c = "relax.call_tir"(%b, %a) {func = @joined} : (!t, !t) -> tensor<32xf32>\n'
            '%d = "relax.call_tir"(%c) {func = @low} : (tensor<32xf32>) -> !t',
            "%d",
            "part part arena view result",
        ),
        # A value that is changed later is no part of a value that is read after the change.
        (
            '%c = "relax.call_tir"(%a) {func = @shown} : (!t) -> !t\n'
            '%d = "relax.call_tir_inplace"(%a) {func = @changed, inplace_indices = array<i64: 0>} : (!t) -> !t',
            "%c",
            "arena arena arena result",
        ),
    ],
)
def test_operators_that_move_elements_share_memory(calls: str, result: str, expected: str) -> None:
    assert [word for word in words(calls, result) if word] == expected.split()


_SHOWN = '%c = "relax.call_tir"(%a) {func = @shown} : (!t) -> !t'
_JOINED = """
  %c = "relax.call_tir"(%a, %b) {func = @joined} : (!t, !t) -> tensor<32xf32>
  %d = "relax.call_tir"(%c) {func = @low} : (tensor<32xf32>) -> !t
"""


@pytest.mark.parametrize(
    ("calls", "result", "which", "text", "expected"),
    [
        (_SHOWN, "%c", 2, "operand 0", ""),
        (_SHOWN, "%c", 3, "view", "'relax.call_tir' does not just show parts of what it reads"),
        (_SHOWN, "%c", 3, "operand 0", "operand 0 of 'relax.call_tir' is read there after its place is written"),
        (_SHOWN, "%c", 2, "operand 1", "operand 1 of 'relax.call_tir' is not there"),
        (_SHOWN, "%c", 2, "operand x", "expected 'arena <bytes>'"),
        (_SHOWN, "%c", 0, "operand 0", "operand 0 of 'relax.call_tir' is no memory of this function"),
        (_SHOWN, "%a", 2, "operand 0", "operand 0 of 'relax.call_tir' is read later still"),
        (_SHOWN, "%c", 0, "part", "nothing just puts it next to others"),
        (_JOINED, "%d", 2, "operand 0", "operand 0 of 'relax.call_tir' is made in its place"),
        # Some of the joined tensors may be parts of the result.
        (_JOINED, "%d", 0, "arena 1024", ""),
    ],
)
def test_stated_sharing_that_does_not_work(calls: str, result: str, which: int, text: str, expected: str) -> None:
    module = rx.Module.parse(_CALLS.format(calls=calls, result=result))
    rx.Pipeline("relax-plan-memory").run(module)
    found = [op for op in operations_in(module.operation) if MEMORY in op.attributes]
    with module.context:
        found[which].attributes[MEMORY] = string_array([text])
    before = str(module)
    if not expected:
        rx.Pipeline("relax-lower-calls").run(module)
        return
    with pytest.raises(rx.RelaxError) as raised:
        rx.Pipeline("relax-lower-calls").run(module)
    assert expected in str(raised.value)
    assert str(module) == before


_BOTH = """
func.func private @both(%x: memref<16xf32>, %few: memref<1xf32>, %y: memref<16xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %a = vector.transfer_read %x[%c0], %zero {in_bounds = [true]} : memref<16xf32>, vector<16xf32>
  %first = vector.extract %a[0] : f32 from vector<16xf32>
  memref.store %first, %few[%c0] : memref<1xf32>
  %b = arith.negf %a : vector<16xf32>
  vector.transfer_write %b, %y[%c0] {in_bounds = [true]} : vector<16xf32>, memref<16xf32>
  return
}
"""


def test_two_results_do_not_share_an_operands_memory() -> None:
    """Keep two results apart: the first one could lie over the operand, if the second one did not."""
    call = '%f, %c = "relax.call_tir"(%a) {func = @both} : (!t) -> (tensor<1xf32>, !t)'
    module = rx.Module.parse(_CALLS.format(calls=call, result="%c") + _BOTH)
    rx.Pipeline("relax-plan-memory").run(module)
    (stated,) = (op for op in operations_in(module.operation) if len(op.results) == 2)
    few, whole = (text.value.partition(";")[0] for text in stated.attributes[MEMORY])
    assert (few.partition(" ")[0], whole) == ("arena", "operand 0")
    rx.Pipeline("relax-lower-calls").run(module)
