# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-donate='args=past*' --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --relax-donate='function=read args=past' --print-script | FileCheck %s --check-prefix=READ
# RUN: graphs %s | relax-opt - --relax-donate --print-script | FileCheck %s --check-prefix=NONE
"""In-place growth of arguments that a concat extends. Refusals: relax-donate-invalid.py; numerics: test_cache.py."""

# NONE-NOT: call_tir_inplace


# Two buffers of one length: new rows are written behind it, reads are slices, and a grown tensor is no result.
# Buffers of one type share code.
# CHECK-LABEL: @R.function(attrs={"relax.grown": [{"added": "s", "axis": 1, "input": "past_k", "length": "p", "name": "k", "result": 0}, {"added": "s", "axis": 1, "input": "past_v", "length": "p", "name": "v", "result": 2}], "relax.result_names": ["y"]})
# CHECK-NEXT: def main(
# CHECK: past_k: R.Tensor((4, "p + room + s", 8), "float32"),
# CHECK-NEXT: past_v: R.Tensor((4, "p + room + s", 8), "float32"),
# CHECK-NEXT: p: R.Tensor(("p", 0), "int8"),
# CHECK-NEXT: ) -> R.Tensor((4, "p + s", 8), "float32"):
# CHECK: R.call_tir_inplace(
# CHECK-NEXT: cls.append, (past_k, new, R.prim_value("p")), inplace_indices=(0,),
# CHECK: R.strided_slice(k, axes=(1,), begin=(0,), end=("p + s",))
# CHECK: cls.append, (past_v, new, R.prim_value("p")), inplace_indices=(0,),
# CHECK: return y
# CHECK: T.assert_({{.*}}message="a buffer of {} rows has no room for {} behind {}")
@R.function(attrs={"relax.result_names": ["k", "y", "v"]})
def main(new: f32[4, s, 8], past_k: f32[4, p, 8], past_v: f32[4, p, 8]) -> R.Tuple(
    f32[4, p + s, 8], f32[4, p + s, 8], f32[4, p + s, 8]
):
    k = R.concat((past_k, new), axis=1)
    v = R.concat((past_v, new), axis=-2)
    y = R.add(k, v)
    return k, y, v


# Other readers of the argument see its old rows. Existing names are not reused.
# READ-LABEL: def read(
# READ: past: R.Tensor(("p + room_1 + 1", 8), "float32"),
# READ-NEXT: p: R.Tensor(("room",), "float32"),
# READ-NEXT: p_1: R.Tensor(("p", 0), "int8"),
# READ: R.strided_slice(
# READ-NEXT: past, axes=(0,), begin=(0,), end=("p",),
def read(new: f32[1, 8], past: f32[p, 8], p: f32[room]) -> R.Tuple(f32[p, 8], f32[8], f32[room]):
    whole = R.concat((past, new), axis=0)
    return R.exp(past), R.sum(whole, axis=(0,)), p
