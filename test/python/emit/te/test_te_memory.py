# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""te: recurrences, and functions that write memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm_ffi
from te_running import random, run

import relax_mlir as rx
from relax_mlir import te


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_scan(steps: int) -> None:
    m = te.var("m")
    x, state, w = te.placeholder((m, 5), name="X"), te.placeholder((m, 5), name="S"), te.placeholder((5, 5), name="W")
    k = te.reduce_axis((0, 5), name="k")
    init = te.compute((1, 5), lambda _, i: x[0, i], name="init")
    mixed = te.compute((m, 5), lambda t, i: te.sum(state[t - 1, k] * w[k, i], axis=k), name="mixed")
    update = te.compute((m, 5), lambda t, i: te.tanh(mixed[t, i] + x[t, i]), name="update")
    states = te.scan(init, update, state, inputs=[x])
    doubled = te.compute((m, 5), lambda t, i: states[t, i] * 2.0, name="doubled")
    array, weights = random(steps, 5), random(5, 5, seed=1)
    expected = array.copy()
    for t in range(1, steps):
        expected[t] = np.tanh(expected[t - 1] @ weights + array[t])
    np.testing.assert_allclose(run([x, w, doubled], array, weights), 2 * expected, rtol=1e-5, atol=1e-6)


def test_extern() -> None:
    def reverse(ins: Any, outs: Any) -> None:
        def element(i: Any, j: Any) -> None:
            rx.loops.store(rx.loops.load(ins[0], 11 - i, j), outs[0], i, j)

        rx.loops.nest(rx.loops.sizes(ins[0]), element)

    x = te.placeholder((12, 8), name="X")
    y = te.extern((12, 8), [x], reverse, name="reverse")
    z = te.compute((12, 4), lambda i, j: y[i, j] + 1.0, name="Z")
    array = random(12, 8)
    np.testing.assert_allclose(run([x, z], array), array[::-1, :4] + 1, atol=1e-6)


@pytest.mark.parametrize("steps", [0, 1, 2, 4])
def test_scan_of_several_states(steps: int) -> None:
    """Scan two states of different types, with a reduction in between and a step that reads the other state."""
    m = te.var("m")
    x, total = te.placeholder((m, 3), name="X"), te.placeholder((m, 3), name="total")
    count, r = te.placeholder((m,), "int32", name="count"), te.reduce_axis((0, 3), name="r")
    row = te.compute((m,), lambda t: te.sum(total[t - 1, r], axis=r), name="row")
    both = te.compute((m,), lambda t: row[t] * 0.5, name="both")
    next_total = te.compute((m, 3), lambda t, j: total[t - 1, j] + row[t] * x[t, j] + both[t], name="next_total")
    next_count = te.compute((m,), lambda t: count[t - 1] + row[t].astype("int32"), name="next_count")
    inits = te.compute((1, 3), lambda _, j: x[0, j], name="a"), te.compute((1,), lambda _: 7, name="b")
    totals, counts = te.scan(inits, (next_total, next_count), (total, count), inputs=[x])
    after = te.compute((m,), lambda t: totals[t, 0] - counts[t], name="after")
    array = random(steps, 3)
    wanted, numbers = array.copy(), np.full(steps, 7, "int32")
    for t in range(1, steps):
        row_before = wanted[t - 1].sum()
        wanted[t] = wanted[t - 1] + row_before * array[t] + row_before * 0.5
        numbers[t] = numbers[t - 1] + np.int32(row_before)
    found = run([x, totals, counts, after], array)
    for given, expected in zip(found, (wanted, numbers, wanted[:, 0] - numbers), strict=True):
        np.testing.assert_allclose(given, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 7])
def test_scan_of_two_first_steps(steps: int) -> None:
    m = te.var("m")
    x, state = te.placeholder((m,), "int32", name="X"), te.placeholder((m,), "int32", name="S")
    update = te.compute((m,), lambda t: state[t - 1] + state[te.max(t - 2, 0)], name="next")
    first = te.compute((2,), lambda t: 1, name="first")
    states = te.scan(first, update, state)
    plain = te.scan(first, te.compute((m,), lambda t: 2), state)
    assert "arith.minsi" in str(te.create_prim_func([x, plain]))  # steps 0 and 1 exist only if the scan is that long
    assert run([x, states], np.zeros(steps, "int32")).tolist() == [1, 1, 2, 3, 5, 8, 13][:steps]


def test_scan_without_steps_and_of_pairs() -> None:
    """Scan pairs without steps: a compute of two results updates two states, the maximum and its position."""
    x = te.placeholder((6,), name="X")
    best, at = te.placeholder((6,), name="best"), te.placeholder((6,), "int64", name="at")
    values = lambda t: te.if_then_else(x[t] > best[t - 1], x[t], best[t - 1])  # noqa: E731
    places = lambda t: te.if_then_else(x[t] > best[t - 1], t.astype("int64"), at[t - 1])  # noqa: E731
    updates = te.compute((6,), lambda t: (values(t), places(t)), name="both")
    inits = te.compute((1,), lambda _: (x[0], te.const(0, "int64")), name="init")
    array = random(6)
    found = run([x, *te.scan(inits, updates, (best, at))], array)
    np.testing.assert_array_equal(found[0], np.maximum.accumulate(array))
    assert found[1].tolist() == [int(array[: n + 1].argmax()) for n in range(6)]
    state = te.placeholder((2,), name="state")
    alone = te.scan(te.compute((2,), lambda t: x[t]), te.compute((2,), lambda t: state[t]), state)
    np.testing.assert_array_equal(run([x, alone], array), array[:2])


def test_extern_of_several_types() -> None:
    def split(ins: Any, outs: Any) -> None:
        def element(i: Any) -> None:
            value = rx.loops.load(ins[0], i)
            rx.loops.store(value.to("i32"), outs[0], i)
            rx.loops.store(value - value.to("i32").to("f32"), outs[1], i)

        rx.loops.nest(rx.loops.sizes(ins[0]), element)

    n = te.var("n")
    x = te.placeholder((n,), name="X")
    whole, part = te.extern([(n,), (n,)], [x], split, dtype=["int32", "float32"], name="split")
    k = te.reduce_axis((0, n), name="k")
    total = te.compute((), lambda: te.sum(part[k] * whole[k], axis=k), name="total")
    array = np.array([0.5, 2.25, 7.75], "float32")
    found = run([x, whole, part, total], array)
    np.testing.assert_array_equal(found[0], [0, 2, 7])
    np.testing.assert_array_equal(found[1], [0.5, 0.25, 0.75])
    assert found[2] == 0.5 + 5.25
    assert te.extern([4, 5], [x], split).shape == (4, 5) and te.extern([(n,)], [x], split).shape == (n,)


def test_extern_of_a_packed_function() -> None:

    def fill(source: Any, target: Any) -> None:
        np.from_dlpack(target)[:] = np.from_dlpack(source)[::-1]

    tvm_ffi.register_global_func("test_te.reverse", fill, override=True)
    x = te.placeholder((4,), name="X")
    y = te.extern((4,), [x], lambda ins, outs: te.call_packed("test_te.reverse", ins[0], outs[0]))
    z = te.compute((2,), lambda i: y[i] * 2.0, name="Z")
    np.testing.assert_array_equal(run([x, y, z], np.arange(4, dtype="float32"))[1], [6, 4])


def test_te_computes_on_memory_beside_extern_functions() -> None:
    """Compute on memory next to a function that writes memory: parts, initial values of reductions, unknown sizes."""
    n = te.var("n")
    x = te.placeholder((n, 4), name="X")
    copied = te.extern((n, 4), [x], lambda ins, outs: rx.loops.copy(ins[0], outs[0]), name="copied")
    k, r = te.reduce_axis((0, 3), name="k"), te.reduce_axis((0, 2), name="r")
    sums = te.compute((n,), lambda i: te.sum(copied[i, k + 1], axis=[k, r], init=1.0), name="sums")
    begin = te.compute((n, 2), lambda i, j: copied[i, j] + sums[i], name="begin")
    array = random(5, 4)
    found = run([x, sums, begin], array)
    expected = 2 * array[:, 1:].sum(axis=1) + 1
    np.testing.assert_allclose(found[0], expected, rtol=1e-5)
    np.testing.assert_allclose(found[1], array[:, :2] + expected[:, None], rtol=1e-5)


def test_wrong_stores_of_user_functions_are_reported() -> None:
    x = te.placeholder((4,), name="X")
    wrong = te.extern((4,), [x], lambda ins, outs: rx.loops.store(1.0, outs[0], 0, 0), name="wrong")
    with pytest.raises(rx.RelaxError, match=r"(?s)test_te_memory.py:.*invalid number of indices"):
        rx.compile(te.create_prim_func([x, wrong]))
