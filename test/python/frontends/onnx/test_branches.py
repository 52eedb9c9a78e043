# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches of an If with results of different ranks, and the nodes that use them, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from against_onnxruntime import Compared
from onnx import helper, numpy_helper, parser

import relax_mlir as rx

_RANDOM = numpy.random.default_rng(8)

# q is 3-D or 2-D, p 1-D or 2-D; their product by MatMul exists where both come of the same branch.
_CHOICE = """
    q, p = If (c) <
        then_branch = a () => (float[] q1, float[] p1) {
            at = Constant <value_ints = [0]> ()  q1 = Unsqueeze (x, at)  p1 = Identity (w)
        },
        else_branch = b () => (float[] q2, float[] p2) {
            at = Constant <value_ints = [1]> ()  q2 = Neg (x)  p2 = Unsqueeze (w, at)
        }
    >"""
_FLAT = """
    every = Constant <value_ints = [-1]> ()
    y = Reshape (r, every)"""


def _model(body: str, inputs: str = "bool c, float[n, 4] x, float[4] w") -> Any:
    return parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]>\nmain ({inputs}) => (float[m] y) {{{body}}}')


def _floats(*shape: int) -> Any:
    return _RANDOM.normal(size=shape).astype("float32")


def _if(condition: str, one: str, other: str) -> str:
    """Return an If with two operators' results."""
    branches = (
        f"then_branch = d () => (float[] v1) {{ v1 = {one} }}, else_branch = e () => (float[] v2) {{ v2 = {other} }}"
    )
    return f"If ({condition}) < {branches} >"


_ONCE_TWICE = """
    k = Constant <value_float = 0.0> ()  n = Constant <value_int = 2> ()
    r, rows = Loop (n, , k) <body = g (int64 i, bool o, float h) => (bool o2, float h2, float t2) {
        o2 = Identity (o)  s = ReduceSum <keepdims = 0> (q)  h2 = Add (h, s)  t2 = Neg (h2) }>"""
_BODIES = [
    "s = Abs (q) t = Sqrt (s) r = Add (t, q)",
    "s = Exp (q) t = Tanh (p) u = MatMul (s, t) r = Mul (u, u)",
    "s, t = Split <axis = -1, num_outputs = 2> (q) r = Concat <axis = -1> (t, s)",
    "one = Constant <value_float = 1.0> () s = Add (q, one) t = Mul (x, one) r = Add (s, t)",
    "d = Shape (q) f = Cast <to = 1> (d) r = ReduceSum (f)",
    f"v = {_if('c', 'Relu (q)', 'Sin (p)')} r = Neg (v)",
    f"r = {_if('c', 'Relu (q)', 'Neg (x)')}",
    _ONCE_TWICE,
]


@pytest.mark.parametrize("body", _BODIES)
def test_nodes_that_get_one_of_two(body: str) -> None:
    compared = Compared(_model(f"{_CHOICE} {body} {_FLAT}"))
    for condition in (True, False):
        compared(numpy.array(condition), _floats(3, 4), _floats(4))
    compared(numpy.array(True), _floats(1, 4), _floats(4))


def test_a_node_with_outputs_that_are_unused() -> None:
    model = _model(f"{_CHOICE} r = Identity (q) {_FLAT}")
    node = next(each for each in model.graph.node if each.output[0] == "r")
    node.op_type, node.domain = "SkipSimplifiedLayerNormalization", "com.microsoft"
    node.input[:], node.output[:] = ["q", "q", "w"], ["y0", "", "", "r"]
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    compared = Compared(model)
    for condition in (True, False):
        compared(numpy.array(condition), _floats(3, 4), _floats(4))


def test_one_of_three_ranks() -> None:
    choice = f"v = If (c) <then_branch = a () => (float[] a1) {{ a1 = {_if('d', 'Identity (w)', 'Sin (x)')} }}, "
    choice += "else_branch = b () => (float[] b1) { at = Constant <value_ints = [0, 1]> ()  b1 = Unsqueeze (w, at) }>"
    compared = Compared(
        _model(f"{choice} s = Neg (v) t = Abs (v) r = Add (s, t) {_FLAT}", "bool c, bool d, float[n, 4] x, float[4] w")
    )
    for first in (True, False):
        for second in (True, False):
            compared(numpy.array(first), numpy.array(second), _floats(3, 4), _floats(4))


def test_a_condition_of_either_rank() -> None:
    condition = """k = If (c) <then_branch = a () => (bool[] k1) { k1 = Not (c) },
        else_branch = b () => (bool[] k2) { at = Constant <value_ints = [0]> () k2 = Unsqueeze (c, at) }>"""
    compared = Compared(_model(f"{condition} r = {_if('k', 'Exp (x)', 'Neg (x)')} {_FLAT}"))
    for condition in (True, False):
        compared(numpy.array(condition), _floats(2, 4), _floats(4))


def _refusal(body: str) -> str:
    with pytest.raises(rx.RelaxError) as raised:
        rx.from_onnx(_model(f"{_CHOICE} {body}"))
    return str(raised.value)


def test_refusals() -> None:
    several = "a tensor of 3 or 2 dimensions, known at run time only"
    undeclared = _model(f"{_CHOICE} y = Neg (q)")
    undeclared.graph.output[0].type.tensor_type.ClearField("shape")
    with pytest.raises(rx.RelaxError, match=f"output 'y' is {several}: an output of a program needs one rank"):
        rx.from_onnx(undeclared)
    assert f"output 'y' is {several}" in _refusal("y = Neg (q)"), "it is declared with a rank that none of them has"
    assert "the front end does not know this operator" in _refusal("y = NoSuchOperator (q)")
    # Where none of them can be.
    assert "perm" in _refusal("s = Transpose <perm = [0, 2, 1, 3]> (q) y = ReduceSum (s)")
    loop = "n = Cast <to = 7> (c) s, y = Loop (n, , {start}) <body = g (int64 i, bool o, float[] h) => "
    loop += "(bool o2, float[] h2, float[] r) {{ o2 = Identity (o) h2 = {state} r = {row} }}>"
    carried = _refusal(loop.format(start="x", state="Neg (q)", row="Neg (h)"))
    assert "cannot choose between a tensor and a tensor of 3 or 2 dimensions" in carried
    gathered = _refusal(loop.format(start="w", state="Neg (h)", row="Neg (q)"))
    assert f"control flow needs a tensor of one rank, got {several}" in gathered


# v is 2-D where the last size of x is 1, else 3-D, as torch.squeeze(x, -1) of an unknown size.
_SQUEEZED = """
    one = Constant <value_int = 1> ()  two = Constant <value_int = 2> ()  shape = Shape (x)
    size = Gather (shape, two)  is = Equal (size, one)
    v = If (is) <
        then_branch = a () => (float[] q) { axis = Constant <value_ints = [-1]> ()  q = Squeeze (x, axis) },
        else_branch = b () => (float[] r) { r = Identity (x) }
    >"""
_OF_ONE_RANK = {
    "Gemm": "y = Gemm (v, W)",
    "Transpose": "y = Transpose <perm = [1, 0]> (v)",
    "Concat": "y = Concat <axis = 0> (v, C)",
    "LSTM": """at = Constant <value_ints = [0]> ()  s = Unsqueeze (v, at)
        z = LSTM <hidden_size = 3> (s, LW, LR)  k = Constant <value_ints = [-1, 3]> ()  y = Reshape (z, k)""",
    "Conv": """at = Constant <value_ints = [2]> ()  s = Unsqueeze (v, at)  z = Conv (s, K)
        back = Constant <value_ints = [2]> ()  y = Squeeze (z, back)""",
}
_DECLARED = {
    "MatMul": "y = MatMul (v, W)",
    "Softmax": "y = Softmax <axis = 1> (v)",
    "Expand": "s = Constant <value_ints = [2, 4]> ()  y = Expand (v, s)",
}


def _squeezed(body: str) -> Any:
    text = f"""<ir_version: 10, opset_import: ["" : 21]>
    main (float[b, 4, t] x, float[4, 3] W) => (float[k, l] y) {{{_SQUEEZED} {body}}}"""
    model = parser.parse_model(text)
    for name, shape in {"C": (1, 4), "K": (2, 4, 1), "LW": (1, 12, 4), "LR": (1, 12, 3)}.items():
        if f" {name})" in body or f" {name}," in body:
            model.graph.initializer.append(numpy_helper.from_array(_floats(*shape), name))
    return model


@pytest.mark.parametrize("body", [*_OF_ONE_RANK.values(), *_DECLARED.values()], ids=[*_OF_ONE_RANK, *_DECLARED])
def test_a_rank_that_alone_can_be(body: str) -> None:
    Compared(_squeezed(body))(_floats(2, 4, 1), _floats(4, 3))


def test_a_rank_that_alone_can_be_in_a_function() -> None:
    """Import a model although a function cannot be imported with the other rank."""
    model = _squeezed("y = own.product (v, W)")
    model.functions.append(
        parser.parse_function('<domain: "own", opset_import: ["" : 21]> product (a, b) => (c) { c = Gemm (a, b) }')
    )
    model.opset_import.append(helper.make_opsetid("own", 1))
    Compared(model)(_floats(2, 4, 1), _floats(4, 3))


@pytest.mark.parametrize("op", ["Gemm", "Transpose", "Concat"])
def test_the_run_checks_the_rank_that_alone_can_be(op: str) -> None:
    main = rx.compile(rx.from_onnx(_squeezed(_OF_ONE_RANK[op])))["main"]
    with pytest.raises(AssertionError, match=f"{op} takes an input of 2 dimensions, but the input has"):
        main(_floats(2, 4, 3), _floats(4, 3))


def test_the_run_checks_the_rank_that_is_declared() -> None:
    main = rx.compile(rx.from_onnx(_squeezed(_DECLARED["Softmax"])))["main"]
    with pytest.raises(AssertionError, match="output 'y' is declared with 2 dimensions, but has another rank"):
        main(_floats(2, 4, 3), _floats(4, 3))
