# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes that a model computes from shapes stay functions of dimensions, in the form that exporters write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
import onnx
import pytest
from against_onnxruntime import Compared
from onnx import TensorProto, helper, numpy_helper
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.symbols import parse

import relax_mlir as rx

Nodes = Sequence[Any]


def _node(op: str, inputs: str, output: str, **attributes: Any) -> Any:
    return helper.make_node(op, inputs.split(), output.split(), **attributes)


def _model(nodes: Nodes, constants: dict[str, Any], outputs: str = "y", dims: Sequence[Any] = ("n", 3, "m")) -> Any:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)
    held = [numpy_helper.from_array(numpy.asarray(value), name) for name, value in constants.items()]
    results = [onnx.ValueInfoProto(name=name) for name in outputs.split()]
    graph = helper.make_graph(nodes, "g", [x], results, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def _shape_of_result(nodes: Nodes, constants: dict[str, Any]) -> tuple[Any, ...]:
    """Return the shape of a tensor with the sizes `s`, as its type states it."""
    module = rx.from_onnx(_model([*nodes, _node("ConstantOfShape", "s", "y")], constants))
    function = module.operation.regions[0].blocks[0].operations[0]
    return decode(function.attributes["function_type"].value.results[0]).shape


_I64 = numpy.int64
_TO_F32, _TO_I64, _TO_I32 = ({"to": kind} for kind in (TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32))
_SHAPE = _node("Shape", "x", "shape")

# Chains of operators on the sizes n, 3, m, and their results.
_CHAINS: dict[str, tuple[Nodes, dict[str, Any], list[str]]] = {
    "gather and concat": (
        [_SHAPE, _node("Gather", "shape zero", "n"), _node("Unsqueeze", "n first", "n1"),
         _node("Concat", "n1 rest", "s", axis=0)],
        {"zero": _I64(0), "first": _I64([0]), "rest": _I64([4, 5])}, ["n", "4", "5"]),
    "slice and product": (
        [_SHAPE, _node("Slice", "shape one big", "tail"), _node("ReduceProd", "tail", "s")],
        {"one": _I64([1]), "big": _I64([2**63 - 1])}, ["3*m"]),
    "smallest and largest": (
        [_SHAPE, _node("ReduceMin", "shape", "low"), _node("ReduceMax", "shape", "high"),
         _node("Concat", "low high", "s", axis=0)],
        {}, ["min(m, min(n, 3))", "max(m, max(n, 3))"]),
    "negation and remainder": (
        [_SHAPE, _node("Neg", "shape", "less"), _node("Sub", "two less", "more"), _node("Mod", "more four", "s")],
        {"two": _I64([2]), "four": _I64([4])}, ["(n + 2)%4", "1", "(m + 2)%4"]),
    "int32": (
        [_SHAPE, _node("Cast", "shape", "narrow", **_TO_I32), _node("Mul", "narrow two", "twice"),
         _node("Cast", "twice", "s", **_TO_I64)],
        {"two": numpy.int32([2])}, ["2*n", "6", "2*m"]),
    "floats up": (
        [_SHAPE, _node("Cast", "shape", "floats", **_TO_F32), _node("Mul", "floats scale", "scaled"),
         _node("Floor", "scaled", "whole"), _node("Cast", "whole", "s", **_TO_I64)],
        {"scale": numpy.float32([1, 1, 2.5])}, ["n", "3", "5*m//2"]),
    "floats down": (
        [_SHAPE, _node("Cast", "shape", "floats", **_TO_F32), _node("Div", "floats three", "less"),
         _node("Ceil", "less", "whole"), _node("Cast", "whole", "s", **_TO_I64)],
        {"three": numpy.float32([3])}, ["ceildiv(n, 3)", "1", "ceildiv(m, 3)"]),
    "written to": (
        [_SHAPE, _node("ScatterND", "shape one five", "s")],
        {"one": _I64([[1]]), "five": _I64([5])}, ["n", "5", "m"]),
    "placeholders": (
        [_SHAPE, _node("Equal", "asked minus", "open"), _node("Where", "open shape asked", "s")],
        {"asked": _I64([-1, 7, -1]), "minus": _I64(-1)}, ["n", "7", "m"]),
    "truth": (
        [_SHAPE, _node("GreaterOrEqual", "shape zero", "yes"), _node("Not", "yes", "no"),
         _node("Or", "yes no", "any"), _node("And", "any yes", "all"), _node("Where", "all shape zero", "s")],
        {"zero": _I64(0)}, ["n", "3", "m"]),
    "expanded and tiled": (
        [_SHAPE, _node("Gather", "shape last", "m"), _node("Expand", "m two", "mm"), _node("Tile", "mm two", "s")],
        {"last": _I64([-1]), "two": _I64([2])}, ["m", "m", "m", "m"]),
    "split": (
        [_SHAPE, _node("Split", "shape", "a b c", num_outputs=3), _node("Concat", "c a", "s", axis=0)],
        {}, ["m", "n"]),
    "reversed pairs": (
        [_SHAPE, _node("Reshape", "shape column", "pairs"), _node("Transpose", "pairs", "row"),
         _node("Squeeze", "row zero", "flat"), _node("Slice", "flat last least zero back", "s")],
        {"column": _I64([-1, 1]), "zero": _I64([0]), "last": _I64([-1]), "least": _I64([-(2**63) + 1]),
         "back": _I64([-1])}, ["m", "3", "n"]),
}  # fmt: skip


@pytest.mark.parametrize("name", list(_CHAINS))
def test_sizes_stay_symbolic(name: str) -> None:
    nodes, constants, sizes = _CHAINS[name]
    assert _shape_of_result(nodes, constants) == tuple(parse(size) for size in sizes)


def _run(nodes: Nodes, constants: dict[str, Any], *arrays: Any) -> list[Any]:
    """Return the results of one compiled model for each array."""
    prepared = rx.OnnxBackend.prepare(_model(nodes, constants))
    return [prepared.run([array])[0] for array in arrays]


def _two_sizes() -> list[Any]:
    return [numpy.random.default_rng(0).random(shape, "float32") for shape in ((2, 3, 4), (5, 3, 1))]


_REFERENCES: dict[str, tuple[Nodes, dict[str, Any], Callable[[Any], Any]]] = {
    "heads": (
        [_SHAPE, _node("Gather", "shape zero", "n"), _node("Unsqueeze", "n first", "n1"),
         _node("Concat", "n1 rest", "s", axis=0), _node("Reshape", "x s", "r"),
         _node("Transpose", "r", "y", perm=[1, 0, 2])],
        {"zero": _I64(0), "first": _I64([0]), "rest": _I64([-1, 3])},
        lambda x: x.reshape(x.shape[0], -1, 3).transpose(1, 0, 2)),
    "upsampled": (
        [_SHAPE, _node("Cast", "shape", "floats", **_TO_F32), _node("Mul", "floats scale", "scaled"),
         _node("Cast", "scaled", "s", **_TO_I64), _node("ConstantOfShape", "s", "y")],
        {"scale": numpy.float32([1, 1.5, 0.25])},
        lambda x: numpy.zeros((x.shape[0], 4, x.shape[2] // 4), "float32")),
    "causal slice": (
        [_SHAPE, _node("Gather", "shape last", "m"), _node("Slice", "table zero m first", "some"),
         _node("Add", "x some", "y")],
        {"last": _I64([2]), "zero": _I64([0]), "first": _I64([1]), "table": numpy.arange(8, dtype="f").reshape(1, 8)},
        lambda x: x + numpy.arange(8, dtype="f")[: x.shape[2]]),
    "sizes less one, as a tensor": (
        [_SHAPE, _node("Concat", "minus shape", "c", axis=0), _node("Cast", "c", "y", **_TO_F32)],
        {"minus": _I64([-1])}, lambda x: numpy.float32([-1, *x.shape])),
    "ratios, as a tensor": (
        [_SHAPE, _node("Cast", "shape", "floats", **_TO_F32), _node("Div", "floats three", "y")],
        {"three": numpy.float32([3])}, lambda x: numpy.float32(x.shape) / numpy.float32(3)),
}  # fmt: skip


@pytest.mark.parametrize("name", list(_REFERENCES))
def test_one_compilation_serves_two_sizes(name: str) -> None:
    nodes, constants, reference = _REFERENCES[name]
    arrays = _two_sizes()
    for found, array in zip(_run(nodes, constants, *arrays), arrays, strict=True):
        numpy.testing.assert_allclose(found, reference(array), rtol=1e-6)
        assert found.dtype == reference(array).dtype


def test_overflowing_and_inexact_constants_are_not_folded() -> None:
    nodes = [_node("Mul", "big big", "y"), _node("Add", "tenth tenth", "z")]
    constants = {"big": numpy.uint8([200]), "tenth": numpy.float32([0.1])}
    prepared = rx.OnnxBackend.prepare(_model(nodes, constants, "y z"))
    y, z = prepared.run([_two_sizes()[0]])
    assert y.dtype == "uint8" and y[0] == 200 * 200 % 256
    assert z[0] == numpy.float32(0.1) + numpy.float32(0.1)


def test_maximum_of_one_and_of_three() -> None:
    nodes = [
        _SHAPE,
        _node("Max", "shape", "one"),
        _node("Max", "one two five", "s"),
        _node("ConstantOfShape", "s", "y"),
    ]
    (found,) = _run(nodes, {"two": _I64([2]), "five": _I64([5, 1, 1])}, _two_sizes()[1])
    assert found.shape == (5, 3, 2)


def test_cached_attention_as_exported() -> None:
    """Import a causal mask of ranges over the cached and the new size, which stay symbols throughout."""
    nodes = [
        _node("Concat", "past x", "all", axis=1),
        _node("Transpose", "all", "turned", perm=[0, 2, 1]),
        _node("MatMul", "x turned", "scores"),
        _node("Shape", "past", "p1", start=1, end=2), _node("Squeeze", "p1", "p"),
        _node("Shape", "all", "shape"), _node("Gather", "shape one", "t"),
        _node("Range", "zero t step", "columns"), _node("Range", "p t step", "numbers"),
        _node("Unsqueeze", "numbers axis", "rows"),
        _node("LessOrEqual", "columns rows", "seen"),
        _node("Shape", "scores", "scored"), _node("Expand", "seen scored", "mask"),
        _node("Where", "mask scores low", "masked"),
        _node("Softmax", "masked", "weights"),
        _node("MatMul", "weights all", "mixed"),
        _node("Shape", "x", "own"), _node("Slice", "own zero1 axis", "batch"),
        _node("Concat", "batch rest", "flat", axis=0), _node("Reshape", "mixed flat", "y"),
    ]  # fmt: skip
    constants = {
        "zero": _I64(0), "step": _I64(1), "one": _I64(1), "axis": _I64([1]), "zero1": _I64([0]),
        "rest": _I64([-1, 2, 3]), "low": numpy.float32(-1e9),
    }  # fmt: skip
    model = _model(nodes, constants, dims=("b", "s", 6))
    model.graph.input.append(helper.make_tensor_value_info("past", TensorProto.FLOAT, ("b", "p", 6)))
    compared = Compared(model)
    random = numpy.random.default_rng(0)
    for batch, new, past in ((1, 1, 3), (2, 4, 0), (2, 3, 2)):
        compared(random.random((batch, new, 6), "float32"), random.random((batch, past, 6), "float32"))


_FOUND = [_node("NonZero", "x", "places"), _node("Shape", "places", "shape")]


@pytest.mark.parametrize(
    ("pick", "constants"),
    [
        (_node("Gather", "shape place", "s"), {"place": _I64([1])}),
        (_node("Slice", "shape start end", "s"), {"start": _I64([-1]), "end": _I64([2])}),
        (_node("Mul", "shape alone", "s"), {"alone": _I64([0, 2])}),
    ],
)
def test_a_size_that_only_the_run_tells_gets_a_name(pick: Any, constants: dict[str, Any]) -> None:
    """Name the number of NonZero's columns, which is that of the non-zero elements."""
    names = {name for size in _shape_of_result([*_FOUND, pick], constants) for name in getattr(size, "variables", ())}
    assert len(names) == 1, "the number of columns is not known by one name"


def test_shapes_of_such_sizes_are_not_computed_as_tensors() -> None:
    """Import an exporter's flattening of NonZero's result, and an Expand to it, each with the -1 for a dynamic size."""
    nodes = [
        *_FOUND, _node("Gather", "shape one", "count"), _node("Concat", "count minus", "rows", axis=0),
        _node("Transpose", "places", "points", perm=[1, 0]), _node("Reshape", "points rows", "flat"),
        _node("Shape", "flat", "wanted"), _node("Expand", "zero wanted", "y"),
    ]  # fmt: skip
    constants = {"one": _I64([1]), "minus": _I64([-1]), "zero": _I64([[0]])}
    model = _model(nodes, constants)
    text = str(rx.from_onnx(model))
    assert not [op for op in ("shape_of", "shape_to_tensor", "tensor_to_shape") if f"relax.{op}" in text], text
    compared = Compared(model)
    compared((numpy.arange(24, dtype="float32") % 5).reshape(2, 3, 4))
    compared(numpy.eye(3, dtype="float32").reshape(1, 3, 3))


def test_a_name_of_the_model_is_not_taken() -> None:
    """Keep an input's name of a size that looks like a generated name."""
    nodes = [*_FOUND, _node("Gather", "shape one", "s")]
    model = _model([*nodes, _node("ConstantOfShape", "s", "y")], {"one": _I64([1])}, dims=("size_0", 3, "size_1"))
    compared = Compared(model)
    compared((numpy.arange(24, dtype="float32") % 5).reshape(2, 3, 4))


@pytest.mark.parametrize("op", ("Div", "Mod"))
def test_a_division_by_zero_is_left_to_the_run(op: str) -> None:
    rx.from_onnx(_model([_SHAPE, _node(op, "shape zero", "y")], {"zero": numpy.array([1, 0, 1])}))


def test_an_index_behind_the_end_is_left_to_the_run() -> None:
    """Leave the index to the run, which refuses it."""
    nodes = [_SHAPE, _node("Gather", "shape place", "y")]
    main = rx.compile(rx.from_onnx(_model(nodes, {"place": _I64([3])})))["main"]
    with pytest.raises(IndexError, match="index 3 is out of range"):
        main(numpy.zeros((1, 3, 1), "float32"))


def test_negative_numbers_are_cut_towards_zero() -> None:
    """Divide integers, and cast floats to integers, at run time and for each pair of signs."""
    nodes = [
        _node("Div", "left right", "quotient"), _node("Mod", "left right", "rest"),
        _node("Cast", "real", "cut", **_TO_I64), _node("Abs", "left", "size"),
        _node("Concat", "quotient rest cut size", "y", axis=0),
    ]  # fmt: skip
    constants = {
        "left": _I64([-7, 7, -7, 7, -6]), "right": _I64([2, -2, -2, 2, 3]),
        "real": numpy.float32([-1.5, 1.5, -2.0, -0.25, 7.75]),
    }  # fmt: skip
    model = _model(nodes, constants)
    x = numpy.zeros((1, 3, 1), "float32")
    compared = Compared(model)
    found = compared(x)[0].tolist()
    assert found == [-3, -3, 3, 3, -2, 1, -1, -1, 1, 0, -1, 1, -2, 0, 7, 7, 7, 7, 7, 6]
    assert "arith.constant" in str(rx.from_onnx(model)) and "relax.divide" not in str(rx.from_onnx(model))


def test_quotients_that_are_rounded_are_not_taken_back() -> None:
    """Keep floor(n / 7 * 7) of floats, which is 30 for n = 31, unlike a size."""
    nodes = [
        _SHAPE, _node("Gather", "shape zero", "n"), _node("Cast", "n", "real", **_TO_F32),
        _node("Div", "real seven", "part"), _node("Mul", "part seven", "again"),
        _node("Floor", "again", "whole"), _node("Cast", "whole", "y", **_TO_I64),
    ]  # fmt: skip
    compared = Compared(_model(nodes, {"zero": _I64([0]), "seven": numpy.float32(7)}))
    assert [compared(numpy.zeros((n, 3, 1), "float32"))[0].tolist() for n in (30, 31, 62)] == [[30], [30], [61]]


def test_a_range_is_known_when_it_has_few_numbers() -> None:
    """Know short ranges anywhere, such as 1000 to 1006, and leave -1000 to 1000 to the run."""
    ends = {"start": _I64(1000), "stop": _I64(1006), "step": _I64(2)}
    shape = _shape_of_result([_node("Range", "start stop step", "s")], ends)
    assert shape == (1000, 1002, 1004), "three numbers were left to the run"
    ends = {"start": _I64(-1000), "stop": _I64(1000), "step": _I64(1)}
    text = str(rx.from_onnx(_model([_node("Range", "start stop step", "y")], ends)))
    assert "relax.arange" in text, "2000 numbers were written into the module"
