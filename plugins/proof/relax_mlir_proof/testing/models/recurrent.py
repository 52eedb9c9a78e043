# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrent networks, as loops and unrolled."""

from __future__ import annotations

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects import relax

from ..core.control import counted
from ..core.networks import Weights, model


def lstm_step(x: Value, hidden: Value, cell: Value, into: Value, onward: Value, bias: Value) -> tuple[Value, Value]:
    gates = relax.add(relax.add(relax.matmul(x, into), relax.matmul(hidden, onward)), bias)
    i, f, g, o = relax.split(gates, 4, axis=1)
    cell = relax.add(relax.multiply(relax.sigmoid(f), cell), relax.multiply(relax.sigmoid(i), relax.tanh(g)))
    return relax.multiply(relax.sigmoid(o), relax.tanh(cell)), cell


@model("lstm", "steps,batch,6:f32 batch,5:f32 batch,5:f32 :i64[0,3]", steps=(5, 3), batch=(2, 1))
def lstm(w: Weights, x: Value, hidden: Value, cell: Value, count: Value) -> tuple[Value, ...]:
    """A loop with the number of steps as an input."""
    weights = w(6, 20), w(5, 20), w(20)

    def step(index: Value, hidden: Value, cell: Value) -> tuple[Value, Value]:
        return lstm_step(relax.take(x, index, axis=0), hidden, cell, *weights)

    hidden, cell = counted(count, step, hidden, cell)
    return relax.matmul(hidden, w(5, 3)), hidden, cell


@model("lstm_unrolled", "batch,4,6:f32", batch=(2, 1))
def lstm_unrolled(w: Weights, x: Value) -> Value:
    """Unrolled LSTM that returns all hidden states of both directions."""
    found = []
    for direction in (1, -1):
        weights = w(6, 20), w(5, 20), w(20)
        hidden = cell = relax.zeros(("batch", 5), "float32")
        rows = []
        for step in range(4)[::direction]:
            hidden, cell = lstm_step(relax.take(x, relax.const(step), axis=1), hidden, cell, *weights)
            rows.append(hidden)
        found.append(relax.stack(rows[::direction], axis=1))
    return relax.concat(found, axis=2)


@model("gru", "batch,steps,6:f32", batch=(2, 1), steps=(4, 7))
def gru(w: Weights, x: Value) -> Value:
    """A loop over all steps, from zeros."""
    into, onward, bias = w(6, 15), w(5, 15), w(15)

    def step(index: Value, hidden: Value) -> tuple[Value]:
        given = relax.add(relax.matmul(relax.take(x, index, axis=1), into), bias)
        (reset, update, new), (r, z, n) = (
            relax.split(each, 3, axis=1) for each in (given, relax.matmul(hidden, onward))
        )
        update = relax.sigmoid(relax.add(update, z))
        new = relax.tanh(relax.add(new, relax.multiply(relax.sigmoid(relax.add(reset, r)), n)))
        return (relax.add(new, relax.multiply(update, relax.subtract(hidden, new))),)

    steps = relax.take(relax.shape_to_tensor(relax.shape_of(x)), relax.const(1), axis=0)
    (hidden,) = counted(steps, step, relax.zeros(("batch", 5), "float32"))
    return hidden


@model("mamba", "batch,6,8:f32", batch=(2, 1))
def mamba(w: Weights, x: Value) -> Value:
    """A selective scan, in which the state's decay depends on the input. Six steps, unrolled."""
    gate, x = relax.split(relax.matmul(x, w(8, 16)), 2, axis=2)
    x = relax.nn.conv1d(relax.permute_dims(x, (0, 2, 1)), w(8, 1, 3), padding=[2, 0], groups=8)
    x = relax.nn.silu(relax.permute_dims(x, (0, 2, 1)))
    delta = relax.nn.softplus(relax.matmul(x, w(8, 8)))
    kept = relax.exp(relax.multiply(relax.expand_dims(delta, [3]), relax.negative(w.positive(8, 4))))
    into = relax.expand_dims(relax.matmul(x, w(8, 4)), [2])
    added = relax.multiply(relax.expand_dims(relax.multiply(delta, x), [3]), into)
    out = relax.matmul(x, w(8, 4))
    state = relax.zeros(("batch", 8, 4), "float32")
    rows = []
    for step in range(6):
        at = relax.const(step)
        state = relax.add(relax.multiply(relax.take(kept, at, axis=1), state), relax.take(added, at, axis=1))
        seen = relax.multiply(state, relax.expand_dims(relax.take(out, at, axis=1), [1]))
        rows.append(relax.sum(seen, axis=[2]))
    y = relax.add(relax.stack(rows, axis=1), relax.multiply(x, w(8)))
    return relax.matmul(relax.multiply(y, relax.nn.silu(gate)), w(8, 8))


@model("linear_recurrence", "batch,length,4:f32[0.1,0.9]", batch=(1, 2), length=(5, 9))
def linear_recurrence(w: Weights, x: Value) -> Value:
    """Linear recurrence by cumulative sums and products along time."""
    decay = relax.cumprod(x, axis=1)
    return relax.multiply(decay, relax.cumsum(relax.divide(relax.matmul(x, w(4, 4)), decay), axis=1))
