# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Concurrent loops: results equal onnxruntime's and numpy's, with the same bits for one thread and for several."""

from __future__ import annotations

from typing import Any

import numpy
import onnx.parser
import pytest
from against_onnxruntime import Compared, one_node

import relax_mlir as rx

_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def lowered(model: Any) -> str:
    return str(rx.lower(rx.from_onnx(model), pipeline=rx.stages("llvm").until("plan")))


def floats(*shape: int, seed: int = 0) -> Any:
    return (numpy.random.default_rng(seed).normal(size=shape) * 0.1).astype("float32")


@pytest.mark.parametrize("op", sorted(_GATES))
def test_directions_of_recurrent_networks(op: str) -> None:
    gates, size, width = _GATES[op], 64, 24
    inputs = {
        "x": floats(40, 2, width, seed=1),
        "w": floats(2, gates * size, width, seed=2),
        "r": floats(2, gates * size, size, seed=3),
        "b": floats(2, 2 * gates * size, seed=4),
    }
    model = one_node(op, inputs, outputs=2, hidden_size=size, symbolic=False, direction="bidirectional")
    assert lowered(model).count("relax.concurrent = 0") == 2
    program = rx.compile(rx.from_onnx(model))
    found = []
    for threads in (1, 2, 3):
        program.threads = threads
        for _ in range(5):
            found.append([numpy.asarray(each) for each in program["main"](*inputs.values())])
    for each in found[1:]:
        for one, other in zip(found[0], each, strict=True):
            numpy.testing.assert_array_equal(one, other)
    for one, other in zip(found[0], Compared(model)(*inputs.values()), strict=True):
        numpy.testing.assert_array_equal(one, other)


#: Two loops, each of which adds up rows that it takes by an index.
_TWO = """<ir_version: 10, opset_import: ["": 20]>
main (float[4, 3000] x, int64 one, int64 other, int64 n) => (float[3000] a, float[3000] b) {
    yes = Constant <value = bool {1}> ()
    zero = Constant <value = float {0.0}> ()
    size = Constant <value = int64[1] {3000}> ()
    none = Expand (zero, size)
    a = Loop (n, yes, none) <body = first (int64 i, bool c, float[3000] s) => (bool g, float[3000] t) {
        g = Identity (c)  row = Gather (x, one)  t = Add (s, row)
    }>
    b = Loop (n, yes, none) <body = second (int64 i, bool c, float[3000] s) => (bool g, float[3000] t) {
        g = Identity (c)  row = Gather (x, other)  t = Sub (s, row)
    }>
}"""


def two_loops() -> Any:
    return onnx.parser.parse_model(_TWO)


def test_what_fails_in_one_of_them_ends_the_call() -> None:
    """Raise the error of the first loop, whichever fails earlier. The next call works."""
    assert lowered(two_loops()).count("relax.concurrent = 0") == 2
    main = rx.compile(rx.from_onnx(two_loops()))
    x = numpy.arange(12000, dtype="float32").reshape(4, 3000)
    for threads in (1, 2):
        main.threads = threads
        for one, other, place in ((9, 1, 9), (1, 7, 7), (9, 7, 9)):
            with pytest.raises(IndexError, match=f"{place}"):
                main["main"](x, numpy.int64(one), numpy.int64(other), numpy.int64(200))
        a, b = main["main"](x, numpy.int64(1), numpy.int64(3), numpy.int64(3))
        numpy.testing.assert_array_equal(a, 3 * x[1])
        numpy.testing.assert_array_equal(b, -3 * x[3])


def test_a_loop_of_no_turns() -> None:
    main = rx.compile(rx.from_onnx(two_loops()))["main"]
    for each in main(floats(4, 3000), numpy.int64(0), numpy.int64(0), numpy.int64(0)):
        numpy.testing.assert_array_equal(each, numpy.zeros(3000))
