# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scripts in the form that TVM 0.27 prints: its particular constructs, against numpy."""

import base64
import json
import struct

import ml_dtypes
import numpy
import pytest
import tvm_ffi

import relax_mlir as rx

RNG = numpy.random.default_rng(27)
HEAD = "# from tvm.script import ir as I\n# from tvm.script import tirx as T\n# from tvm.script import relax as R\n\n"


def floats(*shape):
    return RNG.standard_normal(shape).astype("float32")


def graph(body, parameters='x: R.Tensor((n, 4), dtype="float32")', around='n = TypeVar("n")'):
    lines = "".join(f"        {line}\n" for line in body.split("\n"))
    return f"{HEAD}{around}\n@I.ir_module\nclass Module:\n    @R.function\n    def main({parameters}):\n{lines}"


def prim(body, parameters='A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")', around=""):
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    return f"{HEAD}{around}\n@T.prim_func(s_tir=True)\ndef main({parameters}):\n{lines}"


def run(text, *arguments):
    return rx.compile(rx.Module.from_script(text))["main"](*arguments)


#: DLPack's, of element types that numpy lacks.
CODES = {"bfloat16": 4, "bool": 6, "float8_e4m3fn": 10, "float8_e5m2": 12, "float4_e2m1fn": 17}


def metadata(*arrays):
    """Return the metadata in the form of `script(show_meta=True)`."""
    nodes = [{"type": "None"}, {"type": "ffi.String", "data": "ir.GenericConst"}]
    constants = []
    for array in arrays:
        code = CODES.get(array.dtype.name, "iuf".find(array.dtype.kind))
        header = struct.pack("<QQiiiBBH", 0xDD5E40F096B4A13F, 0, 1, 0, array.ndim, code, 8 * array.dtype.itemsize, 1)
        shape = struct.pack(f"<{array.ndim}qq", *array.shape, array.nbytes)
        nodes.append({"type": "ffi.Tensor", "data": base64.b64encode(header + shape + array.tobytes()).decode()})
        nodes.append({"type": "ir.GenericConst", "data": {"span": 0, "ty": 0, "value": len(nodes) - 1}})
        constants.append(len(nodes) - 1)
    nodes += [{"type": "ffi.Array", "data": constants}, {"type": "ffi.Map", "data": [1, len(nodes)]}]
    text = json.dumps({"root_index": len(nodes) - 1, "nodes": nodes}).replace('"', '\\"')
    return f'metadata = tvm.ir.load_json("""{text}""")'


def test_sizes_by_typevar_are_known_in_all_functions():
    text = (
        HEAD
        + """n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def twice(x: T.Buffer((n, T.int64(4)), "float32"), y: T.Buffer((n, T.int64(4)), "float32")):
        # with T.sblock("root"):
        for i, j in T.grid(n, T.int64(4)):
            with T.sblock("y"):
                v, w = T.axis.remap("SS", [i, j])
                y[v, w] = x[v, w] * T.float32(2)
    @R.function
    def main(x: R.Tensor((n, 4), dtype="float32")) -> R.Tensor((n, 4), dtype="float32"):
        lv = R.call_tir(cls.twice, (x,), out_ty=R.Tensor((n, 4), dtype="float32"))
        return lv
"""
    )
    for n in (1, 5):
        x = floats(n, 4)
        numpy.testing.assert_array_equal(run(text, x), x * 2)


def test_constants_of_the_metadata():
    one, other = floats(4), numpy.arange(12, dtype="int64").reshape(3, 4)
    around = f'n = TypeVar("n")\n{metadata(one, other)}'
    text = graph(
        'y = R.add(x, metadata["ir.GenericConst"][0])\nreturn (y, metadata["ir.GenericConst"][1])', around=around
    )
    x = floats(2, 4)
    given = run(text, x)
    numpy.testing.assert_array_equal(given[0], x + one)
    numpy.testing.assert_array_equal(given[1], other)


def test_constants_of_variables():
    values, x = floats(4), floats(2, 4)
    text = graph('y = R.add(x, metadata["ir.GenericConst"][0])\nreturn y', around='n = TypeVar("n")')
    module = rx.Module.from_script(text, variables={"metadata": {"ir.GenericConst": {0: values}}})
    numpy.testing.assert_array_equal(rx.compile(module)["main"](x), x + values)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_element_types_of_the_metadata(dtype):
    values = numpy.arange(6).astype(dtype if hasattr(numpy, dtype) else getattr(ml_dtypes, dtype))
    given = run(graph('return metadata["ir.GenericConst"][0]', around=f'n = TypeVar("n")\n{metadata(values)}'), X)
    assert given.dtype == values.dtype
    numpy.testing.assert_array_equal(given, values)


@pytest.mark.parametrize(
    ("around", "message"),
    [
        (metadata(numpy.ones(2, ml_dtypes.float4_e2m1fn)), "of DLPack's element type 17 with 8 bits is not read"),
        ('metadata = tvm.ir.load_json("{}")', "this is not metadata of TVM's printer"),
        ('metadata = tvm.ir.load_json("{")', "this cannot be evaluated"),
        (metadata(numpy.ones(1)).replace('"value\\": 2', '"value\\": 3'), "a node holds itself"),
        (metadata(), "tuple index out of range"),
        ("", "there is no 'metadata' here"),
    ],
)
def test_metadata_that_lacks_a_constant(around, message):
    with pytest.raises(rx.RelaxError, match=message):
        rx.Module.from_script(graph('return metadata["ir.GenericConst"][0]', "x: R.Tensor((4,))", around))


#: name: (script, arguments, the results)
X = floats(3, 4)
A = floats(8)
CASES = {
    "numbers of types as attributes": (
        graph("return R.clip(x, T.float64(-0.5), T.float64(0.5))"),
        (X,),
        numpy.clip(X, -0.5, 0.5),
    ),
    "an index map": (
        graph("return R.layout_transform(x, index_map=T.index_map(lambda i, j: (j // 2, i, j % 2)), pad_value=None)"),
        (X,),
        X.reshape(3, 2, 2).transpose(1, 0, 2),
    ),
    "a tensor of any type": (graph("y: R.Tensor((n, 4)) = R.astype(x, 'int32')\nreturn y"), (X,), X.astype("int32")),
    "anything": (graph("y: R.Tensor = R.astype(x, 'int32')\nreturn y"), (X,), X.astype("int32")),
    "a function in a function": (
        graph(
            "@R.function\ndef inner(a: R.Tensor((n, 4), 'float32')) -> R.Tensor((n, 4), 'float32'):\n"
            "    b = R.add(a, y)\n    return b\nz = inner(x)\nw = inner(z)\nreturn w",
            'x: R.Tensor((n, 4), dtype="float32"), y: R.Tensor((4,), dtype="float32")',
        ),
        (X, X[0]),
        X + X[0] + X[0],
    ),
    "a function of constants": (
        graph(
            'return R.reshape(x, (n, half(4), 2))', 'x: R.Tensor((n, half(m=8)), dtype="float32")',
            'n = TypeVar("n")\ndef half(m):\n    two = 2\n    return m // two',
        ),
        (X,),
        X.reshape(3, 2, 2),
    ),
    "a size as text with types": (
        prim("for i, j in T.grid(n, T.int64(4)):\n    C[i * T.int64(4) + j] = A[i, j]",
             'A: T.Buffer((n, T.int64(4)), "float32"), C: T.Buffer(("n * T.int64(4)",), "float32")',
             'n = TypeVar("n")'),
        (X,),
        X.reshape(-1),
    ),
    "where a buffer begins": (
        prim("for i in range(8):\n    C[i] = A[i]",
             'A: T.Buffer((8,), "float32", elem_offset=offset), C: T.Buffer((8,), "float32", strides=[1])',
             'offset = TypeVar("offset")'),
        (A,),
        A,
    ),
    "rows behind each other": (
        prim("for i, j in T.grid(3, 4):\n    C[i, j] = A[i, j]",
             'A: T.Buffer((3, 4), "float32", strides=(s0, s1)), C: T.Buffer((3, 4), "float32", strides=(4, 1))',
             's0 = TypeVar("s0")\ns1 = TypeVar("s1")'),
        (X,),
        X,
    ),
    "memory of its own, names and pragmas": (
        prim('with T.sblock("f"):\n    T.reads()\n    T.attr({"pragma_scope": "seq"})\n    for i in T.parallel(8):\n'
             '        kept = T.alloc_local((1,), "float32")\n        kept[0] = A[i]\n'
             "        T.assume(A[i] > T.float32(-100))\n"
             "        twice = T.bind(kept[0] * T.float32(2))\n        with T.attr(0, 'pragma', 1):\n"
             "            C[i] = twice"),
        (A,),
        A * 2,
    ),
    "a number in place of a tensor": (graph("y = R.add(x, T.float32(0.1))\nreturn y"), (X,), X + numpy.float32(0.1)),
    "the type of a number": (
        graph("return R.one_hot(x, T.float32(2), T.float32(-1), depth=4, axis=1)", 'x: R.Tensor((3,), dtype="int64")'),
        (numpy.array([2, 0, 3]),),
        3 * numpy.eye(4, dtype="float32")[[2, 0, 3]] - 1,
    ),
    "floats without digits": (
        graph('return R.minimum(R.maximum(x, R.const("-inf", "float32")), R.const("inf", "float32"))'),
        (X,),
        X,
    ),
    "the shape of a type by name": (
        graph('lv: R.Shape(ndim=2) = R.call_packed("vm.builtin.tensor_to_shape", s, ty_args=(R.Shape(ndim=2),))\n'
              'y: R.Tensor(lv, dtype="float32") = R.reshape(x, lv)\nreturn y',
              'x: R.Tensor((n, 4), dtype="float32"), s: R.Tensor((2,), dtype="int64")'),
        (X, numpy.array([2, 6])),
        X.reshape(2, 6),
    ),
    "types in a tuple that say nothing": (
        graph("y: R.Tuple(R.Tensor, R.Tensor) = (R.astype(x, 'int32'), x)\nreturn y[0]"), (X,), X.astype("int32")
    ),
    "a size by words in text": (
        prim("for i, j in T.grid(n, m):\n    C[i * m + j] = A[i, j]",
             'A: T.Buffer((n, m), "float32"), C: T.Buffer(("T.max(n, T.int64(1)) * m",), "float32")',
             'n = TypeVar("n")\nm = TypeVar("m")'),
        (X,),
        X.reshape(-1),
    ),
    "a remainder of what is negative in text": (
        graph("return R.add(y, y)", 'x: R.Tensor((n,), "float32"), y: R.Tensor(("n - n % T.int64(-3)",), "float32")'),
        (A[:5], A[:6]),
        A[:6] * 2,
    ),
    "memory that a packed function writes": (
        graph('alloc = R.builtin.alloc_tensor(R.shape([3, 4]), R.dtype("float32"), 0, R.str("global"))\n'
              '_: R.Any = R.call_packed("test.tvm_printouts.twice", x, alloc)\nreturn alloc'),
        (X,),
        X * 2,
    ),
    "a number that is a size": (
        graph("y = R.broadcast_to(x, R.shape([k, n, 4]))\nreturn y", 'x: R.Tensor((n, 4), "float32"), k: T.int64'),
        (X, 2),
        numpy.stack([X, X]),
    ),
    "a shape": (
        graph("y = R.reshape(x, s)\nz = R.zeros(R.shape([b]), 'float32')\nreturn R.add(y, z)",
              'x: R.Tensor((n, 4), "float32"), s: R.Shape([a, b])',
              'n = TypeVar("n")\na = TypeVar("a")\nb = TypeVar("b")'),
        (X, numpy.array([2, 6])),
        X.reshape(2, 6),
    ),
    "a condition on sizes": (
        graph("R.assert_op(n % 3 == 0, format='odd')\nif n >= 3:\n    y = R.add(x, x)\nelse:\n    y = x\nreturn y"),
        (X,),
        X * 2,
    ),
    "functions that are values": (
        graph('f: R.Callable = R.ExternFunc("test.tvm_printouts.twice")\n'
              'return R.call_dps_packed(f, (x,), out_ty=R.Tensor((n, 4), "float32"))').replace(
                  "class Module:\n", 'class Module:\n    other = R.ExternFunc("other")\n'),
        (X,),
        X * 2,
    ),
    "a block's own buffer, a message in parts": (
        prim('with T.sblock("f"):\n    T.reads(A[0:8])\n    T.writes(C[0:8])\n'
             '    own = T.sblock_alloc_buffer((1,), annotations={"buffer_data_alignment": 64})\n'
             '    for i in range(8):\n        own[0] = A[i]\n'
             '        assert i < 8, ("RuntimeError", ["more than ", "8"])\n        C[i] = own[0]'),
        (A,),
        A,
    ),
    "names that are only declared": (
        prim("for i in range(8):\n    v = T.float32()\n"
             "    C[i] = T.Let(v * v + T.float32(1), where={v: A[i] * T.float32(2)})"),
        (A,),
        4 * A * A + 1,
    ),
    "a division of integers": (
        prim("for i in range(4):\n    C[i] = T.Div(A[i], T.int32(2))",
             'A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")'),
        (numpy.array([-3, 3, -4, 5], "int32"),),
        numpy.array([-1, 1, -2, 2], "int32"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_printout_gives_what_numpy_gives(name):
    text, arguments, expected = CASES[name]
    given = run(text, *arguments)
    numpy.testing.assert_allclose(given, expected, rtol=1e-6)
    assert given.dtype == expected.dtype


@tvm_ffi.register_global_func("test.tvm_printouts.twice", override=True)
def twice(x, y):
    numpy.from_dlpack(y)[:] = 2 * numpy.from_dlpack(x)


def test_nothing_in_a_tuple_is_left_out():
    nothing = "none = R.null_value()\nreturn (none, (none, R.add(x, x)))"
    text = graph(nothing) + "    @R.function\n    def start():\n        none = R.null_value()\n        return (none,)\n"
    executable = rx.compile(rx.Module.from_script(text))
    numpy.testing.assert_array_equal(executable["main"](X), X + X)
    assert "func.func @start() {" in str(rx.Module.from_script(text))


OUTSIDE = prim(
    "for i, k in T.grid(8, 2):\n    with T.sblock('C'):\n        v, w = T.axis.remap('SR', [i, k])\n"
    "        with T.init():\n            C[v] = T.float32(0)\n"
    "        C[v] = C[v] + T.if_then_else(T.Select(v < 3, 0, 1) <= T.Div(v + 2, 2) - w"
    " and A[T.Div(v + 2, 2) - w] < T.float32(9), T.float32(1), T.float32(0))",
    'A: T.Buffer((4,), "float32"), C: T.Buffer((8,), "float32")',
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OUTSIDE, "'A' has 4 elements along dimension 0, but the index goes from 0 to 4"),
        (prim('T.func_attr({"calling_conv": 1})\nC[0] = A[0]'), "'main' is already lowered for TVM's runtime"),
        (graph('R.call_packed("vm.builtin.copy", x)\nreturn x'), "this function belongs to TVM's virtual machine"),
        (graph('f: R.Callable = R.ExternFunc("f")\nreturn f(x)'), "'f' is not a function of this module"),
        (graph("return x", 'x: R.Tensor(("T.max(n)",), "float32")'), "this is not a function of sizes"),
        (graph("return x", 'x: R.Tensor(("T.max(n",), "float32")'), "this is not a size"),
        (CASES["rows behind each other"][0].replace("(4, 1)", "(1, 3)"), "a buffer with 'strides=' is a view"),
        (CASES["a function in a function"][0].replace("inner(z)", "inner(z, x)"), "'inner' takes 1 arguments, not 2"),
        (CASES["a function in a function"][0].replace("R.add(a, y)", "inner(a)"), "'inner' calls itself"),
        (CASES["a function of constants"][0].replace("half(4)", "half(4, 5)"), "'half' takes m"),
        (CASES["a function of constants"][0].replace("two = 2", "import os"), "half"),
        (
            CASES["a function of constants"][0].replace("return m // two", "print(m)"),
            "'half' is not a function of constants",
        ),
    ],
)
def test_unsupported_printouts_are_refused(text, message):
    try:
        rx.Module.from_script(text)
    except rx.RelaxError as error:
        assert message in str(error)
    else:
        assert "import os" in text  # which means nothing


def test_a_primfunc_called_main_is_called_main():
    text = prim(
        "for i in range(8):\n    with T.sblock('C'):\n        v = T.axis.spatial(8, i)\n"
        "        C[v] = A[v] + T.float32(1)"
    )
    module = rx.Module.from_script(text)
    executable = rx.compile(module)
    assert list(executable) == ["main"]
    numpy.testing.assert_array_equal(executable["main"](A), A + 1)
    schedule = rx.Schedule(module)
    assert len(schedule.get_loops(schedule.get_sblock("C", func_name="main"))) == 1


# ---- schedules of tiled texts ----

TILED = """for j, i0, i1 in T.grid(12, 7, 16):
    with T.sblock("C"):
        v = T.axis.spatial(100, i0 * 16 + i1)
        w = T.axis.spatial(12, j)
        T.where(i0 * 16 + i1 < 100)
        C[v, w] = A[v, w] * T.float32(2)"""
OF_100 = 'A: T.Buffer((100, 12), "float32"), C: T.Buffer((100, 12), "float32")'


def test_a_schedule_begins_with_the_loops_of_the_text():
    module = rx.Module.from_script(prim(TILED, OF_100))
    schedule = rx.Schedule(module)
    _, _, i1 = schedule.get_loops("C")
    assert "for j, i0, i1 in T.grid(12, 7, 16)" in schedule.show()
    untouched = str(schedule.mod)
    schedule.vectorize(schedule.split(i1, [None, 4])[1])
    x = floats(100, 12)
    assert "tir.schedule" not in untouched
    assert "tir.schedule" in str(schedule.mod)
    for each in (module, schedule.mod):
        numpy.testing.assert_array_equal(rx.compile(each)["main"](x), x * 2)
    assert rx.Module.from_script(module.script()).script() == module.script()


@pytest.mark.parametrize(
    ("loops", "binding", "count"),
    [
        ("i, j in T.grid(100, 12)", "i", 2),
        ("i, j, k in T.grid(10, 12, 10)", "i * 10 + k", 3),
        ("i, j, k in T.grid(10, 12, 10)", "k + 10 * i", 3),
        ("i, j, k in T.grid(10, 12, 10)", "k * 10 + i", 3),
        ("i, j, k, l in T.grid(5, 12, 10, 2)", "i * 20 + k * 2 + l", 4),
    ],
)
def test_tiles_in_any_order(loops, binding, count):
    body = f"for {loops}:\n    with T.sblock('C'):\n        v = T.axis.spatial(100, {binding})\n"
    text = prim(f"{body}        w = T.axis.spatial(12, j)\n        C[v, w] = A[v, w] + T.float32(1)", OF_100)
    module = rx.Module.from_script(text)
    schedule = rx.Schedule(module)
    assert len(schedule.get_loops("C")) == count
    schedule.unroll(schedule.get_loops("C")[-1])
    x = floats(100, 12)
    numpy.testing.assert_array_equal(rx.compile(schedule.mod)["main"](x), x + 1)


def test_steps_on_a_block_that_is_not_read_are_left_out():
    block = (
        "for i, j in T.grid(100, 12):\n    with T.sblock('{0}'):\n        v, w = T.axis.remap('SS', [i, j])\n"
        "        {0}[v, w] = A[v, w] * T.float32({1})\n"
    )
    text = prim(f"B = T.sblock_alloc_buffer((100, 12))\n{block.format('B', 2)}{block.format('C', 3)}", OF_100)
    schedule = rx.Schedule(rx.Module.from_script(text))
    schedule.vectorize(schedule.split(schedule.get_loops("B")[1], [None, 4])[1])
    x = floats(100, 12)
    numpy.testing.assert_allclose(rx.compile(schedule.mod)["main"](x), x * 3, rtol=1e-6)
    schedule.parallel(schedule.get_loops("C")[0])
    numpy.testing.assert_allclose(rx.compile(schedule.mod)["main"](x), x * 3, rtol=1e-6)
    assert "'B'" not in str(schedule.mod)
