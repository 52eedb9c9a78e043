# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with matrices of few bits. Kernels dequantize the codes between memory and the sums."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...bindings.ir import Value
from ...bindings.mlir import ir
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import Dim, product
from ...dialects.relax import dialect as relax
from ...dialects.relax.known_constants import elements_of
from ...dialects.relax.nbits import OF_BLOCKS, OUTER
from ...emit import linalg
from ...emit.arithmetic import convert, element, from_bits
from ...emit.contraction import summed
from ...emit.numbers import Number, constant, operation
from ...passes.graph.layout.conversion import constant_like
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.known_sizes import by_name
from ...passes.legalize.rules import Legalized, register_legalize
from .plans.strip import MANY_ROWS

#: The float 2 ** 23. A code in the low bits of its mantissa is added to it without a conversion.
_ONES, _ONES_BITS = float(1 << 23), 0x4B000000
#: First loops: rows and columns. Blocks, and the codes of a block, have one or several loops.
_ROWS, _COLUMNS, _FIRST_BLOCK = range(3)


@register_legalize("relax.matmul_nbits", target="gpu")
def matmul_nbits(call: LegalizeCall) -> Legalized:
    held = by_name(call.op, call.operands)
    x, bias = held.pop("x"), held.pop("bias")
    *leading, depth = call.shape(x)
    sizes = [size for size in (*call.shape(held["codes"]), depth) if isinstance(size, int)]
    if len(sizes) < 4:
        return call.decline("a size of the matrix is not known")
    columns, blocks, _, known = sizes
    rows, ops = product(leading), relax.ops
    x = ops["reshape"](x, ops["shape_expr"](dims=(rows, known)))
    if blocks * call.op.block_size != known:
        x = ops["nn.pad"](x, pad_width=[0, 0, 0, blocks * call.op.block_size - known])
    if call.op.activation_bits:
        from ...passes.graph.decompose.row_blocks import rounded_floats  # few programs round activations

        x = rounded_floats(x if call.dtype(x) == "f32" else ops["astype"](x, dtype="f32"), call.op.block_size)
    outer = {name: call.shape(value)[1] for name, value in held.items() if name in OUTER and value is not None}
    if len(set(outer.values())) > 1:
        return call.decline("outer_scale and outer_offset have different sizes")
    shape = _Shape(call.op.bits, call.op.block_size, columns, blocks, next(iter(outer.values()), None))
    # Few rows are limited by memory, not by products, so rounding saves nothing.
    is_few = isinstance(rows, int) and rows < MANY_ROWS
    weight = "f32" if is_few else call.dtype(x)
    given = {"x": _reshape(x, (rows, *shape.block_sizes, *shape.code_sizes))}
    given |= shape.operands(held)
    dtypes = {name: call.dtype(value) for name, value in given.items()}

    def body(*parameters: Value) -> Value:
        *inputs, out = parameters
        named = dict(zip(given, inputs, strict=True))
        return summed(list(dtypes.values()), out, "f32", lambda zeros: _sum(shape, named, dtypes, zeros, weight))

    (result,) = call.prim(body, list(given.values()), [TensorInfo((rows, columns), "f32")], pattern="out_ewise_fusable")
    if bias is not None:
        result = ops["add"](result, bias if call.dtype(bias) == "f32" else ops["astype"](bias, dtype="f32"))
    wanted = call.result_dtype()
    result = result if wanted == "f32" else ops["astype"](result, dtype=wanted)
    return ops["reshape"](result, ops["shape_expr"](dims=(*leading, columns)))


def _reshape(value: Value, sizes: tuple[Dim, ...]) -> Value:
    return relax.ops["reshape"](value, relax.ops["shape_expr"](dims=sizes))


def _part(codes: Value, begin: int, end: int) -> Value:
    """Return some bytes of each block. Known codes are cut here: no rule folds constants afterwards."""
    if (known := elements_of(codes)) is not None:
        return constant_like(codes, known[..., begin:end])
    return relax.ops["strided_slice"](codes, axes=[2], begin=[begin], end=[end])


class _Shape(NamedTuple):
    """Loops over the matrix and the sizes of its operands."""

    bits: int
    block: int
    columns: int
    blocks: int
    #: Numbers of outer_scale or outer_offset for each column, or None.
    parts: Dim

    @property
    def block_sizes(self) -> tuple[int, ...]:
        """Return the loops over the blocks of a column: the parts with a common outer scale, and their blocks."""
        return (self.blocks,) if not isinstance(self.parts, int) else (self.parts, self.blocks // self.parts)

    @property
    def code_sizes(self) -> tuple[int, ...]:
        """Return the loops over the codes of a block: its bytes, and a byte's codes.

        With 6 bits: bytes with the high bits of four codes, two bytes with their low bits, and a byte's codes.
        """
        if self.bits == 6:
            return self.block // 4, 2, 2
        return self.block * self.bits // 8, 8 // self.bits

    def operands(self, values: Mapping[str, Value | None]) -> dict[str, Value]:
        """Return the operands with a dimension for each of their loops."""
        first, codes = (self.columns, *self.block_sizes), values["codes"]
        assert codes is not None
        made = {}
        if self.bits == 6:
            half = self.block // 2
            low, high = _part(codes, 0, half), _part(codes, half, half + half // 2)
            made = {"codes": _reshape(low, (*first, *self.code_sizes[:2])),
                    "high": _reshape(high, (*first, self.code_sizes[0]))}  # fmt: skip
        else:
            made = {"codes": _reshape(codes, (*first, self.code_sizes[0]))}
        for name in OF_BLOCKS:
            if (value := values[name]) is not None:
                made[name] = _reshape(value, first)
        return made | {name: value for name in OUTER if (value := values[name]) is not None}

    def loops_of(self, name: str) -> list[int]:
        """Return the loops that an operand depends on."""
        blocks = list(range(_FIRST_BLOCK, _FIRST_BLOCK + len(self.block_sizes)))
        codes = list(range(blocks[-1] + 1, self.loops))
        if name in OUTER:
            return [_COLUMNS, blocks[0]]
        inner = {"x": codes, "codes": codes[:-1], "high": codes[:1]}.get(name, [])
        return [_ROWS if name == "x" else _COLUMNS, *blocks, *inner]

    @property
    def loops(self) -> int:
        """Return the number of loops."""
        return _FIRST_BLOCK + len(self.block_sizes) + len(self.code_sizes)


def _sum(shape: _Shape, inputs: Mapping[str, Value], dtypes: Mapping[str, str], zeros: Value, weight: str) -> Value:
    """Sum x * (codes * scales + offsets)."""
    maps = [linalg.select_dims(shape.loops, shape.loops_of(name)) for name in inputs]
    maps.append(linalg.select_dims(shape.loops, [_ROWS, _COLUMNS]))

    def body(*arguments: Number) -> Number:
        *numbers, total = arguments
        named = dict(zip(inputs, numbers, strict=True))
        x, code = named["x"].to("f32"), _code(named["codes"], named.get("high"), shape)

        def real(name: str) -> Number:
            value, outer = named[name].of(dtypes[name]).to("f32"), f"outer_{name}"
            return value * named[outer].to("f32") if outer in named else value

        if "offset" in named:
            made = (code - _ONES) * real("scale") + real("offset")
        elif "zero_point" in named:
            made = _number(code, named["zero_point"]) * real("scale")
        else:
            made = (code - (_ONES + (1 << (shape.bits - 1)))) * real("scale")
        return total + x * _round(made, weight)

    iterators = [linalg.PARALLEL] * 2 + [linalg.REDUCTION] * (shape.loops - 2)
    return linalg.generic(list(inputs.values()), [zeros], maps, iterators, body)[0]


def _round(number: Number, dtype: str) -> Number:
    """Round the number to a narrower dtype and widen it again, with the device's own conversion."""
    return number if dtype == "f32" else convert("arith.truncf", number, element(dtype)).to("f32")


def _code(codes: Number, high: Number | None, shape: _Shape) -> Number:
    """Return a code of a byte plus 2 ** 23, as a float."""
    word, last = _wide(codes), shape.loops - 1
    if high is not None:
        distance = _index(last - 1, word) * 4 + _index(last, word) * 2
        pair = _wide(high).shift_right_unsigned(distance) & 3
        return _as_float(word.shift_right_unsigned(_index(last, word) * 4) & 15 | pair * 16)
    if shape.bits < 8:
        word = word.shift_right_unsigned(_index(last, word) * shape.bits) & ((1 << shape.bits) - 1)
    return _as_float(word)


def _index(loop: int, word: Number) -> Number:
    return operation("arith.index_cast", [linalg.index(loop)], word.type)


def _number(code: Number, zero_point: Number) -> Number:
    if isinstance(zero_point.type, ir.IntegerType):
        return code - _as_float(_wide(zero_point))
    return code - _ONES - zero_point.to("f32")


def _wide(byte: Number) -> Number:
    return convert("arith.extui", byte, ir.IntegerType.get_signless(32))


def _as_float(word: Number) -> Number:
    return from_bits(word | constant(_ONES_BITS, word.type), ir.F32Type.get())
