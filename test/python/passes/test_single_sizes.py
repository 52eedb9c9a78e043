# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Warnings about symbols of an input that only one number fits, errors if none fits, and silence elsewhere."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy
import onnx
import pytest
from onnx import helper, numpy_helper

import relax_mlir as rx
from relax_mlir import relax

STAGES = rx.stages("llvm").until("simplify")


def reshapes(*shapes: Sequence[int], outputs: int = 0) -> rx.Module:
    """Return a model that reshapes x: [n, 8] to these shapes. `outputs` is the number of results, 0 for all."""
    names = [f"y{each}" for each in range(len(shapes))]
    nodes = [helper.make_node("Reshape", ["x", f"s_{name}"], [name], name=f"node_{name}") for name in names]
    nodes += [helper.make_node("Relu", [name], [f"relu_{name}"]) for name in names]
    constants = [numpy_helper.from_array(numpy.array(s), f"s_{n}") for n, s in zip(names, shapes, strict=True)]
    x, *results = (
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in [("x", ["n", 8]), *((f"relu_{name}", None) for name in names[: outputs or len(names)])]
    )
    graph = helper.make_graph(nodes, "g", [x], results, constants)
    return rx.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9))


def lowered(module: rx.Module, **options: Any) -> None:
    rx.lower(module, pipeline=STAGES, **options)


def test_the_node_the_symbol_and_the_only_value() -> None:
    with pytest.warns(RuntimeWarning) as found:
        lowered(reshapes([1, 8], [-1]))
    assert [str(each.message).partition(",")[0] for each in found] == [
        "\"node_y0\": 'relax.reshape' op needs 8*n = 8: n can only be 1"
    ]


def test_what_may_hold_for_several_sizes() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lowered(reshapes([1, -1], [5, -1], [-1, 4], [0, 2, 4]))
        lowered(reshapes([1, 8]), bind={"n": 1})
        lowered(reshapes([-1], [1, 8], [2, 8], outputs=1))  # unused operations are removed


def test_sizes_that_somebody_has_checked() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 8))]) as f:
        f.returns(relax.match_cast(*f, rx.tensor((1, 8))))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lowered(module)


def test_no_size_works() -> None:
    with pytest.raises(rx.RelaxError, match="can never run") as refused:
        lowered(reshapes([1, 8], [2, 8]))
    assert refused.value.location == '"node_y1"'
    assert refused.value.notes == ('8*n = 8 is needed by relax.reshape "node_y0"',)
    problem = "op needs 8*n = 8: n can only be 1, but is declared from 2 to 64"
    with pytest.raises(rx.RelaxError, match=re.escape(problem)):
        lowered(reshapes([1, 8]), bind={"n": "2..64"})
