# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Upstream passes over intrinsics and calls: pure ones are merged and removed, and others stay unchanged."""

from __future__ import annotations

import pytest
import relax_mlir.dialects.tir as tir
from relax_mlir.bindings.mlir import ir, passmanager
from relax_mlir.dialects.context import create_context

# Intrinsics that other tests declare in this process have the name of the test's module as their family.
OPS = {name: op for name, op in tir.dialect.ops.items() if "." not in op.family}
PURE = sorted(name for name, op in OPS.items() if op.pure)
IMPURE = sorted(name for name, op in OPS.items() if not op.pure)

# Operators with operand types other than f32, or i32 in the integers' family: the text after the name.
SPECIAL = {
    "ldexp": "(%x, %i) : (f32, i32) -> f32",
    "scalbn": "(%x, %i) : (f32, i32) -> f32",
    "q_multiply_shift": "(%i, %j, %k) {q = 31} : (i32, i32, i32) -> i32",
    "q_multiply_shift_per_axis": "(%i, %j, %k, %l) {q = 31, is_lshift_required = true, "
    "is_rshift_required = true} : (i32, i32, i32, i32) -> i32",
    "lround": "(%x) : (f32) -> i64",
    "lrint": "(%x) : (f32) -> i64",
    "ilogb": "(%x) : (f32) -> i32",
    "frexp": "(%x) : (f32) -> (f32, i32)",
    "modf": "(%x) : (f32) -> (f32, f32)",
    "remquo": "(%x, %y) : (f32, f32) -> (f32, i32)",
    "prefetch": "(%m, %n) : (memref<4xf32>, index) -> ()",
    "tvm_warp_activemask": "() : () -> i32",
    "call_extern": '(%x) {func = "f"} : (f32) -> f32',
    "call_pure_extern": '(%x) {func = "f"} : (f32) -> f32',
    "call_packed": '(%i) {func = "f"} : (i32) -> i32',
    "assert": '(%c) {message = "no"} : (i1) -> ()',
    "packed": '(%m) {func = "f", tir.dtypes = ["f32"], tir.types = []} : (memref<4xf32>) -> ()',
    "release": "(%p) : (!llvm.ptr) -> ()",
    "give_tensor": "(%m, %p) {dtype = f32} : (memref<4xf32>, !llvm.ptr) -> ()",
    "place": "() : () -> !llvm.ptr",
    "random_key": "() : () -> i64",
    "give_object": "(%p, %p) : (!llvm.ptr, !llvm.ptr) -> ()",
    "return_unless_ok": "(%i) : (i32) -> ()",
    **{name: "(%i, %x, %j) : (i32, f32, i32) -> f32" for name in OPS if "shuffle" in name},
}  # fmt: skip
ARGUMENTS = "%x: f32, %y: f32, %z: f32, %i: i32, %j: i32, %k: i32, %l: i32, %m: memref<4xf32>, %n: index, "
ARGUMENTS += "%c: i1, %p: !llvm.ptr"


def signature(name):
    """Return the operands, attributes and types of a use of the operator, as text."""
    if name in SPECIAL:
        return SPECIAL[name]
    count, family = len(OPS[name].operands), OPS[name].family
    letters, dtype = ("ijkl", "i32") if family == "integer" else ("xyz", "f32")
    result = "i1" if family == "predicates" else dtype
    operands = ", ".join(f"%{letter}" for letter in letters[:count])
    return f"({operands}) : ({', '.join([dtype] * count)}) -> {result}"


def twice(name):
    """Return a function with two uses of the operation, which returns the first result of each if there is one."""
    types = [type_ for type_ in signature(name).rpartition("-> ")[2].strip("()").split(", ") if type_]
    prefix = f":{len(types)} = " if types else ""
    uses = [(f"%{copy}{prefix}" if types else "") + f'"tir.{name}"{signature(name)}' for copy in "ab"]
    returned = "%a#0, %b#0 : " + f"{types[0]}, {types[0]}" if types else ""
    result_types = f"-> ({types[0]}, {types[0]})" if types else ""
    return f"func.func @f({ARGUMENTS}) {result_types} {{\n" + "\n".join(uses) + f"\nreturn {returned}\n}}"


def unused(name):
    """Return a function that does not use the operation's results."""
    return f'func.func @f({ARGUMENTS}) {{\n"tir.{name}"{signature(name)}\nreturn\n}}'


def run(text, *passes):
    """Return the text of a module after passes, with verification after each."""
    context = create_context()
    with context:
        module = ir.Module.parse(text)
        passmanager.PassManager.parse(f"builtin.module({','.join(passes)})").run(module.operation)
    return str(module)


def count(name, text):
    return text.count(f'"tir.{name}"')


def test_operators_with_effects_are_not_pure():
    assert {OPS[name].family for name in IMPURE} == {"assertion", "calls", "memory", "results", "warp"}
    assert set(IMPURE) & {"call_extern", "call_pure_extern", "call_packed"} == {"call_extern", "call_packed"}


@pytest.mark.parametrize("name", PURE)
def test_a_pure_operation_is_merged_with_its_equal_and_removed_when_unused(name):
    assert count(name, run(twice(name), "func.func(cse)")) == 1
    assert count(name, run(unused(name), "func.func(canonicalize)")) == 0


@pytest.mark.parametrize("name", IMPURE)
def test_an_impure_operation_stays(name):
    assert count(name, run(twice(name), "func.func(cse)", "func.func(canonicalize)")) == 2
    assert count(name, run(unused(name), "func.func(cse)", "func.func(canonicalize)")) == 1


def test_operations_that_differ_in_an_attribute_are_not_merged():
    text = """
    func.func @f(%x: f32) -> (i32, i64, i64) {
      %0 = "tir.lround"(%x) {dtype = i32} : (f32) -> i32
      %1 = "tir.lround"(%x) : (f32) -> i64
      %2 = "tir.lround"(%x) {dtype = i64} : (f32) -> i64
      return %0, %1, %2 : i32, i64, i64
    }"""
    assert count("lround", run(text, "func.func(cse)")) == 3


def test_a_pure_operation_leaves_a_loop_and_an_impure_one_does_not():
    text = """
    func.func @f(%x: f32, %lane: i32, %n: index, %m: memref<?xf32>) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      scf.for %i = %zero to %n step %one {
        %0 = "tir.exp"(%x) : (f32) -> f32
        %1 = "tir.tvm_warp_shuffle"(%lane, %0, %lane) : (i32, f32, i32) -> f32
        memref.store %1, %m[%i] : memref<?xf32>
      }
      return
    }"""
    moved = run(text, "func.func(loop-invariant-code-motion)")
    assert moved.index("tir.exp") < moved.index("scf.for") < moved.index("tir.tvm_warp_shuffle")


# ---- inside linalg ----

CHAIN = """
#map = affine_map<(i, j) -> (i, j)>
func.func @f(%x: tensor<?x4xf32>, %init: tensor<?x4xf32>, %out: tensor<?x4xi1>) -> tensor<?x4xi1>
    attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x4xf32>) outs(%init : tensor<?x4xf32>) {
  ^bb0(%in: f32, %o: f32):
    %a = "tir.erf"(%in) : (f32) -> f32
    %b = "tir.erf"(%in) : (f32) -> f32
    %c = "tir.pow"(%a, %b) : (f32, f32) -> f32
    %dead = "tir.sin"(%in) : (f32) -> f32
    linalg.yield %c : f32
  } -> tensor<?x4xf32>
  %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<?x4xf32>) outs(%out : tensor<?x4xi1>) {
  ^bb0(%in: f32, %o: i1):
    %m:2 = "tir.frexp"(%in) : (f32) -> (f32, i32)
    %e = "tir.ldexp"(%m#0, %m#1) : (f32, i32) -> f32
    %n = "tir.isnan"(%e) : (f32) -> i1
    linalg.yield %n : i1
  } -> tensor<?x4xi1>
  return %1 : tensor<?x4xi1>
}"""
KEPT = ["erf", "pow", "frexp", "ldexp", "isnan"]


def counts(text):
    return {name: count(name, text) for name in (*KEPT, "sin")}


def test_bodies_survive_canonicalize_and_cse():
    assert counts(run(CHAIN, "canonicalize", "cse")) == {**dict.fromkeys(KEPT, 1), "sin": 0}


def test_bodies_are_fused():
    fused = run(CHAIN, "cse", "func.func(linalg-fuse-elementwise-ops)", "canonicalize")
    assert fused.count("linalg.generic") == 1
    assert counts(fused) == {**dict.fromkeys(KEPT, 1), "sin": 0}


def test_bodies_survive_bufferization_and_become_loops():
    passes = ["canonicalize", "cse", "one-shot-bufferize{bufferize-function-boundaries=true}"]
    buffers = run(CHAIN, *passes)
    assert "tensor" not in buffers.replace("to_tensor", "")
    assert counts(buffers) == {**dict.fromkeys(KEPT, 1), "sin": 0}
    loops = run(CHAIN, *passes, "convert-linalg-to-loops", "canonicalize")
    assert "linalg.generic" not in loops and "scf.for" in loops
    assert counts(loops) == {**dict.fromkeys(KEPT, 1), "sin": 0}


def test_a_call_in_a_body_happens_once_per_element():
    body = CHAIN.replace("linalg.yield %c", '"tir.call_extern"(%in) {func = "trace"} : (f32) -> ()\nlinalg.yield %c')
    passes = ("canonicalize", "cse", "one-shot-bufferize{bufferize-function-boundaries}", "convert-linalg-to-loops")
    assert count("call_extern", run(body, *passes)) == 1


TILE = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %ops = transform.structured.match ops{["linalg.generic"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tiled, %loops:2 = transform.structured.tile_using_for %ops tile_sizes [8, 2]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
  PROGRAM
}"""


def test_bodies_are_tiled():
    aliases, program = CHAIN.split("func.func", 1)
    tiled = run(aliases + TILE.replace("PROGRAM", "func.func" + program), "transform-interpreter")
    assert tiled.count("scf.for") == 4
    assert counts(tiled) == {**dict.fromkeys(KEPT, 1), "erf": 2, "sin": 1}


def test_intrinsics_on_vectors_pass_through_loop_lowering():
    text = """
    func.func @f(%m: memref<64xf32>) {
      %pad = arith.constant 0.0 : f32
      affine.for %i = 0 to 64 step 8 {
        %v = vector.transfer_read %m[%i], %pad : memref<64xf32>, vector<8xf32>
        %e = "tir.exp"(%v) : (vector<8xf32>) -> vector<8xf32>
        vector.transfer_write %e, %m[%i] : vector<8xf32>, memref<64xf32>
      }
      return
    }"""
    assert count("exp", run(text, "lower-affine", "convert-vector-to-scf", "convert-scf-to-cf", "canonicalize")) == 1
