# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls from the graph to functions of the module, and what knows sizes by their symbols."""

from __future__ import annotations

from typing import Any

import numpy

from ...dialects.core.codec import decode
from ...dialects.core.dialect import find_op
from ...dialects.core.infos import Info, TensorInfo
from ...dialects.core.verifier import call_of
from ..registry import register_step
from ..sites import Frame, Site, Step


@register_step("relax.shape_expr")
def shape_expr(site: Site) -> Step:
    dims = call_of(find_op("relax.shape_expr"), site.operation).dims
    return lambda frame: [tuple(map(frame.size, dims))]


@register_step("relax.call_tir")
def call_tir(site: Site) -> Step:
    """A PrimFunc is given memory for its results; one on tensors returns them, one on memrefs has written them."""
    callee = call_of(find_op("relax.call_tir"), site.operation).func
    site.machine.prepare(callee)
    machine, infos = site.machine, [decode(type_) for type_ in site.operation.results.types]

    def run(frame: Frame, *operands: Any) -> list[Any]:
        outputs = [memory(site, frame, info) for info in infos]
        # Memory is in order, which arrays that stand for tensors need not be.
        inputs = [numpy.asarray(each, order="C") if isinstance(each, numpy.ndarray) else each for each in operands]
        found = machine.call_from_graph(callee, [*inputs, *outputs], site.operation) or outputs
        return [with_sign(site, each, info) for each, info in zip(found, infos, strict=True)]

    return run


def with_sign(site: Site, array: Any, info: Info) -> Any:
    """What a PrimFunc gives as the graph's type has it: PrimFuncs have integers without a sign."""
    held = site.numbers.dtype(info.dtype) if isinstance(info, TensorInfo) else None
    return array if held is None or array.dtype == held else array.view(held)


def memory(site: Site, frame: Frame, info: Info) -> Any:
    """What a result is written to."""
    assert isinstance(info, TensorInfo) and info.shape is not None, "its verifier refuses others"
    sizes = [frame.size(dim) for dim in info.shape]
    if None in sizes:
        raise site.refusal("a size of its result is not known before it runs")
    shape = tuple(size for size in sizes if size is not None)
    if min(shape, default=0) < 0:
        raise ValueError(f"{site.place}: a size of its result is negative: shape {shape}")
    return site.machine.memory.allocate(shape, info.dtype)


@register_step("relax.prim_value")
def prim_value(site: Site) -> Step:
    value = call_of(find_op("relax.prim_value"), site.operation).value

    def run(frame: Frame) -> Any:
        size = frame.size(value)
        if size is None:
            raise site.refusal(f"{value} is not known before it")
        return numpy.int64(size)

    return run
