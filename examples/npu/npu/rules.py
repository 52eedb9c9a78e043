# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What operators are on the vector unit, where that is not what they are everywhere."""

from __future__ import annotations

from typing import Any

import relax_mlir as rx
from relax_mlir import te, tir

npu = rx.Dialect("npu_unit", doc="Functions of the vector unit.")
tir.declare_intrinsic("round", "x", dialect=npu, short=True, doc="To a whole number, halves to even.")
tir.declare_intrinsic("ftob", "x", dialect=npu, short=True, result="i8", doc="As a byte; -128 or 127 beyond.")
tir.declare_intrinsic("narrow", "x", dialect=npu, short=True, result="bf16", doc="As bf16, rounded to even.")
tir.declare_intrinsic("recip", "x", dialect=npu, short=True, doc="1 / x, rounded once.")


def _unit_computes(intrinsic: str, result: str = "f32") -> None:
    """It is the vector unit's function of the same name."""

    @rx.rules.register_lower_intrinsic(intrinsic, target="npu")
    def lower(op: Any) -> Any:
        return tir.call_pure_extern(f"npu_{intrinsic.partition('.')[2]}", [op.x], result)


_unit_computes("npu_unit.round")
_unit_computes("npu_unit.ftob", "i8")
_unit_computes("npu_unit.narrow", "bf16")
_unit_computes("npu_unit.recip")
_unit_computes("tir.exp")
_unit_computes("tir.rsqrt")


@rx.rules.register_legalize("relax.quantize", target="npu")
def quantize(call: Any) -> Any:
    if call.result_dtype() != "i8" or any(call.shape(each) for each in call.operands[1:]):
        return call.decline("only to i8, with one scale")
    return call.elementwise(lambda x, s, z: npu.ftob(rx.number(npu.round(x / s)) + z.to("f32")))


@rx.rules.register_legalize("relax.astype", target="npu")
def astype(call: Any) -> Any:
    if (call.dtype(call.operands[0]), call.result_dtype()) != ("f32", "bf16"):
        return call.decline("as everywhere")
    return call.elementwise(lambda x: npu.narrow(x))


@rx.rules.register_legalize("relax.nn.silu", target="npu")
def silu(call: Any) -> Any:
    return call.elementwise(lambda x: x * rx.number(npu.recip(rx.number(tir.exp(0.0 - x)) + 1.0)))


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
        shares = te.compute(shape[:-1], lambda *i: npu.recip(totals[i]))
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
