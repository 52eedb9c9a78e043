# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that create tensors from shapes and numbers."""

from __future__ import annotations

import math
import operator
from math import prod
from typing import Any

from ...bindings.ir import Value
from ...dialects import relax
from ...dialects.core.infos import is_float
from ...emit import linalg
from ...emit.indices import step_count
from ...emit.numbers import Number, as_i64, constant, intrinsic, select
from ...passes.legalize.call import Body, LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize
from ...passes.legalize.scalar_inputs import ScalarInputs, require_size

# ---- one value ----


@register_legalize(["relax.full", "relax.full_like"])
def full(call: LegalizeCall) -> Legalized:
    value, dtype = call.op.fill_value, call.result_dtype()
    if call.dtype(value) != dtype:
        value = relax.astype(value, dtype=dtype)
    return call.prim(lambda x, output: linalg.copy(x, output, []), [value])


@register_legalize(["relax.ones", "relax.ones_like", "relax.zeros", "relax.zeros_like"])
def filled(call: LegalizeCall) -> Legalized:
    number = int(call.op.definition.name.startswith("ones"))
    write = lambda output: linalg.fill(number, output)  # noqa: E731
    return call.prim(write, [])


@register_legalize("relax.scalar_to_tensor")
def scalar_to_tensor(call: LegalizeCall) -> Legalized:
    scalars, dtype = ScalarInputs(call, call.operands), call.result_dtype()

    def write(*parameters: Any) -> Value:
        *inputs, output = parameters
        (value,) = scalars.read(inputs, dtype)
        return linalg.fill(value, output)

    return call.prim(write, scalars.inputs)


# ---- matrices ----


def _diagonal_distance(rank: int) -> Number:
    """Return the distance to the right of the main diagonal, inside of a loop over a matrix."""
    return as_i64(linalg.index(rank - 1) - linalg.index(rank - 2))


@register_legalize("relax.eye_like")
def eye_like(call: LegalizeCall) -> Legalized:
    return _eye(call, ScalarInputs(call, [call.op.k]))


@register_legalize("relax.eye")
def eye(call: LegalizeCall) -> Legalized:
    scalars = ScalarInputs(call, [call.op.k, call.op.n, call.op.m])
    unknown = [name for name, size in zip(("n", "m"), call.result_shape(), strict=True) if size is None]

    def sizes(*inputs: Number) -> list[Number]:
        _, *given = scalars.read(inputs, "i64")
        named = dict(zip(("n", "m"), given, strict=True))
        return [require_size(named[name], name) for name in unknown]

    return _eye(call, scalars, sizes if unknown else None)


def _eye(call: LegalizeCall, scalars: ScalarInputs, sizes: Body | None = None) -> list[Value]:
    def write(*parameters: Any) -> Value:
        *inputs, output = parameters
        k, one = scalars.read(inputs, "i64")[0], constant(1, output.type.element_type)
        return linalg.parallel([], output, lambda: select(_diagonal_distance(2) == k, one, 0))

    return call.prim(write, scalars.inputs, sizes=sizes)


@register_legalize(["relax.tril", "relax.triu"])
def triangle(call: LegalizeCall) -> Legalized:
    scalars = ScalarInputs(call, [call.op.k])
    holds = operator.le if call.op.definition.name == "tril" else operator.ge
    rank = len(call.result_shape())

    def write(x: Value, *parameters: Any) -> Value:
        *inputs, output = parameters
        k = scalars.read(inputs, "i64")[0]
        return linalg.parallel([x], output, lambda value: select(holds(_diagonal_distance(rank), k), value, 0))

    return call.prim(write, [call.op.x, *scalars.inputs])


@register_legalize("relax.one_hot")
def one_hot(call: LegalizeCall) -> Legalized:
    scalars = ScalarInputs(call, [call.op.on_value, call.op.off_value])
    rank = len(call.result_shape())
    new = call.op.axis % rank
    dtype, indices_dtype = scalars.dtypes[0], call.dtype(call.op.indices)

    def write(indices: Value, *parameters: Any) -> Value:
        *inputs, output = parameters
        on, off = scalars.read(inputs, dtype)

        def body(value: Number) -> Number:
            # No index of a dimension is negative, so values out of range match no index.
            wanted = value.of(indices_dtype).to("i64")
            return select(as_i64(linalg.index(new)) == wanted, on, off)

        return linalg.parallel([indices], output, body, [[axis for axis in range(rank) if axis != new]])

    return call.prim(write, [call.op.indices, *scalars.inputs])


# ---- sequences ----


@register_legalize("relax.arange")
def arange(call: LegalizeCall) -> Legalized:
    scalars = ScalarInputs(call, [call.op.start, call.op.end, call.op.step])
    wide = "i64" if scalars.are_integers else "f64"
    dtype, (count,) = call.result_dtype(), call.result_shape()
    through = _choose_dtype(dtype, wide)
    if dtype != through:
        return relax.astype(relax.dialect.ops["arange"](*call.operands, dtype=through), dtype=dtype)

    def write(*parameters: Any) -> Value:
        *inputs, output = parameters
        start, _, step = scalars.read(inputs, wide)
        return linalg.parallel([], output, lambda: (start + linalg.index(0).to(wide) * step).to(dtype))

    def sizes(*inputs: Number) -> list[Number]:
        return [step_count(*scalars.read(inputs, wide))]

    return call.prim(write, scalars.inputs, sizes=sizes if count is None else None)


def _choose_dtype(dtype: str, wide: str) -> str:
    """Return the dtype to compute in. relax.astype converts from it, and defines the rounding."""
    if dtype in ("f32", "f64") or (wide == "i64" and not is_float(dtype)):
        return dtype
    return "f32" if is_float(dtype) else wide


@register_legalize("relax.hamming_window")
def hamming_window(call: LegalizeCall) -> Legalized:
    dtype, (count,) = call.result_dtype(), call.result_shape()
    if dtype not in ("f32", "f64"):
        return relax.astype(relax.dialect.ops["hamming_window"](*call.operands, dtype="float32"), dtype=dtype)
    scalars = ScalarInputs(call, call.operands)

    def write(*parameters: Any) -> Value:
        *inputs, output = parameters
        _, is_periodic, alpha, beta = scalars.read(inputs, "i64", "i1", "f64", "f64")
        length = as_i64(linalg.size(output, 0))
        step = 2 * math.pi / select(is_periodic, length, length - 1).to("f64")
        is_only = length == 1

        def body() -> Number:
            value = alpha - beta * intrinsic("cos", linalg.index(0).to("f64") * step)
            # A window of one element is 1, as in all other libraries.
            return select(is_only, 1.0, value).to(dtype)

        return linalg.parallel([], output, body)

    def sizes(*inputs: Number) -> list[Number]:
        return [require_size(scalars.read(inputs, "i64", "i1", "f64", "f64")[0], "window_size")]

    return call.prim(write, scalars.inputs, sizes=sizes if count is None else None)


# ---- counts ----


@register_legalize("relax.size")
def size(call: LegalizeCall) -> Legalized:
    def write(x: Value, output: Value) -> Value:
        return linalg.insert(as_i64(prod(linalg.sizes(x))), output, [])

    return call.prim(write)
