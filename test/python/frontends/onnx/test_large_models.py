# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Large tensors of a model: they are neither copied nor read before their use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy
import onnx
import pytest
from compiling import array
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from relax_mlir.frontends.onnx.large_data import take_large_data
from relax_mlir.frontends.onnx.model import read_model
from relax_mlir.frontends.onnx.tensor_data import array_of
from relax_mlir.tools.relax_compile import run

import relax_mlir as rx

# Prints the growth of a process in bytes, from its memory after the imports to its peak.
_GROWTH = """
import re, sys
import numpy, onnx
import relax_mlir as rx

def peak():
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])

rx.compile(rx.from_onnx(sys.argv[1]))["main"](numpy.ones((1, 16), "f4"))
before = peak()
module = rx.from_onnx(sys.argv[2])
after_import = peak()
executable = rx.compile(module)
executable.save(sys.argv[3])
executable["main"](numpy.ones((1, 2048), "f4"))
print(after_import - before, peak() - before)
"""


def _info(name: str, shape: Any, dtype: int = TensorProto.FLOAT) -> Any:
    return helper.make_tensor_value_info(name, dtype, shape)


def _products(width: int, count: int) -> Any:
    """Return a model with `count` products of a row with a matrix each."""
    weights = [
        numpy_helper.from_array(
            numpy.random.default_rng(seed).normal(size=(width, width)).astype("float32"), f"w{seed}"
        )
        for seed in range(count)
    ]
    names = ["x", *(f"h{each}" for each in range(count))]
    nodes = [helper.make_node("MatMul", [names[each], f"w{each}"], [names[each + 1]]) for each in range(count)]
    shape = ("n", width)
    graph = helper.make_graph(nodes, "g", [_info("x", shape)], [_info(names[-1], shape)], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


def _saved(model: Any, path: Path, external: bool) -> Path:
    path.parent.mkdir(exist_ok=True)
    onnx.save_model(model, path, save_as_external_data=external, location="data.bin", size_threshold=64)
    return path


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="this system does not tell a process's peak memory")
@pytest.mark.parametrize("external, most", [(False, 1.3), (True, 0.3)], ids=["inside", "external"])
def test_memory_grows_by_the_models_size(tmp_path: Path, external: bool, most: float) -> None:
    small = _saved(_products(16, 4), tmp_path / "small" / "m.onnx", external)
    large = _saved(_products(2048, 4), tmp_path / "large" / "m.onnx", external)
    size = sum(path.stat().st_size for path in large.parent.iterdir())
    command = [sys.executable, "-c", _GROWTH, str(small), str(large), str(tmp_path / "out.rxa")]
    imported, used = map(int, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    assert imported < most * size
    # Mapped weights are copied once, since the program has another layout for matrices.
    assert used < 2.2 * size
    assert (tmp_path / "out.rxa").stat().st_size > size


def test_tensors_are_the_models_bytes() -> None:
    data = _products(64, 2).SerializeToString()
    model = read_model(data)
    for tensor in model.proto.graph.initializer:
        held = array_of(tensor, model.data)
        assert not held.flags.owndata and not held.flags.writeable
        assert numpy.shares_memory(held, numpy.frombuffer(data, "u1"))


def test_tensors_inside_of_a_file_are_aligned(tmp_path: Path) -> None:
    original = _products(64, 3)
    model = read_model(_saved(original, tmp_path / "m.onnx", external=False))
    for tensor, before in zip(model.proto.graph.initializer, original.graph.initializer, strict=True):
        held = array_of(tensor, model.data)
        assert held.ctypes.data % 64 == 0 and not held.flags.writeable
        assert (held == numpy_helper.to_array(before)).all()


def test_a_model_from_a_pipe() -> None:
    reading, writing = os.pipe()
    os.write(writing, _products(40, 2).SerializeToString())
    os.close(writing)
    try:
        assert str(rx.from_onnx(f"/dev/fd/{reading}")).count("relax.matmul") == 2
    finally:
        os.close(reading)


def test_a_file_is_mapped_once_for_all_tensors(tmp_path: Path) -> None:
    model = read_model(_saved(_products(64, 3), tmp_path / "m.onnx", external=True))
    held = [array_of(tensor, model.data) for tensor in model.proto.graph.initializer]
    offsets = [
        int(each.value)
        for tensor in model.proto.graph.initializer
        for each in tensor.external_data
        if each.key == "offset"
    ]
    assert held[2].ctypes.data - held[0].ctypes.data == offsets[2] - offsets[0]


def test_a_constant_of_the_program_is_what_the_array_was() -> None:
    module = rx.Module()
    held = numpy.ones(1000, "float32")
    with module.function("main") as f:
        f.returns(rx.relax.const(held))
    held[:] = 2
    assert (array(rx.compile(module)["main"]()) == 1).all()


# ---- tensors of every type, at every place ----


def _row(dtype: Any) -> Any:
    return (numpy.arange(9000) % 13 - 5).astype(dtype)


@pytest.mark.parametrize("name", ["x", "xy", "xyz", "wxyz"])
def test_bytes_at_any_place(name: str) -> None:
    """Shift the weights by the length of a name, so that numbers are not aligned."""
    graph = helper.make_graph(
        [helper.make_node("Add", [name, "c"], ["out"])],
        "g",
        [_info(name, (9000,))],
        [_info("out", (9000,))],
        [numpy_helper.from_array(_row("float32"), "c")],
    )
    executable = rx.compile(rx.from_onnx(helper.make_model(graph).SerializeToString()))
    assert (array(executable["main"](_row("float32"))) == 2 * _row("float32")).all()


def _constant_in_a_branch(tensor: Any) -> Any:
    branch = helper.make_graph(
        [helper.make_node("Constant", [], ["c"], value=tensor), helper.make_node("Cast", ["c"], ["t"], to=1)],
        "then",
        [],
        [_info("t", (9000,))],
    )
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["e"])], "else", [], [_info("e", (9000,))])
    nodes = [helper.make_node("If", ["b"], ["y"], then_branch=branch, else_branch=other)]
    inputs = [_info("b", (), TensorProto.BOOL), _info("x", (9000,))]
    return helper.make_model(helper.make_graph(nodes, "g", inputs, [_info("y", (9000,))]))


def _constant_in_a_function(tensor: Any) -> Any:
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("mine", 1)]
    nodes = [helper.make_node("Constant", [], ["c"], value=tensor), helper.make_node("Cast", ["c"], ["t"], to=1)]
    nodes.append(helper.make_node("Add", ["t", "x"], ["s"]))
    nodes.append(helper.make_node("Sub", ["s", "x"], ["y"]))
    function = helper.make_function("mine", "Row", ["x"], ["y"], nodes, opsets)
    call = helper.make_node("Row", ["x"], ["y"], domain="mine")
    graph = helper.make_graph([call], "g", [_info("x", (9000,))], [_info("y", (9000,))])
    return helper.make_model(graph, opset_imports=opsets, functions=[function])


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "int64", "bfloat16", "float8_e4m3fn", "int4"])
def test_constants_inside_of_branches_and_functions(dtype: str) -> None:
    row = _row(getattr(ml_dtypes, dtype, dtype))
    tensor = numpy_helper.from_array(row, "c")
    expected = row.astype("float32")
    data = _constant_in_a_branch(tensor).SerializeToString()
    assert take_large_data(data)[1]
    main = rx.compile(rx.from_onnx(data))["main"]
    assert (array(main(numpy.array(True), _row("float32"))) == expected).all()
    data = _constant_in_a_function(tensor).SerializeToString()
    assert take_large_data(data)[1]
    assert (array(rx.compile(rx.from_onnx(data))["main"](numpy.zeros(9000, "float32"))) == expected).all()


@pytest.mark.parametrize("dtype", ["bool", "float16", "bfloat16", "float8_e5m2", "int4", "uint4"])
def test_external_tensors_of_every_width(tmp_path: Path, dtype: str) -> None:
    row = numpy.abs(_row("float32")).astype(getattr(ml_dtypes, dtype, dtype))
    graph = helper.make_graph(
        [helper.make_node("Cast", ["c"], ["y"], to=1)],
        "g",
        [],
        [_info("y", (9000,))],
        [numpy_helper.from_array(row, "c")],
    )
    path = _saved(helper.make_model(graph), tmp_path / "m.onnx", external=True)
    assert (tmp_path / "data.bin").exists()
    assert (array(rx.compile(rx.from_onnx(path))["main"]()) == row.astype("float32")).all()


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "uint8", "bool"])
@pytest.mark.parametrize("shift", [0, 1, 6])
def test_weights_anywhere_in_a_mapped_file(tmp_path: Path, dtype: str, shift: int) -> None:
    """Compile without reading the weights into memory: unchanged weights, transposed weights, and operands of
    operators."""
    weights = _row("float32").reshape(90, 100).astype(dtype)
    nodes = [
        helper.make_node("Identity", ["c"], ["as_it_is"]),
        helper.make_node("Transpose", ["c"], ["turned"]),
        helper.make_node("Concat", ["c", "c"], ["twice"], axis=0),
    ]
    outputs = [
        _info(name, None, helper.np_dtype_to_tensor_dtype(weights.dtype)) for node in nodes for name in node.output
    ]
    graph = helper.make_graph(nodes, "g" * (1 + shift), [], outputs, [numpy_helper.from_array(weights, "c")])
    path = _saved(helper.make_model(graph), tmp_path / "m.onnx", external=False)
    assert run([str(path), "-o", str(tmp_path / "m.rxa"), "--no-cache"]) == 0
    results = rx.runtime.load(tmp_path / "m.rxa")["main"]()
    for result, expected in zip(results, (weights, weights.T, numpy.concatenate([weights] * 2)), strict=True):
        assert (array(result) == expected).all()


# ---- the protobuf without its large tensors ----


def _put_back(message: Any, taken: dict[bytes, memoryview]) -> int:
    """Put the data back in the place of their tokens, and return the number of tokens."""
    if isinstance(message, TensorProto):
        found = message.raw_data in taken
        message.raw_data = bytes(taken.get(message.raw_data, message.raw_data))
        return int(found)
    count = 0
    for field, value in message.ListFields():
        if field.message_type is not None:
            count += sum(_put_back(each, taken) for each in (value if field.is_repeated else [value]))
    return count


@given(
    st.lists(st.sampled_from([0, 10, 4095, 4096, 4097, 20_000]), max_size=4),
    st.lists(st.sampled_from([0, 5000]), max_size=2),
)
def test_nothing_else_changes(sizes: list[int], inner: list[int]) -> None:
    tensors = [TensorProto(name=f"t{each}", data_type=2, dims=[each], raw_data=os.urandom(each)) for each in sizes]
    nodes = [helper.make_node("Constant", [], [f"c{each}"], value=tensors[0]) for each in range(2) if tensors]
    held = [numpy_helper.from_array(numpy.zeros(each, "f4"), f"i{each}") for each in inner]
    nodes.append(helper.make_node("If", ["b"], [], then_branch=helper.make_graph(nodes[:], "g", [], [], held)))
    model = helper.make_model(helper.make_graph(nodes, "main", [], [], tensors), doc_string="d" * 5000)
    stripped, taken = take_large_data(model.SerializeToString())
    parsed = onnx.load_model_from_string(stripped)
    assert _put_back(parsed, taken) == len(taken)
    assert parsed == model
    assert len(stripped) < 40_000 and all(len(view) >= 4096 for view in taken.values())


@given(st.binary(max_size=400), st.integers(0, 8000))
def test_any_bytes_are_taken_apart_without_an_exception(noise: bytes, cut: int) -> None:
    whole = _products(64, 1).SerializeToString()
    for data in (noise, whole[:cut], whole[:cut] + noise, noise + whole):
        stripped, taken = take_large_data(data)
        assert taken or stripped is data


@pytest.mark.parametrize("unknown", [b"\x98\x06\x05", b"\x99\x06" + b"\x0a" * 8, b"\x9d\x06" + b"\x0a" * 4])
def test_fields_of_later_versions_of_the_format(unknown: bytes) -> None:
    """Skip numbers of each width in field 99 of the model."""
    model = _products(64, 1)
    stripped, taken = take_large_data(unknown + model.SerializeToString())
    parsed = onnx.load_model_from_string(stripped)
    assert _put_back(parsed, taken) == len(taken) > 0
    assert parsed.graph == model.graph


def _field(tag: int, content: bytes) -> bytes:
    length, encoded = len(content), bytearray([tag])
    while length >= 0x80:
        encoded.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([*encoded, length]) + content


def test_messages_that_are_too_deep() -> None:
    graph = _field(0x52, b"d" * 5000)
    for _ in range(200):  # a graph in an attribute of a node of a graph
        graph = _field(0x0A, _field(0x2A, _field(0x32, graph)))
    data = _field(0x3A, graph)
    assert take_large_data(data) == (data, {})
    with pytest.raises(rx.RelaxError, match="malformed"):
        rx.from_onnx(data)
