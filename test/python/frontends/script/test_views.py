# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PrimFuncs in scripts with a second buffer over the same memory, with pointers, and with returned numbers."""

import numpy
import pytest

import relax_mlir as rx

BOTH = 'A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")'


def prim(body, parameters=BOTH, returns=""):
    return f"@T.prim_func\ndef f({parameters}){returns}:\n" + "".join(f"    {line}\n" for line in body.split("\n"))


COPY = "for i, j in T.grid(4, 4):\n    C[i, j] = A[i, j]\n"
#: name: (script, the result for A)
VIEWS = {
    "a row of a square": (
        prim("B = T.Buffer((16,), data=A.data)\nD = T.Buffer((16,), data=C.data)\n"
             "for i in range(16):\n    D[i] = B[15 - i]"),
        lambda a: a[::-1, ::-1]),
    "a square of a row": (
        prim("B = T.decl_buffer((4, 4), data=A.data)\nfor i, j in T.grid(4, 4):\n    C[i, j] = B[j, i]",
             'A: T.Buffer((16,), "float32"), C: T.Buffer((4, 4), "float32")'),
        lambda a: a.reshape(4, 4).T),
    "the same sizes": (
        prim("B = T.Buffer((4, 4), data=A.data)\nfor i, j in T.grid(4, 4):\n    C[i, j] = B[j, i]"), lambda a: a.T),
    "strides": (
        prim("B = T.Buffer((4, 4), data=A.data, strides=(1, 4))\nfor i, j in T.grid(4, 4):\n    C[i, j] = B[i, j]"),
        lambda a: a.T),
    "a begin": (
        prim(COPY + "B = T.Buffer((2, 4), data=C.data, elem_offset=8)\n"
             "for i, j in T.grid(2, 4):\n    B[i, j] = T.float32(0)"),
        lambda a: numpy.concatenate([a[:2], 0 * a[2:]])),
    "one reads what the other wrote": (
        prim(COPY + "B = T.Buffer((16,), data=C.data)\nfor i in range(15):\n    B[i + 1] = B[i] + B[i + 1]"),
        lambda a: a.reshape(-1).cumsum(dtype="float32").reshape(4, 4)),
    "a view of a view": (
        prim("B = T.Buffer((16,), data=A.data)\nD = T.Buffer((2, 8), data=B.data)\n"
             "for i, j in T.grid(4, 4):\n    C[i, j] = D[1 - i // 2, i % 2 * 4 + j]"),
        lambda a: a[[2, 3, 0, 1]]),
    "a local buffer": (
        prim("D = T.alloc_buffer((16,))\nE = T.decl_buffer((4, 4), data=D.data)\n"
             "for i in range(16):\n    D[i] = A[i // 4, i % 4] + T.float32(1)\n"
             "for i, j in T.grid(4, 4):\n    C[i, j] = E[i, j]"),
        lambda a: a + 1),
    "vectors": (
        prim("B = T.Buffer((4, 4), data=A.data)\nD = T.Buffer((2, 8), data=C.data)\n"
             "for i in range(4):\n    D[i // 2, i % 2 * 4:i % 2 * 4 + 4] = B[i, 0:4]",
             'A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")'),
        lambda a: a.reshape(-1)),
    "what a block says to read": (
        prim("B = T.Buffer((16,), data=A.data)\nfor i in range(16):\n    with T.block('C'):\n"
             "        v = T.axis.spatial(16, i)\n        T.reads(B[v:v + 1])\n        C[v] = B[v]",
             'A: T.Buffer((4, 4), "float32"), C: T.Buffer((16,), "float32")'),
        lambda a: a.reshape(-1)),
    "pointers": (
        prim("A = T.Buffer((4, 4), data=a)\nC = T.decl_buffer((16,), data=c)\nD = T.Buffer((2, 8), data=c)\n"
             "for i, j in T.grid(2, 8):\n    D[i, j] = A[i * 2 + j // 4, j % 4] * T.float32(2)",
             'a: T.handle("float32"), c: T.handle("float32")'),
        lambda a: 2 * a.reshape(-1)),
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
def test_views_of_memory(name):
    text, oracle = VIEWS[name]
    executable = rx.compile(rx.Module.from_script(text))
    (taken,) = executable.signature("main")["inputs"]
    a = numpy.random.default_rng(4).standard_normal(taken["shape"]).astype("float32")
    numpy.testing.assert_allclose(executable["main"](a), oracle(a), rtol=1e-6, atol=1e-6)


def test_views_of_sizes_that_the_run_tells():
    text = prim(
        "n = T.int64()\nA = T.match_buffer(a, (n, 4))\nC = T.match_buffer(c, (n, 4))\n"
        "B = T.Buffer((n * 4,), data=A.data)\n"
        "for i, j in T.grid(n, 4):\n    C[i, j] = B[n * 4 - 1 - (i * 4 + j)]",
        "a: T.handle, c: T.handle",
    )
    a = numpy.random.default_rng(4).standard_normal((5, 4)).astype("float32")
    numpy.testing.assert_array_equal(rx.compile(rx.Module.from_script(text))["main"](a), a[::-1, ::-1])


SUM = "S = T.alloc_buffer((1,))\nS[0] = T.float32(0)\nfor i, j in T.grid(4, 4):\n    S[0] = S[0] + A[i, j]\n"


@pytest.mark.parametrize("last", ["return S[0] * T.float32(2)", "T.ret(S[0] * T.float32(2))"])
def test_a_number_that_is_returned(last):
    text = prim(SUM + last, 'A: T.Buffer((4, 4), "float32")', " -> T.float32")
    a = numpy.arange(16, dtype="float32").reshape(4, 4)
    assert numpy.from_dlpack(rx.compile(rx.Module.from_script(text))["main"](a)) == 240


def test_a_number_next_to_what_is_written():
    text = prim(COPY + "return T.int32(7)", returns=" -> T.int32")
    a = numpy.arange(16, dtype="float32").reshape(4, 4)
    copied, number = rx.compile(rx.Module.from_script(text))["main"](a)
    numpy.testing.assert_array_equal(copied, a)
    assert numpy.from_dlpack(number) == 7


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('B = T.Buffer((64,), "int8", data=A.data)', "'A' is of float32, not int8"),
        ("B = T.Buffer((16,), data=X.data)", "there is no buffer 'X' here"),
        ("B = T.Buffer((16,), data=A.data, strides=(1, 1))", "2 strides for 1 dimensions"),
        ("B = T.Buffer((16,), data=A.data)\nA_1 = B\nB = 1", "is redefined in the scope of the region"),
        ("B = T.Buffer((16,), data=A.data)\nC[0, 0] = B[0, 0]", "'B' has 1 dimension, not 2"),
        ("B = T.Buffer((16,), data=A.data)\nC[0, 0] = B[16]", "out of|goes to|has 4"),
        ("return T.int32(7)", r"needs a return type.*-> T.int32"),
        ("T.ret(T.int32(7))\nC[0, 0] = A[0, 0]", "T.ret is only allowed at the end"),
    ],
)  # fmt: skip
def test_unsupported_views_are_refused(body, message):
    with pytest.raises(rx.RelaxError, match=message):
        rx.compile(rx.Module.from_script(prim(body)))


def half(count):
    return count // 2


def odd(count):
    raise ValueError(f"{count} is odd")


def test_functions_of_the_running_program():
    from relax_mlir.script import tir as T

    size = 8

    @T.prim_func
    def double(A: T.Buffer((half(size),), "float32"), C: T.Buffer((half(size),), "float32")):
        for i in range(half(size)):
            C[i] = A[i] * T.float32(half(count=4))

    a = numpy.arange(4, dtype="float32")
    numpy.testing.assert_array_equal(rx.compile(double)["main"](a), 2 * a)
    with pytest.raises(rx.RelaxError, match=r"'odd' raised ValueError: 8 is odd"):

        @T.prim_func
        def wrong(A: T.Buffer((8,), "float32")):
            for i in range(8):
                A[i] = T.float32(odd(size))


NUMBERS = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def area(x: T.int64, y: T.int64) -> T.int64:
        return x * y + T.int64(1)
    @T.prim_func(private=True)
    def less(x: T.int32, y: T.int32) -> "int32":
        T.ret(x - y)
    @T.prim_func(private=True)
    def copy(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")) -> "int32":
        for i in range(8):
            C[i] = A[i] + T.float32(1)
        return T.int32(7)
    @R.function
    def main({}):
        {}
"""


def test_a_graph_gets_the_number_that_a_function_returns():
    sizes = ["n = T.int64()", "m = T.int64()", 'v: R.Prim("int64") = cls.area(n, m)', "return R.scalar_to_tensor(v)"]
    text = NUMBERS.format('a: R.Tensor(("n", "m"), "float32")', "\n        ".join(sizes))
    main = rx.compile(rx.Module.from_script(text))["main"]
    assert [int(main(numpy.ones(shape, "float32"))) for shape in ((2, 3), (0, 4))] == [7, 1]
    numbers = ["v = cls.less(a, b)", 'w: R.Prim("int32") = cls.less(v, b)', "return R.scalar_to_tensor(w)"]
    text = NUMBERS.format('a: R.Prim("int32"), b: R.Prim("int32")', "\n        ".join(numbers))
    assert int(rx.runtime.to_numpy(rx.compile(rx.Module.from_script(text))["main"](9, 2))) == 5


def test_a_graph_gets_a_number_and_what_is_written():
    allocated = 't = R.builtin.alloc_tensor(R.shape([8]), R.dtype("float32"), 0)'
    lines = [allocated, "v = cls.copy(a, t)", "return (t, R.scalar_to_tensor(v))"]
    text = NUMBERS.format('a: R.Tensor((8,), "float32")', "\n        ".join(lines))
    given = numpy.arange(8, dtype="float32")
    written, number = rx.compile(rx.Module.from_script(text))["main"](given)
    numpy.testing.assert_array_equal(written, given + 1)
    assert int(number) == 7


@pytest.mark.parametrize(
    ("call", "count"), [("cls.less(1)", "2 arguments, not 1"), ("cls.copy(a, a, a)", "2 arguments")]
)
def test_arguments_of_a_function_that_returns_a_number(call, count):
    with pytest.raises(rx.RelaxError, match=f"takes {count}"):
        rx.Module.from_script(NUMBERS.format('a: R.Tensor((8,), "float32")', f"v = {call}\n        return a"))
