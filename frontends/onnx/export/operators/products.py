# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exporters of matrix products and einsum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....dialects.core.infos import is_int
from ..export_call import ExportedOp
from ..export_values import Ref
from ..registry import export_rows, exports

if TYPE_CHECKING:
    from numpy import ndarray


@exports("relax.matmul")
def matmul(op: ExportedOp) -> Ref:
    """Export matmul. Integers are summed in the result's type, or in at least 32 bits."""
    left, right, dtype = op["x1"], op["x2"], op.result().dtype
    if op.out_dtype is not None or left.dtype != right.dtype:
        wide = dtype if not is_int(dtype) or is_int(left.dtype) else left.dtype
        left, right = op.cast(left, wide), op.cast(right, wide)
    return op.cast(op.node("MatMul", left, right), dtype)


export_rows(
    {
        "einsum": lambda op: op.node("Einsum", *op.all("operands"), equation=op.subscripts),
        "outer": lambda op: op.node("Mul", op.graph.unsqueeze(op["x1"], [1]), op.graph.unsqueeze(op["x2"], [0])),
    }
)


@exports("relax.matmul_nbits")
def matmul_nbits(op: ExportedOp) -> Ref:
    """Export a product with a matrix of codes: onnxruntime's MatMulNBits, or single steps where that differs."""
    sizes = [size for size in (*op.shape("codes"), op.shape("x")[-1]) if isinstance(size, int)]
    if len(sizes) < 4:
        raise op.fail("a size of the matrix is not known")
    columns, blocks, _, depth = sizes
    if _is_of_onnxruntime(op):
        return _in_one_node(op, columns, depth)
    graph, codes = op.graph, op["codes"]
    if op.bits < 8:
        shifts = graph.const(range(0, 8, op.bits), "ui8")
        shifted = op.node("BitShift", graph.unsqueeze(codes, [3]), shifts, direction="RIGHT")
        codes = op.node("BitwiseAnd", shifted, op.number(2**op.bits - 1, "ui8"))
    numbers = op.cast(op.node("Reshape", codes, op.ints(columns, blocks, op.block_size)), "f32")
    scale, middle = (graph.unsqueeze(op.cast(op[name], "f32"), [2]) if op.has(name) else None for name in _OF_BLOCKS)
    offset = op.number(2 ** (op.bits - 1), "f32") if middle is None else middle
    whole = op.node("Mul", op.node("Sub", numbers, offset), scale)
    rows = op.node("Reshape", whole, op.ints(columns, blocks * op.block_size))
    if blocks * op.block_size != depth:
        rows = op.node("Slice", rows, op.ints(0), op.ints(depth), op.ints(1))
    result = op.node("MatMul", op.cast(op["x"], "f32"), graph.transpose(rows, [1, 0]))
    if op.has("bias"):
        result = op.node("Add", result, op.cast(op["bias"], "f32"))
    return op.cast(result, op.result().dtype)


_OF_BLOCKS = ("scale", "zero_point")
#: The smallest block of MatMulNBits.
_SMALLEST_BLOCK = 16


def _is_of_onnxruntime(op: ExportedOp) -> bool:
    """Check whether MatMulNBits takes the operands: bytes of zero points are packed, so they have to be constants."""
    dtypes = {op[name].dtype for name in ("x", "scale", "bias") if op.has(name)}
    is_power = op.block_size >= _SMALLEST_BLOCK and not op.block_size & (op.block_size - 1)
    fits = is_power and op.bits in (4, 8) and len(op.shape("x")) > 1 and dtypes <= {"f32"}
    zeros = op.elements("zero_point") if op.has("zero_point") else None
    return fits and (not op.has("zero_point") or (zeros is not None and zeros.dtype == "uint8"))


def _in_one_node(op: ExportedOp, columns: int, depth: int) -> Ref:
    numbers = op.elements("zero_point") if op.has("zero_point") else None
    zeros = None if numbers is None else op.graph.const(_packed(numbers, op.bits), "ui8")
    operands = [op["x"], op["codes"], op["scale"], zeros, None, op.optional("bias")]
    while operands[-1] is None:
        operands.pop()
    attributes: dict[str, object] = {"K": depth, "N": columns, "bits": op.bits, "block_size": op.block_size}
    return op.graph.add_of_domain("com.microsoft", "MatMulNBits", operands, op["x"].dtype, attributes)


def _packed(numbers: ndarray, bits: int) -> ndarray:
    """Pack the numbers of each row to bytes, the first in the lowest bits."""
    import numpy

    count = 8 // bits
    whole = numpy.pad(numbers, ((0, 0), (0, -numbers.shape[1] % count))).reshape(len(numbers), -1, count)
    shifts = numpy.arange(count, dtype=numpy.uint8) * bits
    return (whole << shifts).sum(2, dtype=numpy.uint8)
