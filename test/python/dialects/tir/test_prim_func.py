# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PrimFuncs: construction, recognition, patterns and errors."""

from __future__ import annotations

import pytest
import relax_mlir.dialects.tir as tir
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.bindings.mlir import ir, passmanager
from relax_mlir.dialects.context import create_context
from relax_mlir.dialects.core.infos import ScalarInfo, TensorInfo
from relax_mlir.dialects.core.ir_attributes import NOALIAS, OP_PATTERN, PRIM_FUNC, SCHEDULE, TIR_TARGET
from relax_mlir.dialects.tir.prim_func import (
    OpPattern,
    check_prim_funcs,
    is_prim_func,
    make_prim_func,
    op_pattern,
    set_op_pattern,
    verify_prim_func,
)
from relax_mlir.support.errors import RelaxError

from relax_mlir import Module

QUICK = draws(40)


def first(text):
    """Return a module, which need not be valid, and its first function."""
    with create_context():
        module = Module(ir.Module.parse(text))
    return module, module.body.operations[0]


def last(outputs):
    """Return a body that returns its outputs unchanged."""
    return lambda *parameters: list(parameters[len(parameters) - len(outputs) :])


# ---- making ----

TENSORS = st.sampled_from(["tensor<f32>", "tensor<4xf32>", "tensor<?x4xi8>", "tensor<2x3xbf16>"])
MEMREFS = st.sampled_from(["memref<f32>", "memref<4xf32>", "memref<?x4xi8, strided<[?, 1]>>"])
SCALARS = st.sampled_from(["i64", "f32", "index", "!llvm.ptr"])


@given(st.lists(TENSORS | SCALARS, max_size=4), st.lists(TENSORS, min_size=1, max_size=3), st.sampled_from(OpPattern))
@QUICK
def test_on_tensors_it_returns_its_outputs(inputs, outputs, pattern):
    module = Module()
    with module:
        made = make_prim_func("f", inputs, outputs, last(outputs), pattern=pattern)
    module.verify()
    assert is_prim_func(made) and op_pattern(made) is pattern and verify_prim_func(made) == []
    parsed = Module.parse(str(module)).body.operations[0]
    assert [str(type_) for type_ in parsed.type.inputs] == inputs + outputs
    assert [str(type_) for type_ in parsed.type.results] == outputs


@given(st.lists(MEMREFS | SCALARS, max_size=4), st.lists(MEMREFS, min_size=1, max_size=3))
@QUICK
def test_on_memrefs_it_returns_nothing(inputs, outputs):
    module = Module()
    with module:
        made = make_prim_func("f", inputs, outputs, lambda *_: None)
    module.verify()
    parsed = Module.parse(str(module)).body.operations[0]
    assert [str(type_) for type_ in parsed.type.inputs] == inputs + outputs
    assert list(parsed.type.results) == [] and op_pattern(made) is None


def test_types_are_infos_mlir_types_or_text_and_attributes_are_set():
    module = Module()
    with module:
        tensor = ir.RankedTensorType.get([4], ir.F32Type.get())
        attributes = {NOALIAS: ir.UnitAttr.get(), TIR_TARGET: ir.StringAttr.get("llvm")}

        def body(x, n, out):
            tir.exp(x)
            return out

        made = make_prim_func(
            "f", [ScalarInfo("f32"), "i64"], [tensor], body, pattern="injective", attributes=attributes
        )
        same = make_prim_func("g", [], [TensorInfo((4,), "f32")], lambda out: out, loc=ir.Location.name("here"))
    module.verify()
    assert str(made.location) == "loc(unknown)" and str(same.location) == 'loc("here")'
    assert {PRIM_FUNC, OP_PATTERN, NOALIAS, TIR_TARGET} <= set(made.attributes)
    assert "tir.exp" in str(made) and same.attributes["function_type"].value.results[0] == tensor


def test_an_insertion_point_says_where():
    module = Module()
    with module:
        make_prim_func("second", [], ["memref<f32>"], lambda out: None)
    make_prim_func("first", [], ["memref<f32>"], lambda out: None, ip=ir.InsertionPoint.at_block_begin(module.body))
    assert [op.sym_name.value for op in module.body.operations] == ["first", "second"]


def wrong_body(x, out):
    return x


def failing_body(x, out):
    raise LookupError("the body's own error")


@pytest.mark.parametrize(
    "inputs, outputs, body, message",
    [
        (["f32"], ["tensor<f32>"], wrong_body, "PrimFunc @f: the body returned f32, but tensor<f32> is expected"),
        (["f32"], ["tensor<f32>"], lambda *_: None, "the body returned nothing, but tensor<f32> is expected"),
        (["f32"], ["memref<f32>"], wrong_body, "the body returned f32, but nothing is expected"),
        (["memref<f32>"], ["tensor<f32>"], wrong_body, "PrimFunc @f takes tensors and memrefs"),
        (["tensor<f32>"], ["i32"], wrong_body, "PrimFunc @f has result #0 (i32) that must be a tensor"),
        (["tensor<f32"], ["tensor<f32>"], wrong_body, "'tensor<f32' is not a type"),
        ([""], ["tensor<f32>"], wrong_body, "'' is not a type"),  # of which MLIR's own parser dies
        ([3], ["tensor<f32>"], wrong_body, "a parameter's type must be an MLIR type, an info or text, got int"),
    ],
)
def test_a_wrong_one_is_refused_and_leaves_nothing_behind(inputs, outputs, body, message):
    module = Module()
    with module, pytest.raises(RelaxError) as caught:
        make_prim_func("f", inputs, outputs, body)
    assert message in str(caught.value)
    assert len(list(module.body.operations)) == 0


def test_a_failed_body_raises_its_error_and_leaves_no_function():
    module = Module()
    with module, pytest.raises(LookupError, match="the body's own error"):
        make_prim_func("f", ["f32"], ["tensor<f32>"], failing_body)
    assert len(list(module.body.operations)) == 0


def test_make_prim_func_needs_a_module():
    with pytest.raises(RelaxError, match="outside of a module"):
        make_prim_func("f", [], ["memref<f32>"], lambda out: None)


# ---- recognizing, patterns ----


def test_other_functions_are_none():
    module, function = first("func.func @f() { return }")
    assert not is_prim_func(function) and op_pattern(function) is None and verify_prim_func(function) == []
    assert not is_prim_func(module.operation)


@pytest.mark.parametrize("pattern", OpPattern)
def test_a_pattern_is_written_and_read(pattern):
    module, function = first("func.func @f() attributes {tir.prim_func} { return }")
    set_op_pattern(function, pattern)
    assert op_pattern(function) is pattern
    set_op_pattern(function, pattern.name.lower())
    assert f'tir.op_pattern = "{pattern.name.lower()}"' in str(module)
    assert op_pattern(Module.parse(str(module)).body.operations[0]) is pattern


def test_patterns_have_upstreams_numbers():
    names = ["elemwise", "broadcast", "injective", "comm_reduce", "out_ewise_fusable", "tuple", "opaque"]
    assert [OpPattern.parse(name) for name in names] == sorted(OpPattern) == [0, 1, 2, 3, 4, 7, 8]


def test_an_unknown_pattern_is_refused():
    module, function = first("func.func @f() attributes {tir.prim_func} { return }")
    with pytest.raises(RelaxError, match="unknown operator pattern 'elementwise'; did you mean 'elemwise'"):
        set_op_pattern(function, "elementwise")
    assert op_pattern(function) is None
    with module.context:
        function.attributes[OP_PATTERN] = ir.UnitAttr.get()
    with pytest.raises(RelaxError, match=r"attribute 'tir\.op_pattern' must be a string, got unit"):
        op_pattern(function)


# ---- verification (each message: test/dialects/tir/prim_func-invalid.mlir) ----


def test_every_problem_of_every_function_is_reported_at_its_place():
    module, _ = first("""
    func.func @fine(%x: i32) attributes {tir.prim_func} { return }
    module @ext {
      func.func @f(%x: tensor<f32>) attributes {tir.prim_func, tir.noalias = 1} { return }
    }
    func.func @g(%x: memref<f32>) attributes {tir.target = "llvm"} { return }
    """)
    problems = {op.sym_name.value: verify_prim_func(op) for op in _functions(module)}
    assert {name: len(found) for name, found in problems.items()} == {"fine": 0, "f": 2, "g": 1}
    with pytest.raises(RelaxError) as caught:
        module.verify()
    assert [str(item.message) for item in caught.value.diagnostics] == [
        *(f"'func.func' op @f {problem}" for problem in problems["f"]),
        *(f"'func.func' op @g {problem}" for problem in problems["g"]),
    ]


def _functions(module):
    found = []

    def visit(op):
        if op.name == "func.func":
            found.append(op.opview)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def test_check_tells_by_its_result():
    good, _ = first("func.func @f(%x: i32) attributes {tir.prim_func} { return }")
    bad, _ = first("func.func @f(%x: tensor<i32>) attributes {tir.prim_func} { return }")
    assert check_prim_funcs(good.operation) is True
    assert check_prim_funcs(bad.operation) is False
    assert check_prim_funcs(bad.body.operations[0]) is False


@pytest.mark.parametrize("name", [PRIM_FUNC, OP_PATTERN, NOALIAS, TIR_TARGET, SCHEDULE])
def test_every_attribute_has_a_check(name):
    _, function = first("func.func @f(%x: i32) attributes {tir.prim_func} { return }")
    with function.context:
        function.attributes[name] = ir.FloatAttr.get_f64(3.0)
    assert any(f"attribute '{name}' that must be" in problem for problem in verify_prim_func(function))


def test_bufferization_keeps_a_prim_func_valid():
    module, _ = first("""
    func.func @f(%x: tensor<4xf32>, %out: tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func} {
      %0 = linalg.copy ins(%x : tensor<4xf32>) outs(%out : tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }""")
    with module.context:
        pipeline = "builtin.module(one-shot-bufferize{bufferize-function-boundaries})"
        passmanager.PassManager.parse(pipeline).run(module.operation)
        module.verify()
        assert "-> memref<4xf32" in str(module)
        drop = "builtin.module(drop-equivalent-buffer-results{modify-public-functions})"
        passmanager.PassManager.parse(drop).run(module.operation)
    module.verify()
    assert "-> memref" not in str(module)
