# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-convert-layout='desired=relax.nn.conv2d:NHWC:OHWI' --print-script | FileCheck %s
# RUN: relax-opt %s --print-script \
# RUN:   --relax-convert-layout='desired=relax.nn.max_pool2d:NHWC,relax.image.resize2d:NHWC,relax.nn.conv2d:NCHW:HWIO:NHWC' \
# RUN:   | FileCheck %s --check-prefix=OTHERS
"""Situations of Apache TVM's test_transform_convert_layout.py."""

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Module:
    # Axes go along, counted from the front; a norm's parameters stay, they lie in the order of its axes.
    # CHECK-LABEL: def axes(
    # CHECK: x_1: R.Tensor((2, 6, 8, 4), "float32") = R.permute_dims(x, axes=(0, 2, 3, 1))
    # CHECK-NEXT: w_1: R.Tensor((4, 1, 1, 4), "float32") = R.reshape(w, (4, 1, 1, 4))
    # CHECK-NEXT: y: R.Tensor((2, 6, 8, 4), "float32") = R.nn.conv2d(x_1, w_1, data_layout="NHWC", kernel_layout="OHWI")
    # CHECK-NEXT: s: R.Tensor((2, 6, 8, 4), "float32") = R.nn.softmax(y, axis=3)
    # CHECK-NEXT: t: R.Tensor((2, 6, 8, 4), "float32") = R.nn.layer_norm(s, g, g, axes=(3, 2))
    # CHECK-NEXT: f: R.Tensor((2, 6, 8, 4), "float32") = R.flip(t, axis=2)
    # CHECK-NEXT: p: R.Tensor((2, 11, 8, 5), "float32") = R.nn.pad(f, pad_width=(0, 0, 2, 3, 0, 0, 0, 1))
    # CHECK-NEXT: q: R.Tensor((2, 6, 8, 4), "float32") = R.strided_slice(p, axes=(3, 1), begin=(1, 2), end=(5, 8))
    # CHECK-NEXT: r: R.Tensor((2, 6, 8, 4), "float32") = R.cumsum(q, axis=0)
    # CHECK-NEXT: r_1: R.Tensor((2, 4, 6, 8), "float32") = R.permute_dims(r, axes=(0, 3, 1, 2))
    # CHECK-NEXT: return r_1
    @R.function
    def axes(
        x: R.Tensor((2, 4, 6, 8), "float32"), w: R.Tensor((4, 4, 1, 1), "float32"), g: R.Tensor((4, 8), "float32")
    ) -> R.Tensor((2, 4, 6, 8), "float32"):
        y = R.nn.conv2d(x, w)
        s = R.nn.softmax(y, axis=1)
        t = R.nn.layer_norm(s, g, g, axes=[1, -1])
        f = R.flip(t, axis=-1)
        p = R.nn.pad(f, pad_width=[0, 0, 0, 1, 2, 3, 0, 0])
        q = R.strided_slice(p, axes=[1, 2], begin=[1, 2], end=[5, 8])
        r = R.cumsum(q, axis=0)
        return r

    # Dimensions that go and come.
    # CHECK-LABEL: def dimensions(
    # CHECK: x_1: R.Tensor((2, 6, 8, 4), "float32") = R.permute_dims(x, axes=(0, 2, 3, 1))
    # CHECK-NEXT: w_1: R.Tensor((4, 1, 1, 4), "float32") = R.reshape(w, (4, 1, 1, 4))
    # CHECK-NEXT: y: R.Tensor((2, 6, 8, 4), "float32") = R.nn.conv2d(x_1, w_1, data_layout="NHWC", kernel_layout="OHWI")
    # CHECK-NEXT: m: R.Tensor((2, 8, 4), "float32") = R.max(y, axis=(1,))
    # CHECK-NEXT: e: R.Tensor((2, 1, 8, 4), "float32") = R.expand_dims(m, axis=(1,))
    # CHECK-NEXT: r: R.Tensor((2, 1, 8, 4), "float32") = R.nn.relu(e)
    # CHECK-NEXT: return r
    @R.function
    def dimensions(x: R.Tensor((2, 4, 6, 8), "float32"), w: R.Tensor((4, 4, 1, 1), "float32")) -> R.Tensor(
        (2, 1, 8, 4), "float32"
    ):
        y = R.nn.conv2d(x, w)
        m = R.max(y, axis=[2])
        e = R.expand_dims(m, axis=[1])
        r = R.nn.relu(e)
        t = R.permute_dims(r, axes=[0, 1, 3, 2])
        return t

    # Several results; parameters of a channel each.
    # CHECK-LABEL: def results(
    # CHECK: x_1: R.Tensor((2, 6, 8, 4), "float32") = R.permute_dims(x, axes=(0, 2, 3, 1))
    # CHECK-NEXT: w_1: R.Tensor((4, 1, 1, 4), "float32") = R.reshape(w, (4, 1, 1, 4))
    # CHECK-NEXT: y: R.Tensor((2, 6, 8, 4), "float32") = R.nn.conv2d(x_1, w_1, data_layout="NHWC", kernel_layout="OHWI")
    # CHECK-NEXT: result_0, new_mean_0, new_var_0 = R.nn.batch_norm(
    # CHECK-NEXT: y, g, g, g, g, axis=3,
    # CHECK-NEXT: out_sinfo=[R.Tensor((2, 6, 8, 4), "float32"), R.Tensor((4,), "float32"), R.Tensor((4,), "float32")],
    # CHECK-NEXT: )
    # CHECK-NEXT: split_0, split_1 = R.split(
    # CHECK-NEXT: result_0, indices_or_sections=2, axis=1,
    # CHECK-NEXT: out_sinfo=[R.Tensor((2, 3, 8, 4), "float32"), R.Tensor((2, 3, 8, 4), "float32")],
    # CHECK-NEXT: )
    # CHECK-NEXT: c: R.Tensor((2, 3, 8, 4), "float32") = R.add(split_0, split_1)
    # CHECK-NEXT: c_1: R.Tensor((2, 4, 3, 8), "float32") = R.permute_dims(c, axes=(0, 3, 1, 2))
    # CHECK-NEXT: return c_1, new_mean_0
    @R.function
    def results(
        x: R.Tensor((2, 4, 6, 8), "float32"), w: R.Tensor((4, 4, 1, 1), "float32"), g: R.Tensor((4,), "float32")
    ) -> R.Tuple(R.Tensor((2, 4, 3, 8), "float32"), R.Tensor((4,), "float32")):
        y = R.nn.conv2d(x, w)
        n, mean, var = R.nn.batch_norm(y, g, g, g, g, axis=1)
        a, b = R.split(n, indices_or_sections=2, axis=2)
        c = R.add(a, b)
        return c, mean

    # Layouts of other operators follow, and can be asked for: the result's own, too.
    # CHECK-LABEL: def images(
    # CHECK: x_1: R.Tensor((2, 6, 8, 4), "float32") = R.permute_dims(x, axes=(0, 2, 3, 1))
    # CHECK-NEXT: w_1: R.Tensor((4, 1, 1, 4), "float32") = R.reshape(w, (4, 1, 1, 4))
    # CHECK-NEXT: y: R.Tensor((2, 6, 8, 4), "float32") = R.nn.conv2d(x_1, w_1, data_layout="NHWC", kernel_layout="OHWI")
    # CHECK-NEXT: p: R.Tensor((2, 5, 7, 4), "float32") = R.nn.max_pool2d(y, pool_size=(2, 2), layout="NHWC")
    # CHECK-NEXT: p_1: R.Tensor((2, 4, 5, 7), "float32") = R.permute_dims(p, axes=(0, 3, 1, 2))
    # CHECK-NEXT: z: R.Tensor((2, 4, 9, 9), "float32") = R.image.resize2d(p_1, (9, 9))
    # CHECK-NEXT: return z
    # OTHERS-LABEL: def images(
    # OTHERS: w_1: R.Tensor((1, 1, 4, 4), "float32") = R.permute_dims(w, axes=(2, 3, 1, 0))
    # OTHERS-NEXT: y: R.Tensor((2, 6, 8, 4), "float32") = R.nn.conv2d(x, w_1, kernel_layout="HWIO", out_layout="NHWC")
    # OTHERS-NEXT: p: R.Tensor((2, 5, 7, 4), "float32") = R.nn.max_pool2d(y, pool_size=(2, 2), layout="NHWC")
    # OTHERS-NEXT: z: R.Tensor((2, 9, 9, 4), "float32") = R.image.resize2d(p, (9, 9), layout="NHWC")
    # OTHERS-NEXT: z_1: R.Tensor((2, 4, 9, 9), "float32") = R.permute_dims(z, axes=(0, 3, 1, 2))
    # OTHERS-NEXT: return z_1
    @R.function
    def images(x: R.Tensor((2, 4, 6, 8), "float32"), w: R.Tensor((4, 4, 1, 1), "float32")) -> R.Tensor(
        (2, 4, 9, 9), "float32"
    ):
        y = R.nn.conv2d(x, w)
        p = R.nn.max_pool2d(y, pool_size=(2, 2))
        z = R.image.resize2d(p, R.shape((9, 9)))
        return z

    # Operators that depend on positions do not follow.
    # CHECK-LABEL: def places(
    # CHECK: x_1: R.Tensor((2, 6, 8, 4), "float32") = R.permute_dims(x, axes=(0, 2, 3, 1))
    # CHECK-NEXT: w_1: R.Tensor((4, 1, 1, 4), "float32") = R.reshape(w, (4, 1, 1, 4))
    # CHECK-NEXT: y: R.Tensor((2, 6, 8, 4), "float32") = R.nn.conv2d(x_1, w_1, data_layout="NHWC", kernel_layout="OHWI")
    # CHECK-NEXT: y_1: R.Tensor((2, 4, 6, 8), "float32") = R.permute_dims(y, axes=(0, 3, 1, 2))
    # CHECK-NEXT: t: R.Tensor((2, 4, 6, 8), "float32") = R.tril(y_1, T.int64(0))
    # CHECK-NEXT: f: R.Tensor((384,), "float32") = R.flatten(y_1)
    # CHECK-NEXT: return t, f
    @R.function
    def places(x: R.Tensor((2, 4, 6, 8), "float32"), w: R.Tensor((4, 4, 1, 1), "float32")) -> R.Tuple(
        R.Tensor((2, 4, 6, 8), "float32"), R.Tensor((384,), "float32")
    ):
        y = R.nn.conv2d(x, w)
        t = R.tril(y, T.int64(0))
        f = R.flatten(y)
        return t, f

    # An operator with a larger result than operand comes after the conversion.
    # CHECK-LABEL: def larger(
    # CHECK: x_1: R.Tensor((2, 6, 8, 4), "float32") = R.permute_dims(x, axes=(0, 2, 3, 1))
    # CHECK-NEXT: w_1: R.Tensor((4, 1, 1, 4), "float32") = R.reshape(w, (4, 1, 1, 4))
    # CHECK-NEXT: y: R.Tensor((2, 6, 8, 4), "float32") = R.nn.conv2d(x_1, w_1, data_layout="NHWC", kernel_layout="OHWI")
    # CHECK-NEXT: y_1: R.Tensor((2, 4, 6, 8), "float32") = R.permute_dims(y, axes=(0, 3, 1, 2))
    # CHECK-NEXT: t: R.Tensor((2, 4, 12, 8), "float32") = R.tile(y_1, repeats=(2, 1))
    # CHECK-NEXT: return t
    @R.function
    def larger(x: R.Tensor((2, 4, 6, 8), "float32"), w: R.Tensor((4, 4, 1, 1), "float32")) -> R.Tensor(
        (2, 4, 12, 8), "float32"
    ):
        y = R.nn.conv2d(x, w)
        t = R.tile(y, repeats=[2, 1])
        return t
