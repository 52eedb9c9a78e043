# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""R.emit_te in graphs of a running program: functions of te against numpy."""

import numpy
import pytest

import relax_mlir as rx
from relax_mlir import te
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

RNG = numpy.random.default_rng(6)


def mixed(a, b, k=1.0):
    return te.compute(a.shape, lambda i, j: a[i, j] * b[i, 7 - j] + k, name="mixed")


def two(pair):
    a, b = pair
    return [te.compute(a.shape, lambda i, j: a[i, j] + b[i, j]), te.compute(a.shape, lambda i, j: a[i, j] * 2.0)]


def totals(a):
    k = te.reduce_axis((0, 8), name="k")
    return te.compute((a.shape[0],), lambda i: te.sum(a[i, k], axis=k))


def failing(a):
    raise ValueError("no such thing")


def nothing_of_te(a):
    return 3


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), y: R.Tensor(("n", 8), "float32")):
        with R.dataflow():
            z = R.emit_te(mixed, x, y, k=2.0)
            a, b = R.emit_te(two, (z, x))
            w = R.emit_te(mixed, a, b)
            v = R.emit_te(totals, w)
            R.output(v)
        return v


@pytest.mark.parametrize("level", [0, 2])
def test_functions_of_te_are_called(level):
    x, y = RNG.standard_normal((2, 5, 8)).astype("float32")
    z = x * y[:, ::-1] + 2
    want = ((z + x) * (z * 2)[:, ::-1] + 1).sum(axis=1)
    got = rx.compile(Module, opt_level=level)["main"](x, y)
    numpy.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


TEXT = """
@R.function
def main(x: R.Tensor((4, 8), "float32")):
    y = R.emit_te({})
    return y
"""


@pytest.mark.parametrize("argument", ["mixed, x, x", "os.getcwd, x"])
def test_text_runs_nothing(argument):
    with pytest.raises(rx.RelaxError, match=r"R\.emit_te calls a function of the running program, and"):
        rx.Module.from_script(TEXT.format(argument))


def test_exceptions_in_emit_te_are_reported_with_the_line():
    with pytest.raises(rx.RelaxError, match=r"test_graph_te.py:\d+:\d+: 'failing' raised ValueError: no such thing"):

        @R.function
        def main(x: R.Tensor((4, 8), "float32")):
            y = R.emit_te(failing, x)
            return y

    with pytest.raises(rx.RelaxError, match="the function must return tensors that te computes, not 3"):

        @R.function
        def other(x: R.Tensor((4, 8), "float32")):
            y = R.emit_te(nothing_of_te, x)
            return y
