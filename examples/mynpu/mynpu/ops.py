# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of a fictional accelerator."""

import relax_mlir as rx

mynpu = rx.Dialect("mynpu", doc="Operators that are one instruction of the accelerator.")


def like_x(call):
    """Infer the result, and refuse operands that the hardware does not support. The verifier is this same function."""
    call.require(call.x.dtype in ("f16", "f32"), f"{call.describe('x')} must have f16 or f32 elements")
    call.require(call.scale > 0, f"{call.describe('scale')} must be positive")
    return call.x


mynpu.op("scaled_relu", "x", attrs={"scale": rx.attrs.Float(1.0)}, infer=like_x, doc="scale * max(x, 0).")
