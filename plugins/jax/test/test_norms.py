# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalizations of a batch, beside numpy: StableHLO's interpreter does not know them."""

from __future__ import annotations

import numpy
import pytest
from hlo_oracle import array_of, called

_ATTRIBUTES = "{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}"


def _inputs(x: str, feature: str) -> list[numpy.ndarray]:
    inputs = [array_of(type_, seed) for seed, type_ in enumerate([x, feature, feature, feature, feature, x])]
    inputs[4] = inputs[4] ** 2
    return inputs


def _wide(array: numpy.ndarray) -> numpy.ndarray:
    return array.astype("float64")[None, :, None]


@pytest.mark.parametrize(("dtype", "tolerance"), [("f32", 1e-4), ("f64", 1e-9), ("f16", 2e-2)])
def test_inference_and_training(dtype: str, tolerance: float) -> None:
    x, feature = f"tensor<3x4x5x{dtype}>", f"tensor<4x{dtype}>"
    attributes = _ATTRIBUTES
    text = f"""
    func.func @main(%x: {x}, %s: {feature}, %o: {feature}, %m: {feature}, %v: {feature})
        -> ({x}, {x}, {feature}, {feature}) {{
      %a = "stablehlo.batch_norm_inference"(%x, %s, %o, %m, %v) {attributes}
          : ({x}, {feature}, {feature}, {feature}, {feature}) -> {x}
      %b:3 = "stablehlo.batch_norm_training"(%x, %s, %o) {attributes}
          : ({x}, {feature}, {feature}) -> ({x}, {feature}, {feature})
      return %a, %b#0, %b#1, %b#2 : {x}, {x}, {feature}, {feature}
    }}"""
    inputs = _inputs(x, feature)[:5]
    data, scale, offset, mean, variance = inputs
    wide = data.astype("float64")
    own_mean, own_variance = wide.mean((0, 2)), wide.var((0, 2))
    expected = [
        (wide - _wide(mean)) / numpy.sqrt(_wide(variance) + 1e-3) * _wide(scale) + _wide(offset),
        (wide - _wide(own_mean)) / numpy.sqrt(_wide(own_variance) + 1e-3) * _wide(scale) + _wide(offset),
        own_mean,
        own_variance,
    ]
    for found, wanted in zip(called(text, inputs), expected, strict=True):
        assert found.dtype == data.dtype
        numpy.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def test_gradients_are_those_by_differences() -> None:
    x, feature = "tensor<3x4x5xf64>", "tensor<4xf64>"
    forward = f"""
    func.func @main(%x: {x}, %s: {feature}, %o: {feature}) -> ({x}, {feature}, {feature}) {{
      %b:3 = "stablehlo.batch_norm_training"(%x, %s, %o) {_ATTRIBUTES}
          : ({x}, {feature}, {feature}) -> ({x}, {feature}, {feature})
      return %b#0, %b#1, %b#2 : {x}, {feature}, {feature}
    }}"""
    backward = f"""
    func.func @main(%x: {x}, %s: {feature}, %m: {feature}, %v: {feature}, %g: {x}) -> ({x}, {feature}, {feature}) {{
      %b:3 = "stablehlo.batch_norm_grad"(%x, %s, %m, %v, %g) {_ATTRIBUTES}
          : ({x}, {feature}, {feature}, {feature}, {x}) -> ({x}, {feature}, {feature})
      return %b#0, %b#1, %b#2 : {x}, {feature}, {feature}
    }}"""
    data, scale, offset, _, _, gradient = _inputs(x, feature)
    _, mean, variance = called(forward, [data, scale, offset])
    found = called(backward, [data, scale, mean, variance, gradient])

    def loss(*changed: numpy.ndarray) -> float:
        wide, by, to = changed
        centered = wide - _wide(wide.mean((0, 2)))
        return float((gradient * (centered / numpy.sqrt(_wide(wide.var((0, 2))) + 1e-3) * _wide(by) + _wide(to))).sum())

    for index, made in enumerate(found):
        random = numpy.random.default_rng(index)
        direction = random.normal(size=made.shape)
        sides = []
        for step in (1e-6, -1e-6):
            changed = [data, scale, offset]
            changed[index] = changed[index] + step * direction
            sides.append(loss(*changed))
        numpy.testing.assert_allclose((made * direction).sum(), (sides[0] - sides[1]) / 2e-6, rtol=1e-5, atol=1e-7)
