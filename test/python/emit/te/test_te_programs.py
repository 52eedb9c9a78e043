# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""te: typical programs: rebound names, functions called once, sizes of 0 and 1, blocks by name."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
from te_running import random, run

import relax_mlir as rx
from relax_mlir import te

X = te.placeholder((5,), name="X")
FIVE = np.arange(5, dtype="float32")


def chain(count: int) -> Any:
    x = X
    for step in range(count):
        x = te.compute((5,), lambda i: x[i] + float(step % 3), name="x")  # noqa: B023  # it is called at once
    return x


def test_a_function_is_called_once_and_at_once() -> None:
    assert run([X, chain(7)], FIVE).tolist() == (FIVE + 6).tolist()
    calls: list[int] = []
    weights = [2.0]
    y = te.compute((5,), lambda i: calls.append(1) or X[i] * weights[0])
    weights[0] = 9.0
    for _ in range(2):
        np.testing.assert_array_equal(run([X, y], FIVE), 2 * FIVE)
    assert calls == [1]


@pytest.mark.slow
def test_long_chains() -> None:
    """Check that long chains need neither Python's stack nor quadratic time."""
    took = {}
    for count in (400, 1600):
        start = time.process_time()
        te.create_prim_func([X, chain(count)])
        took[count] = time.process_time() - start
    assert took[1600] < 10 * took[400]


def test_a_tensor_made_in_a_function_and_in_a_thread() -> None:
    made: list[Any] = []
    thread = threading.Thread(target=lambda: made.append(te.compute((5,), lambda i: X[i] * 2.0, name="doubled")))
    thread.start(), thread.join()
    inner = te.compute((5,), lambda i: te.compute((5,), lambda j: made[0][j] + 1.0)[4 - i])
    np.testing.assert_array_equal(run([X, inner], FIVE), 2 * FIVE[::-1] + 1)


def test_names_of_parameters_and_functions() -> None:
    x, y = te.placeholder((5,)), te.placeholder((5,))
    np.testing.assert_array_equal(run([x, y, te.compute((5,), lambda i: x[i] - y[i], name="main")], FIVE, FIVE + 1), -1)
    module = te.create_prim_func([x, y, te.compute((5,), lambda i: x[i] - y[i])], name="mine")
    assert "@mine(" in str(module) and "@main(" in str(module)
    assert repr(x) == "Tensor(shape=(5), name='placeholder', dtype='f32')"


def test_no_inputs_one_returned_and_scalars() -> None:
    np.testing.assert_array_equal(run([te.compute((3,), lambda i: i.astype("float32") + 1.0)]), [1, 2, 3])
    factor, k = te.placeholder((), name="factor"), te.reduce_axis((0, 5), name="k")
    same = te.compute((5,), lambda i: X[i], name="same")
    scaled = te.compute((5,), lambda i: same[i] * factor() + factor[()], name="scaled")
    total = te.compute((), lambda: te.sum(scaled[k], axis=k), name="total")
    found = run([factor, X, same, scaled, total], np.array(2, "float32"), FIVE)
    for given, expected in zip(found, (FIVE, 2 * FIVE + 2, (2 * FIVE + 2).sum()), strict=True):
        np.testing.assert_array_equal(given, expected)


def test_guards_of_loops_of_one_step_or_none() -> None:
    """Accept an access that a guard never lets through, for loops of one step and tensors without elements."""
    none = te.placeholder((0,), name="none")
    one = te.compute((1,), lambda i: te.if_then_else(i >= 1, X[i - 1], X[i + 3]), name="one")
    joined = te.compute((5,), lambda i: te.if_then_else(i < 5, X[i], none[i - 5]), name="joined")
    lazy = te.compute((5,), lambda i: te.if_then_else(i >= 5, lambda: none[i - 5], lambda: X[i]), name="lazy")
    found = run([none, X, one, joined, lazy], np.zeros(0, "float32"), FIVE)
    for given, expected in zip(found, ([3], FIVE, FIVE), strict=True):
        np.testing.assert_array_equal(given, expected)


def test_nothing_to_reduce_gives_the_identity() -> None:
    n = te.var("n")
    x, fixed = te.placeholder((n, 4), name="x"), te.placeholder((4,), name="fixed")
    empty, open_axis = te.reduce_axis((0, 0), "e"), te.reduce_axis((0, n), "o")
    strided = te.compute((2,), lambda i: te.sum(fixed[2 * empty + i], axis=empty), name="strided")
    lowest = te.compute((4,), lambda j: te.max(x[open_axis, j], axis=open_axis), name="lowest")
    start = te.compute((4,), lambda j: te.min(x[open_axis, j], axis=open_axis, init=7.5), name="start")
    found = run([x, fixed, strided, lowest, start], np.zeros((0, 4), "float32"), FIVE[:4])
    assert [each.tolist() for each in found] == [[0, 0], [-np.inf] * 4, [7.5] * 4]


def test_axes_shared_and_used_in_branches() -> None:
    k = te.reduce_axis((0, 5), name="k")
    total = te.compute((5,), lambda i: te.sum(X[k], axis=k), name="total")
    weighted = te.compute((1,), lambda _: te.sum(total[k] * X[k], axis=k), name="weighted")
    chosen = te.compute((2,), lambda i: te.sum(te.if_then_else(k == i, lambda: X[k] + 1.0, 0.0), axis=k), name="chosen")
    unequal = te.compute((1,), lambda _: te.sum(te.if_then_else(k != 0, 1, 0), axis=k), name="unequal")
    found = run([X, weighted, chosen, unequal], FIVE)
    assert [each.tolist() for each in found] == [[100], [1, 2], [4]]


def test_reducers_of_constants_and_pairs() -> None:
    k = te.reduce_axis((0, 5), name="k")
    product = te.comm_reducer(lambda x, y: x * y, lambda dtype: te.const(1, dtype), name="product")
    both = te.comm_reducer(lambda x, y: (x[0] + y[0], x[1] * y[1]), lambda s, t: (te.const(0, s), te.const(1, t)))
    one = te.compute((1,), lambda _: product(X[k] + 1, axis=k), name="one")
    pair = te.compute((2,), lambda i: both((X[k], (k + 1).astype("int32")), axis=k, where=k < 4), name="pair")
    largest = te.compute((1,), lambda _: te.max(X[k], k, where=k < 3, init=1), name="largest")
    found = run([X, one, *pair, largest], FIVE)
    assert [each.tolist() for each in found] == [[120], [6, 6], [24, 24], [2]]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint32", "int64", "bool"])
def test_indices_of_all_types(dtype: str) -> None:
    places = np.array([200, 0, 127] if dtype[0] == "u" else [1, 0, 1]).astype(dtype)
    x, at = te.placeholder((300,), name="x"), te.placeholder((3,), dtype, name="at")
    y = te.compute((3,), lambda i: x[at[i]] + x[at[i] + i], name="y")
    array = np.arange(300, dtype="float32")
    whole = places.astype("int64")
    np.testing.assert_array_equal(run([x, at, y], array, places), whole + whole + np.arange(3))


def test_places_outside_are_read_at_the_edge() -> None:
    at = te.placeholder((5,), "int32", name="at")
    y = te.compute((5,), lambda i: X[at[i]], name="y")
    z = te.compute((5,), lambda i: te.if_then_else(te.all(at[i] >= 0, at[i] < 5), X[at[i]], -1.0), name="z")
    found = run([X, at, y, z], FIVE, np.array([-(2**31), -1, 2, 5, 2**31 - 1], "int32"))
    assert [each.tolist() for each in found] == [[0, 0, 2, 4, 4], [-1, -1, 2, -1, -1]]


def test_blocks_by_the_names_of_tensors() -> None:
    k = te.reduce_axis((0, 5), name="k")
    both = te.comm_reducer(lambda x, y: (x[0] + y[0], x[1] * y[1]), lambda s, t: (0, 1), name="both")
    a = te.compute((5,), lambda i: te.max(X[i], 0.0), name="C")
    b = te.compute((5,), lambda i: te.sum(a[i] * X[k], axis=k, init=2), name="C")
    c = te.compute((5,), lambda i: both((a[k], b[k]), axis=k), name="pair")
    schedule = rx.Schedule(te.create_prim_func([X, *c]))
    for name, count in {"C": 1, "C_1": 2, "pair": 2}.items():
        loops = schedule.get_loops(schedule.get_block(name))
        assert len(loops) == count, name
    schedule.vectorize(schedule.get_loops(schedule.get_block("C"))[0])
    schedule.unroll(schedule.get_loops(schedule.get_block("C_1"))[0])
    a_, x = FIVE, FIVE
    b_ = a_ * x.sum() + 2
    for given, expected in zip(rx.compile(schedule.mod)["main"](x), (a_.sum(), b_.prod()), strict=True):
        np.testing.assert_allclose(np.from_dlpack(given), [expected] * 5, rtol=1e-5)


OWN = rx.Dialect("teprograms")
OWN.op("same", "x", infer=lambda call: call.x, doc="x")
FUNCTIONS: list[Any] = []


@rx.register_legalize("teprograms.same")
def same_by_te(call: Any) -> Any:
    return call.call_te(FUNCTIONS[-1])


def in_a_rule(function: Any) -> Any:
    FUNCTIONS.append(function)
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 3))}) as f:
        f.returns(OWN.same(*f))
    return rx.compile(module)["main"](np.arange(6, dtype="float32").reshape(2, 3))


def test_rules_of_memory() -> None:
    found = in_a_rule(lambda x: te.extern(x.shape, [x], lambda ins, outs: rx.loops.copy(ins[0], outs[0])))
    np.testing.assert_array_equal(np.from_dlpack(found), np.arange(6).reshape(2, 3))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: te.compute(x.shape, lambda *at: x(*at) * "a"), r"test_te_programs.py.*a number, got str 'a'"),
        (lambda x: None, "the function gives tensors of te, not None"),
        (lambda x: 1 // 0, "the function that is given to call_te: ZeroDivisionError"),
        (lambda x: [x, x], "the function gives 2 tensors, the operator has 1 results"),
        (lambda x: te.compute((x.shape[0],), lambda i: x[i, 0]), r"test_te_programs.py.*name='compute'.*is no tensor"),
        (lambda x: te.compute((x.shape[0], 2), lambda i, j: x[i, j]), r"test_te_programs.py.*is no tensor<\?x3xf32"),
        (lambda x: te.compute(x.shape, lambda i, j: x[i, j].astype("int32")), r"dtype='i32'\) is no tensor"),
        (lambda x: te.compute(x.shape, lambda i, j: X[i]), "test_te_programs.py.*'X' is needed, and not given"),
    ],
)
def test_rules_are_given_errors(function: Any, message: str) -> None:
    with pytest.raises(rx.RelaxError, match=f"(?s){message}"):
        in_a_rule(function)


def test_random_order_of_what_is_given() -> None:
    y = te.placeholder((5,), name="Y")
    first = te.compute((5,), lambda i: X[i] - y[i], name="first")
    second = te.compute((5,), lambda i: first[i] * y[i], name="second")
    array = random(5)
    found = run([second, y, X, first], array, FIVE)
    np.testing.assert_allclose(found[0], (FIVE - array) * array, rtol=1e-6)
    np.testing.assert_allclose(found[1], FIVE - array, rtol=1e-6)


def test_loops_and_checks_in_a_function() -> None:
    at, k = te.placeholder((5,), "int32", name="at"), te.reduce_axis((0, 5), name="k")

    def checked(i: Any) -> Any:
        rx.loops.require(at[i] < 5, "IndexError", "too far: {}", at[i])
        return rx.loops.for_range(0, 5, lambda j, total: total + X[j], X[at[i]])[0]

    def summed(_: Any) -> Any:
        rx.loops.require(at[k] < 5, "IndexError", "too far: {}", at[k])
        return te.sum(X[at[k]], axis=k, init=1)

    for function, expected in ((checked, [10, 11, 12, 13, 14]), (summed, [11] * 5)):
        main = rx.compile(te.create_prim_func([X, at, te.compute((5,), function)]))["main"]
        places = np.arange(5, dtype="int32")
        assert np.from_dlpack(main(FIVE, places)).tolist() == expected
        with pytest.raises(IndexError, match=r"test_te_programs.py:\d+: too far: 9"):
            main(FIVE, np.array([0, 1, 2, 3, 9], "int32"))


def test_places_known_to_be_inside_are_operands() -> None:
    x = te.placeholder((9,), name="x")
    places: list[Any] = [
        lambda i: 8 - i,
        lambda i: 2 * i,
        lambda i: i * 2,
        lambda i: (i + 7) // 2,
        lambda i: (i - 4) % 9,
    ]
    for place in places:
        y = te.compute((5,), lambda i: x[place(i)], name="y")  # noqa: B023  # it is called at once
        assert "tensor.extract" not in str(te.create_prim_func([x, y]))
        array = np.arange(9, dtype="float32")
        np.testing.assert_array_equal(run([x, y], array), place(np.arange(5)))


def test_an_index_too_long_to_be_kept_as_text() -> None:
    def far(at: Any) -> Any:
        for j in range(1, 60):
            at = (at * 3 + j) // 2 + (at % (j + 7)) * (at // (j + 1))
        return at % 5

    y = te.compute((5,), lambda i: X[far(i)], name="y")
    np.testing.assert_array_equal(run([X, y], FIVE), far(np.arange(5)))
