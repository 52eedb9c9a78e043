# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that read or write elements at indices."""

from __future__ import annotations

from typing import Any

from ....dialects.relax import dialect
from ....support.suggest import counted
from ..node import Node
from ..registry import register_onnx
from ..shapes import sizes
from ..shapes.sizes import Size

relax = dialect.ops

_REDUCTIONS = {"none": "update", "add": "add", "mul": "mul", "max": "max", "min": "min"}


# ---- read ----


@register_onnx("", "Gather")
def gather(node: Node) -> Any:
    return relax["take"](node.tensor(0), node.tensor(1), axis=node.int("axis", 0))


@register_onnx("", "GatherElements")
def gather_elements(node: Node) -> Any:
    return relax["gather_elements"](node.tensor(0), node.tensor(1), axis=node.int("axis", 0))


@register_onnx("", "GatherND")
def gather_nd(node: Node) -> Any:
    return relax["gather_nd"](node.tensor(0), node.tensor(1), batch_dims=node.int("batch_dims", 0))


@register_onnx("", "ReverseSequence")
def reverse_sequence(node: Node) -> Any:
    axes = {"seq_axis": node.int("time_axis", 0), "batch_axis": node.int("batch_axis", 1)}
    return relax["reverse_sequence"](node.tensor(0), node.tensor(1), **axes)


# ---- write ----


@register_onnx("", ["Scatter", "ScatterElements"])
def scatter_elements(node: Node) -> Any:
    operands = [node.tensor(index) for index in range(3)]
    return relax["scatter_elements"](*operands, axis=node.int("axis", 0), reduction=_reduction(node))


@register_onnx("", "ScatterND")
def scatter_nd(node: Node) -> Any:
    return relax["scatter_nd"](*(node.tensor(index) for index in range(3)), reduction=_reduction(node))


def _reduction(node: Node) -> str:
    name = node.string("reduction", "none")
    if name not in _REDUCTIONS:
        raise node.fail(f"attribute 'reduction' must be one of {', '.join(_REDUCTIONS)}, got '{name}'", "reduction")
    return _REDUCTIONS[name]


@register_onnx("", "TensorScatter")
def tensor_scatter(node: Node) -> Any:
    """Writes a sequence into each batch's cache from an index of its own on."""
    axis, rank = node.int("axis", -2), node.rank(0)
    mode = node.string("mode", "linear")
    if mode not in ("linear", "circular"):
        raise node.fail(f"attribute 'mode' must be linear or circular, got '{mode}'", "mode")
    if not -rank <= axis < rank or axis % rank == 0:
        raise node.fail(f"axis {axis} is the batch, or out of range for {counted(rank, 'dimension')}", "axis")
    axis %= rank
    updates = sizes.sizes_of(node.value(1))
    places = sizes.positions(updates, axis)
    if node.has(2):
        behind = list(range(1, rank))
        places = relax["add"](places, relax["expand_dims"](sizes.integers(node, 2), axis=behind))
    if mode == "circular":
        limit: Size = sizes.sizes_of(node.value(0))[axis]
        places = relax["floor_mod"](places, sizes.as_tensor([limit]))
    return relax["scatter_elements"](node.tensor(0), sizes.broadcast(places, updates), node.tensor(1), axis=axis)
