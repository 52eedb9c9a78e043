# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sources of scripts, the names that they see of the surrounding program, and the resulting modules."""

import subprocess
import sys

import numpy
import pytest

import relax_mlir as rx
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

SCALE = 3

GRAPH = """
from relax_mlir.script import relax as R

@R.function
def main(x: R.Tensor((4,), "float32")):
    return R.add(x, x)
"""


def test_numpy_is_not_loaded_to_read_a_script():
    """Check that reading a script does not import numpy, which would double the start-up time of relax-opt."""
    code = "import sys, relax_mlir as rx; rx.Module.from_script(sys.stdin.read()); print('numpy' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], input=GRAPH, capture_output=True, text=True, check=False)
    assert (result.stdout, result.stderr) == ("False\n", "")


def test_text_a_file_and_a_function_are_read(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(GRAPH)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        return R.add(x, x)

    assert isinstance(main, rx.Module)
    modules = [rx.Module.from_script(GRAPH), rx.Module.from_script(path), rx.Module.from_script(str(path)), main]
    assert {str(module) for module in [*modules, rx.Module.from_file(path)]} == {str(main)}


def test_missing_and_binary_files_are_refused(tmp_path):
    with pytest.raises(rx.RelaxError, match=r"cannot read .*none\.py: No such file"):
        rx.Module.from_script(tmp_path / "none.py")
    path = tmp_path / "bytes.py"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(rx.RelaxError, match=r"bytes\.py: not a text file: byte 0 is not UTF-8"):
        rx.Module.from_script(path)


def test_a_function_without_source_is_reported():
    namespace = {}
    exec("def f(x): pass", namespace)
    with pytest.raises(rx.RelaxError, match="the source of 'f' cannot be found"):
        rx.Module.from_script(namespace["f"])


def test_numbers_of_the_program_around_are_constants():
    width = 5

    @T.prim_func
    def scaled(A: T.Buffer((width,), "float32"), B: T.Buffer((width,), "float32")):
        for i in range(width):
            B[i] = A[i] * T.float32(SCALE)

    a = numpy.arange(5, dtype="float32")
    assert (rx.compile(scaled)["main"](a) == a * 3).all()


def test_a_place_in_the_program_is_an_operations_location():
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        doubled = R.add(x, x)
        return doubled

    text = main.print(debug_info=True)
    assert "test_script_modules.py" in text and '"doubled"' in text


def test_an_error_of_a_program_names_its_line():
    with pytest.raises(rx.RelaxError) as caught:

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            return R.matmul(x, undefined)  # noqa: F821

    file, line, column = caught.value.location.rsplit(":", 2)
    assert file == __file__ and column == "32"
    with open(__file__) as source:
        assert "R.matmul(x, undefined)" in source.read().split("\n")[int(line) - 1]


def test_functions_of_a_module_are_called():
    module = rx.Module.from_script(
        """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("rows", 4), "float32"), y: R.Tensor((6,), "float32")):
        a, b = Module.pair(x)
        c = Module.pair(y)[1]
        return R.add(a, b), c

    @R.function(private=True)
    def pair(x: R.Tensor(("n",), "float32")):
        return x, R.negative(x)
""".replace('x: R.Tensor(("rows", 4)', 'x: R.Tensor(("rows",)')
    )
    assert [op.name.value for op in module.body.operations] == ["main", "pair"]
    main = rx.compile(module)["main"]
    x, y = numpy.ones(3, "float32"), numpy.arange(6, dtype="float32")
    total, negative = main(x, y)
    assert (total == 0).all() and (negative == -y).all()


def test_a_function_gets_what_fits_its_parameters():
    text = """
@I.ir_module
class Module:
    @R.function
    def helper(x: R.Tensor(("n", 4), "float32")):
        return R.exp(x)

    @R.function
    def main(x: R.Tensor((2, 5), "float32")):
        return Module.helper(x)
"""
    with pytest.raises(rx.RelaxError, match=r"'x' of 'helper' is tensor<\?x4xf32.*, not tensor<2x5xf32>"):
        rx.Module.from_script(text)
    with pytest.raises(rx.RelaxError, match="'helper' takes 1 arguments, not 2"):
        rx.Module.from_script(text.replace("helper(x)\n", "helper(x, x)\n", 1).replace("helper(x, x: R", "helper(x: R"))


def test_operators_of_another_dialect_go_by_their_names():
    own = rx.Dialect("scriptnpu", doc="Of this test.")
    own.op("scaled", "x", attrs={"scale": rx.attrs.Float()}, infer=lambda call: call.x)
    module = rx.Module.from_script("""
@R.function
def main(x: R.Tensor((4,), "float32")):
    return scriptnpu.scaled(x, scale=2.0)
""")
    assert '"scriptnpu.scaled"(%arg0) {scale = 2.0' in str(module).replace("2.000000e+00", "2.0")
    with pytest.raises(rx.RelaxError, match=r"unknown operator 'scriptnpu.scald'; did you mean 'scriptnpu.scaled'"):
        rx.Module.from_script("@R.function\ndef main(x: R.Tensor((4,))):\n    return scriptnpu.scald(x)\n")


def test_sizes_are_arithmetic_on_symbols():
    module = rx.Module.from_script("""
@R.function
def main(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n * m // 2", 2), "float32"):
    n, m = T.int64(), T.int64()
    y = R.reshape(x, (n * m // 2, T.max(2, 1)))
    return y
""")
    assert '["n", "m"]' in str(module) and "floordiv" in str(module).replace("//", "floordiv")
    x = numpy.arange(12, dtype="float32").reshape(3, 4)
    assert (rx.compile(module)["main"](x) == x.reshape(6, 2)).all()


def test_a_file_is_compiled_and_run(tmp_path):
    from relax_mlir.tools import relax_compile

    path, made = tmp_path / "model.py", tmp_path / "model.rxa"
    path.write_text(GRAPH)
    assert relax_compile.run([str(path), "-o", str(made)]) == 0
    x = numpy.ones(4, "float32")
    assert (rx.runtime.load(made)["main"](x) == 2).all()


def test_a_values_shape_and_type_are_asked_for():
    module = rx.Module.from_script("""
@R.function
def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n * 4",), "int32")):
    z = R.astype(R.reshape(y, x.shape), x.dtype)
    return z
""")
    x, y = numpy.zeros((3, 4), "float32"), numpy.arange(12, dtype="int32")
    given = rx.compile(module)["main"](x, y)
    assert given.dtype == x.dtype and (given == y.reshape(3, 4)).all()


HIDING = """
i = j = 5
k = 0
n = 3

@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = 0.0
    for i in range(8):
        for j in range(i):
            k: T.int32 = T.Cast("int32", j)
            B[i] = B[i] + A[k]
"""


def test_a_functions_own_names_are_no_constants_of_the_program_around():
    a = numpy.arange(1, 9, dtype="float32")
    text = HIDING.replace("i = j = 5", "i = 5\nj = 5")
    assert (rx.compile(rx.Module.from_script(text))["main"](a) == numpy.cumsum(a) - a).all()
    gathered = rx.Module.from_script(
        """
k = 0
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            k: T.int32 = 7 - T.Cast("int32", v)
            B[v] = A[k] + T.Let(A[n], where={n: T.Cast("int32", v)})
""".replace("k = 0", "k = 0\nn = 0")
    )
    assert (rx.compile(gathered)["main"](a) == a[::-1] + a).all()


def test_a_size_that_a_type_names_is_no_constant_of_the_program_around():
    module = rx.Module.from_script("""
n = 3
@T.prim_func
def f(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
    for i in range(n):
        B[i] = A[i] * 2.0
""")
    a = numpy.arange(5, dtype="float32")
    assert (rx.compile(module)["main"](a) == a * 2).all()


def test_buffers_of_one_name_are_apart():
    module = rx.Module.from_script("""
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        t = T.alloc_buffer((1,), "float32")
        t[0] = A[i]
        B[i] = t[0]
    for i in range(8):
        t = T.alloc_buffer((2,), "int32")
        t[1] = T.Cast("int32", B[i]) * 2
        B[i] = T.Cast("float32", t[1])
""")
    a = numpy.arange(8, dtype="float32")
    assert (rx.compile(module)["main"](a) == a * 2).all()


def test_numbers_and_sizes_of_a_graph_are_computed_while_it_is_read():
    module = rx.Module.from_script("""
@R.function
def main(x: R.Tensor(("n", 6), "float32")):
    n = T.int64()
    k = 3
    m = n * 2
    y = R.reshape(x, (m - n, k - 1, k))
    z = R.strided_slice(y, axes=[2], begin=[-k + 1], end=[k])
    return z.astype("float64")
""")
    x = numpy.arange(24, dtype="float32").reshape(4, 6)
    given = rx.compile(module)["main"](x)
    assert given.dtype == numpy.float64 and (given == x.reshape(4, 2, 3)[:, :, -2:]).all()


def in_a_module(statement):
    return "\n".join([
        "from relax_mlir.script import ir as I, relax as R",
        "@I.ir_module",
        "class M:",
        f"    {statement}",
        "    @R.function",
        '    def main(x: R.Tensor((4,), "float32")):',
        "        return R.add(x, x)",
    ])  # fmt: skip


@pytest.mark.parametrize("statement", ["pass", '"""What it is for."""', "SIZE = 4", 'I.module_attrs({"kind": "test"})'])
def test_a_module_may_contain_other_statements(statement):
    assert "relax.add" in str(rx.Module.from_script(in_a_module(statement)))


@pytest.mark.parametrize("statement", ["for i in (): pass", "del M", "assert True", "R.add(1, 2)"])
def test_foreign_statements_of_a_module_are_refused(statement):
    with pytest.raises(rx.RelaxError, match="a module contains functions, and calls of I") as raised:
        rx.Module.from_script(in_a_module(statement))
    assert ":4:5" in str(raised.value)
