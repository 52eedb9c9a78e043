# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that move elements: dynamic sizes and lists of sizes, and old versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import node_suite
import numpy
import onnx
import pytest
from compiling import array
from node_suite import Case
from onnx import helper, numpy_helper

import relax_mlir as rx

# Inputs that list sizes, axes or bounds; models have them as constants as well as from the run.
_LISTS: dict[str, Sequence[int]] = {
    "CenterCropPad": [1], "Compress": [], "Concat": [], "ConstantOfShape": [0], "DepthToSpace": [], "Expand": [1],
    "EyeLike": [], "Flatten": [], "Gather": [], "GatherElements": [], "GatherND": [], "NonZero": [], "OneHot": [1],
    "Pad": [1, 2, 3], "Range": [0, 1, 2], "Reshape": [1], "ReverseSequence": [], "ScatterElements": [],
    "ScatterND": [], "Shape": [], "Size": [], "Slice": [1, 2, 3, 4], "SpaceToDepth": [], "Split": [1],
    "Squeeze": [1], "TensorScatter": [], "Tile": [1], "TopK": [1], "Transpose": [], "Trilu": [1], "Unique": [],
    "Unsqueeze": [1],
}  # fmt: skip
_EVERY = 5


def _cases() -> list[Case]:
    return [case for case in node_suite.cases(*_LISTS) if len(case.model.graph.node) == 1][::_EVERY]


@pytest.mark.parametrize("are_lists_known", [False, True], ids=["lists of the run", "constant lists"])
@pytest.mark.parametrize("case", _cases(), ids=lambda case: case.name)
def test_with_symbolic_sizes(case: Case, are_lists_known: bool) -> None:
    node, given = case.model.graph.node[0], dict(zip(_input_names(case.model), case.inputs, strict=True))
    lists = {node.input[index] for index in _LISTS[node.op_type] if index < len(node.input)} & given.keys()
    model = _with_constants(case.model, {name: given[name] for name in lists}) if are_lists_known else case.model
    shapes: dict[str, Any] = {name: (None,) * array.ndim for name, array in given.items() if name not in lists}
    if node.op_type in ("GatherND", "ScatterND"):  # how long a place is must be known
        shapes[node.input[1]] = (*shapes[node.input[1]][:-1], given[node.input[1]].shape[-1])
    prepared = rx.OnnxBackend.prepare(model, shapes=shapes)
    node_suite.compare(list(prepared.run([given[name] for name in _input_names(model)])), case)


def test_space_to_depth_and_back() -> None:
    found = node_suite.cases("SpaceToDepth", "DepthToSpace")
    assert len(found) >= 5
    for case in found:
        node_suite.check(case)


def _input_names(model: onnx.ModelProto) -> list[str]:
    return [each.name for each in model.graph.input]


def _with_constants(model: onnx.ModelProto, constants: dict[str, Any]) -> onnx.ModelProto:
    """Return the model with constants for some inputs."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    kept = [each for each in changed.graph.input if each.name not in constants]
    del changed.graph.input[:]
    changed.graph.input.extend(kept)
    changed.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    return changed


# ---- old versions ----

_X = numpy.arange(24, dtype="float32").reshape(2, 3, 4)
_I64 = numpy.int64

# operator, version, inputs, attributes, outputs
_OLD: list[tuple[str, int, list[Any], dict[str, Any], list[Any]]] = [
    ("Reshape", 1, [_X], {"shape": [0, -1]}, [_X.reshape(2, 12)]),
    ("Slice", 1, [_X], {"starts": [1, -2], "ends": [9, 2**31 - 1], "axes": [0, 2]}, [_X[1:, :, -2:]]),
    ("Slice", 9, [_X], {"starts": [0, 1], "ends": [1, -1]}, [_X[:1, 1:-1]]),
    ("Pad", 1, [_X], {"paddings": [0, 1, 0, 0, 0, 2], "value": 5.0},
     [numpy.pad(_X, ((0, 0), (1, 0), (0, 2)), constant_values=5)]),
    ("Pad", 2, [_X], {"pads": [0, 1, 1, 0, 1, 2], "mode": "reflect"},
     [numpy.pad(_X, ((0, 0), (1, 1), (1, 2)), mode="reflect")]),
    ("Split", 1, [_X, _I64([1, 3])], {"axis": 2}, [_X[..., :1], _X[..., 1:]]),
    ("Split", 2, [_X], {"axis": 1, "split": [1, 2]}, [_X[:, :1], _X[:, 1:]]),
    ("Tile", 1, [_X, _I64(3), _I64(1)], {}, [numpy.tile(_X, (1, 3, 1))]),
    ("Concat", 1, [_X, _X], {}, [numpy.concatenate([_X, _X], 1)]),
    ("Squeeze", 1, [_X[:1]], {"axes": [0]}, [_X[0]]),
    ("Squeeze", 11, [_X[:1]], {}, [_X[0]]),
    ("Unsqueeze", 1, [_X], {"axes": [0, 2]}, [_X[None, :, None]]),
    ("Unsqueeze", 11, [_X], {"axes": [-1]}, [_X[..., None]]),
    ("TopK", 1, [_X], {"k": 2}, [_X[..., :1:-1], numpy.broadcast_to(_I64([3, 2]), (2, 3, 2))]),
    ("TopK", 10, [_X, _I64([1])], {"axis": 1}, [_X[:, 2:], numpy.full((2, 1, 4), 2)]),
    ("Scatter", 9, [_X[0], _I64([[2, 0, 1, 1]]), -_X[0, :1] - 1], {},
     [numpy.array([[0, -2, 2, 3], [4, 5, -3, -4], [-1, 9, 10, 11]], "float32")]),
    ("OneHot", 9, [_I64([0, -1, 7]), _I64(3), numpy.float32([2, 5])], {"axis": 0},
     [numpy.float32([[5, 2, 2], [2, 2, 2], [2, 5, 2]])]),
    ("OneHot", 11, [_I64([0, 2]), numpy.float32(3), numpy.float32([0, 1])], {},
     [numpy.float32([[1, 0, 0], [0, 0, 1]])]),
    ("Flatten", 1, [_X], {"axis": 0}, [_X.reshape(1, 24)]),
    ("DepthToSpace", 1, [_X.reshape(1, 4, 2, 3)], {"blocksize": 2},
     [_X.reshape(2, 2, 2, 3).transpose(2, 0, 3, 1).reshape(1, 1, 4, 6)]),
    ("Gather", 1, [_X, _I64([[1]])], {"axis": 2}, [_X[..., [[1]]]]),
]  # fmt: skip


@pytest.mark.parametrize("case", _OLD, ids=lambda case: f"{case[0]}-{case[1]}-{'-'.join(case[3])}")
@pytest.mark.parametrize("are_lists_known", [False, True], ids=["inputs", "constants"])
def test_old_version(case: tuple[str, int, list[Any], dict[str, Any], list[Any]], are_lists_known: bool) -> None:
    op, version, arrays, attributes, expected = case
    if op == "Tile" and not are_lists_known:
        pytest.skip("Tile's axis, an input before version 6, must be a constant")
    names = [f"x{index}" for index in range(len(arrays))]
    results = [f"y{index}" for index in range(len(expected))]
    model = _one_node(
        helper.make_node(op, names, results, **attributes), version, dict(zip(names, arrays, strict=True))
    )
    if are_lists_known:
        model = _with_constants(model, dict(zip(names[1:], arrays[1:], strict=True)))
        arrays = arrays[:1]
    found = rx.OnnxBackend.prepare(model).run(arrays)
    for one, other in zip(found, expected, strict=True):
        numpy.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


def _one_node(node: Any, version: int, arrays: dict[str, Any]) -> onnx.ModelProto:
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in arrays.items()
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output]
    graph = helper.make_graph([node], "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)])


# ---- sizes that depend on elements ----


def _prepared(nodes: Sequence[Any], dims: Sequence[Any], constants: dict[str, Any], **shapes: Any) -> Any:
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, dims)
    held = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", [x], [onnx.ValueInfoProto(name="y")], held)
    return rx.OnnxBackend.prepare(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), shapes=shapes)


def test_operators_on_a_tensor_whose_size_depends_on_elements() -> None:
    """Reshape, split, pad, repeat, flatten and slice the n places of non-zero elements."""
    nodes = [
        helper.make_node("NonZero", ["x"], ["places"]),
        helper.make_node("Transpose", ["places"], ["rows"]),
        helper.make_node("Pad", ["rows", "pads", "seven"], ["padded"]),
        helper.make_node("Reshape", ["padded", "three"], ["three_d"]),
        helper.make_node("Tile", ["three_d", "repeats"], ["tiled"]),
        helper.make_node("Flatten", ["tiled"], ["flat"], axis=2),
        helper.make_node("Slice", ["flat", "one", "big"], ["cut"]),
        helper.make_node("Split", ["cut"], ["first", "second"], axis=0, num_outputs=2),
        helper.make_node("Concat", ["second", "first"], ["y"], axis=0),
    ]
    constants = {
        "pads": _I64([1, 0, 0, 0]), "seven": _I64(7), "three": _I64([-1, 1, 2]), "repeats": _I64([2, 1, 1]),
        "one": _I64([1]), "big": _I64([2**63 - 1]),
    }  # fmt: skip
    prepared = _prepared(nodes, ("n", 4), constants)
    for x in (numpy.eye(3, 4, dtype="float32"), numpy.ones((2, 4), "float32")):
        rows = numpy.pad(numpy.argwhere(x), ((1, 0), (0, 0)), constant_values=7)
        cut = numpy.tile(rows.reshape(-1, 1, 2), (2, 1, 1)).reshape(-1, 2)[1:]
        half = -(-len(cut) // 2)
        numpy.testing.assert_array_equal(prepared.run([x])[0], numpy.concatenate([cut[half:], cut[:half]]))


@pytest.mark.parametrize("is_first", [True, False])
def test_expand_may_give_an_empty_tensor(is_first: bool) -> None:
    """Expand a size of 1, also to 0: the type says `n`."""
    nodes = [helper.make_node("Shape", ["x"], ["s"])]
    if is_first:
        nodes.append(helper.make_node("Expand", ["one", "s"], ["y"]))
        constants = {"one": numpy.float32([[5, 6]])}
    else:
        nodes.append(helper.make_node("Expand", ["x", "one"], ["y"]))
        constants = {"one": _I64([1, 2])}
    prepared = _prepared(nodes, ("n", 2), constants)
    for count in (0, 1, 3):
        x = numpy.arange(2 * count, dtype="float32").reshape(count, 2)
        expected = numpy.broadcast_to(constants["one"], (count, 2)) if is_first else x
        numpy.testing.assert_array_equal(prepared.run([x])[0], expected, strict=True)


def test_a_reshape_to_sizes_of_the_run_is_more_than_a_type() -> None:
    """Both types are ?x?, but the shapes differ."""
    nodes = [
        helper.make_node("Cast", ["x"], ["numbers"], to=onnx.TensorProto.INT64),
        helper.make_node("ReduceMax", ["numbers"], ["s"], axes=[0], keepdims=0),
        helper.make_node("Reshape", ["x", "s"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ("n", 2))],
        [onnx.ValueInfoProto(name="y")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    x = numpy.float32([[1, 1], [2, 1], [2, 3]])
    numpy.testing.assert_array_equal(rx.OnnxBackend.prepare(model).run([x])[0], x.reshape(2, 3))


def test_squeezed_without_axes() -> None:
    """Remove dimensions that are always 1. A dynamic one would change the rank."""
    prepared = _prepared([helper.make_node("Squeeze", ["x"], ["y"])], ("n", 1, "m", 1), {})
    x = numpy.arange(6, dtype="float32").reshape(2, 1, 3, 1)
    numpy.testing.assert_array_equal(prepared.run([x])[0], x[:, 0, :, 0])
    with pytest.raises(
        AssertionError, match=r"dimensions of unknown size .here 0, 2., but one of them is 1: state the"
    ):
        prepared.run([x[:1]])


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (helper.make_node("Flatten", ["x"], ["y"], axis=3), "axis 3 is out of range for 2 dimensions"),
        (helper.make_node("Split", ["x"], ["y", "z"], num_outputs=3), "there are 3 parts, but 2 outputs"),
        (helper.make_node("Pad", ["x", "pads"], ["y"], mode="mirror"), "must be one of constant, reflect, edge, wrap"),
        (helper.make_node("Slice", ["x", "one", "pads"], ["y"]), "must have the same length"),
        (helper.make_node("Reshape", ["x", "zeros"], ["y"]), "copies a size that the data does not have"),
    ],
    ids=lambda value: value.op_type if isinstance(value, onnx.NodeProto) else "",
)
def test_refusal(node: Any, words: str) -> None:
    constants = {"pads": _I64([0, 0, 1, 1]), "one": _I64([1]), "zeros": _I64([0, 0, 0])}
    with pytest.raises(rx.RelaxError, match=words):
        _prepared([node], ("n", "m"), constants)


@pytest.mark.parametrize("symbolic", [False, True])
def test_conditions_shorter_and_longer_than_the_data(symbolic: bool) -> None:
    """Select nothing after the end of a shorter condition, and no missing element for a longer condition."""
    x = numpy.arange(12, dtype="float32").reshape(3, 4)
    for attributes, data in (({}, x.ravel()), ({"axis": 0}, x), ({"axis": -2}, x)):
        for length in (1, 2, 3, 14):
            condition = numpy.arange(length) % 2 == 1
            condition[len(data) :] = False
            sizes = (["a", "b"], ["c"]) if symbolic else (list(x.shape), [length])
            infos = [
                helper.make_tensor_value_info(name, dtype, shape)
                for name, dtype, shape in zip("xc", (1, onnx.TensorProto.BOOL), sizes, strict=True)
            ]
            node = helper.make_node("Compress", ["x", "c"], ["y"], **attributes)
            graph = helper.make_graph([node], "g", infos, [onnx.ValueInfoProto(name="y")])
            main = rx.compile(rx.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)])))[
                "main"
            ]
            numpy.testing.assert_array_equal(array(main(x, condition)), data[:length][condition[: len(data)]])
            if length > len(data):
                condition[-1] = True
                with pytest.raises(IndexError, match="index 13 is out of range for axis 0"):
                    main(x, condition)


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap", "constant"])
def test_borders_whose_widths_the_run_tells(mode: str) -> None:
    """Compare with numpy. A single element cannot be reflected, but may have empty borders."""
    infos = [
        helper.make_tensor_value_info(name, dtype, shape) for name, dtype, shape in (("x", 1, ["n"]), ("w", 7, [2]))
    ]
    node = helper.make_node("Pad", ["x", "w"], ["y"], mode=mode)
    graph = helper.make_graph([node], "g", infos, [onnx.ValueInfoProto(name="y")])
    main = rx.compile(rx.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)])))["main"]
    for size, widths in ((1, (0, 0)), (3, (2, 1)), (4, (0, 3)), (5, (0, 0))):
        x = numpy.arange(1, size + 1, dtype="float32")
        numpy.testing.assert_array_equal(array(main(x, _I64(widths))), numpy.pad(x, widths, mode))
