# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls that write into arguments must not change other tensors, for all passes."""

import numpy
import pytest

import relax_mlir as rx

MODULE = '''
@I.ir_module
class Module:
    @T.prim_func
    def add(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        for i in range(8):
            C[i] = C[i] + A[7 - i]

    @R.function
    def main(a: R.Tensor((8,), "float32"), x: R.Tensor((8,), "float32")):
'''  # fmt: skip
CALL = '{} = R.call_tir_inplace(cls.add, ({}, {}), [1], out_sinfo=R.Tensor((8,), "float32"))'
A, X = numpy.arange(8, dtype="float32"), numpy.linspace(-1, 1, 8, dtype="float32")


def add(a, c):
    return c + a[::-1]


#: name: (statements, the results, the caller's x afterwards)
CASES = {
    "the caller's": ([CALL.format("z", "a", "x"), "return z"], [add(A, X)], add(A, X)),
    "a view of the caller's": (
        ["y = R.reshape(x, (8,))", CALL.format("z", "a", "y"), "return z"], [add(A, X)], add(A, X)),
    "what turns out to be the caller's": (
        ['y = R.multiply(x, R.const(1.0, "float32"))', CALL.format("z", "a", "y"), "return z"], [add(A, X)], X),
    "a conversion of nothing": (
        ['y = R.astype(x, "float32")', CALL.format("z", "a", "y"), "return z"], [add(A, X)], X),
    "twice negated": (
        ["y = R.negative(R.negative(x))", CALL.format("z", "a", "y"), "return z"], [add(A, X)], X),
    "what turns out to be the caller's, after a call": (
        [CALL.format("z", "a", "x"), "y = R.negative(R.negative(z))", CALL.format("w", "a", "y"), "return w"],
        [add(A, add(A, X))], add(A, X)),
    "equal zeros": (
        ['y = R.zeros((8,), "float32")', 'w = R.zeros((8,), "float32")', CALL.format("z", "a", "y"),
         CALL.format("v", "x", "w"), "return (z, v)"], [A[::-1], X[::-1]], X),
    "equal values": (
        ["y = R.abs(x)", "w = R.abs(x)", CALL.format("z", "a", "y"), CALL.format("v", "x", "w"), "return (z, v)"],
        [add(A, abs(X)), add(X, abs(X))], X),
    "what is read behind the call": (
        ["y = R.abs(x)", "w = R.negative(R.negative(y))", CALL.format("z", "a", "w"), "return (z, y)"],
        [add(A, abs(X)), abs(X)], X),
    "what is read behind the call as a view": (
        ["y = R.abs(x)", "w = R.negative(R.negative(y))", CALL.format("z", "a", "w"),
         "v = R.reshape(y, (2, 4))", "return (z, v)"], [add(A, abs(X)), abs(X).reshape(2, 4)], X),
    "what the call reads elsewhere": (
        ["y = R.abs(x)", "w = R.negative(R.negative(y))", CALL.format("z", "y", "w"), "return z"],
        [add(abs(X), abs(X))], X),
    "nothing else": (["y = R.abs(x)", CALL.format("z", "a", "y"), "return z"], [add(A, abs(X))], X),
}  # fmt: skip


def results_of(executable, *arrays):
    results = executable["main"](*arrays)
    return [numpy.from_dlpack(each) for each in (results if isinstance(results, (tuple, list)) else [results])]


@pytest.mark.parametrize("level", range(4))
@pytest.mark.parametrize("name", CASES)
def test_only_what_the_program_says_is_written(name, level):
    statements, wanted, after = CASES[name]
    module = rx.Module.from_script(MODULE + "".join(f"        {each}\n" for each in statements))
    x = X.copy()
    for result, want in zip(results_of(rx.compile(module, opt_level=level), A.copy(), x), wanted, strict=True):
        numpy.testing.assert_array_equal(result, want)
    numpy.testing.assert_array_equal(x, after)


@pytest.mark.parametrize("level", range(4))
def test_packed_functions_write_into_copies_too(level):
    text = """
@R.function
def main(x: R.Tensor((8,), "float32")):
    y = R.negative(R.negative(x))
    z = R.call_inplace_packed("more", y, inplace_indices=[0], ty_args=[R.Tensor((8,), "float32")])
    return z
"""

    def more(tensor):
        numpy.from_dlpack(tensor)[:] += 1

    executable = rx.compile(rx.Module.from_script(text), opt_level=level, functions={"more": more})
    x = X.copy()
    numpy.testing.assert_array_equal(results_of(executable, x)[0], X + 1)
    numpy.testing.assert_array_equal(x, X)
