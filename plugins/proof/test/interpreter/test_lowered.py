# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graph functions on memory: they return what the graph returns, also for arguments and results other than tensors."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from run_text import equal

SEVERAL = """
func.func @main(%x: tensor<?x?xf32, #relax.sym<["n", "m"]>>, %k: i32, %s: f16)
    -> (!relax.shape<["n", "m"]>, tensor<i32>, tensor<f16>, tensor<?xf32, #relax.sym<["n * m"]>>) {
  %0 = "relax.shape_of"(%x) : (tensor<?x?xf32, #relax.sym<["n", "m"]>>) -> !relax.shape<["n", "m"]>
  %1 = "relax.scalar_to_tensor"(%k) : (i32) -> tensor<i32>
  %2 = "relax.scalar_to_tensor"(%s) : (f16) -> tensor<f16>
  %3 = "relax.flatten"(%x)
    : (tensor<?x?xf32, #relax.sym<["n", "m"]>>) -> tensor<?xf32, #relax.sym<["n * m"]>>
  return %0, %1, %2, %3
    : !relax.shape<["n", "m"]>, tensor<i32>, tensor<f16>, tensor<?xf32, #relax.sym<["n * m"]>>
}"""


def lowered(module: rx.Module, stage: str) -> rx.Module:
    module = module.copy()
    rx.stages("llvm").until(stage).run(module, "llvm")
    return module


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("stage", ["legalize", "bufferize", "parallel"])
def test_shapes_and_numbers(stage: str, wide: bool) -> None:
    x = numpy.arange(6, dtype="float32").reshape(2, 3)
    main = rx.reference(lowered(rx.Module.parse(SEVERAL), stage), wide=wide)["main"]
    shape, number, half, flat = main(x, 7, 1.5)
    assert tuple(shape) == (2, 3)
    assert (number.dtype, number) == (numpy.int32, 7)
    assert half == 1.5
    equal(flat, x.reshape(6))
    with pytest.raises(rx.OptionError, match="takes 3 arguments, got 1"):
        main(x)


def built(body: Any, *infos: Any) -> rx.Module:
    module = rx.Module()
    with module.function("main", infos) as f:
        f.returns(body(*f.args))
    return module


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("dtype", ["uint8", "bool", "bfloat16", "float8_e4m3fn"])
def test_elements_that_memory_has_in_other_types(dtype: str, wide: bool) -> None:
    module = built(lambda x: relax.concat([x, x]), rx.tensor(("n",), dtype))
    x = numpy.array([1, 0, 1, 200 if dtype == "uint8" else 1]).astype(zeros(dtype).dtype)
    for stage in ("legalize", "bufferize", "parallel"):
        found = rx.reference(lowered(module, stage), wide=wide)["main"](x)
        assert found.dtype == (numpy.float64 if wide and "float" in dtype else x.dtype)
        equal(found.astype(float), numpy.concatenate([x, x]).astype(float))


def zeros(dtype: str) -> Any:
    module = rx.Module()
    with module.function("main", []) as f:
        f.returns(relax.zeros((1,), dtype))
    return rx.reference(module)["main"]()


@pytest.mark.parametrize("stage", ["legalize", "parallel"])
def test_negative_sizes_are_errors_of_the_call(stage: str) -> None:
    module = built(lambda x: relax.nn.avg_pool1d(x, pool_size=4), rx.tensor((1, 1, "n")))
    main = rx.reference(lowered(module, stage))["main"]
    equal(main(numpy.ones((1, 1, 5), "float32")), numpy.ones((1, 1, 2)))
    with pytest.raises(ValueError, match=r"a size .*is negative.*: shape \(1, 1, -1\)"):
        main(numpy.ones((1, 1, 2), "float32"))


def test_inputs_with_other_strides_are_not_changed() -> None:
    module = built(relax.negative, rx.tensor((3, 2)))
    x = numpy.arange(6, dtype="float32").reshape(2, 3).T
    equal(rx.reference(lowered(module, "parallel"))["main"](x), -x)
    equal(x, numpy.arange(6).reshape(2, 3).T)


INSTRUCTION = """
func.func private @f(%x: memref<4xi32>) attributes {{tir.prim_func}} {{
  %c0 = arith.constant 0 : index
  %0 = memref.load %x[%c0] : memref<4xi32>
  %1 = vector.broadcast %0 : i32 to vector<16xi32>
  %2 = llvm.call_intrinsic "{name}"(%1, %1, %1) : (vector<16xi32>, vector<16xi32>, vector<16xi32>) -> vector<16xi32>
  %3 = vector.extract %2[0] : i32 from vector<16xi32>
  memref.store %3, %x[%c0] : memref<4xi32>
  return
}}
func.func @main(%x: tensor<4xi32>) -> tensor<4xi32> {{
  %0 = "relax.call_tir_inplace"(%x) {{func = @f, inplace_indices = array<i64: 0>}} : (tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}}"""


def test_an_instruction_without_a_definition_is_refused() -> None:
    module = rx.Module.parse(INSTRUCTION.format(name="llvm.x86.unheard.of"))
    with pytest.raises(rx.RefusalError, match=r"cannot run llvm\.x86\.unheard\.of: it has no definition"):
        rx.reference(module)["main"](numpy.arange(4, dtype="int32"))


def test_an_instruction_is_emulated() -> None:
    """Compute the first lane by hand: unsigned bytes times signed bytes, of equal words."""
    module = rx.Module.parse(INSTRUCTION.format(name="llvm.x86.avx512.vpdpbusd.512"))
    word = numpy.uint8([200, 3, 255, 127])
    expected = int(word.view("int32")[0]) + int((word.astype(int) * word.view("int8")).sum())
    given = numpy.array([word.view("int32")[0], 0, 0, 0], "int32")
    assert rx.reference(module)["main"](given)[0] == expected
