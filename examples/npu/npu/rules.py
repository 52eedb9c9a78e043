# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What operators are on the vector unit, where that is not what they are everywhere."""

from __future__ import annotations

from typing import Any

import relax_mlir as rx
from relax_mlir import te, tir



def _unit(name: str, x: Any, dtype: str = "f32") -> Any:
    return tir.call_pure_extern(f"npu_{name}", [x], dtype)


@rx.rules.register_lower_intrinsic("tir.exp", target="npu")
def exp(op: Any) -> Any:
    return _unit("exp", op.x)


@rx.rules.register_lower_intrinsic("tir.rsqrt", target="npu")
def rsqrt(op: Any) -> Any:
    return _unit("rsqrt", op.x)


@rx.rules.register_legalize("relax.quantize", target="npu")
def quantize(call: Any) -> Any:
    if call.result_dtype() != "i8" or any(call.shape(each) for each in call.operands[1:]):
        return call.decline("only to i8, with one scale")
    return call.elementwise(lambda x, s, z: rx.number(_unit("ftob", rx.number(_unit("round", x / s)) + z.to("f32"), "i8")))


@rx.rules.register_legalize("relax.nn.silu", target="npu")
def silu(call: Any) -> Any:
    return call.elementwise(lambda x: x * rx.number(_unit("recip", rx.number(_unit("exp", 0.0 - x)) + 1.0)))


@rx.rules.register_legalize("relax.nn.softmax", target="npu")
def softmax(call: Any) -> Any:
    shape = call.result_shape()
    if call.op.axis not in (-1, len(shape) - 1) or call.result_dtype() != "f32":
        return call.decline("only f32, along the last axis")

    def rows(x: Any) -> Any:
        k, n = (te.reduce_axis((0, shape[-1])) for _ in range(2))
        most = te.compute(shape[:-1], lambda *i: te.max(x[(*i, k)], axis=k))
        powers = te.compute(shape, lambda *i: te.exp(x[i] - most[i[:-1]]))
        totals = te.compute(shape[:-1], lambda *i: te.sum(powers[(*i, n)], axis=n))
        shares = te.compute(shape[:-1], lambda *i: _unit("recip", totals[i]))
        return te.compute(shape, lambda *i: powers[i] * shares[i[:-1]])

    return call.call_te(rows)


@rx.rules.register_legalize("relax.nn.rms_norm", target="npu")
def rms_norm(call: Any) -> Any:
    shape = call.result_shape()
    if [axis % len(shape) for axis in call.op.axes] != [len(shape) - 1] or call.result_dtype() != "f32":
        return call.decline("only f32, along the last axis")

    def rows(x: Any, weight: Any) -> Any:
        k = te.reduce_axis((0, shape[-1]))
        totals = te.compute(shape[:-1], lambda *i: te.sum(x[(*i, k)] * x[(*i, k)], axis=k))
        factors = te.compute(shape[:-1], lambda *i: te.rsqrt(totals[i] * (1.0 / shape[-1]) + call.op.epsilon))
        return te.compute(shape, lambda *i: x[i] * factors[i[:-1]] * weight[i[-1]])

    return call.call_te(rows)
