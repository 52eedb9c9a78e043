# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions: inferred types against brute force on arrays, and refusals."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import relax_mlir.dialects.relax.nn_conv  # noqa: F401  # declares the operators
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from inferring import build_function, built_op, infer
from numpy.lib.stride_tricks import sliding_window_view
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.symbols import parse
from shorthand import refusal, tensor, unranked
from symbolic import evaluated

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
DTYPES = ["f16", "bf16", "f32", "f64", "i8", "ui8", "i32"]


def in_layout(letters: str, sizes: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(sizes[letter] for letter in letters)


def windows_that_fit(case: Case) -> tuple[int, ...]:
    """Return the number of windows along each spatial dimension, counted on an array."""
    padded = np.pad(np.zeros(case.sizes), case.pads)
    reach = [(tap - 1) * gap + 1 for tap, gap in zip(case.taps, case.dilation, strict=True)]
    every = tuple(slice(None, None, stride) for stride in case.strides)
    return sliding_window_view(padded, reach)[every].shape[: len(reach)]


def written_elements(case: Case, output_padding: tuple[int, ...]) -> tuple[int, ...]:
    """Return the size of an array in which every element writes a window, without the padding."""
    sizes = []
    for size, tap, stride, gap, pad, extra in zip(
        case.sizes, case.taps, case.strides, case.dilation, case.pads, output_padding, strict=True
    ):
        written = {position * stride + index * gap for position in range(size) for index in range(tap)}
        sizes.append(max(written) + 1 - sum(pad) + extra)
    return tuple(sizes)


class Case(NamedTuple):
    """Convolution whose spatial values are per dimension."""

    rank: int
    sizes: tuple[int, ...]
    taps: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    groups: int
    layouts: tuple[str, str, str | None]
    dtype: str

    def attributes(self) -> dict[str, Any]:
        befores, afters = zip(*self.pads, strict=True)
        data_layout, kernel_layout, out_layout = self.layouts
        return {
            "strides": self.strides,
            "padding": befores + afters,
            "dilation": self.dilation,
            "groups": self.groups,
            "data_layout": data_layout,
            "kernel_layout": kernel_layout,
            "out_layout": out_layout,
        }

    def infer(self, name: str, data: dict[str, Any], weight: dict[str, Any], **more: Any) -> TensorInfo:
        spatial = SPATIAL[self.rank]
        data = {**dict(zip(spatial, self.sizes, strict=True)), **data}
        weight = {**dict(zip(spatial, self.taps, strict=True)), **weight}
        operands = [in_layout(self.layouts[0], data), in_layout(self.layouts[1], weight)]
        infos = [TensorInfo(shape, self.dtype) for shape in operands]
        (result,) = infer(name, *infos, **self.attributes(), **more)
        assert isinstance(result, TensorInfo)
        return result

    def expected(self, channels: int, spatial_sizes: tuple[int, ...]) -> TensorInfo:
        sizes = {"N": 2, "C": channels, **dict(zip(SPATIAL[self.rank], spatial_sizes, strict=True))}
        return TensorInfo(in_layout(self.layouts[2] or self.layouts[0], sizes), self.dtype)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rank = draw(st.sampled_from(sorted(SPATIAL)))

    def each(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank)))

    def layout(letters: str) -> str:
        return draw(st.just(letters) | st.permutations(letters).map("".join))

    spatial = SPATIAL[rank]
    out_layout = draw(st.none() | st.permutations("NC" + spatial).map("".join))
    return Case(
        rank,
        sizes=each(7, 11),
        taps=each(1, 4),
        strides=each(1, 3),
        dilation=each(1, 2),
        pads=tuple(zip(each(0, 1), each(0, 1), strict=True)),
        groups=draw(st.integers(1, 3)),
        layouts=(layout("NC" + spatial), layout("OI" + spatial), out_layout),
        dtype=draw(st.sampled_from(DTYPES)),
    )


@draws(60)
@given(cases())
def test_convolution_counts_windows(case: Case) -> None:
    data, weight = {"N": 2, "C": 4 * case.groups}, {"O": 5 * case.groups, "I": 4}
    result = case.infer(f"relax.nn.conv{case.rank}d", data, weight)
    assert result == case.expected(5 * case.groups, windows_that_fit(case))


@draws(60)
@given(cases())
def test_transposed_convolution_covers_what_it_writes(case: Case) -> None:
    output_padding = tuple(stride - 1 for stride in case.strides)
    data, weight = {"N": 2, "C": 4 * case.groups}, {"I": 4 * case.groups, "O": 5}
    name = f"relax.nn.conv{case.rank}d_transpose"
    result = case.infer(name, data, weight, output_padding=output_padding)
    assert result == case.expected(5 * case.groups, written_elements(case, output_padding))


@draws(40)
@given(cases(), st.booleans())
def test_symbolic_sizes_are_the_fixed_ones_once_known(case: Case, transposed: bool) -> None:
    names = {"N": parse("n"), "C": parse("4*g")} | {letter: parse(letter.lower()) for letter in SPATIAL[case.rank]}
    values = {"n": 2, "g": case.groups} | {
        letter.lower(): size for letter, size in zip(SPATIAL[case.rank], case.sizes, strict=True)
    }
    name = f"relax.nn.conv{case.rank}d" + ("_transpose" if transposed else "")
    weight = {"I": 4 * case.groups, "O": 6} if transposed else {"O": 6 * case.groups, "I": 4}
    symbolic = case.infer(name, names, weight)
    fixed = case.infer(name, {"N": 2, "C": 4 * case.groups}, weight)
    assert evaluated(symbolic, values) == fixed


@pytest.mark.parametrize(
    ("data", "weight", "attributes", "expected"),
    [
        # A single entry of an attribute applies to all dimensions.
        (
            tensor("n", 3, "h", "w"),
            tensor(16, 3, 3, 3),
            {"strides": 2, "padding": 1},
            tensor("n", 16, "(h + 1)//2", "(w + 1)//2"),
        ),
        (tensor(1, 3, 9, 9), tensor(4, 3, 3, 3), {"strides": [3]}, tensor(1, 4, 3, 3)),
        # One entry per dimension pads both sides; all befores come before all afters.
        (tensor(1, 3, 9, 9), tensor(4, 3, 3, 3), {"padding": (0, 1)}, tensor(1, 4, 7, 9)),
        (tensor(1, 3, 9, 9), tensor(4, 3, 3, 3), {"padding": (0, 1, 2, 0)}, tensor(1, 4, 9, 8)),
        # Blocked layouts, with rest.
        (
            tensor(1, 2, 7, 7, 16),
            tensor(4, 2, 3, 3, 16, 16),
            {"data_layout": "NCHW16c", "kernel_layout": "OIHW16i16o"},
            tensor(1, 4, 5, 5, 16),
        ),
        (
            tensor(1, 2, 7, 7, 16),
            tensor(4, 2, 3, 3, 4, 16, 4),
            {"data_layout": "NCHW16c", "kernel_layout": "OIHW4i16o4i", "out_layout": "NHWC"},
            tensor(1, 5, 5, 64),
        ),
        (tensor("n", 8, 7, 7), tensor(20, 8, 3, 3), {"out_layout": "NCHW16c"}, tensor("n", 2, 5, 5, 16)),
        # Unknown sizes stay unknown; the other sizes are still inferred.
        (tensor(None, None, None, 9), tensor(4, 3, 3, 3), {}, tensor(None, 4, None, 7)),
        (unranked(), tensor(4, 3, 3, 3), {"out_layout": "NHWC"}, tensor(None, None, None, 4)),
        (tensor("n", 3, 9, 9), unranked(), {}, tensor("n", None, None, None)),
        # The accumulator's type is another.
        (
            tensor(1, 3, 9, 9, dtype="i8"),
            tensor(4, 3, 3, 3, dtype="ui8"),
            {"out_dtype": "int32"},
            tensor(1, 4, 7, 7, dtype="i32"),
        ),
        (tensor(1, 3, 9, 9, dtype="f16"), tensor(4, 3, 3, 3, dtype="f16"), {"out_dtype": "f32"}, tensor(1, 4, 7, 7)),
        # Sizes of the kernel may be symbolic too.
        (tensor(1, "c", "h", 9), tensor("o", "c", "k", 3), {}, tensor(1, "o", "h - k + 1", 7)),
    ],
)
def test_conv2d(data: TensorInfo, weight: TensorInfo, attributes: dict[str, Any], expected: TensorInfo) -> None:
    assert infer("relax.nn.conv2d", data, weight, **attributes) == [expected]


def test_transposed_with_symbols_and_groups() -> None:
    (result,) = infer(
        "relax.nn.conv2d_transpose",
        tensor("n", 8, "h", 5),
        tensor(8, 3, 4, 4),
        strides=2,
        padding=1,
        output_padding=1,
        groups=2,
    )
    assert result == tensor("n", 6, "2*h + 1", 11)


REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "op attribute 'strides' ((1, 2, 3)) must have 1 or 2 entries, got 3": ("conv2d", {"strides": (1, 2, 3)}),
    "op attribute 'strides' ((0, 1)) must be 1 or more, got 0": ("conv2d", {"strides": (0, 1)}),
    "op attribute 'strides' ((1, 1)) must have 1 entry, got 2": ("conv1d", {"strides": (1, 1)}),
    "op attribute 'dilation' ((-1, -1)) must be 1 or more, got -1": ("conv2d", {"dilation": -1}),
    "op attribute 'padding' ((1, 2, 3)) must have 1, 2 or 4 entries, got 3": ("conv2d", {"padding": (1, 2, 3)}),
    "op attribute 'padding' (()) must have 1 or 2 entries, got 0": ("conv1d", {"padding": ()}),
    "op attribute 'padding' ((0, -1)) must be 0 or more, got -1": ("conv2d", {"padding": (0, -1)}),
    "op attribute 'groups' (0) must be 1 or more": ("conv2d", {"groups": 0}),
    "op attribute 'groups' (3) must divide the 4 output channels of operand 'weight'": (
        "conv2d",
        {"groups": 3, "data": (1, 9, 9, 9), "weight": (4, 3, 3, 3)},
    ),
    "op attribute 'groups' (2) must divide the 3 input channels of operand 'weight'": (
        "conv2d_transpose",
        {"groups": 2, "weight": (3, 4, 3, 3)},
    ),
    "as many channels as operand 'weight' (tensor<4x3x3x3xf32>) takes: 3 in the data, 6 by the input "
    "channels of the weight times groups": ("conv2d", {"groups": 2, "weight": (4, 3, 3, 3)}),
    "takes: 3 in the data, 4 by the input channels of the weight": ("conv2d_transpose", {"weight": (4, 3, 3, 3)}),
    "op operand 'data' (tensor<1x3x9x2xf32>) is too small along W: a window is 3 wide, the padded data 2": (
        "conv2d",
        {"data": (1, 3, 9, 2)},
    ),
    "along H: a window is 9 wide, the padded data 8": ("conv2d", {"data": (1, 3, 6, 9), "dilation": 4, "padding": 1}),
    "op operand 'weight' (tensor<4x3x0x3xf32>) must not be empty along H": ("conv2d", {"weight": (4, 3, 0, 3)}),
    "op operand 'data' (tensor<3x9x9xf32>) must be 4-D to have layout 'NCHW', but is 3-D": (
        "conv2d",
        {"data": (3, 9, 9)},
    ),
    "op operand 'weight' (tensor<4x3x3xf32>) must be 4-D to have layout 'OIHW'": ("conv2d", {"weight": (4, 3, 3)}),
    "op attribute 'data_layout' (NCHX) names an unknown dimension 'X' (expects the dimensions N, C, H, W": (
        "conv2d",
        {"data_layout": "NCHX"},
    ),
    "op attribute 'kernel_layout' (NCHW) names an unknown dimension 'N' (expects the dimensions O, I, H, W": (
        "conv2d",
        {"kernel_layout": "NCHW"},
    ),
    "op attribute 'out_layout' (NCHWW) names dimension 'W' twice": ("conv2d", {"out_layout": "NCHWW"}),
    "op attribute 'out_dtype' (i1) must be a float or integer type": ("conv2d", {"out_dtype": "bool"}),
    "must have the same element type where attribute 'out_dtype' is absent": ("conv2d", {"dtypes": ("f32", "f16")}),
    "op operand 'data' (tensor<1x3x9x9xi1>) must have float or int elements": ("conv2d", {"dtypes": ("i1", "i1")}),
    "op operand 'weight' (tensor<4x3x3x3xi1>) must have float or int elements": ("conv2d", {"dtypes": ("f32", "i1")}),
    "op attribute 'output_padding' ((2, 2)) must be less than the stride or the dilation, got 2": (
        "conv2d_transpose",
        {"output_padding": 2, "strides": 2},
    ),
    "op attribute 'padding' ((20, 20)) removes all of the result along H, which is 11 wide without padding": (
        "conv2d_transpose",
        {"padding": 20},
    ),
}
SHAPES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "conv1d": ((1, 3, 9), (4, 3, 3)),
    "conv2d": ((1, 3, 9, 9), (4, 3, 3, 3)),
    "conv2d_transpose": ((1, 3, 9, 9), (3, 4, 3, 3)),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message: str) -> None:
    name, given = REFUSED[message]
    attributes = dict(given)
    data, weight = (attributes.pop(key, shape) for key, shape in zip(("data", "weight"), SHAPES[name], strict=True))
    data_dtype, weight_dtype = attributes.pop("dtypes", ("f32", "f32"))
    operands = tensor(*data, dtype=data_dtype), tensor(*weight, dtype=weight_dtype)
    assert message in refusal(f"relax.nn.{name}", *operands, **attributes)


def test_defaults_are_not_printed() -> None:
    """Equal operators look equal, however their attributes were given."""
    spelled = {"strides": 1, "padding": 0, "dilation": (1, 1), "groups": 1, "data_layout": "NCHW"}
    module = build_function("relax.nn.conv2d", tensor(1, 3, 9, 9), tensor(4, 3, 3, 3), **spelled)
    assert len(built_op(module).attributes) == 0
