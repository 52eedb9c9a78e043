# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fusion of RMS norms that exporters have written as arithmetic.

x / sqrt(mean(x * x) + epsilon) * weight reads rows twice, and stores a value for each row in between. One kernel does
all of that.
"""

from __future__ import annotations

from typing import ClassVar

from ...bindings.ir import Operation, Value
from ...bindings.patterns import apply_greedy
from ...dialects import relax
from ...dialects.core.symbols import equal
from ...dialects.relax.values import as_result, dtype_of, normal_axis, shape_of
from ..core.base import Pass
from ..core.registry import register_pass
from ..patterns.matched import Match
from ..patterns.operator_patterns import is_filled, is_op
from ..patterns.rewrite import rewrite
from ..patterns.tree import wildcard

#: ^Narrow floats do not qualify: the arithmetic rounds them after each step, and the operator only at its end.
_WIDE = ("f32", "f64")


@register_pass
class FuseRmsNorm(Pass):
    """Fuse a division of rows by the root of the mean of their squares into nn.rms_norm."""

    name: ClassVar[str] = "relax-fuse-rms-norm"
    anchor: ClassVar[str] = "any"

    def run(self, op: Operation) -> None:
        apply_greedy(op, [rewrite(_NORM, _rms_norm, name="fuse_rms_norm")], what=self.name)


_X = wildcard().named("x")
_SQUARES = is_op("relax.power")(_X, is_filled(2)) | is_op("relax.multiply")(_X, _X) | is_op("relax.square")(_X)
_MEAN = is_op("relax.mean")(_SQUARES).named("mean")
_VARIANCE = is_op("relax.add")(_MEAN, is_filled().named("epsilon"))
_DEVIATION = is_op("relax.sqrt")(_VARIANCE)
_FACTOR = is_op("relax.divide")(is_filled(1), _DEVIATION) | is_op("relax.rsqrt")(_VARIANCE)
_NORMAL = is_op("relax.multiply")(_X, _FACTOR) | is_op("relax.divide")(_X, _DEVIATION)
_NORM = is_op("relax.multiply")(_NORMAL.used_once(), wildcard().named("weight"))


def _rms_norm(match: Match) -> Value | None:
    x, weight, mean, epsilon = match["x"], match["weight"], match.op("mean"), match.number("epsilon")
    shape, sizes = shape_of(x), shape_of(weight)
    if shape is None or sizes is None or epsilon is None or epsilon < 0 or dtype_of(x) not in _WIDE:
        return None
    axes = mean.axis
    if not mean.keepdims or axes is None or [normal_axis(axis, len(shape)) for axis in axes] != [len(shape) - 1]:
        return None
    if len(sizes) != 1 or equal(sizes[0], shape[-1]) is not True or dtype_of(weight) != dtype_of(x):
        return None
    return as_result(match.root.opview, relax.nn.rms_norm(x, weight, axes=[-1], epsilon=float(epsilon)))
