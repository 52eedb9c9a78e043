// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Driver functions of programs for OpenCL: the functions that device.py calls, with its signatures, written with cl*. A
// stream is the device's page, one for all programs of a process (opencl_runtime/opened.py creates it). The only queue runs
// commands in order. Memory is shared virtual memory, and kernels get its addresses unchanged.
//
// `%page` has words of 8 bytes, the first 16 as device_memory.mlir says:
//  16 cl_context   17 cl_command_queue   18 how often chunks have come or gone   19 chunks   20 their addresses
//  21 chunks at most
//  24 clSVMAlloc  25 clSVMFree  26 clEnqueueSVMMemcpy  27 clFinish  28 clSetKernelArg  29 clSetKernelExecInfo
//  30 clEnqueueNDRangeKernel
// Statuses are OpenCL's or device_memory.mlir's.

// Types of device_memory.mlir.
!chunk = !llvm.struct<(i64, i64, ptr, i64, i64)>
!piece = !llvm.struct<(ptr, ptr, i64, i64, i64)>

func.func private @__relax_now() -> i64
func.func private @__relax_device_lock(!ptr)
func.func private @__relax_device_unlock(!ptr)

// ---- chunks; with the lock (device_memory.mlir calls these) ----

llvm.func internal @__relax_opencl_grow(%page: !ptr, %bytes: i64) -> i32 {
  %ok = arith.constant 0 : i32  %full = arith.constant 2 : i32  %null = llvm.mlir.zero : !ptr
  %c1 = arith.constant 1 : i64  %size = arith.constant 40 : i64  %zero = arith.constant 0 : i32
  %both_ways = arith.constant 1 : i64  // CL_MEM_READ_WRITE
  %count_at = llvm.getelementptr %page[19] : (!ptr) -> !ptr, i64  %count = llvm.load %count_at : !ptr -> i64
  %most_at = llvm.getelementptr %page[21] : (!ptr) -> !ptr, i64  %most = llvm.load %most_at : !ptr -> i64
  %are_many = arith.cmpi uge, %count, %most : i64
  cf.cond_br %are_many, ^return(%full : i32), ^begin
^begin:
  %chunk = func.call @malloc(%size) : (i64) -> !ptr  %lacks_chunk = llvm.icmp "eq" %chunk, %null : !ptr
  cf.cond_br %lacks_chunk, ^return(%full : i32), ^piece
^piece:
  %piece = func.call @malloc(%size) : (i64) -> !ptr  %lacks_piece = llvm.icmp "eq" %piece, %null : !ptr
  cf.cond_br %lacks_piece, ^no_piece, ^allocate
^allocate:
  %context_at = llvm.getelementptr %page[16] : (!ptr) -> !ptr, !ptr  %context = llvm.load %context_at : !ptr -> !ptr
  %allocate_at = llvm.getelementptr %page[24] : (!ptr) -> !ptr, !ptr  %allocate = llvm.load %allocate_at : !ptr -> !ptr
  %memory = llvm.call %allocate(%context, %both_ways, %bytes, %zero) : !ptr, (!ptr, i64, i64, i32) -> !ptr
  %is_none = llvm.icmp "eq" %memory, %null : !ptr
  cf.cond_br %is_none, ^no_memory, ^add
^add:
  %address = llvm.ptrtoint %memory : !ptr to i64
  %c = llvm.mlir.zero : !chunk  %c2 = llvm.insertvalue %memory, %c[2] : !chunk
  %c3 = llvm.insertvalue %address, %c2[3] : !chunk  %c4 = llvm.insertvalue %bytes, %c3[4] : !chunk
  llvm.store %c4, %chunk : !chunk, !ptr
  %first_at = llvm.getelementptr %page[8] : (!ptr) -> !ptr, !ptr  %first = llvm.load %first_at : !ptr -> !ptr
  %p = llvm.mlir.zero : !piece  %p0 = llvm.insertvalue %first, %p[0] : !piece
  %p1 = llvm.insertvalue %chunk, %p0[1] : !piece  %p2 = llvm.insertvalue %address, %p1[2] : !piece
  %p3 = llvm.insertvalue %bytes, %p2[3] : !piece
  llvm.store %p3, %piece : !piece, !ptr
  llvm.store %piece, %first_at : !ptr, !ptr
  %all_at = llvm.getelementptr %page[13] : (!ptr) -> !ptr, i64
  func.call @__relax_add(%all_at, %bytes) : (!ptr, i64) -> ()
  %chunks_at = llvm.getelementptr %page[20] : (!ptr) -> !ptr, !ptr  %chunks = llvm.load %chunks_at : !ptr -> !ptr
  %place = llvm.getelementptr %chunks[%count] : (!ptr, i64) -> !ptr, !ptr
  llvm.store %memory, %place : !ptr, !ptr
  func.call @__relax_add(%count_at, %c1) : (!ptr, i64) -> ()
  %changes_at = llvm.getelementptr %page[18] : (!ptr) -> !ptr, i64
  func.call @__relax_add(%changes_at, %c1) : (!ptr, i64) -> ()
  cf.br ^return(%ok : i32)
^no_memory:
  llvm.call @free(%piece) : (!ptr) -> ()
  cf.br ^no_piece
^no_piece:
  llvm.call @free(%chunk) : (!ptr) -> ()
  cf.br ^return(%full : i32)
^return(%status: i32):
  llvm.return %status : i32
}
llvm.func internal @__relax_opencl_drop(%page: !ptr, %chunk: !ptr) {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %less = arith.constant -1 : i64
  %done = llvm.call @__relax_opencl_finish(%page) : (!ptr) -> i32
  %held = llvm.load %chunk : !ptr -> !chunk  %memory = llvm.extractvalue %held[2] : !chunk
  %bytes = llvm.extractvalue %held[4] : !chunk  %fewer = arith.subi %c0, %bytes : i64
  %all_at = llvm.getelementptr %page[13] : (!ptr) -> !ptr, i64
  func.call @__relax_add(%all_at, %fewer) : (!ptr, i64) -> ()
  // The last of the list takes its place there.
  %chunks_at = llvm.getelementptr %page[20] : (!ptr) -> !ptr, !ptr  %chunks = llvm.load %chunks_at : !ptr -> !ptr
  %count_at = llvm.getelementptr %page[19] : (!ptr) -> !ptr, i64
  func.call @__relax_add(%count_at, %less) : (!ptr, i64) -> ()
  %count = llvm.load %count_at : !ptr -> i64
  %last_at = llvm.getelementptr %chunks[%count] : (!ptr, i64) -> !ptr, !ptr  %last = llvm.load %last_at : !ptr -> !ptr
  scf.for %i = %c0 to %count step %c1 : i64 {
    %place = llvm.getelementptr %chunks[%i] : (!ptr, i64) -> !ptr, !ptr  %there = llvm.load %place : !ptr -> !ptr
    %is_it = llvm.icmp "eq" %there, %memory : !ptr  %stays = llvm.select %is_it, %last, %there : i1, !ptr
    llvm.store %stays, %place : !ptr, !ptr
  }
  %changes_at = llvm.getelementptr %page[18] : (!ptr) -> !ptr, i64
  func.call @__relax_add(%changes_at, %c1) : (!ptr, i64) -> ()
  %context_at = llvm.getelementptr %page[16] : (!ptr) -> !ptr, !ptr  %context = llvm.load %context_at : !ptr -> !ptr
  %free_at = llvm.getelementptr %page[25] : (!ptr) -> !ptr, !ptr  %free = llvm.load %free_at : !ptr -> !ptr
  llvm.call %free(%context, %memory) : !ptr, (!ptr, !ptr) -> ()
  llvm.call @free(%chunk) : (!ptr) -> ()
  llvm.return
}

// ---- what device.py calls ----

llvm.func internal @__relax_opencl_finish(%page: !ptr) -> i32 {
  %queue_at = llvm.getelementptr %page[17] : (!ptr) -> !ptr, !ptr  %queue = llvm.load %queue_at : !ptr -> !ptr
  %finish_at = llvm.getelementptr %page[27] : (!ptr) -> !ptr, !ptr  %finish = llvm.load %finish_at : !ptr -> !ptr
  %status = llvm.call %finish(%queue) : !ptr, (!ptr) -> i32
  llvm.return %status : i32
}
// A kernel's handle: the cl_kernel, words of its parameters, and how often chunks had changed when it was last told of
// them. `params` is where the address of each word is.
llvm.func internal @__relax_opencl_launch(%kernel: !ptr, %blocks: i32, %y: i32, %z: i32, %threads: i32, %y2: i32,
    %z2: i32, %shared: i32, %page: !ptr, %params: !ptr, %extra: !ptr) -> i32 {
  %ok = arith.constant 0 : i32  %one = arith.constant 1 : i32  %null = llvm.mlir.zero : !ptr
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %c8 = arith.constant 8 : i64
  %whole_at = llvm.alloca %c1 x i64 : (i64) -> !ptr  %group_at = llvm.alloca %c1 x i64 : (i64) -> !ptr
  %wide = arith.extui %blocks : i32 to i64  %group = arith.extui %threads : i32 to i64
  %whole = arith.muli %wide, %group : i64
  llvm.store %whole, %whole_at : i64, !ptr
  llvm.store %group, %group_at : i64, !ptr
  %handle = llvm.load %kernel : !ptr -> !ptr
  %count_at = llvm.getelementptr %kernel[8] : (!ptr) -> !ptr, i8  %count = llvm.load %count_at : !ptr -> i64
  func.call @__relax_device_lock(%page) : (!ptr) -> ()
  %told = llvm.call @__relax_opencl_tell(%kernel, %handle, %page) : (!ptr, !ptr, !ptr) -> i32
  %set_at = llvm.getelementptr %page[28] : (!ptr) -> !ptr, !ptr  %set = llvm.load %set_at : !ptr -> !ptr
  %are_set = scf.for %i = %c0 to %count step %c1 iter_args(%so_far = %told) -> (i32) : i64 {
    %param_at = llvm.getelementptr %params[%i] : (!ptr, i64) -> !ptr, !ptr  %param = llvm.load %param_at : !ptr -> !ptr
    %number = arith.trunci %i : i64 to i32
    %answer = llvm.call %set(%handle, %number, %c8, %param) : !ptr, (!ptr, i32, i64, !ptr) -> i32
    %is_good = arith.cmpi eq, %so_far, %ok : i32  %first = arith.select %is_good, %answer, %so_far : i32
    scf.yield %first : i32
  }
  %is_ready = arith.cmpi eq, %are_set, %ok : i32
  %started = scf.if %is_ready -> i32 {
    %queue_at = llvm.getelementptr %page[17] : (!ptr) -> !ptr, !ptr  %queue = llvm.load %queue_at : !ptr -> !ptr
    %start_at = llvm.getelementptr %page[30] : (!ptr) -> !ptr, !ptr  %start = llvm.load %start_at : !ptr -> !ptr
    %answer = llvm.call %start(%queue, %handle, %one, %null, %whole_at, %group_at, %ok, %null, %null)
      : !ptr, (!ptr, !ptr, i32, !ptr, !ptr, !ptr, i32, !ptr, !ptr) -> i32
    scf.yield %answer : i32
  } else {
    scf.yield %are_set : i32
  }
  func.call @__relax_device_unlock(%page) : (!ptr) -> ()
  llvm.return %started : i32
}
// Says to a kernel which memory its addresses may be in, where that has changed.
llvm.func internal @__relax_opencl_tell(%kernel: !ptr, %handle: !ptr, %page: !ptr) -> i32 {
  %ok = arith.constant 0 : i32  %c8 = arith.constant 8 : i64
  %pointers = arith.constant 0x11B6 : i32  // CL_KERNEL_EXEC_INFO_SVM_PTRS
  %known_at = llvm.getelementptr %kernel[16] : (!ptr) -> !ptr, i8  %known = llvm.load %known_at : !ptr -> i64
  %changes_at = llvm.getelementptr %page[18] : (!ptr) -> !ptr, i64  %changes = llvm.load %changes_at : !ptr -> i64
  %is_new = arith.cmpi ne, %known, %changes : i64
  %status = scf.if %is_new -> i32 {
    llvm.store %changes, %known_at : i64, !ptr
    %count_at = llvm.getelementptr %page[19] : (!ptr) -> !ptr, i64  %count = llvm.load %count_at : !ptr -> i64
    %bytes = arith.muli %count, %c8 : i64
    %chunks_at = llvm.getelementptr %page[20] : (!ptr) -> !ptr, !ptr  %chunks = llvm.load %chunks_at : !ptr -> !ptr
    %tell_at = llvm.getelementptr %page[29] : (!ptr) -> !ptr, !ptr  %tell = llvm.load %tell_at : !ptr -> !ptr
    %answer = llvm.call %tell(%handle, %pointers, %bytes, %chunks) : !ptr, (!ptr, i32, i64, !ptr) -> i32
    scf.yield %answer : i32
  } else {
    scf.yield %ok : i32
  }
  llvm.return %status : i32
}
// Copies in the queue's order, and waits for that where `waits` is not 0.
func.func private @__relax_opencl_move(%to: !ptr, %from: !ptr, %bytes: i64, %page: !ptr, %waits: i32) -> i32 {
  %none = arith.constant 0 : i32  %null = llvm.mlir.zero : !ptr
  %queue_at = llvm.getelementptr %page[17] : (!ptr) -> !ptr, !ptr  %queue = llvm.load %queue_at : !ptr -> !ptr
  %copy_at = llvm.getelementptr %page[26] : (!ptr) -> !ptr, !ptr  %copy = llvm.load %copy_at : !ptr -> !ptr
  %status = llvm.call %copy(%queue, %waits, %to, %from, %bytes, %none, %null, %null)
    : !ptr, (!ptr, i32, !ptr, !ptr, i64, i32, !ptr, !ptr) -> i32
  return %status : i32
}
llvm.func internal @__relax_opencl_copy(%to: !ptr, %from: !ptr, %bytes: i64, %page: !ptr) -> i32 {
  %no = arith.constant 0 : i32
  %status = func.call @__relax_opencl_move(%to, %from, %bytes, %page, %no) : (!ptr, !ptr, i64, !ptr, i32) -> i32
  llvm.return %status : i32
}
// To the device, or from it.
llvm.func internal @__relax_opencl_write(%to: !ptr, %from: !ptr, %bytes: i64, %page: !ptr) -> i32 {
  %yes = arith.constant 1 : i32
  %status = func.call @__relax_opencl_move(%to, %from, %bytes, %page, %yes) : (!ptr, !ptr, i64, !ptr, i32) -> i32
  llvm.return %status : i32
}
llvm.func internal @__relax_opencl_mark(%event: !ptr, %page: !ptr) -> i32 {
  %status = llvm.call @__relax_opencl_finish(%page) : (!ptr) -> i32
  %time = func.call @__relax_now() : () -> i64
  llvm.store %time, %event : i64, !ptr
  llvm.return %status : i32
}
