# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PrimFuncs in scripts with in-out buffers and undefined elements: their parameters and results."""

import numpy
import pytest

import relax_mlir as rx

RNG = numpy.random.default_rng(8)


def prim(body, parameters='A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")'):
    return f"@T.prim_func\ndef f({parameters}):\n" + "".join(f"    {line}\n" for line in body.split("\n"))


def dynamic(body):
    head = "n = T.int64()\nA = T.match_buffer(a, (n,))\nC = T.match_buffer(c, (n,))\n"
    return prim(head + body, "a: T.handle, c: T.handle")


def floats(*shape):
    return RNG.standard_normal(shape).astype("float32")


def inputs(executable):
    return [each["name"] for each in executable.signature("main")["inputs"]]


def after(c, place, value):
    c = c.copy()
    c[place] = value
    return c


BLOCK = "for i in range(8):\n    with T.block('C'):\n        v = T.axis.spatial(8, i)\n        "
#: name: (script, the new C)
IN_AND_OUT = {
    "a block that adds": (prim(BLOCK + "C[v] = C[v] + A[v]"), lambda a, c: c + a),
    "a loop that compares": (prim("for i in range(8):\n    C[i] = T.max(C[i], A[i])"), numpy.maximum),
    "a reduction without init": (
        prim("for i, j in T.grid(8, 3):\n    with T.block('C'):\n        v, r = T.axis.remap('SR', [i, j])\n"
             "        C[v] = C[v] + A[v]"),
        lambda a, c: c + 3 * a,
    ),
    "sizes of the run": (dynamic("for i in range(n):\n    C[i] += A[i]"), lambda a, c: c + a),
    "half of it": (prim("for i in range(4):\n    C[i] = A[i]"), lambda a, c: after(c, slice(4), a[:4])),
    "all but one, of sizes of the run": (
        dynamic("for i in range(n - 1):\n    C[i] = A[i]"),
        lambda a, c: after(c, slice(-1), a[:-1]),
    ),
    "where the data say": (
        prim("for i in range(8):\n    if A[i] > T.float32(0):\n        C[i] = A[i]"),
        lambda a, c: numpy.where(a > 0, a, c),
    ),
    "behind a predicate": (
        prim(BLOCK.replace("v =", "T.where(i != 3)\n        v =") + "C[v] = A[v]"),
        lambda a, c: after(a, 3, c[3]),
    ),
    "a place that the data tell": (
        prim("for i in range(8):\n    C[T.Cast('int32', A[i] * T.float32(0))] = A[7]"),
        lambda a, c: after(c, 0, a[7]),
    ),
    "read on the way": (
        prim("for i in range(8):\n    C[7 - i] = A[i] + C[i]"),
        lambda a, c: _on_the_way(a, c),
    ),
    "as often as the data say": (
        prim("while C[0] < T.float32(10):\n    C[0] = C[0] + T.float32(4)\nfor i in range(1, 8):\n    C[i] = A[i]"),
        lambda a, c: after(a, 0, c[0] + 4 * numpy.ceil(max(10 - c[0], 0) / 4)),
    ),
}  # fmt: skip


def _on_the_way(a, c):
    c = c.copy()
    for i in range(8):
        c[7 - i] = a[i] + c[i]
    return c


@pytest.mark.parametrize("name", IN_AND_OUT)
def test_buffers_that_are_partly_written_are_inputs_and_results(name):
    text, expected = IN_AND_OUT[name]
    executable = rx.compile(rx.Module.from_script(text))
    assert inputs(executable) == ["A", "C"]
    a, c = floats(8), floats(8)
    wanted = expected(a, c)
    numpy.testing.assert_allclose(executable["main"](a, c), wanted, rtol=1e-5)
    numpy.testing.assert_allclose(c, wanted, rtol=1e-5, err_msg="the caller's buffer, as in TVM")


#: name: (script, the value of C)
OUT = {
    "a place after another": (prim("for i in range(8):\n    C[7 - i] = A[i]"), lambda a: a[::-1]),
    "in two parts": (
        prim("for i in range(3):\n    C[i] = A[i]\nfor i in range(5):\n    C[i + 3] = C[0]"),
        lambda a: numpy.concatenate([a[:3], [a[0]] * 5]),
    ),
    "a scan": (
        dynamic("for i in range(n):\n    C[i] = T.if_then_else(i > 0, C[i - 1], T.float32(0)) + A[i]"),
        numpy.cumsum,
    ),
    "in tiles of sizes of the run": (
        dynamic("for o, i in T.grid((n + 2) // 3, 3):\n    with T.block('C'):\n"
                "        v = T.axis.spatial(n, o * 3 + i)\n        T.where(o * 3 + i < n)\n        C[v] = A[v]"),
        lambda a: a,
    ),
    "a sum at each place": (
        prim("for i in range(8):\n    C[i] = T.float32(0)\n    for k in range(3):\n        C[i] = C[i] + A[i]"),
        lambda a: 3 * a,
    ),
    "a reduction in tiles": (
        prim("for o in range(2):\n    for i in range(4):\n        with T.block('init'):\n"
             "            v = T.axis.spatial(8, o * 4 + i)\n            C[v] = T.float32(1)\n"
             "    for k, i in T.grid(3, 4):\n        with T.block('update'):\n"
             "            v = T.axis.spatial(8, o * 4 + i)\n            r = T.axis.reduce(3, k)\n"
             "            C[v] = C[v] + A[v]"),
        lambda a: 1 + 3 * a,
    ),
    "both sides of a condition": (
        prim("for i in range(8):\n    if i < 5:\n        C[i] = A[i]\n    else:\n        C[i] = C[0]"),
        lambda a: numpy.where(numpy.arange(8) < 5, a, a[0]),
    ),
}  # fmt: skip


def test_tiles_of_any_size_are_found_to_be_all():
    """Analyze each variable by itself: together they have too many points to visit."""
    text = prim(
        "for i, j, k, u, v, w in T.grid(32, 32, 32, 16, 16, 16):\n    with T.block('C'):\n"
        "        x = T.axis.spatial(512, i * 16 + u)\n        y = T.axis.spatial(512, j * 16 + v)\n"
        "        z = T.axis.reduce(512, k * 16 + w)\n        T.where(k * 16 + w < 512)\n"
        "        with T.init():\n            C[x, y] = T.float32(0)\n        C[x, y] = C[x, y] + A[x, z] * A[z, y]",
        'A: T.Buffer((512, 512), "float32"), C: T.Buffer((512, 512), "float32")',
    )
    module = rx.Module.from_script(text)
    assert "memref" not in str(module)
    a = floats(512, 512)
    numpy.testing.assert_allclose(rx.compile(module)["main"](a), a @ a, rtol=1e-3, atol=1e-3)


def test_a_schedule_continues_from_tiles_of_the_text():
    """Continue a schedule of tiles in the text.

    Its trace has only the added steps, and applies to the text's loops again.
    """
    text = prim(
        "for o, i in T.grid(2, 4):\n    with T.block('C'):\n        v = T.axis.spatial(8, o * 4 + i)\n"
        "        C[v] = A[v] * T.float32(2)"
    )
    module = rx.Module.from_script(text)
    schedule = rx.Schedule(module)
    assert schedule.trace == "# schedule 1\n" and "0 steps" in repr(schedule)
    schedule.vectorize(schedule.get_loops("C")[1])
    for again in (rx.Schedule(module, trace=schedule.trace), rx.Schedule(schedule.mod)):
        assert again.trace == schedule.trace and again.show() == schedule.show()
        a = floats(8)
        numpy.testing.assert_array_equal(rx.compile(again.mod)["main"](a), 2 * a)


@pytest.mark.parametrize("binding", ["i * 16 + u, j * 15 + v", "i * 16 + u, i * 16 + v", "i * 15 + u, j * 16 + v"])
def test_tiles_that_overlap(binding):
    one, other = binding.split(", ")
    text = prim(
        "for i, j, u, v in T.grid(2, 2, 16, 16):\n    with T.block('C'):\n"
        f"        x = T.axis.spatial(32, {one})\n        y = T.axis.spatial(32, {other})\n        C[x, y] = A[x, y]",
        'A: T.Buffer((32, 32), "float32"), C: T.Buffer((32, 32), "float32")',
    )
    a, c = floats(32, 32), floats(32, 32)
    wanted = c.copy()
    for i, j, u, v in numpy.ndindex(2, 2, 16, 16):
        at = eval(binding, {"i": i, "j": j, "u": u, "v": v})
        wanted[at] = a[at]
    numpy.testing.assert_array_equal(rx.compile(rx.Module.from_script(text))["main"](a, c), wanted)
    added = rx.Module.from_script(text.replace("C[x, y] = ", "C[x, y] = C[x, y] + "))
    assert "memref" in str(added), "what is added twice is not an operation of linalg"


@pytest.mark.parametrize("name", OUT)
def test_buffers_that_are_overwritten_are_only_results(name):
    text, expected = OUT[name]
    executable = rx.compile(rx.Module.from_script(text))
    assert inputs(executable) == ["A"]
    a = floats(8)
    numpy.testing.assert_allclose(executable["main"](a), expected(a), rtol=1e-5)


def test_outputs_anywhere():
    """Pass and return a buffer before others in the list. Results come in the order of the parameters."""
    buffers = 'C: T.Buffer((8,), "float32"), A: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")'
    text = prim("for i in range(8):\n    D[i] = A[i] * T.float32(2)\nfor i in range(8):\n    C[i] = A[i]", buffers)
    executable = rx.compile(rx.Module.from_script(text))
    assert inputs(executable) == ["C", "A"]
    a = floats(8)
    c, d = executable["main"](floats(8), a)
    numpy.testing.assert_array_equal(c, a)
    numpy.testing.assert_array_equal(d, 2 * a)


MODULE = """
@I.ir_module
class M:
    @T.prim_func
    def add(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        for i in range(8):
            C[i] = C[i] + A[i]
    @T.prim_func
    def half(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        for i in range(4):
            C[i] = A[i]
    @T.prim_func
    def first(C: T.Buffer((8,), "float32"), A: T.Buffer((8,), "float32")):
        for i in range(8):
            C[i] = A[i]
    @R.function
    def main(a: R.Tensor((8,), "float32"), c: R.Tensor((8,), "float32")):
        {}
"""
OF_EIGHT = 'out_sinfo=R.Tensor((8,), "float32")'


def module(*lines):
    return rx.Module.from_script(MODULE.format("\n        ".join(lines)))


def test_a_graph_passes_what_goes_in_and_out():
    given = module("b = R.exp(c)", f"d = R.call_tir_inplace(cls.add, (a, b), [1], {OF_EIGHT})", "return d")
    a, c = floats(8), floats(8)
    numpy.testing.assert_allclose(rx.compile(given)["main"](a, c), numpy.exp(c) + a, rtol=1e-5)


@pytest.mark.parametrize("also", ["", f"b = R.call_tir_inplace(cls.half, (a, c), [1], {OF_EIGHT})"])
def test_the_unwritten_rest_of_a_result_is_zero(also):
    """Fill the rest of the result with zeros, with a separate buffer for the input and with an input that another call
    overwrites."""
    given = module(*([also] if also else []), f"d = R.call_tir(cls.half, (a,), {OF_EIGHT})", "return d")
    a = floats(8)
    numpy.testing.assert_array_equal(rx.compile(given)["main"](a, floats(8)), after(numpy.zeros(8), slice(4), a[:4]))


def test_a_clearing_copy_differs_from_a_function_of_its_name():
    other = """    @T.prim_func
    def half_cleared(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        for i in range(8):
            C[i] = A[i] * T.float32(100)
    @R.function"""
    text = MODULE.replace("    @R.function", other).format(f"return R.call_tir(cls.half, (a,), {OF_EIGHT})")
    a = floats(8)
    wanted = after(numpy.zeros(8), slice(4), a[:4])
    numpy.testing.assert_array_equal(rx.compile(rx.Module.from_script(text))["main"](a, a), wanted)


def test_a_call_with_several_results():
    types = f"[{OF_EIGHT[10:]}, {OF_EIGHT[10:]}]"
    text = MODULE.format(f"d, e = R.call_tir(cls.both, (a,), out_sinfo={types})\n        return (d, e)")
    both = """    @T.prim_func
    def both(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
        for i in range(8):
            C[i] = A[i]
            D[i] = A[i] + A[i]
"""
    a = floats(8)
    main = rx.compile(rx.Module.from_script(text.replace("    @R.function", f"{both}    @R.function")))["main"]
    for one, other in zip(main(a, a), (a, a + a), strict=True):
        numpy.testing.assert_array_equal(one, other)


def test_a_result_that_is_read_first_is_refused():
    with pytest.raises(rx.RelaxError, match="'add' reads its result 'C' before it writes it"):
        module(f"d = R.call_tir(cls.add, (a,), {OF_EIGHT})", "return d")


def test_an_argument_that_is_written_is_refused():
    with pytest.raises(rx.RelaxError, match="'first' writes to its argument 'C', but values of a graph are immutable"):
        module(f"d = R.call_tir(cls.first, (a,), {OF_EIGHT})", "return d")


def test_memory_that_passes_have_made_explicit():
    """Read the output of TVM's CallTIRRewrite and StaticPlanBlockMemory."""
    given = module(
        's: R.Object = R.memory.alloc_storage(R.shape([32]), 0, R.str("global"), R.dtype("uint8"))',
        't: R.Tensor((8,), "float32") = R.memory.alloc_tensor(s, 0, R.shape([8]), R.dtype("float32"), 0)',
        'u: R.Tensor((8,), "float32") = R.builtin.alloc_tensor(R.shape([8]), R.dtype("float32"), 0, R.str("global"))',
        "cls.half(a, t)",
        "b: R.Tensor((8,), 'float32') = t",
        "cls.half(b, u)",
        "cls.add(c, u)",
        "R.memory.kill_tensor(t)",
        "d = R.hint_on_device(u, 'cpu')",
        "return R.add(d, t)",
    )
    a, c = floats(8), floats(8)
    half = after(numpy.zeros(8, "float32"), slice(4), a[:4])
    numpy.testing.assert_allclose(rx.compile(given)["main"](a, c), half + c + half, rtol=1e-5)


def test_of_two_results_the_unwritten_one_is_cleared():
    both = """    @T.prim_func
    def both(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
        for i in range(4):
            C[i] = A[i]
            D[i + 1] = A[i] + C[i]
"""
    lines = [ALLOCATED, ALLOCATED.replace("t =", "u ="), "cls.first(t, c)", "cls.both(a, t, u)", "return (t, u)"]
    text = MODULE.format("\n        ".join(lines)).replace("    @R.function", f"{both}    @R.function")
    a, c = floats(8), floats(8)
    t, u = rx.compile(rx.Module.from_script(text))["main"](a, c)
    numpy.testing.assert_array_equal(t, after(c, slice(4), a[:4]))
    numpy.testing.assert_array_equal(u, after(numpy.zeros(8), slice(1, 5), a[:4] + a[:4]))


ALLOCATED = 't = R.builtin.alloc_tensor(R.shape([8]), R.dtype("float32"), 0)'


@pytest.mark.parametrize("type_", ["", ': R.Tensor((8,), "float32")'])
def test_another_name_of_a_tensor_sees_what_is_written_later(type_):
    given = module(ALLOCATED, "cls.half(a, t)", f"b{type_} = t", "cls.add(a, t)", "return b")
    a = floats(8)
    numpy.testing.assert_allclose(rx.compile(given)["main"](a, a), after(a, slice(4), 2 * a[:4]), rtol=1e-6)


def test_a_branch_that_writes_to_an_outer_tensor_is_refused():
    lines = ["if R.less(R.sum(a), R.sum(c)):", "    cls.half(a, t)", "    b = t", "else:", "    b = a", "return b"]
    with pytest.raises(rx.RelaxError, match="one branch of an `if` writes to a tensor that was allocated before"):
        module(ALLOCATED, *lines)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cls.add(a, t)", "'add' reads 'C' before anything is written to it"),
        ("cls.half(a, c)", "'half' writes to 'C', which was not allocated by R.builtin.alloc_tensor"),
        ("cls.half(a)", "'half' takes 2 arguments, not 1"),
        ("b = R.exp(t)", "this tensor is used before anything is written to it"),
    ],
)
def test_unwritten_memory_is_refused(line, message):
    with pytest.raises(rx.RelaxError, match=message):
        module(ALLOCATED, line, "return a")


# ---- elements that are not there ----

NESTED = """
@T.prim_func
def f(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("outer"):
            vi = T.axis.spatial(16, i)
            row = T.alloc_buffer((1, 16))
            for j, k in T.grid(1, 16):
                with T.block("row"):
                    v = T.axis.spatial(16, vi + j)
                    w = T.axis.spatial(16, k)
                    row[{}, w] = A[v, w]
            B[vi] = row[0, 3]
"""


def test_an_element_beyond_a_local_buffer_is_refused():
    with pytest.raises(rx.RelaxError, match="'row' has 1 elements along dimension 0, but the index goes from 0 to 15"):
        rx.Module.from_script(NESTED.format("v"))
    a = floats(16, 16)
    numpy.testing.assert_array_equal(rx.compile(rx.Module.from_script(NESTED.format("v - vi")))["main"](a), a[:, 3])


WHOLE = "for i in range(8):\n    C[i] = T.float32(0)\n"


@pytest.mark.parametrize("index", ["-(i < 4)", "(i < 4) - (i < 9)"])
def test_arithmetic_of_truth_values_that_leaves_a_buffer_is_refused(index):
    module = rx.Module.from_script(prim(f"{WHOLE}for i in range(8):\n    C[{index}] = A[i]"))
    with pytest.raises(rx.RelaxError, match=r"accesses leave their buffers: 'memref\.store' op writes elements? -1"):
        rx.compile(module)


def test_a_number_of_more_than_64_bits_is_refused():
    with pytest.raises(rx.RelaxError, match="1180591620717411303424 is out of the range of index"):
        rx.Module.from_script(prim("for i in range(8):\n    C[i] = A[i * 1180591620717411303424]"))


GATHERED = 'A: T.Buffer((8,), "float32"), I: T.Buffer((8,), "int32"), C: T.Buffer((8,), "float32")'
#: Loops with the indices 0 to 7, and then another index at one place.
LOOKED_AT = {
    "a store": WHOLE + "for i in range(8):\n    C[I[i]] = A[i]",
    "a load": WHOLE + "for i in range(8):\n    for k in range(I[i], I[i] + 1):\n        C[i] = C[i] + A[k]",
    "in parallel": WHOLE + "for i in T.parallel(8):\n    C[I[i]] = A[i]",
    "in a while": WHOLE + "while C[I[7] - 1] < T.float32(1):\n    C[I[7] - 1] = T.float32(1)",
    "in a condition": WHOLE + "for i in range(8):\n    if A[I[i]] > T.float32(0):\n        C[i] = T.float32(1)",
}


@pytest.mark.parametrize("name", LOOKED_AT)
@pytest.mark.parametrize("wrong", [100, -1])
def test_the_run_looks_at_indices_that_the_data_tell(name, wrong):
    main = rx.compile(rx.Module.from_script(prim(LOOKED_AT[name], GATHERED)))["main"]
    ids = numpy.arange(8, dtype="int32")
    main(floats(8), ids)
    ids[7] = wrong
    index = wrong - 1 if name == "in a while" else wrong
    with pytest.raises(IndexError, match=f"index {index} is out of range for '[AC]', which has 8 elements"):
        main(floats(8), ids)


def test_a_block_reads_nothing_of_an_empty_buffer():
    """Give zero for the nearest element of an empty buffer."""
    module = rx.Module.from_script("""
from tvm.script import tir as T
@T.prim_func
def f(a: T.handle, i: T.handle, b: T.handle):
    n = T.int64()
    k = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    I = T.match_buffer(i, (k,), "int32")
    B = T.match_buffer(b, (k,), "float32")
    for v in range(k):
        with T.block("B"):
            vv = T.axis.spatial(k, v)
            B[vv] = A[I[vv]] + T.float32(1)
""")
    executable = rx.compile(module, cache=False)
    run, places = executable[next(iter(executable))], numpy.array([0, 4, 9, -3], "int32")
    numpy.testing.assert_array_equal(run(numpy.arange(5, dtype="float32"), places), [1, 5, 5, 1])
    numpy.testing.assert_array_equal(run(numpy.zeros(0, "float32"), places), [1, 1, 1, 1])


def test_a_block_takes_the_nearest_element():
    """Clamp indices: the block is an operation on tensors, which cannot fail."""
    text = prim(BLOCK + "C[v] = A[I[v]]", GATHERED)
    ids = numpy.array([0, 100, -5, 7, 8, -1, 3, 2], "int32")
    a = floats(8)
    numpy.testing.assert_array_equal(rx.compile(rx.Module.from_script(text))["main"](a, ids), a[numpy.clip(ids, 0, 7)])


# ---- dimensions of one element ----


@pytest.mark.parametrize("place", ["0, v, w", "v, 0, w", "v, w, 0"])
def test_a_unit_dimension_is_written_at_0(place):
    shape = [{"0": 1, "v": 6, "w": 5}[each] for each in place.split(", ")]
    text = prim(
        "for i, j in T.grid(6, 5):\n    with T.block('C'):\n        v, w = T.axis.remap('SS', [i, j])\n"
        f"        C[{place}] = A[{place}] * T.float32(2)\n"
        f"for i, j in T.grid(6, 5):\n    with T.block('D'):\n        v, w = T.axis.remap('SS', [i, j])\n"
        f"        C[{place}] = C[{place}] + T.float32(1)",
        f'A: T.Buffer({tuple(shape)}, "float32"), C: T.Buffer({tuple(shape)}, "float32")',
    )
    module = rx.Module.from_script(text)
    assert "memref" not in str(module)
    assert len(rx.Schedule(module).get_loops("C")) == 2
    a = floats(*shape)
    numpy.testing.assert_allclose(rx.compile(module)["main"](a), a * 2 + 1, rtol=1e-6)


# ---- views ----


@pytest.mark.parametrize("view", ["strides=(STEP,)", "elem_offset=STEP"])
def test_a_view_by_a_constant_is_refused(view):
    """Refuse a constant in a view.

    An undefined name would stand for the passed layout, which is contiguous, but a constant requires one.
    """
    body = f"A = T.match_buffer(a, (8,), 'float32', {view})\nfor i in range(8):\n    C[i] = A[i]"
    text = prim(body, 'a: T.handle, C: T.Buffer((8,), "float32")')
    with pytest.raises(rx.RelaxError, match="is a view of other memory: not supported"):
        rx.Module.from_script("STEP = 2\n" + text)
