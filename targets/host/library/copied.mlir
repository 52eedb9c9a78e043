// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that are copied into each program, so that their callers can inline them (support.py). They are in the LLVM
// dialect because their callers are not lowered yet.

!ptr = !llvm.ptr

llvm.func hidden @__relax_clock(!ptr, i64) -> i64
// Return the start time for profile_end, or 0 without a profile. Both functions then cost two loads and two branches.
llvm.func internal @__relax_profile_begin(%table: !ptr) -> i64 attributes {passthrough = ["alwaysinline"]} {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %thread = llvm.load %table atomic monotonic {alignment = 8 : i64} : !ptr -> i64
  %off = llvm.icmp "eq" %thread, %c0 : i64
  llvm.cond_br %off weights([2000, 1]), ^end(%c0 : i64), ^on
^on:
  %time = llvm.call @__relax_clock(%table, %thread) : (!ptr, i64) -> i64
  llvm.br ^end(%time : i64)
^end(%result: i64):
  llvm.return %result : i64
}
llvm.func hidden @__relax_add_time(!ptr, i64, i64, i64)
// Add the time since profile_begin to a place in the table.
llvm.func internal @__relax_profile_end(%table: !ptr, %place: i64, %start: i64)
    attributes {passthrough = ["alwaysinline"]} {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %thread = llvm.load %table atomic monotonic {alignment = 8 : i64} : !ptr -> i64
  %off = llvm.icmp "eq" %thread, %c0 : i64
  llvm.cond_br %off weights([2000, 1]), ^end, ^on
^on:
  llvm.call @__relax_add_time(%table, %place, %start, %thread) : (!ptr, i64, i64, i64) -> ()
  llvm.br ^end
^end:
  llvm.return
}
