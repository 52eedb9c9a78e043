# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of parts for oneDNN: symbolic sizes, many threads, and whole models with rx.compile(partition=["dnnl"])."""

from __future__ import annotations

import gc
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest
import relax_mlir as rx
import tvm_ffi
from before_after import results_of
from compiling import array
from dnnl_models import floats, residual_block, transformer_layer
from dnnl_parts import OnePart, build_part, built, compare_steps
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir import relax
from relax_mlir.support.errors import RelaxError
from relax_mlir_dnnl.runtime import library as libraries
from relax_mlir_dnnl.runtime import objects
from relax_mlir_dnnl.runtime import plan_builder as builders
from relax_mlir_dnnl.runtime import runtime as runtimes
from relax_mlir_dnnl.runtime.runtime import DnnlRuntime

const = relax.const
DNNL: Any = {"partition": ["dnnl"], "strict_partition": True}


def call_part(part: OnePart, function: Any, data: Any, result: Any) -> Any:
    made = numpy.full(result, 99, "float32")
    function(tvm_ffi.from_dlpack(data), tvm_ffi.from_dlpack(made))
    return made


def test_symbolic_sizes() -> None:
    body = lambda x: relax.nn.relu(relax.nn.conv2d(x, const(floats(6, 4, 3, 3)), strides=2, padding=1))  # noqa: E731
    for sizes in ({"n": 1, "h": 9, "w": 8}, {"n": 3, "h": 4, "w": 5}):
        assert compare_steps(built(body, ("n", 4, "h", "w")), sizes=sizes) == ["convolution+eltwise"]
    matmul = lambda x, y: relax.nn.softmax(relax.matmul(x, y))  # noqa: E731
    assert compare_steps(built(matmul, ("n", 3, 7), ("n", 7, "m.0")), sizes={"n": 2, "m.0": 4}) == ["matmul", "softmax"]
    layer = lambda x, y: relax.add(relax.matmul(x, const(floats(12, 20))), y)  # noqa: E731
    assert compare_steps(built(layer, ("n", "m", 12), ("n", "m", 20)), sizes={"n": 2, "m": 3}) == [
        "inner_product+binary"
    ]
    flat = lambda x: relax.exp(relax.reshape(x, ("n * 6",)))  # noqa: E731
    assert compare_steps(built(flat, ("n", 2, 3)), sizes={"n": 3}) == ["view", "eltwise"]


def test_sizes_known_only_as_expressions() -> None:
    """Pass n * m rows where neither n nor m is a size of an argument, and refuse a size that nothing determines."""
    weights = floats(4, 6)
    layer = lambda x: relax.nn.relu(relax.matmul(x, const(weights)))  # noqa: E731
    split = lambda x: relax.exp(relax.reshape(layer(x), ("n * m", 2, 3)))  # noqa: E731
    data = floats(6, 4)
    for body, result in ((layer, (6, 6)), (split, (6, 2, 3))):
        part = build_part(built(body, ("n * m", 4)))
        (function,) = DnnlRuntime().load(memoryview(part.data)).values()
        expected = numpy.maximum(data @ weights, 0).reshape(result)
        if body is split:
            expected = numpy.exp(expected)
        numpy.testing.assert_allclose(call_part(part, function, data, result), expected, rtol=1e-4, atol=1e-5)
    inside = lambda x: relax.sum(relax.exp(relax.reshape(x, ("n", "m", 4))), axis=[0, 1])  # noqa: E731
    with pytest.raises(RelaxError, match="no input or output of the part has the size 'n'"):
        build_part(built(inside, ("n * m", 4)))


def test_plans_are_cached_and_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtimes, "_MOST_PLANS", 2)
    made = []
    build = runtimes.Builder.build
    monkeypatch.setattr(runtimes.Builder, "build", lambda self: made.append(self._symbols["s0"]) or build(self))
    module = built(relax.exp, ("n", 3))
    part = build_part(module)
    (function,) = DnnlRuntime().load(memoryview(part.data)).values()
    for count in (2, 3, 2, 4, 3, 4, 3):
        data = floats(count, 3)
        numpy.testing.assert_allclose(call_part(part, function, data, (count, 3)), numpy.exp(data), rtol=1e-5)
    assert made == [2, 3, 4, 3]


def test_unexpected_shape() -> None:
    part = build_part(built(lambda x, y: relax.add(x, y), ("n", 3), ("n", 3)))
    (function,) = DnnlRuntime().load(memoryview(part.data)).values()
    tensors = [tvm_ffi.from_dlpack(floats(*shape)) for shape in ((2, 3), (4, 3), (2, 3))]
    with pytest.raises(RelaxError, match=r"argument 1 has shape \(4, 3\), expected \(2, 3\)"):
        function(*tensors)
    with pytest.raises(RelaxError, match="takes 3 tensors, inputs and outputs, got 2"):
        function(*tensors[:2])


def test_empty_input() -> None:
    """Call with a symbol that is 0."""
    function = rx.compile(built(lambda x: relax.nn.relu(relax.matmul(x, const(floats(3, 4)))), ("n", 3)), **DNNL)[
        "main"
    ]
    assert array(function(floats(0, 3))).shape == (0, 4)
    assert array(function(floats(2, 3))).shape == (2, 4)


def test_weights_are_reordered_once() -> None:
    module = built(lambda x: residual_block(x, 16), (1, 16, 8, 8))
    (function,) = DnnlRuntime().load(memoryview(build_part(module).data)).values()
    kinds = [len(call.arguments) for call in function.make.__self__.only.calls]
    # A reorder of the input, two convolutions, a reorder of the output.
    assert len(kinds) == 4


@pytest.mark.parametrize("most", [0, 1, 2])
def test_chain_split_at_limit_of_kernel(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Limited(builders.Described):
        def __init__(self, builder: Any, step: Any, is_plain: bool):
            if step.kind == "convolution" and len(step.post_ops) > most:
                raise libraries.DnnlError("too many")
            super().__init__(builder, step, is_plain)

    def body(x: Any, other: Any) -> Any:
        y = relax.nn.conv2d(x, const(floats(8, 8, 3, 3)), padding=1)
        return relax.nn.relu(relax.add(relax.multiply(relax.tanh(y), const(0.5)), other))

    monkeypatch.setattr(builders, "Described", Limited)
    steps = compare_steps(built(body, (1, 8, 6, 6), (1, 8, 6, 6)))
    assert steps == ["convolution+eltwise+eltwise+binary+eltwise"]


def test_reference_implementations(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, is_slow in (("ref:any", True), ("gemm:ref", True), ("jit:avx2", False), ("brgemm:avx2", False)):
        monkeypatch.setattr(objects.PrimitiveDescription, "implementation", name)
        assert object.__new__(objects.PrimitiveDescription).is_reference == is_slow


def test_many_threads_at_once() -> None:
    module = built(lambda x: residual_block(residual_block(x, 8), 8, seed=5), (1, 8, 12, 12))
    function = rx.compile(module.copy(), **DNNL)["main"]
    given = [floats(1, 8, 12, 12, seed=seed) for seed in range(6)]
    expected = [results_of(module, [each])[0] for each in given]

    def run(number: int) -> Any:
        return [array(function(given[number % 6])).copy() for _ in range(20)]

    with ThreadPoolExecutor(6) as pool:
        for number, made in enumerate(pool.map(run, range(12))):
            for each in made:
                numpy.testing.assert_allclose(each, expected[number % 6], rtol=1e-4, atol=1e-4)


def test_openmp_thread_counts() -> None:
    module = built(lambda x: residual_block(x, 16), (2, 16, 24, 24))
    (expected,) = results_of(module, [data := floats(2, 16, 24, 24)])
    for threads in (1, 2, 3):
        function = rx.compile(module.copy(), partition=[f"dnnl{{threads={threads}}}"], strict_partition=True)["main"]
        numpy.testing.assert_allclose(array(function(data)), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_residual_model(tmp_path: Any) -> None:
    def body(x: Any) -> Any:
        y = relax.nn.conv2d(x, const(floats(16, 3, 7, 7, scale=0.1)), strides=2, padding=3)
        y = relax.nn.max_pool2d(relax.nn.relu(y), pool_size=3, strides=2, padding=1)
        y = relax.nn.adaptive_avg_pool2d(residual_block(residual_block(y, 16), 16, seed=5), output_size=1)
        return relax.matmul(relax.reshape(y, (-1, 16)), const(floats(16, 10)))

    module = built(body, (2, 3, 33, 29))
    (expected,) = results_of(module, [data := floats(2, 3, 33, 29)])
    executable = rx.compile(module.copy(), **DNNL)
    assert "1 part by dnnl" in repr(executable)
    numpy.testing.assert_allclose(array(executable["main"](data)), expected, rtol=1e-4, atol=1e-4)
    executable.save(tmp_path / "model.rxa")
    del executable
    gc.collect()
    loaded = rx.runtime.load(tmp_path / "model.rxa")
    numpy.testing.assert_allclose(array(loaded["main"](data)), expected, rtol=1e-4, atol=1e-4)
    numpy.save(tmp_path / "data.npy", data)
    done = subprocess.run(
        [sys.executable, "-c", LOAD_AND_RUN], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    numpy.testing.assert_allclose(numpy.load(tmp_path / "made.npy"), expected, rtol=1e-4, atol=1e-4)


#: Script of a process that runs a program without the compiler.
LOAD_AND_RUN = """
import sys
import numpy
import relax_mlir as rx
loaded = rx.runtime.load("model.rxa")
numpy.save("made.npy", rx.runtime.to_numpy(loaded["main"](numpy.load("data.npy"))))
compiler = [name for name in sys.modules if name.startswith(("torch_mlir", "relax_mlir.targets", "relax_mlir.passes"))]
sys.exit(f"imported: {compiler}" if compiler else 0)
"""


@pytest.mark.parametrize("batch", [2, "n"])
def test_a_transformer_layer(batch: Any) -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((batch, 6, 32)), rx.tensor((batch, 1, 1, 6))]) as f:
        f.returns(transformer_layer(*f, batch))
    given = [floats(2, 6, 32), floats(2, 1, 1, 6, seed=9)]
    (expected,) = results_of(module, given)
    executable = rx.compile(module.copy(), **DNNL)
    assert "1 part by dnnl" in repr(executable)
    numpy.testing.assert_allclose(array(executable["main"](*given)), expected, rtol=1e-4, atol=1e-4)


def test_parts_around_unsupported_operator() -> None:
    def body(x: Any) -> Any:
        return residual_block(relax.erf(residual_block(x, 8)), 8, seed=5)

    module = built(body, (1, 8, 6, 6))
    executable = rx.compile(module.copy(), **DNNL)
    assert "2 parts by dnnl" in repr(executable)
    (expected,) = results_of(module, [data := floats(1, 8, 6, 6)])
    numpy.testing.assert_allclose(array(executable["main"](data)), expected, rtol=1e-4, atol=1e-4)


UNARY: Any = [relax.nn.relu, relax.tanh, relax.erf, relax.nn.gelu, lambda x: relax.nn.softmax(x, axis=1),
            lambda x: relax.multiply(x, const(0.5)), lambda x: relax.clip(x, -1.0, 1.0),
            lambda x: relax.nn.conv2d(x, const(floats(4, 4, 3, 3, scale=0.2)), padding=1),
            lambda x: relax.matmul(x, const(floats(5, 5, scale=0.4))),
            lambda x: relax.permute_dims(relax.permute_dims(x, [0, 2, 3, 1]), [0, 3, 1, 2]),
            lambda x: relax.nn.max_pool2d(x, pool_size=3, padding=1),
            lambda x: relax.add(x, relax.mean(x, axis=[2, 3], keepdims=True))]  # fmt: skip
BINARY_OPS: Any = [relax.add, relax.multiply, relax.maximum, relax.subtract]


@given(st.data())
@draws(60)
def test_random_graphs(data: Any) -> None:
    """Draw graphs with diamonds, repeated uses and several results.

    oneDNN lacks some of their operators.
    """

    def body(x: Any, y: Any) -> Any:
        values = [x, y]
        for _ in range(data.draw(st.integers(1, 8))):
            inputs = [values[-1 - data.draw(st.integers(0, min(3, len(values) - 1)))] for _ in range(2)]
            if data.draw(st.booleans()):
                values.append(data.draw(st.sampled_from(UNARY))(inputs[0]))
            else:
                values.append(data.draw(st.sampled_from(BINARY_OPS))(*inputs))
        return tuple(values[-data.draw(st.integers(1, 3)) :])

    module = built(body, (2, 4, 5, 5), (2, 4, 5, 5))
    arrays = [floats(2, 4, 5, 5), floats(2, 4, 5, 5, seed=4)]
    expected = results_of(module, arrays)
    made = rx.compile(module.copy(), partition=["dnnl"])["main"](*arrays)
    results = list(made) if isinstance(made, (list, tuple)) or len(expected) > 1 else [made]
    for one, other in zip(expected, results, strict=True):
        scale = max(1.0, float(numpy.abs(one).max()))
        numpy.testing.assert_allclose(array(other), one, rtol=1e-4, atol=1e-4 * scale)
