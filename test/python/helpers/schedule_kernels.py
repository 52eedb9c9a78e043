# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PrimFuncs for tests of schedules, and their results by numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import relax_mlir as rx

_HEAD = "from relax_mlir.script import tir as T\n\n"


#: Values of dynamic sizes.
_SIZES = (0, 1, 2, 5, 17, 33)


class Kernel(NamedTuple):
    name: str
    text: str
    #: Shapes and dtypes; a dynamic size is a name, and drawn.
    inputs: tuple[tuple[tuple[int | str, ...], str], ...]
    expected: Callable[..., Any]

    def module(self) -> rx.Module:
        return rx.Module.from_script(_HEAD + self.text)

    def arrays(self, seed: int) -> list[np.ndarray]:
        random = np.random.default_rng(seed)
        drawn = {
            name: int(random.choice(_SIZES)) for shape, _ in self.inputs for name in shape if isinstance(name, str)
        }
        made = []
        for shape, dtype in self.inputs:
            sizes = tuple(drawn[size] if isinstance(size, str) else size for size in shape)
            whole = dtype == "bool" or "int" in dtype
            low, high = (0, 2) if dtype == "bool" else (-8, 8)
            made.append((random.integers(low, high, sizes) if whole else random.normal(size=sizes)).astype(dtype))
        return made


def _softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def _updated(a: np.ndarray) -> np.ndarray:
    b = a * 2
    d = b + 1
    b[:, 1:] = d[:, :-1] * 0.5
    return b + d + d


def _padded(a: np.ndarray) -> np.ndarray:
    p = np.pad(a * 2, ((2, 2), (1, 2)), constant_values=5)
    return p[0:12, 2:16] + p[1:13, 1:15] + p[2:14, 0:14]


def _looked_up(a: np.ndarray, i: np.ndarray) -> np.ndarray:
    rows, columns = np.arange(14)[:, None], np.arange(6)[None]
    return (a + 1)[np.maximum(i, 0)][:, ::2] + (a + 1)[rows // 2, columns + rows // 3]


def _convolution(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(1, 2))[:, ::2, ::2]
    return np.einsum("chwrs,ocrs->ohw", windows, w)


def _blurred(x: np.ndarray) -> np.ndarray:
    rows = x[:, :-2] + x[:, 1:-1] + x[:, 2:]
    return rows[:-2] + rows[1:-1] + rows[2:]


_MATMUL = """
@T.prim_func
def matmul(A: T.Buffer((21, 24), "float32"), B: T.Buffer((24, 35), "float32"), C: T.Buffer((21, 35), "float32")):
    for i, j, k in T.grid(21, 35, 24):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""

_MATMUL_RELU = """
@T.prim_func
def matmul_relu(A: T.Buffer((16, 24), "float32"), B: T.Buffer((24, 32), "float32"), C: T.Buffer((16, 32), "float32")):
    Y = T.alloc_buffer((16, 32), "float32")
    for i, j, k in T.grid(16, 32, 24):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(16, 32):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.max(Y[vi, vj], T.float32(0))
"""

_CHAIN = """
@T.prim_func
def chain(A: T.Buffer((12, 30), "float32"), D: T.Buffer((12, 30), "float32")):
    B = T.alloc_buffer((12, 30), "float32")
    C = T.alloc_buffer((12, 30), "float32")
    for i, j in T.grid(12, 30):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(12, 30):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
    for i, j in T.grid(12, 30):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] * A[vi, vj]
"""

_SOFTMAX = """
@T.prim_func
def softmax(A: T.Buffer((9, 40), "float32"), D: T.Buffer((9, 40), "float32")):
    M = T.alloc_buffer((9,), "float32")
    E = T.alloc_buffer((9, 40), "float32")
    S = T.alloc_buffer((9,), "float32")
    for i, k in T.grid(9, 40):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.min_value("float32")
            M[vi] = T.max(M[vi], A[vi, vk])
    for i, j in T.grid(9, 40):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = T.exp(A[vi, vj] - M[vi])
    for i, k in T.grid(9, 40):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + E[vi, vk]
    for i, j in T.grid(9, 40):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = E[vi, vj] / S[vi]
"""

_CONVOLUTION = """
@T.prim_func
def convolution(
    X: T.Buffer((5, 11, 13), "float32"), W: T.Buffer((6, 5, 3, 3), "float32"), Y: T.Buffer((6, 5, 6), "float32")
):
    for o, h, w, c, r, s in T.grid(6, 5, 6, 5, 3, 3):
        with T.block("Y"):
            vo, vh, vw, vc, vr, vs = T.axis.remap("SSSRRR", [o, h, w, c, r, s])
            with T.init():
                Y[vo, vh, vw] = T.float32(0)
            Y[vo, vh, vw] = Y[vo, vh, vw] + X[vc, vh * 2 + vr, vw * 2 + vs] * W[vo, vc, vr, vs]
"""

_BLUR = """
@T.prim_func
def blur(A: T.Buffer((18, 22), "float32"), C: T.Buffer((16, 20), "float32")):
    B = T.alloc_buffer((18, 20), "float32")
    for i, j in T.grid(18, 20):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + A[vi, vj + 1] + A[vi, vj + 2]
    for i, j in T.grid(16, 20):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vi + 1, vj] + B[vi + 2, vj]
"""

_TRANSPOSE = """
@T.prim_func
def transpose(A: T.Buffer((14, 3, 20), "float32"), B: T.Buffer((20, 14, 3), "float32")):
    for i, j, k in T.grid(20, 14, 3):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = A[vj, vk, vi]
"""

_BYTES = """
@T.prim_func
def products_of_bytes(A: T.Buffer((13, 32), "int8"), B: T.Buffer((20, 32), "int8"), C: T.Buffer((13, 20), "int32")):
    for i, j, k in T.grid(13, 20, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vj, vk])
"""

_OPEN = """
@T.prim_func
def rows(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 33), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i, k in T.grid(n, 33):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk] * A[vi, vk]
"""

_MEANS = """
@T.prim_func
def means(a: T.handle, b: T.handle):
    m, n = T.int64(), T.int64()
    A = T.match_buffer(a, (m, n), "float32")
    C = T.match_buffer(b, (m, n), "float32")
    B = T.alloc_buffer((m,), "float32")
    for i, k in T.grid(m, n):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
    for i, j in T.grid(m, n):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] - B[vi] * T.float32(0.25)
"""

_OPEN_MATMUL = """
@T.prim_func
def open_matmul(a: T.handle, b: T.handle, c: T.handle):
    m, n, k = T.int64(), T.int64(), T.int64()
    A = T.match_buffer(a, (m, k), "float32")
    B = T.match_buffer(b, (k, n), "float32")
    D = T.match_buffer(c, (m, n), "float32")
    C = T.alloc_buffer((m, n), "float32")
    for i, j, l in T.grid(m, n, k):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, l])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(m, n):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + T.float32(1)
"""

_GATHER = """
@T.prim_func
def gather(A: T.Buffer((10, 24), "float32"), I: T.Buffer((7,), "int64"), B: T.Buffer((7, 24), "float32")):
    for i, j in T.grid(7, 24):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[T.max(I[vi], T.int64(0)), vj] + T.Cast("float32", vj)
"""

_CHOSEN = """
@T.prim_func
def chosen(A: T.Buffer((14, 20), "float32"), M: T.Buffer((14, 20), "bool"), C: T.Buffer((14, 20), "bool")):
    B = T.alloc_buffer((14, 20), "bool")
    for i, j in T.grid(14, 20):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] > T.float32(0)
    for i, j in T.grid(14, 20):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.Select(M[vi, vj], B[vi, vj], A[vi, vj] < T.float32(-1))
"""

_HALVES = """
@T.prim_func
def halves(A: T.Buffer((15, 24), "float16"), B: T.Buffer((15,), "float32"), C: T.Buffer((15, 24), "float16")):
    for i, k in T.grid(15, 24):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + T.Cast("float32", A[vi, vk])
    for i, j in T.grid(15, 24):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * A[vi, vj]
"""

_IN_PLACE = """
@T.prim_func
def in_place(A: T.Buffer((12, 20), "float32"), C: T.Buffer((12, 20), "float32")):
    B = T.alloc_buffer((12, 20), "float32")
    D = T.alloc_buffer((12, 20), "float32")
    for i, j in T.grid(12, 20):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(12, 20):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] + T.float32(1)
    for i, j in T.grid(12, 19):
        with T.block("part"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj + 1] = D[vi, vj] * T.float32(0.5)
    for i, j in T.grid(12, 20):
        with T.block("update"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = B[vi, vj] + D[vi, vj]
    for i, j in T.grid(12, 20):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + D[vi, vj]
"""

_SHIFTED = """
@T.prim_func
def shifted(A: T.Buffer((12, 16), "float32"), C: T.Buffer((12, 18), "float32")):
    for i, j in T.grid(12, 18):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.float32(3)
    for i, j, k in T.grid(12, 16, 2):
        with T.block("sum"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj + 1] = C[vi, vj + 1] + A[vi, vj] * T.Cast("float32", vk + 1)
"""

_PADDED = """
@T.prim_func
def padded(A: T.Buffer((10, 13), "float32"), C: T.Buffer((12, 14), "float32")):
    B = T.alloc_buffer((10, 13), "float32")
    P = T.alloc_buffer((14, 16), "float32")
    for i, j in T.grid(10, 13):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(14, 16):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = T.if_then_else(
                vi >= 2 and vi < 12 and 1 <= vj and vj < 14, B[vi - 2, vj - 1], T.float32(5))
    for i, j, k in T.grid(12, 14, 3):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + P[vi + vk, vj + 2 - vk]
"""

_LOOKED_UP = """
@T.prim_func
def looked_up(A: T.Buffer((9, 12), "float32"), I: T.Buffer((14,), "int64"), C: T.Buffer((14, 6), "float32")):
    B = T.alloc_buffer((9, 12), "float32")
    for i, j in T.grid(9, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(14, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[I[vi], vj * 2] + B[vi // 2, vj + vi // 3]
"""

_LARGEST = """
@T.prim_func
def largest(A: T.Buffer((9, 22), "float32"), I: T.Buffer((9,), "int32"), V: T.Buffer((9,), "float32")):
    for i, k in T.grid(9, 22):
        with T.block("I"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                I[vi] = -1
                V[vi] = T.min_value("float32")
            index: T.int32 = T.Select(V[vi] >= A[vi, vk], I[vi], T.Cast("int32", vk))
            value: T.float32 = T.Select(V[vi] >= A[vi, vk], V[vi], A[vi, vk])
            I[vi] = index
            V[vi] = value
"""

#: Several blocks in a loop, sums that go on from tile to tile, a copy that is made again for each tile of columns.
_TILED = """
@T.prim_func
def tiled(A: T.Buffer((24, 20), "float32"), B: T.Buffer((20, 32), "float32"), C: T.Buffer((24, 32), "float32")):
    rows = T.alloc_buffer((24, 20))
    sums = T.alloc_buffer((24, 32), scope="local")
    for i0 in T.parallel(4):
        for j0 in range(2):
            for i1, j1 in T.grid(6, 16):
                with T.block("start"):
                    vi = T.axis.spatial(24, i0 * 6 + i1)
                    vj = T.axis.spatial(32, j0 * 16 + j1)
                    sums[vi, vj] = T.float32(0)
            for k0 in range(4):
                for i1, k1 in T.grid(6, 5):
                    with T.block("rows"):
                        vi = T.axis.spatial(24, i0 * 6 + i1)
                        vk = T.axis.spatial(20, k0 * 5 + k1)
                        rows[vi, vk] = A[vi, vk] * T.float32(2)
                for i1, k1, j1 in T.grid(6, 5, 16):
                    with T.block("sums"):
                        vi = T.axis.spatial(24, i0 * 6 + i1)
                        vj = T.axis.spatial(32, j0 * 16 + j1)
                        vk = T.axis.reduce(20, k0 * 5 + k1)
                        sums[vi, vj] = sums[vi, vj] + rows[vi, vk] * B[vk, vj]
            for i1, j1 in T.grid(6, 16):
                with T.block("C"):
                    vi = T.axis.spatial(24, i0 * 6 + i1)
                    vj = T.axis.spatial(32, j0 * 16 + j1)
                    C[vi, vj] = sums[vi, vj] + T.float32(1)
"""

#: Blocks in a block, loops that go too far, variables that are one dimension together.
_NESTED = """
@T.prim_func
def nested(A: T.Buffer((20, 24), "float32"), C: T.Buffer((20, 24), "float32")):
    B = T.alloc_buffer((20, 24))
    for i, j in T.grid(5, 3):
        with T.block("outer"):
            vio, vjo = T.axis.remap("SS", [i, j])
            for i1, j1 in T.grid(4, 8):
                with T.block("B"):
                    vii, vji = T.axis.remap("SS", [i1, j1])
                    B[vio * 4 + vii, vjo * 8 + vji] = A[vio * 4 + vii, vjo * 8 + vji] * T.float32(2)
        for f in range(35):
            with T.block("C"):
                vi = T.axis.spatial(20, i * 4 + f // 8)
                vj = T.axis.spatial(24, j * 8 + f % 8)
                T.where(f < 32)
                C[vi, vj] = B[vi, vj] + T.float32(1)
"""

#: Rows that overlap are made once for each tile that needs them.
_OVERLAPPING = """
@T.prim_func
def overlapping(A: T.Buffer((18, 14), "float32"), C: T.Buffer((16, 14), "float32")):
    B = T.alloc_buffer((18, 14))
    for i0 in range(4):
        for i1, j in T.grid(6, 14):
            with T.block("B"):
                vi = T.axis.spatial(18, i0 * 4 + i1)
                vj = T.axis.spatial(14, j)
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i1, j, k in T.grid(4, 14, 3):
            with T.block("C"):
                vi = T.axis.spatial(16, i0 * 4 + i1)
                vj, vk = T.axis.remap("SR", [j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + B[vi + vk, vj]
"""

KERNELS = (
    Kernel("matmul", _MATMUL, (((21, 24), "float32"), ((24, 35), "float32")), lambda a, b: a @ b),
    Kernel("matmul_relu", _MATMUL_RELU, (((16, 24), "float32"), ((24, 32), "float32")),
           lambda a, b: np.maximum(a @ b, 0)),
    Kernel("chain", _CHAIN, (((12, 30), "float32"),), lambda a: (a * 2 + 1) * a),
    Kernel("softmax", _SOFTMAX, (((9, 40), "float32"),), _softmax),
    Kernel("convolution", _CONVOLUTION, (((5, 11, 13), "float32"), ((6, 5, 3, 3), "float32")), _convolution),
    Kernel("blur", _BLUR, (((18, 22), "float32"),), _blurred),
    Kernel("transpose", _TRANSPOSE, (((14, 3, 20), "float32"),), lambda a: a.transpose(2, 0, 1)),
    Kernel("products_of_bytes", _BYTES, (((13, 32), "int8"), ((20, 32), "int8")),
           lambda a, b: a.astype("int32") @ b.astype("int32").T),
    Kernel("rows", _OPEN, ((("n", 33), "float32"),), lambda a: (a * a).sum(axis=1)),
    Kernel("means", _MEANS, ((("m", "n"), "float32"),), lambda a: a - a.sum(axis=1, keepdims=True) * 0.25),
    Kernel("open_matmul", _OPEN_MATMUL, ((("m", "k"), "float32"), (("k", "n"), "float32")), lambda a, b: a @ b + 1),
    Kernel("gather", _GATHER, (((10, 24), "float32"), ((7,), "int64")),
           lambda a, i: a[np.maximum(i, 0)] + np.arange(24, dtype="float32")),
    Kernel("chosen", _CHOSEN, (((14, 20), "float32"), ((14, 20), "bool")), lambda a, m: np.where(m, a > 0, a < -1)),
    Kernel("halves", _HALVES, (((15, 24), "float16"),), lambda a: (a.astype("float32").sum(axis=1), a * a)),
    Kernel("in_place", _IN_PLACE, (((12, 20), "float32"),), _updated),
    Kernel("shifted", _SHIFTED, (((12, 16), "float32"),), lambda a: np.pad(a * 3, ((0, 0), (1, 1))) + np.float32(3)),
    Kernel("tiled", _TILED, (((24, 20), "float32"), ((20, 32), "float32")), lambda a, b: (a * 2) @ b + 1),
    Kernel("nested", _NESTED, (((20, 24), "float32"),), lambda a: a * 2 + 1),
    Kernel("overlapping", _OVERLAPPING, (((18, 14), "float32"),), lambda a: 2 * (a[:-2] + a[1:-1] + a[2:])),
    Kernel("largest", _LARGEST, (((9, 22), "float32"),), lambda a: (a.argmax(axis=1).astype("int32"), a.max(axis=1))),
    Kernel("padded", _PADDED, (((10, 13), "float32"),), _padded),
    Kernel("looked_up", _LOOKED_UP, (((9, 12), "float32"), ((14,), "int64")), _looked_up),
)  # fmt: skip


def kernel(name: str) -> Kernel:
    return next(each for each in KERNELS if each.name == name)


def check(kernel: Kernel, schedule: rx.Schedule, seed: int = 0) -> None:
    """Check that the scheduled PrimFunc computes what numpy computes."""
    agree(kernel, rx.compile(schedule.mod)["main"], seed, schedule.show())


def agree(kernel: Kernel, function: Callable[..., Any], seed: int = 0, message: str = "") -> None:
    arrays = kernel.arrays(seed)
    results, expected = function(*arrays), kernel.expected(*arrays)
    several = isinstance(expected, tuple)
    for result, each in zip(results if several else [results], expected if several else [expected], strict=True):
        np.testing.assert_allclose(np.from_dlpack(result), each, rtol=1e-4, atol=1e-4, err_msg=message)
