# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Part of `suite.py torch-ops`: some operators always, and a few random ones."""

from __future__ import annotations

import functools

import pytest
import refusals
from op_checks import Check, without_noise
from op_entries import entries
from op_peers import Peer, Relax
from op_placements import WAYS, PlacementCheck
from op_workers import Outcome, Task

# One operator or two of each family, with all element types.
ALWAYS = [
    "add",
    "amax",
    "argmax",
    "bmm",
    "cat",
    "clamp",
    "cumsum",
    "div.floor_rounding",
    "expand",
    "gather",
    "index_put",
    "index_select",
    "isnan",
    "linalg.vector_norm",
    "masked_fill",
    "mean",
    "nn.functional.conv2d",
    "nn.functional.embedding",
    "nn.functional.gelu",
    "nn.functional.interpolate.bilinear",
    "nn.functional.layer_norm",
    "nn.functional.max_pool2d",
    "nn.functional.pad.reflect",
    "nn.functional.scaled_dot_product_attention",
    "pow",
    "remainder",
    "reshape",
    "round",
    "scatter_add",
    "slice",
    "softmax",
    "sort",
    "split",
    "sum",
    "to",
    "topk",
    "where",
]
# Operators with a backward operator in torch, or in this project.
TRAINED = ["fft.rfft", "linalg.solve", "nn.functional.conv2d", "nn.functional.layer_norm", "nn.functional.logsigmoid"]
# Series of hundreds of operations, which take a minute to compile: test_special_functions.py has them.
LONG = tuple(
    f"special.{name}"
    for name in "airy bessel chebyshev hermite laguerre legendre modified scaled shifted spherical".split()
)
# As many as the runs took that wrote the lists.
SAMPLES = 3


@functools.cache
def peer() -> Peer:
    without_noise()
    return Relax()


def check(name: str, dtype: str, mode: str, samples: int = SAMPLES) -> None:
    kind = PlacementCheck if mode == "ranks" else Check
    verdicts = kind(entries()[name], dtype, mode, peer()).run(limit=samples)
    outcome = Outcome(Task(name, mode, dtype), {place: tuple(each) for place, each in verdicts.items()}, 0.0)
    assert not refusals.differences([outcome], {mode: refusals.read(mode)})


@pytest.mark.parametrize("name", ALWAYS)
def test_results_are_those_of_torch(name: str) -> None:
    for dtype in entries()[name].dtypes():
        check(name, dtype, "static")


@pytest.mark.parametrize("name", ALWAYS)
def test_results_with_dynamic_sizes_are_those_of_torch(name: str) -> None:
    dtypes = entries()[name].dtypes()
    check(name, "f32" if "f32" in dtypes else dtypes[0], "dynamic")


@pytest.mark.parametrize("name", TRAINED)
def test_gradients_are_those_of_torch(name: str) -> None:
    check(name, "f32", "gradients", samples=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in entries() if not name.startswith(LONG)])
@pytest.mark.parametrize(("mode", "samples"), [("static", SAMPLES), ("ranks", WAYS)])
def test_a_drawn_operator_agrees_with_torch(name: str, mode: str, samples: int) -> None:
    """Check f32, for which the whole table has run, on one rank and four. `suite.py torch-ops` checks other types."""
    if "f32" in entries()[name].dtypes():
        check(name, "f32", mode, samples)
