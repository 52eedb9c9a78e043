// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What programs have themselves, for it to become part of the functions that call it (support.py): in the
// LLVM dialect, as these call it before they are lowered.

!ptr = !llvm.ptr

llvm.func hidden @__relax_clock(!ptr, i64) -> i64
// A time to hand to profile_end after the kernel; 0 without a profile. The two cost two loads and branches then.
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
// Adds the time since profile_begin to a place in the table.
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
