# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators with an effect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from ..registry import register_reference, register_step
from ..sites import Site, Step

if TYPE_CHECKING:
    from numpy import ndarray

    from ...passes.evaluate.registry import EvaluationCall


@register_reference("relax.assert_op")
def assert_op(call: EvaluationCall, condition: ndarray, format_args: tuple[Any, ...]) -> list[ndarray]:
    if not condition:
        raise AssertionError(_formatted(call.format, format_args) if call.format else "assertion failed")
    return []


@register_reference("relax.print", stored=True)
def print_(call: EvaluationCall, values: tuple[Any, ...]) -> list[ndarray]:
    """Without a format the values one by one."""
    shown = [_shown(value) for value in values]
    print(_formatted(call.format, values) if call.format else " ".join(map(str, shown)), flush=True)
    return []


def _formatted(text: str, values: tuple[Any, ...]) -> str:
    return text.format(*map(_shown, values))


def _shown(value: object) -> object:
    """A shape as the tensor of its sizes, a number as Python's."""
    if isinstance(value, tuple):
        return numpy.array(value, numpy.int64)
    return value.item() if isinstance(value, (numpy.generic, numpy.ndarray)) and value.ndim == 0 else value


@register_step("relax.random_key")
def random_key(site: Site) -> Step:
    """0, 1, 2 and so on, for all functions of the machine together."""
    keys = site.machine.keys
    return lambda frame: numpy.int64(next(keys))
