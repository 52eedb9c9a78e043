# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that keep the elements in order: copies, on targets without views."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...bindings.ir import Value
from ...dialects import relax
from ...dialects.core.symbols import Dim, equal, product
from ...emit import linalg, loops, tensors
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize

_Groups = list[tuple[list[int], list[int]]]


@register_legalize(["relax.reshape", "relax.flatten", "relax.expand_dims"], by_types=True)
def reshape(call: LegalizeCall) -> Legalized:
    old, new = call.shape(call.operands[0]), call.result_shape()

    def write(x: Value, output: Value) -> Value:
        if equal(product(old), product(new)) is not True:
            have, want = (prod(linalg.sizes(value)) for value in (x, output))
            loops.require_same(have, want, "numbers of elements")
        return _copy(x, output, old, new)

    return call.prim(write, call.operands[:1])


@register_legalize(["relax.grad.no_grad", "relax.grad.start_checkpoint", "relax.grad.end_checkpoint"])
def mark(call: LegalizeCall) -> Legalized:
    """Return the operands of a gradient marker. Gradients have been built already."""
    return call.operands


@register_legalize("relax.squeeze", by_types=True)
def squeeze(call: LegalizeCall) -> Legalized:
    sizes = call.shape(call.operands[0])
    if call.result_infos[0].shape is None:  # type: ignore[union-attr]
        return call.decline("sizes that may be 1 leave the rank unknown: state the axes")
    new = call.result_shape()
    dropped = [axis % len(sizes) for axis in call.op.axis or ()]

    def write(x: Value, output: Value) -> Value:
        for axis in dropped:
            if equal(sizes[axis], 1) is not True:
                loops.require_same(linalg.size(x, axis), 1, f"squeezed dimension {axis}")
        return _copy(x, output, sizes, new)

    return call.prim(write)


@register_legalize("relax.nn.batch_flatten", by_types=True)
def batch_flatten(call: LegalizeCall) -> Legalized:
    return relax.reshape(call.operands[0], relax.shape_expr(call.result_shape()))


def _copy(x: Value, output: Value, old: Sequence[Dim], new: Sequence[Dim]) -> Value:
    """Copy x's elements to the output, in their order."""
    if 0 in new:
        return output
    if not old or not new:
        return linalg.copy(x, output, [None] * len(old))
    groups = _matching_groups(old, new)
    flat = tensors.merge_all(x, [len(axes) for axes, _ in groups])
    sizes = linalg.sizes(output)
    return linalg.copy(tensors.split_all(flat, [[sizes[axis] for axis in axes] for _, axes in groups]), output)


def _matching_groups(old: Sequence[Dim], new: Sequence[Dim]) -> _Groups:
    """Return the shortest runs of dimensions of both shapes that are known to have equally many elements."""
    groups: _Groups = []
    start, begin = 0, 0
    while start < len(old) and begin < len(new):
        stop, end = _shortest_match(old, new, start, begin)
        groups.append((list(range(start, stop)), list(range(begin, end))))
        start, begin = stop, end
    # The remaining sizes on one side are 1.
    groups[-1][0].extend(range(start, len(old)))
    groups[-1][1].extend(range(begin, len(new)))
    return groups


def _shortest_match(old: Sequence[Dim], new: Sequence[Dim], start: int, begin: int) -> tuple[int, int]:
    """Return the ends of the shortest matching runs from here, or the ends of the shapes."""
    pairs = [(stop, end) for stop in range(start + 1, len(old) + 1) for end in range(begin + 1, len(new) + 1)]
    for stop, end in sorted(pairs, key=sum):
        if equal(product(old[start:stop]), product(new[begin:end])) is True:
            return stop, end
    return len(old), len(new)
