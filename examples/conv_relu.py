# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolution, bias and ReLU as one user-defined operator: its type, ONNX node, layouts, and hand-written loops."""

import relax_mlir as rx
from relax_mlir import relax, te

like, own = relax.dialect.ops["nn.conv2d"], rx.Dialect("own", doc="Operators of this file.")
layouts = {"data": ("data_layout", "NCHW"), "weight": ("kernel_layout", "OIHW"), "result": ("out_layout", "NCHW")}
own.op("conv_relu", "data weight bias", attrs=like.attrs, infer=like.infer, layouts=layouts, windows=("HW", "weight"))


@rx.register_onnx("own", "ConvRelu")
def from_onnx(node):
    return own.conv_relu(*map(node.tensor, range(3)), strides=node.ints("strides"), padding=node.ints("pads"))


@rx.rules.register_legalize("own.conv_relu")
def legalize(call):
    if (call.op.data_layout, call.op.kernel_layout, call.op.groups) != ("NHWC", "HWIO", 1):
        return call.decline("only NHWC and HWIO, in one group: relax-convert-layout gives them")
    (dy, dx), (top, left, *_), (_, hi, wi, _) = call.op.strides, call.op.padding, call.shape(call.operands[0])
    shape = n, h, w, _ = call.result_shape()

    # fmt: off
    def conv_relu(x, weight, bias):
        r, s, c = (te.reduce_axis((0, size), name) for size, name in zip(weight.shape, "rsc", strict=False))
        room = n, h * dy - dy + r.extent, w * dx - dx + s.extent, c.extent
        inside = lambda y, x: te.all(y >= top, y < top + hi, x >= left, x < left + wi)  # noqa: E731
        pad = te.compute(room, lambda n, y, z, c: te.if_then_else(inside(y, z), x[n, y - top, z - left, c], 0.0), "pad")
        conv = te.compute(shape, lambda n, y, z, o:
            te.sum(pad[n, y * dy + r, z * dx + s, c] * weight[r, s, c, o], axis=[r, s, c]), "conv")
        return te.compute(shape, lambda n, y, z, o: te.max(conv[n, y, z, o] + bias[o], 0.0), "relu")
    # fmt: on

    return call.call_te(conv_relu)


@rx.schedules.register_schedule(operator="own.conv_relu", target="llvm")
def by_hand(function, context):
    sch = context.schedule(function)
    sch.set_scope("conv", 0, "local")
    n, y, x, o, r, s, c = sch.get_loops("conv")
    (x, xi), (o, oi, lane) = sch.split(x, [None, 7]), sch.split(o, [None, 2, 16])
    sch.reorder(n, y, x, o, r, s, c, xi, oi, lane)
    sch.reverse_compute_at("relu", o)
    sch.split(sch.get_loops("relu")[-1], [None, 16])
    for block in ("conv", sch.decompose_reduction("conv", r), "relu"):
        *_, outer, inner, lanes = sch.get_loops(block)
        sch.vectorize(lanes), sch.unroll(inner), sch.unroll(outer)
    sch.vectorize(sch.split(sch.get_loops("pad")[-1], [None, 16])[1])
    sch.parallel(sch.fuse(n, y))
    return sch
