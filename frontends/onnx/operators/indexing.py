# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of reading, writing, searching, sorting and selecting of elements by index."""

from __future__ import annotations

from ....support.suggest import counted
from ...core import sizes
from ...core.sizes import Size
from ..input_sizes import input_size, integers
from ..prelude import OnnxNode, Outputs, Value, along_axis, register_onnx, register_rows, relax

_REDUCTIONS = {"none": "update", "add": "add", "mul": "mul", "max": "max", "min": "min"}


def _reduction(node: OnnxNode) -> str:
    return _REDUCTIONS[node.choice("reduction", "none", _REDUCTIONS)]


def _scatter_elements(node: OnnxNode) -> Outputs:
    return relax.dialect.ops["scatter_elements"](*node.tensors(3), axis=node.int("axis", 0), reduction=_reduction(node))


register_rows(
    "",
    {
        "Gather": lambda node: relax.dialect.ops["take"](*node.tensors(2), axis=node.int("axis", 0)),
        "GatherElements": lambda node: relax.dialect.ops["gather_elements"](*node.tensors(2), axis=node.int("axis", 0)),
        "GatherND": lambda node: relax.dialect.ops["gather_nd"](*node.tensors(2), batch_dims=node.int("batch_dims", 0)),
        "NonZero": lambda node: relax.nonzero(node.tensor(0)),
        "ReverseSequence": lambda node: relax.dialect.ops["reverse_sequence"](
            *node.tensors(2), seq_axis=node.int("time_axis", 0), batch_axis=node.int("batch_axis", 1)
        ),
        "Scatter": _scatter_elements,
        "ScatterElements": _scatter_elements,
        "ScatterND": lambda node: relax.dialect.ops["scatter_nd"](*node.tensors(3), reduction=_reduction(node)),
    },
)


@register_onnx("", "TensorScatter")
def tensor_scatter(node: OnnxNode) -> Outputs:
    """Convert TensorScatter: write a sequence into the cache of each batch, from the batch's own index on."""
    rank = node.rank(0)
    axis = node.axis(rank, -2)
    mode = node.choice("mode", "linear", ("linear", "circular"))
    if axis == 0:
        raise node.fail("axis 0 is the batch", "axis")
    if node.rank(1) != rank:
        raise node.fail(f"update has {counted(node.rank(1), 'dimension')}, past_cache {rank}")
    updates = sizes.sizes_of(node.value(1))
    places = sizes.positions(updates, axis)
    if node.has(2):
        places = relax.add(places, along_axis(integers(node, 2), 0, rank))
    if mode == "circular":
        limit: Size = sizes.sizes_of(node.value(0))[axis]
        places = relax.floor_mod(places, sizes.as_tensor([limit]))
    return relax.scatter_elements(node.tensor(0), sizes.broadcast(places, updates), node.tensor(1), axis=axis)


# ---- selection ----


@register_onnx("", "Compress")
def compress(node: OnnxNode) -> Outputs:
    """Convert Compress: take slices along an axis, or elements, by a condition. The condition may be shorter."""
    chosen = relax.squeeze(relax.nonzero(node.tensor(1)), axis=0)
    if node.has_attribute("axis"):
        return relax.take(node.tensor(0), chosen, axis=node.int("axis"))
    return relax.take(relax.flatten(node.tensor(0)), chosen, axis=0)


@register_onnx("", "Unique")
def unique(node: OnnxNode) -> Outputs:
    asked = [bool(name) for name in [*node.proto.output, "", "", ""][1:4]]
    axis = {"axis": node.int("axis")} if node.has_attribute("axis") else {}
    found = relax.unique(node.tensor(0), bool(node.int("sorted", 1)), *asked, **axis)
    values, *others = found if isinstance(found, tuple) else (found,)
    rest = iter(others)
    return [values, *(next(rest) if each else None for each in asked)][: node.output_count]


# ---- largest or smallest elements ----


register_rows("", {"TopK": lambda node: _top_k(node, node.int("k", 0))})
register_rows("", {"TopK": lambda node: _top_k(node, input_size(node, 1))}, since=10)


def _top_k(node: OnnxNode, k: Size) -> Outputs:
    """Convert TopK. The results are always sorted, whether or not an attribute requests this."""
    axis = node.axis(node.rank(0), -1)
    order = {"axis": axis, "largest": bool(node.int("largest", 1)), "dtype": "i64"}
    if isinstance(k, int) and k > 0:
        return list(relax.dialect.ops["topk"](node.tensor(0), k=k, **order))
    # Sort all elements, then take the first ones.
    return [
        sizes.sliced(Value(ssa=each), {axis: (0, k, 1)})
        for each in relax.dialect.ops["topk"](node.tensor(0), k=0, **order)
    ]
