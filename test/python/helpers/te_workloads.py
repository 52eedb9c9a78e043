# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators as users of te and of TVM's script write them: indices are divided by groups and strides.

The 13 operators have the structure of the operators that TVM tunes its own schedules with.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from relax_mlir import te

Shape = Sequence[int]


class Workload(NamedTuple):
    """Tensors of te, inputs first and output last, with the expected result by numpy."""

    tensors: list[Any]
    expected: Callable[..., np.ndarray]

    def arguments(self, seed: int = 0) -> list[np.ndarray]:
        random = np.random.default_rng(seed)
        return [random.standard_normal(each.shape).astype("float32") for each in self.tensors[:-1]]


class Convolution(NamedTuple):
    """Sizes of a convolution of channels-last tensors with weights of (taps..., inputs of a group, outputs)."""

    batch: int
    size: Shape
    inputs: int
    outputs: int
    taps: int
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    groups: int = 1

    @property
    def data_shape(self) -> Shape:
        return (self.batch, *self.size, self.inputs)

    @property
    def padded_shape(self) -> Shape:
        return (self.batch, *(size + 2 * self.padding for size in self.size), self.inputs)

    @property
    def weight_shape(self) -> Shape:
        return (*[self.taps] * len(self.size), self.inputs // self.groups, self.outputs)

    @property
    def out_shape(self) -> Shape:
        reach = self.dilation * (self.taps - 1) + 1
        places = ((size + 2 * self.padding - reach) // self.stride + 1 for size in self.size)
        return (self.batch, *places, self.outputs)

    def expected(self, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        edge = [(0, 0), *[(self.padding, self.padding)] * len(self.size), (0, 0)]
        data, result = np.pad(data, edge), np.zeros(self.out_shape)
        own, given = self.outputs // self.groups, self.inputs // self.groups
        for tap in itertools.product(range(self.taps), repeat=len(self.size)):
            met = tuple(
                slice(at * self.dilation, at * self.dilation + self.stride * (count - 1) + 1, self.stride)
                for at, count in zip(tap, self.out_shape[1:-1], strict=True)
            )
            for group in range(self.groups):
                part, columns = (slice(group * each, group * each + each) for each in (given, own))
                result[..., columns] += data[(slice(None), *met, part)] @ weight[(*tap, slice(None), columns)]
        return result

    @property
    def without_padding(self) -> Convolution:
        """Return the same convolution of data that is already padded."""
        return self._replace(size=self.padded_shape[1:-1], padding=0)

    def script(self) -> str:
        """Return the PrimFunc `main` of the padded data, with the group of an output's channel as TVM's te prints
        it."""
        rank = len(self.size)
        loops = ["n", *"xyz"[:rank], "co", *(f"r{each}" for each in "xyz"[:rank]), "rc"]
        steps = [*self.out_shape, *[self.taps] * rank, self.inputs // self.groups]
        places = [f"v{each} * {self.stride} + vr{each} * {self.dilation}" for each in "xyz"[:rank]]
        own, given = self.outputs // self.groups, self.inputs // self.groups
        data = ", ".join(["vn", *places, f"vco // {own} * {given} + vrc"])
        weight = ", ".join(f"v{each}" for each in (*loops[rank + 2 :], "co"))
        out = ", ".join(f"v{each}" for each in loops[: rank + 2])
        return _prim_func(
            [("P", self.padded_shape), ("W", self.weight_shape), ("Y", self.out_shape)],
            loops,
            steps,
            "S" * (rank + 2) + "R" * (rank + 1),
            out,
            f"P[{data}] * W[{weight}]",
        )


class Transposed(NamedTuple):
    """Sizes of a transposed convolution in two dimensions."""

    batch: int
    height: int
    width: int
    inputs: int
    outputs: int
    taps: int
    stride: int = 1
    padding: int = 0

    @property
    def edge(self) -> int:
        return -(-(self.taps - 1 - self.padding) // self.stride)

    @property
    def border(self) -> int:
        return -(self.taps - 1 - self.padding) % self.stride

    @property
    def data_shape(self) -> Shape:
        return (self.batch, self.height, self.width, self.inputs)

    @property
    def padded_shape(self) -> Shape:
        return (self.batch, self.height + 2 * self.edge, self.width + 2 * self.edge, self.inputs)

    @property
    def weight_shape(self) -> Shape:
        return (self.taps, self.taps, self.inputs, self.outputs)

    @property
    def out_shape(self) -> Shape:
        sides = ((size - 1) * self.stride + self.taps - 2 * self.padding for size in (self.height, self.width))
        return (self.batch, *sides, self.outputs)

    def expected(self, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Compute te's definition with the zeros between elements, which infinite weights turn into NaN."""
        _, rows, columns, _ = self.padded_shape
        wide = np.zeros((self.batch, rows * self.stride, columns * self.stride, self.inputs), weight.dtype)
        edge = [(0, 0), (self.edge, self.edge), (self.edge, self.edge), (0, 0)]
        wide[:, :: self.stride, :: self.stride] = np.pad(data, edge)
        result = np.zeros(self.out_shape)
        _, height, width, _ = self.out_shape
        for row, column in itertools.product(range(self.taps), repeat=2):
            top, left = row + self.border, column + self.border
            flipped = weight[self.taps - 1 - row, self.taps - 1 - column]
            result += np.einsum("nhwc,cd->nhwd", wide[:, top : top + height, left : left + width], flipped)
        return result

    def script(self, data: str = "float32") -> str:
        """Return the PrimFunc `main` of the padded data."""
        places = [f"(vx + vrx + {self.border})", f"(vy + vry + {self.border})"]
        condition = " and ".join(f"{place} % {self.stride} == 0" for place in places)
        taken = f"P[vn, {places[0]} // {self.stride}, {places[1]} // {self.stride}, vrc]"
        value = f"T.if_then_else({condition}, {taken}, T.{data}(0))"
        return _prim_func(
            [("P", self.padded_shape), ("W", self.weight_shape), ("Y", self.out_shape)],
            ["n", "x", "y", "co", "rc", "rx", "ry"],
            [*self.out_shape, self.inputs, self.taps, self.taps],
            "SSSSRRR",
            "vn, vx, vy, vco",
            f"{value} * W[{self.taps - 1} - vrx, {self.taps - 1} - vry, vrc, vco]",
            data,
        )


def _prim_func(
    buffers: Sequence[tuple[str, Shape]],
    loops: Sequence[str],
    steps: Sequence[int],
    kinds: str,
    place: str,
    term: str,
    dtype: str = "float32",
) -> str:
    """Return the text of a PrimFunc that sums terms."""
    parameters = ", ".join(f'{name}: T.Buffer({tuple(shape)}, "{dtype}")' for name, shape in buffers)
    return f"""
@T.prim_func
def main({parameters}):
    for {", ".join(loops)} in T.grid({", ".join(map(str, steps))}):
        with T.block("Y"):
            {", ".join(f"v{each}" for each in loops)} = T.axis.remap("{kinds}", [{", ".join(loops)}])
            with T.init():
                Y[{place}] = T.{dtype}(0)
            Y[{place}] = Y[{place}] + {term}
"""


# ---- te ----


def padded(data: Any, before: Shape) -> Any:
    """Return the data with as many zeros on both sides of each dimension."""

    def element(*place: Any) -> Any:
        inside = [
            condition
            for at, size, count in zip(place, data.shape, before, strict=True)
            if count
            for condition in (at >= count, at < size + count)
        ]
        value = data[tuple(at - count for at, count in zip(place, before, strict=True))]
        return te.if_then_else(te.all(*inside), value, 0.0) if inside else value

    shape = tuple(size + 2 * count for size, count in zip(data.shape, before, strict=True))
    return te.compute(shape, element, name="padded")


def convolution(sizes: Convolution) -> Workload:
    data, weight = te.placeholder(sizes.data_shape, name="data"), te.placeholder(sizes.weight_shape, name="weight")
    around = padded(data, [0, *[sizes.padding] * len(sizes.size), 0])
    taps = [te.reduce_axis((0, sizes.taps), name=f"tap{axis}") for axis in range(len(sizes.size))]
    channel = te.reduce_axis((0, sizes.inputs // sizes.groups), name="channel")
    own, given = sizes.outputs // sizes.groups, sizes.inputs // sizes.groups

    def element(image: Any, *place: Any) -> Any:
        *at, out = place
        met = [position * sizes.stride + tap * sizes.dilation for position, tap in zip(at, taps, strict=True)]
        factor = weight[(*taps, channel, out)]
        return te.sum(around[(image, *met, out // own * given + channel)] * factor, axis=[*taps, channel])

    return Workload([data, weight, te.compute(sizes.out_shape, element, name="result")], sizes.expected)


def transposed(sizes: Transposed) -> Workload:
    data, weight = te.placeholder(sizes.data_shape, name="data"), te.placeholder(sizes.weight_shape, name="weight")
    around = padded(data, [0, sizes.edge, sizes.edge, 0])
    channel = te.reduce_axis((0, sizes.inputs), name="channel")
    row, column = (te.reduce_axis((0, sizes.taps), name=name) for name in ("row", "column"))

    def element(image: Any, x: Any, y: Any, out: Any) -> Any:
        x, y = x + row + sizes.border, y + column + sizes.border
        is_element = te.all(x % sizes.stride == 0, y % sizes.stride == 0)
        value = te.if_then_else(is_element, around[image, x // sizes.stride, y // sizes.stride, channel], 0.0)
        factor = weight[sizes.taps - 1 - row, sizes.taps - 1 - column, channel, out]
        return te.sum(value * factor, axis=[row, column, channel])

    return Workload([data, weight, te.compute(sizes.out_shape, element, name="result")], sizes.expected)


def depthwise(size: int, channels: int, taps: int, stride: int, factor: int) -> Workload:
    places = (size - taps) // stride + 1
    data, weight = (
        te.placeholder((1, size, size, channels), name="data"),
        te.placeholder((taps, taps, channels, factor)),
    )
    row, column = (te.reduce_axis((0, taps), name=name) for name in ("row", "column"))
    result = te.compute(
        (1, places, places, channels * factor),
        lambda n, x, y, c: te.sum(
            data[n, x * stride + row, y * stride + column, c // factor] * weight[row, column, c // factor, c % factor],
            axis=[row, column],
        ),
        name="result",
    )

    def expected(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        windows = np.lib.stride_tricks.sliding_window_view(x, (taps, taps), (1, 2))[:, ::stride, ::stride]
        return np.einsum("nxycij,ijcf->nxycf", windows, w).reshape(1, places, places, -1)

    return Workload([data, weight, result], expected)


def products(batch: int, rows: int, columns: int, length: int) -> Workload:
    left, right = (
        te.placeholder((batch, rows, length), name="left"),
        te.placeholder((batch, length, columns), name="right"),
    )
    k = te.reduce_axis((0, length), name="k")
    result = te.compute(
        (batch, rows, columns), lambda b, i, j: te.sum(left[b, i, k] * right[b, k, j], axis=k), name="result"
    )
    return Workload([left, right, result], np.matmul)


def capsules(size: int, count: int, channels: int, taps: int, stride: int) -> Workload:
    places = (size - taps) // stride + 1
    data = te.placeholder((1, size, size, count, count, channels), name="data")
    weight = te.placeholder((taps, taps, count, count, channels, channels), name="weight")
    axes = [
        te.reduce_axis((0, steps), name=name) for name, steps in zip("xykc", (taps, taps, count, channels), strict=True)
    ]
    x, y, k, c = axes
    result = te.compute(
        (1, places, places, count, count, channels),
        lambda n, h, w, i, j, o: te.sum(
            data[n, h * stride + x, w * stride + y, i, k, c] * weight[x, y, k, j, c, o], axis=axes
        ),
        name="result",
    )

    def expected(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        windows = np.lib.stride_tricks.sliding_window_view(a, (taps, taps), (1, 2))[:, ::stride, ::stride]
        return np.einsum("nhwikcxy,xykjco->nhwijo", windows, b)

    return Workload([data, weight, result], expected)


def norms(batch: int, rows: int, columns: int) -> Workload:
    data = te.placeholder((batch, rows, columns), name="data")
    i, j = te.reduce_axis((0, rows), name="i"), te.reduce_axis((0, columns), name="j")
    squares = te.compute((batch,), lambda b: te.sum(data[b, i, j] * data[b, i, j], axis=[i, j]), name="squares")
    return Workload(
        [data, te.compute((batch,), lambda b: te.sqrt(squares[b]), name="result")],
        lambda x: np.sqrt((x.astype("float64") ** 2).sum((1, 2))),
    )


def softmax(rows: int, columns: int) -> Workload:
    data = te.placeholder((rows, columns), name="data")
    j, k = te.reduce_axis((0, columns), name="j"), te.reduce_axis((0, columns), name="k")
    largest = te.compute((rows,), lambda i: te.max(data[i, j], axis=j), name="largest")
    powers = te.compute((rows, columns), lambda i, at: te.exp(data[i, at] - largest[i]), name="powers")
    total = te.compute((rows,), lambda i: te.sum(powers[i, k], axis=k), name="total")

    def expected(x: np.ndarray) -> np.ndarray:
        power = np.exp(x - x.max(1, keepdims=True))
        return power / power.sum(1, keepdims=True)

    return Workload(
        [data, te.compute((rows, columns), lambda i, at: powers[i, at] / total[i], name="result")], expected
    )


def with_norm(sizes: Convolution) -> Workload:
    """Return a convolution with bias, scale, offset and relu."""
    *inputs, product = convolution(sizes).tensors
    extra = [te.placeholder((sizes.outputs,), name=name) for name in ("bias", "scale", "offset")]
    bias, scale, offset = extra
    result = te.compute(
        sizes.out_shape,
        lambda n, x, y, c: te.max((product[n, x, y, c] + bias[c]) * scale[c] + offset[c], 0.0),
        name="result",
    )

    def expected(x: np.ndarray, w: np.ndarray, b: np.ndarray, s: np.ndarray, o: np.ndarray) -> np.ndarray:
        return np.maximum((sizes.expected(x, w) + b) * s + o, 0)

    return Workload([*inputs, *extra, result], expected)


def scores(length: int, heads: int, width: int) -> Workload:
    query, key = (te.placeholder((1, length, heads, width), name=name) for name in ("query", "key"))
    rows = te.compute((1, heads, length, width), lambda b, h, i, d: query[b, i, h, d], name="rows")
    columns = te.compute((1, heads, width, length), lambda b, h, d, i: key[b, i, h, d], name="columns")
    k = te.reduce_axis((0, width), name="k")
    result = te.compute(
        (1, heads, length, length),
        lambda b, h, i, j: te.sum(rows[b, h, i, k] * columns[b, h, k, j], axis=k),
        name="result",
    )
    return Workload([query, key, result], lambda q, v: np.einsum("bihd,bjhd->bhij", q, v))


SMALL_CONVOLUTIONS = {
    "C1D": Convolution(2, (17,), 4, 8, 3, 2, 1),
    "C2D": Convolution(1, (9, 8), 3, 8, 3, 2, 1),
    "C3D": Convolution(1, (4, 6, 5), 3, 4, 3, 2, 1),
    "DIL": Convolution(1, (11, 12), 3, 8, 3, 2, 3, 2),
    "GRP": Convolution(1, (6, 6), 8, 12, 3, 2, 1, 1, 4),
}
SMALL: dict[str, Callable[[], Workload]] = {
    **{name: lambda sizes=sizes: convolution(sizes) for name, sizes in SMALL_CONVOLUTIONS.items()},
    "T2D": lambda: transposed(Transposed(1, 4, 4, 8, 6, 4, 2, 1)),
    "GMM": lambda: products(2, 8, 9, 10),
    "DEP": lambda: depthwise(7, 5, 3, 2, 2),
    "CAP": lambda: capsules(5, 2, 3, 3, 2),
    "NRM": lambda: norms(2, 7, 9),
    "SFM": lambda: softmax(5, 9),
    "CBR": lambda: with_norm(SMALL_CONVOLUTIONS["GRP"]),
    "TBG": lambda: scores(6, 3, 4),
}
