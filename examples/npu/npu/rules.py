# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What operators are on the machine, where that is not what they are everywhere."""

from __future__ import annotations

import math
from typing import Any

import relax_mlir as rx
from relax_mlir import te, tir

npu = rx.Dialect("npu", doc="What the vector unit computes.")
tir.declare_intrinsic("recip", "x", dialect=npu, doc="1 / x, rounded once.")
tir.declare_intrinsic("ftob", "x", dialect=npu, doc="Rounded to even, and to -128 or 127 beyond.", )


def _function(intrinsic: str, name: str, result: str = "f32") -> None:
    @rx.rules.register_lower_intrinsic(intrinsic, target="npu")
    def call_the_unit(op: Any) -> Any:
        return tir.call_pure_extern(name, [op.x], result)


for each, function in {"tir.exp": "exp", "tir.rsqrt": "rsqrt", "npu.recip": "recip"}.items():
    _function(each, f"npu_{function}")


@rx.rules.register_legalize("relax.nn.conv2d", target="npu")
def conv2d(call: Any) -> Any:
    op = call.op
    if (op.data_layout, op.kernel_layout, op.groups) != ("NHWC", "HWIO", 1) or any(op.padding):
        return call.decline("only NHWC without groups; padding has become an operator")
    (sy, sx), (dy, dx) = op.strides, op.dilation

    def sums(x: Any, w: Any) -> Any:
        r, s, c = (te.reduce_axis((0, size)) for size in call.shape(call.operands[1])[:3])
        total = call.result_dtype()
        return te.compute(
            call.result_shape(),
            lambda n, i, j, o: te.sum(
                x[n, i * sy + r * dy, j * sx + s * dx, c].astype(total) * w[r, s, c, o].astype(total), axis=[r, s, c]
            ),
        )

    return call.call_te(sums)
