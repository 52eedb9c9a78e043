# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls from tensor programs: of functions that the caller of the reference has given by name."""

from __future__ import annotations

from typing import Any

from ...bindings.mlir import ir
from ...support.suggest import suggest
from ..element_bits import element_of
from ..registry import register_step
from ..sites import Site, Step


def function_of(site: Site) -> Any:
    """What the operation calls, where that was given."""
    name, functions = site.attributes["func"].value, site.machine.functions
    if name not in functions:
        known = suggest(name, list(functions))
        raise site.refusal(
            f'it calls "{name}", which is not in the module: give it, functions={{"{name}": ...}}{known}'
        )
    return functions[name]


@register_step(["tir.call_extern", "tir.call_pure_extern", "tir.call_packed"])
def call(site: Site) -> Step:
    function, numbers = function_of(site), site.numbers
    results = list(site.operation.results.types)

    def run(frame: object, *operands: Any) -> Any:
        found = function(*operands)
        if not results:
            return None
        return found if str(results[0]).startswith("!") else numbers.held(found, element_of(results[0]))[()]

    return run


@register_step("tir.packed")
def packed(site: Site) -> Step:
    """A function of the packed ABI, which writes into arrays or returns new ones."""
    if site.attributes["func"].value == _SHAPE:
        return lambda frame, *sizes: [tuple(map(int, sizes))]
    function, numbers, types = function_of(site), site.numbers, list(site.operation.results.types)

    def run(frame: object, *operands: Any) -> list[Any]:
        found = function(*operands)
        given = [found] if len(types) == 1 else list(found or ())
        return [
            numbers.held(each, element_of(type_)) if isinstance(type_, ir.ShapedType) else each
            for each, type_ in zip(given, types, strict=True)
        ]

    return run


#: What tvm-ffi registers: makes a shape of integers.
_SHAPE = "ffi.Shape"
