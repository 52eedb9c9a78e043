# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of PrimFuncs: the result of the builders, and agreement of a call with its function."""

from __future__ import annotations

from typing import Any

import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from inferring import build_function, built_op, infer
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects import relax
from relax_mlir.dialects.context import create_context
from relax_mlir.dialects.core.infos import ObjectInfo
from relax_mlir.support.errors import RelaxError
from shorthand import refusal, tensor, unranked

PRIM_FUNCS = """
  func.func private @copy(tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32> attributes {tir.prim_func}
  func.func private @split(memref<8xf32>, memref<4xf32>, memref<?xf32>) attributes {tir.prim_func}
  func.func private @scale(tensor<4xf32>, f32, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}
  func.func private @any(memref<*xf32>, memref<*xf32>) attributes {tir.prim_func}
  func.func private @plain(tensor<4xf32>, tensor<4xf32>)
  module @library {
    func.func private @inner(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}
    module @deep { func.func private @most(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func} }
  }
"""


def parse_call(arguments: str, call: str) -> Any:
    """Return a verified module with the PrimFuncs above and a function that makes the call."""
    text = f"module {{ func.func @main({arguments}) {{\n {call}\n return }} {PRIM_FUNCS} }}"
    with create_context():
        return ir.Module.parse(text)


def problem(arguments: str, call: str) -> str:
    with pytest.raises(ir.MLIRError) as caught:
        parse_call(arguments, call)
    return str(caught.value)


X = "%x: tensor<4xf32>"


@pytest.mark.parametrize(
    ("arguments", "call"),
    [
        ('%x: tensor<?x4xf32, #relax.sym<["n", 4]>>',
         '"relax.call_tir"(%x) {func = @copy} : (tensor<?x4xf32, #relax.sym<["n", 4]>>) '
         '-> tensor<?x4xf32, #relax.sym<["n", 4]>>'),
        ("%x: tensor<2x4xf32>", '"relax.call_tir"(%x) {func = @copy} : (tensor<2x4xf32>) -> tensor<2x4xf32>'),
        ("%x: tensor<8xf32>",
         '"relax.call_tir"(%x) {func = @split} : (tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>)'),
        (f"{X}, %s: f32", '"relax.call_tir"(%x, %s) {func = @scale} : (tensor<4xf32>, f32) -> tensor<4xf32>'),
        (X, '"relax.call_tir"(%x) {func = @any} : (tensor<4xf32>) -> tensor<2x2xf32>'),
        ("%x: tensor<*xf32>", '"relax.call_tir"(%x) {func = @copy} : (tensor<*xf32>) -> tensor<2x4xf32>'),
        (X, '"relax.call_tir"(%x) {func = @library::@inner} : (tensor<4xf32>) -> tensor<4xf32>'),
        (X, '"relax.call_tir"(%x) {func = @library::@deep::@most} : (tensor<4xf32>) -> tensor<4xf32>'),
        (f"{X}, %s: f32, %y: tensor<4xf32>",
         '"relax.call_tir_inplace"(%x, %s, %y) {func = @scale, inplace_indices = array<i64: 2>} '
         ": (tensor<4xf32>, f32, tensor<4xf32>) -> tensor<4xf32>"),
        ("%x: tensor<8xf32>, %y: tensor<4xf32>",
         '"relax.call_tir_inplace"(%x, %y) {func = @split, inplace_indices = array<i64: 1, -1>} '
         ": (tensor<8xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)"),
    ],
)  # fmt: skip
def test_a_call_that_fits_its_function(arguments, call):
    module = parse_call(arguments, call)
    assert str(ir.Module.parse(str(module), module.context)) == str(module)


@pytest.mark.parametrize(
    ("function", "problem_text"),
    [
        ("@copi", "attribute 'func': there is no function @copi in the module; did you mean 'copy'?"),
        ("@library::@outer", "attribute 'func': there is no function @outer in @library"),
        ("@librar::@inner", "attribute 'func': there is no function @librar in the module; did you mean 'library'?"),
        ("@copy::@inner", "attribute 'func': @copy is a func.func, which holds no functions"),
        ("@library", "attribute 'func': @library is a builtin.module, not a function"),
        ("@plain", "attribute 'func': @plain is no PrimFunc (it has no attribute tir.prim_func)"),
        ("@scale", "@scale takes 3 parameters, but the call passes 1 arguments and 1 results"),
        ("@copy", "argument #0 (tensor<4xf32>) does not fit parameter #0 of @copy (tensor<?x4xf32>)"),
    ],
)
def test_a_function_that_is_not_there_or_does_not_fit(function, problem_text):
    call = f'"relax.call_tir"(%x) {{func = {function}}} : (tensor<4xf32>) -> tensor<4xf32>'
    assert f"'relax.call_tir' op {problem_text}" in problem(X, call)


def test_a_function_of_an_outer_module_is_not_found():
    inner = '{ "relax.call_tir"(%x) {func = @copy} : (tensor<2x4xf32>) -> tensor<2x4xf32>\n return }'
    text = f"module {{ module {{ func.func @main(%x: tensor<2x4xf32>) {inner} }} {PRIM_FUNCS} }}"
    with create_context(), pytest.raises(ir.MLIRError, match="there is no function @copy in the module"):
        ir.Module.parse(text)


@pytest.mark.parametrize(
    "function",
    [
        '"func.func"() ({}) {sym_name = "k", tir.prim_func} : () -> ()',
        '"func.func"() ({}) {function_type = (tensor<4xf32>) -> (), tir.prim_func} : () -> ()',
        '"builtin.module"() ({}) {sym_name = "k"} : () -> ()',
        '"builtin.module"() ({}, {}) {sym_name = "k"} : () -> ()',
        'func.func private @k(tensor<4xf32>, !relax.shape<["n +"]>) attributes {tir.prim_func}',
    ],
)
@pytest.mark.parametrize("name", ["@k", "@k::@inner"])
def test_a_malformed_function_is_an_error(function, name):
    call = f'"relax.call_tir"(%x) {{func = {name}}} : (tensor<4xf32>) -> tensor<4xf32>'
    with create_context(), pytest.raises(ir.MLIRError):
        ir.Module.parse(f"module {{ func.func @main({X}) {{ {call}\n return }}\n {function} }}")


TYPES = st.tuples(st.lists(st.sampled_from([None, "n", 2, 3]), max_size=2).map(tuple), st.sampled_from(["f32", "i32"]))


@draws(80)
@given(st.lists(TYPES, max_size=3), st.lists(TYPES, min_size=1, max_size=2), st.data())
def test_a_call_fits_exactly_the_parameters_it_could_be_passed_to(arguments, results, data):
    """Element types and ranks are equal and fixed sizes do not contradict."""
    passed = [*arguments, *results]
    taken = [
        data.draw(st.one_of(st.just(type_), TYPES), label=f"parameter {index}") for index, type_ in enumerate(passed)
    ]

    def fits(one, other):
        (shape, dtype), (other_shape, other_dtype) = one, other
        fixed = [
            (size, other_size)
            for size, other_size in zip(shape, other_shape, strict=False)
            if isinstance(size, int) and isinstance(other_size, int)
        ]
        return dtype == other_dtype and len(shape) == len(other_shape) and all(a == b for a, b in fixed)

    def text(type_):
        shape, dtype = type_
        return f"tensor<{''.join(f'{size}x' if isinstance(size, int) else '?x' for size in shape)}{dtype}>"

    names = [f"%a{index}" for index in range(len(arguments))]
    parameters = ", ".join(f"{name}: {text(type_)}" for name, type_ in zip(names, arguments, strict=True))
    call = (
        f'"relax.call_tir"({", ".join(names)}) {{func = @k}} : '
        f"({', '.join(map(text, arguments))}) -> ({', '.join(map(text, results))})"
    )
    function = f"func.func private @k({', '.join(map(text, taken))}) attributes {{tir.prim_func}}"
    module = f"module {{ func.func @main({parameters}) {{ {call}\n return }}\n {function} }}"
    wrong = [i for i, pair in enumerate(zip(passed, taken, strict=True)) if not fits(*pair)]
    with create_context():
        if not wrong:
            ir.Module.parse(module)
            return
        with pytest.raises(ir.MLIRError, match=f"does not fit parameter #{wrong[0]} of @k"):
            ir.Module.parse(module)


INPLACE = [
    ("array<i64: 0, 1>", "attribute 'inplace_indices' has 2 entries for 1 results"),
    ("array<i64: -1>", "attribute 'inplace_indices' names no argument: use relax.call_"),
    ("array<i64: 3>", "attribute 'inplace_indices': 3 is no argument (there are 3) nor -1"),
    ("array<i64: -2>", "attribute 'inplace_indices': -2 is no argument (there are 3) nor -1"),
    ("array<i64: 1>", "result #0 (tensor<4xf32>) cannot take the place of argument #1 (f32)"),
    ("array<i64: 2>", "result #0 (tensor<4xf32>) cannot take the place of argument #2 (tensor<5xf32>)"),
]


@pytest.mark.parametrize(("indices", "problem_text"), INPLACE)
@pytest.mark.parametrize(("op", "func"), [("call_tir_inplace", "@scale"), ("call_inplace_packed", '"f"')])
def test_results_in_the_place_of_arguments(op, func, indices, problem_text):
    call = (
        f'"relax.{op}"(%x, %s, %y) {{func = {func}, inplace_indices = {indices}}} '
        ": (tensor<4xf32>, f32, tensor<5xf32>) -> tensor<4xf32>"
    )
    assert problem_text in problem(f"{X}, %s: f32, %y: tensor<5xf32>", call)


def test_one_argument_cannot_be_two_results():
    for op, func in (("call_tir_inplace", "@any"), ("call_inplace_packed", '"f"')):
        call = (
            f'"relax.{op}"(%x) {{func = {func}, inplace_indices = array<i64: 0, 0>}} '
            ": (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)"
        )
        assert "argument 0 is named for two results" in problem(X, call)


def test_calls_are_built_as_in_relax():
    x, y, out = tensor("n", 4), tensor(3, dtype="i8"), tensor("n", 2)
    assert infer("relax.call_dps_packed", "lib.f", [x, y], out_ty=out) == [out]
    assert infer("relax.call_dps_packed", "lib.f", [x, y], out_ty=[out, y]) == [out, y]
    assert infer("relax.call_pure_packed", "lib.f", [x, y], ty_args=ObjectInfo()) == [ObjectInfo()]
    assert infer("relax.call_pure_packed", "lib.f", [], ty_args="tensor<2xf32>") == [tensor(2)]
    assert infer("relax.call_packed", "lib.f", [x, y], ty_args=[]) == []
    assert infer("relax.call_packed", "lib.f", [x, y], ty_args=[unranked(), ObjectInfo()]) == [unranked(), ObjectInfo()]
    assert infer("relax.call_inplace_packed", "lib.f", [x, y], [-1, 1], ty_args=[out, y]) == [out, y]


def test_arguments_of_many_types_keep_their_order():
    infos = [tensor(3), tensor(4), tensor(3, dtype="i8"), ObjectInfo(), tensor("n", 2)]
    module = build_function("relax.call_packed", "f", infos, ty_args=[*reversed(infos)])
    op = built_op(module)
    types = [str(value.type) for value in op.operation.operands]
    assert len(set(types)) == 5
    assert types == [str(argument.type) for argument in op.operation.block.arguments]
    assert [str(result.type) for result in op.operation.results] == types[::-1]


def test_builders_give_one_result_for_one_type_and_several_for_a_list():
    with create_context(), ir.Location.unknown():
        module = ir.Module.parse(PRIM_FUNCS)
        with ir.InsertionPoint(module.body):
            x = relax.const([1.0, 2.0, 3.0, 4.0])
            assert isinstance(relax.call_pure_packed("f", [x], x.type), ir.Value)
            assert isinstance(relax.call_pure_packed("f", x, [x.type]), tuple)
            assert len(relax.call_tir("library::inner", [x], [tensor(4)])) == 1
            assert (
                str(relax.call_tir("@library::@inner", [x], tensor(4)).owner.attributes["func"]) == "@library::@inner"
            )
            relax.call_packed("f", [x], [])
        module.operation.verify()


@pytest.mark.parametrize(
    ("op", "arguments", "problem_text"),
    [
        ("call_tir", {"args": [], "out_ty": tensor(2)}, "misses attribute 'func' (a symbol)"),
        ("call_tir", {"func": "", "args": [], "out_ty": tensor(2)}, "attribute 'func' expects a symbol, got ''"),
        ("call_tir", {"func": "f", "args": []}, "misses 'out_ty': the type of each result"),
        ("call_tir", {"func": "f", "args": [], "out_ty": 3}, "'out_ty' must hold types, got int"),
        ("call_tir", {"func": "f", "args": [], "out_ty": "tensor<"}, "'out_ty': 'tensor<' is not a type"),
        ("call_tir", {"func": "f", "args": [1.5], "out_ty": tensor(2)}, "'args' must be an SSA value, got float"),
        ("call_tir", {"func": "f", "args": 7, "out_ty": tensor(2)}, "operand 'args' must be a list of values, got int"),
        ("call_tir_inplace", {"func": "f", "args": [], "out_ty": tensor(2)}, "misses attribute 'inplace_indices'"),
        ("call_packed", {"func": 3, "args": [], "ty_args": []}, "attribute 'func' expects a string, got 3"),
    ],
)  # fmt: skip
def test_the_builder_names_what_is_wrong(op, arguments, problem_text):
    assert problem_text in refusal(f"relax.{op}", **arguments)


def test_a_builder_says_where_it_was_called():
    with create_context() as context, pytest.raises(RelaxError) as caught:
        relax.call_tir("f", [], 3, loc=ir.Location.file("model.py", 7, 3, context))
    assert "model.py" in str(caught.value)
