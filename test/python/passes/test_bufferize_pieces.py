# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors that PrimFuncs write piece by piece: their contents, and a constant cost per piece."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from compiling import array, compiled, floats, module_with
from relax_mlir.bindings.navigation import operations_in

import relax_mlir as rx
from relax_mlir import relax

_COPY = """linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}} ins({0} : tensor<?xf32>) outs({1} : tensor<?xf32>) {{
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %a : f32
      linalg.yield %s : f32
    }} -> tensor<?xf32>"""
_SLICE = "tensor.extract_slice {0}[{1}] [%n] [1] : tensor<?xf32> to tensor<?xf32>"
_PUT = "tensor.insert_slice {0} into {1}[{2}] [%n] [1] : tensor<?xf32> into tensor<?xf32>"


def kernel(body: str) -> Any:
    """Return a function of x and y (n elements each) that fills an output of 2n elements.

    The last value of the body is %r.
    """
    vector, joined = 'tensor<?xf32, #relax.sym<["n"]>>', 'tensor<?xf32, #relax.sym<["2*n"]>>'
    lines = body.format(
        first=_SLICE.format("%o", "0"),
        first_of_x=_COPY.format("%x", "%e0"),
        put_first=_PUT.format("%x0", "%o", "0"),
        second=_SLICE.format("%p0", "%n"),
        second_of_y=_COPY.format("%y", "%e1"),
        put_second=_PUT.format("%y1", "%p0", "%n"),
    )
    return compiled(
        f"""
func.func @kernel(%x: tensor<?xf32>, %y: tensor<?xf32>, %o: tensor<?xf32>) -> tensor<?xf32>
    attributes {{tir.prim_func, tir.op_pattern = "opaque"}} {{
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %nn = arith.addi %n, %n : index
  %c7 = arith.constant 7.0 : f32
  {lines}
  return %r : tensor<?xf32>
}}
func.func @main(%x: {vector}, %y: {vector}) -> {joined} {{
  %0 = "relax.call_tir"(%x, %y) {{func = @kernel}} : ({vector}, {vector}) -> {joined}
  return %0 : {joined}
}}"""
    )["main"]


_PIECES = """
  %e0 = {first}
  %x0 = {first_of_x}
  %p0 = {put_first}
  %e1 = {second}
  %y1 = {second_of_y}
"""
_ADD = "linalg.add ins({0}, {1} : tensor<?xf32>, tensor<?xf32>) outs({2} : tensor<?xf32>) -> tensor<?xf32>"
_CASES = {
    "in their places": (_PIECES + "%r = {put_second}", lambda x, y: [*(2 * x), *(2 * y)]),
    "inputs as they are": (
        f"%p0 = {_PUT.format('%x', '%o', '0')} %r = {_PUT.format('%y', '%p0', '%n')}",
        lambda x, y: [*x, *y],
    ),
    "one over the other": (
        f"%p0 = {_PUT.format('%x', '%o', '%n')} %p1 = {_PUT.format('%y', '%p0', '0')}"
        f" %r = {_PUT.format('%x', '%p1', '0')}",
        lambda x, y: [*x, *x],
    ),
    "read in between": (
        _PIECES
        + f"%p1 = {{put_second}} %e2 = {_SLICE.format('%p0', '0')} %z = {_ADD.format('%e2', '%y', '%e1')}"
        + f" %r = {_PUT.format('%z', '%p1', '%n')}",
        lambda x, y: [*(2 * x), *(2 * x + y)],
    ),
    "made in another place": (
        _PIECES.replace("%e1 = {second}", f"%e1 = {_SLICE.format('%p0', '0')}") + "%r = {put_second}",
        lambda x, y: [*(2 * x), *(2 * y)],
    ),
    "made in another known place": (
        _PIECES.replace("%y1 = ", f"%again = {_PUT.format('%x0', '%p0', '%n')} %y1 = ").replace(
            "%e1 = {second}", f"%e1 = {_SLICE.format('%p0', '7')}"
        )
        + f"%r = {_PUT.format('%y1', '%again', '30')}",
        lambda x, y: [*(2 * x)[:30], *(2 * y), *(2 * x)[30:]],
    ),
    "alone made in another known place": (
        f"%p0 = {_PUT.format('%x', '%o', '0')} %p1 = {_PUT.format('%x', '%p0', '%n')}"
        f" %e1 = {_SLICE.format('%p1', '7')} %y1 = {{second_of_y}} %r = {_PUT.format('%y1', '%p1', '30')}",
        lambda x, y: [*x[:30], *(2 * y), *x[30:]],
    ),
    "over an input": (
        f"%p0 = {_PUT.format('%y', '%x', '0')} %p1 = {_PUT.format('%y', '%p0', '0')}"
        f" %q0 = {_PUT.format('%p1', '%o', '0')} %r = {_PUT.format('%p1', '%q0', '%n')}",
        lambda x, y: [*y, *y],
    ),
    "a new tensor": (
        f"%t = tensor.empty(%nn) : tensor<?xf32> %p0 = {_PUT.format('%x', '%t', '0')}"
        f" %q = {_PUT.format('%y', '%p0', '%n')} %r = {_ADD.format('%q', '%q', '%o')}",
        lambda x, y: [*(2 * x), *(2 * y)],
    ),
    "onto what is read again": (
        "%t = tensor.empty(%nn) : tensor<?xf32>"
        " %w = linalg.fill ins(%c7 : f32) outs(%t : tensor<?xf32>) -> tensor<?xf32>"
        f" %p0 = {_PUT.format('%x', '%w', '0')} %q = {_PUT.format('%y', '%p0', '0')}"
        f" %r = {_ADD.format('%q', '%w', '%o')}",
        lambda x, y: [*(y + 7), *(0 * x + 14)],
    ),
}


@pytest.mark.parametrize("case", _CASES)
def test_pieces(case: str) -> None:
    body, expected = _CASES[case]
    x, y = floats(37), floats(37, seed=2)
    before = x.copy(), y.copy()
    numpy.testing.assert_allclose(array(kernel(body)(x, y)), expected(*before), rtol=1e-6)
    assert (x == before[0]).all() and (y == before[1]).all(), "an input was written to"


@pytest.mark.parametrize(
    ("shapes", "axis"),
    [
        ([("n", 3), ("m", 3), ("k", 3)], 0),
        ([(2, 3), (4, 3), (5, 3)], 0),
        ([(4, 2), (4, 3), (4, 16)], 1),
        ([("n", 2), ("n", 3), ("n", 16)], 1),
        ([(2, 3, "n"), (2, 5, "n"), (2, 1, "n")], 1),
        ([(2, 3, 4, 5), (2, 2, 4, 5), (2, 7, 4, 5)], 1),
    ],
)
def test_pieces_are_written_in_their_places(shapes: list[Any], axis: int) -> None:
    """Check that no piece is computed in other memory first."""
    module = module_with([rx.tensor(shape) for shape in shapes], lambda *parts: relax.concat(parts, axis=axis))
    rx.stages("llvm").until("bufferize").run(module, "llvm")
    names = [op.name for op in operations_in(module.owner.operation)]
    assert names.count("memref.subview") == 3 and "memref.alloc" not in names and "linalg.generic" not in names
    parts = [floats(*(6 if size == "n" else 7 if isinstance(size, str) else size for size in each)) for each in shapes]
    result = rx.compile(module_with([rx.tensor(shape) for shape in shapes], lambda *x: relax.concat(x, axis=axis)))
    numpy.testing.assert_array_equal(array(result["main"](*parts)), numpy.concatenate(parts, axis))


# ---- many of them ----


def known(count: int, axis: int) -> rx.Module:
    """Return a join of `count` tensors with different known sizes."""
    shapes = [(4, k + 1) if axis else (k + 1, 4) for k in range(count)]
    return module_with([rx.tensor(shape) for shape in shapes], lambda *parts: relax.concat(parts, axis=axis))


def unknown(count: int) -> rx.Module:
    """Return a join of `count` tensors with dynamic sizes, one for each number of a comparison."""

    def body(x: Any) -> Any:
        parts = [
            relax.match_cast(relax.nonzero(relax.greater(x, relax.const(float(k)))), rx.tensor((1, f"k{k}"), "int64"))
            for k in range(count)
        ]
        return relax.concat(parts, axis=1)

    return module_with([rx.tensor(("n",))], body)


def seconds(module: rx.Module) -> float:
    stages = rx.stages("llvm")
    stages.until("apply").run(module, "llvm")
    start = time.thread_time()
    stages["bufferize"].run(module, "llvm")
    return time.thread_time() - start


@pytest.mark.parametrize(
    "make",
    [unknown, functools.partial(known, axis=0), functools.partial(known, axis=1)],
    ids=["unknown", "rows", "columns"],
)
def test_four_times_as_many_take_four_times_as_long(make: Callable[[int], rx.Module]) -> None:
    """Compare times within this run: cubic time would be a factor of 64."""
    few, more = (min(seconds(make(count)) for _ in range(2)) for count in (20, 80))
    assert more < 12 * few, f"{more / few:.1f} times as long for 4 times as many tensors"
