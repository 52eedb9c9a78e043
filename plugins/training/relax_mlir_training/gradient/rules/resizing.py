# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of operators that are linear along each dimension of an image: products with a matrix.

Applying the operator to a unit matrix gives the matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects.core.symbols import Dim, equal, product
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.values import dtype_of
from relax_mlir.passes.graph.decompose.tensor_formulas import cast, relax
from relax_mlir.passes.graph.gradient_rules import register_gradient

from ..canonical_layouts import plain_layouts, times_matrix, turned
from ..gradient_call import Gradient, GradientCall
from ..requirements import known_shape

#: `matrix(letter, units, size)`: result of resizing units, one for each position of a dimension, to a size.
Matrix = Callable[[str, Value, Dim], Value]


def _backwards(call: GradientCall, matrix: Matrix) -> Value:
    layouts = plain_layouts(call)
    layout, result = layouts["data"], layouts.get("result", layouts["data"])
    sizes = dict(zip(layout.text, known_shape(call, call.data, "its data"), strict=True))
    made = dict(zip(result.text, known_shape(call, call.result, "its result"), strict=True))
    gradient = cast(call.gradient, dtype_of(call.data))
    rank, letters = len(sizes), layout.dimensions
    for letter in letters[2:]:
        before, after = sizes[letter], made[letter]
        units = relax.dialect.ops["eye"](before, before, dtype=dtype_of(gradient))
        shape = [before, 1, *(before if each == letter else 1 for each in letters[2:])]
        rows = matrix(letter, relax.reshape(units, relax.shape_expr(dims=shape)), after)
        # The transpose: rows for results become rows for sources.
        table = relax.permute_dims(relax.reshape(rows, relax.shape_expr(dims=(before, after))), axes=[1, 0])
        gradient = times_matrix(gradient, result.text.index(letter), rank, table)
    return turned(gradient, result.text, layout.text)


@register_gradient(["relax.image.resize2d", "relax.image.resize3d"], by_types=True)
def resize(call: GradientCall) -> Sequence[Gradient]:
    name, attributes = call.operation.name.removeprefix("relax."), dict(call.inferred.attributes)
    letters = plain_layouts(call)["data"].dimensions[2:]
    del attributes["layout"], attributes["out_dtype"], attributes["extrapolation_value"]

    def matrix(letter: str, units: Value, size: Dim) -> Value:
        # The other dimensions of the units have one element each.
        target = relax.shape_expr(dims=[size if each == letter else 1 for each in letters])
        return relax.dialect.ops[name](units, target, **attributes)

    return [_backwards(call, matrix)]


@register_gradient([f"relax.nn.adaptive_avg_pool{rank}d" for rank in (1, 2, 3)], by_types=True)
def adaptive_avg_pool(call: GradientCall) -> Sequence[Gradient]:
    if call.output_size is None:
        return [_backwards(call, lambda letter, units, size: units)]
    name = call.operation.name.removeprefix("relax.")
    letters = plain_layouts(call)["data"].dimensions[2:]

    def matrix(letter: str, units: Value, size: Dim) -> Value:
        return relax.dialect.ops[name](units, output_size=[size if each == letter else 1 for each in letters])

    return [_backwards(call, matrix)]


@register_gradient("relax.image.affine_grid", by_types=True)
def affine_grid(call: GradientCall) -> Sequence[Gradient]:
    """Differentiate affine_grid: a matrix times positions, which the operator computes from unit matrices."""
    import numpy

    batch, rows, columns = known_shape(call, call.data, "its matrices")
    shape = known_shape(call, call.result, "its result")
    if not isinstance(rows, int) or equal(columns, rows + 1) is not True:
        raise call.fail("the rank of its result is not known")
    units = numpy.zeros((rows + 1, rows, rows + 1))
    units[range(rows + 1), 0, range(rows + 1)] = 1
    size = relax.shape_expr(dims=shape[2:])
    grids = relax.image.affine_grid(const(units, dtype_of(call.data)), size, align_corners=call.align_corners)
    positions = relax.reshape(relax.take(grids, const(0, "i64"), axis=1), (rows + 1, -1))
    flat = relax.reshape(call.gradient, relax.shape_expr(dims=(batch, rows, product(shape[2:]))))
    return [relax.matmul(flat, relax.permute_dims(positions, axes=[1, 0]))]
