# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators with side effects."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

import numpy
from relax_mlir.bindings.diagnostics import made_at
from relax_mlir.bindings.navigation import enclosing, symbol_name
from relax_mlir.passes.evaluate.references import register_reference

from ..held_values import HeldValue
from ..sites import Site, Step
from ..steps import register_step

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall


@register_step("relax.assert_op")
def assert_op(site: Site) -> Step:
    """Raise an exception that names the function around, as programs do."""
    kind = getattr(builtins, site.attributes["kind"].value if "kind" in site.attributes else "AssertionError")
    text = site.attributes["format"].value if "format" in site.attributes else ""
    function = enclosing(site.operation, "func.func")
    place = made_at(f"@{symbol_name(function)}" if function is not None else "", site.operation.location)

    def run(frame: object, condition: HeldValue, *values: HeldValue) -> list[HeldValue]:
        if not condition:
            raise kind(f"{place}: {_format_text(text, values) if text else 'assertion failed'}")
        return []

    return run


@register_reference("relax.print", stored=True)
def print_(call: EvaluationCall, values: tuple[HeldValue, ...]) -> list[ndarray]:
    """Print by the format, or the values separated by spaces."""
    shown = [_show(value) for value in values]
    print(_format_text(call.format, values) if call.format else " ".join(map(str, shown)), flush=True)
    return []


def _format_text(text: str, values: tuple[HeldValue, ...]) -> str:
    return text.format(*map(_show, values))


def _show(value: object) -> object:
    """Convert a shape to a tensor of its sizes, and a scalar to a Python number."""
    if isinstance(value, tuple):
        return numpy.array(value, numpy.int64)
    return value.item() if isinstance(value, (numpy.generic, numpy.ndarray)) and value.ndim == 0 else value


@register_step("relax.random_key")
def random_key(site: Site) -> Step:
    """Return 0, 1, 2 and so on, counted over all functions of the machine."""
    keys = site.machine.keys
    return lambda frame: numpy.int64(next(keys))
