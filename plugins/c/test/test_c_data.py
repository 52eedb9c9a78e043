# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants of all types, memory that is read as bytes, and omission of unused code."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from c_programs import CProgram, needs_compiler
from relax_mlir import relax

pytestmark = needs_compiler
DTYPES = "float32 float64 float16 bfloat16 bool int8 uint8 int16 uint16 int32 uint32 int64 uint64".split()


def built(infos: Any, body: Callable[..., Any]) -> rx.Module:
    module = rx.Module()
    with module.function("main", infos) as f:
        made = body(*f)
        f.returns(*(made if isinstance(made, tuple) else (made,)))
    return module


def numbers(dtype: str, count: int) -> Any:
    import ml_dtypes  # noqa: F401  # numpy knows its names then

    type_ = numpy.dtype(dtype)
    if dtype == "bool":
        return numpy.arange(count) % 3 == 0
    if type_.kind in "iu":
        limits = numpy.iinfo(type_)
        return numpy.resize(numpy.array([limits.min, limits.max, 1, 0, 77], type_), count)
    special = [1.5, numpy.nan, -0.0, numpy.inf, -numpy.inf, 1e-40, 65504.0, 0.1]
    return numpy.resize(numpy.array(special).astype(type_), count)


@pytest.mark.parametrize("dtype", DTYPES)
def test_constants(dtype: str) -> None:
    """Return small constants, a splat, and large ones, which the module stores as resources."""
    arrays = [numbers(dtype, 7).reshape(7, 1), numpy.full((3, 2), numbers(dtype, 1)[0]), numbers(dtype, 3000)]

    def body(x: Any) -> tuple[Any, ...]:
        return tuple(relax.concat([x, relax.reshape(relax.const(each), (-1,))], axis=0) for each in arrays)

    x = numbers(dtype, 2)
    for options in ("c", "c{constants=incbin}"):
        given = CProgram(built([rx.tensor((2,), dtype)], body), options)(x)
        for result, array in zip(given, arrays, strict=True):
            assert result.tobytes() == x.tobytes() + array.tobytes(), (dtype, options)


def test_parts_are_computed_in_the_memory_of_the_whole() -> None:
    def body(x: Any, y: Any) -> tuple[Any, ...]:
        doubled = relax.concat([relax.cumsum(y, axis=0), relax.cumsum(y, axis=0)], axis=0)
        return relax.concat([relax.cumsum(x, axis=0), relax.tanh(x)], axis=0), doubled

    program = CProgram(built([rx.tensor((17,)), rx.tensor((5, 3), "int16")], body))
    x, y = numpy.linspace(-1, 1, 17, dtype="float32"), numpy.arange(15, dtype="int16").reshape(5, 3)
    joined, doubled = program(x, y)
    numpy.testing.assert_allclose(joined, numpy.concatenate([numpy.cumsum(x), numpy.tanh(x)]), rtol=1e-5, atol=1e-6)
    numpy.testing.assert_array_equal(doubled, numpy.concatenate([numpy.cumsum(y, axis=0)] * 2))
    calls = re.findall(r"^ +(?:cumsum|tanh)\w*\((.*)\);", program.files["model.c"], re.MULTILINE)
    assert len(calls) >= 3 and not re.search(
        r"for \(.*\n.*result\d?\[", program.files["model.c"].split("model_main(")[-1]
    )


@pytest.mark.parametrize(
    "conversion",
    ["memref<4xf32> to memref<2x8xi8>", "memref<2x2xf32> to memref<?xi8>", "memref<4xf32> to memref<4xi32>"],
)
def test_memory_that_is_taken_for_something_else_is_refused(conversion: str) -> None:
    source, _, target = conversion.partition(" to ")
    shape, byte = source.removeprefix("memref<").removesuffix("xf32>"), target[:-1].rpartition("x")[2]
    first = ", ".join(["%zero"] * target.count("x"))
    module = rx.Module.parse(f"""
func.func private @kernel(%x: {source}, %y: {source}) attributes {{tir.prim_func}} {{
  %seen = builtin.unrealized_conversion_cast %y : {conversion}
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : {byte}
  memref.store %one, %seen[{first}] : {target}
  return
}}
func.func @main(%x: tensor<{shape}xf32>) -> tensor<{shape}xf32> {{
  %y = "relax.call_tir"(%x) {{func = @kernel}} : (tensor<{shape}xf32>) -> tensor<{shape}xf32>
  return %y : tensor<{shape}xf32>
}}
""")
    with pytest.raises(rx.RelaxError) as caught:
        rx.sources(module)
    assert "in @kernel" in str(caught.value)
    assert f"it converts a {source} to a {target}" in str(caught.value)


#: Names of inputs and of the model's nodes in comments, for code that does not use functions of these names.
NAMES = ("size", "t", "f32", "arena", "memory", "take_memory(", "end", "n")


@pytest.mark.parametrize("target", ["c", "c{memory=heap}"])
def test_constants_named_only_in_comments_are_left_out(target: str) -> None:
    infos = {name: rx.tensor((4, 3)) for name in NAMES}
    module = built(infos, lambda first, *_: relax.exp(first))
    x = numpy.ones((4, 3), "float32")
    program = CProgram(module, target)
    numpy.testing.assert_allclose(program(*[x] * len(NAMES))[0], numpy.exp(x), rtol=1e-6)
    assert "take_memory(struct" not in program.files["model.c"] and "} arena;" not in program.files["model.c"]


def test_a_size_that_only_a_comment_names_is_left_out() -> None:
    """Omit an unused size. `size_2` is the graph's name for a size that depends on the data."""
    result = 'tensor<?x?x?xi32, #relax.sym<["n", "n", "max(min(max(n - 3, 0) - 8, n - 9), 0)"]>>'
    array = 'tensor<?x?x?xi32, #relax.sym<["n", "n", "n"]>>'
    three, unknown = "tensor<3xi64>", "tensor<?x?x?xi32>"
    module = rx.Module.parse(f"""
func.func @main(%x: {array}, %begin: {three}, %end: {three}) -> {result} {{
  %step = arith.constant dense<[1, 1, -1]> : {three}
  %y = "relax.dynamic_strided_slice"(%x, %begin, %end, %step) : ({array}, {three}, {three}, {three}) -> {unknown}
  %z = "relax.match_cast"(%y) : ({unknown}) -> {result}
  return %z : {result}
}}
""")
    program = CProgram(module, "c{memory=heap}", opt_level=0)
    x = numpy.arange(8, dtype="int32").reshape(2, 2, 2)
    begin, end = numpy.array([0, 0, 0]), numpy.array([2, 2, 5])
    assert program(x, begin, end)[0].shape == (2, 2, 0)
    assert "size_2]" in program.files["model.c"]
