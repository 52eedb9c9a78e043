# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of package onnx, mainly the node suite: models with inputs and expected outputs."""

from __future__ import annotations

import hashlib
import pickle
import tempfile
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import onnx
from onnx import numpy_helper
from onnx.backend.test import loader
from relax_mlir.bindings.mlir import string_value
from relax_mlir.bindings.navigation import functions_in, symbol_name
from relax_mlir.dialects.core.ir_attributes import RESULT_LABELS

import relax_mlir as rx

# Two steps of bfloat16, as in ONNX's own runner.
_BFLOAT16_RTOL = 2**-6
_KEPT = Path(__file__).resolve().parents[4] / "build" / "node-suite"


class Case(NamedTuple):
    """Model with one set of inputs and outputs: numpy and ml_dtypes arrays, lists for sequences, None for nothing."""

    name: str
    operators: frozenset[str]
    model: onnx.ModelProto
    inputs: list[Any]
    outputs: list[Any]
    rtol: float
    atol: float


def cases(*operators: str, all: bool = False) -> list[Case]:
    """Return the node suite's cases with one of the operators in the graph, or all cases if no operator is named.

    Cases with an operator's definition in its place ("..._expanded") are included with `all` only.
    """
    chosen = set(operators)
    return [
        case
        for case in _node_cases()
        if (all or "_expanded" not in case.name) and (not chosen or chosen & case.operators)
    ]


@lru_cache(maxsize=1)
def _node_cases() -> list[Case]:
    """Return the node suite's cases.

    Package onnx computes them for ten seconds, so they are cached by versions and this file.
    """
    made_by = hashlib.blake2b(Path(__file__).read_bytes(), digest_size=8).hexdigest()
    kept = _KEPT / f"onnx-{onnx.__version__}-numpy-{numpy.__version__}-{made_by}.pickle"
    if kept.exists():
        return list(pickle.loads(kept.read_bytes()))
    made = _made_cases()
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=kept.parent, delete=False) as file:
        pickle.dump(made, file)
    Path(file.name).replace(kept)  # at once: other processes read it meanwhile
    return made


def _made_cases() -> list[Case]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its data has overflows and NaNs on purpose
        found = loader.load_model_tests(kind="node")
    return [_case(each) for each in sorted(found, key=lambda each: each.name)]


def _case(found: Any) -> Case:
    ((inputs, outputs),) = found.data_sets
    operators = frozenset(node.op_type for node in found.model.graph.node)
    return Case(
        found.name, operators, found.model, _arrays(inputs), _arrays(outputs), found.rtol or 1e-3, found.atol or 1e-7
    )


def _arrays(values: Any) -> list[Any]:
    return [_array(value) for value in values]


def _array(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, (list, tuple)):
        return _arrays(value)
    return numpy.asarray(value)


def run(case: Case) -> list[Any]:
    """Return the results of the compiled model. Raise RelaxError if it cannot be imported or compiled."""
    return list(rx.OnnxBackend.prepare(case.model).run(case.inputs))


def interpreted(case: Case) -> list[Any]:
    """Return the results of the imported model by rx.reference."""
    graph = case.model.graph
    kinds = [each.type.WhichOneof("value") for each in graph.input]
    named = {each.name: _shape_of(value) for each, kind, value in zip(graph.input, kinds, case.inputs, strict=False)
             if kind in ("sequence_type", "optional_type")}  # fmt: skip
    module = rx.from_onnx(case.model, shapes=named)
    found = rx.reference(module)["main"](*case.inputs)
    results = [found] if len(graph.output) == 1 else list(found)
    (attributes,) = [each.attributes for each in functions_in(module.operation) if symbol_name(each) == "main"]
    labels = attributes.get(RESULT_LABELS, {})
    return [
        numpy.array([string_value(each) for each in labels[output.name]], object)[result]
        if output.name in labels
        else result
        for output, result in zip(graph.output, results, strict=True)
    ]


def _shape_of(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(each.shape for each in value)
    return None if value is None else value.shape


def check(case: Case, run: Callable[[Case], list[Any]] = run) -> None:
    """Check a case. Raise AssertionError if element types, shapes or values differ."""
    compare(run(case), case)


def compare(actual: list[Any], case: Case) -> None:
    assert len(actual) == len(case.outputs), f"{len(actual)} outputs instead of {len(case.outputs)}"
    for index, (found, expected) in enumerate(zip(actual, case.outputs, strict=True)):
        _same(found, expected, case, f"output #{index}")


def _same(actual: Any, expected: Any, case: Case, what: str) -> None:
    if isinstance(expected, list):
        assert isinstance(actual, list) and len(actual) == len(expected), f"{what} is another sequence"
        for index, (found, wanted) in enumerate(zip(actual, expected, strict=True)):
            _same(found, wanted, case, f"{what}[{index}]")
        return
    if actual is None or expected is None:
        assert actual is expected, f"{what} is {actual} instead of {expected}"
        return
    assert actual.dtype == expected.dtype, f"{what} has type {actual.dtype} instead of {expected.dtype}"
    assert actual.shape == expected.shape, f"{what} has shape {actual.shape} instead of {expected.shape}"
    _same_values(actual, expected, case, what)


def _same_values(actual: Any, expected: Any, case: Case, what: str) -> None:
    rtol = max(case.rtol, _BFLOAT16_RTOL) if expected.dtype.name == "bfloat16" else case.rtol
    if expected.dtype.isbuiltin == 2:
        actual, expected = actual.astype("float32"), expected.astype("float32")  # numpy's comparisons know these
    if expected.dtype.kind in "fc":
        right = numpy.isclose(actual, expected, rtol, case.atol, equal_nan=True)
    else:
        right = actual == expected
    if not numpy.all(right):
        at = tuple(int(each) for each in numpy.argwhere(~right)[0])
        count = int(numpy.sum(~right))
        raise AssertionError(
            f"{what}: {count} of {expected.size} values differ, at {at} {actual[at]} instead of {expected[at]}"
        )
