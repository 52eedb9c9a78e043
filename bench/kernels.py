# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Speed of single operators, compiled here, in NumPy and in onnxruntime, all on one thread; and the gain of two
threads.

    python bench/kernels.py              prints the table
    python bench/kernels.py --json f     writes the figures too
    python bench/kernels.py --only conv  operators with this text in their names

Units are GFLOP/s for arithmetic and GB/s (bytes read and written once) for data movement. The three take turns in one
run. Each figure is the fastest call, by its thread's CPU time, since others may share the CPU. Weights are arguments in
all three, so that none can prepare them. Products of bf16 are of f32 in onnxruntime, which has none on CPUs. "x2" is
the speedup of two threads here, by the clock. "compile" is the milliseconds from the operator to a callable program,
the second time in a process.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("RELAX_NUM_THREADS", "1")

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy
from scipy import special

import relax_mlir as rx

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "test" / "python" / "helpers"))
from onnx_oracle import run_onnx  # onnxruntime on one thread

SECONDS = 0.4
GIGA = 1e9


class Kernel(NamedTuple):
    """Operator on arrays. `work` is its number of floating-point operations, or the bytes that it moves."""

    name: str
    unit: str
    work: float
    op: str
    attributes: dict[str, Any]
    arrays: tuple[Any, ...]
    in_numpy: Callable[..., Any] | None
    onnx: tuple[str, dict[str, Any]]
    #: Inputs of the ONNX operator that are attributes here.
    onnx_inputs: tuple[Any, ...] = ()
    opset: int = 20


def random(*shape: int) -> Any:
    return (numpy.random.default_rng(0).random(shape) - 0.5).astype("f4")


def below(limit: int, *shape: int) -> Any:
    return numpy.random.default_rng(0).integers(0, limit, shape)


def matmul(m: int, k: int, n: int) -> Kernel:
    arrays = (random(m, k), random(k, n))
    return Kernel(
        f"matmul {m}x{k}x{n}", "GFLOP/s", 2 * m * n * k, "relax.matmul", {}, arrays, numpy.matmul, ("MatMul", {})
    )


def batched(batch: int, m: int, k: int, n: int) -> Kernel:
    arrays = (random(batch, m, k), random(batch, k, n))
    name = f"matmul {batch}x{m}x{k}x{n}"
    return Kernel(name, "GFLOP/s", 2 * batch * m * n * k, "relax.matmul", {}, arrays, numpy.matmul, ("MatMul", {}))


def narrow(precision: str, m: int, k: int, n: int) -> Kernel:
    """Return a product of bf16, or of unsigned by signed bytes."""
    if precision == "bf16":
        bf16 = ml_dtypes.bfloat16
        arrays, sums, onnx = (random(m, k).astype(bf16), random(k, n).astype(bf16)), "f4", "MatMul"
    else:
        arrays, sums, onnx = (below(256, m, k).astype("u1"), below(128, k, n).astype("i1")), "i4", "MatMulInteger"
    attributes = {"out_dtype": str(numpy.dtype(sums))}
    name = f"matmul {m}x{k}x{n} {precision}"
    return Kernel(name, "GFLOP/s", 2 * m * n * k, "relax.matmul", attributes, arrays, None, (onnx, {}))


def conv(
    inputs: int,
    outputs: int,
    kernel: int | tuple[int, int],
    size: int,
    stride: int = 1,
    dilation: int = 1,
    groups: int = 1,
) -> Kernel:
    """Return a convolution with padding to the same size. `work` also counts taps in the padding."""
    taps = (kernel, kernel) if isinstance(kernel, int) else kernel
    pads = [tap // 2 * dilation for tap in taps] * 2
    arrays = (random(1, inputs, size, size), random(outputs, inputs // groups, *taps))
    work = 2 * inputs // groups * outputs * taps[0] * taps[1] * (size // stride) ** 2
    parameters = {" /": stride, " d": dilation, " g": groups}
    suffix = "".join(f"{sign}{number}" for sign, number in parameters.items() if number > 1)
    name = f"conv {taps[0]}x{taps[1]} {inputs}->{outputs} {size}x{size}{suffix}"
    onnx = ("Conv", {"pads": pads, "strides": [stride] * 2, "dilations": [dilation] * 2, "group": groups})
    attributes = {"strides": [stride] * 2, "padding": pads, "dilation": [dilation] * 2, "groups": groups}
    return Kernel(name, "GFLOP/s", work, "relax.nn.conv2d", attributes, arrays, None, onnx)


def topk(rows: int, columns: int, k: int) -> Kernel:
    arrays, attributes = (random(rows, columns),), {"k": k, "ret_type": "values"}
    onnx = ("TopK", {"outputs": 2})
    name = f"topk {rows}x{columns} k={k}"
    return Kernel(name, "GB/s", arrays[0].nbytes, "relax.topk", attributes, arrays, None, onnx, (numpy.array([k]),))


def moving(
    name: str, op: str, arrays: tuple[Any, ...], in_numpy: Any, onnx: tuple[str, dict[str, Any]], **attributes: Any
) -> Kernel:
    return Kernel(name, "GB/s", arrays[0].nbytes * 2, op, attributes, arrays, in_numpy, onnx)


def softmax(x: Any) -> Any:
    powers = numpy.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / numpy.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5) * scale + shift


def rms_norm(x: Any, scale: Any) -> Any:
    return x / numpy.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5) * scale


def gelu(x: Any) -> Any:
    return 0.5 * x * (1 + special.erf(x * numpy.float32(0.5**0.5)))


def kernels() -> list[Kernel]:
    rows, big = random(256, 768), random(4096, 1024)
    scale, shift = random(768), random(768)
    in_onnx = ("LayerNormalization", {"axis": 1})
    norm = {"axes": [-1], "epsilon": 1e-5}
    add = moving("add 4096x1024", "relax.add", (big, big + 1), numpy.add, ("Add", {}))
    sums = moving("column sums 4096x1024", "relax.sum", (big,), lambda x: x.sum(axis=0), ("", {}), axis=[0])
    return [
        matmul(512, 512, 512),
        matmul(128, 768, 768),
        matmul(1, 4096, 4096),
        matmul(512, 3072, 768),
        batched(12, 128, 64, 128),
        narrow("bf16", 512, 512, 512),
        narrow("int8", 512, 512, 512),
        conv(64, 64, 3, 56),
        conv(3, 64, 7, 224, stride=2),
        conv(256, 512, 1, 56, stride=2),
        conv(144, 144, 3, 56, groups=144),
        conv(128, 128, 3, 56, groups=32),
        conv(256, 64, 1, 56),
        conv(64, 128, 3, 56, stride=2),
        conv(96, 96, 3, 35),
        conv(128, 192, (7, 1), 17),
        conv(512, 256, 3, 28, dilation=12),
        conv(960, 256, 3, 5, dilation=36),
        moving("softmax 256x768", "relax.nn.softmax", (rows,), softmax, ("Softmax", {"axis": 1})),
        moving("layer norm 256x768", "relax.nn.layer_norm", (rows, scale, shift), layer_norm, in_onnx, **norm),
        moving(
            "rms norm 256x768",
            "relax.nn.rms_norm",
            (rows, scale),
            rms_norm,
            ("RMSNormalization", {}),
            axes=[-1],
            epsilon=1e-5,
        )._replace(opset=23),
        moving(
            "max pool 3x3 64x112x112 /2",
            "relax.nn.max_pool2d",
            (random(1, 64, 112, 112),),
            None,
            ("MaxPool", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}),
            pool_size=[3, 3],
            strides=[2, 2],
            padding=[1] * 4,
        ),
        moving(
            "gather 128 of 30000x768",
            "relax.take",
            (random(30000, 768), below(30000, 128)),
            lambda x, places: x[places],
            ("Gather", {}),
            axis=0,
        )._replace(work=2 * 128 * 768 * 4),
        add._replace(work=3 * big.nbytes),
        moving("exp 4096x1024", "relax.exp", (big,), numpy.exp, ("Exp", {})),
        moving("gelu 4096x1024", "relax.nn.gelu", (big,), gelu, ("Gelu", {})),
        moving("transpose 4096x1024", "relax.permute_dims", (big,), lambda x: x.T.copy(), ("Transpose", {})),
        sums._replace(work=big.nbytes),
        topk(100, 500, 5),
        topk(1000, 1000, 10),
    ]


def compiled(kernel: Kernel) -> tuple[rx.Executable, float]:
    """Return the program, and the milliseconds of its compilation."""
    start = time.perf_counter()
    module = rx.Module()
    with module.function("main", tuple(rx.tensor(array.shape, str(array.dtype)) for array in kernel.arrays)) as f:
        f.returns(rx.find_op(kernel.op)(*f, **kernel.attributes))
    program = rx.compile(module)
    return program, (time.perf_counter() - start) * 1e3


def fastest(calls: list[Callable[[], Any] | None]) -> list[float]:
    """Return the CPU seconds of the fastest call of each, in turns."""
    best = [float("inf")] * len(calls)
    deadline = time.perf_counter() + SECONDS * len(calls)
    while time.perf_counter() < deadline:
        for position, call in enumerate(calls):
            for _ in range(3 if call else 0):
                start = time.thread_time()
                call()  # type: ignore[misc]
                best[position] = min(best[position], time.thread_time() - start)
    return best


def gain(program: rx.Executable, call: Callable[[], Any]) -> float:
    """Return the speedup of two threads over one, by the fastest calls."""
    best = {1: float("inf"), 2: float("inf")}
    deadline = time.perf_counter() + SECONDS
    while time.perf_counter() < deadline or best[2] == float("inf"):
        for threads in best:
            program.threads = threads
            for _ in range(3):
                start = time.perf_counter()
                call()
                best[threads] = min(best[threads], time.perf_counter() - start)
    program.threads = 1
    return best[1] / best[2]


def check(kernel: Kernel, got: Any, expected: Any) -> None:
    error = numpy.abs(numpy.from_dlpack(got) - expected).max() / max(numpy.abs(expected).max(), 1e-9)
    if not error < 1e-4:
        raise SystemExit(f"{kernel.name}: the result is wrong, relative error {error}")


def measure(kernel: Kernel) -> dict[str, float]:
    compiled(kernel)
    program, milliseconds = compiled(kernel)
    function = program["main"]
    onnx_op, onnx_attributes = kernel.onnx
    given = [x.astype("f4") if x.dtype == ml_dtypes.bfloat16 else x for x in (*kernel.arrays, *kernel.onnx_inputs)]
    in_numpy = (lambda: kernel.in_numpy(*kernel.arrays)) if kernel.in_numpy else None
    in_onnx = (lambda: run_onnx(onnx_op, *given, opset=kernel.opset, **onnx_attributes)) if onnx_op else None
    expected = in_numpy() if in_numpy else in_onnx()[0]  # type: ignore[misc]
    check(kernel, function(*kernel.arrays), expected)
    ours, numpys, onnxs = fastest([lambda: function(*kernel.arrays), in_numpy, in_onnx])
    rates = {"ours": ours, "numpy": numpys, "onnxruntime": onnxs}
    return {name: kernel.work / seconds / GIGA for name, seconds in rates.items()} | {
        "x2": gain(program, lambda: function(*kernel.arrays)),
        "compile": milliseconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of single operators.")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--only", default="", help="the operators with this in their names")
    options = parser.parse_args()
    print(f"{'':<28}{'unit':>8}{'ours':>8}{'numpy':>8}{'ort':>8}{'/numpy':>8}{'/ort':>8}{'x2':>6}{'compile':>9}")
    figures = {}
    for kernel in kernels():
        if options.only not in kernel.name:
            continue
        rates = figures[kernel.name] = measure(kernel)
        cells = [f"{rates[name]:8.1f}" if rates[name] else "       -" for name in ("ours", "numpy", "onnxruntime")]
        ratios = [
            f"{rates['ours'] / rates[name]:8.2f}" if rates[name] else "       -" for name in ("numpy", "onnxruntime")
        ]
        print(
            f"{kernel.name:<28}{kernel.unit:>8}{''.join(cells + ratios)}{rates['x2']:6.2f}{rates['compile']:9.0f}",
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
