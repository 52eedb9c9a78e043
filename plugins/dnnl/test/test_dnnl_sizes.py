# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen dnnl with symbolic sizes that may be 0: empty operands and empty reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from dnnl_models import floats
from dnnl_parts import built, compare_steps
from relax_mlir import relax

const = relax.const
Shapes = Sequence[Sequence[int | str]]


def _given(*shapes: Sequence[int]) -> list[Any]:
    return [floats(*shape) for shape in shapes]


@pytest.mark.parametrize("name", ["sum", "mean", "prod"])
@pytest.mark.parametrize("axis", [None, [1]])
@pytest.mark.parametrize("sizes", [(2, 3), (1, 1), (3, 1), (0, 3), (3, 0)])
def test_reductions(name: str, axis: list[int] | None, sizes: tuple[int, int]) -> None:
    body = lambda x: relax.sqrt(relax.abs(getattr(relax, name)(x, axis=axis)))  # noqa: E731
    assert compare_steps(built(body, ("n", "m")), _given(sizes)) == ["reduction+eltwise+eltwise"]


@pytest.mark.parametrize("shapes", [[(2, 3), (3, 4)], [(2, 0), (0, 4)], [(0, 0), (0, 4)], [(0, 3), (3, 4)]])
def test_empty_product_is_the_bias(shapes: Sequence[Sequence[int]]) -> None:
    body = lambda x, y: relax.nn.relu(relax.add(relax.matmul(x, y), const(floats(4))))  # noqa: E731
    assert compare_steps(built(body, ("n", "k"), ("k", 4)), _given(*shapes)) == ["matmul+bias+eltwise"]


def _convolution(x: Any) -> Any:
    y = relax.nn.conv2d(x, const(floats(4, 3, 3, 3)), padding=2)
    return relax.multiply(relax.add(y, const(floats(4, 1, 1))), const(floats(4, 1, 1)))


def _in_rows(x: Any) -> Any:
    y = relax.nn.conv2d(x, const(floats(4, 3, 3, 3)), padding=2, data_layout="NHWC")
    return relax.nn.relu(relax.add(y, const(floats(4))))


@pytest.mark.parametrize(
    ("body", "shape", "kinds"),
    [
        (_convolution, ("n", 3, "h", "w"), ["convolution+bias+binary"]),
        (_in_rows, ("n", "h", "w", 3), ["convolution+bias+eltwise"]),
        (lambda x: relax.nn.conv2d_transpose(x, const(floats(3, 4, 3, 3))), ("n", 3, "h", "w"), ["deconvolution"]),
        (lambda x: relax.nn.max_pool2d(x, pool_size=2, padding=1), ("n", 3, "h", "w"), ["pooling"]),
        (lambda x: relax.nn.avg_pool2d(x, pool_size=2, padding=1), ("n", 3, "h", "w"), ["pooling"]),
    ],
)
@pytest.mark.parametrize("sizes", [{"n": 2, "h": 4, "w": 3}, {"n": 2, "h": 0, "w": 0}, {"n": 0, "h": 4, "w": 3}])
def test_windows_over_no_elements(
    body: Callable[[Any], Any], shape: Sequence[int | str], kinds: list[str], sizes: dict[str, int]
) -> None:
    given = _given([sizes.get(str(size), size) for size in shape])  # type: ignore[list-item]
    assert compare_steps(built(body, shape), given) == kinds
