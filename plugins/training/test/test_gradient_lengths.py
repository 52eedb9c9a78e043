# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of norms and deviations at 0: 0 as in torch, without losing other gradients of the tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from compiling import array
from gradient_cases import relax
from relax_mlir.dialects.relax import const
from relax_mlir_training.gradient.reverse import gradients


def made(build: Callable[[Any], Any], x: Any) -> Any:
    """Return the gradient of the number that `build` returns."""
    module = rx.Module()
    with module.function("gradients", [rx.tensor(x.shape, "float64")]) as f:
        f.returns(*gradients(build(*f), f.args))
    return array(rx.compile(module, opt_level=0, jobs=1)["gradients"](x))


def _two_norm(x: Any) -> Any:
    return relax["sqrt"](relax["sum"](relax["square"](x)))


def _deviation_of_halves(x: Any) -> Any:
    distance = relax["subtract"](x, relax["mean"](x))
    return relax["sqrt"](relax["divide"](relax["sum"](relax["multiply"](distance, distance)), const(2.0, "f64")))


#: Lengths, and points where they are 0: there torch's `std`, `norm` and `abs` of complex numbers have gradient 0.
_LENGTHS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "std": (lambda x: relax["std"](x), 1.0),
    "std of one": (lambda x: relax["sum"](relax["std"](x, axis=[1])), 1.0),
    "variance": (lambda x: relax["variance"](x), 1.0),
    "root of the variance": (lambda x: relax["sqrt"](relax["variance"](x)), 1.0),
    "deviation": (_deviation_of_halves, 1.0),
    "norm": (_two_norm, 0.0),
    "norm in f32": (lambda x: relax["astype"](_two_norm(relax["astype"](x, dtype="f32")), dtype="f64"), 0.0),
    "norm of powers": (lambda x: relax["sqrt"](relax["sum"](relax["power"](x, const(2.0, "f64")))), 0.0),
    "twice": (lambda x: relax["sqrt"](relax["multiply"](const(2.0, "f64"), relax["sum"](relax["square"](x)))), 0.0),
    "of a view": (lambda x: relax["sum"](relax["sqrt"](relax["reshape"](relax["square"](x), (1, 3)))), 0.0),
    "transposed": (lambda x: relax["sum"](relax["sqrt"](relax["permute_dims"](relax["square"](x)))), 0.0),
    "hypotenuse": (lambda x: relax["sum"](relax["sqrt"](relax["add"](relax["square"](x), relax["square"](x)))), 0.0),
    "to length 1": (lambda x: relax["sum"](relax["divide"](x, relax["maximum"](_two_norm(x), const(0.5, "f64")))), 0.0),
}


@pytest.mark.parametrize("name", _LENGTHS)
def test_a_length_of_0_has_a_gradient(name: str) -> None:
    """Give 0 for the gradient, so that the other gradients of the tensor stay finite.

    `to length 1` divides by at least 0.5.
    """
    build, value = _LENGTHS[name]

    def with_others(x: Any) -> Any:
        return relax["add"](build(x), relax["multiply"](relax["sum"](x), const(2.0, "f64")))

    expected = 4.0 if name == "to length 1" else 2.0
    numpy.testing.assert_array_equal(made(with_others, numpy.full((3, 1), value)), numpy.full((3, 1), expected))


@pytest.mark.parametrize("exponent", [1.0, 3.0])
def test_other_powers_are_no_squares(exponent: float) -> None:
    def root(x: Any) -> Any:
        return relax["sqrt"](relax["sum"](relax["power"](x, const(exponent, "f64"))))

    found = made(root, numpy.zeros(2))
    assert not numpy.isfinite(found).any()


def test_a_length_of_0_has_a_second_gradient() -> None:
    def once(x: Any) -> Any:
        return relax["add"](relax["sum"](gradients(relax["std"](x), [x])[0]), relax["sum"](relax["square"](x)))

    numpy.testing.assert_array_equal(made(once, numpy.ones(3)), numpy.full(3, 2.0))


def test_a_root_of_0_has_no_finite_gradient() -> None:
    """Give infinity as in torch."""
    found = made(lambda x: relax["sum"](relax["sqrt"](x)), numpy.array([0.0, 4.0]))
    numpy.testing.assert_array_equal(found, [numpy.inf, 0.25])
