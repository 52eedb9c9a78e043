# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cross-layer equalization: ranges of channels become equal, results do not change."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx
from quantizing import biased, module_of, recipe, run, snr
from relax_mlir import relax
from relax_mlir_quantize.calibration import function_named
from relax_mlir_quantize.equalization import equalize
from relax_mlir_quantize.placement import place
from relax_mlir_quantize.quantize import recipe_and_stages

TENSOR = recipe("i8 symmetric")


def _chain(activation: Any) -> tuple[rx.Module, Any]:
    """Return conv -> depthwise conv -> conv with channels of very different ranges, and data."""
    generator = numpy.random.default_rng(0)
    first, depth, last = (
        generator.normal(size=shape).astype("float32") for shape in ((8, 3, 3, 3), (8, 1, 3, 3), (4, 8, 1, 1))
    )
    ranges = numpy.geomspace(0.02, 20, 8, dtype="float32")
    first *= ranges[:, None, None, None]
    depth /= ranges[::-1, None, None, None]
    last *= (ranges[::-1] / ranges)[None, :, None, None]
    biases = [generator.normal(size=(count, 1, 1)).astype("float32") for count in (8, 8, 4)]
    biases[0] *= ranges[:, None, None]

    def build(x: Any) -> Any:
        x = activation(biased(relax.nn.conv2d(x, relax.const(first), padding=1), biases[0]))
        x = activation(biased(relax.nn.conv2d(x, relax.const(depth), padding=1, groups=8), biases[1]))
        return biased(relax.nn.conv2d(x, relax.const(last)), biases[2])

    return module_of(build, (2, 3, 8, 8)), generator.normal(size=(2, 3, 8, 8)).astype("float32")


def _equalized(module: rx.Module, types: rx.Recipe) -> tuple[rx.Module, int]:
    _, stages = recipe_and_stages("llvm")
    made = rx.lower(module, stages.target, pipeline=stages)
    with made.context:
        return made, equalize(place(function_named(made, "main"), types, {}))


@pytest.mark.parametrize("activation", [relax.nn.relu, lambda x: x], ids=["relu", "none"])
def test_results_stay_the_same(activation: Any) -> None:
    module, x = _chain(activation)
    made, pairs = _equalized(module, TENSOR)
    assert pairs == 2
    assert snr(run(module, x), run(made, x)) > 90


def test_other_activations_are_left() -> None:
    module, _ = _chain(lambda x: relax.clip(x, min=0.0, max=6.0))
    assert _equalized(module, TENSOR)[1] == 0


def test_rows_with_scales_of_their_own_are_left() -> None:
    module, _ = _chain(relax.nn.relu)
    assert _equalized(module, recipe("i8@channel symmetric"))[1] == 0


def test_the_error_becomes_less() -> None:
    module, x = _chain(relax.nn.relu)
    expected = run(module, x)
    plain, ours = (run(rx.quantize(module, [x], TENSOR, equalize=how).module, x) for how in (False, True))
    assert snr(expected, ours) > snr(expected, plain) + 6
