# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes and indices, sizes of images, transforms, branches and loops."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy
from numpy import ndarray
from tosa_program import Given, Program, constant, operation, shape, simple, tensor_type

# ---- shapes and places ----


def _movement() -> list[Program]:
    found = []
    for dtype in ("f32", "i8"):
        pair = [Given((2, 3, 4), dtype), Given((2, 5, 4), dtype)]
        zero = constant("z", [1.5 if dtype == "f32" else 3], dtype)
        found += [
            simple("concat", pair, lambda *each: numpy.concatenate(each, 1), ((2, 8, 4), dtype), "axis = 1 : i32"),
            simple(
                "transpose", pair[:1], lambda x: x.transpose(2, 0, 1), ((4, 2, 3), dtype), "perms = array<i32: 2, 0, 1>"
            ),
            simple("reverse", pair[:1], lambda x: x[:, ::-1], attributes="axis = 1 : i32"),
            simple("identity", pair[:1], lambda x: x),
            simple(
                "reshape",
                pair[:1],
                lambda x: x.reshape(6, 4),
                ((6, 4), dtype),
                before=[shape("s", [6, 4])],
                more=[("%s", "!tosa.shape<2>")],
            ),
            simple(
                "slice",
                pair[:1],
                lambda x: x[1:2, 0:2, 1:4],
                ((1, 2, 3), dtype),
                before=[shape("s", [1, 0, 1]), shape("t", [1, 2, 3])],
                more=[("%s", "!tosa.shape<3>"), ("%t", "!tosa.shape<3>")],
            ),
            simple(
                "tile",
                pair[:1],
                lambda x: numpy.tile(x, (2, 1, 3)),
                ((4, 3, 12), dtype),
                before=[shape("s", [2, 1, 3])],
                more=[("%s", "!tosa.shape<3>")],
            ),
            simple(
                "pad",
                pair[:1],
                _padded(1.5 if dtype == "f32" else 3),
                ((2, 6, 5), dtype),
                before=[shape("s", [0, 0, 1, 2, 0, 1]), zero],
                more=[("%s", "!tosa.shape<6>"), ("%z", f"tensor<1x{dtype}>")],
            ),
            simple("gather", [Given((2, 5, 3), dtype), Given((2, 4), "i32", 0, 4)], _gathered, ((2, 4, 3), dtype)),
        ]
        found.append(
            Program(
                f"scatter-{dtype}",
                [Given((2, 5, 3), dtype), Given((2, 3, 3), dtype)],
                '%i = "tosa.const"() {values = dense<[[4, 0, 2], [1, 2, 3]]> : tensor<2x3xi32>} '
                ": () -> tensor<2x3xi32>\n"
                + operation(
                    "scatter",
                    [
                        ("%a", tensor_type((2, 5, 3), dtype)),
                        ("%i", "tensor<2x3xi32>"),
                        ("%b", tensor_type((2, 3, 3), dtype)),
                    ],
                    tensor_type((2, 5, 3), dtype),
                ),
                [tensor_type((2, 5, 3), dtype)],
                _scattered,
            )
        )
    return found


def _padded(value: float) -> Callable[..., ndarray]:
    return lambda x: numpy.pad(x, ((0, 0), (1, 2), (0, 1)), constant_values=value)


def _gathered(x: ndarray, places: ndarray) -> ndarray:
    return numpy.array([each[rows] for each, rows in zip(x, places, strict=True)])


def _scattered(x: ndarray, updates: ndarray) -> ndarray:
    made = x.copy()
    made[0, [4, 0, 2]], made[1, [1, 2, 3]] = updates
    return made


def _resizes() -> list[Program]:
    found = []
    settings = [
        ((4, 2, 4, 2), (0, 0), (0, 0)),  # corners stay
        ((4, 2, 4, 2), (-1, -1), (1, 1)),  # centers stay
        ((2, 3, 6, 4), (0, 1), (1, 0)),
    ]
    for mode, dtype in itertools.product(("NEAREST_NEIGHBOR", "BILINEAR"), ("f32", "i8", "i16")):
        made = dtype if mode[0] == "N" else {"i8": "i32", "i16": "i48"}.get(dtype, dtype)
        for number, (scale, offset, border) in enumerate(settings):
            counts = [(size - 1) * scale[2 * d] - offset[d] + border[d] for d, size in enumerate((4, 5))]
            sizes = [count // scale[2 * d + 1] + 1 for d, count in enumerate(counts)]
            if any(count % scale[2 * d + 1] for d, count in enumerate(counts)):
                continue
            before = [shape("s", scale), shape("o", offset), shape("q", border)]
            more = [("%s", "!tosa.shape<4>"), ("%o", "!tosa.shape<2>"), ("%q", "!tosa.shape<2>")]
            found.append(
                simple(
                    "resize",
                    [Given((1, 4, 5, 2), dtype)],
                    _resized(mode, scale, offset, sizes),
                    ((1, *sizes, 2), made),
                    f"mode = #tosa.resize_mode<{mode}>",
                    1e-5,
                    before,
                    more,
                    f"{mode}-{number}",
                )
            )
    return found


def _resized(mode: str, scale: Sequence[int], offset: Sequence[int], sizes: Sequence[int]) -> Callable[..., ndarray]:
    def resized(x: ndarray) -> ndarray:
        floats = x.dtype.kind == "f"
        made = numpy.zeros((len(x), *sizes, x.shape[3]), "float64" if floats else "int64")
        for p, q in numpy.ndindex(*sizes):
            y, z = p * scale[1] + offset[0], q * scale[3] + offset[1]
            (i, dy), (j, dx) = divmod(y, scale[0]), divmod(z, scale[2])
            rows, columns = (max(i, 0), min(i + 1, x.shape[1] - 1)), (max(j, 0), min(j + 1, x.shape[2] - 1))
            if mode[0] == "N":
                made[:, p, q] = x[:, rows[2 * dy >= scale[0]], columns[2 * dx >= scale[2]]]
                continue
            wy, wx = ((scale[0] - dy, dy), (scale[2] - dx, dx))
            made[:, p, q] = sum(
                x[:, r, c].astype(made.dtype) * a * b
                for r, a in zip(rows, wy, strict=True)
                for c, b in zip(columns, wx, strict=True)
            )
        return made / (scale[0] * scale[2]) if floats and mode[0] == "B" else made

    return resized


def _transforms() -> list[Program]:
    pair = [Given((2, 4, 8), "f32"), Given((2, 4, 8), "f32")]
    both = [tensor_type((2, 4, 8), "f32")] * 2
    half = [tensor_type((2, 4, 5), "f32")] * 2
    found = []
    for inverse in ("false", "true"):
        function = numpy.fft.fft2 if inverse == "false" else lambda x: numpy.fft.ifft2(x) * 32
        body = f'%r0, %r1 = "tosa.fft2d"(%a, %b) {{inverse = {inverse}}} : ({", ".join(both)}) -> ({", ".join(both)})'
        found.append(Program(f"fft2d-{inverse}", pair, body, both, _parts(function), 1e-4))
    body = f'%r0, %r1 = "tosa.rfft2d"(%a) : ({both[0]}) -> ({", ".join(half)})'
    found.append(Program("rfft2d", pair[:1], body, half, lambda x: _both(numpy.fft.rfft2(x)), 1e-4))
    return found


def _parts(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: _both(function(x + 1j * y))


def _both(x: ndarray) -> list[ndarray]:
    return [x.real.astype("float32"), x.imag.astype("float32")]


def _control_flow() -> list[Program]:
    branches = """
    %r = "tosa.cond_if"(%a, %b, %c) ({
    ^bb0(%t: tensor<3xf32>, %u: tensor<3xf32>):
      %1 = "tosa.add"(%t, %u) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      "tosa.yield"(%1) : (tensor<3xf32>) -> ()
    }, {
    ^bb0(%t: tensor<3xf32>, %u: tensor<3xf32>):
      %1 = "tosa.sub"(%t, %u) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      "tosa.yield"(%1) : (tensor<3xf32>) -> ()
    }) : (tensor<i1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    """
    loop = """
    %r0, %r1 = "tosa.while_loop"(%a, %b) ({
    ^bb0(%i: tensor<1xi32>, %x: tensor<3xf32>):
      %end = "tosa.const"() {values = dense<9> : tensor<1xi32>} : () -> tensor<1xi32>
      %g = "tosa.greater"(%end, %i) : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
      %s = "tosa.const_shape"() {values = dense<> : tensor<0xindex>} : () -> !tosa.shape<0>
      %h = "tosa.reshape"(%g, %s) : (tensor<1xi1>, !tosa.shape<0>) -> tensor<i1>
      "tosa.yield"(%h) : (tensor<i1>) -> ()
    }, {
    ^bb0(%i: tensor<1xi32>, %x: tensor<3xf32>):
      %one = "tosa.const"() {values = dense<1> : tensor<1xi32>} : () -> tensor<1xi32>
      %j = "tosa.add"(%i, %one) : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>
      %y = "tosa.add"(%x, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      "tosa.yield"(%j, %y) : (tensor<1xi32>, tensor<3xf32>) -> ()
    }) : (tensor<1xi32>, tensor<3xf32>) -> (tensor<1xi32>, tensor<3xf32>)
    """
    return [
        Program(
            "cond_if",
            [Given((), "i1"), Given((3,), "f32"), Given((3,), "f32")],
            branches,
            ["tensor<3xf32>"],
            lambda a, b, c: b + c if a else b - c,
        ),
        Program(
            "while_loop",
            [Given((1,), "i32", 0, 12), Given((3,), "f32")],
            loop,
            ["tensor<1xi32>", "tensor<3xf32>"],
            lambda a, b: [numpy.maximum(a, 9), b * 2.0 ** max(9 - int(a[0]), 0)],
        ),
    ]


MOVEMENT = [*_movement(), *_resizes(), *_transforms(), *_control_flow()]
