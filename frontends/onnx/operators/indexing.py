# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that read or write elements at indices."""

from __future__ import annotations

from ..prelude import Node, Outputs, along_axis, register_onnx, relax
from ..shapes import sizes
from ..shapes.sizes import Size

_REDUCTIONS = {"none": "update", "add": "add", "mul": "mul", "max": "max", "min": "min"}


# ---- read ----


@register_onnx("", "Gather")
def gather(node: Node) -> Outputs:
    return relax["take"](node.tensor(0), node.tensor(1), axis=node.int("axis", 0))


@register_onnx("", "GatherElements")
def gather_elements(node: Node) -> Outputs:
    return relax["gather_elements"](node.tensor(0), node.tensor(1), axis=node.int("axis", 0))


@register_onnx("", "GatherND")
def gather_nd(node: Node) -> Outputs:
    return relax["gather_nd"](node.tensor(0), node.tensor(1), batch_dims=node.int("batch_dims", 0))


@register_onnx("", "ReverseSequence")
def reverse_sequence(node: Node) -> Outputs:
    axes = {"seq_axis": node.int("time_axis", 0), "batch_axis": node.int("batch_axis", 1)}
    return relax["reverse_sequence"](node.tensor(0), node.tensor(1), **axes)


# ---- write ----


@register_onnx("", ["Scatter", "ScatterElements"])
def scatter_elements(node: Node) -> Outputs:
    operands = [node.tensor(index) for index in range(3)]
    return relax["scatter_elements"](*operands, axis=node.int("axis", 0), reduction=_reduction(node))


@register_onnx("", "ScatterND")
def scatter_nd(node: Node) -> Outputs:
    return relax["scatter_nd"](*(node.tensor(index) for index in range(3)), reduction=_reduction(node))


def _reduction(node: Node) -> str:
    return _REDUCTIONS[node.choice("reduction", "none", _REDUCTIONS)]


@register_onnx("", "TensorScatter")
def tensor_scatter(node: Node) -> Outputs:
    """Writes a sequence into each batch's cache from an index of its own on."""
    rank = node.rank(0)
    axis = node.axis(rank, -2)
    mode = node.choice("mode", "linear", ("linear", "circular"))
    if axis == 0:
        raise node.fail("axis 0 is the batch", "axis")
    updates = sizes.sizes_of(node.value(1))
    places = sizes.positions(updates, axis)
    if node.has(2):
        places = relax["add"](places, along_axis(sizes.integers(node, 2), 0, rank))
    if mode == "circular":
        limit: Size = sizes.sizes_of(node.value(0))[axis]
        places = relax["floor_mod"](places, sizes.as_tensor([limit]))
    return relax["scatter_elements"](node.tensor(0), sizes.broadcast(places, updates), node.tensor(1), axis=axis)
