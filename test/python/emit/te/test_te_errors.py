# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refusals of te, with the line. Nothing ends in a traceback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relax_mlir as rx
from relax_mlir import te

X = te.placeholder((4, 8), name="X")
I32, U8, U32 = (te.placeholder((4,), dtype, name=dtype) for dtype in ("int32", "uint8", "uint32"))
F16, BF16, BOOL = (te.placeholder((4,), dtype, name=dtype) for dtype in ("float16", "bfloat16", "bool"))
K = te.reduce_axis((0, 8), name="k")
N = te.var("n")
Y = te.compute((4,), lambda i: te.sum(X[i, K], axis=K), name="Y")
S = te.placeholder((6, 3), name="S")
INIT = te.compute((1, 3), lambda _, j: 0.0, name="init")


def of(function: Callable[..., Any]) -> Any:
    return te.compute((4,), function)


def scanned(function: Callable[..., Any]) -> Any:
    return te.scan(INIT, te.compute((6, 3), function, name="up"), S)


def leaking() -> Any:
    kept: list[Any] = []
    of(lambda i: kept.append(X[i, 0]) or 1.0)
    return of(lambda i: kept[0] + 1.0)


def leaking_index() -> Any:
    kept: list[Any] = []
    of(lambda i: kept.append(i) or 1.0)
    return of(lambda i: X[kept[0], 0])


def failing(i: Any) -> Any:
    raise KeyError("mine")


def of_state(function: Callable[..., Any], *shape: int) -> Any:
    between = te.compute(shape, function, name="between")
    return te.scan(INIT, te.compute((6, 3), lambda t, j: between[(t, j)[2 - len(shape) :]], name="up"), S)


def extern_of_state() -> Any:
    written = te.extern((6, 3), [S], lambda ins, outs: None, name="written")
    return te.scan(INIT, te.compute((6, 3), lambda t, j: written[t - 1, j]), S)


def update_as_output() -> Any:
    update = te.compute((6, 3), lambda t, j: S[t - 1, j], name="up")
    return te.create_prim_func([update, te.scan(INIT, update, S, name="steps")])


def two_updates(first: Any, second: Any, states: Any = None) -> Any:
    other = te.placeholder((6, 3), name="other")
    return te.scan([INIT, first], [second, second], states or [S, other])


UPDATE = te.compute((6, 3), lambda t, j: S[t - 1, j] + 1.0, name="update")


def reduced(combine: Callable[..., Any], identity: Callable[..., Any], **options: Any) -> Any:
    return of(lambda i: te.comm_reducer(combine, identity, name="own")(X[i, K], axis=K, **options))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        # shapes, dtypes, names
        (lambda: te.placeholder((4,), "flot32"), "unknown dtype 'flot32'; did you mean 'float32'?"),
        (lambda: te.placeholder((4,), 3), "unknown dtype 3"),
        (lambda: te.placeholder((-1,)), "sizes are numbers from 0 on, below 2**63, te.vars"),
        (lambda: te.placeholder((1 << 63,)), "sizes are numbers from 0 on"),
        (lambda: te.placeholder((True,)), "sizes are numbers from 0 on"),
        (lambda: te.placeholder(np.array([2, 3])), "sizes are numbers from 0 on"),
        (lambda: te.placeholder((1 << 32, 1 << 31)), "are more elements than 2**63 - 1"),
        (lambda: te.placeholder((4,), name=3), "te.placeholder: a name is a text, not 3"),
        (lambda: te.compute((4.5,), lambda i: 1.0), "sizes are numbers from 0 on"),
        (lambda: te.var("a", "float32"), "te.var 'a' is a size, of int64; a float32 is a te.placeholder of shape ()"),
        (lambda: te.var("a b"), "te.var: 'a b' cannot name a dimension"),
        (lambda: te.var(3), "te.var: a name is a text, not 3"),
        (lambda: te.reduce_axis(8), "te.reduce_axis 'rv': expected (start, stop), got 8"),
        (lambda: te.reduce_axis((0, 8, 1)), "expected (start, stop), got (0, 8, 1)"),
        (lambda: te.reduce_axis((N, 8)), "it starts at a number, not at SymExpr('n')"),
        (lambda: te.reduce_axis((8, 7)), "it goes from 8 to before a size that is not smaller, not 7"),
        (lambda: te.reduce_axis((0, 8.0)), "not 8.0"),
        (lambda: te.const("a"), "te.const: expected a number, got 'a'"),
        (lambda: te.const(1, "foo"), "te.const: unknown dtype 'foo'"),
        (lambda: te.min_value("foo"), "te.min_value: unknown dtype 'foo'"),
        (lambda: te.max_value("foo"), "te.max_value: unknown dtype 'foo'"),
        # functions of places
        (lambda: te.compute((4,), lambda i, j: 1.0), "the shape has 1 dimensions, the function 2 indices"),
        (lambda: te.compute((4,), 3), "expected a function of 1 indices, got 3"),
        (lambda: te.compute((4,), lambda i, *, j: 1.0), "the function has an argument 'j', which is not given"),
        (lambda: te.compute((4,), max), "does not say how many indices it takes: use a lambda"),
        (lambda: of(failing), "KeyError: 'mine'"),
        (lambda: of(lambda i: i), "an index is given: say of which type"),
        (lambda: of(lambda i: "a"), "a function of places gives numbers: expected a number, got str 'a'"),
        (lambda: of(lambda i: None), "expected a number, got NoneType None"),
        (lambda: of(lambda i: ()), "a function of places gives a number, not nothing"),
        (lambda: of(lambda i: X), "got the tensor 'X': say which of its elements"),
        (lambda: of(lambda i: X.missing), "'Placeholder' object has no attribute 'missing'"),
        (leaking, "a number of another function is used"),
        (leaking_index, "a number of another function is used"),
        (lambda: of(lambda i: te.compute((8,), lambda j: X[i, j])[0]), "a number of another function is used"),
        # elements
        (lambda: X[0, 0], "an element of 'X' is known in the function of a te.compute only"),
        (lambda: of(lambda i: X[i]), "'X' has 2 dimensions, 1 indices are given"),
        (lambda: of(lambda i: X[i + 4, 0]), "elements along dimension 0, but the index is i + 4"),
        (lambda: of(lambda i: X[i, -1]), "'X' has 8 elements along dimension 1, but the index is -1"),
        (lambda: of(lambda i: X[i, 8]), "but the index is 8"),
        (lambda: of(lambda i: X[i, 1.5]), "'X': an index is an integer, not 1.5"),
        (lambda: of(lambda i: X[i, X[i, 0]]), "'X': an index is an integer, not f32"),
        (lambda: of(lambda i: X[i, True]), "'X': an index is an integer, not True"),
        (lambda: of(lambda i: X[i, :]), "'X' is asked for one element: an index is a number, not slice"),
        (lambda: of(lambda i: X[i, None]), "an index is a number, not None"),
        (lambda: of(lambda i: X[i, I32]), "got the tensor 'int32': say which of its elements"),
        (lambda: X.__setitem__((0, 0), 1.0), "what an element is, the function that is given to te.compute returns"),
        (lambda: list(X), "'X' has no elements yet that one could go through"),
        (lambda: X + 1, "'X' is a tensor; what is computed with is its elements, 'X[i, j]'"),
        (lambda: np.ones(4) * X, "'X' is a tensor; what is computed with is its elements"),
        # numbers
        (lambda: of(lambda i: 1.0 if X[i, 0] > 0 else 2.0), "use te.if_then_else, te.all, te.any"),
        (lambda: of(lambda i: te.if_then_else(0 <= i < 3, 1.0, 2.0)), "use te.if_then_else, te.all, te.any"),
        (lambda: of(lambda i: 1.0 if te.const(1, "bool") else 2.0), "use te.if_then_else, te.all, te.any"),
        (lambda: of(lambda i: X[i, 0] * np.ones(4)), "got a ndarray of shape (4,): what a program is given is"),
        (lambda: of(lambda i: np.ones(4) * X[i, 0]), "got a ndarray of shape (4,)"),
        (lambda: of(lambda i: I32[i] / 2), "`/` of i32: use te.floordiv or te.truncdiv"),
        (lambda: of(lambda i: I32[i] // 0), "`//` by 0"),
        (lambda: of(lambda i: X[i % 0, 0]), "`%` by 0"),
        (lambda: of(lambda i: te.truncdiv(I32[i], 0)), "te.truncdiv by 0"),
        (lambda: of(lambda i: te.truncmod(X[i, 0], 2)), "te.truncmod is of integers, not of f32"),
        (lambda: of(lambda i: F16[i] + BF16[i]), "f16 and bf16, of which neither holds the other's numbers"),
        (lambda: of(lambda i: U32[i] + I32[i]), "ui32 and i32, of which neither holds the other's numbers"),
        (lambda: of(lambda i: I32[i].astype("int8") + U32[i]), "i8 and ui32, of which neither holds"),
        (lambda: of(lambda i: U8[i] > -1), "-1 is no ui8, which goes from 0 to 255"),
        (lambda: of(lambda i: U8[i] + 256), "256 is no ui8"),
        (lambda: of(lambda i: te.const(128, "int8")), "128 is no i8, which goes from -128 to 127"),
        (lambda: of(lambda i: te.const(0.5, "int8")), "0.5 is no i8"),
        (lambda: of(lambda i: BOOL[i] + BOOL[i]), "`+` of two bools: use & and |"),
        (lambda: of(lambda i: X[i, 0] & X[i, 1]), "`&` is of integers and bools, not of f32"),
        (lambda: of(lambda i: ~X[i, 0]), "~ is of integers and bools, not of f32"),
        (lambda: of(lambda i: X[i, 0].astype("foo")), "unknown dtype 'foo'"),
        (lambda: of(lambda i: te.if_then_else(I32[i], 1.0, 2.0)), "a condition is a comparison or a bool, not i32"),
        (lambda: of(lambda i: te.if_then_else(i > 0, F16[i], BF16[i])), "f16 and bf16"),
        (lambda: of(lambda i: te.if_then_else(i > 0, lambda: F16[i], lambda: BF16[i])), "f16 and bf16"),
        (lambda: of(lambda i: te.if_then_else(i > 0, lambda: None, 1)), "expected a number, got NoneType None"),
        (lambda: of(lambda i: te.all()), "te.all: expected conditions, got none"),
        (lambda: of(lambda i: te.any(i > 0, "a")), "expected a number, got str 'a'"),
        (lambda: of(lambda i: te.any(i > 0, X[i, 0])), "te.any: a condition is a comparison or a bool, not f32"),
        (lambda: of(lambda i: te.max(X[i, 0])), "te.max: expected two numbers, or a number and axis="),
        (lambda: te.max(1, 2), "te.max is known in the function of a te.compute only"),
        (lambda: te.const(1) + 1, "the constant 1 is known in the function of a te.compute only"),
        (lambda: K + 1, "where reduce axis 'k' stands is known in the function of a te.compute only"),
        (lambda: te.exp(1.0), "te.exp is known in the function of a te.compute only"),
        (lambda: of(lambda i: te.exp(I32[i])), "'tir.exp' op operand 'x' (i32) must be floating-point"),
        (lambda: of(lambda i: te.exp(X)), "got the tensor 'X'"),
        (lambda: of(lambda i: te.sign(U8[i])), "te.sign is of signed numbers, not of ui8"),
        (lambda: te.call_packed("f"), "te.call_packed is known in the function of a te.extern or te.compute only"),
        (lambda: of(lambda i: te.call_pure_extern("sinf", X[i, 0])), "unknown dtype 'sinf'"),
        (lambda: of(lambda i: te.call_pure_extern("float32")), "misses attribute 'func'"),
        # reductions
        (lambda: of(lambda i: X[i, K]), "reduce axis 'k' is used, and no reduction goes along it"),
        (lambda: of(lambda i: te.sum(X[i, K], axis=K) + 1.0), "nothing can be computed with a reduction"),
        (lambda: of(lambda i: -te.sum(X[i, K], axis=K)), "nothing can be computed with a reduction"),
        (lambda: of(lambda i: te.sum(X[i, K], axis=K).astype("int32")), "nothing can be computed with a reduction"),
        (lambda: of(lambda i: te.sum(te.sum(X[i, K], axis=K), axis=K)), "use its tensor in another te.compute"),
        (lambda: of(lambda i: te.sum(X[i, K])), "te.sum: axis= is what te.reduce_axis gives, or several, not NoneType"),
        (lambda: of(lambda i: te.sum(X[i, 0], axis=i)), "or several, not a number, index"),
        (lambda: of(lambda i: te.sum(X[i, K], axis=[K, K])), "axis= is what te.reduce_axis gives"),
        (lambda: of(lambda i: te.sum(X[i, 0], axis=[])), "axis= is what te.reduce_axis gives"),
        (lambda: of(lambda i: te.sum(K, axis=K)), "te.sum: an index is reduced: say of which type"),
        (lambda: of(lambda i: te.sum(BOOL[i], axis=K)), "`+` of two bools"),
        (lambda: of(lambda i: te.sum(X[i, K], axis=K, where=X[i, K])), "te.sum: where=: a condition is a comparison"),
        (lambda: of(lambda i: te.sum(X[i, K], axis=K, init=X[i, 0])), "what a reduction starts from is a constant"),
        (lambda: te.sum(X, axis=K), "te.sum is known in the function of a te.compute only"),
        (lambda: reduced(lambda x, y: (x, y), lambda _: 0.0), "the reduction's function gives 2 values of 1"),
        (lambda: reduced(lambda x, y: x > y, lambda _: 0.0), "the reduction's function gives i1 of two f32"),
        (lambda: reduced(lambda x, y: x + y, lambda _: None), "expected a number, got NoneType None"),
        (lambda: reduced(lambda x, y: x + y, lambda _: (0, 1)), "te.own: the identity has 2 values of 1"),
        (lambda: reduced(lambda x, y: x + y, lambda _: 0, init=(1, 2)), "te.own: init= has 2 values of 1"),
        # recurrences
        (lambda: te.scan(Y, Y, X), "the shapes do not fit"),
        (lambda: te.scan(3, 4, 5), "te.scan 'scan': inits are tensors of te, not 3"),
        (lambda: te.scan([INIT], [UPDATE, UPDATE], [S]), "1 inits, 2 updates, 1 states"),
        (lambda: two_updates(INIT, UPDATE), "each state has a placeholder and an update of its own"),
        (lambda: te.scan(te.compute((1, 3), lambda t, j: 0), UPDATE, S), "the dtypes do not fit: 'compute' i32"),
        (lambda: te.scan(te.compute((N, 3), lambda t, j: 0.0), UPDATE, S), "'init' has n steps, expected a number"),
        (lambda: te.scan(te.compute((0, 3), lambda t, j: 0.0), UPDATE, S), "'init' has 0 steps, expected a number"),
        (lambda: te.scan(te.compute((7, 3), lambda t, j: 0.0), UPDATE, S), "'init' has 7 steps, the state 6"),
        (lambda: te.scan(INIT, S, S), "the update is a te.compute"),
        (lambda: te.scan(INIT, UPDATE, UPDATE), "the state is a te.placeholder, which the update reads"),
        (lambda: scanned(lambda t, j: S[t, j]), "reads state 'S' of a step that is not known to be before its own"),
        (lambda: scanned(lambda t, j: S[t + 1, j]), "'up' reads state 'S' of a step"),
        (lambda: scanned(lambda t, j: S[I32[0], j]), "'up' reads state 'S' of a step"),
        (lambda: of_state(lambda j: S[0, j], 3), "'between' depends on a state, so its first dimension is the steps"),
        (lambda: te.scan(INIT, te.compute((6, 3), lambda t, j: UPDATE[t - 1, j]), S), "'update' of another step"),
        (extern_of_state, "'written' depends on 'S', but only a te.compute can in a step"),
        (update_as_output, "what depends on 'S' is known in te.scan 'steps' only"),
        (lambda: te.create_prim_func([S, te.scan(INIT, UPDATE, S)]), "state 'S' of te.scan 'scan' is not given"),
        # functions of memory
        (lambda: te.extern((4,), [3], print), "inputs are tensors of te, not 3"),
        (lambda: te.extern((4,), None, print), "inputs are tensors of te, not None"),
        (lambda: te.extern((4,), [X], 3), "expected a function of inputs and outputs, got 3"),
        (lambda: te.extern((4,), [X, I32], print), "say dtype=, its inputs are of 2"),
        (lambda: te.extern([(4,), (4,)], [X], print, dtype=["int8"]), "2 shapes and 1 dtypes"),
        (lambda: te.create_prim_func([X, te.extern((4,), [X], lambda ins: None)]), "takes 1 positional argument but 2"),
        (lambda: te.create_prim_func([X, te.extern((4,), [X], lambda ins, outs: 1 // 0)]), "ZeroDivisionError"),
        # the whole
        (lambda: te.create_prim_func([Y]), "'X' is needed, and not among the tensors"),
        (lambda: te.create_prim_func([X]), "nothing is computed"),
        (lambda: te.create_prim_func([X, 3]), "expected tensors of te, got 3"),
        (lambda: te.create_prim_func(X), "expected a list of tensors, got Tensor(shape=(4, 8), name='X', dtype='f32')"),
        (lambda: te.create_prim_func([X, X, Y]), "'X' is there twice"),
        (lambda: te.create_prim_func([X, Y, Y]), "'Y' is there twice"),
        (lambda: te.create_prim_func([X, Y], name=3), "te.create_prim_func: a name is a text, not 3"),
        (lambda: te.create_prim_func([te.compute((N,), lambda i: 1.0)]), "no tensor that is given has the size 'n'"),
    ],
)  # fmt: skip
def test_refusals_tell_the_line(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(rx.RelaxError) as error:
        make()
    assert message in str(error.value)
    assert "test_te_errors.py:" in str(error.value) and "Traceback" not in str(error.value)


def test_a_computation_in_another_one_is_reported_once() -> None:
    for function in (lambda i: X[i], lambda i: 1 / 0):
        with pytest.raises(rx.RelaxError) as error:
            te.compute((4,), lambda i: te.compute((4,), function)[i])  # noqa: B023  # called at once
        assert str(error.value).count("te.compute 'compute': ") == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("exq", "te has no 'exq'; did you mean 'exp'"),
        ("create_schedule", "how loops run says rx.Schedule"),
        ("thread_axis", "how loops run says rx.Schedule"),
        ("__wrapped__", "te has no '__wrapped__'"),
    ],
)
def test_unsupported_names_of_te_are_refused(name: str, message: str) -> None:
    with pytest.raises(AttributeError, match=message):
        getattr(te, name)
