# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors in converters and evaluators of users, in models and in this project.

A user's exception is reported with its place, a broken rule as an error of the model, and this project's exception as
its bug: all in one RelaxError.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pytest
from onnx import TensorProto, helper
from relax_mlir.frontends.onnx import registry
from relax_mlir.passes.evaluate import registry as evaluations
from test_bad_models import message, model, node, tensor_info

import relax_mlir as rx


def _break(
    monkeypatch: pytest.MonkeyPatch, op: str, raised: type[BaseException] = KeyError, *, is_ours: bool = True
) -> None:
    """Let the operator's converter, this project's or a user's, raise an unexpected exception."""

    def broken(node: Any) -> Any:
        raise raised("surprise")

    if is_ours:
        broken.__module__ = registry.__name__
    registry.CONVERTERS.load()
    monkeypatch.setitem(
        registry.CONVERTERS.entries, ("", op), {(1,): [registry.NodeConverter("", op, 1, broken, "here")]}
    )


def test_an_internal_error_is_listed_with_other_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report a bug for a valid node, next to other problems. Its traceback stays available."""
    _break(monkeypatch, "Abs")
    with pytest.raises(rx.RelaxError, match=r"2 nodes of the model") as caught:
        rx.from_onnx(model([node("Abs", "x", "a"), node("Unheard", "x", "b")], outputs=["a", "b"]))
    expected = r"internal error at onnx/test_problems.py:\d+: KeyError: 'surprise'; inputs: 'x' f32 \[2, 3\]"
    assert re.search(expected, str(caught.value))
    assert isinstance(caught.value.__cause__, KeyError) and caught.value.__cause__.__traceback__ is not None


@pytest.mark.parametrize("raised", [TypeError, AssertionError, RuntimeError, ZeroDivisionError, NotImplementedError])
def test_a_bug_is_never_the_model_s_fault(raised: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    """Report any exception, even if ONNX would refuse the node."""
    _break(monkeypatch, "MatMul", raised)
    text = message(model([node("MatMul", "x x")]))
    assert "MatMul" in text
    assert re.search(rf"internal error at onnx/test_problems.py:\d+: {raised.__name__}: surprise", text)
    assert "this is a bug of the converter, not of the model: please report it" in text


def test_memory_that_is_not_there_is_no_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    _break(monkeypatch, "Abs", MemoryError)
    with pytest.raises(MemoryError):
        rx.from_onnx(model([node("Abs")]))


def test_a_bug_in_an_operator_with_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check a node whose graphs use names of the surrounding graph, which ONNX's checks know, too."""
    _break(monkeypatch, "If")
    branches = [
        helper.make_graph([node(op, "x", op)], op, [], [helper.make_empty_tensor_value_info(op)])
        for op in ("Neg", "Abs")
    ]
    chosen = node("If", "c", then_branch=branches[0], else_branch=branches[1])
    inputs = [tensor_info("x"), tensor_info("c", (), TensorProto.BOOL)]
    assert "internal error at onnx/test_problems.py" in message(model([chosen], inputs))


def test_errors_of_a_users_converter_name_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report the user's converter and its line instead of a bug of this project."""
    _break(monkeypatch, "Abs", is_ours=False)
    with pytest.raises(rx.RelaxError) as caught:
        rx.from_onnx(model([node("Abs", "x", "a"), node("Unheard", "x", "b")], outputs=["a", "b"]))
    assert re.search(
        r"the converter 'broken': KeyError: 'surprise' \(at onnx/test_problems.py:\d+\)", str(caught.value)
    )
    assert "please report" not in str(caught.value)
    assert isinstance(caught.value.__cause__, KeyError)


def test_operator_errors_in_a_users_converter_name_the_converter(monkeypatch: pytest.MonkeyPatch) -> None:
    converter = registry.NodeConverter("", "Abs", 1, lambda node: rx.relax.add(node.tensor(0)), "here")
    registry.CONVERTERS.load()
    monkeypatch.setitem(registry.CONVERTERS.entries, ("", "Abs"), {(1,): [converter]})
    text = message(model([node("Abs")]))
    assert re.search(r"misses operand 'x2' \(in the converter '<lambda>', at onnx/test_problems.py:\d+\)", text)


@pytest.mark.parametrize("raised", [IndexError, TypeError, ValueError])
def test_a_bug_of_an_evaluation(raised: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    """Report the bug instead of leaving the operation in the program, which would compute the elements in each call."""

    def broken(call: Any, x: Any) -> Any:
        raise raised("surprise")

    rule = evaluations.find_evaluation("relax.negative")
    assert rule is not None
    broken.__module__ = evaluations.__name__
    monkeypatch.setitem(evaluations._EVALUATIONS.entries, rule.op, {(): [replace(rule, function=broken)]})
    nodes = [node("Shape", "x", "shape"), node("Neg", "shape")]
    assert "internal error at onnx/test_problems.py" in message(model(nodes))


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
    """Show the node's own inputs, since the operators of its expansion do not show what the model contains."""
    names = {"a": (2, 4), "sa": (), "za": (), "b": (5, 3), "sb": (), "zb": ()}
    floats = {"sa", "sb"}
    infos = [tensor_info(each, shape, 1 if each in floats else TensorProto.UINT8) for each, shape in names.items()]
    product = node("QGemm", " ".join(names), domain="com.microsoft")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    text = message(model([product], infos, opset_imports=opsets))
    assert (
        "columns on the right 5; the node's inputs: 'a' ui8 [2, 4], 'sa' f32 [], 'za' ui8 [], 'b' ui8 [5, 3]," in text
    )
