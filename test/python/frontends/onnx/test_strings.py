# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Strings of which all are known, and dictionaries of scores, compared with onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
import onnx
import onnxruntime
import pytest
from onnx import helper

import relax_mlir as rx

_ML = "ai.onnx.ml"
_WORDS = ["cat", "dog", "ant"]
rng = numpy.random.default_rng(5)


def text(name: str, strings: Sequence[str], shape: Sequence[int] | None = None) -> Any:
    encoded = [each.encode() for each in strings]
    return helper.make_tensor(name, onnx.TensorProto.STRING, [len(strings)] if shape is None else shape, encoded)


def node(op: str, inputs: list[str], outputs: list[str], domain: str = "", **attributes: Any) -> Any:
    return helper.make_node(op, inputs, outputs, domain=domain, **attributes)


def model(nodes: Sequence[Any], x: Any, outputs: Sequence[str], constants: Sequence[Any] = (), version: int = 3) -> Any:
    dtype = helper.np_dtype_to_tensor_dtype(x.dtype)
    given = helper.make_tensor_value_info("x", dtype, ["n", *x.shape[1:]])
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph(nodes, "g", [given], results, constants)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(_ML, version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def plain(value: Any) -> Any:
    """Return onnxruntime's list of dictionaries as a tensor with a column for each label, in the words' order."""
    if isinstance(value, list):
        return numpy.array([[row[word] for word in _WORDS[: len(row)]] for row in value], "float32")
    return value


def compare(made: Any, x: Any) -> Any:
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    ours = rx.OnnxBackend.prepare(made)
    for given in (x, x[:1]):
        results = ours.run([given])
        for result, expected in zip(results, map(plain, session.run(None, {"x": given})), strict=True):
            assert result.dtype == expected.dtype and result.shape == expected.shape
            if expected.dtype == object:
                assert result.tolist() == expected.tolist()
            else:
                numpy.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-6)


def classifier(classes: int) -> Any:
    rows = 1 if classes == 2 else classes
    given = {"coefficients": rng.standard_normal(3 * rows).tolist(), "intercepts": [0.1] * rows}
    labels = {"classlabels_strings": _WORDS[:classes]}
    return node("LinearClassifier", ["x"], ["label", "scores"], _ML, post_transform="LOGISTIC", **given, **labels)


@pytest.mark.parametrize("classes", [2, 3])
def test_an_exported_classifier_has_string_labels(classes: int) -> None:
    zipped = node("ZipMap", ["scores"], ["p"], _ML, classlabels_strings=_WORDS[:classes])
    compare(model([classifier(classes), zipped], real(9, 3), ["label", "p"]), real(9, 3))


def real(*shape: int) -> Any:
    return rng.standard_normal(shape).astype("float32")


def test_trees_and_support_vectors() -> None:
    tree = node(
        "TreeEnsembleClassifier", ["x"], ["label", "scores"], _ML, nodes_treeids=[0] * 3, nodes_nodeids=[0, 1, 2],
        nodes_featureids=[0] * 3, nodes_values=[0.0] * 3, nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
        nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0], class_treeids=[0, 0], class_nodeids=[1, 2],
        class_ids=[1, 2], class_weights=[1.0, 1.0], classlabels_strings=_WORDS,
    )  # fmt: skip
    compare(model([tree], real(9, 3), ["label", "scores"]), real(9, 3))
    machine = node(
        "SVMClassifier", ["x"], ["label", "scores"], _ML, coefficients=real(4).tolist(), vectors_per_class=[1, 1, 0],
        rho=[0.1, 0.2, 0.3], support_vectors=real(6).tolist(), kernel_type="LINEAR", kernel_params=[0.1, 0.0, 3.0],
        classlabels_strings=_WORDS,
    )  # fmt: skip
    compare(model([machine], real(9, 3), ["label"]), real(9, 3))


def test_program_gives_places_and_the_manifest_the_strings(tmp_path: Any) -> None:
    program = rx.compile(rx.from_onnx(model([classifier(3)], real(5, 3), ["label", "scores"])))
    program.save(tmp_path / "classes.rxa")
    program = rx.runtime.load(tmp_path / "classes.rxa")
    label, scores = program.signature("main")["outputs"]
    assert label["labels"] == _WORDS and label["dtype"] == "int64" and "labels" not in scores
    x = real(5, 3)
    places, shares = program["main"](x)
    assert places.tolist() == shares.argmax(1).tolist()


def test_looked_up() -> None:
    """Look up numbers of strings and strings of numbers, by attributes and by tensors, with unknown labels and one-hot
    codes."""
    nodes = [
        classifier(3),
        node("LabelEncoder", ["label"], ["number"], _ML, keys_strings=["dog", "cat"], values_int64s=[7, 8]),
        node("LabelEncoder", ["number"], ["word"], _ML, keys_int64s=[7, 8], values_strings=["x", "y"]),
        node("LabelEncoder", ["label"], ["real"], _ML, keys_strings=_WORDS, values_floats=[0.5, 1.5, 2.5]),
        node(
            "LabelEncoder", ["label"], ["other"], _ML, keys_strings=["ant"], values_strings=["bee"], default_string=""
        ),
        node("OneHotEncoder", ["label"], ["hot"], _ML, cats_strings=["ant", "cow", "cat"]),
        node("CategoryMapper", ["label"], ["mapped"], _ML, cats_strings=["ant", "cat"], cats_int64s=[3, 4]),
        node("CategoryMapper", ["mapped"], ["back"], _ML, cats_strings=["ant", "cat"], cats_int64s=[3, 4]),
    ]
    outputs = ["number", "word", "real", "other", "hot", "mapped", "back"]
    compare(model(nodes, real(9, 3), outputs, version=2), real(9, 3))


def test_looked_up_by_tensors() -> None:
    keys, values = text("k", ["dog", "cat"]), helper.make_tensor("v", onnx.TensorProto.INT16, [2], [5, 6])
    default = helper.make_tensor("d", onnx.TensorProto.INT16, [1], [-2])
    encoder = node(
        "LabelEncoder", ["label"], ["y"], _ML, keys_tensor=keys, values_tensor=values, default_tensor=default
    )
    made = model([classifier(3), encoder], real(9, 3), ["label", "y"], version=4)
    label, y = rx.OnnxBackend.prepare(made).run([real(20, 3)])
    assert y.dtype == "int16" and y.tolist() == [{"dog": 5, "cat": 6, "ant": -2}[each] for each in label]


def test_first_version_of_the_encoder() -> None:
    """Encode in both directions by a list of strings: positions count from 0."""
    nodes = [
        classifier(3),
        node("LabelEncoder", ["label"], ["number"], _ML, classes_strings=["dog", "cat"], default_int64=-4),
        node("LabelEncoder", ["number"], ["word"], _ML, classes_strings=["dog", "cat"], default_string="none"),
    ]
    label, number, word = rx.OnnxBackend.prepare(model(nodes, real(9, 3), ["label", "number", "word"], version=1)).run(
        [real(20, 3)]
    )
    assert number.tolist() == [{"dog": 0, "cat": 1}.get(each, -4) for each in label]
    assert word.tolist() == [each if each in ("dog", "cat") else "none" for each in label]


def test_moved() -> None:
    """Choose, join and reshape constants and labels, without reading the strings."""
    nodes = [
        classifier(3),
        node("ArgMax", ["scores"], ["at"], axis=1, keepdims=0),
        node("ArrayFeatureExtractor", ["names", "at"], ["extracted"], _ML),
        node("Gather", ["names", "at"], ["gathered"]),
        node("Concat", ["label", "gathered"], ["joined"], axis=0),
        node("Reshape", ["joined", "two"], ["pairs"]),
        node("Transpose", ["pairs"], ["turned"]),
        node("Equal", ["label", "first"], ["is_first"]),
        node("Where", ["is_first", "more", "label"], ["chosen"]),
        node("Shape", ["pairs"], ["shape"]),
        node("Identity", ["pairs"], ["same"]),
        node("Cast", ["same"], ["cast"], to=onnx.TensorProto.STRING),
        node("Gather", ["digits", "at"], ["digit"]),
        node("Cast", ["digit"], ["as_number"], to=onnx.TensorProto.FLOAT),
    ]
    two = helper.make_tensor("two", onnx.TensorProto.INT64, [2], [2, -1])
    constants = [text("names", ["p", "q", "p"]), text("more", ["cow"]), text("first", ["cat"], []), two]
    constants += [text("digits", ["1.5", "-2", "1e3"])]
    outputs = ["extracted", "joined", "turned", "chosen", "shape", "cast", "as_number", "is_first"]
    compare(model(nodes, real(9, 3), outputs, constants), real(9, 3))


def test_constants_of_nodes() -> None:
    nodes = [
        node("Constant", [], ["one"], value_string="s"),
        node("Constant", [], ["several"], value_strings=["b", "a", "b"]),
        node("Constant", [], ["tensor"], value=text("t", ["u", "v"], [2, 1])),
        node("Identity", ["x"], ["y"]),
    ]
    made = model(nodes, real(2, 3), ["one", "several", "tensor", "y"])
    one, several, tensor, _ = rx.OnnxBackend.prepare(made).run([real(2, 3)])
    assert one == "s" and several.tolist() == ["b", "a", "b"] and tensor.tolist() == [["u"], ["v"]]


def test_chosen_by_branches() -> None:
    """Choose between branches with strings of their own."""

    def branch(word: str) -> Any:
        constant = node("Constant", [], ["made"], value_strings=[word, "both"])
        return helper.make_graph([constant], word, [], [onnx.ValueInfoProto(name="made")])

    nodes = [
        node("ReduceMax", ["x"], ["most"], keepdims=0),
        node("Greater", ["most", "zero"], ["is_positive"]),
        node("If", ["is_positive"], ["word"], then_branch=branch("yes"), else_branch=branch("no")),
    ]
    zero = helper.make_tensor("zero", 1, [], [0.0])
    prepared = rx.OnnxBackend.prepare(model(nodes, real(2, 3), ["word"], [zero]))
    for sign, word in ((1, "yes"), (-1, "no")):
        assert prepared.run([sign * numpy.ones((2, 3), "float32")])[0].tolist() == [word, "both"]


def test_n_grams_of_strings() -> None:
    pool = {"pool_strings": ["cat", "dog", "cat", "dog", "ant", "ant"], "ngram_counts": [0, 2]}
    counts = node(
        "TfIdfVectorizer", ["label"], ["y"], mode="TF", ngram_indexes=[1, 0, 2, 3], min_gram_length=1,
        max_gram_length=2, max_skip_count=1, **pool,
    )  # fmt: skip
    compare(model([classifier(3), counts], real(20, 3), ["y"]), real(20, 3))


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([node("LabelEncoder", ["x"], ["y"], _ML, keys_strings=["a"], values_int64s=[1])], "keys are strings, but"),
        ([classifier(3), node("LabelEncoder", ["label"], ["y"], _ML, keys_floats=[1.0], values_int64s=[1])],
         "keys are numbers, but"),
        ([classifier(3), node("Neg", ["label"], ["y"])], "contains strings"),
        ([classifier(3), node("Concat", ["label", "x"], ["y"], axis=0)], "together with numbers"),
        ([classifier(3), node("Cast", ["label"], ["y"], to=1)], "is not a number of type f32: could not convert"),
        ([node("Cast", ["x"], ["y"], to=8)], "elements of type string cannot be compiled"),
    ],
)  # fmt: skip
def test_refusals(nodes: list[Any], words: str) -> None:
    with pytest.raises(rx.RelaxError, match=words):
        rx.from_onnx(model(nodes, real(2, 3), ["y"]))


def test_refusal_of_what_callers_would_pass() -> None:
    given = helper.make_tensor_value_info("x", onnx.TensorProto.STRING, ["n"])
    encoder = node("LabelEncoder", ["x"], ["y"], _ML, keys_strings=["a"], values_int64s=[1])
    graph = helper.make_graph([encoder], "g", [given], [onnx.ValueInfoProto(name="y")])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(_ML, 2)])
    with pytest.raises(rx.RelaxError, match=r"input 'x' contains strings.*LabelEncoder.*extract_model"):
        rx.from_onnx(made)
