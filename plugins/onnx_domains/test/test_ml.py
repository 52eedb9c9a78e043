# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Classical models (ai.onnx.ml), compared with onnxruntime."""

from __future__ import annotations

import time
from typing import Any

import numpy
import onnx
import pytest
import relax_mlir as rx
from against_onnxruntime import Compared
from emulated_gpu import run_emulated
from node_suite import Case, cases, check
from onnx import helper, numpy_helper

rng = numpy.random.default_rng(11)
TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]


def model_of(op: str, x: Any, outputs: int = 1, version: int = 1, inputs: int = 1, **attributes: Any) -> Any:
    names, results = [f"x{index}" for index in range(inputs)], [f"y{index}" for index in range(outputs)]
    dtype = helper.np_dtype_to_tensor_dtype(x.dtype)
    infos = [helper.make_tensor_value_info(name, dtype, ["n", *x.shape[1:]]) for name in names]
    node = helper.make_node(op, names, results, domain="ai.onnx.ml", **attributes)
    graph = helper.make_graph([node], "g", infos, [onnx.ValueInfoProto(name=name) for name in results])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def compare(op: str, x: Any, outputs: int = 1, version: int = 1, **attributes: Any) -> None:
    """Compare for several rows and for one row, from one compilation."""
    compared = Compared(model_of(op, x, outputs, version, **attributes), rtol=1e-4)
    compared(x)
    compared(x[:1])


def refusal(op: str, x: Any, version: int = 1, **attributes: Any) -> str:
    with pytest.raises(rx.RelaxError) as error:
        rx.from_onnx(model_of(op, x, version=version, **attributes))
    return str(error.value)


def real(*shape: int) -> Any:
    return rng.standard_normal(shape).astype("float32")


_SUITE = [case for case in cases("ArrayFeatureExtractor", "Binarizer", "TreeEnsemble") if "ai_onnx_ml" in case.name]


@pytest.mark.parametrize("case", _SUITE, ids=lambda case: case.name)
def test_node_suite(case: Case) -> None:
    check(case)


# ---- features ----


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_norms(norm: str) -> None:
    x = real(4, 5)
    x[2] = 0
    compare("Normalizer", numpy.abs(x) if norm == "MAX" else x, norm=norm)


def test_scaled_and_filled_in() -> None:
    x = real(4, 3)
    compare("Scaler", x, offset=[0.5, 1.0, -1.0], scale=[2.0, 0.5, 1.0])
    compare("Scaler", (10 * x).astype("int64"), offset=[0.5], scale=[2.0])
    x[1, 2] = x[3, 0] = numpy.nan
    compare("Imputer", x, imputed_value_floats=[1.0, 2.0, 3.0], replaced_value_float=float("nan"))
    whole = numpy.int64([[1, -1, 2], [-1, 3, -1]])
    compare("Imputer", whole, imputed_value_int64s=[7], replaced_value_int64=-1)
    compare("Binarizer", x[:1], threshold=0.25)


def test_categories() -> None:
    x = numpy.int64([[3, 1], [9, 5]])
    compare("OneHotEncoder", x, cats_int64s=[1, 3, 5])
    strict = rx.compile(rx.from_onnx(model_of("OneHotEncoder", x, cats_int64s=[1, 3, 5], zeros=0)))
    strict["main"](x[:1])
    with pytest.raises(AssertionError, match="none of the categories"):
        strict["main"](x)


@pytest.mark.parametrize(
    ("x", "attributes"),
    [
        (numpy.int64([[4, 7], [-2, 0]]), {"keys_int64s": [7, -2, 4], "values_floats": [0.5, 1.5, 2.5]}),
        (numpy.int64([[4, 7], [-2, 0]]), {"keys_int64s": [7, -2], "values_int64s": [1, 2], "default_int64": 9}),
        (numpy.float32([[0.5, numpy.nan, 2]]), {"keys_floats": [2.0, numpy.nan, 0.5], "values_int64s": [1, 2, 3]}),
    ],
)
def test_labels(x: Any, attributes: dict[str, Any]) -> None:
    for version in (2, 4):
        compare("LabelEncoder", x, version=version, **attributes)


def test_labels_by_tensors() -> None:
    """Look up labels. The last of two equal keys wins."""
    keys, values, default = (
        helper.make_tensor(name, onnx.TensorProto.INT16, [len(held)], held)
        for name, held in (("k", [5, 3, 5]), ("v", [1, 2, 3]), ("d", [-9]))
    )
    x = numpy.int16([[3, 5, 4]])
    attributes = {"keys_tensor": keys, "values_tensor": values, "default_tensor": default}
    made = rx.OnnxBackend.prepare(model_of("LabelEncoder", x, version=4, **attributes)).run([x])[0]
    numpy.testing.assert_array_equal(made, numpy.int16([[2, 3, -9]]))


_MANY = numpy.random.default_rng(3)
KEYS: dict[str, Any] = {
    "one": numpy.int64([-7]),
    "in a row": numpy.arange(-50, 350),
    "far apart": numpy.unique(_MANY.integers(-(2**62), 2**62, 3000)),
    "limits": numpy.int64([-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 1]),
    "powers of two": 1 << numpy.arange(63),
    "multiples": numpy.arange(-800, 800) << 44,
    "few bits in front": numpy.arange(-8, 8) << 60,
    "floats in a row": numpy.arange(-300, 300, dtype="float32"),
    "floats": numpy.unique(_MANY.normal(scale=1e9, size=2000).astype("float32")),
    "small floats": numpy.arange(1, 90, dtype="int32").view("float32"),
}


@pytest.mark.parametrize("name", KEYS)
def test_labels_of_many_keys(name: str) -> None:
    """Look up all keys, neighbours of keys, and both zeros."""
    keys = numpy.random.default_rng(4).permutation(KEYS[name])
    kind = "floats" if keys.dtype.kind == "f" else "int64s"
    values = {"values_int64s": numpy.arange(len(keys)).tolist(), "default_int64": -5}
    zeros = numpy.array([0.0, -0.0]).astype(keys.dtype)
    with numpy.errstate(over="ignore"):
        x = numpy.concatenate([keys, keys + 1, keys - 1, zeros, -keys, keys // 2])
    compare("LabelEncoder", x, version=2, **{f"keys_{kind}": keys.tolist()}, **values)


def test_labels_take_as_long_in_any_order() -> None:
    """Check that no branch depends on the elements."""
    in_order = numpy.sort(_MANY.integers(0, 1000, 100_000)) * 12345
    keys = {"keys_int64s": (numpy.arange(1000) * 12345).tolist(), "values_int64s": list(range(1000))}
    main = rx.compile(rx.from_onnx(model_of("LabelEncoder", in_order, version=2, **keys)))["main"]

    def seconds(x: Any) -> float:
        times = []
        for _ in range(5):
            start = time.process_time()
            main(x)
            times.append(time.process_time() - start)
        return min(times)

    assert seconds(_MANY.permutation(in_order)) < 3 * seconds(in_order)


def test_labels_of_known_elements() -> None:
    """Look up known labels while importing, with the same results as in the program."""
    given = {"keys_int64s": [7, -2, 4], "values_floats": [0.5, 1.5, 2.5]}
    known = numpy_helper.from_array(numpy.int64([4, 4, 9, -2]), "x")
    lookup = helper.make_node("LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml", **given)
    total = helper.make_node("Add", ["y", "z"], ["sum"])
    z, sum_ = (helper.make_tensor_value_info(each, onnx.TensorProto.FLOAT, [4]) for each in ("z", "sum"))
    graph = helper.make_graph([lookup, total], "g", [z], [sum_], [known])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 2)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    made = rx.compile(rx.from_onnx(model))["main"](numpy.float32([0, 1, 0, 1]))
    numpy.testing.assert_array_equal(made, numpy.float32([2.5, 3.5, 0, 2.5]))


def test_features_side_by_side() -> None:
    x = real(3, 2)
    model = model_of("FeatureVectorizer", x, inputs=2, inputdimensions=[2, 2])
    Compared(model)(x, x + 1)


# ---- linear models and support vectors ----


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_linear_classifier(transform: str) -> None:
    # Probits are of shares.
    x = numpy.abs(real(6, 2)) / 9 + 0.1 if transform == "PROBIT" else real(6, 2)
    given = {"classlabels_ints": [4, 2, 7], "post_transform": transform}
    compare("LinearClassifier", x, 2, coefficients=[0.5, 0.3, 0.1, 0.4, 0.2, 0.2], intercepts=[0.1, 0.2, 0.1], **given)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
def test_linear_classifier_of_two_classes(transform: str) -> None:
    given = {"classlabels_ints": [4, 2], "post_transform": transform}
    compare("LinearClassifier", real(6, 2), 2, coefficients=[0.5, -0.3], intercepts=[0.1], **given)


def test_linear_regressor() -> None:
    compare(
        "LinearRegressor", real(5, 3), coefficients=[1.0, 2.0, 3.0, -1.0, 0.5, 0.0], intercepts=[1.0, 2.0], targets=2
    )
    compare("LinearRegressor", real(5, 3), coefficients=[1.0, 2.0, 3.0])


@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID"])
@pytest.mark.parametrize("one_class", [0, 1])
def test_support_vectors(kernel: str, one_class: int) -> None:
    given = {"coefficients": [0.5, -1.0, 2.0], "rho": [0.25], "n_supports": 3, "kernel_params": [0.3, 0.1, 3.0]}
    vectors = real(3, 2).ravel().tolist()
    compare("SVMRegressor", real(6, 2), kernel_type=kernel, support_vectors=vectors, one_class=one_class, **given)


def test_support_vectors_as_a_linear_model() -> None:
    compare("SVMRegressor", real(6, 2), coefficients=[0.5, -1.0], rho=[0.25], kernel_params=[0.0] * 3)


@pytest.mark.parametrize("counts", [[2, 3], [2, 1, 3]])
@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC"])
def test_support_vectors_of_classes(counts: list[int], transform: str) -> None:
    classes, vectors = len(counts), sum(counts)
    given = {
        "coefficients": real(classes - 1, vectors).ravel().tolist(), "vectors_per_class": counts,
        "rho": real(classes * (classes - 1) // 2).tolist(), "support_vectors": real(vectors, 2).ravel().tolist(),
        "kernel_type": "RBF", "kernel_params": [0.4, 0.0, 3.0], "post_transform": transform,
    }  # fmt: skip
    compare("SVMClassifier", real(20, 2), 2, classlabels_ints=[5, 2, 8][:classes], **given)


def machine(counts: list[int], **attributes: Any) -> dict[str, Any]:
    """Return attributes of an SVMClassifier with probabilities."""
    classes, vectors = len(counts), sum(counts)
    pairs = classes * (classes - 1) // 2
    return {
        "coefficients": real(classes - 1, vectors).ravel().tolist(), "vectors_per_class": counts,
        "rho": real(pairs).tolist(), "support_vectors": real(vectors, 2).ravel().tolist(), "kernel_type": "RBF",
        "kernel_params": [0.4, 0.0, 3.0], "classlabels_ints": [5, 2, 8, -3, 9][:classes],
        "prob_a": (-2 - real(pairs) ** 2).tolist(), "prob_b": (0.3 * real(pairs)).tolist(), **attributes,
    }  # fmt: skip


@pytest.mark.parametrize("counts", [[2, 3], [2, 1, 3], [1, 2, 1, 3, 2]], ids=lambda counts: f"{len(counts)} classes")
@pytest.mark.parametrize("transform", ["NONE", "PROBIT"])
def test_probabilities_of_support_vectors(counts: list[int], transform: str) -> None:
    given = machine(counts, post_transform=transform)
    if transform == "PROBIT":  # the last bit of a number near 0 or 1 decides between 5 and infinity
        given |= {"prob_a": [-0.5] * len(given["rho"])}
    compare("SVMClassifier", 2 * real(50, 2), 2, **given)


@pytest.mark.parametrize("steepness", [-0.02, -1e4, 50.0])
def test_probabilities_that_are_alike_or_sure(steepness: float) -> None:
    """Cover equal probabilities, which end the iteration before its first step, and probabilities clamped away from 0
    and 1."""
    for counts in ([2, 2], [1, 1, 1]):
        given = machine(counts)
        compare("SVMClassifier", real(40, 2), 2, **given | {"prob_a": [steepness] * len(given["rho"])})


def test_wrong_numbers_of_probabilities_are_refused() -> None:
    message = "'prob_a' has 3 numbers and 'prob_b' 2: 3 classes need 3 each, one for each pair"
    given = machine([1, 1, 1])
    assert message in refusal("SVMClassifier", real(2, 2), **given | {"prob_b": given["prob_b"][:2]})
    assert "'prob_a' has 0 numbers" in refusal(
        "SVMClassifier", real(2, 2), **{name: each for name, each in given.items() if name != "prob_a"}
    )


def test_classes_of_a_linear_machine() -> None:
    given = {"coefficients": real(6).tolist(), "rho": [0.25], "kernel_params": [0.0] * 3}
    compare("SVMClassifier", real(6, 2), 2, classlabels_ints=[5, 2, 8], **given)


# ---- trees ----


def trees(count: int, depth: int, features: int, modes: list[str], missing: bool) -> dict[str, Any]:
    """Whole trees with random decisions; node k has the children 2k + 1 and 2k + 2."""
    inner, size = 2**depth - 1, 2 ** (depth + 1) - 1
    ids = list(range(size)) * count
    is_leaf = [place >= inner for place in ids]
    kinds = rng.choice(modes, size * count).tolist()
    return {
        "nodes_treeids": [tree for tree in range(count) for _ in range(size)],
        "nodes_nodeids": ids,
        "nodes_featureids": rng.integers(0, features, size * count).tolist(),
        "nodes_values": (rng.integers(-4, 5, size * count) / 4).tolist(),
        "nodes_modes": ["LEAF" if leaf else kind for leaf, kind in zip(is_leaf, kinds, strict=True)],
        "nodes_truenodeids": [0 if leaf else 2 * place + 1 for place, leaf in zip(ids, is_leaf, strict=True)],
        "nodes_falsenodeids": [0 if leaf else 2 * place + 2 for place, leaf in zip(ids, is_leaf, strict=True)],
        "nodes_missing_value_tracks_true": (rng.integers(0, 2, size * count) * missing).tolist(),
    }


def voters(count: int, depth: int, targets: list[int], kind: str, negative: bool = True) -> dict[str, Any]:
    leaves = range(2**depth - 1, 2 ** (depth + 1) - 1)
    each = [(tree, leaf, target) for tree in range(count) for leaf in leaves for target in targets]
    return {
        f"{kind}_treeids": [tree for tree, _, _ in each],
        f"{kind}_nodeids": [leaf for _, leaf, _ in each],
        f"{kind}_ids": [target for _, _, target in each],
        f"{kind}_weights": (rng.random(len(each)) - 0.5 * negative).tolist(),
    }


def data(rows: int, features: int, missing: bool = False) -> Any:
    x = (rng.integers(-4, 5, (rows, features)) / 4).astype("float32")
    x[rng.random(x.shape) < 0.2 * missing] = numpy.nan
    return x


@pytest.mark.parametrize("mode", ["LEQ", "LT", "GTE", "GT", "EQ", "NEQ"])
def test_one_way_to_decide(mode: str) -> None:
    forest = {**trees(3, 3, 4, [f"BRANCH_{mode}"], False), **voters(3, 3, [0], "target")}
    compare("TreeEnsembleRegressor", data(9, 4), n_targets=1, **forest)


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_regression(aggregate: str) -> None:
    forest = {**trees(4, 3, 4, ["BRANCH_LEQ", "BRANCH_GT", "BRANCH_EQ"], True), **voters(4, 3, [0, 1, 2], "target")}
    given = {"n_targets": 3, "aggregate_function": aggregate, "base_values": [1.0, 2.0, 3.0]}
    compare("TreeEnsembleRegressor", data(9, 4, missing=True), **given, **forest)


@pytest.mark.parametrize("mode", ["LEQ", "NEQ", "GT"])
@pytest.mark.parametrize("features", [4, 700])
def test_blocks_of_rows_and_rows_that_are_left(mode: str, features: int) -> None:
    """Test more trees than are descended at once, with different targets, with one leaf, and with different depths."""
    forest = {**trees(11, 4, features, [f"BRANCH_{mode}"], True), **voters(11, 4, [0], "target")}
    forest["target_ids"] = [tree % 3 for tree in forest["target_treeids"]]
    cut = [place for place in range(31, 62) if place - 31 in (1, 2)]  # the second tree ends after a step
    for place in cut:
        forest["nodes_modes"][place] = "LEAF"
    compared = Compared(model_of("TreeEnsembleRegressor", data(1, features), n_targets=3, **forest), rtol=1e-4)
    for rows in (531, 8, 7, 1):
        compared(data(rows, features, missing=True))


@pytest.mark.parametrize("mode", ["LEQ", "LT"])
def test_trees_of_doubles(mode: str) -> None:
    forest = {**trees(9, 3, 4, [f"BRANCH_{mode}"], True), **voters(9, 3, [0, 1], "target")}
    compare("TreeEnsembleRegressor", data(19, 4, missing=True).astype("float64"), n_targets=2, **forest)


def test_trees_become_one_kernel() -> None:
    """Check that trees become one kernel, instead of one step of all rows and trees for each level."""
    forest = {**trees(3, 3, 4, ["BRANCH_LEQ"], False), **voters(3, 3, [0], "target")}
    module = rx.from_onnx(model_of("TreeEnsembleRegressor", data(9, 4), n_targets=1, **forest))
    assert "relax.gather_elements" not in str(module) and str(module).count("relax.call_tir") == 1


@pytest.mark.parametrize("name", ["nodes_values", "nodes_truenodeids", "target_ids", "target_weights"])
def test_lists_of_different_lengths_are_refused(name: str) -> None:
    forest = {**trees(3, 3, 4, ["BRANCH_LEQ"], False), **voters(3, 3, [0], "target")}
    forest[name] = forest[name][:-1]
    with pytest.raises(
        rx.RelaxError, match=rf"'{name}' has \d+ elements, '\w+' \d+|'\w+' has \d+ elements, '{name}' \d+"
    ):
        rx.from_onnx(model_of("TreeEnsembleRegressor", data(9, 4), n_targets=1, **forest))


def test_data_of_trees_are_rows() -> None:
    forest = {**trees(3, 3, 4, ["BRANCH_LEQ"], False), **voters(3, 3, [0], "target")}
    with pytest.raises(rx.RelaxError, match="the data has 3 dimensions, not 1 or 2"):
        rx.from_onnx(model_of("TreeEnsembleRegressor", data(9, 4)[None], n_targets=1, **forest))


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "targets"), [("LEQ", [0]), ("NEQ", [0, 1, 2])])
def test_trees_on_a_device(mode: str, targets: list[int]) -> None:
    """Run single rows, groups of adjacent rows and remainders on the emulator, which finds races and wrong
    addresses."""
    given = {**trees(5, 3, 4, ["BRANCH_" + mode], missing=True), **voters(5, 3, targets, "target")}
    model = model_of("TreeEnsembleRegressor", data(1, 4), n_targets=3, **given)
    on_cpu, on_device = (rx.compile(rx.from_onnx(model), target) for target in ("llvm", "cuda"))
    for rows in (1, 8, 11):
        x = data(rows, 4, missing=True)
        numpy.testing.assert_array_equal(run_emulated(on_device, x), on_cpu["main"](x))


def test_labels_on_a_device() -> None:
    keys = KEYS["far apart"][:50]
    given = {"keys_int64s": keys.tolist(), "values_floats": numpy.arange(50.0).tolist()}
    x = numpy.concatenate([keys[::-1], keys + 1])
    program = rx.compile(rx.from_onnx(model_of("LabelEncoder", x, version=2, **given)), "cuda")
    expected = numpy.concatenate([numpy.arange(50.0)[::-1], numpy.zeros(50)])
    numpy.testing.assert_array_equal(run_emulated(program, x), expected.astype("float32"))


@pytest.mark.parametrize("dtype", ["int32", "int64", "float64"])
def test_other_numbers(dtype: str) -> None:
    forest = {**trees(2, 2, 3, ["BRANCH_LEQ"], False), **voters(2, 2, [0, 1, 2], "class")}
    compare("TreeEnsembleClassifier", (3 * data(9, 3)).astype(dtype), 2, classlabels_int64s=[1, 2, 3], **forest)


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"])
def test_classification(transform: str) -> None:
    forest = {**trees(4, 3, 4, ["BRANCH_LEQ"], True), **voters(4, 3, [0, 1, 2], "class")}
    given = {"classlabels_int64s": [7, 5, 9], "post_transform": transform}
    compare("TreeEnsembleClassifier", data(9, 4), 2, **given, **forest)


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("voted", [0, 1])
@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
def test_classification_by_votes_for_one_of_two(negative: bool, voted: int, transform: str) -> None:
    forest = {**trees(2, 2, 3, ["BRANCH_LEQ"], False), **voters(2, 2, [voted], "class", negative)}
    given = {"classlabels_int64s": [7, 5], "post_transform": transform}
    compare("TreeEnsembleClassifier", data(9, 3), 2, **given, **forest)


def test_classification_by_votes_for_both_of_two() -> None:
    """Choose the label with the larger score like ONNX; onnxruntime takes the second one if its score is positive."""
    forest = {**trees(2, 2, 3, ["BRANCH_LEQ"], False), **voters(2, 2, [0, 1], "class", negative=False)}
    compared = Compared(model_of("TreeEnsembleClassifier", data(1, 3), 2, classlabels_int64s=[7, 5], **forest))
    labels, scores = compared(data(9, 3), outputs=[1])
    numpy.testing.assert_array_equal(labels, numpy.where(scores[:, 1] > scores[:, 0], 5, 7))


@pytest.mark.parametrize("transform", [0, 1, 2])
def test_ensemble_of_numbered_modes(transform: int) -> None:
    """Test sets, also an empty one, next to comparisons, with missing values in either branch."""
    made = {
        name: helper.make_tensor(name, kind, [len(held)], held)
        for name, kind, held in (
            ("nodes_splits", 1, [0.25, 0.0, 0.0]), ("nodes_modes", 2, [2, 6, 6]),
            ("membership_values", 1, [0.5, 0.75, numpy.nan, numpy.nan]), ("leaf_weights", 1, [1.0, 2.0, 4.0, 8.0]),
        )
    }  # fmt: skip
    x = data(40, 2, missing=True)
    model = model_of(
        "TreeEnsemble", x, version=5, **made, n_targets=2, post_transform=transform, tree_roots=[0],
        nodes_featureids=[0, 1, 0], nodes_truenodeids=[1, 0, 2], nodes_falsenodeids=[2, 1, 3],
        nodes_trueleafs=[0, 1, 1], nodes_falseleafs=[0, 1, 1], leaf_targetids=[0, 1, 0, 1],
        nodes_missing_value_tracks_true=[1, 0, 0],
    )  # fmt: skip
    leaf = [(0 if row[1] in (0.5, 0.75) else 1) if row[0] >= 0.25 or numpy.isnan(row[0]) else 3 for row in x]
    scores = numpy.zeros((len(x), 2), "float32")
    scores[numpy.arange(len(x)), numpy.array([0, 1, 0, 1])[leaf]] = numpy.array([1, 2, 4, 8])[leaf]
    powers = numpy.exp(scores)
    expected = [scores, powers / powers.sum(1, keepdims=True), powers / (1 + powers)][transform]
    numpy.testing.assert_allclose(rx.OnnxBackend.prepare(model).run([x])[0], expected, rtol=1e-5)


# ---- refusals ----


def test_refusals() -> None:
    x, forest = data(2, 3), {**trees(1, 1, 3, ["BRANCH_LEQ"], False), **voters(1, 1, [0], "target")}
    assert "a node decides by feature 8" in refusal(
        "TreeEnsembleRegressor", x, **{**forest, "nodes_featureids": [8] * 3}
    )
    assert "before the first one" in refusal("TreeEnsembleRegressor", x, **{**forest, "nodes_featureids": [-1] * 3})
    circle = {**forest, "nodes_truenodeids": [0] * 3}
    assert "form a cycle" in refusal("TreeEnsembleRegressor", x, **circle)
    lost = {**forest, "nodes_truenodeids": [77] * 3}
    assert "a child that does not exist" in refusal("TreeEnsembleRegressor", x, **lost)
    assert "2 labels for 3 columns" in refusal("ZipMap", x, classlabels_strings=["a", "b"])
    assert "only tensors can be passed" in refusal("DictVectorizer", x, string_vocabulary=["a"])
    assert "2 values for 3 features" in refusal("Scaler", x, offset=[1.0, 2.0], scale=[1.0])
