# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tir-inline-constants: programs compute the same as with numbers as parameters, to the last bit.

TVM inlines scalars during legalization: the scalar cases of test_transform_legalize_ops_binary.py.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes  # noqa: F401  # its types get names
import numpy
import pytest
from element_arrays import several
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.runtime import to_numpy

import relax_mlir as rx
from relax_mlir import relax

FUSE = "trivial-dce,relax-annotate-op-pattern,relax-fuse-ops{epilogues=true},tir-fuse"
WITHOUT = rx.stages().replace("fuse", FUSE)
WITH = rx.stages().replace("fuse", f"{FUSE},tir-inline-constants")
BEFORE = rx.stages("llvm", 0).replace("fuse", FUSE).until("fuse")

FLOATS = ("float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
INTEGERS = ("int8", "int32", "int64", "uint8", "uint64")
ARITHMETIC = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "less", "equal")
SPECIAL = ("0", "-0.0", "1", "-1", "3", "0.1", "nan", "inf", "-inf", "1e-6")


def _number(text: str, dtype: str) -> Any:
    kind = numpy.dtype(dtype)
    if dtype in FLOATS:
        return numpy.array(float(text), "float64").astype(kind)
    limits = numpy.iinfo(kind)
    held = {"nan": limits.max, "inf": limits.max, "-inf": limits.min, "0.1": 2, "1e-6": 7}.get(text)
    return numpy.array(int(float(text)) if held is None else held).astype(kind)


def _elements(dtype: str, count: int) -> Any:
    return several("float32", (count,)).astype(dtype) if dtype in FLOATS else several(dtype, (count,))


def _bits(array: Any) -> Any:
    """Return the bits of an array, with one encoding for all NaNs."""
    array = numpy.array(to_numpy(array))
    if array.dtype.kind in "fV" and array.dtype.name in FLOATS:
        array[numpy.isnan(array.astype("float32"))] = 0
        return array.tobytes(), numpy.isnan(numpy.array(to_numpy(array)).astype("float32")).tobytes()
    return array.tobytes()


def _inlined(module: rx.Module) -> str:
    copied = module.copy()
    for stage in BEFORE:
        stage.pipeline("llvm").run(copied)
    rx.Pipeline("tir-inline-constants").run(copied)
    return str(copied)


def _arguments(text: str) -> list[int]:
    """Return the number of arguments of each call of a PrimFunc."""
    return [
        line.partition("call_tir")[2].partition(")")[0].count("%") for line in text.splitlines() if "call_tir" in line
    ]


@draws(60)
@given(
    dtype=st.sampled_from(FLOATS + INTEGERS),
    steps=st.lists(
        st.tuples(st.sampled_from(ARITHMETIC), st.sampled_from(SPECIAL), st.booleans()), min_size=1, max_size=4
    ),
    shape=st.sampled_from([(), (1,), (1, 1), (19,)]),
    total=st.booleans(),
)
def test_bits_are_the_same(dtype: str, steps: Any, shape: tuple[int, ...], total: bool) -> None:
    module = rx.Module()
    name = str(numpy.dtype(dtype))
    with module.function("main", {"x": rx.tensor((19,) if shape == (19,) else ("n",), name)}) as f:
        (x,) = f
        for operator, text, is_left in steps:
            number = _number(text, dtype)
            if operator == "divide" and dtype not in FLOATS and not (is_left or number):
                operator = "add"  # the result of an integer division by zero is undefined
            constant = relax.const(numpy.full(shape, number))
            pair = (constant, x) if is_left and operator != "divide" else (x, constant)
            x = getattr(relax, operator)(*pair)
            x = relax.astype(x, dtype=name) if operator in ("less", "equal") else x
        f.returns(relax.sum(x) if total and dtype in ("float32", "int32") else x)
    given = _elements(dtype, 19)
    results = [rx.compile(module, pipeline=each)["main"](given) for each in (WITH, WITHOUT)]
    assert _bits(results[0]) == _bits(results[1])
    # A filled tensor that is summed up stays a tensor, and so does a tensor that alone determines a loop's bounds.
    stays = total and shape in ((19,), (1, 1))
    assert stays or "arith.constant dense" not in _inlined(module)


def _two(first: Any, second: Any, operator: str = "add") -> str:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((4,)), "z": rx.tensor((4,)), "y": rx.tensor(("n", 4))}) as f:
        *given, y = f
        pairs = zip(given, (first, second), strict=True)
        f.returns(*(getattr(relax, operator)(x, relax.const(each)) for x, each in pairs), relax.exp(y))
    return _inlined(module)


ONE = numpy.float32(1)


@pytest.mark.parametrize(
    ("first", "second", "arguments"),
    [
        (ONE, ONE, [1, 1, 1]),
        (ONE, numpy.float32(2), [2, 2, 1]),
        (numpy.float32(0.0), numpy.float32(-0.0), [2, 2, 1]),
        (numpy.float32("nan"), numpy.float32("nan"), [1, 1, 1]),
        (numpy.full(4, 1, "float32"), numpy.full(4, 1, "float32"), [1, 1, 1]),
        (numpy.arange(4, dtype="float32"), numpy.arange(4, dtype="float32"), [2, 2, 1]),
        (numpy.full(4, 1, "float32"), numpy.arange(4, dtype="float32"), [2, 2, 1]),
    ],
)
def test_only_what_all_calls_pass(first: Any, second: Any, arguments: list[int]) -> None:
    """Inline only constants that all calls pass, so that the number of functions stays the same."""
    text = _two(first, second)
    assert _arguments(text) == arguments
    assert text.count("tir.prim_func") == 2, text
    assert ("dense" in text) == (2 in arguments)


def test_a_thousand_numbers() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n",))}) as f:
        (x,) = f
        for number in range(1000):
            x = relax.add(x, relax.const(numpy.float32(number)))
        f.returns(x)
    rx.Pipeline("relax-legalize-ops,tir-inline-constants").run(module)
    assert str(module).count("tir.prim_func") == 1


def test_tensors_with_other_readers_are_not_inlined() -> None:
    """Keep tensors that a body reads whole, products of filled matrices, and public functions."""
    module = rx.Module.parse("""
    func.func @main(%x: tensor<4xf32>, %a: tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>) {
      %one = arith.constant dense<1.0> : tensor<f32>
      %ones = arith.constant dense<1.0> : tensor<4x4xf32>
      %row = arith.constant dense<1.0> : tensor<4xf32>
      %0 = "relax.call_tir"(%x, %one) {func = @public} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      %1 = "relax.call_tir"(%a, %ones) {func = @product} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %2 = "relax.call_tir"(%one) {func = @whole} : (tensor<f32>) -> tensor<4xf32>
      %3 = "relax.call_tir"(%row) {func = @only} : (tensor<4xf32>) -> tensor<4xf32>
      %4 = "relax.call_tir"(%x, %one) {func = @scheduled} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      return %0, %1, %2, %3 : tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>
    }
    func.func @public(%x: tensor<4xf32>, %c: tensor<f32>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func} {
      %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x, %c : tensor<4xf32>, tensor<f32>) outs(%o : tensor<4xf32>) {
      ^bb0(%a: f32, %b: f32, %d: f32):
        %1 = arith.addf %a, %b : f32
        linalg.yield %1 : f32
      } -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func private @product(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>, %o: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {tir.prim_func} {
      %0 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<4x4xf32>, tensor<4x4xf32>) outs(%o : tensor<4x4xf32>) {
      ^bb0(%a: f32, %b: f32, %d: f32):
        %1 = arith.mulf %a, %b : f32
        %2 = arith.addf %1, %d : f32
        linalg.yield %2 : f32
      } -> tensor<4x4xf32>
      return %0 : tensor<4x4xf32>
    }
    func.func private @whole(%x: tensor<f32>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func} {
      %0 = linalg.broadcast ins(%x : tensor<f32>) outs(%o : tensor<4xf32>) dimensions = [0]
      return %0 : tensor<4xf32>
    }
    func.func private @scheduled(%x: tensor<4xf32>, %c: tensor<f32>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func, tir.schedule = @by_hand} {
      %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x, %c : tensor<4xf32>, tensor<f32>) outs(%o : tensor<4xf32>) {
      ^bb0(%a: f32, %b: f32, %d: f32):
        %1 = arith.addf %a, %b : f32
        linalg.yield %1 : f32
      } -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func private @only(%x: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func} {
      %0 = tensor.extract_slice %x[0] [4] [1] : tensor<4xf32> to tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    """)  # noqa: E501
    before = str(module)
    rx.Pipeline("tir-inline-constants").run(module)
    assert str(module) == before


def test_loops_over_memory_and_scalars() -> None:
    """Inline constants that a kernel loads, but not scalars, which a kernel uses directly."""
    module = rx.Module.parse("""
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %scale = arith.constant dense<2.5> : tensor<1xf32>
      %times = arith.constant 3 : i64
      %0 = "relax.call_tir"(%x, %scale, %times) {func = @scaled} : (tensor<4xf32>, tensor<1xf32>, i64) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func private @scaled(%x: memref<4xf32>, %c: memref<1xf32>, %n: i64, %o: memref<4xf32>) attributes {tir.prim_func} {
      %zero = arith.constant 0 : index
      %four = arith.constant 4 : index
      %one = arith.constant 1 : index
      %f = arith.sitofp %n : i64 to f32
      scf.for %i = %zero to %four step %one {
        %a = memref.load %x[%i] : memref<4xf32>
        %b = memref.load %c[%zero] : memref<1xf32>
        %d = arith.mulf %a, %b : f32
        %e = arith.addf %d, %f : f32
        memref.store %e, %o[%i] : memref<4xf32>
      }
      return
    }
    """)  # noqa: E501
    x = numpy.arange(4, dtype="float32")
    before = to_numpy(rx.compile(module, pipeline=WITHOUT)["main"](x))
    rx.Pipeline("tir-inline-constants").run(module)
    assert _arguments(str(module)) == [1]
    after = to_numpy(rx.compile(module, pipeline=WITHOUT)["main"](x))
    assert before.tolist() == after.tolist() == [3.0, 5.5, 8.0, 10.5]


def test_inlined_constants_without_users_are_removed() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((4,), "uint8")}) as f:
        (x,) = f
        limit = relax.const(numpy.uint8(200))
        f.returns(relax.minimum(x, limit), limit)
    assert "arith.constant -56 : i8" in (text := _inlined(module)) and "relax.constant" in text
    assert to_numpy(rx.compile(module)["main"](numpy.array([0, 199, 201, 255], "uint8"))[0]).tolist() == [
        0,
        199,
        200,
        200,
    ]
    assert not [op for op in operations_in(module.operation) if op.name == "relax.call_tir"]
