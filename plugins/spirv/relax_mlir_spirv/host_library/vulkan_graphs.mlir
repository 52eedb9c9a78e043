// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of known sizes on Vulkan: the launches of a call are recorded into a secondary command buffer, and calls with
// tensors at the same addresses run this buffer: one command, whatever the number of kernels. vulkan.mlir describes
// `%page`; cuda_graphs.py does the same with graphs that have tensors of their own.
//
// Recording costs as much as launching, so nothing is copied: commands are kept for fixed addresses, and the second call
// with the same addresses records them. Temporaries belong to the recording as long as it is kept.
//
// Place 23 of the table is null where nothing is kept, else 16 words (vulkan_runtime/kept_commands.py), all 0, and for each function 8:
//   0 whether commands are kept: 0 no, 1 of calls with addresses that are noted, 2 of all calls
//   1 how many more times others may take the place of kept ones
//   2 the place of the next ones to be kept   4 rows of kept commands   6 how many
//   3 the place of the next addresses to be noted   5 rows of noted addresses   7 how many
// A row has 8 words: 0 a command buffer   1 its commands, 0: none   2 parameters of launches as the host and
//   3 as the device sees them   4 bytes of these   5 the addresses of the tensors, and last of the flag of what kernels
//   assert, which is the thread's, 0 in a row of nothing   6 how many addresses these are
// Memory that commands to be kept take is marked: 1 more than the address of their row where it is free to be taken by
// others of them.

// State of a call: 0 its mode (0 kernel by kernel, 1 recording, 2 recorded commands)   1 the page   2 the function's words
//                  3 the row   6 whether the kernels are to be launched after all
!scope = !llvm.array<6 x ptr>
// Types of device_memory.mlir.
!piece = !llvm.struct<(ptr, ptr, i64, i64, i64)>

func.func private @memcmp(!ptr, !ptr, i64) -> i32
func.func private @__relax_device_lock(!ptr)
func.func private @__relax_device_unlock(!ptr)
func.func private @__relax_device_record(!ptr) -> !ptr
func.func private @__relax_device_status(!ptr, !ptr, !ptr, i32) -> i32
func.func private @__relax_device_stream(!ptr) -> !ptr
func.func private @__relax_vulkan_finish_locked(!ptr) -> i32
func.func private @__relax_vulkan_open(!ptr) -> i32
func.func private @__relax_vulkan_recorded(!ptr) -> i32
func.func private @__relax_vulkan_row(!ptr) -> !ptr
func.func private @__relax_vulkan_forget(!ptr, !ptr)

llvm.mlir.global internal constant @__relax_graph_run_name("vkCmdExecuteCommands\00")

// Begins a call of the function at a place: of `count` tensors at the addresses `given`. Leaves in `passed` the addresses
// that kernels are to have, the same.
func.func @__relax_vulkan_graph_begin(%table: !ptr, %function: i64, %label: !ptr, %times: !ptr, %count: i64,
    %given: !ptr, %described: !ptr, %passed: !ptr, %scope: !ptr) -> i32 {
  %ok = arith.constant 0 : i32  %null = llvm.mlir.zero : !ptr
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %c8 = arith.constant 8 : i64
  %recording = arith.constant 1 : i64  %recorded = arith.constant 2 : i64
  %bytes = arith.muli %count, %c8 : i64
  "llvm.intr.memcpy"(%passed, %given, %bytes) <{isVolatile = false}> : (!ptr, !ptr, i64) -> ()
  %graphs_at = llvm.getelementptr %table[23] : (!ptr) -> !ptr, !ptr  %graphs = llvm.load %graphs_at : !ptr -> !ptr
  %is_off = llvm.icmp "eq" %graphs, %null : !ptr
  cf.cond_br %is_off, ^return, ^find
^find:
  %states = llvm.getelementptr %graphs[16] : (!ptr) -> !ptr, !ptr
  %state = llvm.getelementptr %states[%function] : (!ptr, i64) -> !ptr, !llvm.array<8 x ptr>
  %is_kept = llvm.load %state atomic monotonic {alignment = 8 : i64} : !ptr -> i64
  %is_never = arith.cmpi eq, %is_kept, %c0 : i64
  cf.cond_br %is_never, ^return, ^profile
// Whoever asks for times gets them kernel by kernel.
^profile:
  %has_times = llvm.icmp "ne" %times, %null : !ptr
  cf.cond_br %has_times, ^timed, ^look
^timed:
  %timed = llvm.load %times atomic monotonic {alignment = 8 : i64} : !ptr -> i64
  %thread = func.call @pthread_self() : () -> i64  %is_timed = arith.cmpi eq, %timed, %thread : i64
  cf.cond_br %is_timed, ^return, ^look
^look:
  %words = arith.addi %count, %c1 : i64  %key = llvm.alloca %words x !ptr : (i64) -> !ptr
  "llvm.intr.memcpy"(%key, %given, %bytes) <{isVolatile = false}> : (!ptr, !ptr, i64) -> ()
  %flag = func.call @__relax_device_record(%table) : (!ptr) -> !ptr
  %flag_at = llvm.getelementptr %key[%count] : (!ptr, i64) -> !ptr, !ptr
  llvm.store %flag, %flag_at : !ptr, !ptr
  %page = func.call @__relax_device_stream(%table) : (!ptr) -> !ptr
  %mutex = llvm.getelementptr %page[72] : (!ptr) -> !ptr, i64
  func.call @__relax_device_lock(%mutex) : (!ptr) -> ()
  %kept_rows = arith.constant 4 : i64  %noted_rows = arith.constant 5 : i64
  %kept = func.call @__relax_vulkan_graph_row(%state, %kept_rows, %key) : (!ptr, i64, !ptr) -> !ptr
  %has_kept = llvm.icmp "ne" %kept, %null : !ptr
  cf.cond_br %has_kept, ^note(%recorded, %kept : i64, !ptr), ^seen
^seen:
  %noted = func.call @__relax_vulkan_graph_row(%state, %noted_rows, %key) : (!ptr, i64, !ptr) -> !ptr
  %is_noted = llvm.icmp "ne" %noted, %null : !ptr  %is_at_once = arith.cmpi eq, %is_kept, %recorded : i64
  %is_due = arith.ori %is_noted, %is_at_once : i1
  cf.cond_br %is_due, ^record, ^remember
^remember:
  %row = func.call @__relax_vulkan_graph_next(%state, %noted_rows) : (!ptr, i64) -> !ptr
  func.call @__relax_vulkan_graph_set(%row, %key) : (!ptr, !ptr) -> ()
  cf.br ^unlock
^record:
  %free = func.call @__relax_vulkan_graph_start(%page, %state, %kept_rows, %key)
    : (!ptr, !ptr, i64, !ptr) -> !ptr
  %has_begun = llvm.icmp "ne" %free, %null : !ptr
  cf.cond_br %has_begun, ^note(%recording, %free : i64, !ptr), ^unlock
^unlock:
  func.call @__relax_device_unlock(%mutex) : (!ptr) -> ()
  cf.br ^return
^note(%mode: i64, %found: !ptr):
  %none = llvm.mlir.zero : !scope  %number = llvm.inttoptr %mode : i64 to !ptr
  %s0 = llvm.insertvalue %number, %none[0] : !scope  %s1 = llvm.insertvalue %page, %s0[1] : !scope
  %s2 = llvm.insertvalue %state, %s1[2] : !scope  %s3 = llvm.insertvalue %found, %s2[3] : !scope
  llvm.store %s3, %scope : !scope, !ptr
  cf.br ^return
^return:
  return %ok : i32
}

// ---- rows; with the mutex ----

// Find the row for tensors at these addresses among the rows of a word of the function. Return the row, or null.
func.func private @__relax_vulkan_graph_row(%state: !ptr, %which: i64, %key: !ptr) -> !ptr {
  %null = llvm.mlir.zero : !ptr  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64
  %ok = arith.constant 0 : i32
  %rows_at = llvm.getelementptr %state[%which] : (!ptr, i64) -> !ptr, !ptr  %rows = llvm.load %rows_at : !ptr -> !ptr
  %all_at = llvm.getelementptr %rows_at[2] : (!ptr) -> !ptr, !ptr  %all = llvm.load %all_at : !ptr -> i64
  cf.br ^head(%c0 : i64)
^head(%i: i64):
  %more = arith.cmpi slt, %i, %all : i64
  cf.cond_br %more, ^compare, ^return(%null : !ptr)
^compare:
  %row = llvm.getelementptr %rows[%i] : (!ptr, i64) -> !ptr, !llvm.array<8 x ptr>
  %own_at = llvm.getelementptr %row[5] : (!ptr) -> !ptr, !ptr  %own = llvm.load %own_at : !ptr -> !ptr
  %bytes = func.call @__relax_vulkan_graph_bytes(%row) : (!ptr) -> i64
  %order = func.call @memcmp(%own, %key, %bytes) : (!ptr, !ptr, i64) -> i32
  %is_it = arith.cmpi eq, %order, %ok : i32  %next = arith.addi %i, %c1 : i64
  cf.cond_br %is_it, ^return(%row : !ptr), ^head(%next : i64)
^return(%found: !ptr):
  return %found : !ptr
}
// Return the next row to replace, in turns.
func.func private @__relax_vulkan_graph_next(%state: !ptr, %which: i64) -> !ptr {
  %c1 = arith.constant 1 : i64
  %rows_at = llvm.getelementptr %state[%which] : (!ptr, i64) -> !ptr, !ptr  %rows = llvm.load %rows_at : !ptr -> !ptr
  %all_at = llvm.getelementptr %rows_at[2] : (!ptr) -> !ptr, !ptr  %all = llvm.load %all_at : !ptr -> i64
  %place_at = llvm.getelementptr %rows_at[-2] : (!ptr) -> !ptr, !ptr
  %place = llvm.load %place_at : !ptr -> i64  %behind = arith.addi %place, %c1 : i64
  %around = arith.remui %behind, %all : i64
  llvm.store %around, %place_at : i64, !ptr
  %row = llvm.getelementptr %rows[%place] : (!ptr, i64) -> !ptr, !llvm.array<8 x ptr>
  return %row : !ptr
}
func.func private @__relax_vulkan_graph_set(%row: !ptr, %key: !ptr) {
  %bytes = func.call @__relax_vulkan_graph_bytes(%row) : (!ptr) -> i64
  %own_at = llvm.getelementptr %row[5] : (!ptr) -> !ptr, !ptr  %own = llvm.load %own_at : !ptr -> !ptr
  "llvm.intr.memcpy"(%own, %key, %bytes) <{isVolatile = false}> : (!ptr, !ptr, i64) -> ()
  return
}
// Return the number of bytes of a row's addresses.
func.func private @__relax_vulkan_graph_bytes(%row: !ptr) -> i64 {
  %words_at = llvm.getelementptr %row[6] : (!ptr) -> !ptr, i64  %words = llvm.load %words_at : !ptr -> i64
  %c8 = arith.constant 8 : i64  %bytes = arith.muli %words, %c8 : i64
  return %bytes : i64
}
// The row has no commands any more, of which nothing is under way: its memory is given back.
func.func private @__relax_vulkan_graph_clear(%page: !ptr, %row: !ptr) {
  %c0 = arith.constant 0 : i64  %less = arith.constant -8 : i64
  %count_at = llvm.getelementptr %row[1] : (!ptr) -> !ptr, i64
  llvm.store %c0, %count_at : i64, !ptr
  %own_at = llvm.getelementptr %row[5] : (!ptr) -> !ptr, !ptr  %own = llvm.load %own_at : !ptr -> !ptr
  %bytes = func.call @__relax_vulkan_graph_bytes(%row) : (!ptr) -> i64  %before = arith.addi %bytes, %less : i64
  %flag_at = llvm.getelementptr %own[%before] : (!ptr, i64) -> !ptr, i8
  llvm.store %c0, %flag_at : i64, !ptr
  func.call @__relax_vulkan_forget(%page, %row) : (!ptr, !ptr) -> ()
  return
}

// ---- recording; with the mutex ----

// A row into which this thread's commands are recorded from now on; null where that cannot be.
func.func private @__relax_vulkan_graph_start(%page: !ptr, %state: !ptr, %which: i64, %key: !ptr) -> !ptr
    attributes {llvm.cold, llvm.no_inline} {
  %null = llvm.mlir.zero : !ptr  %c0 = arith.constant 0 : i64  %less = arith.constant -1 : i64
  %ok = arith.constant 0 : i32
  %row = func.call @__relax_vulkan_graph_next(%state, %which) : (!ptr, i64) -> !ptr
  %count_at = llvm.getelementptr %row[1] : (!ptr) -> !ptr, i64  %count = llvm.load %count_at : !ptr -> i64
  %is_taken = arith.cmpi ne, %count, %c0 : i64
  cf.cond_br %is_taken, ^ask, ^begin
// Tensors that are nowhere twice would have commands recorded that nobody runs again. What takes a place has its memory.
^ask:
  %left_at = llvm.getelementptr %state[1] : (!ptr) -> !ptr, !ptr  %left = llvm.load %left_at : !ptr -> i64
  %may = arith.cmpi sgt, %left, %c0 : i64
  cf.cond_br %may, ^replace, ^return(%null : !ptr)
^replace:
  func.call @__relax_add(%left_at, %less) : (!ptr, i64) -> ()
  func.call @__relax_device_lock(%page) : (!ptr) -> ()
  %done = func.call @__relax_vulkan_finish_locked(%page) : (!ptr) -> i32
  func.call @__relax_device_unlock(%page) : (!ptr) -> ()
  %is_done = arith.cmpi eq, %done, %ok : i32
  cf.cond_br %is_done, ^begin, ^return(%null : !ptr)
^begin:
  func.call @__relax_vulkan_graph_set(%row, %key) : (!ptr, !ptr) -> ()
  %buffer = llvm.load %row : !ptr -> !ptr
  func.call @__relax_device_lock(%page) : (!ptr) -> ()
  %info_at = llvm.getelementptr %page[45] : (!ptr) -> !ptr, !ptr  %info = llvm.load %info_at : !ptr -> !ptr
  %begin_at = llvm.getelementptr %page[56] : (!ptr) -> !ptr, !ptr  %begin = llvm.load %begin_at : !ptr -> !ptr
  %begun = llvm.call %begin(%buffer, %info) : !ptr, (!ptr, !ptr) -> i32
  %has_begun = arith.cmpi eq, %begun, %ok : i32
  scf.if %has_begun {
    %row_at = llvm.getelementptr %page[42] : (!ptr) -> !ptr, !ptr
    %used_at = llvm.getelementptr %page[43] : (!ptr) -> !ptr, i64
    %commands_at = llvm.getelementptr %page[44] : (!ptr) -> !ptr, i64
    llvm.store %row, %row_at : !ptr, !ptr
    llvm.store %c0, %used_at : i64, !ptr
    llvm.store %c0, %commands_at : i64, !ptr
    %thread_at = llvm.getelementptr %page[41] : (!ptr) -> !ptr, i64  %own = func.call @pthread_self() : () -> i64
    llvm.store %own, %thread_at atomic monotonic {alignment = 8 : i64} : i64, !ptr
  }
  func.call @__relax_device_unlock(%page) : (!ptr) -> ()
  scf.if %has_begun {
  } else {
    func.call @__relax_vulkan_graph_give_up(%page, %state, %row) : (!ptr, !ptr, !ptr) -> ()
  }
  %given = arith.select %has_begun, %row, %null : !ptr
  cf.br ^return(%given : !ptr)
^return(%result: !ptr):
  return %result : !ptr
}
// Ends a recording: how many commands there are, 0 where it is of no use.
func.func private @__relax_vulkan_graph_stop(%page: !ptr, %row: !ptr) -> i64 {
  %c0 = arith.constant 0 : i64  %ok = arith.constant 0 : i32
  func.call @__relax_device_lock(%page) : (!ptr) -> ()
  %thread_at = llvm.getelementptr %page[41] : (!ptr) -> !ptr, i64
  llvm.store %c0, %thread_at atomic monotonic {alignment = 8 : i64} : i64, !ptr
  %end_at = llvm.getelementptr %page[57] : (!ptr) -> !ptr, !ptr  %end = llvm.load %end_at : !ptr -> !ptr
  %buffer = llvm.load %row : !ptr -> !ptr
  %ended = llvm.call %end(%buffer) : !ptr, (!ptr) -> i32
  %commands_at = llvm.getelementptr %page[44] : (!ptr) -> !ptr, i64  %commands = llvm.load %commands_at : !ptr -> i64
  func.call @__relax_device_unlock(%page) : (!ptr) -> ()
  %some = arith.maxsi %commands, %c0 : i64  %is_good = arith.cmpi eq, %ended, %ok : i32
  %result = arith.select %is_good, %some, %c0 : i64
  return %result : i64
}
// No commands of the function are recorded any more.
func.func private @__relax_vulkan_graph_give_up(%page: !ptr, %state: !ptr, %row: !ptr) {
  %c0 = arith.constant 0 : i64
  llvm.store %c0, %state atomic monotonic {alignment = 8 : i64} : i64, !ptr
  func.call @__relax_vulkan_graph_clear(%page, %row) : (!ptr, !ptr) -> ()
  return
}

// ---- the rest of a call ----

// End a call: run the recorded commands after recording, or in place of the launches.
func.func @__relax_vulkan_graph_end(%table: !ptr, %label: !ptr, %count: i64, %given: !ptr, %described: !ptr,
    %scope: !ptr) -> i32 {
  %ok = arith.constant 0 : i32  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64
  %mode = llvm.load %scope : !ptr -> i64  %held = llvm.load %scope : !ptr -> !scope
  %page = llvm.extractvalue %held[1] : !scope  %state = llvm.extractvalue %held[2] : !scope
  %row = llvm.extractvalue %held[3] : !scope  %count_at = llvm.getelementptr %row[1] : (!ptr) -> !ptr, i64
  cf.switch %mode : i64, [default: ^run, 0: ^return(%ok : i32), 1: ^keep]
^keep:
  %commands = func.call @__relax_vulkan_graph_stop(%page, %row) : (!ptr, !ptr) -> i64
  llvm.store %commands, %count_at : i64, !ptr
  %is_some = arith.cmpi ne, %commands, %c0 : i64
  cf.cond_br %is_some, ^run, ^give_up
^give_up:
  func.call @__relax_vulkan_graph_give_up(%page, %state, %row) : (!ptr, !ptr, !ptr) -> ()
  %again_at = llvm.getelementptr %scope[48] : (!ptr) -> !ptr, i8
  llvm.store %c1, %again_at : i64, !ptr
  cf.br ^return(%ok : i32)
^run:
  func.call @__relax_device_lock(%page) : (!ptr) -> ()
  %ran = func.call @__relax_vulkan_graph_run(%page, %row) : (!ptr, !ptr) -> i32
  func.call @__relax_device_unlock(%page) : (!ptr) -> ()
  %name = llvm.mlir.addressof @__relax_graph_run_name : !ptr
  %status = func.call @__relax_device_status(%table, %label, %name, %ran) : (!ptr, !ptr, !ptr, i32) -> i32
  cf.br ^return(%status : i32)
^return(%result: i32):
  return %result : i32
}
// Run recorded commands after all others. The caller holds the lock of the page.
func.func private @__relax_vulkan_graph_run(%page: !ptr, %row: !ptr) -> i32 {
  %ok = arith.constant 0 : i32  %one = arith.constant 1 : i32  %less = arith.constant -1 : i64
  %opened = func.call @__relax_vulkan_open(%page) : (!ptr) -> i32
  %is_open = arith.cmpi eq, %opened, %ok : i32
  %status = scf.if %is_open -> i32 {
    %current = func.call @__relax_vulkan_row(%page) : (!ptr) -> !ptr  %buffer = llvm.load %current : !ptr -> !ptr
    %execute_at = llvm.getelementptr %page[65] : (!ptr) -> !ptr, !ptr  %execute = llvm.load %execute_at : !ptr -> !ptr
    llvm.call %execute(%buffer, %one, %row) : !ptr, (!ptr, i32, !ptr) -> ()
    %count_at = llvm.getelementptr %row[1] : (!ptr) -> !ptr, i64  %count = llvm.load %count_at : !ptr -> i64
    %others = arith.addi %count, %less : i64  %on_page = llvm.getelementptr %page[20] : (!ptr) -> !ptr, i64
    func.call @__relax_add(%on_page, %others) : (!ptr, i64) -> ()
    %recorded = func.call @__relax_vulkan_recorded(%page) : (!ptr) -> i32
    scf.yield %recorded : i32
  } else {
    scf.yield %opened : i32
  }
  return %status : i32
}

// Ends a call, whatever came of it.
func.func @__relax_vulkan_graph_leave(%scope: !ptr) {
  %c0 = arith.constant 0 : i64
  %mode = llvm.load %scope : !ptr -> i64  %is_other = arith.cmpi ne, %mode, %c0 : i64
  scf.if %is_other {
    %held = llvm.load %scope : !ptr -> !scope
    %page = llvm.extractvalue %held[1] : !scope  %state = llvm.extractvalue %held[2] : !scope
    %row = llvm.extractvalue %held[3] : !scope
    %thread_at = llvm.getelementptr %page[41] : (!ptr) -> !ptr, i64
    %thread = llvm.load %thread_at atomic monotonic {alignment = 8 : i64} : !ptr -> i64
    // A launch has failed while it was recorded: none has run.
    %is_under_way = arith.cmpi ne, %thread, %c0 : i64
    scf.if %is_under_way {
      %commands = func.call @__relax_vulkan_graph_stop(%page, %row) : (!ptr, !ptr) -> i64
      func.call @__relax_vulkan_graph_give_up(%page, %state, %row) : (!ptr, !ptr, !ptr) -> ()
    }
    %mutex = llvm.getelementptr %page[72] : (!ptr) -> !ptr, i64
    func.call @__relax_device_unlock(%mutex) : (!ptr) -> ()
  }
  return
}
