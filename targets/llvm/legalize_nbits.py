# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with panels of few bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...bindings.ir import Value
from ...dialects import relax
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import product
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.known_sizes import by_name
from ...passes.legalize.rules import Legalized, register_legalize

if TYPE_CHECKING:
    from .nbits_kernel import NbitsKernel


@register_legalize("relax.matmul_nbits_panels", target="llvm")
def matmul_nbits_panels(call: LegalizeCall) -> Legalized:
    from .nbits_kernel import ROW_SCALE, NbitsKernel, PackedMatrix, prepared  # few programs have panels

    held = by_name(call.op, call.operands)
    x, scale = held.pop("x"), held["scale"]
    *leading, depth = call.shape(x)
    sizes = [size for size in (*call.shape(scale), depth) if isinstance(size, int)]
    if len(sizes) < 4:
        return call.decline("a size of the matrix is not known")
    panels, blocks, width, known = sizes
    count = product(leading)
    matrix = PackedMatrix(
        call.op.bits, call.op.block_size, call.op.columns, blocks, panels, width, call.op.lanes, call.op.rows
    )
    given = {name: value for name, value in held.items() if value is not None}
    kernel: Callable[..., NbitsKernel] = NbitsKernel
    if call.op.activation_bits:
        from .nbits_dots import rounded

        x, sums, given[ROW_SCALE], kernel = rounded(call, x, matrix, count, known)
    else:
        x, sums = prepared(call, x, matrix, count, known)
    dtypes = {name: call.dtype(value) for name, value in given.items()}

    def body(rows: Value, sums: Value, *parameters: Value) -> None:
        *numbers, out = parameters
        kernel(matrix, rows, sums, dict(zip(given, numbers, strict=True)), dtypes, out).write()

    (result,) = call.loops(body, [x, sums, *given.values()], [TensorInfo((count, call.op.columns), "f32")])
    shaped = relax.reshape(result, relax.shape_expr(dims=(*leading, call.op.columns)))
    wanted = call.result_dtype()
    return shaped if wanted == "f32" else relax.astype(shaped, dtype=wanted)
