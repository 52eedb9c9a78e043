// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Commands of programs for Vulkan: recording into the ring of command buffers or into kept ones (vulkan_graphs.mlir),
// submission and waiting. Callers hold the lock of the page; vulkan.mlir lists the words of a page.

// Waits until the device has done what was submitted up to a value of the timeline.
func.func @__relax_vulkan_wait_for(%page: !ptr, %value: i64) -> i32 {
  %c1 = arith.constant 1 : i64  %one = arith.constant 1 : i32  %for_ever = arith.constant -1 : i64
  %type = arith.constant 1000207004 : i32  %zero = arith.constant 0 : i32  %null = llvm.mlir.zero : !ptr
  %info = llvm.alloca %c1 x !llvm.struct<(i32, ptr, i32, i32, ptr, ptr)> : (i64) -> !ptr
  %value_at = llvm.alloca %c1 x i64 : (i64) -> !ptr
  llvm.store %value, %value_at : i64, !ptr
  %semaphore_at = llvm.getelementptr %page[18] : (!ptr) -> !ptr, i64
  %none = llvm.mlir.zero : !llvm.struct<(i32, ptr, i32, i32, ptr, ptr)>
  %i0 = llvm.insertvalue %type, %none[0] : !llvm.struct<(i32, ptr, i32, i32, ptr, ptr)>
  %i1 = llvm.insertvalue %one, %i0[3] : !llvm.struct<(i32, ptr, i32, i32, ptr, ptr)>
  %i2 = llvm.insertvalue %semaphore_at, %i1[4] : !llvm.struct<(i32, ptr, i32, i32, ptr, ptr)>
  %i3 = llvm.insertvalue %value_at, %i2[5] : !llvm.struct<(i32, ptr, i32, i32, ptr, ptr)>
  llvm.store %i3, %info : !llvm.struct<(i32, ptr, i32, i32, ptr, ptr)>, !ptr
  %device_at = llvm.getelementptr %page[16] : (!ptr) -> !ptr, !ptr  %device = llvm.load %device_at : !ptr -> !ptr
  %wait_at = llvm.getelementptr %page[64] : (!ptr) -> !ptr, !ptr  %wait = llvm.load %wait_at : !ptr -> !ptr
  %status = llvm.call %wait(%device, %info, %for_ever) : !ptr, (!ptr, !ptr, i64) -> i32
  return %status : i32
}
// Check whether this thread records commands that will be kept.
func.func @__relax_vulkan_is_kept(%page: !ptr) -> i1 {
  %thread_at = llvm.getelementptr %page[41] : (!ptr) -> !ptr, i64
  %thread = llvm.load %thread_at atomic monotonic {alignment = 8 : i64} : !ptr -> i64
  %own = func.call @pthread_self() : () -> i64  %is_kept = arith.cmpi eq, %thread, %own : i64
  return %is_kept : i1
}
// The row that this thread records into: of the ring, or one that is kept.
func.func @__relax_vulkan_row(%page: !ptr) -> !ptr {
  %is_kept = func.call @__relax_vulkan_is_kept(%page) : (!ptr) -> i1
  %row = scf.if %is_kept -> !ptr {
    %kept_at = llvm.getelementptr %page[42] : (!ptr) -> !ptr, !ptr  %kept = llvm.load %kept_at : !ptr -> !ptr
    scf.yield %kept : !ptr
  } else {
    %current = func.call @__relax_vulkan_ring_row(%page) : (!ptr) -> !ptr
    scf.yield %current : !ptr
  }
  return %row : !ptr
}
func.func private @__relax_vulkan_ring_row(%page: !ptr) -> !ptr {
  %ring_at = llvm.getelementptr %page[23] : (!ptr) -> !ptr, !ptr  %ring = llvm.load %ring_at : !ptr -> !ptr
  %place_at = llvm.getelementptr %page[21] : (!ptr) -> !ptr, i64  %place = llvm.load %place_at : !ptr -> i64
  %row = llvm.getelementptr %ring[%place] : (!ptr, i64) -> !ptr, !llvm.array<4 x i64>
  return %row : !ptr
}
// Return the address of the row's count of used parameter bytes, and the number of all its parameter bytes.
func.func @__relax_vulkan_room(%page: !ptr) -> (!ptr, i64) {
  %is_kept = func.call @__relax_vulkan_is_kept(%page) : (!ptr) -> i1
  %used_at, %room = scf.if %is_kept -> (!ptr, i64) {
    %kept_used_at = llvm.getelementptr %page[43] : (!ptr) -> !ptr, i64
    %row = func.call @__relax_vulkan_row(%page) : (!ptr) -> !ptr
    %own_at = llvm.getelementptr %row[4] : (!ptr) -> !ptr, i64  %own = llvm.load %own_at : !ptr -> i64
    scf.yield %kept_used_at, %own : !ptr, i64
  } else {
    %ring_used_at = llvm.getelementptr %page[25] : (!ptr) -> !ptr, i64
    %each_at = llvm.getelementptr %page[24] : (!ptr) -> !ptr, i64  %each = llvm.load %each_at : !ptr -> i64
    scf.yield %ring_used_at, %each : !ptr, i64
  }
  return %used_at, %room : !ptr, i64
}
// Begins a command buffer where none is begun, once the device is through with it.
func.func @__relax_vulkan_open(%page: !ptr) -> i32 {
  %c0 = arith.constant 0 : i64  %ok = arith.constant 0 : i32
  %count_at = llvm.getelementptr %page[20] : (!ptr) -> !ptr, i64  %count = llvm.load %count_at : !ptr -> i64
  %has_some = arith.cmpi ne, %count, %c0 : i64
  %is_kept = func.call @__relax_vulkan_is_kept(%page) : (!ptr) -> i1  %is_begun = arith.ori %has_some, %is_kept : i1
  %status = scf.if %is_begun -> i32 {
    scf.yield %ok : i32
  } else {
    %row = func.call @__relax_vulkan_row(%page) : (!ptr) -> !ptr
    %value_at = llvm.getelementptr %row[1] : (!ptr) -> !ptr, i64  %value = llvm.load %value_at : !ptr -> i64
    %waited = func.call @__relax_vulkan_wait_for(%page, %value) : (!ptr, i64) -> i32
    %is_free = arith.cmpi eq, %waited, %ok : i32
    %begun = scf.if %is_free -> i32 {
      %buffer = llvm.load %row : !ptr -> !ptr
      %in_use_at = llvm.getelementptr %page[40] : (!ptr) -> !ptr, !ptr
      llvm.store %buffer, %in_use_at : !ptr, !ptr
      %used_at = llvm.getelementptr %page[25] : (!ptr) -> !ptr, i64
      llvm.store %c0, %used_at : i64, !ptr
      %info_at = llvm.getelementptr %page[34] : (!ptr) -> !ptr, !ptr  %info = llvm.load %info_at : !ptr -> !ptr
      %begin_at = llvm.getelementptr %page[56] : (!ptr) -> !ptr, !ptr  %begin = llvm.load %begin_at : !ptr -> !ptr
      %answer = llvm.call %begin(%buffer, %info) : !ptr, (!ptr, !ptr) -> i32
      scf.yield %answer : i32
    } else {
      scf.yield %waited : i32
    }
    scf.yield %begun : i32
  }
  return %status : i32
}
// Behind a command: what comes after it sees what it has written.
func.func @__relax_vulkan_recorded(%page: !ptr) -> i32 {
  %c1 = arith.constant 1 : i64  %zero = arith.constant 0 : i32  %one = arith.constant 1 : i32
  %null = llvm.mlir.zero : !ptr
  %from = arith.constant 0x1800 : i32  // the stages of compute shaders and transfers
  %to = arith.constant 0x5800 : i32  // and the host's
  %row = func.call @__relax_vulkan_row(%page) : (!ptr) -> !ptr  %buffer = llvm.load %row : !ptr -> !ptr
  %barrier_at = llvm.getelementptr %page[35] : (!ptr) -> !ptr, !ptr  %barrier = llvm.load %barrier_at : !ptr -> !ptr
  %set_at = llvm.getelementptr %page[58] : (!ptr) -> !ptr, !ptr  %set = llvm.load %set_at : !ptr -> !ptr
  llvm.call %set(%buffer, %from, %to, %zero, %one, %barrier, %zero, %null, %zero, %null)
    : !ptr, (!ptr, i32, i32, i32, i32, !ptr, i32, !ptr, i32, !ptr) -> ()
  %status = func.call @__relax_vulkan_count(%page) : (!ptr) -> i32
  return %status : i32
}
// One command more is in that row; one of the ring that has enough is submitted.
func.func private @__relax_vulkan_count(%page: !ptr) -> i32 {
  %ok = arith.constant 0 : i32  %c0 = arith.constant 0 : i64  %more = arith.constant 1 : i64
  %is_kept = func.call @__relax_vulkan_is_kept(%page) : (!ptr) -> i1
  %status = scf.if %is_kept -> i32 {
    %kept_at = llvm.getelementptr %page[44] : (!ptr) -> !ptr, i64  %kept = llvm.load %kept_at : !ptr -> i64
    %is_possible = arith.cmpi sge, %kept, %c0 : i64
    scf.if %is_possible {
      func.call @__relax_add(%kept_at, %more) : (!ptr, i64) -> ()
    }
    scf.yield %ok : i32
  } else {
    %count_at = llvm.getelementptr %page[20] : (!ptr) -> !ptr, i64
    func.call @__relax_add(%count_at, %more) : (!ptr, i64) -> ()
    %count = llvm.load %count_at : !ptr -> i64
    %most_at = llvm.getelementptr %page[26] : (!ptr) -> !ptr, i64  %most = llvm.load %most_at : !ptr -> i64
    %is_full = arith.cmpi sge, %count, %most : i64
    %answer = scf.if %is_full -> i32 {
      %flushed = func.call @__relax_vulkan_flush(%page) : (!ptr) -> i32
      scf.yield %flushed : i32
    } else {
      scf.yield %ok : i32
    }
    scf.yield %answer : i32
  }
  return %status : i32
}
// Submit the recorded commands.
func.func @__relax_vulkan_flush(%page: !ptr) -> i32 {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %less = arith.constant -1 : i64
  %ok = arith.constant 0 : i32  %one = arith.constant 1 : i32  %null = llvm.mlir.zero : !ptr
  %count_at = llvm.getelementptr %page[20] : (!ptr) -> !ptr, i64  %count = llvm.load %count_at : !ptr -> i64
  %is_none = arith.cmpi eq, %count, %c0 : i64
  %status = scf.if %is_none -> i32 {
    scf.yield %ok : i32
  } else {
    llvm.store %c0, %count_at : i64, !ptr
    %in_use_at = llvm.getelementptr %page[40] : (!ptr) -> !ptr, !ptr  %in_use = llvm.load %in_use_at : !ptr -> !ptr
    %end_at = llvm.getelementptr %page[57] : (!ptr) -> !ptr, !ptr  %end = llvm.load %end_at : !ptr -> !ptr
    %ended = llvm.call %end(%in_use) : !ptr, (!ptr) -> i32
    %is_ended = arith.cmpi eq, %ended, %ok : i32
    %submitted = scf.if %is_ended -> i32 {
      // The submission sets the timeline to this value when its commands end.
      %value_at = llvm.getelementptr %page[19] : (!ptr) -> !ptr, i64
      func.call @__relax_add(%value_at, %c1) : (!ptr, i64) -> ()
      %queue_at = llvm.getelementptr %page[17] : (!ptr) -> !ptr, !ptr  %queue = llvm.load %queue_at : !ptr -> !ptr
      %info_at = llvm.getelementptr %page[36] : (!ptr) -> !ptr, !ptr  %info = llvm.load %info_at : !ptr -> !ptr
      %submit_at = llvm.getelementptr %page[63] : (!ptr) -> !ptr, !ptr  %submit = llvm.load %submit_at : !ptr -> !ptr
      %answer = llvm.call %submit(%queue, %one, %info, %null) : !ptr, (!ptr, i32, !ptr, !ptr) -> i32
      %is_refused = arith.cmpi ne, %answer, %ok : i32
      scf.if %is_refused {
        func.call @__relax_add(%value_at, %less) : (!ptr, i64) -> ()
      } else {
        %row = func.call @__relax_vulkan_ring_row(%page) : (!ptr) -> !ptr
        %row_value_at = llvm.getelementptr %row[1] : (!ptr) -> !ptr, i64  %value = llvm.load %value_at : !ptr -> i64
        llvm.store %value, %row_value_at : i64, !ptr
        %place_at = llvm.getelementptr %page[21] : (!ptr) -> !ptr, i64  %place = llvm.load %place_at : !ptr -> i64
        %rows_at = llvm.getelementptr %page[22] : (!ptr) -> !ptr, i64  %rows = llvm.load %rows_at : !ptr -> i64
        %next = arith.addi %place, %c1 : i64  %around = arith.remui %next, %rows : i64
        llvm.store %around, %place_at : i64, !ptr
      }
      scf.yield %answer : i32
    } else {
      scf.yield %ended : i32
    }
    scf.yield %submitted : i32
  }
  return %status : i32
}
func.func @__relax_vulkan_finish_locked(%page: !ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %flushed = func.call @__relax_vulkan_flush(%page) : (!ptr) -> i32
  %is_flushed = arith.cmpi eq, %flushed, %ok : i32
  %status = scf.if %is_flushed -> i32 {
    %value_at = llvm.getelementptr %page[19] : (!ptr) -> !ptr, i64  %value = llvm.load %value_at : !ptr -> i64
    %waited = func.call @__relax_vulkan_wait_for(%page, %value) : (!ptr, i64) -> i32
    scf.yield %waited : i32
  } else {
    scf.yield %flushed : i32
  }
  return %status : i32
}
