# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of the table of operators that tests export to ONNX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

import relax_mlir as rx

R: Any = rx.relax
_random = numpy.random.default_rng(3)


class Row(NamedTuple):
    """Function of operators, and the arguments of its call."""

    name: str
    body: Callable[..., Any]
    inputs: tuple[Any, ...]
    #: Whether sizes have to be numbers.
    is_static: bool = False
    rtol: float = 1e-5


def f(*shape: int, dtype: str = "float32", scale: float = 1.0) -> Any:
    return (_random.normal(size=shape) * scale).astype(dtype)


def i(*shape: int, low: int = -9, high: int = 9, dtype: str = "int64") -> Any:
    return _random.integers(low, high, shape).astype(dtype)


def b(*shape: int) -> Any:
    return _random.integers(0, 2, shape).astype(bool)


def positive(*shape: int) -> Any:
    return numpy.abs(f(*shape)) + 0.5


def call(name: str, **attributes: Any) -> Callable[..., Any]:
    def body(*operands: Any) -> Any:
        found = R
        for part in name.split("."):
            found = getattr(found, part)
        return found(*operands, **attributes)

    return body


def info(value: Any) -> Any:
    from relax_mlir.dialects.core.codec import decode

    return decode(value.type)


def shape_of(value: Any) -> tuple[Any, ...]:
    return tuple(info(value).shape)
