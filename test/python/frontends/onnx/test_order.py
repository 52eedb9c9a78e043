# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs with nodes out of order: in the model, in branches, loops and functions."""

from __future__ import annotations

import random
from typing import Any

import numpy
import onnx
import pytest
from compiling import array
from onnx import helper, parser
from onnx_oracle import IS_OLD
from onnxruntime.transformers.float16 import convert_float_to_float16
from relax_mlir.frontends.onnx.order import in_order

import relax_mlir as rx

_NESTED = """<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
main (float[n, 4] x, int64 turns) => (float[n, 4] y) {
    zero = Constant <value_float = 0.0> ()
    total = ReduceSum <keepdims = 0> (x)
    c = Greater (total, zero)
    e = Exp (x)
    moved = If (c) <
        then_branch = a () => (float[n, 4] r) { t = Sqrt (e)  u = Neg (t)  r = Add (u, x) },
        else_branch = b () => (float[n, 4] s) { t = own.twice (e)  s = Sub (t, x) }
    >
    z = Loop (turns, c, moved) <body = d (int64 i, bool g, float[n, 4] h) => (bool k, float[n, 4] l) {
        o = own.twice (h)
        p = Add (o, e)
        k = Identity (g)
        l = Tanh (p)
    }>
    t = Abs (z)
    y = Add (t, e)
}
<domain: "own", opset_import: ["" : 21]>
twice (v) => (w) { m = Neg (v)  n = Sub (v, m)  w = Add (n, m) w2 = Identity (w) }
"""


def _turned(nodes: Any) -> None:
    """Reverse nodes, in nested graphs as well."""
    held = [onnx.NodeProto.FromString(each.SerializeToString()) for each in nodes]
    del nodes[:]
    nodes.extend(reversed(held))
    for proto in nodes:
        for attribute in proto.attribute:
            if attribute.HasField("g"):
                _turned(attribute.g.node)


def test_graphs_written_backwards() -> None:
    """Import nodes in reverse order with the same result.

    A branch and the surrounding graph may use one tensor name, such as `t`.
    """
    model = parser.parse_model(_NESTED)
    expected = str(rx.from_onnx(model))
    _turned(model.graph.node)
    for function in model.functions:
        _turned(function.node)
    assert model.graph.node[0].output[0] == "y"
    numbers = numpy.random.default_rng(3).normal(size=(3, 4)).astype("float32")
    runs = [rx.compile(rx.Module.parse(text))["main"] for text in (expected, str(rx.from_onnx(model)))]
    for turns in (0, 2):
        for data in (numbers, -numbers):
            one, other = (array(main(data, numpy.array(turns))) for main in runs)
            numpy.testing.assert_array_equal(one, other)


def test_the_order_that_a_converter_to_float16_leaves() -> None:
    model = parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    g (float[b, 4] x) => (float[b, 4] y) { n = Neg (x)  r = Abs (n)  y = Sigmoid (r) }""")
    halves = convert_float_to_float16(model, op_block_list=["Neg"])
    if IS_OLD:
        pytest.skip("the converter of this onnxruntime, the newest that Python 3.10 has, gives other names")
    made = [name for each in halves.graph.node for name in each.output]
    assert made.index("x_cast_to_fp32") > made.index("n_cast_to_fp16"), "the converter sorts by now: take another one"
    data = numpy.float16([[1, -2, 0.5, 7]])
    expected = 1 / (1 + numpy.exp(-abs(data.astype("float32"))))
    numpy.testing.assert_allclose(array(rx.compile(rx.from_onnx(halves))["main"](data)), expected, rtol=2e-3)


def _chain(count: int) -> list[Any]:
    return [helper.make_node("Add", [f"t{index}", "x"], [f"t{index + 1}"]) for index in range(count)]


def test_nodes_in_order_stay() -> None:
    nodes = [*_chain(5), helper.make_node("Neg", ["x"], ["late"]), helper.make_node("Abs", ["x"], ["unused"])]
    assert in_order(nodes) == nodes


def test_only_what_must_moves() -> None:
    """Move a node only if necessary, to the place before its first user."""
    first, second, third, last = _chain(4)
    assert in_order([first, third, last, second]) == [first, second, third, last]
    free = helper.make_node("Neg", ["x"], ["late"])
    assert in_order([free, second, first]) == [free, first, second]


@pytest.mark.parametrize("seed", range(3))
def test_long_chains(seed: int) -> None:
    nodes = _chain(20_000)
    mixed = nodes[::-1] if seed == 0 else random.Random(seed).sample(nodes, len(nodes))
    assert in_order(mixed) == nodes


def test_names_that_are_defined_need_nothing() -> None:
    second = helper.make_node("Neg", ["a"], ["b"])
    nodes = [second, helper.make_node("Abs", ["x"], ["a"])]
    assert in_order(nodes, {"a"}) == nodes
    assert in_order(nodes) == nodes[::-1]


def test_a_long_cycle_is_reported_shortly() -> None:
    nodes = [*_chain(20), helper.make_node("Neg", ["t20"], ["t0"], name="back")]
    with pytest.raises(rx.RelaxError) as raised:
        in_order(nodes)
    begin = "the graph has a cycle, of nodes of which each needs what the one before it makes: "
    assert raised.value.message.startswith(begin)
    listed = raised.value.message.removeprefix(begin).split(", ")
    assert listed == [*(f"'t{index}' (Add)" for index in range(1, 8)), "13 more", "'back' (Neg)"]
