# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refusal of small models with very many nodes or bytes after expansion. An option raises the limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import onnx
import pytest
from against_onnxruntime import one_node
from compiling import array
from onnx import helper, parser
from relax_mlir.frontends.core.limits import Limits

import relax_mlir as rx

_OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("d", 1)]


def _function(name: str, *nodes: tuple[str, str, str]) -> Any:
    """Return a function of nodes: operator, input and output. Operators in lower case are functions."""
    made = [helper.make_node(op, [x], [y], domain="d" if op.islower() else "") for op, x, y in nodes]
    return helper.make_function("d", name, ["a"], ["b"], made, _OPSETS)


def _doubling(levels: int) -> list[Any]:
    """Return functions in which f0 calls f1 twice, and so on."""
    inner = [_function(f"f{at}", (f"f{at + 1}", "a", "t"), (f"f{at + 1}", "t", "b")) for at in range(levels)]
    return [*inner, _function(f"f{levels}", ("Neg", "a", "b"))]


def _calling(functions: list[Any], *first: Any) -> Any:
    x, y = (helper.make_tensor_value_info(name, 1, [4]) for name in "xy")
    called = helper.make_node(functions[0].name, ["u" if first else "x"], ["y"], domain="d")
    graph = helper.make_graph([*first, called], "g", [x], [y])
    return helper.make_model(graph, functions=functions, opset_imports=_OPSETS, ir_version=8)


def _message(model: Any, **limits: int) -> str:
    with pytest.raises(rx.RelaxError) as caught:
        rx.from_onnx(model, **limits)
    return str(caught.value)


def test_functions_that_call_others_twice() -> None:
    text = _message(_calling(_doubling(40)))
    assert f"has {2**41 - 1 + 2**40} nodes when its functions are expanded: at most 100000" in text
    assert "most_nodes=" in text and "--most-nodes" in text
    assert "at most 46" in _message(_calling(_doubling(4)), most_nodes=46)
    assert rx.from_onnx(_calling(_doubling(4)), most_nodes=31 + 16), "calls count, and what they become"


def test_functions_behind_a_node_that_cannot_be_imported() -> None:
    unknown = helper.make_node("Unknown", ["x"], ["u"])
    text = _message(_calling(_doubling(40), unknown))
    assert "nodes when its functions are expanded" in text


@pytest.mark.parametrize("names", [["f"], ["f", "g"], ["f", "g", "h"]])
def test_functions_that_call_themselves(names: list[str]) -> None:
    following = dict(zip(names, [*names[1:], names[0]], strict=True))
    functions = [_function(name, (other, "a", "t"), (other, "t", "b")) for name, other in following.items()]
    assert "the function calls itself" in _message(_calling(functions))


def test_loops_in_loops_that_are_unrolled() -> None:
    body = "h = Neg (v)"
    for level in range(4):
        given = f"v{level}" if level < 3 else "x"
        body = f"""n{level} = Constant <value_int = 60> ()
        h = Loop (n{level}, , {given}) <body = b{level} (int64 i{level}, bool o{level}, float[4] w{level}) =>
            (bool p{level}, float[4] h) {{ p{level} = Identity (o{level})
            {body.replace("(v)", f"(w{level})").replace(f"v{level - 1})", f"w{level})")} }}>"""
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] h) {{ {body} }}')
    text = _message(model, most_nodes=1000)
    assert "too many nodes when its functions are expanded and its loops unrolled: at most 1000" in text


def test_a_tensor_that_is_joined_with_itself_again_and_again() -> None:
    steps = [helper.make_node("Concat", [f"c{at}"] * 2, [f"c{at + 1}"], axis=0) for at in range(12)]
    x = helper.make_tensor_value_info("c0", 1, ["n"])
    graph = helper.make_graph(steps, "g", [x], [onnx.ValueInfoProto(name="c12")])
    module = rx.from_onnx(helper.make_model(graph, opset_imports=_OPSETS, ir_version=8))
    rx.Pipeline(["relax-canonicalize"]).run(module)
    joins = [line for line in str(module).splitlines() if "relax.concat" in line]
    assert len(joins) == 12 and all(line.count("%") == 3 for line in joins), "none has the parts of the one before"
    (found,) = [array(rx.compile(module)["main"](numpy.arange(3, dtype="float32")))]
    numpy.testing.assert_array_equal(found, numpy.tile(numpy.arange(3), 4096))


_TABLES = {
    "MelWeightMatrix": (
        {name: numpy.array(value) for name, value in zip("abcde", (4, 2**40, 16, 1.0, 4.0), strict=True)},
        {},
        "the weights takes",
    ),
    "STFT": ({"x": numpy.zeros((1, 2**17), "float32"), "step": numpy.array(1), "w": None, "n": numpy.array(2**16)}, {},
             "the places of its frames takes"),
    "DFT": ({"x": numpy.zeros((1, 8191 * 7, 1), "float32")}, {}, "the table of a Fourier transform takes"),
}  # fmt: skip


@pytest.mark.parametrize("op", _TABLES)
def test_tables_of_giant_size(op: str) -> None:
    inputs, attributes, reason = _TABLES[op]
    model = one_node(op, inputs, symbolic=False, opset=17, **attributes)
    for name, value in inputs.items():
        if name != "x" and value is not None:
            value = value.astype("float32") if value.dtype.kind == "f" else value
            model.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    text = _message(model)
    assert f"node 'out0' ({op}): {reason}" in text and "constants may grow by at most 1024 MiB" in text


def _svm(classes: int, rho: int) -> Any:
    numbers = {"classlabels_ints": list(range(classes)), "vectors_per_class": [1] * classes, "rho": [0.5] * rho}
    numbers |= {"coefficients": [1.0] * (classes * (classes - 1)), "support_vectors": [1.0] * classes}
    node = helper.make_node("SVMClassifier", ["x"], ["y", "z"], name="svm", domain="ai.onnx.ml", **numbers)
    x = helper.make_tensor_value_info("x", 1, [1, 1])
    graph = helper.make_graph([node], "g", [x], [onnx.ValueInfoProto(name=name) for name in "yz"])
    return helper.make_model(graph, opset_imports=[*_OPSETS, helper.make_opsetid("ai.onnx.ml", 3)], ir_version=8)


def test_pairs_of_many_classes() -> None:
    text = _message(_svm(500, 500 * 499 // 2), most_growth=100)
    assert "node 'svm' (SVMClassifier): the weights and votes of its pairs of classes takes" in text
    assert "there are vectors for 100000 of 100000 classes" in _message(_svm_without_coefficients(100_000))


def _svm_without_coefficients(classes: int) -> Any:
    """Return an SVM with too many pairs to list."""
    model = _svm(2, 1)
    for attribute in model.graph.node[0].attribute:
        if attribute.name in ("classlabels_ints", "vectors_per_class"):
            attribute.ints[:] = [1] * classes
    return model


def test_bytes_of_a_file_that_many_tensors_share(tmp_path: Path) -> None:
    numpy.arange(1 << 18, dtype="float32").tofile(tmp_path / "w.bin")
    tensors = []
    for index in range(5):
        tensor = onnx.TensorProto(name=f"w{index}", data_type=1, dims=[1 << 18], data_location=1)
        for key, value in (("location", "w.bin"), ("offset", "0"), ("length", str(1 << 20))):
            tensor.external_data.add(key=key, value=value)
        tensors.append(tensor)
    names = [tensor.name for tensor in tensors]
    graph = helper.make_graph(
        [helper.make_node("Sum", names, ["y"])], "g", [], [onnx.ValueInfoProto(name="y")], tensors
    )
    path = tmp_path / "model.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=_OPSETS, ir_version=8).SerializeToString())
    assert "tensor 'w4' takes 1048576 bytes that the model's file does not have" in _message(str(path), most_growth=3)
    assert rx.from_onnx(str(path), most_growth=4)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "many", True])
@pytest.mark.parametrize("option", ["most_nodes", "most_growth"])
def test_limits_must_be_positive_integers(option: str, wrong: Any) -> None:
    with pytest.raises(rx.RelaxError, match=f"{option} must be an integer of at least 1, got"):
        Limits(**{option: wrong})
