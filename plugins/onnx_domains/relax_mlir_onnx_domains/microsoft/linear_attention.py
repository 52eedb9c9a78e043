# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of com.microsoft's linear attention: a state matrix per head takes up keys and values step by step."""

from __future__ import annotations

import math

from relax_mlir.frontends.core.control.recurrent_loops import run_steps
from relax_mlir.frontends.core.sizes import Size, minus, plus, reshaped, sizes_of, sliced, zeros
from relax_mlir.frontends.onnx.prelude import (
    OnnxNode,
    Outputs,
    Tensor,
    Value,
    cast,
    const,
    joined,
    like,
    part,
    register_onnx,
    relax,
)

_DOMAIN = "com.microsoft"
#: The rules of an update: whether the state decays, and whether the state's own answer is subtracted.
_RULES = {"linear": (False, False), "gated": (True, False), "delta": (False, True), "gated_delta": (True, True)}


@register_onnx(_DOMAIN, "LinearAttention")
def linear_attention(node: OnnxNode) -> Outputs:
    """Return the answers [batch, steps, heads * size], and the state [batch, heads, keys' size, values' size]."""
    decays, is_delta = _RULES[node.choice("update_rule", "gated_delta", _RULES)]
    if node.int("state_window", 0):
        raise node.fail("windows of several states are not supported", "state_window")
    heads, queries = node.int("kv_num_heads", 0), node.int("q_num_heads", 0)
    if min(heads, queries) < 1 or max(heads, queries) % min(heads, queries):
        raise node.fail(f"{queries} heads of queries and {heads} of keys do not fit", "q_num_heads")
    batch, steps, _ = sizes_of(node.value(0))
    depth, width = (_per_head(node, index, heads) for index in (1, 2))
    shared = max(queries // heads, 1)
    query = _heads(node.tensor(0), queries, depth)
    if queries < heads:
        query = relax.repeat(query, repeats=heads // queries, axis=2)
    # [steps, batch, heads, ...]: all inputs of a step, joined along the last dimension.
    read = [reshaped(query, [batch, steps, heads, shared * depth])]
    read += [_heads(node.tensor(index), heads, size) for index, size in ((1, depth), (2, width))]
    lengths = [shared * depth, depth, width]
    for index, is_used in ((4, decays), (5, is_delta)):
        if is_used:
            gate, length = _gate(node, index, heads)
            read.append(gate)
            lengths.append(length)
    rows = relax.permute_dims(joined(read, axis=3), axes=[1, 0, 2, 3])
    scale = node.float("scale", 0.0) or 1 / math.sqrt(depth)

    def step(row: Tensor, states: list[Tensor], _: Value) -> tuple[list[Tensor], Tensor]:
        (state,), ends = states, [sum(lengths[: place + 1]) for place in range(len(lengths))]
        parts = [part(row, 2, end - length, end) for end, length in zip(ends, lengths, strict=True)]
        asked, key, value, *gates = parts
        if decays:
            state = relax.multiply(state, relax.expand_dims(relax.exp(gates[0]), axis=[3]))
        key = relax.expand_dims(key, axis=[3])
        if is_delta:
            own = relax.sum(relax.multiply(state, key), axis=[2])
            value = relax.multiply(gates[-1], relax.subtract(value, own))
        state = relax.add(state, relax.multiply(key, relax.expand_dims(value, axis=[2])))
        answer = relax.matmul(reshaped(asked, [batch, heads, shared, depth]), state)
        return [state], relax.multiply(answer, like(answer, scale))

    start = cast(node.tensor(3), "f32") if node.has(3) else zeros([batch, heads, depth, width], "f32")
    answers, (state,) = run_steps(node, rows, [start], step)
    whole = reshaped(relax.permute_dims(answers, axes=[1, 0, 2, 3, 4]), [batch, steps, heads * shared * width])
    state_type = node.value(3).dtype if node.has(3) else node.value(0).dtype
    return [cast(whole, node.value(0).dtype), cast(state, state_type)][: node.output_count]


def _per_head(node: OnnxNode, index: int, heads: int) -> int:
    if not isinstance(size := sizes_of(node.value(index))[-1], int) or size % heads:
        raise node.fail(f"input #{index} has {size} columns for {heads} heads")
    return size // heads


def _heads(tensor: Tensor, heads: int, size: int) -> Tensor:
    """Return the columns of a tensor by heads, [batch, steps, heads, size], in f32."""
    return cast(reshaped(tensor, [*sizes_of(Value(ssa=tensor))[:2], heads, size]), "f32")


def _gate(node: OnnxNode, index: int, heads: int) -> tuple[Tensor, int]:
    """Return a gate [batch, steps, heads, size], and the size, 1 or that of a key. A gate for all heads is repeated."""
    if not node.has(index):
        raise node.fail(f"input #{index} is missing, which the update rule reads", "update_rule")
    if sizes_of(node.value(index))[-1] == 1:
        return relax.repeat(_heads(node.tensor(index), 1, 1), repeats=heads, axis=2), 1
    size = _per_head(node, index, heads)
    return _heads(node.tensor(index), heads, size), size


@register_onnx(_DOMAIN, "LinearAttentionGate")
def linear_attention_gate(node: OnnxNode) -> Outputs:
    """Return the scaled softplus of the decay's projection and the sigmoid of the update rate's, both from f32."""
    total = relax.add(cast(node.tensor(0), "f32"), node.tensor(1))
    decay = cast(relax.multiply(relax.nn.softplus(total), node.tensor(2)), node.value(0).dtype)
    rate = cast(relax.sigmoid(cast(node.tensor(3), "f32")), node.value(3).dtype) if node.has(3) else None
    return [decay, rate][: node.output_count]


@register_onnx(_DOMAIN, "GatedRMSNorm")
def gated_norm(node: OnnxNode) -> Outputs:
    """Normalize groups of columns by their mean square in f32, then multiply by the activated gate."""
    activation = node.choice("activation", "silu", ("silu", "swish", "sigmoid"))
    own, dtype = sizes_of(node.value(0)), node.value(0).dtype
    (size,) = sizes_of(node.value(1))
    if not isinstance(size, int) or not isinstance(own[-1], int) or own[-1] % size:
        raise node.fail(f"{own[-1]} columns cannot be split into groups of {size}")
    x, scale, gate = (cast(node.tensor(index), "f32") for index in range(3))
    groups = reshaped(x, [*own[:-1], own[-1] // size, size])
    squares = relax.mean(relax.multiply(groups, groups), axis=[-1], keepdims=True)
    factor = relax.rsqrt(relax.add(squares, const(node.float("epsilon", 1e-5), "f32")))
    normed = reshaped(relax.multiply(relax.multiply(groups, factor), scale), own)
    gate = relax.sigmoid(gate) if activation == "sigmoid" else relax.nn.silu(gate)
    return cast(relax.multiply(normed, gate), dtype)


@register_onnx(_DOMAIN, "CausalConvWithState")
def causal_convolution(node: OnnxNode) -> Outputs:
    """Convolve each channel with its own taps over the past, and return the steps that the next call needs."""
    activation = node.choice("activation", "none", ("none", "silu", "swish"))
    for name, usual in _USUAL.items():
        if node.int(name, usual) != usual:
            raise node.fail(f"must be {usual}, got {node.int(name)}", name)
    channels, _, taps = sizes_of(node.value(1))
    if not isinstance(channels, int) or not isinstance(taps, int):
        raise node.fail("the sizes of the weights must be known before the model runs")
    gap = node.int("dilation", 1)
    reach, batch = (taps - 1) * gap, sizes_of(node.value(0))[0]
    past = node.tensor(3) if node.has(3) else zeros([batch, channels, reach], node.value(0).dtype)
    whole = joined([past, node.tensor(0)], axis=2)
    made = relax.nn.conv1d(whole, node.tensor(1), dilation=[gap], groups=channels)
    if node.has(2):
        made = relax.add(made, relax.expand_dims(node.tensor(2), axis=[1]))
    made = made if activation == "none" else relax.nn.silu(made)
    length: Size = plus(sizes_of(node.value(0))[2], reach)
    state = sliced(Value(ssa=whole), {2: (minus(length, reach), length, 1)}, {2: reach})
    return [made, state][: node.output_count]


#: Attributes that only kernels of other devices have, or that change the layout.
_USUAL = {
    "ndim": 1, "channels_last": 0, "state_window": 0, "state_update_capacity": 0, "state_length": 0,
    "input_channel_offset": 0, "input_channels": 0,
}  # fmt: skip
