# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models in flax and in plain jax: each is a function with arguments. `scale` makes them larger."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

Model = tuple[Callable[..., Any], tuple[Any, ...]]
_KEY = jax.random.key(0)


def _normal(place: int, *shape: int) -> jax.Array:
    return jax.random.normal(jax.random.fold_in(_KEY, place), shape)


def _of_flax(module: nn.Module, *inputs: Any) -> Model:
    """Return a model with its parameters as an argument, a tree."""
    return module.apply, (module.init(_KEY, *inputs), *inputs)


def mlp(scale: int = 1) -> Model:
    class MLP(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            x = nn.gelu(nn.Dense(32 * scale)(x))
            x = nn.LayerNorm()(nn.silu(nn.Dense(32 * scale)(x)))
            return nn.log_softmax(nn.Dense(10)(x))

    return _of_flax(MLP(), _normal(1, 4 * scale, 16 * scale))


def cnn(scale: int = 1) -> Model:
    class CNN(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            x = nn.max_pool(nn.relu(nn.Conv(8 * scale, (3, 3))(x)), (2, 2), (2, 2))
            x = nn.Conv(16 * scale, (3, 3), padding="VALID", kernel_dilation=2)(x)
            x = nn.avg_pool(nn.relu(x), (2, 2), (2, 2))
            return nn.Dense(10)(x.reshape(x.shape[0], -1))

    return _of_flax(CNN(), _normal(2, 2, 16 * scale, 16 * scale, 3))


class _Block(nn.Module):
    width: int
    stride: int

    @nn.compact
    def __call__(self, x: Any, train: bool) -> Any:
        y = nn.relu(nn.BatchNorm(not train)(nn.Conv(self.width, (3, 3), self.stride, use_bias=False)(x)))
        y = nn.BatchNorm(not train)(nn.Conv(self.width, (3, 3), use_bias=False)(y))
        if x.shape != y.shape:
            x = nn.BatchNorm(not train)(nn.Conv(self.width, (1, 1), self.stride, use_bias=False)(x))
        return nn.relu(x + y)


class _ResNet(nn.Module):
    scale: int

    @nn.compact
    def __call__(self, x: Any, train: bool = False) -> Any:
        x = nn.max_pool(nn.relu(nn.Conv(8 * self.scale, (7, 7), 2)(x)), (3, 3), (2, 2), "SAME")
        for width, stride in ((8 * self.scale, 1), (16 * self.scale, 2)):
            x = _Block(width, stride)(x, train)
        return nn.Dense(10)(x.mean((1, 2)))


def resnet(scale: int = 1) -> Model:
    return _of_flax(_ResNet(scale), _normal(3, 2, 32 * scale, 32 * scale, 3))


def transformer(scale: int = 1) -> Model:
    width = 32 * scale

    class Layer(nn.Module):
        @nn.compact
        def __call__(self, x: Any, mask: Any) -> Any:
            x = x + nn.MultiHeadDotProductAttention(num_heads=4)(nn.LayerNorm()(x), mask=mask)
            return x + nn.Dense(width)(nn.gelu(nn.Dense(2 * width)(nn.LayerNorm()(x)), approximate=False))

    class Transformer(nn.Module):
        @nn.compact
        def __call__(self, tokens: Any) -> Any:
            x = nn.Embed(50, width)(tokens) + self.param("places", nn.initializers.normal(), (tokens.shape[1], width))
            for _ in range(2):
                x = Layer()(x, nn.make_causal_mask(tokens))
            return nn.Dense(50)(nn.LayerNorm()(x))

    return _of_flax(Transformer(), jax.random.randint(_KEY, (2, 8 * scale), 0, 50))


def _norm(x: Any, scale: Any) -> Any:
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def _rotated(x: Any, place: Any) -> Any:
    half = x.shape[-1] // 2
    angle = place * 10000.0 ** (-jnp.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * jnp.cos(angle) - b * jnp.sin(angle), a * jnp.sin(angle) + b * jnp.cos(angle)], -1)


def llama_step(scale: int = 1) -> Model:
    """Return a step of one token, with caches of keys and values that are written at a run-time position."""
    width, heads, shared, size, room = 32 * scale, 4, 2, 8 * scale, 16 * scale

    def step(weights: Any, caches: Any, token: Any, place: Any) -> Any:
        x, new = weights["embedding"][token], []
        for layer, (keys, values) in zip(weights["layers"], caches, strict=True):
            y = _norm(x, layer["norm1"])
            q = _rotated((y @ layer["q"]).reshape(heads, size), place)
            k = _rotated((y @ layer["k"]).reshape(shared, size), place)
            keys = jax.lax.dynamic_update_slice(keys, k[None], (place, 0, 0))
            values = jax.lax.dynamic_update_slice(values, (y @ layer["v"]).reshape(1, shared, size), (place, 0, 0))
            new.append((keys, values))
            scores = jnp.einsum("shd,rsd->shr", q.reshape(shared, heads // shared, size), keys) / size**0.5
            scores = jnp.where(jnp.arange(room) <= place, scores, -jnp.inf)
            x = x + jnp.einsum("shr,rsd->shd", jax.nn.softmax(scores), values).reshape(-1) @ layer["o"]
            y = _norm(x, layer["norm2"])
            x = x + (jax.nn.silu(y @ layer["gate"]) * (y @ layer["up"])) @ layer["down"]
        logits = _norm(x, weights["norm"]) @ weights["embedding"].T
        return jnp.argmax(logits), logits, new

    shapes = {"q": (width, heads * size), "k": (width, shared * size), "v": (width, shared * size)}
    inner = 48 * scale
    shapes |= {"o": (heads * size, width), "gate": (width, inner), "up": (width, inner), "down": (inner, width)}
    layers = []
    for number in range(2):
        places = range(70 + 10 * number, 80 + 10 * number)
        matrices = {
            name: _normal(place, *shape) / (6 * scale**0.5)
            for place, (name, shape) in zip(places, shapes.items(), strict=False)
        }
        layers.append({**matrices, "norm1": jnp.ones(width), "norm2": jnp.ones(width)})
    weights = {"embedding": _normal(7, 40, width), "layers": layers, "norm": jnp.ones(width)}
    caches = [(_normal(8 + each, room, shared, size), _normal(10 + each, room, shared, size)) for each in range(2)]
    return step, (weights, caches, 3, 5)


def mamba_scan(scale: int = 1) -> Model:
    """Return the selective scan, step by step and as an associative one."""

    def scan(x: Any, delta: Any, a: Any, b: Any, c: Any) -> Any:
        factor = jnp.exp(jnp.einsum("ld,dn->ldn", delta, a))
        term = jnp.einsum("ld,ln,ld->ldn", delta, b, x)

        def step(state: Any, each: Any) -> Any:
            state = each[0] * state + each[1]
            return state, state @ each[2]

        _, one = jax.lax.scan(step, jnp.zeros(factor.shape[1:]), (factor, term, c))
        _, states = jax.lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (factor, term))
        return one, jnp.einsum("ldn,ln->ld", states, c)

    length, width, states = 12 * scale, 6 * scale, 4
    delta, a = jax.nn.softplus(_normal(20, length, width)), -jnp.exp(_normal(21, width, states))
    return scan, (_normal(22, length, width), delta, a, _normal(23, length, states), _normal(24, length, states))


def unet_block(scale: int = 1) -> Model:
    width = 8 * scale

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x: Any, time: Any) -> Any:
            angle = time[:, None] * jnp.exp(-jnp.arange(8) / 2.0)
            known = jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], -1)
            known = nn.Dense(2 * width)(nn.silu(nn.Dense(4 * width)(known)))
            y = nn.Conv(2 * width, (3, 3))(nn.silu(nn.GroupNorm(num_groups=4)(x))) + known[:, None, None]
            down = nn.Conv(4 * width, (3, 3), 2)(y)
            rows = nn.LayerNorm()(down).reshape(down.shape[0], -1, 4 * width)
            down = down + nn.MultiHeadDotProductAttention(num_heads=2)(rows).reshape(down.shape)
            up = jax.image.resize(down, (x.shape[0], *x.shape[1:3], 4 * width), "nearest")
            up = up + jnp.pad(nn.ConvTranspose(4 * width, (2, 2), (2, 2))(down), ((0, 0),) * 4)
            return nn.Conv(width, (1, 1))(jnp.concatenate([up, y, x], -1))

    return _of_flax(Block(), _normal(30, 2, 8 * scale, 8 * scale, width), jnp.array([1.0, 50.0]))


def lstm(scale: int = 1) -> Model:
    class LSTM(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            forward = nn.RNN(nn.OptimizedLSTMCell(12 * scale))(x)
            return nn.RNN(nn.GRUCell(8 * scale), reverse=True, keep_order=True)(forward)

    return _of_flax(LSTM(), _normal(40, 2, 7 * scale, 5 * scale))


def mixture_of_experts(scale: int = 1) -> Model:
    def layer(x: Any, gate: Any, up: Any, down: Any) -> Any:
        scores = jax.nn.softmax(x @ gate)
        best, which = jax.lax.top_k(scores, 2)
        best = best / best.sum(-1, keepdims=True)
        chosen = jnp.zeros_like(scores).at[jnp.arange(x.shape[0])[:, None], which].add(best)
        every = jnp.einsum("eth,ehd->etd", jax.nn.gelu(jnp.einsum("td,edh->eth", x, up)), down)
        order = jnp.argsort(which.reshape(-1), stable=True)
        gathered = jnp.take_along_axis(up[which[:, 0]] @ down[which[:, 0]], which[:, :1, None] % width, 1)
        return jnp.einsum("te,etd->td", chosen, every), order, gathered, jnp.bincount(which.reshape(-1), length=4)

    width = 8 * scale
    up, down = _normal(52, 4, width, 2 * width) / 3, _normal(53, 4, 2 * width, width) / 4
    return layer, (_normal(50, 6 * scale, width), _normal(51, width, 4), up, down)


def training_step(scale: int = 1) -> Model:
    """Return a training step of the ResNet, with batch statistics and optax."""
    module, images = _ResNet(scale), _normal(60, 4, 32 * scale, 32 * scale, 3)
    held = module.init(_KEY, images)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.cosine_decay_schedule(1e-2, 100)))

    def step(weights: Any, statistics: Any, state: Any, images: Any, labels: Any) -> Any:
        def loss(weights: Any) -> Any:
            variables = {"params": weights, "batch_stats": statistics}
            logits, changed = module.apply(variables, images, True, mutable=["batch_stats"])
            return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), changed["batch_stats"]

        (value, changed), gradients = jax.value_and_grad(loss, has_aux=True)(weights)
        updates, state = optimizer.update(gradients, state, weights)
        return value, optax.apply_updates(weights, updates), changed, state

    state = optimizer.init(held["params"])
    return step, (held["params"], held["batch_stats"], state, images, jnp.arange(4))


MODELS: dict[str, Callable[..., Model]] = {
    each.__name__: each
    for each in (
        mlp,
        cnn,
        resnet,
        transformer,
        llama_step,
        mamba_scan,
        unet_block,
        lstm,
        mixture_of_experts,
        training_step,
    )
}
