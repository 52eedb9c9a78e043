# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pixel shuffle: a transposed copy between views of data and result with more dimensions."""

from __future__ import annotations

from math import prod
from typing import Any

from ...dialects.tir.prim_func import OpPattern
from ...emit import linalg, loops
from ...emit.linalg import copy
from ...emit.tensors import merge_all as merged
from ...emit.tensors import split_all as split
from ...passes.legalize.builder import RuleBuilder
from ...passes.legalize.rules import register_legalize


@register_legalize("relax.nn.pixel_shuffle")
def pixel_shuffle(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    """(..., C * r * r, H, W) is (..., C, r, r, H, W), which becomes (..., C, H, r, W, r)."""
    factor = op.upscale_factor

    def shuffled(data: Any, output: Any) -> Any:
        *batch, all_channels, height, width = linalg.sizes_of(data)
        channels = linalg.sizes_of(output)[-3]
        loops.require_same(all_channels, prod([channels, factor, factor]), "channels to shuffle")
        outer = [[size] for size in batch]
        source = split(data, [*outer, [channels, factor, factor], [height], [width]])
        target = split(output, [*outer, [channels], [height, factor], [width, factor]])
        first = len(batch)
        order = [*range(first), *(first + step for step in (0, 2, 4, 1, 3))]
        return merged(copy(source, target, order), [*(1 for _ in batch), 1, 2, 2])

    return builder.prim(shuffled, pattern=OpPattern.INJECTIVE)
