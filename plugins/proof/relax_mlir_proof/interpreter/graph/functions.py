# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of functions of the module, and scalars of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy
from relax_mlir.bindings.navigation import callee_of, has_body

from ..element_bits import element_of
from ..held_values import Elements
from ..sites import Site, Step
from ..steps import register_step

if TYPE_CHECKING:
    from numpy import ndarray


@register_step("func.call")
def call(site: Site) -> Step:
    name, machine = callee_of(site.operation), site.machine
    if not has_body(machine.operation(name)):
        raise site.refusal(f"@{name} has no body: call a packed function of that name (relax.call_dps_packed)")
    machine.prepare(name)
    return lambda frame, *operands: machine.call(name, operands)


@register_step("tensor.dim")
def dim(site: Site) -> Step:
    def run(frame: object, array: ndarray, axis: int) -> numpy.int64:
        if not 0 <= axis < array.ndim:
            raise site.refusal(f"it asks for dimension {axis} of {array.ndim}")
        return numpy.int64(array.shape[axis])

    return run


@register_step("tensor.from_elements")
def from_elements(site: Site) -> Step:
    shape, held = tuple(site.result_type().shape), site.numbers.dtype(element_of(site.result_type()))
    return lambda frame, *elements: numpy.array(elements, held).reshape(shape)


@register_step("tensor.extract")
def extract(site: Site) -> Step:
    def run(frame: object, array: ndarray, *indices: int) -> Elements:
        for axis, (index, size) in enumerate(zip(indices, array.shape, strict=True)):
            if not 0 <= index < size:
                raise site.refusal(f"it reads index {index} along axis {axis}, which has size {size}")
        return array[indices]

    return run
