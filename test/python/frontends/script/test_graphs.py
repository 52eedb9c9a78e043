# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Relax modules in TVMScript in published form, against numpy."""

import numpy
import pytest
import tvm_ffi

import relax_mlir as rx
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

RNG = numpy.random.default_rng(6)


def floats(*shape):
    return RNG.standard_normal(shape).astype("float32")


def softmax_of(x):
    power = numpy.exp(x - x.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


@tvm_ffi.register_global_func("test_script.linear")
def linear(x, w, b, out):
    numpy.from_dlpack(out)[:] = numpy.from_dlpack(x) @ numpy.from_dlpack(w) + numpy.from_dlpack(b)


@I.ir_module
class MLP:
    @T.prim_func
    def relu(x: T.handle, y: T.handle):
        n, m = T.int64(), T.int64()
        X = T.match_buffer(x, (n, m), "float32")
        Y = T.match_buffer(y, (n, m), "float32")
        for i, j in T.grid(n, m):
            with T.block("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.max(X[vi, vj], T.float32(0))

    @R.function
    def main(
        x: R.Tensor(("n", 784), dtype="float32"),
        w0: R.Tensor((784, 32), dtype="float32"),
        b0: R.Tensor((32,), dtype="float32"),
        w1: R.Tensor((32, 10), dtype="float32"),
        b1: R.Tensor((10,), dtype="float32"),
    ) -> R.Tensor(("n", 10), dtype="float32"):
        n = T.int64()
        cls = MLP
        with R.dataflow():
            lv0 = R.call_dps_packed("test_script.linear", (x, w0, b0), out_sinfo=R.Tensor((n, 32), dtype="float32"))
            lv1 = R.call_tir(cls.relu, (lv0,), out_sinfo=R.Tensor((n, 32), dtype="float32"))
            out = R.call_dps_packed("test_script.linear", (lv1, w1, b1), out_sinfo=R.Tensor((n, 10), dtype="float32"))
            R.output(out)
        return out


@I.ir_module
class Conv:
    I.module_attrs({"version": 1})

    @R.function
    def main(x: R.Tensor((1, 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv = R.nn.conv2d(x, w, strides=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1], groups=1, data_layout="NCHW")
            lv1 = R.nn.relu(lv)
            lv2 = R.nn.max_pool2d(lv1, pool_size=[2, 2], strides=[2, 2])
            gv = R.reshape(lv2, R.shape([1, 64]))
            R.output(gv)
        return gv


@I.ir_module
class Attention:
    @R.function
    def main(
        q: R.Tensor((1, "s", 2, 8), "float32"),
        k: R.Tensor((1, "t", 2, 8), "float32"),
        v: R.Tensor((1, "t", 2, 8), "float32"),
    ):
        with R.dataflow():
            a = R.permute_dims(q, axes=[0, 2, 1, 3])
            b = R.permute_dims(k, axes=[0, 2, 3, 1])
            c = R.permute_dims(v, axes=[0, 2, 1, 3])
            scores = R.multiply(R.matmul(a, b), R.const(0.35355339, "float32"))
            out = R.permute_dims(R.matmul(R.nn.softmax(scores, axis=-1), c), axes=[0, 2, 1, 3])
            R.output(out)
        return out


@I.ir_module
class Tuples:
    @R.function
    def main(x: R.Tensor((4, 6), "float32")) -> R.Tuple(R.Tensor((4, 2), "float32"), R.Tensor((4, 4), "float32")):
        parts = R.split(x, indices_or_sections=[2], axis=1)
        first = parts[0]
        rest: R.Tensor((4, 4), "float32") = R.TupleGetItem(parts, 1)
        pair = (R.negative(first), R.exp(rest))
        return pair


@I.ir_module
class Branches:
    @R.function
    def main(flag: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        if flag:
            y = R.add(x, R.const(1, "float32"))
            z = R.multiply(y, y)
        else:
            z = R.negative(x)
        w = z + x
        return w


@I.ir_module
class Casts:
    @R.function
    def main(x: R.Tensor(ndim=2, dtype="float32")) -> R.Tensor(("a * b",), "float32"):
        a, b = T.int64(), T.int64()
        lv = R.match_cast(x, R.Tensor((a, b), "float32"))
        y = R.reshape(lv, (a * b,))
        return y


@I.ir_module
class Functions:
    @R.function(private=True)
    def gate(x: R.Tensor((3, 4), "float32")) -> R.Tensor((3, 4), "float32"):
        return R.multiply(x, R.sigmoid(x))

    @R.function
    def main(x: R.Tensor((3, 4), "float32")) -> R.Tensor((3, 4), "float32"):
        cls = Functions
        y: R.Tensor((3, 4), "float32") = cls.gate(x)
        z = cls.gate(y)
        return z


@I.ir_module
class Shapes:
    @T.prim_func
    def iota(out: T.handle, start: T.int64):
        n = T.int64()
        Out = T.match_buffer(out, (n,), "int64")
        for i in range(n):
            with T.block("iota"):
                v = T.axis.spatial(n, i)
                Out[v] = T.Cast("int64", v) + start

    @R.function
    def main(x: R.Tensor(("n", "m"), "float32")):
        n, m = T.int64(), T.int64()
        places = R.call_tir(Shapes.iota, (), out_sinfo=R.Tensor((n * m,), "int64"), tir_vars=R.shape([m]))
        grid = R.reshape(places, (n, m))
        return grid


@I.ir_module
class InPlace:
    @T.prim_func
    def bump(A: T.Buffer((8,), "float32")):
        for i in range(8):
            A[i] = A[i] + T.float32(1)

    @R.function
    def main(x: R.Tensor((8,), "float32")):
        fresh = R.multiply(x, R.const(2, "float32"))
        y = R.call_tir_inplace(InPlace.bump, (fresh,), out_sinfo=R.Tensor((8,), "float32"), inplace_indices=[0])
        return y


@I.ir_module
class LayerNorm:
    @R.function
    def main(
        x: R.Tensor((2, 5, 16), "float32"), gamma: R.Tensor((16,), "float32"), beta: R.Tensor((16,), "float32")
    ) -> R.Tensor((2, 5, 16), "float32"):
        with R.dataflow():
            mean = R.mean(x, axis=[-1], keepdims=True)
            centred = x - mean
            variance = R.mean(R.square(centred), axis=[-1], keepdims=True)
            normal = centred / R.sqrt(variance + 1e-5)
            out = normal * gamma + beta
            R.output(out)
        return out


def mlp_of(x, w0, b0, w1, b1):
    return numpy.maximum(x @ w0 + b0, 0) @ w1 + b1


@I.ir_module
class LeftOut:
    @R.function
    def main(q: R.Tensor((1, 3, 2, 8)), k: R.Tensor((1, 5, 2, 8)), v: R.Tensor((1, 5, 2, 8))):
        nothing = R.null_value()
        return R.nn.attention(q, k, R.nn.attention(k, k, v, nothing), bias=nothing, scale=R.null_value())


@I.ir_module
class Repeated:
    """Repeated operators with other attributes and other types: cached facts about the first do not apply to them."""

    @R.function
    def main(x: R.Tensor((4, 6), "float32"), y: R.Tensor((6,), "float32")):
        a = R.nn.leakyrelu(x, alpha=0.5)
        b = R.nn.leakyrelu(x, alpha=0.25)
        c: R.Tensor((4, 6), "float32") = R.nn.leakyrelu(a, alpha=0.5)
        d: R.Tensor((6,), "float32") = R.nn.leakyrelu(y, alpha=0.5)
        e: R.Tensor((6,), "float32") = R.sum(b, axis=0)
        f: R.Tensor((4,), "float32") = R.sum(b, axis=1)
        g = R.sum(c, axis=1, keepdims=True)
        h = R.sum(c, axis=[0, 1])
        i = R.subtract(e, d)
        j = R.subtract(d, e)
        return i, j, f, g, h


def repeated_of(x, y):
    def leaky(value, alpha):
        return numpy.where(value > 0, value, value * numpy.float32(alpha))

    b, c, d = leaky(x, 0.25), leaky(leaky(x, 0.5), 0.5), leaky(y, 0.5)
    e = b.sum(0)
    return e - d, d - e, b.sum(1), c.sum(1, keepdims=True), c.sum()


def conv_of(x, w):
    a = numpy.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = numpy.lib.stride_tricks.sliding_window_view(a, (3, 3), (2, 3))
    c = numpy.maximum(numpy.einsum("nchwij,fcij->nfhw", windows, w), 0)
    return c.reshape(1, 4, 4, 2, 4, 2).max((3, 5)).reshape(1, 64)


def attention_of(q, k, v):
    scores = softmax_of(numpy.einsum("bshd,bthd->bhst", q, k) * numpy.float32(0.35355339))
    return numpy.einsum("bhst,bthd->bshd", scores, v)


def layer_norm_of(x, gamma, beta):
    return (x - x.mean(-1, keepdims=True)) / numpy.sqrt(x.var(-1, keepdims=True) + 1e-5) * gamma + beta


def gate(x):
    return x / (1 + numpy.exp(-x))


CASES = {
    "mlp": (MLP, (floats(5, 784), floats(784, 32), floats(32), floats(32, 10), floats(10)), mlp_of),
    "conv": (Conv, (floats(1, 3, 8, 8), floats(4, 3, 3, 3)), conv_of),
    "attention": (Attention, (floats(1, 3, 2, 8), floats(1, 5, 2, 8), floats(1, 5, 2, 8)), attention_of),
    "left_out": (
        LeftOut,
        (floats(1, 3, 2, 8), floats(1, 5, 2, 8), floats(1, 5, 2, 8)),
        lambda q, k, v: attention_of(q, k, attention_of(k, k, v)),
    ),
    "repeated": (Repeated, (floats(4, 6), floats(6)), repeated_of),
    "tuples": (Tuples, (floats(4, 6),), lambda x: (-x[:, :2], numpy.exp(x[:, 2:]))),
    "if": (Branches, (numpy.array(True), floats(4)), lambda _, x: (x + 1) ** 2 + x),
    "else": (Branches, (numpy.array(False), floats(4)), lambda _, x: numpy.zeros_like(x)),
    "casts": (Casts, (floats(3, 4),), lambda x: x.reshape(12)),
    "functions": (Functions, (floats(3, 4),), lambda x: gate(gate(x))),
    "shapes": (Shapes, (floats(3, 4),), lambda x: numpy.arange(12).reshape(3, 4) + 4),
    "in_place": (InPlace, (floats(8),), lambda x: x * 2 + 1),
    "layer_norm": (LayerNorm, (floats(2, 5, 16), floats(16), floats(16)), layer_norm_of),
}


@pytest.mark.parametrize("name", CASES)
def test_module_gives_what_numpy_gives(name):
    module, arguments, expected = CASES[name]
    given, wanted = rx.compile(module)["main"](*arguments), expected(*arguments)
    for one, other in zip(*(each if isinstance(each, tuple) else (each,) for each in (given, wanted)), strict=True):
        assert one.shape == other.shape
        numpy.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-4)


def test_packed_functions_take_truth_values_and_floats():
    text = """
@R.function
def main(x: R.Tensor((6,), "int64")):
    y = R.call_dps_packed("noted", (x, True, R.prim_value(1.5), 3), out_sinfo=R.Tensor((6,), "int64"))
    return y
"""
    seen = []

    def noted(x, *arguments):
        *numbers, out = arguments
        seen.append(numbers)
        numpy.from_dlpack(out)[:] = numpy.from_dlpack(x)

    executable = rx.compile(rx.Module.from_script(text), functions={"noted": noted})
    numpy.testing.assert_array_equal(executable["main"](numpy.arange(6)), numpy.arange(6))
    assert seen == [[True, 1.5, 3]]


def test_a_condition_that_is_a_number():
    @I.ir_module
    class Choice:
        @R.function
        def main(c: R.Prim("bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            if c:  # noqa: SIM108
                y = R.negative(x)
            else:
                y = R.abs(x)
            return y

    main, x = rx.compile(Choice)["main"], floats(2)
    numpy.testing.assert_array_equal(main(True, x), -x)
    numpy.testing.assert_array_equal(main(False, x), abs(x))
