# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Index maps: which put several elements at the same place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from relax_mlir.dialects.core.symbols_expr import make_variable
from relax_mlir.passes.loops.handles import IndexMap

N = make_variable("n")


@pytest.mark.parametrize(
    ("function", "shape", "expected"),
    [
        (lambda i: (i // 4, i % 4), (10,), True),
        (lambda i: (i // 4, i % 3), (10,), False),
        (lambda i, j: (j, i), (3, 4), True),
        (lambda i, j: (i + j,), (1, 4), True),
        (lambda i, j: (i + j,), (2, 4), False),
        (lambda i, j: (i * 4 + j,), (3, 4), True),
        (lambda i, j: (i * 4 + j,), (3, 5), False),
        (lambda i, j: (i, 0), (3, 1), True),
        (lambda i, j: (i, 0), (3, 2), False),
        (lambda i, j: (i, j), (0, 4), True),
        # Of many elements those far along each dimension are tried as well.
        (lambda i, j: (i % 64, j), (4096, 2048), False),
        (lambda i, j: (i, j % 2047), (4096, 2048), False),
        (lambda i, j: (i * 2047 + j,), (4096, 2048), False),
        (lambda i, j: (i * 2048 + j,), (4096, 2048), True),
        (lambda i, j: (i // 64, j, i % 64), (4096, 2048), True),
        (lambda i: (i % 5000,), (1 << 22,), False),
        # Of open sizes some.
        (lambda i: (i % 64,), (N,), False),
        (lambda i: (i // 64, i % 64), (N,), True),
        (lambda i, j: (i, j % 4), (N, 5), False),
    ],
)
def test_several_elements_at_one_place(function: Callable[..., Any], shape: tuple[Any, ...], expected: bool) -> None:
    assert IndexMap.of(function).is_injective(shape) is expected
