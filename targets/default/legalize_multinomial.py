# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Drawing of classes by their probabilities."""

from __future__ import annotations

from typing import Any

from ...dialects.core.infos import bit_width
from ...emit.indices import as_position
from ...emit.loops import for_range, load, repeat_while, require, require_same, size, sizes, store
from ...emit.numbers import Number
from ...passes.legalize.builder import RuleBuilder
from ...passes.legalize.rules import register_legalize


@register_legalize("relax.multinomial_from_uniform")
def multinomial_from_uniform(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    """The first class up to which the probabilities sum to more than the sample; the last where they never do."""
    index_dtype, result_dtype = builder.dtype(operands[2]), builder.result_dtype()
    wide = "f64" if 64 in [bit_width(builder.dtype(operand)) for operand in operands[:2]] else "f32"

    def read(buffer: Any, row: Number, column: Any) -> Number:
        return load(buffer, row, column).to(wide)

    def body(prob: Any, uniform: Any, rows: Any, out: Any) -> None:
        batch, classes = size(prob, 0), size(prob, 1)
        for buffer in (uniform, rows):
            require_same(sizes(buffer)[0], sizes(out)[0], "numbers of samples and of results")
            require_same(sizes(buffer)[1], 1, "columns of samples")
        last = classes - 1

        def draw(sample: Any) -> None:
            row = as_position(load(rows, sample, 0), index_dtype)
            message = "sample {} is of row {}, but there are {} rows of probabilities"
            # Without sign, for which negative ones are large.
            require(row.unsigned("<", batch), "IndexError", message, sample, row, batch)
            require(classes != 0, "ValueError", "there is no class to draw")
            threshold = read(uniform, sample, 0)

            def goes_on(place: Any, total: Any) -> Any:
                return ~(threshold < total) & (place < last)

            def step(place: Any, total: Any) -> list[Any]:
                following = place + 1
                return [following, total + read(prob, row, following)]

            place, _ = repeat_while([0, read(prob, row, 0)], goes_on, step)
            store(place.to(result_dtype), out, sample, 0)

        for_range(0, size(uniform, 0), draw)

    return builder.loops(body)
