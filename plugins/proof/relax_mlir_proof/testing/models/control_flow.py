# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models with data-dependent branches and loops."""

from __future__ import annotations

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects import relax

from ..core.control import counted, either, repeated
from ..core.networks import Weights, model


@model("branches", "rows,6:f32", rows=(3, 1), whole_batch="the branch depends on the mean of all rows")
def branches(w: Weights, x: Value) -> Value:
    """Apply one of two layers, depending on the mean."""
    one, other = w(6, 6), w(6, 6)
    (y,) = either(
        relax.greater(relax.mean(x), relax.const(0.0)),
        lambda: [relax.nn.relu(relax.matmul(x, one))],
        lambda: [relax.tanh(relax.matmul(x, other))],
        [x],
    )
    return relax.nn.softmax(relax.add(x, y))


@model("until_small", "rows,4:f32[1,9]", rows=(3, 1), whole_batch="the loop ends when all rows are small")
def until_small(w: Weights, x: Value) -> tuple[Value, Value]:
    """Iterate until a norm is small, at most 20 times."""
    matrix = relax.multiply(w(4, 4), relax.const(0.5))

    def goes_on(x: Value, steps: Value) -> Value:
        is_large = relax.greater(relax.max(relax.abs(x)), relax.const(0.5))
        return relax.logical_and(is_large, relax.less(steps, relax.const(20)))

    x, steps = repeated(
        goes_on,
        lambda x, steps: [relax.tanh(relax.matmul(x, matrix)), relax.add(steps, relax.const(1))],
        x,
        relax.const(0),
    )
    return x, steps


@model("greedy_decoding", "batch:i64[0,12] :i64[0,6]", batch=(3, 1))
def greedy_decoding(w: Weights, first: Value, count: Value) -> tuple[Value, Value]:
    """Take the best next word in each iteration. A nested branch resets the state at every other step."""
    words, onward, out = w(12, 8), w(8, 8), w(8, 12)

    def step(index: Value, ids: Value, state: Value) -> list[Value]:
        given = relax.take(words, ids, axis=0)
        is_even = relax.equal(relax.floor_mod(index, relax.const(2)), relax.const(0))
        (kept,) = either(is_even, lambda: [state], lambda: [relax.zeros_like(state)], [state])
        after = relax.tanh(relax.add(given, relax.matmul(kept, onward)))
        return [relax.argmax(relax.matmul(after, out), axis=-1), after]

    ids, state = counted(count, step, first, relax.zeros(("batch", 8), "float32"))
    return ids, state
