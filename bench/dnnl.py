# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts for oneDNN against the default path, on one thread.

    python bench/dnnl.py              prints the table
    python bench/dnnl.py --only conv  cases with this text in their names
    python bench/dnnl.py --parts      overhead of a part relative to its primitive
    python bench/dnnl.py --bf16       both in bf16, by relax-to-mixed-precision
    python bench/dnnl.py --models build/models   models that bench/models/export.py has written

Both take turns in one run. Each figure is the fastest call, by its thread's CPU time. Weights are constants, so that
both may prepare them.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import parts

import relax_mlir as rx
from relax_mlir import relax

# Figures are for one thread.
os.environ.setdefault("RELAX_NUM_THREADS", "1")

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "test" / "python" / "helpers"))
from dnnl_models import floats, residual_block, resnet18, transformer_layer

SECONDS = 1.5
ROUNDS = 5
const = relax.const


def conv(channels: int, kernel: int, **attributes: Any) -> Callable[[Any], Any]:
    weight = floats(channels, channels // attributes.get("groups", 1), kernel, kernel, scale=0.05)
    return lambda x: relax.nn.relu(relax.nn.conv2d(x, const(weight), padding=kernel // 2, **attributes))


def dense(rows: int, columns: int) -> Callable[[Any], Any]:
    weight = floats(rows, columns, scale=rows**-0.5)
    return lambda x: relax.nn.gelu(relax.add(relax.matmul(x, const(weight)), const(floats(columns))))


def quantized(x: Any) -> Any:
    """Return data as bytes and back, in the form of exported models."""
    scale, zero = const(numpy.float32(0.03)), const(numpy.uint8(128))
    return relax.dequantize(relax.quantize(x, scale, zero, out_dtype="uint8"), scale, zero)


def integers(*shape: int) -> Any:
    """Return weights of one byte, with a scale per index of the first or last dimension."""
    values = const(numpy.random.default_rng(3).integers(-127, 128, shape).astype("int8"))
    count, axis = (shape[0], 0) if len(shape) == 4 else (shape[1], 1)
    scales, zeros = numpy.linspace(0.001, 0.01, count, dtype="float32"), numpy.zeros(count, "int8")
    return relax.dequantize(values, const(scales), const(zeros), axis=axis)


def quantized_conv(x: Any) -> Any:
    return relax.nn.relu(relax.nn.conv2d(quantized(x), integers(64, 64, 3, 3), padding=1))


def quantized_dense(x: Any) -> Any:
    return relax.nn.relu(relax.matmul(quantized(x), integers(768, 3072)))


#: Models of bench/models.
MODELS = ("resnet50", "bert", "llama")
CASES: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "relu of 8 numbers": (relax.nn.relu, [(8,)]),
    "conv 3x3, 64 channels of 56x56": (conv(64, 3), [(1, 64, 56, 56)]),
    "conv 1x1, 256 channels of 14x14": (conv(256, 1), [(1, 256, 14, 14)]),
    "depthwise 3x3, 128 channels of 28x28": (conv(128, 3, groups=128), [(1, 128, 28, 28)]),
    "matmul and gelu, 128 rows of 768 to 3072": (dense(768, 3072), [(128, 768)]),
    "batched matmul, 12 of 128x64x128": (relax.matmul, [(12, 128, 64), (12, 64, 128)]),
    "softmax, 1536 rows of 128": (relax.nn.softmax, [(1536, 128)]),
    "int8 conv 3x3, 64 channels of 56x56": (quantized_conv, [(1, 64, 56, 56)]),
    "int8 matmul, 128 rows of 768 to 3072": (quantized_dense, [(128, 768)]),
    "residual block, 64 channels of 56x56": (lambda x: residual_block(x, 64), [(1, 64, 56, 56)]),
    "BERT layer, 128 tokens": (
        lambda x, mask: transformer_layer(x, mask, 1, 128, 768, 12, 3072),
        [(1, 128, 768), (1, 1, 1, 128)],
    ),
    "ResNet-18": (resnet18, [(1, 3, 224, 224)]),
}


def built(body: Callable[..., Any], shapes: list[tuple[int, ...]]) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape) for shape in shapes]) as f:
        f.returns(body(*f))
    return module


def fastest(call: Callable[[], object], seconds: float) -> float:
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.thread_time()
        call()
        best = min(best, time.thread_time() - start)
    return best


def measure(name: str, module: rx.Module, arrays: list[Any]) -> str:
    functions, compiling = {}, {}
    for way, partition in (("default", []), ("dnnl", ["dnnl"])):
        start = time.perf_counter()
        functions[way] = rx.compile(module.copy(), partition=partition, strict_partition=True, cache=False)["main"]
        compiling[way] = time.perf_counter() - start
    given = [rx.runtime.tensor(each) for each in arrays]
    one, other = (rx.runtime.to_numpy(_first(each(*given))) for each in functions.values())
    apart = float(numpy.abs(one - other).max() / numpy.abs(one).max())
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(ROUNDS):
        for way, function in functions.items():
            packed = function.packed
            best[way] = min(best[way], fastest(lambda packed=packed: packed(*given), SECONDS / ROUNDS))
    ratio = best["default"] / best["dnnl"]
    figures = [
        *(f"{best[way] * 1e3:.3f}" for way in best),
        f"{ratio:.2f}",
        *(f"{each:.1f}" for each in compiling.values()),
    ]
    return f"| {name} | {' | '.join(figures)} | {apart:.0e} |"


def _first(results: Any) -> Any:
    return results[0] if isinstance(results, (tuple, list)) else results


def cases(only: str, folder: str) -> Iterator[tuple[str, rx.Module, list[Any]]]:
    if folder:
        sys.path.insert(0, str(Path(__file__).resolve().parent / "models"))
        from compare import random_inputs
        from zoo import ZOO

        for model in ZOO:
            if only in model.name and model.name in MODELS:
                inputs = random_inputs(model, model.sizes[0])
                yield model.name, rx.from_onnx(Path(folder) / f"{model.name}.onnx"), list(inputs.values())
        return
    for name, (body, shapes) in CASES.items():
        if only in name:
            arrays = [floats(*shape, seed=number) for number, shape in enumerate(shapes)]
            yield name, built(body, shapes), arrays


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--models", default="")
    options = parser.parse_args()
    if options.parts:
        print(parts.HEAD)
        print(parts.row("dnnl", relax.nn.relu, (8,)))
        return
    print("| | default, ms | dnnl, ms | times as fast | compile default, s | dnnl, s | apart |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, module, arrays in cases(options.only, options.models):
        if options.bf16:
            rx.Pipeline("relax-to-mixed-precision{dtype=bf16}").run(module)
        print(measure(name, module, arrays), flush=True)


if __name__ == "__main__":
    main()
