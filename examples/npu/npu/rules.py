# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules for operators on the vector unit that differ from the default rules."""

from __future__ import annotations

from typing import Any

import relax_mlir as rx
from relax_mlir import relax, te, tir

from .isa import FORMS, RESULTS, ROUNDINGS, SHIFT, Mode

npu = rx.Dialect("npu_unit", doc="Functions of the vector unit.")
tir.declare_intrinsic("round", "x", dialect=npu, short=True, doc="Nearest integer; ties to even.")
tir.declare_intrinsic("ftob", "x", dialect=npu, short=True, result="i8", doc="Converts to a byte, with saturation.")
tir.declare_intrinsic("narrow", "x", dialect=npu, short=True, result="bf16", doc="Converts to bf16; ties to even.")
tir.declare_intrinsic("recip", "x", dialect=npu, short=True, doc="1 / x, rounded once.")

#: Type of a result -> the instruction as an intrinsic. PrimFuncs have no unsigned types.
_REQUANTIZE = {
    bits: tir.declare_intrinsic(
        f"requantize{bits}", "sum multiplier shift zero mode result", dialect=npu, short=True, result=f"i{bits}",
        doc="Requantizes a sum by VREQUANT.",
    )
    for bits in (8, 16, 32)
}  # fmt: skip


def _unit_computes(intrinsic: str, result: str = "f32") -> None:
    """Register the vector unit's function of the same name."""

    @rx.rules.register_lower_intrinsic(intrinsic, target="npu")
    def lower(op: Any) -> Any:
        name = f"npu_{intrinsic.partition('.')[2].rstrip('0123456789')}"
        return tir.call_pure_extern(name, list(op.operation.operands), result)


_unit_computes("npu_unit.round")
_unit_computes("npu_unit.ftob", "i8")
_unit_computes("npu_unit.narrow", "bf16")
_unit_computes("npu_unit.recip")
for bits in _REQUANTIZE:
    _unit_computes(f"npu_unit.requantize{bits}", f"i{bits}")
_unit_computes("tir.exp")
_unit_computes("tir.rsqrt")


@rx.rules.register_legalize("relax.quantize", target="npu")
def quantize(call: Any) -> Any:
    if call.result_dtype() != "i8" or any(call.shape(each) for each in call.operands[1:]):
        return call.decline("only to i8, with one scale")
    return call.elementwise(lambda x, s, z: npu.ftob(rx.number(npu.round(x / s)) + z.to("f32")))


@rx.rules.register_legalize("relax.requantize", target="npu")
def requantize(call: Any) -> Any:
    op, name = call.op, call.result_dtype()
    bits = int(name.lstrip("ui"))
    if bits not in _REQUANTIZE:
        raise _refused(call, f"the vector unit stores results of 8, 16 and 32 bits, not {name}")
    shifts = rx.codegens.elements_of(op.shift)
    if op.form != "float" and (shifts is None or (abs(shifts.astype("int64")) > SHIFT).any()):
        told = "computed shifts" if shifts is None else f"a shift of {max(shifts.reshape(-1).tolist(), key=abs)}"
        raise _refused(call, f"VREQUANT has constant shifts from -{SHIFT} to {SHIFT}, not {told}")
    rank = len(call.result_shape())
    behind = rank - 1 - op.axis % max(rank, 1)
    others = [_before(each, behind) if call.shape(each) else each for each in call.operands[1:]]
    mode = Mode(FORMS.index(op.form), ROUNDINGS.index(op.rounding), op.saturate, op.double_rounding).byte

    def unit(x: Any, multiplier: Any, shift: Any, zero: Any) -> Any:
        wide = (each if each.dtype == "f32" else each.to("i32") for each in (x, multiplier, shift, zero))
        return _REQUANTIZE[bits](*wide, x.constant(mode), x.constant(RESULTS.index(name.replace("ui", "u"))))

    return call.elementwise(unit, [call.operands[0], *others])


def _before(parameter: Any, behind: int) -> Any:
    """Return the numbers of an axis, so that they broadcast along the axes behind it."""
    return relax.reshape(parameter, (-1, *[1] * behind)) if behind else parameter


def _refused(call: Any, why: str) -> rx.RelaxError:
    return rx.rewriting.located_error(f"target 'npu' cannot do relax.requantize: {why}", call.op.operation.location)


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
