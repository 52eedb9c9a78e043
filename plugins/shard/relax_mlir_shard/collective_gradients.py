# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of collectives. All ranks differentiate together: a gradient is that of the sum of all ranks' results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.bindings.ir import Value

from .collectives import Size, ccl, known_sizes
from .planner import element_of

Groups: TypeAlias = Mapping[str, Any]


def _groups(call: Any) -> Groups:
    return {"groups": list(call.groups), "group_size": call.group_size}


@rx.rules.register_gradient("ccl.all_reduce")
def all_reduce(call: Any) -> Value:
    total = ccl.all_reduce(call.gradient, **_groups(call))
    return _gradient_of_kind(call.x, call.result, total, call.kind, _groups(call))


@rx.rules.register_gradient("ccl.all_gather")
def all_gather(call: Any) -> Value:
    step = known_sizes(call.x)[call.axis % len(known_sizes(call.x))]
    whole = _extend(call.gradient, call.axis, step * call.group_size)
    return ccl.reduce_scatter(whole, axis=call.axis, **_groups(call))


@rx.rules.register_gradient("ccl.reduce_scatter")
def reduce_scatter(call: Any) -> Value:
    total = _fold(ccl.all_gather(call.gradient, axis=call.axis, **_groups(call)), call.axis, call.x)
    result = call.result if call.kind == "sum" else ccl.all_reduce(call.x, kind=call.kind, **_groups(call))
    return _gradient_of_kind(call.x, result, total, call.kind, _groups(call))


@rx.rules.register_gradient("ccl.all_to_all")
def all_to_all(call: Any) -> Value:
    step = known_sizes(call.x)[call.concat_axis % len(known_sizes(call.x))]
    whole = _extend(call.gradient, call.concat_axis, step * call.group_size)
    moved = ccl.all_to_all(whole, split_axis=call.concat_axis, concat_axis=call.split_axis, **_groups(call))
    return _fold(moved, call.split_axis, call.x)


@rx.rules.register_gradient("ccl.permute")
def permute(call: Any) -> Value:
    """Send gradients back. A source with several targets adds them, in several rounds."""
    rounds: list[dict[int, int]] = []
    for source, target in zip(call.pairs[::2], call.pairs[1::2], strict=True):
        free = next((pairs for pairs in rounds if source not in pairs), None)
        if free is None:
            rounds.append(free := {})
        free[source] = target
    total = relax.zeros_like(call.x)
    for index, pairs in enumerate(rounds):
        back = ccl.permute(call.gradient, pairs=[rank for pair in pairs.items() for rank in reversed(pair)])
        total = relax.add(total, back) if index else back
    return total


@rx.rules.register_gradient("ccl.broadcast")
def broadcast(call: Any) -> Value:
    total = ccl.all_reduce(call.gradient, **_groups(call))
    is_root = relax.equal(_index_in_group(_groups(call), 0), relax.const(numpy.int64(call.root)))
    return relax.where(is_root, total, relax.zeros_like(total))


@rx.rules.register_gradient("ccl.part")
def part(call: Any) -> Value:
    """Put the gradient to this rank's place among zeros."""
    rank = len(known_sizes(call.x))
    axis = call.axis % rank
    parts = relax.expand_dims(call.gradient, axis=[axis])
    is_own = _is_own(_groups(call), rank - axis)
    stacked = relax.where(is_own, parts, relax.zeros_like(parts))
    shape = list(known_sizes(call.gradient))
    shape[axis] = shape[axis] * call.group_size
    return _fold(relax.reshape(stacked, shape), axis, call.x)


def _gradient_of_kind(x: Value, result: Value, total: Value, kind: str, groups: Groups) -> Value:
    """Return the gradient of x, if `total` has the gradients of the combined tensor on all ranks."""
    if kind == "sum":
        return total
    if kind == "prod":
        stacked = ccl.all_gather(relax.expand_dims(x, axis=[0]), axis=0, **groups)
        others = relax.where(_is_own(groups, len(known_sizes(x))), relax.ones_like(stacked), stacked)
        return relax.multiply(total, relax.prod(others, axis=[0]))
    is_result = relax.equal(x, result)
    count = ccl.all_reduce(relax.astype(is_result, dtype=element_of(x)), **groups)
    return relax.where(is_result, relax.divide(total, count), relax.zeros_like(x))


def _index_in_group(groups: Groups, following: int) -> Value:
    """Return the place of this rank in its group, with a number of following dimensions of size 1."""
    places = numpy.arange(groups["group_size"]).reshape(-1, *[1] * following)
    index = ccl.part(relax.const(places), axis=0, **groups)
    return index if following else relax.squeeze(index, axis=[0])


def _is_own(groups: Groups, following: int) -> Value:
    """Return, for each part of a group, if it is this rank's: a dimension, and others of size 1."""
    places = numpy.arange(groups["group_size"]).reshape(-1, *[1] * following)
    return relax.equal(relax.const(places), _index_in_group(groups, following))


def _extend(x: Value, axis: int, size: Size) -> Value:
    """Add zeros behind the end of a dimension."""
    shape = known_sizes(x)
    missing = size - shape[axis]
    if not isinstance(missing, int) or not missing:  # symbolic sizes have full parts
        return x
    widths = [0] * (2 * len(shape))
    widths[2 * (axis % len(shape)) + 1] = missing
    return relax.nn.pad(x, pad_width=widths)


def _fold(gradient: Value, axis: int, x: Value) -> Value:
    """Add the gradients behind the end of x to the gradient of its last element, of which they are copies."""
    size, full, axis = known_sizes(x)[axis], known_sizes(gradient)[axis], axis % len(known_sizes(x))
    if size == full:
        return gradient
    tail = relax.sum(_slice(gradient, axis, size - 1, full), axis=[axis], keepdims=True)
    return relax.concat([_slice(gradient, axis, 0, size - 1), tail], axis=axis)


def _slice(x: Value, axis: int, begin: Size, end: Size) -> Value:
    return relax.strided_slice(x, axes=[axis], begin=[begin], end=[end])
