# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Further PrimFuncs for tests of schedules: small parts of models."""

from __future__ import annotations

from typing import Any

import numpy as np
from schedule_kernels import Kernel


def _text(name: str, shapes: str, body: str, memory: str = "") -> str:
    """Return a PrimFunc.

    `A 3x4 float32, B 4 int8` are its parameters, and `memory` lists its own buffers in the same form. Loops are `block:
    i 3 S, k 4 R: init: statement`.
    """
    given = ", ".join(f"{n}: T.Buffer(({s}), {d!r})" for n, s, d in _buffers(shapes))
    lines = ["@T.prim_func", f"def {name}({given}):"]
    lines += [f"    {n} = T.alloc_buffer(({s}), {d!r})" for n, s, d in _buffers(memory)]
    for line in filter(None, map(str.strip, body.splitlines())):
        block, iters, init, statement = (part.strip() for part in line.split(":", 3))
        each = [part.split() for part in iters.split(",")]
        names, extents = [one[0] for one in each], [one[1] for one in each]
        loop = f"T.grid({', '.join(extents)})" if len(each) > 1 else f"range({extents[0]})"
        lines.append(f"    for {', '.join(names)} in {loop}:")
        lines.append(f'        with T.block("{block}"):')
        kinds = "".join(one[2] for one in each)
        if len(each) > 1:
            variables = ", ".join(f"v{each}" for each in names)
            lines.append(f"            {variables} = T.axis.remap({kinds!r}, [{', '.join(names)}])")
        else:
            word = "spatial" if kinds == "S" else "reduce"
            lines.append(f"            v{names[0]} = T.axis.{word}({extents[0]}, {names[0]})")
        target = statement.split(" = ")[0]
        lines += ["            with T.init():", f"                {target} = {init}"] if init else []
        lines.append(f"            {statement}")
    return "\n".join(lines) + "\n"


def _buffers(text: str) -> list[tuple[str, str, str]]:
    found = []
    for each in filter(None, map(str.strip, text.split(","))):
        name, shape, dtype = each.split()
        found.append((name, shape.replace("x", ", ") + ",", dtype))
    return found


def _inputs(shapes: str, count: int) -> tuple[Any, ...]:
    return tuple((tuple(map(int, s.rstrip(",").split(","))), d) for _, s, d in _buffers(shapes)[:count])


def _kernel(name: str, shapes: str, inputs: int, body: str, expected: Any, memory: str = "") -> Kernel:
    return Kernel(name, _text(name, shapes, body, memory), _inputs(shapes, inputs), expected)


def _windows(x: np.ndarray, size: int) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(0, 1))


def _normalized(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + np.float32(1e-5)) * scale


def _attended(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    scores = np.exp(np.einsum("hid,hjd->hij", q, k) * np.float32(0.25))
    return np.einsum("hij,hjd->hid", scores / scores.sum(axis=2, keepdims=True), v)


MODEL_KERNELS = (
    _kernel("batched", "A 3x10x12 float32, B 3x12x9 float32, C 3x10x9 float32", 2,
            "C: b 3 S, i 10 S, j 9 S, k 12 R: T.float32(0): "
            "C[vb, vi, vj] = C[vb, vi, vj] + A[vb, vi, vk] * B[vb, vk, vj]",
            lambda a, b: a @ b),
    _kernel("transposed_product", "A 12x10 float32, B 9x12 float32, C 9x10 float32", 2,
            "C: j 9 S, i 10 S, k 12 R: T.float32(0): C[vj, vi] = C[vj, vi] + A[vk, vi] * B[vj, vk]",
            lambda a, b: b @ a),
    _kernel("vector_product", "A 13x20 float32, X 20 float32, Y 13 float32", 2,
            "Y: i 13 S, k 20 R: T.float32(0): Y[vi] = Y[vi] + A[vi, vk] * X[vk]", lambda a, x: a @ x),
    _kernel("outer_product", "X 11 float32, Y 17 float32, C 11x17 float32", 2,
            "C: i 11 S, j 17 S: : C[vi, vj] = X[vi] * Y[vj]", np.outer),
    _kernel("biased", "A 9x14 float32, B 14x10 float32, D 10 float32, C 9x10 float32", 3, """
            Y: i 9 S, j 10 S, k 14 R: T.float32(0): Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
            Z: i 9 S, j 10 S: : Z[vi, vj] = Y[vi, vj] + D[vj]
            C: i 9 S, j 10 S: : C[vi, vj] = Z[vi, vj] * T.sigmoid(Z[vi, vj])
            """, lambda a, b, d: (a @ b + d) / (1 + np.exp(-(a @ b + d))), "Y 9x10 float32, Z 9x10 float32"),
    _kernel("depthwise", "X 9x10x6 float32, W 3x3x6 float32, Y 7x8x6 float32", 2,
            "Y: h 7 S, w 8 S, c 6 S, r 3 R, s 3 R: T.float32(0): "
            "Y[vh, vw, vc] = Y[vh, vw, vc] + X[vh + vr, vw + vs, vc] * W[vr, vs, vc]",
            lambda x, w: np.einsum("hwcrs,rsc->hwc", _windows(x, 3), w)),
    _kernel("images", "X 8x9x5 float32, W 3x3x5x7 float32, Y 6x7x7 float32", 2,
            "Y: h 6 S, w 7 S, o 7 S, r 3 R, s 3 R, c 5 R: T.float32(0): "
            "Y[vh, vw, vo] = Y[vh, vw, vo] + X[vh + vr, vw + vs, vc] * W[vr, vs, vc, vo]",
            lambda x, w: np.einsum("hwcrs,rsco->hwo", _windows(x, 3), w)),
    _kernel("pooled", "X 12x10x4 float32, Y 6x5x4 float32", 1,
            'Y: h 6 S, w 5 S, c 4 S, r 2 R, s 2 R: T.min_value("float32"): '
            "Y[vh, vw, vc] = T.max(Y[vh, vw, vc], X[vh * 2 + vr, vw * 2 + vs, vc])",
            lambda x: x.reshape(6, 2, 5, 2, 4).max(axis=(1, 3))),
    _kernel("normalized", "X 7x24 float32, G 24 float32, Y 7x24 float32", 2, """
            S: i 7 S, k 24 R: T.float32(0): S[vi] = S[vi] + X[vi, vk] * X[vi, vk]
            Y: i 7 S, j 24 S: : Y[vi, vj] = X[vi, vj] * T.rsqrt(S[vi] / T.float32(24) + T.float32(1e-5)) * G[vj]
            """, _normalized, "S 7 float32"),
    _kernel("attended", "Q 2x6x8 float32, K 2x5x8 float32, V 2x5x8 float32, O 2x6x8 float32", 3, """
            S: h 2 S, i 6 S, j 5 S, d 8 R: T.float32(0): S[vh, vi, vj] = S[vh, vi, vj] + Q[vh, vi, vd] * K[vh, vj, vd]
            P: h 2 S, i 6 S, j 5 S: : P[vh, vi, vj] = T.exp(S[vh, vi, vj] * T.float32(0.25))
            N: h 2 S, i 6 S, j 5 R: T.float32(0): N[vh, vi] = N[vh, vi] + P[vh, vi, vj]
            R: h 2 S, i 6 S, j 5 S: : R[vh, vi, vj] = P[vh, vi, vj] / N[vh, vi]
            O: h 2 S, i 6 S, d 8 S, j 5 R: T.float32(0): O[vh, vi, vd] = O[vh, vi, vd] + R[vh, vi, vj] * V[vh, vj, vd]
            """, _attended, "S 2x6x5 float32, P 2x6x5 float32, R 2x6x5 float32, N 2x6 float32"),
    _kernel("requantized", "A 9x16 int8, B 16x10 int8, C 9x10 int32", 2, """
            Y: i 9 S, j 10 S, k 16 R: 0: Y[vi, vj] = Y[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])
            C: i 9 S, j 10 S: : C[vi, vj] = T.min(T.max(T.shift_right(Y[vi, vj], 2), -128), 127)
            """, lambda a, b: np.clip((a.astype("int32") @ b.astype("int32")) >> 2, -128, 127), "Y 9x10 int32"),
    _kernel("reversed", "A 10x12 float32, B 12x10 float32", 1,
            "B: i 12 S, j 10 S: : B[vi, vj] = A[9 - vj, 11 - vi]", lambda a: np.ascontiguousarray(a[::-1, ::-1].T)),
)  # fmt: skip
