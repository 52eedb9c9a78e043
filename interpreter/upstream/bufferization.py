# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bufferization: from tensors to memory and back. Tensors change with no memory: each has elements of its own."""

from __future__ import annotations

from typing import Any

import numpy

from ..element_bits import element_of
from ..registry import register_step
from ..sites import Site, Step
from .memref import held
from .operands import segments, sizes_of


@register_step(["bufferization.to_tensor", "bufferization.to_buffer", "bufferization.clone"])
def copied(site: Site) -> Step:
    return lambda frame, array: numpy.array(held(site, array))


@register_step("bufferization.alloc_tensor")
def alloc_tensor(site: Site) -> Step:
    numbers, split, dtype, sizes = site.numbers, segments(site), element_of(site.result_type()), sizes_of(site)

    def run(frame: object, *operands: Any) -> Any:
        dynamic, copy, _ = split(operands)
        return numpy.array(copy[0]) if len(copy) else numbers.empty(tuple(sizes(iter(dynamic))), dtype)

    return run


@register_step("bufferization.dealloc_tensor")
def dealloc_tensor(site: Site) -> Step:
    return lambda frame, array: None


@register_step("bufferization.materialize_in_destination")
def materialize(site: Site) -> Step:
    def run(frame: object, source: Any, target: Any) -> Any:
        if len(site.operation.results):
            return source
        held(site, target)[...] = source
        return None

    return run
