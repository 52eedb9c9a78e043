# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bugs in converters and models that ONNX's checks refuse: each is told as what it is, in one RelaxError."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from onnx import TensorProto, helper
from relax_mlir.frontends.onnx import known, registry
from test_bad_models import message, model, node, tensor_info

import relax_mlir as rx


def _break(monkeypatch: pytest.MonkeyPatch, op: str) -> None:
    """The operator's converter raises what it does not mean to."""

    def broken(node: Any) -> Any:
        raise KeyError("surprise")

    registry.CONVERTERS.load()
    monkeypatch.setitem(registry.CONVERTERS.entries, ("", op), {(1,): [registry.Converter("", op, 1, broken, "here")]})


def test_what_a_converter_raises_is_a_row_among_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is wrong with the node it is told as what it is, a bug; the traceback can be reached."""
    _break(monkeypatch, "Abs")
    with pytest.raises(rx.RelaxError, match=r"2 nodes of the model") as caught:
        rx.from_onnx(model([node("Abs", "x", "a"), node("Unheard", "x", "b")], outputs=["a", "b"]))
    told = r"internal error at onnx/test_blame.py:\d+: KeyError: 'surprise'; inputs: 'x' f32 \[2, 3\]"
    assert re.search(told, str(caught.value))
    assert isinstance(caught.value.__cause__, KeyError) and caught.value.__cause__.__traceback__ is not None


def test_what_a_converter_raises_for_a_node_that_onnx_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    _break(monkeypatch, "MatMul")
    text = message(model([node("MatMul", "x x")]))
    assert "('x' f32 [2, 3], 'x' f32 [2, 3]) are not what the operator takes: " in text
    assert "Incompatible dimensions" in text and "internal" not in text and "surprise" not in text


def test_a_bug_in_an_operator_with_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What its graphs use of the graph around is known to ONNX's checks, too."""
    _break(monkeypatch, "If")
    branches = [
        helper.make_graph([node(op, "x", op)], op, [], [helper.make_empty_tensor_value_info(op)])
        for op in ("Neg", "Abs")
    ]
    chosen = node("If", "c", then_branch=branches[0], else_branch=branches[1])
    inputs = [tensor_info("x"), tensor_info("c", (), TensorProto.BOOL)]
    assert "internal error at onnx/test_blame.py" in message(model([chosen], inputs))


def test_a_bug_where_known_elements_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not hide behind the operator's converter, which would compute them in each call."""

    def broken(node: Any) -> Any:
        raise IndexError("surprise")

    monkeypatch.setitem(known._EVALUATORS, "Shape", broken)
    assert "internal error at onnx/test_blame.py" in message(model([node("Shape")]))


@pytest.mark.parametrize(
    ("op", "attributes", "reason"),
    [
        ("RandomNormal", {"shape": [2], "seed": math.nan}, "attribute 'seed' must be a finite number, got nan"),
        ("RandomNormal", {"shape": [2], "scale": -1.0}, "attribute 'scale' must be 0 or more, got -1.0"),
        ("RandomUniform", {"shape": [2], "high": math.inf}, "attribute 'high' must be a finite number, got inf"),
        ("Multinomial", {"sample_size": -1}, "must draw 0 or more samples (not -1) for each row"),
    ],
)
def test_random_numbers_that_cannot_be_drawn(op: str, attributes: dict[str, Any], reason: str) -> None:
    assert reason in message(model([node(op, "x" if op == "Multinomial" else "", **attributes)]))


def test_operators_that_refuse_their_operands() -> None:
    """What a node becomes does not say what was asked: the node's own inputs do."""
    names = {"a": (2, 4), "sa": (), "za": (), "b": (5, 3), "sb": (), "zb": ()}
    floats = {"sa", "sb"}
    infos = [tensor_info(each, shape, 1 if each in floats else TensorProto.UINT8) for each, shape in names.items()]
    product = node("QGemm", " ".join(names), domain="com.microsoft")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    text = message(model([product], infos, opset_imports=opsets))
    assert (
        "columns on the right 5; the node's inputs: 'a' ui8 [2, 4], 'sa' f32 [], 'za' ui8 [], 'b' ui8 [5, 3]," in text
    )
