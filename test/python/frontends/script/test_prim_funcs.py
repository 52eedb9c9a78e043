# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor programs in TVMScript in published form, against numpy."""

import math

import numpy
import pytest

import relax_mlir as rx
from relax_mlir.script import tir as T

RNG = numpy.random.default_rng(5)


def floats(*shape):
    return RNG.standard_normal(shape).astype("float32")


def run(module, *arguments):
    return rx.compile(module)["main"](*arguments)


def is_on_tensors(module):
    return "linalg.generic" in str(module) and "memref" not in str(module)


@T.prim_func
def matmul(a: T.handle, b: T.handle, c: T.handle) -> None:
    T.func_attr({"global_symbol": "matmul", "tir.noalias": True})
    m = T.int32()
    n = T.int32()
    k = T.int32()
    A = T.match_buffer(a, (m, k), "float32")
    B = T.match_buffer(b, (k, n), "float32")
    C = T.match_buffer(c, (m, n), "float32")
    for i, j, l in T.grid(m, n, k):  # noqa: E741
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, l])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def tiled_matmul(A: T.Buffer((64, 48), "float32"), B: T.Buffer((48, 32), "float32"), C: T.Buffer((64, 32), "float32")):
    for i0, j0, k0, i1, j1, k1 in T.grid(4, 2, 3, 16, 16, 16):
        with T.block("C"):
            vi = T.axis.spatial(64, i0 * 16 + i1)
            vj = T.axis.spatial(32, j0 * 16 + j1)
            vk = T.axis.reduce(48, k0 * 16 + k1)
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] += A[vi, vk] * B[vk, vj]


@T.prim_func
def fused_loop(A: T.Buffer((12, 10), "float32"), B: T.Buffer((12, 10), "float32")):
    for fused in T.parallel(120):
        with T.block("B"):
            vi = T.axis.spatial(12, fused // 10)
            vj = T.axis.spatial(10, fused % 10)
            B[vi, vj] = T.exp(A[vi, vj]) + 1.0


@T.prim_func
def predicated(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for o, i in T.grid(7, 16):
        with T.block("B"):
            v = T.axis.spatial(100, o * 16 + i)
            T.where(o * 16 + i < 100)
            B[v] = A[v] * T.float32(2)


@T.prim_func
def conv2d(
    A: T.Buffer((1, 3, 10, 10), "float32"), W: T.Buffer((8, 3, 3, 3), "float32"), C: T.Buffer((1, 8, 10, 10), "float32")
):
    padded = T.alloc_buffer((1, 3, 12, 12))
    for n, c, h, w in T.grid(1, 3, 12, 12):
        with T.block("pad"):
            vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
            padded[vn, vc, vh, vw] = T.if_then_else(
                vh >= 1 and vh < 11 and vw >= 1 and vw < 11, A[vn, vc, vh - 1, vw - 1], T.float32(0)
            )
    for n, f, y, x, rc, ry, rx_ in T.grid(1, 8, 10, 10, 3, 3, 3):
        with T.block("conv"):
            vn, vf, vy, vx, vc, vry, vrx = T.axis.remap("SSSSRRR", [n, f, y, x, rc, ry, rx_])
            with T.init():
                C[vn, vf, vy, vx] = T.float32(0)
            C[vn, vf, vy, vx] = C[vn, vf, vy, vx] + padded[vn, vc, vy + vry, vx + vrx] * W[vf, vc, vry, vrx]


@T.prim_func
def softmax(A: T.Buffer((16, 33), "float32"), B: T.Buffer((16, 33), "float32")):
    with T.block("root"):
        T.reads()
        T.writes()
        largest = T.alloc_buffer((16,), "float32")
        power = T.alloc_buffer((16, 33), "float32")
        total = T.alloc_buffer((16,), "float32")
        for i, k in T.grid(16, 33):
            with T.block("largest"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    largest[vi] = T.min_value("float32")
                largest[vi] = T.max(largest[vi], A[vi, vk])
        for i, k in T.grid(16, 33):
            with T.block("power"):
                vi, vk = T.axis.remap("SS", [i, k])
                power[vi, vk] = T.exp(A[vi, vk] - largest[vi])
        for i, k in T.grid(16, 33):
            with T.block("total"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] = total[vi] + power[vi, vk]
        for i, k in T.grid(16, 33):
            with T.block("norm"):
                vi, vk = T.axis.remap("SS", [i, k])
                T.block_attr({"axis": 1})
                B[vi, vk] = power[vi, vk] / total[vi]


@T.prim_func
def layer_norm(
    A: T.Buffer((6, 20), "float32"),
    gamma: T.Buffer((20,), "float32"),
    beta: T.Buffer((20,), "float32"),
    B: T.Buffer((6, 20), "float32"),
):
    mean = T.alloc_buffer((6,))
    square = T.alloc_buffer((6,))
    for i, k in T.grid(6, 20):
        with T.block("sums"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                mean[vi] = T.float32(0)
                square[vi] = T.float32(0)
            v_mean: T.float32 = mean[vi] + A[vi, vk]
            v_square: T.float32 = square[vi] + A[vi, vk] * A[vi, vk]
            mean[vi] = v_mean
            square[vi] = v_square
    for i, k in T.grid(6, 20):
        with T.block("norm"):
            vi, vk = T.axis.remap("SS", [i, k])
            average: T.float32 = mean[vi] / 20.0
            B[vi, vk] = (A[vi, vk] - average) * T.rsqrt(
                square[vi] / 20.0 - average * average + T.float32(1e-5)
            ) * gamma[vk] + beta[vk]


@T.prim_func
def running_sum(A: T.Buffer((5, 40), "float32"), B: T.Buffer((5, 40), "float32")):
    for i in T.serial(5):
        for k in T.serial(40):
            with T.block("scan"):
                vi = T.axis.spatial(5, i)
                vk = T.axis.opaque(40, k)
                B[vi, vk] = T.if_then_else(vk == 0, A[vi, vk], B[vi, vk - 1] + A[vi, vk])


@T.prim_func
def gather(table: T.Buffer((50, 8), "float32"), ids: T.Buffer((7,), "int64"), out: T.Buffer((7, 8), "float32")):
    for i, j in T.grid(7, 8):
        with T.block("take"):
            vi, vj = T.axis.remap("SS", [i, j])
            out[vi, vj] = table[ids[vi], vj]


@T.prim_func
def scatter_add(values: T.Buffer((30,), "float32"), ids: T.Buffer((30,), "int32"), out: T.Buffer((10,), "float32")):
    for i in range(10):
        out[i] = T.float32(0)
    for i in range(30):
        with T.block("scatter"):
            vi = T.axis.opaque(30, i)
            out[ids[vi]] = out[ids[vi]] + values[vi]


@T.prim_func
def threefry(key: T.Buffer((2,), "uint32"), out: T.Buffer((64, 2), "uint32")):
    for i in T.serial(64):
        with T.block("bits"):
            v = T.axis.spatial(64, i)
            x0: T.uint32 = T.Cast("uint32", v) + key[0]
            x1: T.uint32 = T.Cast("uint32", v * 2) + key[1]
            y0: T.uint32 = x0 + x1
            y1: T.uint32 = ((x1 << T.uint32(13)) | (x1 >> T.uint32(19))) ^ y0
            z0: T.uint32 = y0 + y1
            z1: T.uint32 = ((y1 << T.uint32(15)) | (y1 >> T.uint32(17))) ^ z0
            out[v, 0] = z0
            out[v, 1] = z1


@T.prim_func
def winograd_input(tile: T.Buffer((9, 4, 4), "float32"), out: T.Buffer((9, 4, 4), "float32")):
    for p, eps, nu, a, b in T.grid(9, 4, 4, 4, 4):
        with T.block("transform"):
            vp, ve, vn, va, vb = T.axis.remap("SSSRR", [p, eps, nu, a, b])
            with T.init():
                out[vp, ve, vn] = T.float32(0)
            out[vp, ve, vn] = out[vp, ve, vn] + tile[vp, va, vb] * T.Select(
                va % 4 == 0 and ve % 4 == 0, T.float32(1), T.Select(va == ve, T.float32(0.5), T.float32(-1))
            ) * T.Select(vb == vn, T.float32(2), T.float32(0.25))


@T.prim_func
def int8_dot(A: T.Buffer((5, 64), "uint8"), B: T.Buffer((9, 64), "int8"), C: T.Buffer((5, 9), "int32")):
    for i, j, k in T.grid(5, 9, 64):
        with T.block("dot"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vj, vk])


@T.prim_func
def attention(
    q: T.Buffer((2, 6, 8), "float32"),
    k: T.Buffer((2, 7, 8), "float32"),
    v: T.Buffer((2, 7, 8), "float32"),
    out: T.Buffer((2, 6, 8), "float32"),
):
    score = T.alloc_buffer((2, 6, 7))
    total = T.alloc_buffer((2, 6))
    for h, i, j, d in T.grid(2, 6, 7, 8):
        with T.block("score"):
            vh, vi, vj, vd = T.axis.remap("SSSR", [h, i, j, d])
            with T.init():
                score[vh, vi, vj] = T.float32(0)
            score[vh, vi, vj] += q[vh, vi, vd] * k[vh, vj, vd]
    for h, i, j in T.grid(2, 6, 7):
        with T.block("exp"):
            vh, vi, vj = T.axis.remap("SSS", [h, i, j])
            score[vh, vi, vj] = T.exp(score[vh, vi, vj] / T.sqrt(T.float32(8)))
    for h, i, j in T.grid(2, 6, 7):
        with T.block("total"):
            vh, vi, vj = T.axis.remap("SSR", [h, i, j])
            with T.init():
                total[vh, vi] = T.float32(0)
            total[vh, vi] += score[vh, vi, vj]
    for h, i, d, j in T.grid(2, 6, 8, 7):
        with T.block("out"):
            vh, vi, vd, vj = T.axis.remap("SSSR", [h, i, d, j])
            with T.init():
                out[vh, vi, vd] = T.float32(0)
            out[vh, vi, vd] += score[vh, vi, vj] * v[vh, vj, vd] / total[vh, vi]


@T.prim_func
def argmax(
    ids: T.Buffer((4, 25), "int32"),
    values: T.Buffer((4, 25), "float32"),
    out_id: T.Buffer((4,), "int32"),
    out: T.Buffer((4,), "float32"),
):
    for i, k in T.grid(4, 25):
        with T.block("argmax"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                out_id[vi] = -1
                out[vi] = T.min_value("float32")
            v_id: T.int32 = T.Select(out[vi] >= values[vi, vk], out_id[vi], ids[vi, vk])
            v: T.float32 = T.Select(out[vi] >= values[vi, vk], out[vi], values[vi, vk])
            out_id[vi] = v_id
            out[vi] = v


@T.prim_func
def max_pool(A: T.Buffer((1, 2, 9, 9), "float32"), B: T.Buffer((1, 2, 4, 4), "float32")):
    for n, c, y, x, ry, rx_ in T.grid(1, 2, 4, 4, 3, 3):
        with T.block("pool"):
            vn, vc, vy, vx, vry, vrx = T.axis.remap("SSSSRR", [n, c, y, x, ry, rx_])
            with T.init():
                B[vn, vc, vy, vx] = T.min_value("float32")
            B[vn, vc, vy, vx] = T.max(B[vn, vc, vy, vx], A[vn, vc, vy * 2 + vry, vx * 2 + vrx])


@T.prim_func
def concatenated(A: T.Buffer((5,), "float32"), B: T.Buffer((3,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(5):
        with T.block("first"):
            v = T.axis.spatial(5, i)
            C[v] = A[v]
    for i in range(3):
        with T.block("second"):
            v = T.axis.spatial(3, i)
            C[v + 5] = B[v]


@T.prim_func
def collatz(A: T.Buffer((20,), "int32"), B: T.Buffer((20,), "int32")):
    n = T.alloc_buffer((1,), "int32", scope="local")
    for i in range(20):
        n[0] = A[i]
        B[i] = 0
        while n[0] > 1:
            if n[0] % 2 == 0:
                n[0] = n[0] // 2
            else:
                n[0] = 3 * n[0] + 1
            B[i] = B[i] + 1


@T.prim_func
def transposed_half(A: T.Buffer((6, 4), "float16"), B: T.Buffer((4, 6), "float32")):
    for i, j in T.grid(4, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.Cast("float32", A[vj, vi]) * 0.5


@T.prim_func
def sorted_rows(A: T.Buffer((3, 12), "float32"), B: T.Buffer((3, 12), "float32")):
    for i in T.parallel(3):
        for j in range(12):
            B[i, j] = A[i, j]
        for a in range(11):
            for b in range(11 - a):
                if B[i, b] > B[i, b + 1]:
                    kept: T.float32 = B[i, b]
                    B[i, b] = B[i, b + 1]
                    B[i, b + 1] = kept


@T.prim_func
def shifted(A: T.Buffer((2, 64), "float32"), B: T.Buffer((2, 64), "float32")):
    for i, j in T.grid(2, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.Select(vj >= 32, A[vi, vj - 32], A[vi, vj + 32] * T.float32(-1))


@T.prim_func
def on_threads(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32")):
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(0, 32, thread="threadIdx.x"):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [bx, tx])
                B[vi, vj] = T.sigmoid(A[vi, vj])


def softmax_of(x):
    power = numpy.exp(x - x.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


def conv_of(a, w):
    a = numpy.pad(a, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = numpy.lib.stride_tricks.sliding_window_view(a, (3, 3), (2, 3))
    return numpy.einsum("nchwij,fcij->nfhw", windows, w)


def layer_norm_of(a, gamma, beta):
    return (a - a.mean(1, keepdims=True)) / numpy.sqrt(a.var(1, keepdims=True) + 1e-5) * gamma + beta


def threefry_of(key):
    i = numpy.arange(64, dtype="uint32")
    x0, x1 = i + key[0], i * numpy.uint32(2) + key[1]
    y0 = x0 + x1
    y1 = ((x1 << numpy.uint32(13)) | (x1 >> numpy.uint32(19))) ^ y0
    z0 = y0 + y1
    z1 = ((y1 << numpy.uint32(15)) | (y1 >> numpy.uint32(17))) ^ z0
    return numpy.stack([z0, z1], 1)


def winograd_of(tile):
    e = numpy.arange(4)
    left = numpy.where((e[:, None] % 4 == 0) & (e % 4 == 0), 1.0, numpy.where(e[:, None] == e, 0.5, -1.0))
    right = numpy.where(e[:, None] == e, 2.0, 0.25)
    return numpy.einsum("pab,ae,bn->pen", tile, left, right)


def attention_of(q, k, v):
    scores = numpy.exp(numpy.einsum("hid,hjd->hij", q, k) / math.sqrt(8))
    return scores / scores.sum(-1, keepdims=True) @ v


def scattered(values, ids):
    out = numpy.zeros(10, "float32")
    numpy.add.at(out, ids, values)
    return out


def collatz_of(a):
    def steps(n):
        return 0 if n <= 1 else 1 + steps(n // 2 if n % 2 == 0 else 3 * n + 1)

    return numpy.array([steps(int(n)) for n in a], "int32")


def max_pool_of(a):
    return numpy.lib.stride_tricks.sliding_window_view(a, (3, 3), (2, 3))[:, :, ::2, ::2].max((4, 5))


IDS = RNG.permutation(100).reshape(4, 25).astype("int32")
VALUES = floats(4, 25)

#: name: (function, arguments, numpy's result, whether it becomes nests on tensors)
CASES = {
    "matmul": (matmul, (floats(33, 20), floats(20, 17)), lambda a, b: a @ b, True),
    "tiled_matmul": (tiled_matmul, (floats(64, 48), floats(48, 32)), lambda a, b: a @ b, True),
    "fused_loop": (fused_loop, (floats(12, 10),), lambda a: numpy.exp(a) + 1, True),
    "predicated": (predicated, (floats(100),), lambda a: a * 2, True),
    "conv2d": (conv2d, (floats(1, 3, 10, 10), floats(8, 3, 3, 3)), conv_of, True),
    "softmax": (softmax, (floats(16, 33),), softmax_of, True),
    "layer_norm": (layer_norm, (floats(6, 20), floats(20), floats(20)), layer_norm_of, True),
    "running_sum": (running_sum, (floats(5, 40),), lambda a: numpy.cumsum(a, 1), False),
    "gather": (gather, (floats(50, 8), RNG.integers(0, 50, 7)), lambda t, ids: t[ids], True),
    "scatter_add": (scatter_add, (floats(30), RNG.integers(0, 10, 30).astype("int32")), scattered, False),
    "threefry": (threefry, (numpy.array([7, 4000000000], "uint32"),), threefry_of, False),
    "winograd_input": (winograd_input, (floats(9, 4, 4),), winograd_of, True),
    "int8_dot": (
        int8_dot,
        (RNG.integers(0, 256, (5, 64)).astype("uint8"), RNG.integers(-128, 128, (9, 64)).astype("int8")),
        lambda a, b: a.astype("int32") @ b.astype("int32").T,
        True,
    ),
    "attention": (attention, (floats(2, 6, 8), floats(2, 7, 8), floats(2, 7, 8)), attention_of, True),
    "argmax": (
        argmax,
        (IDS, VALUES),
        lambda ids, values: (numpy.take_along_axis(ids, values.argmax(1)[:, None], 1)[:, 0], values.max(1)),
        True,
    ),
    "max_pool": (max_pool, (floats(1, 2, 9, 9),), max_pool_of, True),
    "concatenated": (concatenated, (floats(5), floats(3)), lambda a, b: numpy.concatenate([a, b]), True),
    "collatz": (collatz, (numpy.arange(1, 21, dtype="int32"),), collatz_of, False),
    "transposed_half": (
        transposed_half,
        (floats(6, 4).astype("float16"),),
        lambda a: a.T.astype("float32") * 0.5,
        True,
    ),
    "sorted_rows": (sorted_rows, (floats(3, 12),), lambda a: numpy.sort(a, 1), False),
    "shifted": (shifted, (floats(2, 64),), lambda a: numpy.concatenate([-a[:, 32:], a[:, :32]], 1), True),
    "on_threads": (on_threads, (floats(4, 32),), lambda a: 1 / (1 + numpy.exp(-a)), True),
}


@pytest.mark.parametrize("name", CASES)
def test_program_gives_what_numpy_gives(name):
    function, arguments, expected, on_tensors = CASES[name]
    assert is_on_tensors(function) == on_tensors, str(function)
    given = run(function, *arguments)
    wanted = expected(*arguments)
    for one, other in zip(*((each if isinstance(each, tuple) else (each,)) for each in (given, wanted)), strict=True):
        assert one.dtype == other.dtype or one.dtype == numpy.float32
        numpy.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


def test_affine_indices_are_operands():
    """Read `T.floordiv(v, 2)` as an operand of the nest, not element by element."""
    text = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[T.floordiv(i, 2)] + A[(i * 3 + 1) % 8] + A[7 - i] * A[i // 4 + i % 2]
"""
    module = rx.Module.from_script(text)
    assert "tensor.extract" not in str(module) and str(module).count("affine_map") == 5
    a, i = floats(8), numpy.arange(8)
    expected = a[i // 2] + a[(i * 3 + 1) % 8] + a[7 - i] * a[i // 4 + i % 2]
    numpy.testing.assert_allclose(run(module, a), expected, rtol=1e-5)


@pytest.mark.parametrize("loop", ["T.serial(1)", "T.grid(1)", "T.unroll(1)", "T.serial(2)"])
def test_a_block_can_use_an_outer_loops_variable(loop):
    main = rx.compile(
        rx.Module.from_script(f"""
@T.prim_func
def main(A: T.Buffer((3, 4), "float32"), B: T.Buffer((4,), "float32")):
    for i in {loop}:
        for j in T.grid(4):
            with T.block("copy"):
                v = T.axis.spatial(4, j)
                B[v] = A[i, v] + 1.0
""")
    )["main"]
    a = floats(3, 4)
    numpy.testing.assert_array_equal(main(a), a[int("(2)" in loop)] + 1)
