# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""builtin.unrealized_conversion_cast between types that are held alike, and ub.poison."""

from __future__ import annotations

from typing import Any

import numpy

from ...bindings.mlir import ir
from ..element_bits import element_of
from ..held_values import stored
from ..memory import is_wide
from ..registry import register_step
from ..sites import IS_CODE, Site, Step
from .llvm import memory_of


@register_step("builtin.unrealized_conversion_cast")
def cast(site: Site) -> Step:
    """Elements of other types are the same bits; a memref of bytes is all of the memory."""
    if len(site.operation.operands) != 1 or len(site.operation.results) != 1:
        raise site.refusal("the reference does not know what it means")
    source, target = site.operand_type(), site.result_type()
    if isinstance(target, ir.MemRefType) and str(source).startswith("!llvm.struct"):
        memory_at = memory_of(site)
        return lambda frame, parts: memory_at(parts)
    if "!llvm" in f"{source} {target}":
        raise site.refusal(IS_CODE)
    if isinstance(source, ir.ShapedType) != isinstance(target, ir.ShapedType):
        raise site.refusal(f"the reference does not know what {source} is as {target}")
    names, numbers, memory = (element_of(source), element_of(target)), site.numbers, site.machine.memory
    held = numbers.dtype(names[1])
    if names[0] == names[1]:
        return lambda frame, x: x
    if isinstance(target, ir.MemRefType) and stored(names[0]).itemsize != stored(names[1]).itemsize:
        unit = stored(names[0]).itemsize
        return lambda frame, array: memory.viewed(array, 0, (array.size * unit,), names[1])
    if any(is_wide(numbers, name) for name in names):
        raise site.refusal(f"{names[0]} as {names[1]} would be bits of floats, which wide=True holds as f64")
    return lambda frame, x: x.view(held)


@register_step("ub.poison")
def poison(site: Site) -> Step:
    type_, numbers = site.result_type(), site.numbers
    shape = tuple(type_.shape) if isinstance(type_, ir.ShapedType) else ()
    value: Any = numbers.empty(shape, element_of(type_))
    return lambda frame: value[()] if not isinstance(type_, ir.ShapedType) else numpy.array(value)
