# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Placements by measured cost on ten models, against the target and each codegen by itself.

    python bench/placement.py [mlp attention ...] [--models build/models/mlp.onnx] [--codegens dnnl,onnxruntime]

The ten models are built here with random weights. Times are microseconds of a call, the medians of 31 turns in one
process. "ratio" is the time of the best single choice to the time of the measured placement.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy
from relax_mlir.runtime.cpu import cpu_name
from relax_mlir.tools.common.models import read_model

import relax_mlir as rx
from relax_mlir import relax

_DRAW = numpy.random.default_rng(0)
nn = relax.nn


def weights(*shape: int) -> Any:
    return relax.const((_DRAW.standard_normal(shape) / math.sqrt(shape[-1])).astype("float32"))


def dense(x: Any, inputs: int, outputs: int) -> Any:
    return relax.add(relax.matmul(x, weights(inputs, outputs)), weights(outputs))


def conv(x: Any, inputs: int, outputs: int, size: int = 3, stride: int = 1, groups: int = 1) -> Any:
    pad = size // 2
    made = nn.conv2d(
        x, weights(outputs, inputs // groups, size, size), strides=(stride, stride), padding=(pad,) * 4, groups=groups
    )
    return relax.add(made, weights(outputs, 1, 1))


def mlp(x: Any) -> Any:
    return dense(nn.relu(dense(nn.relu(dense(x, 256, 512)), 512, 512)), 512, 16)


def wide(x: Any) -> Any:
    return dense(nn.gelu(dense(x, 512, 2048)), 2048, 512)


def attention(x: Any) -> Any:
    query, key, value = (
        relax.permute_dims(relax.reshape(dense(x, 256, 256), (128, 4, 64)), axes=(1, 0, 2)) for _ in range(3)
    )
    scores = nn.softmax(relax.matmul(query, relax.permute_dims(key, axes=(0, 2, 1))), axis=-1)
    joined = relax.reshape(relax.permute_dims(relax.matmul(scores, value), axes=(1, 0, 2)), (128, 256))
    return relax.add(x, dense(joined, 256, 256))


def encoder(x: Any) -> Any:
    x = nn.layer_norm(attention(x), weights(256), weights(256), axes=[-1])
    return nn.layer_norm(
        relax.add(x, dense(nn.gelu(dense(x, 256, 1024)), 1024, 256)), weights(256), weights(256), axes=[-1]
    )


def plain(x: Any) -> Any:
    for inputs, outputs in ((3, 32), (32, 64), (64, 64)):
        x = nn.max_pool2d(nn.relu(conv(x, inputs, outputs)), pool_size=(2, 2), strides=(2, 2))
    return dense(relax.reshape(x, (1, 64 * 64)), 64 * 64, 10)


def residual(x: Any) -> Any:
    x = nn.relu(conv(x, 3, 64, 7, 2))
    for _ in range(2):
        x = nn.relu(relax.add(x, conv(nn.relu(conv(x, 64, 64)), 64, 64)))
    return relax.mean(x, axis=[2, 3])


def mobile(x: Any) -> Any:
    x = conv(x, 3, 32, 3, 2)
    for _ in range(3):
        inner = relax.clip(conv(x, 32, 96, 1), 0.0, 6.0)
        inner = relax.clip(conv(inner, 96, 96, 3, 1, 96), 0.0, 6.0)
        x = relax.add(x, conv(inner, 96, 32, 1))
    return relax.mean(x, axis=[2, 3])


def pyramid(x: Any) -> Any:
    low = nn.relu(conv(x, 3, 16))
    high = nn.relu(conv(nn.max_pool2d(low, pool_size=(2, 2), strides=(2, 2)), 16, 32))
    upper = conv(high, 32, 16, 1)
    larger = relax.reshape(
        relax.broadcast_to(relax.reshape(upper, (1, 16, 32, 1, 32, 1)), (1, 16, 32, 2, 32, 2)), (1, 16, 64, 64)
    )
    return conv(relax.concat([low, larger], axis=1), 32, 4)


def gated(x: Any) -> Any:
    scale = relax.sqrt(relax.add(relax.mean(relax.multiply(x, x), axis=[-1], keepdims=True), relax.const(1e-5)))
    normal = relax.divide(x, scale)
    return relax.add(x, dense(relax.multiply(nn.silu(dense(normal, 256, 768)), dense(normal, 256, 768)), 768, 256))


def mixed(x: Any) -> Any:
    x = nn.relu(conv(x, 3, 32, 3, 2))
    rows = relax.permute_dims(relax.reshape(x, (32, 1024)), axes=(1, 0))
    scores = nn.softmax(dense(rows, 32, 256), axis=-1)
    return dense(relax.exp(relax.negative(relax.abs(scores))), 256, 64)


#: Shape of the argument, and the model.
MODELS: dict[str, tuple[Sequence[int], Callable[[Any], Any]]] = {
    "mlp": ((32, 256), mlp),
    "wide": ((16, 512), wide),
    "attention": ((128, 256), attention),
    "encoder": ((128, 256), encoder),
    "plain": ((1, 3, 64, 64), plain),
    "residual": ((1, 3, 64, 64), residual),
    "mobile": ((1, 3, 64, 64), mobile),
    "pyramid": ((1, 3, 64, 64), pyramid),
    "gated": ((64, 256), gated),
    "mixed": ((1, 3, 64, 64), mixed),
}


def module_of(name: str) -> rx.Module:
    """Return a module of a model with random weights."""
    shape, build = MODELS[name]
    with rx.Module() as module, module.function("main", {"x": rx.tensor(tuple(shape))}) as f:
        f.returns(build(*f))
    return module


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *MODELS])
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--codegens", default="dnnl,onnxruntime")
    parser.add_argument("--trials", type=int, default=24)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    names = options.names or ([] if options.models else list(MODELS))
    cases = [(name, module_of(name)) for name in names] + [(path, read_model(path)) for path in options.models]
    codegens = options.codegens.split(",")
    print(f"{cpu_name()}, {options.threads} threads, {options.trials} changes of a program at most")
    print(f"{'model':12}" + "".join(f"{each:>13}" for each in ("llvm", *codegens, "measured", "ratio", "best single")))
    ratios = []
    for name, module in cases:
        with tempfile.TemporaryDirectory() as folder:
            found = rx.tune_placement(module, codegens, trials=options.trials, threads=options.threads, folder=folder)
        times = found.placement.times
        ratios.append(1 / found.ratio)
        cells = [f"{times[each]:.1f}" if each in times else "-" for each in ("llvm", *codegens, "measured")]
        print(f"{name:12}" + "".join(f"{each:>13}" for each in (*cells, f"{ratios[-1]:.3f}", found.single)), flush=True)
    if ratios:
        print(f"geometric mean of the ratios: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}")


if __name__ == "__main__":
    main()
