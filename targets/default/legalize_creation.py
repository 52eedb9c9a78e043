# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that make tensors from shapes and numbers."""

from __future__ import annotations

import math
import operator
from math import prod
from typing import Any

from ...bindings.ir import OpView, Value
from ...dialects import relax
from ...dialects.core.infos import is_float
from ...emit import linalg
from ...emit.indices import step_count
from ...emit.numbers import Number, as_i64, constant, intrinsic, select
from ...passes.legalize.builder import RuleBuilder
from ...passes.legalize.rules import Legalized, register_legalize
from ...passes.legalize.scalar_inputs import ScalarInputs, require_size

# ---- one value ----


@register_legalize(["relax.full", "relax.full_like"])
def full(op: OpView, operands: list[Value], builder: RuleBuilder) -> Legalized:
    value, dtype = op.fill_value, builder.result_dtype()
    if builder.dtype(value) != dtype:
        value = relax.astype(value, dtype=dtype)
    return builder.prim(lambda x, output: linalg.copy(x, output, []), [value])


@register_legalize(["relax.ones", "relax.ones_like", "relax.zeros", "relax.zeros_like"])
def filled(op: OpView, operands: list[Value], builder: RuleBuilder) -> Legalized:
    number = int(op.definition.name.startswith("ones"))
    write = lambda output: linalg.fill(number, output)  # noqa: E731
    return builder.prim(write, [])


@register_legalize("relax.scalar_to_tensor")
def scalar_to_tensor(op: OpView, operands: list[Value], builder: RuleBuilder) -> Legalized:
    scalars, dtype = ScalarInputs(builder, operands), builder.result_dtype()

    def write(*parameters: Any) -> Any:
        *inputs, output = parameters
        (value,) = scalars.read(inputs, dtype)
        return linalg.fill(value, output)

    return builder.prim(write, scalars.inputs)


# ---- matrices ----


def _diagonal_distance(rank: int) -> Number:
    """Inside of a loop: how far right of the main diagonal the place in the matrix is."""
    return as_i64(linalg.index(rank - 1) - linalg.index(rank - 2))


@register_legalize("relax.eye_like")
def eye_like(op: OpView, operands: list[Value], builder: RuleBuilder) -> Legalized:
    return _eye(builder, ScalarInputs(builder, [op.k]))


@register_legalize("relax.eye")
def eye(op: OpView, operands: list[Value], builder: RuleBuilder) -> Legalized:
    scalars = ScalarInputs(builder, [op.k, op.n, op.m])
    unknown = [name for name, size in zip(("n", "m"), builder.result_shape(), strict=True) if size is None]

    def sizes(*inputs: Any) -> list[Any]:
        _, *given = scalars.read(inputs, "i64")
        named = dict(zip(("n", "m"), given, strict=True))
        return [require_size(named[name], name) for name in unknown]

    return _eye(builder, scalars, sizes if unknown else None)


def _eye(builder: RuleBuilder, scalars: ScalarInputs, sizes: Any = None) -> list[Value]:
    def write(*parameters: Any) -> Any:
        *inputs, output = parameters
        k, one = scalars.read(inputs, "i64")[0], constant(1, output.type.element_type)
        return linalg.parallel([], output, lambda: select(_diagonal_distance(2) == k, one, 0))

    return builder.prim(write, scalars.inputs, sizes=sizes)


@register_legalize(["relax.tril", "relax.triu"])
def triangle(op: OpView, operands: list[Value], builder: RuleBuilder) -> Legalized:
    scalars = ScalarInputs(builder, [op.k])
    holds = operator.le if op.definition.name == "tril" else operator.ge
    rank = len(builder.result_shape())

    def write(x: Any, *parameters: Any) -> Any:
        *inputs, output = parameters
        k = scalars.read(inputs, "i64")[0]
        return linalg.parallel([x], output, lambda value: select(holds(_diagonal_distance(rank), k), value, 0))

    return builder.prim(write, [op.x, *scalars.inputs])


@register_legalize("relax.one_hot")
def one_hot(op: OpView, operands: list[Value], builder: RuleBuilder) -> Legalized:
    scalars = ScalarInputs(builder, [op.on_value, op.off_value])
    rank = len(builder.result_shape())
    new = op.axis % rank
    dtype, indices_dtype = scalars.dtypes[0], builder.dtype(op.indices)

    def write(indices: Any, *parameters: Any) -> Any:
        *inputs, output = parameters
        on, off = scalars.read(inputs, dtype)

        def body(value: Number) -> Number:
            # No index of a dimension is negative, so what does not fit matches none.
            wanted = value.of(indices_dtype).to("i64")
            return select(as_i64(linalg.index(new)) == wanted, on, off)

        return linalg.parallel([indices], output, body, [[axis for axis in range(rank) if axis != new]])

    return builder.prim(write, [op.indices, *scalars.inputs])


# ---- sequences ----


@register_legalize("relax.arange")
def arange(op: OpView, operands: list[Value], builder: RuleBuilder) -> Legalized:
    scalars = ScalarInputs(builder, [op.start, op.end, op.step])
    wide = "i64" if scalars.are_integers else "f64"
    dtype, (count,) = builder.result_dtype(), builder.result_shape()
    through = _computed_in(dtype, wide)
    if dtype != through:
        return relax.astype(relax.dialect.ops["arange"](*operands, dtype=through), dtype=dtype)

    def write(*parameters: Any) -> Value:
        *inputs, output = parameters
        start, _, step = scalars.read(inputs, wide)
        return linalg.parallel([], output, lambda: (start + linalg.index(0).to(wide) * step).to(dtype))

    def sizes(*inputs: Number) -> list[Number]:
        return [step_count(*scalars.read(inputs, wide))]

    return builder.prim(write, scalars.inputs, sizes=sizes if count is None else None)


def _computed_in(dtype: str, wide: str) -> str:
    """The element type from which relax.astype makes others: what each conversion rounds to is its matter."""
    if dtype in ("f32", "f64") or (wide == "i64" and not is_float(dtype)):
        return dtype
    return "f32" if is_float(dtype) else wide


@register_legalize("relax.hamming_window")
def hamming_window(op: OpView, operands: list[Value], builder: RuleBuilder) -> Legalized:
    dtype, (count,) = builder.result_dtype(), builder.result_shape()
    if dtype not in ("f32", "f64"):
        return relax.astype(relax.dialect.ops["hamming_window"](*operands, dtype="float32"), dtype=dtype)
    scalars = ScalarInputs(builder, operands)

    def write(*parameters: Any) -> Any:
        *inputs, output = parameters
        _, is_periodic, alpha, beta = scalars.read(inputs, "i64", "i1", "f64", "f64")
        length = as_i64(linalg.size(output, 0))
        step = 2 * math.pi / select(is_periodic, length, length - 1).to("f64")
        is_only = length == 1

        def body() -> Number:
            value = alpha - beta * intrinsic("cos", linalg.index(0).to("f64") * step)
            # A window of one element is that of every other library: 1.
            return select(is_only, 1.0, value).to(dtype)

        return linalg.parallel([], output, body)

    def sizes(*inputs: Number) -> list[Number]:
        return [require_size(scalars.read(inputs, "i64", "i1", "f64", "f64")[0], "window_size")]

    return builder.prim(write, scalars.inputs, sizes=sizes if count is None else None)


# ---- counts ----


@register_legalize("relax.size")
def size(op: OpView, operands: list[Value], builder: RuleBuilder) -> Any:
    def write(x: Value, output: Value) -> Value:
        return linalg.insert(as_i64(prod(linalg.sizes(x))), output, [])

    return builder.prim(write)
