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
        return _export_one_node(op, columns, depth)
    graph = op.graph
    numbers = op.cast(_codes(op, op["codes"], op.bits, (columns, blocks, op.block_size)), "f32")
    scale = graph.unsqueeze(_scale_blocks(op, "scale", columns, blocks), [2])
    if op.has("offset"):
        added = graph.unsqueeze(_scale_blocks(op, "offset", columns, blocks), [2])
        whole = op.node("Add", op.node("Mul", numbers, scale), added)
    else:
        zeros = graph.unsqueeze(op.cast(op["zero_point"], "f32"), [2]) if op.has("zero_point") else None
        middle = op.number(2 ** (op.bits - 1), "f32") if zeros is None else zeros
        whole = op.node("Mul", op.node("Sub", numbers, middle), scale)
    rows = op.node("Reshape", whole, op.ints(columns, blocks * op.block_size))
    x, extra = op.cast(op["x"], "f32"), blocks * op.block_size - depth
    if op.activation_bits:
        x = _round(op, x, extra)
    elif extra:
        rows = op.node("Slice", rows, op.ints(0), op.ints(depth), op.ints(1))
    result = op.node("MatMul", x, graph.transpose(rows, [1, 0]))
    if op.has("bias"):
        result = op.node("Add", result, op.cast(op["bias"], "f32"))
    return op.cast(result, op.result().dtype)


def _round(op: ExportedOp, x: Ref, extra: int) -> Ref:
    """Round the blocks of rows to 8 bits, with zeros for the missing part of the last block."""
    if extra:
        before = [0] * (2 * len(op.shape("x")) - 1)
        x = op.node("Pad", x, op.ints(*before, extra))
    blocks = op.node("Reshape", x, op.ints(-1, op.block_size))
    largest = op.graph.reduce("ReduceMax", op.node("Abs", blocks), [1], keep=True)
    scale = op.node("Max", op.node("Div", largest, op.number(127.0, "f32")), op.number(2.0**-126, "f32"))
    digits = op.node("Round", op.node("Div", blocks, scale))
    return op.node("Reshape", op.node("Mul", digits, scale), op.node("Shape", x))


def _codes(op: ExportedOp, packed: Ref, bits: int, shape: tuple[int, int, int]) -> Ref:
    """Unpack bytes [columns, blocks, bytes] to ui8 of a shape."""
    if bits == 6:
        half = shape[2] // 2
        low, high = (
            op.node("Slice", packed, op.ints(begin), op.ints(end), op.ints(2))
            for begin, end in ((0, half), (half, half + half // 2))
        )
        moved = op.node("Mul", _codes(op, high, 2, shape), op.number(16, "ui8"))
        return op.node("Add", _codes(op, low, 4, shape), moved)
    if bits < 8:
        shifts = op.graph.const(range(0, 8, bits), "ui8")
        shifted = op.node("BitShift", op.graph.unsqueeze(packed, [3]), shifts, direction="RIGHT")
        packed = op.node("BitwiseAnd", shifted, op.number(2**bits - 1, "ui8"))
    return op.node("Reshape", packed, op.ints(*shape))


def _scale_blocks(op: ExportedOp, name: str, columns: int, blocks: int) -> Ref:
    """Return the numbers of blocks as f32, times factors for several blocks each."""
    numbers, outer = op.cast(op[name], "f32"), f"outer_{name}"
    if not op.has(outer):
        return numbers
    if not isinstance(count := op.shape(outer)[1], int):
        raise op.fail(f"the size of {outer} is not known")
    parts = op.node("Reshape", numbers, op.ints(columns, count, blocks // count))
    scaled = op.node("Mul", parts, op.graph.unsqueeze(op.cast(op[outer], "f32"), [2]))
    return op.node("Reshape", scaled, op.ints(columns, blocks))


#: The smallest block of MatMulNBits.
_SMALLEST_BLOCK = 16


def _is_of_onnxruntime(op: ExportedOp) -> bool:
    """Check whether MatMulNBits takes the operands: bytes of zero points are packed, so they have to be constants."""
    if op.has("offset") or op.has("outer_scale") or op.activation_bits:
        return False
    dtypes = {op[name].dtype for name in ("x", "scale", "bias") if op.has(name)}
    is_power = op.block_size >= _SMALLEST_BLOCK and not op.block_size & (op.block_size - 1)
    fits = is_power and op.bits in (4, 8) and len(op.shape("x")) > 1 and dtypes <= {"f32"}
    zeros = op.elements("zero_point") if op.has("zero_point") else None
    return fits and (not op.has("zero_point") or (zeros is not None and zeros.dtype == "uint8"))


def _export_one_node(op: ExportedOp, columns: int, depth: int) -> Ref:
    numbers = op.elements("zero_point") if op.has("zero_point") else None
    zeros = None if numbers is None else op.graph.const(_pack(numbers, op.bits), "ui8")
    operands = [op["x"], op["codes"], op["scale"], zeros, None, op.optional("bias")]
    while operands[-1] is None:
        operands.pop()
    attributes: dict[str, object] = {"K": depth, "N": columns, "bits": op.bits, "block_size": op.block_size}
    return op.graph.add_of_domain("com.microsoft", "MatMulNBits", operands, op["x"].dtype, attributes)


def _pack(numbers: ndarray, bits: int) -> ndarray:
    """Pack the numbers of each row to bytes, the first in the lowest bits."""
    import numpy

    count = 8 // bits
    whole = numpy.pad(numbers, ((0, 0), (0, -numbers.shape[1] % count))).reshape(len(numbers), -1, count)
    return (whole << (numpy.arange(count, dtype=numpy.uint8) * bits)).sum(2, dtype=numpy.uint8)
