# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models in flax and jax agree with jax's own compiler to 1e-5 of the largest value."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax_models import MODELS

import relax_mlir as rx


@pytest.mark.parametrize("name", MODELS)
def test_a_model_agrees_with_jax(name: str) -> None:
    function, arguments = MODELS[name]()
    wanted, got = jax.jit(function)(*arguments), rx.jit(function)(*arguments)
    assert jax.tree.structure(got) == jax.tree.structure(wanted)
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        largest = float(np.max(np.abs(other), initial=1e-6))
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5 * largest)
