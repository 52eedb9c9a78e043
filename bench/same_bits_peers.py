# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Equal bits in other systems: the question of same_bits.py, each peer in its own environment.

    python bench/same_bits_peers.py build/models/*_dynamic.onnx
        --onnx=build/models/env-peers/bin/python    onnxruntime and OpenVINO, for the models
        --torch=build/env-torch/bin/python          torch, eager and compiled, for four small networks
        --jax=build/env-jax/bin/python              XLA, for the same networks
        --rows=64 --sizes=16

Without models and with --own, the same networks are compiled here. The networks are a perceptron, a convolutional net,
an attention block, and softmax after layer_norm, with random weights. OpenVINO computes in bf16 on CPUs with AMX unless
f32 is asked for, so it has two rows.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy
from batch_bits import Call, found_bits, line

#: Names of the networks, and the shape of a row.
NETWORKS = {"mlp": (256,), "conv_net": (3, 32, 32), "attention": (32, 128), "softmax_layer_norm": (300,)}
#: Numbers of threads beside 1.
THREADS = (2,)
Networks = dict[str, Callable[[int], Call]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    for name in ("onnx", "torch", "jax"):
        parser.add_argument(f"--{name}", default="", help=f"Python of the environment with {name}")
    parser.add_argument("--own", action="store_true", help="compile the networks here as well")
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--sizes", type=int, default=16)
    parser.add_argument("--peer", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        for found in _PEERS[options.peer](options):
            print(found, flush=True)
        return
    runs = [("own", sys.executable)] if options.own else []
    runs += [(peer, options.onnx) for peer in ("onnxruntime", "openvino", "openvino_f32") if options.onnx]
    runs += [(peer, options.torch) for peer in ("torch", "torch_compile") if options.torch]
    runs += [("xla", options.jax)] if options.jax else []
    for peer, python in runs:
        sizes = [f"--rows={options.rows}", f"--sizes={options.sizes}"]
        done = subprocess.run([python, __file__, *options.models, f"--peer={peer}", *sizes], check=False)
        if done.returncode:
            print(f"{peer} failed with exit code {done.returncode}", flush=True)


# ---- models ----


def onnxruntime_rows(options: argparse.Namespace) -> Iterator[str]:
    import onnxruntime

    def call_for(path: str) -> Callable[[int], Call]:
        def call(threads: int) -> Call:
            chosen = onnxruntime.SessionOptions()
            chosen.intra_op_num_threads = threads
            session = onnxruntime.InferenceSession(path, chosen, providers=["CPUExecutionProvider"])
            names = [each.name for each in session.get_inputs()]
            return lambda arrays: session.run(None, dict(zip(names, arrays, strict=True)))

        return call

    yield from _model_rows(options, f"onnxruntime {onnxruntime.__version__}", call_for)


def openvino_rows(options: argparse.Namespace, precision: str = "") -> Iterator[str]:
    import openvino

    def call_for(path: str) -> Callable[[int], Call]:
        def call(threads: int) -> Call:
            chosen = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
            chosen |= {"INFERENCE_PRECISION_HINT": precision} if precision else {}
            model = openvino.Core().compile_model(path, "CPU", chosen)
            request = model.create_infer_request()

            def run(arrays: Sequence[Any]) -> list[Any]:
                found = request.infer(dict(enumerate(arrays)))
                return [numpy.array(found[each]) for each in model.outputs]

            return run

        return call

    version = openvino.__version__.partition("-")[0]
    yield from _model_rows(options, f"OpenVINO {version} {precision}".strip(), call_for)


def _model_rows(
    options: argparse.Namespace, peer: str, call_for: Callable[[str], Callable[[int], Call]]
) -> Iterator[str]:
    import onnx

    for path in options.models:
        arrays, axes = _inputs(onnx.load(path, load_external_data=False), options.rows, options.sizes)
        yield line(f"{peer}: {Path(path).stem}", found_bits(call_for(path), arrays, axes, options.rows, THREADS))


def _inputs(model: Any, rows: int, size: int) -> tuple[list[Any], list[int | None]]:
    """Return random inputs like same_bits.py, and the axis of the rows in each."""
    import onnx

    constants = {each.name for each in model.graph.initializer}
    shapes = [
        (each.type.tensor_type.elem_type, [dim.dim_param or dim.dim_value for dim in each.type.tensor_type.shape.dim])
        for each in model.graph.input
        if each.name not in constants
    ]
    random = numpy.random.default_rng(0)
    names = [each for _, shape in shapes for each in shape if isinstance(each, str)]
    arrays, axes = [], []
    for element, shape in shapes:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(element)
        sizes = [each if isinstance(each, int) else rows if each == names[0] else size for each in shape]
        array = random.normal(size=sizes) if dtype.kind == "f" else random.integers(0, 2, size=sizes)
        arrays.append(array.astype(dtype))
        axes.append(shape.index(names[0]) if names[0] in shape else None)
    return arrays, axes


# ---- networks ----


def _network_rows(options: argparse.Namespace, peer: str, networks: Networks) -> Iterator[str]:
    for name, call in networks.items():
        array = numpy.random.default_rng(0).normal(size=(options.rows, *NETWORKS[name])).astype("float32")
        yield line(f"{peer}: {name}", found_bits(call, [array], [0], options.rows, THREADS))


def _weights() -> Callable[..., Any]:
    random = numpy.random.default_rng(7)

    def weights(*shape: int) -> Any:
        return (random.normal(size=shape) / numpy.sqrt(numpy.prod(shape[:-1]))).astype("float32")

    return weights


def own_rows(options: argparse.Namespace) -> Iterator[str]:
    from relax_mlir.runtime import to_numpy

    import relax_mlir as rx
    from relax_mlir import relax

    made = _weights()

    def w(*shape: int) -> Any:
        return relax.const(made(*shape))

    def attention(x: Any) -> Any:
        q, k, v = (relax.reshape(relax.matmul(x, w(128, 128)), shape=("n", 32, 4, 32)) for _ in range(3))
        mixed = relax.reshape(relax.nn.attention(q, k, v), shape=("n", 32, 128))
        return x + relax.matmul(mixed, w(128, 128))

    def conv_net(x: Any) -> Any:
        for shape in ((16, 3, 3, 3), (32, 16, 3, 3)):
            kernel = relax.const(made(*shape[::-1]).transpose().copy())
            x = relax.nn.max_pool2d(
                relax.nn.relu(relax.nn.conv2d(x, kernel, padding=1)), pool_size=[2, 2], strides=[2, 2]
            )
        return relax.matmul(relax.mean(x, axis=[2, 3]), w(32, 10))

    builds = {
        "mlp": lambda x: relax.matmul(relax.nn.gelu(relax.matmul(x, w(256, 512))), w(512, 10)),
        "conv_net": conv_net,
        "attention": attention,
        "softmax_layer_norm": lambda x: relax.nn.softmax(
            relax.nn.layer_norm(x, *(relax.const(numpy.full(300, each, "float32")) for each in (1, 0)), axes=[-1])
        ),
    }

    def call_of(name: str) -> Callable[[int], Call]:
        module = rx.Module()
        with module.function("main", {"x": rx.tensor(("n", *NETWORKS[name]))}) as f:
            f.returns(builds[name](*f))
        program = rx.compile(module, numerics="same")

        def call(threads: int) -> Call:
            def run(arrays: Sequence[Any]) -> list[Any]:
                program.threads = threads
                return [to_numpy(program["main"](*arrays))]

            return run

        return call

    yield from _network_rows(options, "relax-mlir", {name: call_of(name) for name in NETWORKS})


def torch_rows(options: argparse.Namespace, *, compiles: bool = False) -> Iterator[str]:
    import torch
    from torch import nn

    torch.manual_seed(0)
    # Each size and number of threads may be compiled. Over the limit torch would be eager.
    torch._dynamo.config.recompile_limit = 64

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = nn.MultiheadAttention(128, 4, batch_first=True)

        def forward(self, x: Any) -> Any:
            return x + self.attention(x, x, x, need_weights=False)[0]

    pools = [nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU()]
    models = {
        "mlp": nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 10)),
        "conv_net": nn.Sequential(*pools, nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)),
        "attention": Attention(),
        "softmax_layer_norm": nn.Sequential(nn.LayerNorm(300), nn.Softmax(-1)),
    }

    def call_of(model: Any) -> Callable[[int], Call]:
        model = model.eval()
        torch._dynamo.reset()
        used = torch.compile(model) if compiles else model

        def call(threads: int) -> Call:
            def run(arrays: Sequence[Any]) -> list[Any]:
                torch.set_num_threads(threads)
                with torch.inference_mode():
                    return [used(*map(torch.from_numpy, arrays)).numpy()]

            return run

        return call

    peer = f"torch{'.compile' if compiles else ''} {torch.__version__.partition('+')[0]}"
    yield from _network_rows(options, peer, {name: call_of(model) for name, model in models.items()})


def xla_rows(options: argparse.Namespace) -> Iterator[str]:
    """XLA takes the number of threads from the process: a call by two threads is a process of its own."""
    threads = int(os.environ.get("SAME_BITS_THREADS", "1"))
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    import jax
    import jax.numpy as jnp

    made = _weights()

    def attention(x: Any, wq: Any, wk: Any, wv: Any, wo: Any) -> Any:
        q, k, v = ((x @ w).reshape(-1, 32, 4, 32).transpose(0, 2, 1, 3) for w in (wq, wk, wv))
        mixed = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) / 32**0.5) @ v
        return x + mixed.transpose(0, 2, 1, 3).reshape(-1, 32, 128) @ wo

    def pooled(x: Any, w: Any) -> Any:
        x = jax.nn.relu(jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NCHW", "HWIO", "NCHW")))
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def layer_norm(x: Any) -> Any:
        mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return jax.nn.softmax((x - mean) / jnp.sqrt(var + 1e-5))

    networks: dict[str, tuple[Any, list[Any]]] = {
        "mlp": (lambda x, a, b: jax.nn.gelu(x @ a) @ b, [made(256, 512), made(512, 10)]),
        "conv_net": (
            lambda x, a, b, c: pooled(pooled(x, a), b).mean((2, 3)) @ c,
            [made(3, 3, 3, 16), made(3, 3, 16, 32), made(32, 10)],
        ),
        "attention": (attention, [made(128, 128) for _ in range(4)]),
        "softmax_layer_norm": (layer_norm, []),
    }
    jitted = {name: (jax.jit(function), weights) for name, (function, weights) in networks.items()}
    if threads > 1:
        folder = Path(os.environ["SAME_BITS_FILES"])
        function, weights = jitted[os.environ["SAME_BITS_NAME"]]
        numpy.save(folder / "result.npy", numpy.asarray(function(numpy.load(folder / "given.npy"), *weights)))
        return

    def call_of(name: str) -> Callable[[int], Call]:
        function, weights = jitted[name]

        def call(number: int) -> Call:
            if number == 1:
                return lambda arrays: [numpy.asarray(function(*arrays, *weights))]
            return lambda arrays: [_in_process(name, number, *arrays)]

        return call

    yield from _network_rows(options, f"XLA (jax {jax.__version__})", {name: call_of(name) for name in networks})


_ALL_CPUS = os.sched_getaffinity(0)


def _in_process(name: str, threads: int, given: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        numpy.save(Path(folder, "given.npy"), given)
        own = {"SAME_BITS_THREADS": str(threads), "SAME_BITS_FILES": folder, "SAME_BITS_NAME": name}
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, _ALL_CPUS)
        try:
            subprocess.run([sys.executable, __file__, "--peer=xla"], env={**os.environ, **own}, check=True)
        finally:
            os.sched_setaffinity(0, before)
        return numpy.load(Path(folder, "result.npy"))


_PEERS: dict[str, Callable[[argparse.Namespace], Iterator[str]]] = {
    "own": own_rows,
    "onnxruntime": onnxruntime_rows,
    "openvino": openvino_rows,
    "openvino_f32": lambda options: openvino_rows(options, "f32"),
    "torch": torch_rows,
    "torch_compile": lambda options: torch_rows(options, compiles=True),
    "xla": xla_rows,
}


if __name__ == "__main__":
    main()
