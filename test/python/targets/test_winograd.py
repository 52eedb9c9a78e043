# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions by Winograd's minimal filtering, `llvm{winograd=4}`, compiled and run against exact sums."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view
from onnx_oracle import run_onnx
from relax_mlir.runtime import to_numpy

import relax_mlir as rx
from relax_mlir import relax

#: Short vectors, so that few channels make blocks.
TARGET = "llvm{{winograd={} vector-bytes=16 cores=1}}"
#: Error relative to the largest number times the sum of a kernel's taps: up to 0.6 of this was measured.
ERRORS = {2: 4e-8, 4: 1.6e-7}


class Case(NamedTuple):
    """Convolution with its epilogue."""

    channels: int
    outputs: int
    padding: tuple[int, int, int, int] = (1, 1, 1, 1)
    bias: bool = False
    residual: bool = False
    relu: bool = False

    def arrays(self, *shape: int) -> tuple[Any, Any, Any]:
        random = numpy.random.default_rng([*self[:2], *shape])
        data = random.normal(size=(shape[0], self.channels, *shape[1:])).astype("float32")
        return data, *self.weights(random)

    def weights(self, random: Any) -> tuple[Any, Any]:
        taps = random.normal(size=(self.outputs, self.channels, 3, 3)) / (9 * self.channels) ** 0.5
        return taps.astype("float32"), random.normal(size=self.outputs).astype("float32")

    def expected(self, data: Any, weight: Any, bias: Any, residual: Any) -> Any:
        """Compute in f64."""
        result = convolved(data, weight, self.padding)
        if self.bias:
            result = result + bias[:, None, None]
        if self.residual:
            result = result + residual
        return numpy.maximum(result, 0) if self.relu else result

    def module(self, weight: Any, bias: Any, *shape: Any) -> rx.Module:
        """Return a module with main(data, residual?)."""
        batch, height, width = shape
        top, left, bottom, right = self.padding
        places = [f"{size} + {sum(sides) - 2}" if isinstance(size, str) else size + sum(sides) - 2
                  for size, sides in ((height, (top, bottom)), (width, (left, right)))]  # fmt: skip
        inputs = [rx.tensor((batch, self.channels, height, width))]
        if self.residual:
            inputs.append(rx.tensor((batch, self.outputs, *places)))
        module = rx.Module()
        with module.function("main", inputs) as f:
            data, *others = f
            result = relax.nn.conv2d(data, relax.const(weight), padding=self.padding)
            if self.bias:
                result = relax.add(result, relax.const(bias.reshape(-1, 1, 1)))
            for other in others:
                result = relax.add(other, result)
            f.returns(relax.nn.relu(result) if self.relu else result)
        return module


def convolved(data: Any, weight: Any, padding: tuple[int, int, int, int]) -> Any:
    top, left, bottom, right = padding
    padded = numpy.pad(data.astype("float64"), [(0, 0), (0, 0), (top, bottom), (left, right)])
    windows = sliding_window_view(padded, (3, 3), (2, 3))
    return numpy.einsum("nchwyx,kcyx->nkhw", windows, weight.astype("float64"), optimize=True)


def compiled(module: rx.Module, step: int) -> Any:
    """Compile a program with each convolution by tiles of `step` results per side."""
    target = TARGET.format(step)
    lowered = rx.lower(module, target, pipeline=rx.stages(target).until("layouts"))
    found = set(re.findall(r'"(relax\.nn\.conv2d\w*)"', str(lowered)))
    assert found == {"relax.nn.conv2d_winograd"}
    return rx.compile(module, target)


def lost(actual: Any, expected: Any, data: Any, weight: Any) -> float:
    """Return the largest error, relative to the largest number times the sum of the taps."""
    return abs(actual - expected).max(initial=0) / (abs(data).max() * abs(weight).sum(axis=(1, 2, 3)).max())


def check(case: Case, step: int, main: Any, *shape: int) -> None:
    data, weight, bias = case.arrays(*shape)
    shown = convolved(data, weight, case.padding)
    residual = numpy.random.default_rng(1).normal(size=shown.shape).astype("float32")
    actual = to_numpy(main(data, residual) if case.residual else main(data))
    expected = case.expected(data, weight, bias, residual)
    assert actual.shape == expected.shape
    assert actual.dtype == "float32"
    # The added tensor is rounded, too.
    assert lost(actual, expected, data, weight) < ERRORS[step] if actual.size else True


#: Tiles that are whole and that are not, at each edge; panels of one vector and of two; with all that follows.
CASES = [
    (4, Case(32, 32), (1, 16, 16)),
    (2, Case(32, 32), (1, 16, 16)),
    (2, Case(32, 36, (0, 0, 0, 0), bias=True), (2, 12, 15)),
    (4, Case(36, 32, (1, 0, 0, 1), bias=True, relu=True), (1, 17, 11)),
    (4, Case(32, 40, (0, 1, 1, 0), residual=True), (3, 9, 9)),
    (2, Case(40, 32, bias=True, residual=True, relu=True), (1, 10, 21)),
]


@pytest.mark.parametrize(("step", "case", "shape"), CASES)
def test_known_sizes(step: int, case: Case, shape: tuple[int, ...]) -> None:
    _, weight, bias = case.arrays(*shape)
    check(case, step, compiled(case.module(weight, bias, *shape), step)["main"], *shape)


@pytest.mark.parametrize("step", [2, 4])
def test_any_sizes_of_one_compilation(step: int) -> None:
    """From pictures of less than a tile to some that are several blocks of tiles; none at all."""
    case = Case(32, 32, bias=True, residual=True)
    weight, bias = case.weights(numpy.random.default_rng(0))
    main = compiled(case.module(weight, bias, "n", "h", "w"), step)["main"]
    for shape in ((1, 1, 1), (1, 2, 3), (2, 5, 4), (1, 14, 14), (3, 33, 18), (0, 8, 8), (1, 60, 61)):
        random = numpy.random.default_rng(shape)
        data = random.normal(size=(shape[0], 32, *shape[1:])).astype("float32")
        residual = random.normal(size=data.shape).astype("float32")
        actual = to_numpy(main(data, residual))
        expected = case.expected(data, weight, bias, residual)
        assert actual.shape == expected.shape
        assert not data.size or lost(actual, expected, data, weight) < ERRORS[step]


@draws(20)
@given(
    st.sampled_from([2, 4]), st.sampled_from([32, 36, 48]), st.sampled_from([32, 36, 48]),
    st.tuples(*[st.integers(0, 1)] * 4), st.integers(1, 3), st.integers(10, 30), st.integers(10, 30),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
)  # fmt: skip
def test_all_kinds(
    step: int, channels: int, outputs: int, padding: Any, batch: int, height: int, width: int, follows: Any
) -> None:
    case = Case(channels, outputs, padding, *follows)
    _, weight, bias = case.arrays(batch, height, width)
    check(case, step, compiled(case.module(weight, bias, batch, height, width), step)["main"], batch, height, width)


def test_winograd_is_close_to_onnxruntime() -> None:
    case = Case(48, 48)
    data, weight, bias = case.arrays(1, 13, 19)
    (expected,) = run_onnx("Conv", data, weight, pads=[1, 1, 1, 1])
    actual = to_numpy(compiled(case.module(weight, bias, 1, 13, 19), 4)["main"](data))
    assert lost(actual, expected, data, weight) < ERRORS[4]


@pytest.mark.parametrize("step", [2, 4])
def test_large_numbers_are_lost_in_their_tile_alone(step: int) -> None:
    """Check that a large number or NaN affects only sums in its tile. Other sums are as exact as without it."""
    case = Case(32, 32)
    data, weight, bias = case.arrays(1, 20, 20)
    main = compiled(case.module(weight, bias, 1, 20, 20), step)["main"]
    far = (slice(None), slice(None), slice(0, 20), slice(12, 20))
    plain = to_numpy(main(data))
    for large in (1e6, numpy.inf, numpy.nan):
        data[0, 3, 5, 5] = large
        actual = to_numpy(main(data))
        numpy.testing.assert_array_equal(actual[far], plain[far])
        if numpy.isfinite(large):
            assert lost(actual, convolved(data, weight, case.padding), data, weight) < ERRORS[step]
        else:
            assert not numpy.isfinite(actual[0, :, 4:7, 4:7]).any()


def test_threads_share_winograd_with_equal_bits() -> None:
    """Share work among threads by blocks of tiles, or within a tile if there are few, with the same bits."""
    for shape in ((1, 14, 14), (4, 40, 40), ("n", "h", "w")):
        case = Case(64, 64)
        weight, bias = case.weights(numpy.random.default_rng(0))
        module, target = case.module(weight, bias, *shape), "llvm{winograd=4 vector-bytes=16 cores=2}"
        stages = rx.stages(target).until("parallel")
        assert "winograd.parallel" in str(rx.lower(module, target, pipeline=stages))
        executable = rx.compile(module, target)
        sizes = [24 if isinstance(size, str) else size for size in shape]
        data = numpy.random.default_rng(2).normal(size=(sizes[0], 64, *sizes[1:])).astype("float32")
        results = []
        for executable.threads in (1, 2, 3):
            results.append(to_numpy(executable["main"](data)))
        for other in results[1:]:
            numpy.testing.assert_array_equal(other, results[0])
        assert lost(results[0], convolved(data, weight, case.padding), data, weight) < ERRORS[4]


def test_no_results_are_refused_as_ever() -> None:
    case = Case(32, 32, (0, 0, 0, 0))
    weight, bias = case.weights(numpy.random.default_rng(0))
    module = case.module(weight, bias, 1, "h", "w")
    data = numpy.zeros((1, 32, 1, 9), "float32")
    messages = []
    for main in (rx.compile(module)["main"], compiled(module, 4)["main"]):
        with pytest.raises(ValueError, match="h") as raised:
            main(data)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize(
    ("options", "points"),
    [
        ("cpu=haswell winograd=4", 36),
        ("triple=aarch64-linux-gnu winograd=4", 36),
        ("cpu=haswell numerics=fast", 16),
        ("cpu=haswell numerics=fast winograd=4", 36),
        ("cpu=haswell numerics=fast winograd=0", None),
        ("cpu=haswell", None),
    ],
)
def test_options_choose_the_size_of_tiles(options: str, points: int | None) -> None:
    case = Case(64, 64, relu=True)
    module = case.module(*case.weights(numpy.random.default_rng(0)), 1, 20, 20)
    target = f"llvm{{{options}}}"
    lowered = str(rx.lower(module, target, pipeline=rx.stages(target).until("layouts")))
    kernels = re.findall(r'"relax\.nn\.conv2d_winograd".*?\(tensor<[^>]*>, tensor<\d+x(\d+)x', lowered)
    assert kernels == ([] if points is None else [str(points)])
