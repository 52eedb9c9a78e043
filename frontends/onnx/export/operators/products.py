# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices and of tensors with labels."""

from __future__ import annotations

from .....dialects.core.infos import is_int
from ..export_call import ExportedOp
from ..export_values import Ref
from ..registry import export_rows, exports


@exports("relax.matmul")
def matmul(op: ExportedOp) -> Ref:
    """Integers are added up as what the result is, or as 32 bits at least."""
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
    """A product with the numbers that the codes are, which its own operators say."""
    sizes = [size for size in (*op.shape("codes"), op.shape("x")[-1]) if isinstance(size, int)]
    if len(sizes) < 4:
        raise op.fail("a size of the matrix is not known")
    columns, blocks, _, depth = sizes
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
