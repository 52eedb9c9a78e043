# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions of batches of small images, compiled for llvm and run, against onnxruntime.

Steps cover several rows and images, and taps that meet only padding are skipped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy
import pytest
from example_counts import draws
from hypothesis import assume, given
from hypothesis import strategies as st
from onnx_oracle import run_onnx
from prim_jit import run_op

import relax_mlir as rx
from relax_mlir import relax


def normal(*shape: int, seed: int = 3) -> Any:
    return numpy.random.default_rng(seed).normal(size=shape).astype("float32")


class Case(NamedTuple):
    batch: int
    channels: tuple[int, int]
    groups: int
    places: tuple[int, int]
    taps: tuple[int, int]
    strides: tuple[int, int]
    dilation: tuple[int, int]
    padding: tuple[int, int, int, int]


@st.composite
def cases(draw: Any) -> Case:
    def two(least: int, most: int) -> tuple[int, int]:
        return draw(st.integers(least, most)), draw(st.integers(least, most))

    channels, groups = draw(st.sampled_from([((16, 32), 1), ((32, 48), 1), ((32, 32), 32), ((6, 10), 2), ((5, 7), 1)]))
    case = Case(
        draw(st.integers(1, 9)), channels, groups, two(1, 5), two(1, 4), two(1, 3), two(1, 3), two(0, 3) + two(0, 3)
    )
    sides = zip(case.places, case.padding[:2], case.padding[2:], case.taps, case.dilation, strict=True)
    assume(all(size + before + after > (taps - 1) * gap for size, before, after, taps, gap in sides))
    return case


@given(cases(), st.booleans(), st.sampled_from(["llvm", "llvm{vector-bytes=16 caches=1K,4K}"]))
@draws(40)
def test_small_pictures(case: Case, is_open: bool, target: str) -> None:
    """Compute in blocks of channels if these are vectors.

    Weights exceed small caches, so that images are the inner loop.
    """
    (inputs, outputs), batch = case.channels, case.batch
    data, weight = normal(batch, inputs, *case.places), normal(outputs, inputs // case.groups, *case.taps, seed=4)
    module = rx.Module()
    with module.function("main", [rx.tensor(("n" if is_open else batch, inputs, *case.places))]) as f:
        options = {"strides": case.strides, "dilation": case.dilation, "padding": case.padding, "groups": case.groups}
        f.returns(relax.nn.relu(relax.nn.conv2d(f.args[0], relax.const(weight), **options)))
    found = numpy.from_dlpack(rx.compile(module, target)["main"](data))
    pads, group = case.padding, case.groups
    wanted = run_onnx("Conv", data, weight, strides=case.strides, dilations=case.dilation, pads=pads, group=group)[0]
    assert found.shape == wanted.shape
    numpy.testing.assert_allclose(found, numpy.maximum(wanted, 0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("size", "options", "met"),
    [
        (1, {"padding": (1, 1)}, (1, 1)),
        (2, {"padding": (1, 1), "strides": (2, 2)}, (1, 2)),
        (2, {"padding": (2, 2), "dilation": (2, 2)}, (1, 1)),
        (1, {"padding": (0, 0, 2, 2)}, (0, 0)),
    ],
)
def test_taps_that_meet_padding_alone_are_not_multiplied(size: int, options: dict[str, Any], met: Any) -> None:
    """Skip taps in the padding: an infinite weight would turn their zeros into NaN."""
    first, last = met
    data, weight = normal(2, 3, size, size), numpy.full((4, 3, 3, 3), numpy.inf, "float32")
    weight[:, :, first : last + 1, first : last + 1] = normal(4, 3, last - first + 1, last - first + 1, seed=4)
    finite = numpy.where(numpy.isinf(weight), 0, weight)
    pads = options["padding"] * (4 // len(options["padding"]))
    others = {"strides": options.get("strides", (1, 1)), "dilations": options.get("dilation", (1, 1))}
    wanted = run_onnx("Conv", data, finite, pads=pads, **others)[0]
    numpy.testing.assert_allclose(run_op("relax.nn.conv2d", data, weight, **options), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("padding, layout", [(5, "3x3x4x3"), (1, "4x3x3x3")])
def test_weights_of_wide_padding_are_laid_out_by_taps(padding: int, layout: str) -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((1, 3, 6, 6)), rx.tensor((4, 3, 3, 3))]) as f:
        f.returns(rx.relax.nn.conv2d(*f, padding=[padding]))
    rx.Pipeline("builtin.module(relax-legalize-ops{target=default})").run(module)
    assert f"(tensor<1x3x6x6xf32>, tensor<{layout}xf32>) ->" in str(module)


def test_weights_that_are_laid_out_by_taps_stay() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((1, 6, 6, 3)), rx.tensor((3, 3, 3, 4))]) as f:
        f.returns(rx.relax.nn.conv2d(*f, padding=[5], data_layout="NHWC", kernel_layout="HWIO"))
    rx.Pipeline("builtin.module(relax-legalize-ops{target=default})").run(module)
    assert "permute_dims" not in str(module)
