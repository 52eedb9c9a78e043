# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls to external functions: arguments of every kind, stated result types, the builder's API."""

from __future__ import annotations

import pytest
import relax_mlir.dialects.tir as tir
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from inferring import infer
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.core.infos import ObjectInfo, OtherInfo, ScalarInfo, VectorInfo
from relax_mlir.dialects.tir.prim_func import make_prim_func
from relax_mlir.support.errors import RelaxError

from relax_mlir import Module

SCALARS = [ScalarInfo(dtype) for dtype in ("i1", "i8", "ui16", "i32", "i64", "index", "f16", "bf16", "f32", "f64")]
VECTORS = [VectorInfo((4,), "f32", (False,)), VectorInfo((2, 8), "i8", (False, True))]
POINTERS = [OtherInfo("!llvm.ptr"), OtherInfo("memref<4x?xf32, strided<[?, 1]>, 1>"), OtherInfo("memref<*xf32>")]
FOR_C = st.sampled_from([*SCALARS, *VECTORS, *POINTERS])
FOR_PACKED = st.sampled_from([*SCALARS, *POINTERS, ObjectInfo()])
QUICK = draws(40)


@given(st.sampled_from(["tir.call_extern", "tir.call_pure_extern"]), st.lists(FOR_C, max_size=6))
@QUICK
def test_a_c_function_takes_arguments_of_any_kinds(name, arguments):
    assert infer(name, "VTADepPop", arguments, ty="i32") == [ScalarInfo("i32")]


@given(st.lists(FOR_PACKED, max_size=6))
@QUICK
def test_a_packed_function_takes_what_its_abi_knows(arguments):
    assert infer("tir.call_packed", "vta.sync", arguments, ty="!relax.object") == [ObjectInfo()]


@pytest.mark.parametrize("result", [*SCALARS, *VECTORS, OtherInfo("!llvm.ptr")])
def test_a_c_function_returns_a_value(result):
    assert infer("tir.call_extern", "f", [], ty=result) == [result]


def test_the_builder_returns_the_result_or_nothing():
    module = Module()
    with module:

        def body(x, buffer):
            assert tir.call_extern("VTADepPop", [x], ()) is None
            assert tir.call_extern("VTADepPop", [x], ty=[]) is None
            assert tir.call_packed("note", [buffer], ()) is None
            assert str(tir.call_extern("VTADepPop", [x], "i32").type) == "i32"
            assert str(tir.call_pure_extern("sinf", x, ty=ir.F32Type.get()).type) == "f32"

        make_prim_func("f", ["f32"], ["memref<4xf32>"], body)
    module.verify()
    ops = list(module.body.operations[0].regions[0].blocks[0].operations)
    assert [op.func for op in ops[:-1]] == ["VTADepPop", "VTADepPop", "note", "VTADepPop", "sinf"]
    assert [list(op.args) == list(op.operands) for op in ops[:-1]] == [True] * 5


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("f", []), "'tir.call_extern' op misses 'ty': the type of each result"),
        (("f", [], "int"), "'tir.call_extern' op 'ty': 'int' is not a type"),
        (("f", ["x"], ()), "operand 'args' must be an SSA value, got str"),
        (("f", [[1, 2]], ()), "operand 'args' must be an SSA value, got list"),
        (("f", 1, ()), "operand 'args' must be a list of values, got int"),
        ((None, [], ()), "misses attribute 'func'"),
        ((3, [], ()), "attribute 'func' expects a string, got 3"),
    ],
)
def test_the_builder_refuses(arguments, message):
    with Module(), pytest.raises(RelaxError) as caught:
        tir.call_extern(*arguments)
    assert message in str(caught.value)


def test_numbers_are_arguments_of_c_functions():
    with Module() as module:

        def body(x):
            tir.call_extern("f", [1, 2.5, True, x], ())

        make_prim_func("f", ["f32"], [], body)
    (call,) = [op for op in module.body.operations[0].regions[0].blocks[0].operations if op.name == "tir.call_extern"]
    assert [str(each.type) for each in call.operands] == ["i64", "f64", "i1", "f32"]


def test_packed_functions_take_values_alone():
    with Module(), pytest.raises(RelaxError, match="must be an SSA value, got int"):
        tir.call_packed("f", [1], ())
