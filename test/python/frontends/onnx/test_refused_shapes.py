# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs with impossible ranks and sizes: errors with the input's name in ONNX and in the model."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from onnx import TensorProto, helper, numpy_helper
from test_bad_models import message, model, node, tensor_info

FLOAT, INT64, BOOL, UINT8, INT32 = (
    TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.UINT8, TensorProto.INT32
)  # fmt: skip
OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
LSTM = {"x": (5, 2, 4), "w": (1, 12, 4), "r": (1, 12, 3)}


@pytest.mark.parametrize(
    ("op", "shapes", "expected"),
    [
        ("LSTM", LSTM | {"x": (5, 4)}, "X (input 'x', f32 [5, 4]) must be 3-D: [steps, batch, input]"),
        ("LSTM", LSTM | {"w": (12, 4)}, "W (input 'w', f32 [12, 4]) must be [1, 12, 4]"),
        ("LSTM", LSTM | {"w": (1, 12, 7)}, "W (input 'w', f32 [1, 12, 7]) must be [1, 12, 4]"),
        ("LSTM", LSTM | {"r": (12, 3)}, "R (input 'r', f32 [12, 3]) must be 3-D: [directions, gates * hidden, hidden]"),
        ("LSTM", LSTM | {"r": (1, 9, 3)}, "R (input 'r', f32 [1, 9, 3]) must be [1, 12, 3]"),
        ("LSTM", LSTM | {"b": (24,)}, "B (input 'b', f32 [24]) must be [1, 24]"),
        ("LSTM", LSTM | {"b": (1, 20)}, "B (input 'b', f32 [1, 20]) must be [1, 24]"),
        ("LSTM", LSTM | {"": (), "s": (2, 1)}, "sequence_lens (input 's', i32 [2, 1]) must be [2]"),
        ("LSTM", LSTM | {"": (), " ": (), "h": (2, 3)}, "initial_h (input 'h', f32 [2, 3]) must be [1, 2, 3]"),
        ("LSTM", LSTM | {"": (), " ": (), "h": (1, 7, 3)}, "initial_h (input 'h', f32 [1, 7, 3]) must be [1, 2, 3]"),
        ("GRU", {"x": (5, 2, 4), "w": (1, 12, 4), "r": (1, 9, 3)}, "W (input 'w', f32 [1, 12, 4]) must be [1, 9, 4]"),
        ("RNN", {"x": (5, 2, 4), "w": (1, 3, 4), "r": (2, 3, 3)}, "R (input 'r', f32 [2, 3, 3]) must be [1, 3, 3]"),
    ],
)
def test_recurrent_nodes(op: str, shapes: dict[str, tuple[int, ...]], expected: str) -> None:
    infos = [
        tensor_info(name, shape, INT32 if name == "s" else FLOAT) for name, shape in shapes.items() if name.strip()
    ]
    names = [name.strip() for name in shapes]
    text = message(model([helper.make_node(op, names, ["y"], hidden_size=3)], infos, opset_imports=OPSETS))
    assert expected in text


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_symbolic_batch_is_checked_when_the_model_runs(dtype: str) -> None:
    import relax_mlir as rx

    type_ = FLOAT if dtype == "float32" else TensorProto.DOUBLE
    shapes: dict[str, Any] = {"x": (5, "n", 4), "w": (1, 12, 4), "r": (1, 12, 3), "h": (1, "m", 3)}
    infos = [tensor_info(name, shape, type_) for name, shape in shapes.items()]
    lstm = helper.make_node("LSTM", ["x", "w", "r", "", "", "h"], ["y"], hidden_size=3)
    assert "relax.matmul" in str(rx.from_onnx(model([lstm], infos, opset_imports=OPSETS)))


def body(nodes: list[Any], condition: int = BOOL, state: int = FLOAT) -> Any:
    infos = [tensor_info("i", (), INT64), tensor_info("c", (), BOOL), tensor_info("s", (4,))]
    results = [helper.make_tensor_value_info("c2", condition, None), helper.make_tensor_value_info("s2", state, None)]
    return helper.make_graph(nodes, "body", infos, results)


LOOPS = {
    "state 'x' goes into its body as f32 [4] and comes out as f32 [1, 4]": (
        [node("Identity", "c", "c2"), node("Unsqueeze", "s axes", "s2")], ()),
    "state 'x' goes into its body as f32 [4] and comes out as i64 [4]": (
        [node("Identity", "c", "c2"), node("Cast", "s", "s2", to=INT64)], ()),
    "the condition that its body gives must be a scalar, got i1 [4]": (
        [node("Greater", "s s", "c2"), node("Identity", "s", "s2")], ()),
    "the trip count must be a scalar, got i64 [2]": (
        [node("Identity", "c", "c2"), node("Identity", "s", "s2")], (2,)),
}  # fmt: skip


@pytest.mark.parametrize("expected", LOOPS)
def test_loops(expected: str) -> None:
    nodes, count = LOOPS[expected]
    infos = [tensor_info("x", (4,)), tensor_info("m", count, INT64), tensor_info("k", (), BOOL)]
    axes = numpy_helper.from_array(numpy.array([0]), "axes")
    loop = node("Loop", "m k x", body=body(nodes))
    assert expected in message(model([loop], infos, initializers=[axes], opset_imports=OPSETS))


def test_a_scan_input_without_axes() -> None:
    turn = helper.make_graph(
        [node("Identity", "s", "t")], "body", [tensor_info("s", ())], [helper.make_tensor_value_info("t", FLOAT, None)]
    )
    text = message(model([node("Scan", body=turn, num_scan_inputs=1)], [tensor_info("x", ())], opset_imports=OPSETS))
    assert "a scan input is f32 []: it has no axis to be scanned along" in text and "internal" not in text


@pytest.mark.parametrize(("shape", "dtype"), [((5,), INT32), ((2, 3, 1), INT32), ((7, 3), INT32), ((3,), FLOAT)])
def test_biases_of_products(shape: tuple[int, ...], dtype: int) -> None:
    sizes: dict[str, tuple[int, ...]] = {"a": (2, 4), "sa": (), "za": (), "b": (4, 3), "sb": (), "zb": ()}
    infos = [tensor_info(name, size, FLOAT if name in ("sa", "sb") else UINT8) for name, size in sizes.items()]
    infos.append(tensor_info("c", shape, dtype))
    product = node("QGemm", " ".join([*sizes, "c"]), domain="com.microsoft")
    shown = f"{'i32' if dtype == INT32 else 'f32'} {list(shape)}"
    expected = f"the bias (input 'c', {shown}) cannot be added to the product, i32 [2, 3]"
    assert expected in message(model([product], infos, opset_imports=OPSETS))


@pytest.mark.parametrize(("op", "left", "right"), [("Gemm", (2, 4), (4, 3)), ("Conv", (1, 3, 8, 8), (4, 3, 3, 3))])
def test_biases(op: str, left: Any, right: Any) -> None:
    infos = [tensor_info("a", left), tensor_info("b", right), tensor_info("c", (5,))]
    text = message(model([node(op, "a b c")], infos, opset_imports=OPSETS))
    assert "the bias (input 'c', f32 [5]) cannot be added to the product, f32 [" in text


def test_contradictory_sizes_are_refused() -> None:
    source = model([node("Add", "a b")], [tensor_info("a", ("n", 4)), tensor_info("b", ("n", 4))])
    text = message(source, shapes={"a": (2, 4), "b": (3, 4)})
    expected = "in the model 'n' is one size, and it is asked for as 2 (input 'a', dimension 0) and as 3 (input 'b', "
    assert expected in text
    assert "is one size" not in message(source, shapes={"a": (2, 4), "b": (2, 5)})
