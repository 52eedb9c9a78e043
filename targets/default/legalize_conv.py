# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions as contractions over windows."""

from __future__ import annotations

from typing import Any

from ...dialects.tir.prim_func import OpPattern
from ...passes.legalize import scalar
from ...passes.legalize.builder import RuleBuilder
from ...passes.legalize.convolution import Convolution, Lettered, check_channels, convolve, in_plain_layouts
from ...passes.legalize.rules import register_legalize
from ...passes.legalize.windows import padded


@register_legalize(["relax.nn.conv1d", "relax.nn.conv2d", "relax.nn.conv3d"])
def convolution(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    conv = Convolution(op, operands, builder)
    if not conv.has_fitting_blocks:
        return in_plain_layouts(op, operands, conv, builder)

    def body(data_value: Any, weight_value: Any, out: Any) -> Any:
        data, weight = conv.of_data(data_value), conv.of_weight(weight_value)
        check_channels(conv, data, weight)
        return convolve(conv, _padded(conv, data), weight, conv.of_result(out), conv.strides)

    return builder.prim(body, pattern=OpPattern.OUT_EWISE_FUSABLE)


def _padded(conv: Convolution, data: Lettered) -> Lettered:
    """The data with zeros around."""
    sides = dict(zip(conv.spatial, conv.padding, strict=True))
    before, after = zip(*(sides.get(letter, (0, 0)) for letter in data.letters), strict=True)
    zero = scalar.constant(0, data.value.type.element_type)
    return data.replaced(padded(data.value, zero, before, after))
