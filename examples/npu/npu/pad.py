# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pass that pads products with zeros to multiples of 16. Constants are padded at compile time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import relax_mlir as rx
from relax_mlir import relax

from .isa import ARRAY


def _zeros(value: Any, axis: int, count: int) -> list[Any]:
    shape = list(value.type.shape)
    shape[axis] = count
    return [relax.zeros(shape, str(value.type.element_type))] if count else []


def _more(value: Any, axis: int) -> Any:
    """Append zeros along an axis, up to a whole block."""
    zeros = _zeros(value, axis, -value.type.shape[axis] % ARRAY)
    return relax.concat(value, *zeros, axis=axis) if zeros else value


def _pad(op: Any, rewriter: Any) -> Any:
    value, widths = op.data, list(op.pad_width)
    if op.pad_mode != "constant" or op.pad_value != 0 or min(widths) < 0:
        return None
    for axis, (before, after) in enumerate(zip(widths[::2], widths[1::2], strict=True)):
        parts = [*_zeros(value, axis, before), value, *_zeros(value, axis, after)]
        value = relax.concat(*parts, axis=axis) if len(parts) > 1 else value
    return value


def _of(padded: Any, op: Any) -> Any:
    """Return the original part of a padded result."""
    last = op.result.type.rank - 1
    whole = padded.type == op.result.type
    return padded if whole else relax.strided_slice(padded, [last], [0], [op.result.type.shape[last]])


def _conv2d(op: Any, rewriter: Any) -> Any:
    data, weight = _more(op.data, 3), _more(_more(op.weight, 2), 3)
    if (data, weight) == (op.data, op.weight) or op.groups != 1:
        return None
    layouts = {"data_layout": op.data_layout, "kernel_layout": op.kernel_layout, "out_dtype": _element(op)}
    steps = {"strides": op.strides, "padding": op.padding, "dilation": op.dilation}
    return _of(relax.nn.conv2d(data, weight, **steps, **layouts), op)


def _matmul(op: Any, rewriter: Any) -> Any:
    ranks = op.x1.type.rank, op.x2.type.rank
    left, right = _more(op.x1, ranks[0] - 1), _more(_more(op.x2, ranks[1] - 2), ranks[1] - 1)
    return None if (left, right) == (op.x1, op.x2) else _of(relax.matmul(left, right, out_dtype=_element(op)), op)


def _element(op: Any) -> str:
    return str(op.result.type.element_type)


@rx.register_pass
@dataclass(frozen=True)
class Pad(rx.Pass):
    """Pad products with zeros to multiples of 16. Constants are padded at compile time."""

    name: ClassVar[str] = "npu-pad"

    def run(self, op: Any) -> None:
        patterns = [("relax.nn.conv2d", _conv2d), ("relax.matmul", _matmul), ("relax.nn.pad", _pad)]
        rx.rewriting.apply_walk(op, [rx.rewriting.Pattern(*each) for each in patterns])
