# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes of a model's inputs as symbols: meaningful names, meaningless names, names that Python does not allow."""

from __future__ import annotations

from typing import Any

import numpy
import onnx
import pytest
from compiling import array
from onnx import helper

import relax_mlir as rx


def _model(*inputs: list[Any]) -> onnx.ModelProto:
    """Return a model with a Relu for each input."""
    given = [helper.make_tensor_value_info(f"x{index}", 1, sizes) for index, sizes in enumerate(inputs)]
    nodes = [helper.make_node("Relu", [each.name], [f"y{index}"]) for index, each in enumerate(given)]
    outputs = [onnx.ValueInfoProto(name=f"y{index}") for index in range(len(inputs))]
    return helper.make_model(
        helper.make_graph(nodes, "g", given, outputs), opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )


def _shapes(model: onnx.ModelProto, *shapes: tuple[int, ...], **asked: Any) -> list[tuple[int, ...]]:
    """Return the shapes of the results for inputs of such shapes."""
    main = rx.compile(rx.from_onnx(model, **asked), opt_level=0)["main"]
    results = main(*(numpy.ones(shape, "float32") for shape in shapes))
    return [array(each).shape for each in (results if len(shapes) > 1 else [results])]


@pytest.mark.parametrize("name", ["?", "-1", "None", "none", "", "*", "...", "null"])
def test_names_that_say_nothing_part_sizes(name: str) -> None:
    """Ignore "?", the name of every unknown size in PaddlePaddle's exports."""
    assert _shapes(_model([1, 3, name, name], [name]), (1, 3, 4, 6), (5,)) == [(1, 3, 4, 6), (5,)]


@pytest.mark.parametrize("name", ["h", "unk__12", "12", "a-b", "None_1", "高", "max", "ceildiv"])
def test_other_names_are_of_one_size(name: str) -> None:
    with pytest.raises(ValueError, match="dimension 1 expected size"):
        _shapes(_model([name, name]), (4, 6))


def test_names_that_become_alike_stay_apart() -> None:
    model = _model(["a-b", "a.b", "a_b"], ["_1", "1", "x1_3", None])
    assert _shapes(model, (2, 3, 4), (5, 6, 7, 8)) == [(2, 3, 4), (5, 6, 7, 8)]
    assert _shapes(_model(["高", "宽"], ["max", "max_1"]), (2, 3), (5, 6)) == [(2, 3), (5, 6)]
    with pytest.raises(ValueError, match="expected size a_b = 4"):
        _shapes(_model(["a-b", "a_b"], ["a_b"]), (2, 4), (5,))


def test_none_in_shapes_separates_sizes_of_one_name() -> None:
    square = _model(["b", "n", "n"], ["b", "n"])
    asked = {"x0": (None, None, None)}
    assert _shapes(square, (1, 2, 3), (1, 9), shapes=asked) == [(1, 2, 3), (1, 9)]
    with pytest.raises(ValueError, match="expected size b = 1"):
        _shapes(square, (1, 2, 3), (4, 9), shapes=asked)
    assert _shapes(square, (1, 2, 2), (1, 2), shapes={"x0": (None, 2, None)}) == [(1, 2, 2), (1, 2)]


def test_requested_names_are_not_generated() -> None:
    model = _model([None, None], ["?"])
    asked = {"x0": ("x0_1", None), "x1": ("2 * x1_0",)}
    assert _shapes(model, (2, 3), (4,), shapes=asked) == [(2, 3), (4,)]
