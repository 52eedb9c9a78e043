# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen tensorrt with a substitute for the package tensorrt: compile, store, load, call, refusals."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import recording_tensorrt
import relax_mlir as rx
from before_after import changed, results_of
from relax_mlir import relax
from relax_mlir.passes.graph.partition.codegen import parse_codegen
from relax_mlir.passes.graph.partition.options import option_values
from relax_mlir.support.external_bytes import packed, unpacked
from relax_mlir_tensorrt import runtime
from relax_mlir_tensorrt.codegen import TensorRt
from tensorrt_parts import PASSES, built, floats

const = relax.const


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "tensorrt", recording_tensorrt)
    monkeypatch.setattr(runtime, "Cuda", recording_tensorrt.HostMemory)
    yield
    recording_tensorrt.Builder.refuses = False


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorrt", None)


def layer(x: Any) -> Any:
    return relax.nn.relu(relax.add(relax.matmul(x, const(floats(4, 5))), const(floats(5))))


def part(module: rx.Module, **options: str) -> bytes:
    return TensorRt().compile(changed(module, PASSES), option_values("tensorrt", TensorRt.options, options.items()))


def settings() -> Any:
    return recording_tensorrt.Builder.built[1]


@pytest.mark.usefixtures("stand_in")
def test_a_program_runs_its_parts(tmp_path: Path) -> None:
    module, data = built(layer, (3, 4)), floats(3, 4)
    program = rx.compile(module, partition=["tensorrt"])
    assert "1 part by tensorrt" in repr(program)
    for each in (floats(3, 4, seed=8), data):
        expected = results_of(module, [each])[0]
        numpy.testing.assert_allclose(numpy.from_dlpack(program["main"](each)), expected, rtol=1e-5)
    program.save(tmp_path / "model.rxa")
    again = rx.runtime.load(tmp_path / "model.rxa")
    numpy.testing.assert_allclose(numpy.from_dlpack(again["main"](data)), results_of(module, [data])[0], rtol=1e-5)


@pytest.mark.usefixtures("stand_in")
def test_symbols_are_what_the_engine_was_built_for() -> None:
    module = built(layer, ("n", 4))
    program = rx.compile(module, partition=["tensorrt{sizes='n:2-3-4'}"])
    assert settings()["profiles"] == [{"input0": ((2, 4), (3, 4), (4, 4))}]
    for length in (4, 2):
        data = floats(length, 4)
        found = numpy.from_dlpack(program["main"](data))
        numpy.testing.assert_allclose(found, results_of(module, [data])[0], rtol=1e-5)
    with pytest.raises(Exception, match=r"input0 has shape \(5, 4\), which is outside of the engine's range"):
        program["main"](floats(5, 4))


@pytest.mark.usefixtures("stand_in")
def test_options() -> None:
    part(built(layer, (3, 4)))
    network, config = recording_tensorrt.Builder.built
    assert network.flags == 1 << recording_tensorrt.NetworkDefinitionCreationFlag.STRONGLY_TYPED
    assert config == {"flags": [], "pools": {}, "profiles": []}
    part(built(layer, (3, 4)), fp16="1", workspace="2G")
    network, config = recording_tensorrt.Builder.built
    assert network.flags == 0
    assert config["flags"] == [recording_tensorrt.BuilderFlag.TF32, recording_tensorrt.BuilderFlag.FP16]
    assert config["pools"] == {recording_tensorrt.MemoryPoolType.WORKSPACE: 2 << 30}
    assert [each.dtype for each in network.outputs] == [recording_tensorrt.DataType.FLOAT]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("fp16=half", "'fp16' expects true or false, got 'half'"),
        ("workspace=1T", "'workspace' expects bytes, such as .*, got '1T'"),
        ("workspace=0", "'workspace' expects bytes, such as .*, got '0'"),
        ("workspace", "'workspace' needs a value"),
        ("sizes=n", "'sizes' expects symbol:least-usual-most, .*, got 'n'"),
        ("sizes=n:3-2-4", "'sizes' expects symbol:least-usual-most"),
        ("sizes=n:0-2-4", "'sizes' expects symbol:least-usual-most"),
        ("sizes=n:1-2-4,n:1-2-3", "'sizes' names 'n' twice"),
    ],
)
def test_options_that_mean_nothing(options: str, words: str) -> None:
    with pytest.raises(rx.RelaxError, match=f"codegen 'tensorrt': option {words}"):
        parse_codegen(f"tensorrt{{{options}}}")


@pytest.mark.usefixtures("stand_in")
def test_symbols_that_are_not_declared() -> None:
    with pytest.raises(rx.RelaxError, match=r"the size n of input0 is dynamic, .* sizes='n:1-8-64'"):
        part(built(layer, ("n", 4)))


@pytest.mark.usefixtures("stand_in")
def test_a_refused_engine_raises_an_error() -> None:
    recording_tensorrt.Builder.refuses = True
    with pytest.raises(rx.RelaxError, match="TensorRT built no engine for"):
        part(built(layer, (3, 4)))


@pytest.mark.usefixtures("stand_in")
def test_a_layer_that_tensorrt_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording_tensorrt.Network, "add_matrix_multiply", lambda self, *given: None)
    with pytest.raises(rx.RelaxError, match=r"refuses a layer .add_matrix_multiply.; see TensorRT's messages"):
        part(built(layer, (3, 4)))


@pytest.mark.usefixtures("stand_in")
def test_an_old_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording_tensorrt, "__version__", "8.6.1")
    with pytest.raises(rx.RelaxError, match=r"engines need TensorRT 10.0 or newer, found 8.6.1"):
        part(built(layer, (3, 4)))


@pytest.mark.usefixtures("nothing")
def test_without_tensorrt_the_part_stays() -> None:
    module, data = built(layer, (3, 4)), floats(3, 4)
    with pytest.raises(rx.RelaxError, match="TensorRT is not installed"):
        part(module)
    program = rx.compile(module, partition=["tensorrt"])
    numpy.testing.assert_allclose(numpy.from_dlpack(program["main"](data)), results_of(module, [data])[0], rtol=1e-5)


# ---- checks before the run ----


def engine(version: str = "10.3.0") -> bytes:
    return packed("tensorrt", runtime.EnginePart(version, {"f": runtime.BuiltEngine([4], [4, 8], b"\x80plan")}))


def test_bytes_are_read_as_they_were_written() -> None:
    found = unpacked("tensorrt", memoryview(engine()), runtime.EnginePart)
    assert found.version == "10.3.0"
    found_engine = found.engines["f"]
    assert (found_engine.inputs, found_engine.outputs, bytes(found_engine.plan)) == ([4], [4, 8], b"\x80plan")


@pytest.mark.parametrize(("count", "words"), [(4, "no bytes of the codegen"), (12, "cut short"), (-3, "cut short")])
def test_bytes_that_are_damaged(count: int, words: str) -> None:
    with pytest.raises(rx.RelaxError, match=words):
        unpacked("tensorrt", memoryview(engine()[:count]), runtime.EnginePart)


def test_a_missing_or_other_tensorrt_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = runtime.TensorRtRuntime().requires
    monkeypatch.setitem(sys.modules, "tensorrt", None)
    assert asked(memoryview(engine())) == "it needs the package tensorrt 10.3.0 (pip install tensorrt==10.3.0)"
    monkeypatch.setitem(sys.modules, "tensorrt", recording_tensorrt)
    assert "found 10.3.0" in asked(memoryview(engine("10.0.1")))
    monkeypatch.setattr(runtime, "Cuda", recording_tensorrt.HostMemory)
    assert asked(memoryview(engine())) == ""
    monkeypatch.setattr(recording_tensorrt.HostMemory, "devices", lambda self: 0)
    assert asked(memoryview(engine())) == "it needs a GPU, and CUDA finds none"


@pytest.mark.usefixtures("stand_in")
def test_calls_with_too_few_tensors_and_engines_that_are_none() -> None:
    data = memoryview(part(built(layer, (3, 4))))
    (function,) = runtime.TensorRtRuntime().load(data).values()
    with pytest.raises(rx.RelaxError, match="takes 1 inputs and 1 outputs, got 1 tensors"):
        function(floats(3, 4))
    broken = packed("tensorrt", runtime.EnginePart("10.3.0", {"f": runtime.BuiltEngine([4], [4], b"other")}))
    with pytest.raises(rx.RelaxError, match="TensorRT refuses the engine of f"):
        runtime.TensorRtRuntime().load(memoryview(broken))


# ---- refusals of operators ----


def image(name: str, **attributes: Any) -> Any:
    return lambda x: getattr(relax.nn, name)(x, **attributes)


@pytest.mark.parametrize(
    ("body", "inputs", "words"),
    [
        (lambda x: relax.cumsum(x, axis=0), [(3, 4)], "TensorRT has no layer for relax.cumsum"),
        (relax.exp, [rx.tensor((3,), "float64")], "elements of f64 cannot be passed to TensorRT"),
        (relax.exp, [rx.tensor((3,), "bfloat16")], "elements of bf16 cannot be passed to TensorRT"),
        (relax.divide, [rx.tensor((3,), "int32")] * 2, "does not support this operator with elements of i32"),
        (relax.nn.relu, [(1,) * 9], "TensorRT supports at most 8 dimensions, not 9"),
        (relax.nn.relu, [(0, 3)], "a tensor without elements needs no layer"),
        (lambda x: relax.clip(x, 3, 1), [(3,)], "the lower limit 3 is above the upper limit 1"),
        (lambda x: relax.nn.softplus(x, beta=-1.0), [(3,)], "a beta above 0"),
        (lambda x: relax.nn.pad(x, (1, 1), "reflect"), [(3,)], "not in mode 'reflect'"),
        (lambda x: relax.nn.pad(x, (1, -1)), [(3,)], "does not support negative padding"),
        (lambda x: relax.nn.pad(x, (1, 1)), [("n",)], "sizes of the padded dimensions"),
        (lambda x: relax.image.resize2d(x, ("n", 4)), [("n", 2, 8, 8)], "sizes of the resized image"),
        (lambda x: relax.split(x, 2, axis=0)[0], [("n", 4)], "a static size along the split axis"),
        (lambda x: relax.strided_slice(x, [0], [0], [2]), [("n", 4)], "sizes of the sliced dimensions"),
        (lambda x, i: relax.take(x, i, axis=0, mode="clip"), [(3, 4), rx.tensor((2,), "int32")], "mode 'clip'"),
        (lambda x: relax.argmax(x), [(3, 4)], "searches along one axis"),
        (lambda x: relax.argmax(x, axis=0), [("n", 4)], "a static size of the searched axis"),
        (lambda x: relax.topk(x, k=3841, ret_type="values"), [(4000,)], "from 1 to 3840"),
        (image("max_pool2d", pool_size=2, dilation=2), [(1, 2, 8, 8)], "have no dilation, got 2 along H"),
        (
            image("max_pool2d", pool_size=2, padding=2),
            [(1, 2, 8, 8)],
            "padding 2 along H is not smaller than the window of 2",
        ),
        (image("max_pool2d", layout="NCHW4c"), [(1, 2, 8, 8, 4)], "layout NCHW4c is blocked"),
        (image("avg_pool2d", pool_size=3, strides=2, ceil_mode=True), [(1, 2, 8, 8)], "may count other elements"),
        (
            image("max_pool2d", pool_size=1, strides=3, padding=0, ceil_mode=True),
            [(1, 2, 8, 8)],
            "that starts past the end",
        ),
        (image("adaptive_avg_pool2d", output_size=3), [(1, 2, 8, 8)], "windows of equal size do not split"),
        (relax.nn.conv2d, [(1, 4, 8, 8), ("m", 4, 3, 3)], "static sizes of the weight"),
        (lambda x, w: relax.nn.conv2d(x, w, out_dtype="float16"), [(1, 4, 8, 8), (2, 4, 3, 3)], "f32, f32 and f16"),
        (
            lambda x, w: relax.nn.conv2d_transpose(x, w, strides=2, output_padding=1),
            [(1, 4, 8, 8), (4, 2, 3, 3)],
            "exceeds the end padding",
        ),
        (lambda x: relax.image.resize2d(x, (4, 4), method="cubic"), [(1, 2, 8, 8)], "method 'cubic'"),
        (lambda x: relax.image.resize2d(x, (4, 4), layout="NHWC"), [(1, 2, 8, 8)], "not those of layout NHWC"),
        (lambda x, g: relax.nn.layer_norm(x, g, g, axes=[0]), [(3, 4), (3,)], "over the last dimensions"),
        (lambda x, g: relax.nn.layer_norm(x, g, g, axes=[1]), [(3, "n"), ("n",)], "sizes of the normalized dimensions"),
        (
            lambda x, g: relax.nn.batch_norm(x, g, g, g, g, axis=1, training=True)[0],
            [(3, 4), (4,)],
            "the statistics of the batch",
        ),
        (
            lambda x, g: relax.nn.batch_norm(x, g, g, g, g, axis=1, training=False)[:2],
            [(3, 4), (4,)],
            "the new mean or variance has users",
        ),
    ],
)
def test_refusals(body: Any, inputs: Any, words: str) -> None:
    from relax_mlir.bindings.navigation import operations_in
    from relax_mlir_tensorrt.rules import RULES, refusal

    operations = [op for op in operations_in(built(body, *inputs).operation) if op.name.startswith("relax.")]
    reasons = [refusal(op) for op in operations if op.name in RULES or "no layer" in words]
    assert any(words in each for each in reasons), reasons
