# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions as contractions over windows."""

from __future__ import annotations

from typing import Any

from ...dialects.tir.prim_func import OpPattern
from ...passes.legalize.builder import RuleBuilder
from ...passes.legalize.convolution import Convolution, check_channels, convolve, in_plain_layouts
from ...passes.legalize.rules import register_legalize


@register_legalize(["relax.nn.conv1d", "relax.nn.conv2d", "relax.nn.conv3d"])
def convolution(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    conv = Convolution(op, operands, builder)
    if not conv.has_fitting_blocks:
        return in_plain_layouts(op, operands, conv, builder)
    weight_operand = conv.laid_out(operands[1])

    def body(data_value: Any, weight_value: Any, out: Any) -> Any:
        data, weight = conv.of_data(data_value), conv.of_weight(weight_value)
        check_channels(conv, data, weight)
        return convolve(conv, data, weight, conv.of_result(out), conv.windows(weight.sizes))

    return builder.prim(body, [operands[0], weight_operand], pattern=OpPattern.OUT_EWISE_FUSABLE)
