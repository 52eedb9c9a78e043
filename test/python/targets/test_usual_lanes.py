# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vector widths of bodies in f32 with sums in f64, and tiles of loops of dynamic length."""

from __future__ import annotations

import re
from typing import Any

import numpy
import pytest
from onnx_oracle import run_onnx

import relax_mlir as rx
from relax_mlir import relax

_TARGET = "llvm{cpu=skylake-avx512 vector-bytes=64}"


@pytest.mark.parametrize(("operator", "lanes"), [(relax.nn.log_softmax, 16), (relax.sum, 8)])
def test_a_sum_in_f64_has_the_lanes_of_what_it_sums(operator: Any, lanes: int) -> None:
    """Widen vectors for much computation per element; a plain sum would not gain."""
    module = rx.Module()
    with module.function("main", [rx.tensor((4, 1000))]) as f:
        f.returns(operator(*f, axis=-1))
    text = str(rx.lower(module, _TARGET, pipeline=rx.stages(_TARGET).until("plan")))
    plans = re.findall(r'tir.plan = "([^"]*)"(?:(?!linalg.generic).)*?arith.addf [^\n]* f64', text, re.DOTALL)
    assert [re.findall(r"vector \d x (\d+)", plan) for plan in plans] == [[str(lanes)]]


def test_rows_of_every_length_of_a_kernel_for_open_ones() -> None:
    """Whole tiles, half a tile, single places."""
    weight = numpy.random.default_rng(1).normal(size=(32, 16, 3, 3)).astype("float32")
    module = rx.Module()
    with module.function("main", [rx.tensor((1, 16, "h", "w"))]) as f:
        f.returns(relax.nn.conv2d(*f, relax.const(weight), padding=(1, 1, 1, 1)))
    main = rx.compile(module)["main"]
    for width in range(1, 22):
        x = numpy.random.default_rng(width).normal(size=(1, 16, 2, width)).astype("float32")
        expected = run_onnx("Conv", x, weight, pads=(1,) * 4)[0]
        numpy.testing.assert_allclose(main(x), expected, rtol=1e-4, atol=1e-4)
