# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SmoothQuant: norms and linear layers change, results in floating point do not."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx
from quantizing import accuracy, module_of, recipe, run, snr
from relax_mlir import relax
from relax_mlir_quantize.calibration import Samples, function_named
from relax_mlir_quantize.placement import place
from relax_mlir_quantize.quantize import recipe_and_stages
from relax_mlir_quantize.smoothing import smoothed_sources
from relax_mlir_quantize.tensor_statistics import rescale
from small_nets import digits, network, outliers, trained

I8 = recipe("i8@channel symmetric narrow")


def rescaled(
    module: rx.Module, samples: Any, strength: float | None, *, equalize: bool = False
) -> tuple[rx.Module, bool]:
    """Return the module in the form of codegens after the change of its weights, and whether these changed."""
    _, stages = recipe_and_stages("llvm")
    made = rx.lower(module, stages.target, pipeline=stages)
    placement = place(function_named(made, "main"), I8, {})
    listed = Samples(samples, function_named(module, "main"), None)
    sources = [] if strength is None else smoothed_sources(placement)
    return made, rescale(made, "main", placement, listed, sources, strength, equalize, lambda count: None)


def test_progress_includes_the_samples_of_smoothing() -> None:
    gamma, w = numpy.ones(8, "float32"), numpy.eye(8, dtype="float32")
    norm = lambda x: relax.nn.rms_norm(x, relax.const(gamma), axes=[-1])  # noqa: E731
    module = module_of(lambda x: relax.matmul(norm(x), relax.const(w)), (4, 8))
    samples = [numpy.full((4, 8), each, "float32") for each in range(1, 41)]
    seen: list[tuple[int, int]] = []
    rx.quantize(module, samples, I8, progress=lambda done, count: seen.append((done, count)))
    assert seen == [(done, 72) for done in range(1, 73)]


@pytest.mark.slow
def test_a_transformer_with_large_channels() -> None:
    """Plain ranges lose more than 10 points, the defaults less than 1 (ViT-B/16: 81.07 to 24.75 without)."""
    pictures, labels = digits("digits")
    module = network("vit", outliers())
    samples = [each[None] for each in digits("training")[0][:64]]
    expected = accuracy(run(module, pictures), labels)
    plain = rx.quantize(module, samples, I8, calibrate="minmax", smooth=None, bias_correction=False)
    ours = rx.quantize(module, samples, I8)
    assert expected > 95
    assert accuracy(run(plain.module, pictures), labels) < expected - 10
    assert abs(accuracy(run(ours.module, pictures), labels) - expected) <= 1


def test_results_stay_the_same() -> None:
    pictures, _ = digits("digits")
    module = network("vit", outliers())
    made, is_changed = rescaled(module, [pictures[:8]], 0.5)
    assert is_changed
    assert snr(run(module, pictures), run(made, pictures)) > 90


@pytest.mark.parametrize("norm", ["layer_norm", "rms_norm"])
def test_views_are_passed(norm: str) -> None:
    generator = numpy.random.default_rng(0)
    gamma, w = (generator.normal(size=shape).astype("float32") for shape in ((6,), (6, 5)))
    gamma[2] = 80

    def build(x: Any) -> Any:
        parameters = [relax.const(gamma)] * (2 if norm == "layer_norm" else 1)
        normed = getattr(relax.nn, norm)(x, *parameters, axes=[-1])
        return relax.matmul(relax.reshape(normed, (8, 6)), relax.const(w))

    x = generator.normal(size=(2, 4, 6)).astype("float32")
    module = module_of(build, (2, 4, 6))
    made, is_changed = rescaled(module, [x], 0.5)
    assert is_changed
    numpy.testing.assert_allclose(run(made, x), run(module, x), rtol=1e-4, atol=1e-4)
    plain, ours = (rx.quantize(module, [x], I8, smooth=smooth).module for smooth in (None, 0.5))
    assert snr(run(module, x), run(ours, x)) > snr(run(module, x), run(plain, x)) + 3


def _written_out_norm(x: Any, gamma: Any, bias: Any) -> Any:
    squares = relax.mean(relax.multiply(x, x), axis=[-1], keepdims=True)
    normed = relax.divide(x, relax.sqrt(relax.add(squares, relax.const(1e-5))))
    return relax.add(relax.multiply(normed, relax.const(gamma)), relax.const(bias))


@pytest.mark.parametrize("kind", ["gate", "gate with bias", "norm"])
def test_other_large_channels_are_divided(kind: str) -> None:
    """Gated layers and norms of several operators have divided channels, and equal results."""
    generator = numpy.random.default_rng(0)
    gate, up, w = (generator.normal(size=shape).astype("float32") for shape in ((4, 6), (4, 6), (6, 5)))
    gamma, bias = (generator.normal(size=6).astype("float32") for _ in range(2))
    up[:, 2] *= 80
    gamma[2], w[2] = 80, w[2] / 80

    def build(x: Any) -> Any:
        if kind == "norm":
            # The parameters of a norm with one reader are folded into the reader's weights.
            normed = _written_out_norm(x, gamma, bias)
            first, second = (relax.matmul(normed, relax.const(each)) for each in (w, w[:, ::-1].copy()))
            return relax.concat([first, second], axis=-1)
        upper = relax.matmul(x, relax.const(up))
        upper = relax.add(upper, relax.const(bias)) if "bias" in kind else upper
        return relax.matmul(relax.multiply(relax.nn.silu(relax.matmul(x, relax.const(gate))), upper), relax.const(w))

    shape = (2, 8, 6 if kind == "norm" else 4)
    x = generator.normal(size=shape).astype("float32")
    module = module_of(build, shape)
    made, is_changed = rescaled(module, [x], 0.5)
    assert is_changed
    numpy.testing.assert_allclose(run(made, x), run(module, x), rtol=1e-4, atol=1e-4)
    plain, ours = (rx.quantize(module, [x], I8, smooth=smooth).module for smooth in (None, 0.5))
    assert snr(run(module, x), run(ours, x)) > snr(run(module, x), run(plain, x)) + 3


def test_a_gated_layer_with_another_reader_is_left() -> None:
    w = numpy.eye(4, dtype="float32")

    def build(x: Any) -> Any:
        upper = relax.matmul(x, relax.const(w))
        return relax.add(upper, relax.matmul(relax.multiply(relax.sigmoid(x), upper), relax.const(w)))

    assert not rescaled(module_of(build, (2, 4)), [numpy.ones((2, 4), "float32")], 0.5)[1]


def test_a_norm_with_another_reader_is_left() -> None:
    ones, w = numpy.ones(4, "float32"), numpy.eye(4, dtype="float32")

    def build(x: Any) -> Any:
        normed = relax.nn.rms_norm(x, relax.const(ones))
        return relax.add(normed, relax.matmul(normed, relax.const(w)))

    x = numpy.ones((2, 4), "float32")
    assert not rescaled(module_of(build, (2, 4)), [x], 0.5)[1]


def test_a_strength_outside_is_refused() -> None:
    module = network("vit", trained("vit"))
    with pytest.raises(rx.OptionError, match=r"smooth=2\.0: expected a strength between 0 and 1"):
        rx.quantize(module, [digits("digits")[0][:1]], I8, smooth=2.0)
