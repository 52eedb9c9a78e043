# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of operators that join, split, slice or pad tensors."""

from __future__ import annotations

from itertools import pairwise

from relax_mlir.dialects.relax.infer.slices import OPEN
from relax_mlir.frontends.core.padding import padded

from ..prelude import Outputs, Tensor, TorchNode, Value, cast, from_front, joined, part, register_torch, relax, sizes

# ---- slices ----


@register_torch("aten::slice.Tensor", "aten::slice_copy")
def slice_(node: TorchNode) -> Outputs:
    """Convert slice by Python's rules. torch has decided about bounds past the end: the result has their sizes."""
    x, axis = node.value(0), node.axis("dim", node.rank(0), 0)
    begin = node.size("start") if node.has("start") else 0
    end = node.size("end") if node.has("end") else OPEN
    return _slice(node, x, axis, begin, end, node.int("step", 1))


def _slice(node: TorchNode, x: Value, axis: int, begin: sizes.Size, end: sizes.Size, step: int = 1) -> Tensor | Value:
    shape = list(node.info.shape or ())
    if step == 1 and list(x.shape or ()) == shape:
        return x
    lengths = {} if shape[axis] is None else {axis: shape[axis]}
    return sizes.stated(sizes.sliced(x, {axis: (begin, end, step)}, lengths), shape)


@register_torch("aten::narrow", "aten::narrow_copy")
def narrow(node: TorchNode) -> Outputs:
    x, axis = node.value(0), node.axis("dim", node.rank(0))
    begin = node.size("start")
    end = sizes.plus(begin, node.size("length"))
    is_open = isinstance(begin, int) and begin < 0 and isinstance(end, int) and end >= 0
    return _slice(node, x, axis, begin, OPEN if is_open else end)


@register_torch("aten::select.int", "aten::select_copy")
def select(node: TorchNode) -> Outputs:
    x, axis, index = node.value(0), node.axis("dim", node.rank(0)), node.size("index")
    if isinstance(index, int):
        return part(x.ssa, axis, index, OPEN if index == -1 else index + 1, drop=True)
    size = sizes.as_scalar(sizes.sizes_of(x)[axis], "i64")
    return relax.take(x.ssa, from_front(relax.reshape(sizes.as_tensor([index]), ()), size), axis=axis)


# ---- joining and splitting ----


@register_torch("aten::cat", "aten::concat", "aten::concatenate")
def cat(node: TorchNode) -> Outputs:
    """Convert cat. torch ignores empty 1-D tensors among tensors of other ranks."""
    rank = len(node.sizes_of_result)
    given = [each for each in node.values(0) if each.rank == rank] or node.values(0)
    axis = node.axis("dim", rank, 0)
    return joined([cast(each.ssa, node.dtype) for each in given], axis)


@register_torch("aten::stack")
def stack(node: TorchNode) -> Outputs:
    tensors = node.tensors(0, node.dtype)
    axis = node.axis("dim", len(node.sizes_of_result), 0)
    return joined([relax.expand_dims(tensor, axis=[axis]) for tensor in tensors], axis)


@register_torch(
    "aten::split", "aten::split_with_sizes", "aten::chunk", "aten::tensor_split.sections", "aten::unsafe_split",
    "aten::unsafe_split_with_sizes", "aten::unsafe_chunk", "aten::split_copy", "aten::split_with_sizes_copy",
)  # fmt: skip
def split(node: TorchNode) -> Outputs:
    """Convert a split. torch knows the lengths of the parts."""
    axis = node.axis("dim", node.rank(0), 0)
    return sizes.parts(node.value(0), axis, [node.result_sizes(index)[axis] for index in range(len(node.results))])


@register_torch("aten::unbind", "aten::unbind_copy")
def unbind(node: TorchNode) -> Outputs:
    axis = node.axis("dim", node.rank(0), 0)
    parts = sizes.parts(node.value(0), axis, [1] * len(node.results))
    return [relax.squeeze(each, axis=[axis]) for each in parts]


@register_torch("aten::tensor_split.indices")
def split_at(node: TorchNode) -> Outputs:
    """Convert tensor_split at indices, by Python's rules of slices."""
    axis = node.axis("dim", node.rank(0), 0)
    places = [0, *node.sizes("indices"), OPEN]
    return [
        sizes.stated(sizes.sliced(node.value(0), {axis: (begin, end, 1)}), list(info.shape or ()))
        for (begin, end), info in zip(pairwise(places), node.results, strict=True)
        if info is not None
    ]


# ---- padding ----

_MODES = {"reflection": "reflect", "replication": "replicate", "_pad": "circular"}


@register_torch("aten::constant_pad_nd", "aten::pad")
def pad(node: TorchNode) -> Outputs:
    fill = node.get("value")
    return _emit_pad(node, node.string("mode", "constant"), 0 if fill is None else fill)


@register_torch(
    "aten::reflection_pad1d", "aten::reflection_pad2d", "aten::reflection_pad3d", "aten::replication_pad1d",
    "aten::replication_pad2d", "aten::replication_pad3d", "aten::_pad_circular",
)  # fmt: skip
def pad_by_own_elements(node: TorchNode) -> Outputs:
    return _emit_pad(node, next(mode for name, mode in _MODES.items() if node.op.startswith(f"aten::{name}")), 0)


def _emit_pad(node: TorchNode, mode: str, fill: float | Value) -> Tensor | Value:
    """Pad a tensor. torch lists widths from the last dimension to the first."""
    x, rank = node.value(0), node.rank(0)
    widths = node.sizes("padding" if "padding" in node.arguments else "pad")
    pairs = {rank - 1 - place: (widths[2 * place], widths[2 * place + 1]) for place in range(len(widths) // 2)}
    if isinstance(fill, bool):
        fill = int(fill)
    return padded(x, pairs, mode, fill if isinstance(fill, (int, float)) else sizes.as_scalar(fill, node.dtype))
