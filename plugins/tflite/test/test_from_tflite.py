# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rx.from_tflite: subgraphs, signatures, states, dynamic sizes, quantized and sparse weights, custom operators,
tools."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy
import pytest
import relax_mlir as rx
from ai_edge_litert import schema_py_generated as schema
from flatbuffers import flexbuffers
from numpy import ndarray
from relax_mlir import relax
from relax_mlir.tools import relax_compile
from tflite_cases import bias_of, case, f32, flags, i32, numbers, quantized, random_floats, weights
from tflite_model import Operator, Quantized, Subgraph, Tensor, interpreted, of_one, written

MODELS = Path(__file__).parent / "models"
RANDOM = numpy.random.default_rng(9)


def agrees(model: bytes, *given: ndarray, tolerance: float = 1e-5) -> None:
    expected = interpreted(model, given)
    made = rx.compile(rx.from_tflite(model))["main"](*given)
    made = list(made) if isinstance(made, (list, tuple)) else [made]
    for one, other in zip(made, expected, strict=True):
        numpy.testing.assert_allclose(numpy.asarray(one), other, rtol=tolerance, atol=tolerance)


def floats(*shape: int) -> ndarray:
    return RANDOM.uniform(-2, 2, shape).astype("float32")


# ---- subgraphs ----

_DOUBLE = Subgraph([f32(3), f32(3)], [Operator("ADD", [0, 0], [1], {}, "Add")], [0], [1])
_NEGATE = Subgraph([f32(3), f32(3)], [Operator("NEG", [0], [1])], [0], [1])


@pytest.mark.parametrize("flag", [True, False])
def test_a_branch_that_the_run_decides(flag: bool) -> None:
    branches = {"then_subgraph_index": 1, "else_subgraph_index": 2}
    main = Subgraph([flags(1), f32(3), f32(3)], [Operator("IF", [0, 1], [2], branches, "If")], [0, 1], [2])
    agrees(written(main, _DOUBLE, _NEGATE), numpy.array([flag]), floats(3))


def test_a_composite_is_what_it_is_made_of() -> None:
    attributes = numpy.frombuffer(flexbuffers.Dumps({"axis": 1}), "uint8")
    options = {"name": "acme.negate", "decomposition_subgraph_index": 1, "composite_attributes": attributes}
    main = Subgraph([f32(3), f32(3)], [Operator("STABLEHLO_COMPOSITE", [0], [1], options, "StableHLOComposite")], [0],
                    [1])  # fmt: skip
    agrees(written(main, _NEGATE), floats(3))


def test_a_loop() -> None:
    """Double a state in each iteration."""
    state = [i32(), i32(), f32(3)]
    below = Subgraph([*state, flags()], [Operator("LESS", [0, 1], [3])], [0, 1, 2], [3])
    turn = Subgraph(
        [*state, numbers(1), i32(), f32(3)],
        [Operator("ADD", [0, 3], [4], {}, "Add"), Operator("ADD", [2, 2], [5], {}, "Add")],
        [0, 1, 2],
        [4, 1, 5],
    )
    subgraphs = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    main = Subgraph(
        [numbers(0), i32(), f32(3), i32(), i32(), f32(3)],
        [Operator("WHILE", [0, 1, 2], [3, 4, 5], subgraphs, "While")],
        [1, 2],
        [3, 5],
    )
    for count in (0, 5):
        agrees(written(main, below, turn), numpy.array(count, "int32"), floats(3))


def test_variables_start_anew_in_each_call() -> None:
    """Initialize variables in a subgraph that runs once. Additions of a call are gone in the next call."""
    name = {"container": "", "shared_name": "total"}
    handle = Tensor((), "int32", type="RESOURCE")
    start = Subgraph(
        [handle, numbers([1, 2, 3], "float32")],
        [Operator("VAR_HANDLE", [], [0], name, "VarHandle"), Operator("ASSIGN_VARIABLE", [0, 1], [])],
        [],
        [],
    )
    main = Subgraph(
        [f32(3), handle, f32(3), f32(3), f32(3)],
        [
            Operator("CALL_ONCE", [], [], {"init_subgraph_index": 1}, "CallOnce"),
            Operator("VAR_HANDLE", [], [1], name, "VarHandle"),
            Operator("READ_VARIABLE", [1], [2]),
            Operator("ADD", [0, 2], [3], {}, "Add"),
            Operator("ASSIGN_VARIABLE", [1, 3], []),
            Operator("READ_VARIABLE", [1], [4]),
        ],
        [0],
        [4],
    )
    model = written(main, start)
    agrees(model, floats(3))
    program = rx.compile(rx.from_tflite(model))["main"]
    assert [program(numpy.ones(3, "float32")).tolist() for _ in range(2)] == [[2, 3, 4]] * 2


def test_a_signature() -> None:
    model = written(_DOUBLE, _NEGATE, signatures=[("double", 0), ("negate", 1)])
    main = rx.compile(rx.from_tflite(model, signature="negate"))["main"]
    assert main(in0=numpy.ones(3, "float32")).tolist() == [-1, -1, -1]
    assert "out0" in str(rx.from_tflite(model))
    with pytest.raises(rx.RelaxError, match=r"no signature 'negat'.*did you mean 'negate'"):
        rx.from_tflite(model, signature="negat")


# ---- states ----


def test_states_are_zero_or_arguments() -> None:
    operands = [f32(2, 4), random_floats(6, 4), random_floats(6, 8), Tensor((2, 48), is_variable=True)]
    model = of_one("SVDF", operands, [f32(2, 3)], {"rank": 2}, "SVDF", missing=[3])
    steps = [floats(2, 4) for _ in range(3)]
    first = [interpreted(written(model), [each])[0] for each in steps]
    main = rx.compile(rx.from_tflite(written(model)))["main"]
    for step, expected in zip(steps, first, strict=True):
        numpy.testing.assert_allclose(main(step), expected, rtol=1e-5, atol=1e-5)
    main = rx.compile(rx.from_tflite(written(model), keep_states=True))["main"]
    state, made = numpy.zeros((2, 48), "float32"), []
    for step in steps:
        result, state = main(step, state)
        made.append(numpy.asarray(result))
    numpy.testing.assert_allclose(made, in_a_row(written(model), steps), rtol=1e-5, atol=1e-5)


def in_a_row(model: bytes, steps: Sequence[ndarray]) -> list[ndarray]:
    """Return the results of one interpreter, call after call."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_content=model)
    interpreter.allocate_tensors()
    made = []
    for step in steps:
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], step)
        interpreter.invoke()
        made.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).copy())
    return made


# ---- dynamic sizes ----


def test_open_sizes_have_names() -> None:
    """Compute the shape [2 * n, 6] from [n, 3, 4]."""
    tensors = [
        Tensor((-1, 3, 4)), i32(3), numbers([0]), numbers([1]), i32(), numbers(2), i32(), numbers(6), i32(2),
        Tensor((-1, 6)),
    ]  # fmt: skip
    operators = [
        Operator("SHAPE", [0], [1], {"out_type": 2}, "Shape"),
        Operator("STRIDED_SLICE", [1, 2, 3, 3], [4], {"shrink_axis_mask": 1}, "StridedSlice"),
        Operator("MUL", [4, 5], [6], {}, "Mul"),
        Operator("PACK", [6, 7], [8], {"values_count": 2}, "Pack"),
        Operator("RESHAPE", [0, 8], [9]),
    ]
    model = written(Subgraph(tensors, operators, [0], [9]))
    module = rx.from_tflite(model)
    assert "2*size_0" in str(module) and "relax.multiply" not in str(module)
    main = rx.compile(module)["main"]
    for size in (1, 4):
        assert main(floats(size, 3, 4)).shape == (2 * size, 6)


def test_images_of_any_size() -> None:
    """Padding that depends on sizes."""
    options = {"stride_h": 2, "stride_w": 2, "padding": 0}
    operands = [Tensor((1, -1, -1, 2)), random_floats(3, 3, 3, 2), random_floats(3)]
    model = written(of_one("CONV_2D", operands, [Tensor((1, -1, -1, 3))], options, "Conv2D"))
    main = rx.compile(rx.from_tflite(model))["main"]
    for height, width in ((7, 8), (4, 5)):
        image = floats(1, height, width, 2)
        numpy.testing.assert_allclose(main(image), interpreted(model, [image])[0], rtol=1e-5, atol=1e-5)


# ---- weights ----


def test_weights_alone_are_quantized() -> None:
    """Quantize the weights only. The interpreter rounds the data as well."""
    kernel = weights((16, 64), 0)
    data = floats(3, 64)
    for given, options in ((kernel, {"asymmetric_quantize_inputs": True}), (weights((16, 64), None), {})):
        model = written(of_one("FULLY_CONNECTED", [f32(3, 64), given], [f32(3, 16)], options, "FullyConnected",
                               missing=[2], version=9))  # fmt: skip
        made = numpy.asarray(rx.compile(rx.from_tflite(model))["main"](data))
        numpy.testing.assert_allclose(made, interpreted(model, [data])[0], atol=0.2)
        assert given.data is not None and given.quantized is not None
        real = given.data * numpy.reshape(given.quantized.scale, (-1, 1))
        numpy.testing.assert_allclose(made, data @ real.T, rtol=1e-4, atol=1e-4)


def test_weights_of_four_bits() -> None:
    data, kernel = quantized(3, 16), RANDOM.integers(-7, 8, (5, 16)).astype("int8")
    packed = ((kernel.ravel()[0::2] & 15) | (kernel.ravel()[1::2] << 4)).astype("int8")
    narrow = Tensor((5, 16), "int8", packed, Quantized(0.1), type="INT4")
    wide = Tensor((5, 16), "int8", kernel, Quantized(0.1))
    bias = bias_of(data, wide, 5)
    made = [
        rx.compile(rx.from_tflite(written(case("FULLY_CONNECTED", [data, each, bias], quantized(3, 5)).model)))["main"]
        for each in (narrow, wide)
    ]
    given = data.drawn(RANDOM)
    assert made[0](given).tolist() == made[1](given).tolist()


def test_sparse_weights() -> None:
    """Read rows of blocks of four, of which some are stored."""
    dense = numpy.zeros((4, 8), "float32")
    dense[0, 4:], dense[2, :4], dense[3] = 1 + numpy.arange(4), 5, 7
    stored = numpy.concatenate([dense[0, 4:], dense[2, :4], dense[3]])
    model = schema.ModelT.InitFromPackedBuf(
        written(of_one("FULLY_CONNECTED", [f32(3, 8), Tensor((4, 8), "float32", stored)], [f32(3, 4)], {},
                       "FullyConnected", missing=[2], version=8)), 0)  # fmt: skip
    model.subgraphs[0].tensors[1].sparsity = _sparsity()
    data = floats(3, 8)
    packed = _packed(model)
    numpy.testing.assert_allclose(rx.compile(rx.from_tflite(packed))["main"](data), data @ dense.T, rtol=1e-5)


def _packed(model: schema.ModelT) -> bytes:
    import flatbuffers

    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


def _sparsity() -> schema.SparsityParametersT:
    made = schema.SparsityParametersT()
    made.traversalOrder, made.blockMap, made.dimMetadata = [0, 1, 2], [1], []
    for sparse, size in ((False, 4), (True, 0), (False, 4)):
        each = schema.DimensionMetadataT()
        each.format, each.denseSize = int(sparse), size
        if sparse:
            for name, values in (("arraySegments", [0, 1, 1, 2, 4]), ("arrayIndices", [1, 0, 0, 1])):
                vector = schema.Uint8VectorT()
                vector.values = values
                setattr(each, name, vector)
                setattr(each, f"{name}Type", schema.SparseIndexVector.Uint8Vector)
        made.dimMetadata.append(each)
    return made


def test_shuffled_weights() -> None:
    """Read bytes in blocks of 4 rows and 16 columns, with an inverted sign bit."""
    kernel = RANDOM.integers(0, 256, (8, 32)).astype("uint8")
    blocks = kernel.reshape(2, 4, 2, 16).transpose(0, 2, 1, 3).ravel() ^ 0x80
    scale = Quantized(0.02, 128)
    data = quantized(4, 32, dtype="uint8", scale=0.02, zero_point=128)
    plain, shuffled = (Tensor((8, 32), "uint8", each, scale) for each in (kernel, blocks))
    bias = bias_of(data, plain, 8)
    made = quantized(4, 8, dtype="int16", scale=0.001)
    options = {"weights_format": 1}
    models = [
        of_one("FULLY_CONNECTED", [data, each, bias], [made], chosen, "FullyConnected", version=2)
        for each, chosen in ((plain, {}), (shuffled, options))
    ]
    given = data.drawn(RANDOM)
    one, other = (numpy.asarray(rx.compile(rx.from_tflite(written(each)))["main"](given)) for each in models)
    assert one.tolist() == other.tolist()


# ---- complex numbers ----


def test_a_spectrum() -> None:
    """Compute a spectrum like audio models: frames with an extra dimension, which is removed before the magnitudes."""
    wave = Tensor((2, 5, 1, 5), "complex64", type="COMPLEX64")
    tensors = [f32(2, 5, 1, 12), numbers([1, 8]), wave, wave._replace(shape=(2, 5, 5)), *[f32(2, 5, 5)] * 3]
    operators = [
        Operator("RFFT2D", [0, 1], [2], {}, "Rfft2d"),
        Operator("SQUEEZE", [2], [3], {"squeeze_dims": [2]}, "Squeeze"),
        Operator("COMPLEX_ABS", [3], [4]),
        Operator("IMAG", [3], [5]),
        Operator("REAL", [3], [6]),
    ]
    frames = floats(2, 5, 1, 12)
    model = written(Subgraph(tensors, operators, [0], [4, 5, 6]))
    made = rx.compile(rx.from_tflite(model))["main"](frames)
    expected = numpy.fft.rfft(frames[:, :, 0, :8])
    for one, other in zip(made, (abs(expected), expected.imag, expected.real), strict=True):
        numpy.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    with pytest.raises(rx.RelaxError, match="which programs cannot return: return real and imaginary parts"):
        rx.from_tflite(written(Subgraph(tensors, operators, [0], [3])))


# ---- own operators ----

_OWN = of_one("TestSwish", [f32(4)], [f32(4)], custom_options=bytes(flexbuffers.Dumps({"beta": 2.0, "many": [1, 2]})))


@rx.register_tflite("TestSwish")
def swish(node: object) -> object:
    x = node.tensor(0)  # type: ignore[attr-defined]
    assert node.attr("many") == [1, 2]  # type: ignore[attr-defined]
    beta = relax.const(node.attr("beta", 1.0), "f32")  # type: ignore[attr-defined]
    assert node.attr("gamma", 3) == 3  # type: ignore[attr-defined]
    return relax.multiply(x, relax.sigmoid(relax.multiply(x, beta)))


def test_a_custom_operator() -> None:
    x = floats(4)
    made = rx.compile(rx.from_tflite(written(_OWN)))["main"](x)
    numpy.testing.assert_allclose(made, x / (1 + numpy.exp(-2 * x)), rtol=1e-5)


def test_all_unsupported_operators_are_reported_together() -> None:
    tensors = [f32(4), f32(4), f32(4), f32(4), f32(4)]
    operators = [
        Operator("TestSwich", [0], [1]),
        Operator("FlexErf", [0], [2]),
        Operator("STABLEHLO_CBRT", [1], [3]),
        Operator("HASHTABLE_SIZE", [2], [4]),
    ]
    with pytest.raises(rx.RelaxError) as raised:
        rx.from_tflite(written(Subgraph(tensors, operators, [0], [3, 4])))
    text = str(raised.value)
    assert "4 operators of the model cannot be imported" in text
    assert "did you mean 'TestSwish'" in text and '@rx.register_tflite("TestSwich")' in text
    assert "convert the model without SELECT_TF_OPS" in text and "it is a StableHLO operator" in text


# ---- tools ----


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Recognize a model on the command line by its contents."""
    path = tmp_path / "model.bin"
    path.write_bytes(written(_DOUBLE))
    assert relax_compile.run([str(path), "-o", str(tmp_path / "model.rxa")]) == 0
    assert rx.runtime.load(str(tmp_path / "model.rxa"))["main"](numpy.ones(3, "float32")).tolist() == [2, 2, 2]
    assert relax_compile.run([str(path), "--check"]) == 0
    path.write_bytes(written(of_one("NoSuch", [f32(2)], [f32(2)])))
    capsys.readouterr()
    assert relax_compile.run([str(path), "--check"]) == 1
    assert "NoSuch" in capsys.readouterr().out
    assert relax_compile.run(["--list-tflite-operators"]) == 0
    assert "CONV_2D" in capsys.readouterr().out


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tflite", None)
    with pytest.raises(rx.RelaxError, match=r"needs the package tflite: pip install 'relax-mlir\[tflite\]'"):
        rx.from_tflite(MODELS / "mobilenet.tflite")
