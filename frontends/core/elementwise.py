# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise functions for which relax has no operator: scalar functions, applied with broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, reduce
from itertools import zip_longest

from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import Dim
from ...dialects.relax.infer.broadcast import broadcast_dim
from ...emit.broadcast import is_proven
from ...emit.elementwise import ScalarFunction, call_elementwise
from ...emit.numbers import Number, intrinsic
from . import sizes
from .node import Node
from .tensors import info_of
from .values import Tensor


def elementwise(
    node: Node, function: ScalarFunction, operands: Sequence[Tensor], *parameters: object, dtype: str = ""
) -> Tensor:
    """Return the tensor of `function(*numbers, *parameters)`, by default with the first operand's element type."""
    infos = [info_of(operand) for operand in operands]
    if (shape := reduce(_broadcast, [info.shape for info in infos])) is None or None in shape:
        raise node.fail("the rank or a size of its result is not known while the model is imported")
    result = TensorInfo(shape, dtype or infos[0].dtype)
    fitting = [
        operand if is_proven(info, result) else sizes.broadcast(operand, shape)
        for operand, info in zip(operands, infos, strict=True)
    ]
    return call_elementwise(function, fitting, parameters, result, node.graph.kernels)


def _broadcast(one: tuple[Dim, ...] | None, other: tuple[Dim, ...] | None) -> tuple[Dim, ...] | None:
    if one is None or other is None:
        return None
    pairs = zip_longest(reversed(one), reversed(other), fillvalue=1)
    return tuple(reversed([broadcast_dim(*pair) for pair in pairs]))


def intrinsic_of(node: Node, name: str, operands: Sequence[Tensor], dtype: str = "") -> Tensor:
    """Apply an intrinsic of tir, such as `expm1`, to each element."""
    return elementwise(node, _intrinsic(name), operands, dtype=dtype)


@cache
def _intrinsic(name: str) -> ScalarFunction:
    def function(*operands: Number) -> Number:
        return intrinsic(name, *operands)

    function.__name__ = name
    return function
