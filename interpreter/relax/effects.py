# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators with an effect."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

import numpy

from ...bindings.diagnostics import made_at
from ...bindings.navigation import enclosing, symbol_name
from ..registry import register_reference, register_step
from ..sites import Site, Step

if TYPE_CHECKING:
    from numpy import ndarray

    from ...passes.evaluate.registry import EvaluationCall


@register_step("relax.assert_op")
def assert_op(site: Site) -> Step:
    """Raise an exception that names the function around, as programs do."""
    kind = getattr(builtins, site.attributes["kind"].value if "kind" in site.attributes else "AssertionError")
    text = site.attributes["format"].value if "format" in site.attributes else ""
    function = enclosing(site.operation, "func.func")
    place = made_at(f"@{symbol_name(function)}" if function is not None else "", site.operation.location)

    def run(frame: object, condition: Any, *values: Any) -> list[Any]:
        if not condition:
            raise kind(f"{place}: {_formatted(text, values) if text else 'assertion failed'}")
        return []

    return run


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
