# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""T's functions, arithmetic and conversions in tensor programs, element by element, against numpy."""

import numpy
import pytest

import relax_mlir as rx
from relax_mlir import tir

RNG = numpy.random.default_rng(7)
SIZE = 24
F = RNG.standard_normal(SIZE).astype("float32") * 3
G = numpy.abs(RNG.standard_normal(SIZE).astype("float32")) + numpy.float32(0.1)
I = RNG.integers(-9, 10, SIZE).astype("int32")  # noqa: E741
J = numpy.where(RNG.integers(0, 2, SIZE), 1, -1).astype("int32") * RNG.integers(1, 5, SIZE).astype("int32")
U = RNG.integers(0, 256, SIZE).astype("uint8")
K = numpy.arange(SIZE)

#: expression of f, g (float32), i, j (int32), u (uint8) and the place v: (the result's type, numpy's result)
EXPRESSIONS = {
    "f * g - f / g": ("float32", lambda: F * G - F / G),
    "-f + 1": ("float32", lambda: -F + 1),
    "2.5 - f": ("float32", lambda: numpy.float32(2.5) - F),
    "i // j": ("int32", lambda: I // J),
    "i % j": ("int32", lambda: I % J),
    "T.floordiv(i, 3)": ("int32", lambda: I // 3),
    "T.floormod(i, 3)": ("int32", lambda: I % 3),
    "T.truncdiv(i, j)": ("int32", lambda: numpy.trunc(I / J).astype("int32")),
    "T.truncmod(i, j)": ("int32", lambda: numpy.fmod(I, J)),
    "T.ceildiv(i, 4)": ("int32", lambda: -(-I // 4)),
    "i << 2": ("int32", lambda: I << 2),
    "i >> 1": ("int32", lambda: I >> 1),
    "u >> T.uint8(1)": ("uint8", lambda: U >> numpy.uint8(1)),
    "T.shift_left(i, 1) ^ j": ("int32", lambda: (I << 1) ^ J),
    "(i & j) | 1": ("int32", lambda: (I & J) | 1),
    "~i": ("int32", lambda: ~I),
    "T.bitwise_not(i)": ("int32", lambda: ~I),
    "T.max(f, g)": ("float32", lambda: numpy.maximum(F, G)),
    "T.min(i, 0)": ("int32", lambda: numpy.minimum(I, 0)),
    "max(f, 0.0)": ("float32", lambda: numpy.maximum(F, 0)),
    "T.max(u, T.uint8(100))": ("uint8", lambda: numpy.maximum(U, 100)),
    "T.Cast('int32', f)": ("int32", lambda: F.astype("int32")),
    "T.cast(i, 'float32') * f": ("float32", lambda: I * F),
    "f.astype('float64')": ("float64", lambda: F.astype("float64")),
    "T.float32(u)": ("float32", lambda: U.astype("float32")),
    "i * f": ("float32", lambda: (I * F).astype("float32")),
    "u + i": ("int32", lambda: U + I),
    "T.Cast('int64', v) * 3": ("int64", lambda: K * 3),
    "v + i": ("int32", lambda: (K + I).astype("int32")),
    "v * f": ("float32", lambda: (K * F).astype("float32")),
    "T.reinterpret('int32', f)": ("int32", lambda: F.view("int32")),
    "T.reinterpret(i, 'float32')": ("float32", lambda: I.view("float32")),
    "T.Select(f > g, f, g)": ("float32", lambda: numpy.where(F > G, F, G)),
    "T.if_then_else(i > 0, f, 0.0)": ("float32", lambda: numpy.where(I > 0, F, 0)),
    "f if i > 0 else 1.0": ("float32", lambda: numpy.where(I > 0, F, numpy.float32(1))),
    "T.Select(0 <= i < 5, 1, 0)": ("int32", lambda: ((I >= 0) & (I < 5)).astype("int32")),
    "T.Select(T.And(i > 0, not f > 0) or i == -1, 1, 0)": (
        "int32",
        lambda: (((I > 0) & ~(F > 0)) | (I == -1)).astype("int32"),
    ),
    "T.Cast('int32', T.Not(i != 2))": ("int32", lambda: (I == 2).astype("int32")),
    "T.Cast('int32', T.LT(i, j)) + T.Cast('int32', T.GE(i, j))": ("int32", lambda: numpy.ones(SIZE, "int32")),
    "T.exp(T.min(f, 2.0))": ("float32", lambda: numpy.exp(numpy.minimum(F, 2))),
    "T.log(g) + T.sqrt(g) * T.rsqrt(g)": ("float32", lambda: numpy.log(G) + 1),
    "T.tanh(f) + T.sin(f) * T.cos(f)": ("float32", lambda: numpy.tanh(F) + numpy.sin(F) * numpy.cos(F)),
    "T.sigmoid(f)": ("float32", lambda: 1 / (1 + numpy.exp(-F.astype("float64")))),
    "T.pow(g, 1.5)": ("float32", lambda: G**1.5),
    "g ** 2.0": ("float32", lambda: G**2),
    "T.abs(i)": ("int32", lambda: numpy.abs(I)),
    "T.fabs(f)": ("float32", lambda: numpy.abs(F)),
    "T.floor(f) + T.ceil(f) + T.trunc(f)": ("float32", lambda: numpy.floor(F) + numpy.ceil(F) + numpy.trunc(F)),
    "T.fma(f, g, 1.0)": ("float32", lambda: F * G + 1),
    "T.atan2(f, g)": ("float32", lambda: numpy.arctan2(F, G)),
    "T.popcount(i)": ("int32", lambda: numpy.array([bin(int(n) & 0xFFFFFFFF).count("1") for n in I], "int32")),
    "T.max_value('int32') - T.Select(i > 0, i, 0)": ("int32", lambda: 2**31 - 1 - numpy.maximum(I, 0)),
    "T.min_value('float32') * T.float32(0) + f": ("float32", lambda: F),
    "T.Select(f > T.infinity('float32'), 1.0, f)": ("float32", lambda: F),
    "T.Let(a * a, where={a: f + 1.0})": ("float32", lambda: (F + 1) ** 2),
    "i + T.truncmod(7, 4) + T.truncdiv(-7, 2) + T.truncmod(-7, 4)": ("int32", lambda: I - 3),
    "T.likely(f)": ("float32", lambda: F),
    "T.call_pure_extern('float32', 'fabsf', f)": ("float32", lambda: numpy.abs(F)),
    "T.ldexp(f, 3) + T.ldexp(f, i)": ("float32", lambda: numpy.ldexp(F, 3) + numpy.ldexp(F, I)),
    "T.pow(g, 2) + T.clip(f, 0, 6)": ("float32", lambda: G**2 + numpy.clip(F, 0, 6)),
    "T.Cast('float32', T.frexp(f)[1]) + T.modf(f)[0]": ("float32", lambda: numpy.frexp(F)[1] + numpy.modf(F)[0]),
    "SCALE * f": ("float32", lambda: F * numpy.float32(0.5)),
    "TABLE[2] + i": ("int32", lambda: I + 30),
    "T.float32(1) / 4 + f": ("float32", lambda: F + numpy.float32(0.25)),
    "f + (7 // 2) * 2 - 3 % 2": ("float32", lambda: F + 5),
}


def script(expression, dtype):
    """Return a program that computes the expression at each place."""
    return f'''
SCALE = 1 / 2
TABLE = (10, 20, 30)

@T.prim_func
def f(F: T.Buffer(({SIZE},), "float32"), G: T.Buffer(({SIZE},), "float32"), I: T.Buffer(({SIZE},), "int32"),
      J: T.Buffer(({SIZE},), "int32"), U: T.Buffer(({SIZE},), "uint8"), out: T.Buffer(({SIZE},), "{dtype}")):
    for k in range({SIZE}):
        with T.block("out"):
            v = T.axis.spatial({SIZE}, k)
            f: T.float32 = F[v]
            g: T.float32 = G[v]
            i: T.int32 = I[v]
            j: T.int32 = J[v]
            u: T.uint8 = U[v]
            out[v] = {expression}
'''


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression_gives_what_numpy_gives(expression):
    dtype, expected = EXPRESSIONS[expression]
    given = rx.compile(rx.Module.from_script(script(expression, dtype)))["main"](F, G, I, J, U)
    wanted = expected()
    assert given.dtype == dtype
    numpy.testing.assert_allclose(given, wanted.astype(dtype), rtol=3e-6, atol=3e-6)


#: Programs that are not loop nests, each for another reason, and their results in 8 floats for A.
LOOPS = {
    "an element twice": ("B[7] = 0.0\nfor i, j in T.grid(4, 4):\n    B[i + j] = A[i] + A[j]", lambda a: _twice(a)),
    "a triangle": (
        "for i in range(8):\n    B[i] = 0.0\n    for j in range(i):\n        B[i] += A[j]",
        lambda a: numpy.concatenate([[0], numpy.cumsum(a)[:-1]]),
    ),
    "the last one": ("for i, j in T.grid(8, 3):\n    B[i] = A[j]", lambda a: numpy.full(8, a[2])),
    "from 1 on": ("B[0] = 7.0\nfor i in range(1, 8):\n    B[i] = A[i - 1]", lambda a: numpy.concatenate([[7], a[:-1]])),
    "a shift in place": (
        "for i in range(8):\n    B[i] = A[i]\nfor i in range(7):\n    B[i] = B[i + 1]",
        lambda a: numpy.concatenate([a[1:], a[7:]]),
    ),
    "a hole": (
        "for i in range(8):\n    B[i] = 1.0\nfor i in range(8):\n    with T.block('b'):\n"
        "        v = T.axis.spatial(8, i)\n        T.where(i != 3)\n        B[v] = A[v]",
        lambda a: numpy.where(numpy.arange(8) == 3, 1, a),
    ),
    "a binding that repeats": (
        "for i in range(8):\n    B[i] = 0.0\nfor i, j in T.grid(8, 2):\n    with T.block('b'):\n"
        "        v = T.axis.spatial(8, i // 2 + j)\n        B[v] = B[v] + A[v]",
        lambda a: _repeated(a),
    ),
    "a reduction from 2 on": (
        "for i in range(8):\n    with T.block('b'):\n        v = T.axis.spatial(1, 0)\n"
        "        r = T.axis.reduce((2, 8), T.max(i, 2))\n        with T.init():\n            B[v] = 1.0\n"
        "        B[v] = B[v] + A[r]\nfor i in range(1, 8):\n    B[i] = 0.0",
        lambda a: numpy.concatenate([[1 + a[2:].sum()], numpy.zeros(7)]),
    ),
    "an assertion": ("assert A[0] < 100.0, 'too large'\nfor i in range(8):\n    B[i] = A[i]", lambda a: a),
    "a call": ("for i in range(8):\n    B[i] = T.call_extern('float32', 'fabsf', A[i])", numpy.abs),
}


def _twice(a):
    out = numpy.zeros(8)
    for i in range(4):
        for j in range(4):
            out[i + j] = a[i] + a[j]
    return out


def _repeated(a):
    out = numpy.zeros(8)
    for i in range(8):
        for j in range(2):
            out[i // 2 + j] += a[i // 2 + j]
    return out


@pytest.mark.parametrize("name", LOOPS)
def test_loops_that_form_no_nest_run_in_order(name):
    body, expected = LOOPS[name]
    a = RNG.standard_normal(8).astype("float32")
    text = '@T.prim_func\ndef f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):\n'
    module = rx.Module.from_script(text + "".join(f"    {line}\n" for line in body.split("\n")))
    assert "memref" in str(module) and "linalg" not in str(module)
    given, wanted = numpy.array(rx.compile(module)["main"](a)), expected(a)
    numpy.testing.assert_allclose(given, wanted, rtol=1e-5, atol=1e-6)


def test_an_assertion_that_does_not_hold_ends_the_call():
    text = '@T.prim_func\ndef f(A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")):\n'
    module = rx.Module.from_script(text + "    assert A[0] < 1.0, 'too {large}'\n    B[0] = A[0]\n")
    main = rx.compile(module)["main"]
    assert main(numpy.zeros(1, "float32"))[0] == 0
    with pytest.raises(AssertionError, match=r"too {large}"):
        main(numpy.ones(1, "float32"))


#: Functions that T spells otherwise: arguments that are not scalars, results that are not numbers.
_OTHERS = (
    "assert call_extern call_pure_extern call_packed give_object give_tensor packed place prefetch random_key "
    "release return_unless_ok"
)
_INTRINSICS = sorted(
    name
    for name, op in tir.dialect.ops.items()
    if name not in _OTHERS.split() and "." not in op.family and not op.family.startswith("warp")
)


@pytest.mark.parametrize("name", _INTRINSICS)
def test_every_function_of_tir_is_one_of_t(name):
    """Call the function on floats or integers, in their own type."""
    definition = tir.dialect.ops[name]
    attributes = {key: "True" if "true" in kind.expects else 2 for key, kind in definition.attrs.items()}
    messages = []
    for dtype in ("float32", "int32"):
        second = "n" if name in ("ldexp", "scalbn") else "A[v]"
        given = {each.name: second if place else "A[v]" for place, each in enumerate(definition.operands)}
        values = ", ".join(f"{key}={value}" for key, value in {**given, **attributes}.items())
        text = f"""
@T.prim_func
def f(A: T.Buffer((4,), "{dtype}"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("B"):
            v = T.axis.spatial(4, i)
            n: T.int32 = T.Cast("int32", v)
            B[v] = T.Cast("float32", T.{name}({values}){"[0]" if len(definition.results) > 1 else ""})
"""
        try:
            module = rx.Module.from_script(text)
        except rx.RelaxError as error:
            messages.append(str(error))
            continue
        assert "linalg.generic" in str(module)
        return
    pytest.fail("\n".join(messages))


#: Steps of a reduction from the total `B[v]` and an element. Not all of them may be reordered.
STEPS = {
    "B[v] + A[v, r]": lambda b, a: b + a,
    "B[v] * T.float32(0.5) + A[v, r]": lambda b, a: b * numpy.float32(0.5) + a,
    "A[v, r] - B[v]": lambda b, a: a - b,
    "A[v, r] / (B[v] + 2.0)": lambda b, a: a / (b + 2),
    "T.max(B[v] * T.float32(0.5), A[v, r])": lambda b, a: numpy.maximum(b * numpy.float32(0.5), a),
    "T.Select(A[v, r] > 0.0, B[v] + A[v, r], B[v] * T.float32(0.9))": lambda b, a: numpy.where(
        a > 0, b + a, b * numpy.float32(0.9)
    ),
    "T.exp(B[v]) * A[v, r]": lambda b, a: numpy.exp(b) * a,
}


@pytest.mark.parametrize("step", STEPS)
def test_a_reduction_takes_its_steps_in_order(step):
    module = rx.Module.from_script(f"""
@T.prim_func
def f(A: T.Buffer((6, 37), "float32"), B: T.Buffer((6,), "float32")):
    for i, j in T.grid(6, 37):
        with T.block("B"):
            v, r = T.axis.remap("SR", [i, j])
            with T.init():
                B[v] = 0.25
            B[v] = {step}
""")
    a = RNG.standard_normal((6, 37)).astype("float32") * numpy.float32(0.3)
    total = numpy.full(6, 0.25, "float32")
    for column in a.T:
        total = STEPS[step](total, column).astype("float32")
    numpy.testing.assert_allclose(rx.compile(module)["main"](a), total, rtol=1e-4, atol=1e-5)


def test_shifts_by_all_bits_and_more():
    """Shift out all bits or all but the sign, also in an index, which is checked."""
    text = """
from tvm.script import tir as T
@T.prim_func
def f(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32"), C: T.Buffer((6,), "int32"), D: T.Buffer((6,), "int32")):
    for i in range(6):
        with T.block("C"):
            v = T.axis.spatial(6, i)
            C[v] = T.shift_left(A[v], B[v])
            D[v] = T.shift_right(A[v], B[v])
"""
    executable = rx.compile(rx.Module.from_script(text), cache=False)
    x, by = (numpy.array(each, "int32") for each in ([1, -1, 5, -7, 3, -(2**31)], [0, 31, 32, 100, -1, 1]))
    left, right = executable[next(iter(executable))](x, by)
    numpy.testing.assert_array_equal(left, [1, -(2**31), 0, 0, 0, 0])
    numpy.testing.assert_array_equal(right, [1, -1, 0, -1, 0, -(2**30)])
    written = (
        text.split("@T")[0]
        + """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[T.shift_left(i, 100)] = A[i]
"""
    )
    executable = rx.compile(rx.Module.from_script(written), cache=False)
    found = executable[next(iter(executable))](numpy.arange(4, dtype="float32"), numpy.ones(4, "float32"))
    numpy.testing.assert_array_equal(found, [3, 1, 1, 1])
