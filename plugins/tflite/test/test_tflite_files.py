# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damaged, truncated and contradictory TFLite files: each is one error."""

from __future__ import annotations

import random
import struct
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flatbuffers
import numpy
import pytest
import relax_mlir as rx
from ai_edge_litert import schema_py_generated as schema
from flatbuffers import flexbuffers
from tflite_cases import case, f32, flags, numbers, quantized, random_floats, together, weights
from tflite_model import Operator, Subgraph, of_one, written

_CONVOLUTION = case("CONV_2D", [quantized(1, 4, 4, 2), weights((3, 1, 1, 2), 0)], quantized(1, 4, 4, 3, scale=0.3),
                    kind="Conv2D", missing=[2], stride_h=1, stride_w=1)  # fmt: skip
_CASES = [
    _CONVOLUTION,
    case("ADD", [f32(2, 3), random_floats(3)], f32(2, 3), fused_activation_function=1),
    case("RESHAPE", [f32(2, 6), numbers([3, -1])], f32(3, 4)),
    case("STRIDED_SLICE", [f32(4, 5), numbers([0, 1]), numbers([4, 5]), numbers([2, 2])], f32(2, 2), begin_mask=1),
    case("CONCATENATION", [f32(2, 3), f32(2, 3)], f32(2, 6), axis=1),
]
MODEL = written(together(_CASES), signatures=[("main", 0)])


def refusal(model: bytes) -> str:
    """Return the error message for a model, or an empty text if it can be imported.

    Other exceptions and bugs are failures.
    """
    try:
        rx.from_tflite(model)
    except rx.RelaxError as error:
        text = str(error)
        assert "internal error" not in text, text
        assert text.strip()
        return text
    return ""


def changed(change: Callable[[Any], None], model: bytes = MODEL) -> bytes:
    """Return a model with changed tables."""
    tables = schema.ModelT.InitFromPackedBuf(model, 0)
    change(tables)
    builder = flatbuffers.Builder(1024)
    builder.Finish(tables.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


# ---- bytes ----


def test_every_length() -> None:
    for length in range(0, len(MODEL), 7):
        assert refusal(MODEL[:length])


@pytest.mark.parametrize("seed", range(6))
def test_changed_bytes(seed: int) -> None:
    drawn = random.Random(seed)
    for _ in range(40):
        model = bytearray(MODEL)
        for _ in range(drawn.choice([1, 1, 2, 4, 16])):
            model[drawn.randrange(len(model))] = drawn.choice([0, 1, 2, 127, 128, 255, drawn.randrange(256)])
        refusal(bytes(model))


def test_other_files(tmp_path: Path) -> None:
    for model in (b"", b"TFL3", b"\x08\0\0\0ONNX" + bytes(40)):
        assert "is not a TFLite model: bytes 4 to 7 are not TFL3" in refusal(model)
    with pytest.raises(rx.RelaxError, match=r"cannot read '.*none\.tflite': No such file"):
        rx.from_tflite(tmp_path / "none.tflite")
    with pytest.raises(rx.RelaxError, match=r"model\.tflite is damaged or truncated"):
        (tmp_path / "model.tflite").write_bytes(MODEL[: len(MODEL) // 2])
        rx.from_tflite(tmp_path / "model.tflite")


def test_a_vector_length_beyond_the_file_is_refused() -> None:
    """Damage the length of the vector of subgraphs, which the root's field points to."""
    model = bytearray(MODEL)
    tables = schema.Model.GetRootAs(model, 0)
    place = tables._tab.Vector(tables._tab.Offset(8)) - 4
    for length in (2**31 - 1, 2**32 - 1, len(MODEL)):
        struct.pack_into("<I", model, place, length)
        assert "is damaged or truncated" in refusal(bytes(model))


def test_tables_that_are_read_again_and_again() -> None:
    """Read a thousand references to one subgraph, with a thousand references to one tensor."""
    builder = flatbuffers.Builder(1024)
    tensor = schema.TensorT()
    tensor.shape, tensor.name = [1], "t"
    first = tensor.Pack(builder)

    def many(offset: int) -> int:
        builder.StartVector(4, 3000, 4)
        for _ in range(3000):
            builder.PrependUOffsetTRelative(offset)
        return builder.EndVector()

    tensors = many(first)
    schema.SubGraphStart(builder)
    schema.SubGraphAddTensors(builder, tensors)
    subgraphs = many(schema.SubGraphEnd(builder))
    schema.ModelStart(builder)
    schema.ModelAddSubgraphs(builder, subgraphs)
    builder.Finish(schema.ModelEnd(builder), file_identifier=b"TFL3")
    assert "is damaged or truncated" in refusal(bytes(builder.Output()))


# ---- tables ----


def _tensor(index: int, **fields: Any) -> Callable[[Any], None]:
    def change(tables: Any) -> None:
        for name, value in fields.items():
            setattr(tables.subgraphs[0].tensors[index], name, value)

    return change


def _operator(**fields: Any) -> Callable[[Any], None]:
    def change(tables: Any) -> None:
        for name, value in fields.items():
            setattr(tables.subgraphs[0].operators[0], name, value)

    return change


def _set(path: str, value: Any) -> Callable[[Any], None]:
    def change(tables: Any) -> None:
        *names, last = path.split(".")
        for name in names:
            tables = tables[int(name)] if name.isdigit() else getattr(tables, name)
        setattr(tables, last, value)

    return change


_FLAWS = [
    (_operator(opcodeIndex=99), "code #99, which the file does not have"),
    (_operator(inputs=[0, 999, -1]), "it refers to tensor #999, but its subgraph has 17"),
    (_operator(inputs=[0, -7, -1]), "it refers to tensor #-7"),
    (_operator(inputs=[0]), "input #1 is missing"),
    (_operator(inputs=[]), "input #1 is missing"),
    (_operator(outputs=[2000]), "it refers to tensor #2000"),
    (_operator(outputs=[0]), "tensor #0 is computed twice, or is an input"),
    (_operator(outputs=[]), "it has 0 results, but its converter returns 1"),
    (_operator(builtinOptions=None, builtinOptionsType=0), "option 'stride_h' is missing"),
    (_operator(inputs=[2, 1, -1]), "tensor #2 't2' is used before an operator computes it"),
    (_tensor(1, buffer=77), "is in buffer #77, but the file has"),
    (_tensor(1, shape=[300, 1, 1, 2]), "needs 600 elements, but its buffer has 6"),
    (_tensor(1, shape=[-3, 1, 1, 2]), "has the invalid shape (-3, 1, 1, 2)"),
    (_tensor(1, shape=[2**30, 2**30, 1, 2]), "has the invalid shape"),
    (_tensor(1, type=5), "contains strings, which programs do not support"),
    (_tensor(1, type=8), "elements of type COMPLEX64 are not supported"),
    (_tensor(1, type=120), "elements of type #120 are not supported"),
    (_tensor(2, type=6), "its result is"),
    (_set("subgraphs.0.tensors.1.quantization.quantizedDimension", 9), "do not match its size along axis 9"),
    (_set("subgraphs.0.tensors.1.quantization.scale", [0.1, 0.2]), "do not match its size along axis 0"),
    (
        _set("subgraphs.0.tensors.1.quantization.zeroPoint", [2**40] * 3),
        "zero points that are out of range for its type",
    ),
    (
        _set("subgraphs.0.operators.0.builtinOptions.strideH", 0),
        "sizes of the kernel, strides and dilations must be at least 1",
    ),
    (_set("subgraphs.0.operators.0.builtinOptions.fusedActivationFunction", 77), "the activation #77 is not known"),
    (_set("subgraphs.0.inputs", [0, 500]), "input #500: it refers to tensor #500"),
    (_set("subgraphs.0.inputs", [0, 0, 3]), "is an input twice"),
    (_set("subgraphs.0.outputs", [500]), "it refers to tensor #500"),
    (_set("subgraphs.0.outputs", []), "has no outputs"),
    (_set("subgraphs", []), "has no subgraph: there is nothing to compile"),
]


@pytest.mark.parametrize("place", range(len(_FLAWS)))
def test_contradictions_in_a_file_are_refused(place: int) -> None:
    change, expected = _FLAWS[place]
    assert expected in refusal(changed(change))


def test_all_flaws_are_told_at_once() -> None:
    def change(tables: Any) -> None:
        _operator(opcodeIndex=99)(tables)
        tables.subgraphs[0].operators[1].inputs = [0, 999]
        tables.subgraphs[0].tensors[7].buffer = 1234

    text = refusal(changed(change))
    assert "3 operators of the model cannot be imported" in text


def test_recursive_subgraphs_are_refused() -> None:
    condition = Subgraph([f32(3), flags(1), f32(3)], [Operator("IF", [1, 0], [2], {"then_subgraph_index": 1,
                         "else_subgraph_index": 1}, "If")], [0, 1], [2])  # fmt: skip
    again = Subgraph([f32(3), f32(3)], [Operator("CALL", [0], [1], {"subgraph": 1}, "Call")], [0], [1])
    assert "subgraph #1 is recursive" in refusal(written(condition, again))
    missing = again._replace(operators=[Operator("CALL", [0], [1], {"subgraph": 7}, "Call")])
    assert "it calls subgraph #7, but the file has 2" in refusal(written(condition, missing))
    fewer = Subgraph([f32(3), f32(3)], [Operator("CALL", [], [1], {"subgraph": 1}, "Call")], [0], [1])
    assert "takes 2 inputs, got 0" in refusal(written(fewer, condition))


def test_calls_that_double_at_each_level() -> None:
    levels = 40
    made = [
        Subgraph([f32(3)] * 3, [Operator("CALL", [each], [each + 1], {"subgraph": level + 1}, "Call")
                                for each in (0, 1)], [0], [2])
        for level in range(levels)
    ]  # fmt: skip
    end = Subgraph([f32(3), f32(3)], [Operator("NEG", [0], [1])], [0], [1])
    assert "too many nodes" in refusal(written(*made, end))


@pytest.mark.slow
def test_options_of_custom_operators() -> None:
    """Refuse bytes that are no FlexBuffers."""

    @rx.register_tflite("TestOptions")
    def convert(node: Any) -> Any:
        return node.tensor(0) if node.attr("many") else None

    def refused(options: bytes) -> str:
        return refusal(written(of_one("TestOptions", [f32(2)], [f32(2)], custom_options=options)))

    drawn = random.Random(3)
    for size in (0, 1, 2, 3, 7, 40, 200):
        for _ in range(10):
            assert "option" in refused(drawn.randbytes(size))
    right = bytes(flexbuffers.Dumps({"few": 1.5, "many": [1, 2, 3], "name": "x"}))
    assert not refused(right)
    assert "its options are not a FlexBuffers map" in refused(bytes(flexbuffers.Dumps({"many": [[1], [2]]})))
    for place in range(len(right)):
        refused(right[:place] + drawn.randbytes(1) + right[place + 1 :])


# ---- bytes behind the tables ----


def test_buffers_behind_the_tables() -> None:
    """Read buffers after the tables, as in files of more than 2 GB."""
    data = numpy.arange(6, dtype="float32").tobytes()
    model = written(of_one("ADD", [f32(6), numbers(range(6), "float32")], [f32(6)], {}, "Add"))

    def moved(offset: int, size: int) -> bytes:
        def change(tables: Any) -> None:
            buffer = tables.buffers[tables.subgraphs[0].tensors[1].buffer]
            buffer.data, buffer.offset, buffer.size = None, offset, size

        return changed(change, model)

    start = len(moved(2**20, len(data)))
    assert rx.compile(rx.from_tflite(moved(start, len(data)) + data))["main"](numpy.ones(6, "float32"))[5] == 6
    for offset, size in ((start + 1, len(data)), (start, 2**40), (2**63, 2**63)):
        assert "is damaged or truncated" in refusal(moved(offset, size) + data)
    assert "needs 6 elements, but its buffer has 5" in refusal(moved(start, 20) + data)


def test_nobody_sees_a_traceback() -> None:
    with pytest.raises(rx.RelaxError) as raised:
        rx.from_tflite(MODEL[:100])
    assert raised.value.__cause__ is None
    assert "struct.error" not in "".join(traceback.format_exception_only(raised.value))
