# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with matrices of few bits. Kernels dequantize the codes between memory and the sums."""

from __future__ import annotations

from ...bindings.ir import Value
from ...bindings.mlir import ir
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import product
from ...dialects.relax import dialect as relax
from ...emit import linalg
from ...emit.arithmetic import convert, element, from_bits
from ...emit.contraction import summed
from ...emit.numbers import Number, constant, operation
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.known_sizes import by_name
from ...passes.legalize.rules import Legalized, register_legalize
from .plans.strip import MANY_ROWS

#: The float 2 ** 23. A code in the low bits of its mantissa is added to it without a conversion.
_ONES, _ONES_BITS = float(1 << 23), 0x4B000000
#: Loops: rows, columns, blocks, the bytes of a block, the codes of a byte.
_LOOPS = 5
_ROWS, _COLUMNS, _BLOCKS, _BYTES, _CODES = range(_LOOPS)


@register_legalize("relax.matmul_nbits", target="gpu")
def matmul_nbits(call: LegalizeCall) -> Legalized:
    held = by_name(call.op, call.operands)
    x, scale, zero_point, bias = (held[name] for name in ("x", "scale", "zero_point", "bias"))
    *leading, depth = call.shape(x)
    sizes = [size for size in (*call.shape(held["codes"]), depth) if isinstance(size, int)]
    if len(sizes) < 4:
        return call.decline("a size of the matrix is not known")
    columns, blocks, _, known = sizes
    rows, ops = product(leading), relax.ops
    x = ops["reshape"](x, ops["shape_expr"](dims=(rows, known)))
    if blocks * call.op.block_size != known:
        x = ops["nn.pad"](x, pad_width=[0, 0, 0, blocks * call.op.block_size - known])
    count = 8 // call.op.bits
    x = ops["reshape"](x, ops["shape_expr"](dims=(rows, blocks, call.op.block_size // count, count)))
    # Few rows are limited by memory, not by products, so rounding saves nothing.
    is_few = isinstance(rows, int) and rows < MANY_ROWS
    weight = "f32" if is_few else call.dtype(x)
    given = [x, held["codes"], scale, *([] if zero_point is None else [zero_point])]
    dtypes = [call.dtype(each) for each in given]

    def body(*parameters: Value) -> Value:
        *inputs, out = parameters
        return summed(dtypes, out, "f32", lambda zeros: _added(call.op.bits, inputs, zeros, weight))

    (result,) = call.prim(body, given, [TensorInfo((rows, columns), "f32")], pattern="out_ewise_fusable")
    if bias is not None:
        result = ops["add"](result, bias if call.dtype(bias) == "f32" else ops["astype"](bias, dtype="f32"))
    wanted = call.result_dtype()
    result = result if wanted == "f32" else ops["astype"](result, dtype=wanted)
    return ops["reshape"](result, ops["shape_expr"](dims=(*leading, columns)))


def _added(bits: int, inputs: list[Value], zeros: Value, weight: str) -> Value:
    """Sum x * (codes - zero points) * scales."""
    of_block = linalg.select_dims(_LOOPS, [_COLUMNS, _BLOCKS])
    maps = [
        linalg.select_dims(_LOOPS, [_ROWS, _BLOCKS, _BYTES, _CODES]),
        linalg.select_dims(_LOOPS, [_COLUMNS, _BLOCKS, _BYTES]),
        *[of_block] * (len(inputs) - 2),
        linalg.select_dims(_LOOPS, [_ROWS, _COLUMNS]),
    ]

    def body(x: Number, codes: Number, scale: Number, *others: Number) -> Number:
        *zero_point, total = others
        number = _number(_code(codes, bits), *zero_point) if zero_point else _code(codes, bits) - _middle(bits)
        return total + x.to("f32") * _rounded(number * scale.to("f32"), weight)

    iterators = [linalg.PARALLEL] * 2 + [linalg.REDUCTION] * 3
    return linalg.generic(inputs, [zeros], maps, iterators, body)[0]


def _rounded(number: Number, dtype: str) -> Number:
    """Round the number to a narrower dtype and widen it again, with the device's own conversion."""
    return number if dtype == "f32" else convert("arith.truncf", number, element(dtype)).to("f32")


def _code(codes: Number, bits: int) -> Number:
    """Return a code of a byte plus 2 ** 23, as a float."""
    word = _wide(codes)
    if bits < 8:
        place = operation("arith.index_cast", [linalg.index(_CODES)], word.type)
        word = word.shift_right_unsigned(place * bits) & ((1 << bits) - 1)
    return _as_float(word)


def _middle(bits: int) -> float:
    return _ONES + (1 << (bits - 1))


def _number(code: Number, zero_point: Number) -> Number:
    if isinstance(zero_point.type, ir.IntegerType):
        return code - _as_float(_wide(zero_point))
    return code - _ONES - zero_point.to("f32")


def _wide(byte: Number) -> Number:
    return convert("arith.extui", byte, ir.IntegerType.get_signless(32))


def _as_float(word: Number) -> Number:
    return from_bits(word | constant(_ONES_BITS, word.type), ir.F32Type.get())
