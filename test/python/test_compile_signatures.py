# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Signatures of compiled functions: every kind of argument, result, constant and name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy
import pytest
import scipy.special
import tvm_ffi
from compiling import array, built, compiled, floats

import relax_mlir as rx
from relax_mlir import relax

# ---- how many ----


def test_no_arguments_and_no_results() -> None:
    executable = compiled("func.func @main() { return }")
    assert executable["main"]() is None
    with pytest.raises(TypeError, match="expected 0 arguments, got 1"):
        executable["main"](1)


def test_many_arguments_and_results() -> None:
    executable = built([rx.tensor(("n",))] * 20, lambda *xs: tuple(relax.add(x, xs[0]) for x in reversed(xs)))
    values = [floats(3, seed=seed) for seed in range(20)]
    results = executable["main"](*values)
    for result, value in zip(results, reversed(values), strict=True):
        numpy.testing.assert_array_equal(array(result), value + values[0])


# ---- scalars ----


_SCALARS = [
    ("i1", True, 1),
    ("i8", -3, 128),
    ("i16", 300, 2**15),
    ("i32", -5, 2**31),
    ("i64", 2**40, "x"),
    ("index", 7, 1.5),
    ("f16", 1.5, "x"),
    ("bf16", 2.5, None),
    ("f32", -1.5, "x"),
    ("f64", 0.1, "x"),
]


@pytest.mark.parametrize(("dtype", "value", "refused"), _SCALARS)
def test_scalar_arguments(dtype: str, value: Any, refused: Any) -> None:
    """Pass scalars, also narrow ones, and pass them from one function of the graph to the next."""
    executable = compiled(
        f"""
func.func private @inner(%s: {dtype}) -> tensor<2x{dtype}> {{
  %0 = tensor.from_elements %s, %s : tensor<2x{dtype}>
  return %0 : tensor<2x{dtype}>
}}
func.func @main(%s: {dtype}) -> tensor<2x{dtype}> {{
  %0 = func.call @inner(%s) : ({dtype}) -> tensor<2x{dtype}>
  return %0 : tensor<2x{dtype}>
}}"""
    )
    result = rx.runtime.to_numpy(executable["main"](value))
    assert [each.item() for each in result.astype("float64" if "f" in dtype else result.dtype)] == [value] * 2
    with pytest.raises((TypeError, ValueError), match="argument #0"):
        executable["main"](refused)


@pytest.mark.parametrize("dtype", ["i1", "i8", "i64", "index", "f16", "bf16", "f32", "f64"])
def test_scalars_of_packed_functions(dtype: str) -> None:
    passed: list[Any] = []

    def keep(value: Any) -> Any:
        passed.append(value)
        return value

    tvm_ffi.register_global_func("test_signatures.keep", keep, override=True)
    executable = compiled(
        f"""
func.func @kernel(%s: {dtype}, %o: memref<{dtype}>) attributes {{tir.prim_func}} {{
  memref.store %s, %o[] : memref<{dtype}>
  return
}}
func.func @main(%s: {dtype}) -> tensor<{dtype}> {{
  %0 = "relax.call_packed"(%s) {{func = "test_signatures.keep"}} : ({dtype}) -> {dtype}
  %1 = "relax.call_tir"(%0) {{func = @kernel}} : ({dtype}) -> tensor<{dtype}>
  return %1 : tensor<{dtype}>
}}"""
    )
    result = rx.runtime.to_numpy(executable["main"](True)).astype("float64")
    assert passed == [1] and result.item() == 1


# ---- element types ----

_HELD = ["i1", "i2", "i4", "i8", "i64", "ui2", "ui4", "ui8", "ui16", "ui32", "ui64", "f16", "bf16", "f32", "f64"]
_HELD += ["f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f6E2M3FN", "f4E2M1FN"]


def test_tensors_of_every_element_type() -> None:
    """Pass tensors of every element type in and out, through a kernel."""
    types = [f'tensor<?x{dtype}, #relax.sym<["n"]>>' for dtype in _HELD]
    twice = [f'tensor<?x{dtype}, #relax.sym<["2*n"]>>' for dtype in _HELD]
    parameters = ", ".join(f"%x{index}: {type_}" for index, type_ in enumerate(types))
    body = "\n".join(
        f'%y{index} = "relax.concat"(%x{index}, %x{index}) {{axis = 0}} : ({type_}, {type_}) -> {twice[index]}'
        for index, type_ in enumerate(types)
    )
    results = ", ".join(f"%y{index}" for index in range(len(types)))
    executable = compiled(
        f"func.func @main({parameters}) -> ({', '.join(twice)}) {{\n{body}\nreturn {results} : {', '.join(twice)}\n}}"
    )
    values = []
    for each in executable.signature("main")["inputs"]:
        name = each.get("holds", each["dtype"])
        dtype = numpy.dtype(getattr(ml_dtypes, name, None) or name)
        values.append(numpy.array([1, 0, 1]).astype(dtype))
    passed = [rx.runtime.tensor(value) for value in values]
    for result, value in zip(executable["main"](*passed), values, strict=True):
        held = rx.runtime.to_numpy(result).view(value.dtype)
        assert held.tobytes() == numpy.tile(value, 2).tobytes()


@pytest.mark.parametrize("dtype", ["ui1", "i3", "i128", "tf32", "complex<f32>", "f80", "f128"])
def test_element_types_that_cannot_be_passed(dtype: str) -> None:
    with pytest.raises(rx.RelaxError, match=r"cannot be passed to or from a compiled function|is not an element type"):
        compiled(f"func.func @main(%x: tensor<4x{dtype}>) -> tensor<4x{dtype}> {{ return %x : tensor<4x{dtype}> }}")


def constants() -> list[Any]:
    """Return constants: empty, of one element, small, large, all equal, of rank 0."""
    random = numpy.random.default_rng(3)
    names = "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 bool"
    values = []
    for dtype in [*names.split(), ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4, ml_dtypes.uint4]:
        values += [random.integers(0, 2, size=size).astype(dtype) for size in (0, 1, 3, 5000)]
        values += [numpy.ones(5000, dtype), numpy.array(1, dtype)]
    return values


@pytest.mark.slow
def test_constants_of_every_kind_from_everywhere(tmp_path: Path) -> None:
    values = constants()
    module = rx.Module()
    with module.function("main", []) as f:
        f.returns(*(relax.const(value) for value in values))
    for each in (module, rx.Module.parse(str(module)), rx.Module.parse(module.bytecode())):
        executable = rx.compile(each)
        executable.save(tmp_path / "constants.rxa")
        for loaded in (executable, rx.runtime.load(tmp_path / "constants.rxa")):
            for result, value in zip(loaded["main"](), values, strict=True):
                held = rx.runtime.to_numpy(result)
                assert held.view(value.dtype).tobytes() == value.tobytes() and held.shape == value.shape


def test_functions_share_constants_and_outlive_the_executable() -> None:
    big = floats(100, 100)
    module = rx.Module()
    for name in ("one", "two"):
        with module.function(name, [rx.tensor((100,))]) as f:
            f.returns(relax.add(*f, relax.const(big)))
    executable = rx.compile(module)
    functions = [executable["one"], executable["two"]]
    del executable, module
    for function in functions:
        numpy.testing.assert_allclose(array(function(floats(100))), big + floats(100), rtol=1e-6)


# ---- other values ----


def test_objects_go_in_and_out() -> None:
    tvm_ffi.register_global_func("test_signatures.pair", lambda value: [value, "two"], override=True)
    executable = compiled(
        """
func.func @main(%x: !relax.object) -> (!relax.object, !relax.object) {
  %0 = "relax.call_packed"(%x) {func = "test_signatures.pair"} : (!relax.object) -> !relax.object
  return %0, %x : !relax.object, !relax.object
}"""
    )
    for value in (3, 2.5, None, "short", "a long string with memory of its own", True, b"bytes"):
        pair, same = executable["main"](value)
        assert pair[0] == value and pair[1] == "two" and same == value


def test_sizes_without_names() -> None:
    executable = compiled(
        """
func.func @main(%x: tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %0 = "relax.exp"(%x) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0, %x : tensor<?x?xf32>, tensor<?x?xf32>
}"""
    )
    x = floats(2, 3)
    first, second = executable["main"](x)
    numpy.testing.assert_allclose(array(first), numpy.exp(x), rtol=1e-6)
    numpy.testing.assert_array_equal(array(second), x)


def test_shapes_are_results() -> None:
    """Return shapes as tvm-ffi's shapes, which are tuples. A shape made of data is checked."""

    def body(x: Any, sizes: Any) -> Any:
        return relax.shape_of(x), relax.tensor_to_shape(sizes), relax.exp(x), relax.shape_of(x)

    shapes = built([rx.tensor(("n", 4)), rx.tensor((2,), "int64")], body)
    own, made, _, again = shapes["main"](floats(5, 4), numpy.array([7, 0]))
    assert all(isinstance(shape, tvm_ffi.Shape) for shape in (own, made, again))
    assert (own, made, again) == ((5, 4), (7, 0), (5, 4))
    with pytest.raises(ValueError, match="the size of dimension 1 is negative: -1"):
        shapes["main"](floats(5, 4), numpy.array([7, -1]))
    assert built([rx.tensor(())], lambda x: relax.shape_of(x))["main"](numpy.zeros((), "float32")) == ()


_SHAPE_OF_UNKNOWN_RANK = """
func.func @main(%x: tensor<?xi64>) -> !relax.shape<unit> {
  %0 = "relax.tensor_to_shape"(%x) : (tensor<?xi64>) -> !relax.shape<unit>
  return %0 : !relax.shape<unit>
}"""
_DECLARED_CALLED = """
func.func private @ext(tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @ext(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_SHAPE_OF_UNKNOWN_RANK, "'relax.tensor_to_shape' op gives a shape of unknown rank"),
        (
            "func.func @main(%x: i64) -> i64 { return %x : i64 }",
            "@main returns i64: only tensors, shapes and objects can be returned (relax.scalar_to_tensor",
        ),
        ("func.func @main(%x: tensor<*xf32>) { return }", "@main takes a tensor of unknown rank"),
        ("func.func private @main() { return }", "has no public graph function"),
        ("", "has no public graph function"),
        (
            "module @ext { func.func @f() { return } }\nfunc.func @main() { return }",
            "the nested module @ext is not for this target",
        ),
        (_DECLARED_CALLED, "calls @ext, which has no body"),
        ('func.func @"é"() { return }', "'é' cannot name a compiled function"),
    ],
)
def test_functions_without_a_signature_are_refused(text: str, message: str) -> None:
    with pytest.raises(rx.RelaxError) as caught:
        compiled(text)
    assert message in str(caught.value)


# ---- functions and their names ----


def test_calls_of_graph_functions_know_more_or_less_than_these() -> None:
    executable = compiled(
        """
func.func private @inner(%x: tensor<?xf32>) -> tensor<4xf32> {
  %1 = "relax.match_cast"(%x) : (tensor<?xf32>) -> tensor<4xf32>
  %2 = "relax.exp"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func @main(%0: tensor<4xf32>) -> tensor<4xf32> {
  %1 = "relax.match_cast"(%0) : (tensor<4xf32>) -> tensor<?xf32>
  %2 = func.call @inner(%1) : (tensor<?xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}"""
    )
    numpy.testing.assert_allclose(array(executable["main"](floats(4))), numpy.exp(floats(4)), rtol=1e-6)


def test_a_function_that_calls_itself() -> None:
    """Refuse recursion, even if it would end: its use of the stack has no bound."""
    vector = 'tensor<?xf32, #relax.sym<["n"]>>'
    text = f"""
func.func private @double(%x: {vector}, %k: i64) -> {vector} {{
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c = arith.cmpi eq, %k, %c0 : i64
  %r = scf.if %c -> ({vector}) {{
    scf.yield %x : {vector}
  }} else {{
    %k1 = arith.subi %k, %c1 : i64
    %y = "relax.add"(%x, %x) : ({vector}, {vector}) -> {vector}
    %z = func.call @double(%y, %k1) : ({vector}, i64) -> {vector}
    scf.yield %z : {vector}
  }}
  return %r : {vector}
}}
func.func @main(%x: {vector}, %k: i64) -> {vector} {{
  %0 = func.call @double(%x, %k) : ({vector}, i64) -> {vector}
  return %0 : {vector}
}}"""
    with pytest.raises(rx.RelaxError, match=r"@double calls itself .*scf\.while repeats"):
        compiled(text)


_NAMES = "exp malloc free aligned_alloc snprintf main_impl __tvm_ffi_main __relax_fail TVMFFIObjectDecRef constant_0"


@pytest.mark.slow
@pytest.mark.parametrize("name", [*_NAMES.split(), "a.b", "a b", "%s"])
@pytest.mark.parametrize("kind", ["prim", "public"])
def test_names_of_other_symbols_can_be_used(name: str, kind: str) -> None:
    """Use names of the C library, of the runtime, and of functions that passes make."""
    vector = "tensor<64xf32>"
    prim = f"""
func.func @"{name}"(%x: memref<64xf32>, %o: memref<64xf32>) attributes {{tir.prim_func}} {{
  linalg.add ins(%x, %x : memref<64xf32>, memref<64xf32>) outs(%o : memref<64xf32>)
  return
}}"""
    public = f"""
func.func @"{name}"(%x: {vector}) -> {vector} {{
  %0 = "relax.add"(%x, %x) : ({vector}, {vector}) -> {vector}
  return %0 : {vector}
}}"""
    call = f'"relax.call_tir"(%x) {{func = @"{name}"}}' if kind == "prim" else f'func.call @"{name}"(%x)'
    executable = compiled(
        f"""{prim if kind == "prim" else public}
func.func @main(%x: {vector}, %i: tensor<64xi64>) -> ({vector}, tensor<?xf32>) {{
  %c = arith.constant dense<1.0> : {vector}
  %1 = {call} : ({vector}) -> {vector}
  %2 = "relax.take"(%1, %i) {{axis = 0}} : ({vector}, tensor<64xi64>) -> {vector}
  %3 = "relax.erf"(%2) : ({vector}) -> {vector}
  %4 = "relax.add"(%3, %c) : ({vector}, {vector}) -> {vector}
  %5 = "relax.match_cast"(%4) : ({vector}) -> tensor<?xf32>
  return %4, %5 : {vector}, tensor<?xf32>
}}"""
    )
    x = floats(64)
    for result in executable["main"](x, numpy.arange(64)):
        numpy.testing.assert_allclose(array(result), scipy.special.erf(2 * x) + 1, rtol=1e-5)
    assert list(executable) == (["main"] if kind == "prim" else [name, "main"])
    if kind == "public":
        numpy.testing.assert_array_equal(array(executable[name](x)), 2 * x)


# ---- names of results ----


def _named_results(names: str) -> str:
    types = "tensor<4xf32>, tensor<?x?xi64>"
    return f"""
func.func @main(%x: tensor<4xf32>) -> ({types}) attributes {{relax.result_names = {names}}} {{
  %0 = "relax.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.nonzero"(%x) : (tensor<4xf32>) -> tensor<?x?xi64>
  return %0, %1 : {types}
}}"""


def test_names_of_results_are_in_the_signature() -> None:
    outputs = compiled(_named_results('["a/b:0", "\\C3\\BC"]')).signature("main")["outputs"]
    assert [each["name"] for each in outputs] == ["a/b:0", "\u00fc"]
    unnamed = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
    for text in (unnamed, _named_results("[]")):
        assert all("name" not in each for each in compiled(text).signature("main")["outputs"])


@pytest.mark.parametrize(
    ("names", "message"),
    [('["a"]', "has 2 results and 1 names"), ('"a"', "must be an array of strings"), ("[1, 2]", "array of strings")],
)
def test_names_of_results_that_are_none(names: str, message: str) -> None:
    with pytest.raises(rx.RelaxError, match=message):
        compiled(_named_results(names))
