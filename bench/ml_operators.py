# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of ai.onnx.ml, compiled here and in onnxruntime, for one row and for many.

    python bench/ml_operators.py              prints the table
    python bench/ml_operators.py --only tree  operators with this text in their names

Figures are CPU times per call relative to onnxruntime's, on one thread each: below 1 is faster. Both take turns in one
run, and each figure is of the fastest calls. Each measurement uses so many rows that the processor cannot learn their
branches: repeated calls with the same few rows would have branches at no cost. Trees are random, in the forms that
LightGBM (by leaves, of any depth), XGBoost (by levels) and scikit-learn (forests, a vote for each class) export.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy
import onnx
import onnxruntime
from kernels import fastest  # first: it sets the number of NumPy's threads
from onnx import helper

import relax_mlir as rx

ROWS = (1, 100, 10_000)
FEATURES = 30
#: Number of rows in a measurement.
_FRESH = 10_000
rng = numpy.random.default_rng(0)


class Case(NamedTuple):
    name: str
    op: str
    attributes: dict[str, Any]
    outputs: int = 1
    dtype: str = "float32"
    #: Version of the operator set.
    version: int = 3
    inputs: int = 1

    def model(self) -> onnx.ModelProto:
        kind = helper.np_dtype_to_tensor_dtype(numpy.dtype(self.dtype))
        names = [f"x{place}" for place in range(self.inputs)]
        given = [helper.make_tensor_value_info(name, kind, ["n", FEATURES]) for name in names]
        results = [f"y{place}" for place in range(self.outputs)]
        chosen = [helper.make_tensor("chosen", onnx.TensorProto.INT64, [5], [1, 20, 3, 9, 2])]
        is_choice = self.op == "ArrayFeatureExtractor"
        node = helper.make_node(
            self.op, [*names, *["chosen"] * is_choice], results, domain="ai.onnx.ml", **self.attributes
        )
        graph = helper.make_graph([node], "g", given, [onnx.ValueInfoProto(name=each) for each in results],
                                  chosen * is_choice)  # fmt: skip
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", self.version)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def data(self, rows: int) -> Any:
        if self.dtype == "float32":
            return rng.standard_normal((rows, FEATURES)).astype("float32")
        return rng.integers(0, 12, (rows, FEATURES)).astype(self.dtype)


# ---- trees ----


def trees(kind: str, count: int, leaves: int, depth: int, mode: str, votes: Callable[[int], list[int]],
          missing: int = 0) -> dict[str, Any]:  # fmt: skip
    """Return trees that grow at random leaves up to `leaves`, of at most `depth` levels."""
    nodes: dict[str, list[Any]] = {
        name: [] for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids",
                              "missing_value_tracks_true")
    }  # fmt: skip
    voted: dict[str, list[Any]] = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(count):
        children, steps = {0: (0, 0)}, {0: 0}
        open_ = [0]
        while open_ and sum(pair == (0, 0) for pair in children.values()) < leaves:
            place = open_.pop(int(rng.integers(len(open_))))
            pair = len(children), len(children) + 1
            children[place] = pair
            for each in pair:
                children[each], steps[each] = (0, 0), steps[place] + 1
                open_ += [each] if steps[each] < depth else []
        for place, (yes, no) in sorted(children.items()):
            is_leaf = (yes, no) == (0, 0)
            row = (tree, place, 0 if is_leaf else int(rng.integers(FEATURES)), float(rng.standard_normal()) / 2,
                   "LEAF" if is_leaf else mode, yes, no, missing)  # fmt: skip
            for held, value in zip(nodes.values(), row, strict=True):
                held.append(value)
            for target in votes(tree) if is_leaf else ():
                for held, value in zip(voted.values(), (tree, place, target, float(rng.random())), strict=True):
                    held.append(value)
    return {f"nodes_{name}": held for name, held in nodes.items()} | {
        f"{kind}_{name}": held for name, held in voted.items()
    }


def tree_cases() -> Iterator[Case]:
    one, classes = lambda tree: [0], list(range(5))
    regressor, classifier = "TreeEnsembleRegressor", "TreeEnsembleClassifier"
    light = trees("target", 100, 31, 20, "BRANCH_LEQ", one, 1)
    yield Case("trees: LightGBM, 100 of 31 leaves", regressor, {**light, "n_targets": 1})
    many = trees("target", 1000, 31, 20, "BRANCH_LEQ", one, 1)
    yield Case("trees: LightGBM, 1000 of 31 leaves", regressor, {**many, "n_targets": 1})
    extreme = trees("target", 100, 64, 6, "BRANCH_LT", one, 1)
    yield Case("trees: XGBoost, 100 of depth 6", regressor, {**extreme, "n_targets": 1})
    labels = {"classlabels_int64s": classes, "post_transform": "SOFTMAX"}
    boosted = trees("class", 500, 31, 20, "BRANCH_LEQ", lambda tree: [tree % 5], 1)
    yield Case("trees: LightGBM, 5 classes, 500", classifier, {**boosted, **labels}, 2)
    forest = trees("class", 100, 500, 14, "BRANCH_LEQ", lambda tree: classes)
    yield Case("trees: forest, 5 classes, 100", classifier, {**forest, **labels}, 2)
    single = trees("target", 100, 2000, 18, "BRANCH_LEQ", one)
    yield Case(
        "trees: forest, 100 of 2000 leaves", regressor, {**single, "n_targets": 1, "aggregate_function": "AVERAGE"}
    )


# ---- other operators ----


def _reals(*shape: int) -> list[float]:
    return rng.standard_normal(shape).ravel().tolist()


def other_cases() -> Iterator[Case]:
    classes, vectors = 4, 60
    labels = list(range(classes))
    yield Case("LinearRegressor", "LinearRegressor", {"coefficients": _reals(FEATURES), "intercepts": [0.5]})
    linear = {"coefficients": _reals(classes, FEATURES), "intercepts": _reals(classes), "classlabels_ints": labels}
    yield Case("LinearClassifier", "LinearClassifier", {**linear, "post_transform": "SOFTMAX"}, 2)
    machine = {"support_vectors": _reals(vectors, FEATURES), "kernel_type": "RBF", "kernel_params": [0.05, 0.0, 3.0]}
    yield Case("SVMRegressor", "SVMRegressor",
               {**machine, "coefficients": _reals(vectors), "rho": [0.1], "n_supports": vectors})  # fmt: skip
    several = {**machine, "coefficients": _reals(classes - 1, vectors), "vectors_per_class": [vectors // classes] * 4,
               "rho": _reals(6), "classlabels_ints": labels}  # fmt: skip
    yield Case("SVMClassifier", "SVMClassifier", several, 2)
    shares = {"prob_a": [-2.0] * 6, "prob_b": [0.1] * 6}
    yield Case("SVMClassifier, probabilities", "SVMClassifier", {**several, **shares}, 2)
    yield Case("Scaler", "Scaler", {"offset": _reals(FEATURES), "scale": _reals(FEATURES)})
    yield from (Case(f"Normalizer {norm}", "Normalizer", {"norm": norm}) for norm in ("MAX", "L1", "L2"))
    yield Case("Imputer", "Imputer", {"imputed_value_floats": _reals(FEATURES), "replaced_value_float": float("nan")})
    yield Case("Binarizer", "Binarizer", {"threshold": 0.25})
    yield Case("ArrayFeatureExtractor", "ArrayFeatureExtractor", {})
    yield Case("FeatureVectorizer", "FeatureVectorizer", {"inputdimensions": [FEATURES] * 2}, inputs=2)
    yield Case("OneHotEncoder", "OneHotEncoder", {"cats_int64s": list(range(10))}, dtype="int64")
    keys = list(range(0, 20, 2))
    yield Case("LabelEncoder", "LabelEncoder", {"keys_int64s": keys, "values_int64s": keys[::-1]}, dtype="int64")
    yield Case(
        "LabelEncoder to floats", "LabelEncoder", {"keys_int64s": keys, "values_floats": _reals(10)}, dtype="int64"
    )


def ratio(case: Case, program: Any, session: Any, rows: int) -> float:
    variants = [[case.data(rows) for _ in range(case.inputs)] for _ in range(max(1, _FRESH // rows))]
    named = [{f"x{place}": each for place, each in enumerate(given)} for given in variants]
    made = program["main"](*variants[0])
    last = numpy.from_dlpack(made[-1] if case.outputs > 1 else made)
    numpy.testing.assert_allclose(last, session.run(None, named[0])[-1], rtol=1e-3, atol=1e-4, err_msg=case.name)

    def ours() -> None:
        for given in variants:
            program["main"](*given)

    def theirs() -> None:
        for given in named:
            session.run(None, given)

    mine, other = fastest([ours, theirs])
    return mine / other


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose names have this in them")
    only = parser.parse_args().only
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    print(f"{'times as long as onnxruntime':40}" + "".join(f"{rows:>8,}" for rows in ROWS) + " rows")
    for case in (*tree_cases(), *other_cases()):
        if only not in case.name:
            continue
        model = case.model()
        program = rx.compile(rx.from_onnx(model))
        program.threads = 1
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        ratios = [ratio(case, program, session, rows) for rows in ROWS]
        print(f"{case.name:40}" + "".join(f"{each:8.2f}" for each in ratios), flush=True)


if __name__ == "__main__":
    main()
