// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host code of programs for a device: memory, copies, launches, assertions of kernels. Uses the names of support.py,
// for programs that need it (units.py). Tensors are in device_tensors.mlir. Few programs need device_calls.mlir,
// device_profile.mlir, cuda_graphs.mlir and device_tensor_maps.mlir.
//
// `%table` of the program describes the device (DEVICE_SLOTS of support.py; runtime/devices/device_program.py fills it). The
// driver's functions have the names and signatures of CUDA's. For other drivers the program has functions with these
// signatures (register_library of units.py):
//   0 context            1 number of the device   2 flags for assertions, of kernels   3 their records, the host's
//   4 array of kernels' names, for messages       5 what deletes results: code that stays with the process
//   6 cuCtxPushCurrent   7 cuCtxPopCurrent        8 cuLaunchKernel        9 cuMemAllocAsync    10 cuMemFreeAsync
//  11 cuMemcpyHtoDAsync 12 cuMemcpyDtoHAsync     13 cuMemcpyDtoDAsync    14 cuStreamSynchronize
//  15 cuCtxSynchronize, given the stream         16 cuGetErrorName        17 cuGetErrorString     18 cuEventCreate
//  19 cuEventRecord     20 cuEventSynchronize    21 cuEventElapsedTime   22 cuEventDestroy
//  23 graphs, where there are (cuda_graphs.mlir)   24 cuTensorMapEncodeTiled, where kernels need it
//  (device_tensor_maps.mlir)   25 DLPack's number for the kind of device   26 the kind's name, "cuda"
//  27 names of the functions, by their places    28 the stream, null where callers have their own
//  29 statuses with name and text, where 16 is null: after the last, 0      30 the first kernel's handle
// Status 0 is success, 2 is out of memory. Work goes to the caller's stream: the stream that TVMFFIEnvGetStream returns
// for the device, or the device's only stream.

// Record of a failed assertion in host memory: 1 if set, the texts of place and of kind and message, four numbers.
// Kernels read a flag in device memory: whether an assertion has failed, and the address of the record.
!record = !llvm.struct<(i32, i32, ptr, ptr, array<4 x i64>)>

func.func private @__relax_fail(!ptr, !ptr, !ptr, i64, i64, i64, i64) attributes {relax.entry}

// ---- initialization by the loader ----

llvm.mlir.global internal constant @__relax_set_device_name("__relax_set_device\00")
llvm.mlir.global internal constant @__relax_set_device_wrong(
  "%s: expected, once, a pointer to %lld addresses and their number\00")
// The owner of all entries of the table comes with the constants (support.py).
func.func @__relax_set_device(%table: !ptr, %wanted: i64, %args: !ptr, %count: i32) attributes {relax.entry} {
  %two = arith.constant 2 : i32  %c0 = arith.constant 0 : i64  %c8 = arith.constant 8 : i64
  %pointer_kind = arith.constant 4 : i32  %int_kind = arith.constant 1 : i32  %null = llvm.mlir.zero : !ptr
  %no = arith.constant false
  %enough = arith.cmpi eq, %count, %two : i32
  %is_good = scf.if %enough -> i1 {
    %number_at = llvm.getelementptr %args[1] : (!ptr) -> !ptr, !any  %number = llvm.load %number_at : !ptr -> !any
    %kind0 = llvm.load %args : !ptr -> i32  %is_pointer = arith.cmpi eq, %kind0, %pointer_kind : i32
    %kind1 = llvm.load %number_at : !ptr -> i32  %is_int = arith.cmpi eq, %kind1, %int_kind : i32
    %given = llvm.extractvalue %number[1] : !any  %is_whole = arith.cmpi eq, %given, %wanted : i64
    %context = llvm.load %table : !ptr -> !ptr  %is_first = llvm.icmp "eq" %context, %null : !ptr
    %kinds = arith.andi %is_pointer, %is_int : i1  %fitting = arith.andi %kinds, %is_whole : i1
    %good = arith.andi %fitting, %is_first : i1
    scf.yield %good : i1
  } else {
    scf.yield %no : i1
  }
  scf.if %is_good {
    %source_at = llvm.getelementptr %args[8] : (!ptr) -> !ptr, i8  %source = llvm.load %source_at : !ptr -> !ptr
    %bytes = arith.muli %wanted, %c8 : i64
    "llvm.intr.memcpy"(%table, %source, %bytes) <{isVolatile = false}> : (!ptr, !ptr, i64) -> ()
  } else {
    %error = llvm.mlir.addressof @__relax_value_error : !ptr
    %format = llvm.mlir.addressof @__relax_set_device_wrong : !ptr
    %name = llvm.mlir.addressof @__relax_set_device_name : !ptr
    func.call @__relax_fail(%error, %format, %name, %wanted, %c0, %c0, %c0)
      : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> ()
  }
  return
}

// ---- errors ----

llvm.mlir.global internal constant @__relax_unknown_name("unknown error\00")
llvm.mlir.global internal constant @__relax_no_text("the driver says no more\00")
llvm.mlir.global internal constant @__relax_driver_error("%s: %s: %s: %s\00")
// Raise the error of a driver's function. `where` and `call` are texts, `status` is its result.
func.func @__relax_device_fail(%table: !ptr, %where: !ptr, %call: !ptr, %status: i32)
    attributes {llvm.cold, llvm.no_inline, relax.entry} {
  %c0 = arith.constant 0 : i64  %no_room = arith.constant 2 : i32  // CUDA_ERROR_OUT_OF_MEMORY
  %which0 = arith.constant 16 : i64  %which1 = arith.constant 17 : i64
  %unknown = llvm.mlir.addressof @__relax_unknown_name : !ptr  %no_text = llvm.mlir.addressof @__relax_no_text : !ptr
  %b = func.call @__relax_device_text(%table, %which0, %status, %unknown) : (!ptr, i64, i32, !ptr) -> i64
  %c = func.call @__relax_device_text(%table, %which1, %status, %no_text) : (!ptr, i64, i32, !ptr) -> i64
  %memory_error = llvm.mlir.addressof @__relax_memory_error : !ptr
  %runtime_error = llvm.mlir.addressof @__relax_runtime_error : !ptr
  %is_memory = arith.cmpi eq, %status, %no_room : i32
  %kind = arith.select %is_memory, %memory_error, %runtime_error : !ptr
  %format = llvm.mlir.addressof @__relax_driver_error : !ptr  %a = llvm.ptrtoint %call : !ptr to i64
  func.call @__relax_fail(%kind, %format, %where, %a, %b, %c, %c0) : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> ()
  return
}
// Return the driver's text for a status by its function at a place of the table, or a default text.
func.func private @__relax_device_text(%table: !ptr, %which: i64, %status: i32, %otherwise: !ptr) -> i64 {
  %c1 = arith.constant 1 : i64  %null = llvm.mlir.zero : !ptr  %place = llvm.alloca %c1 x !ptr : (i64) -> !ptr
  llvm.store %null, %place : !ptr, !ptr
  %function_at = llvm.getelementptr %table[%which] : (!ptr, i64) -> !ptr, !ptr
  %function = llvm.load %function_at : !ptr -> !ptr  %is_known = llvm.icmp "eq" %function, %null : !ptr
  scf.if %is_known {
    %text = func.call @__relax_device_known(%table, %which, %status) : (!ptr, i64, i32) -> !ptr
    llvm.store %text, %place : !ptr, !ptr
  } else {
    %answer = llvm.call %function(%status, %place) : !ptr, (i32, !ptr) -> i32
  }
  %found = llvm.load %place : !ptr -> !ptr  %is_none = llvm.icmp "eq" %found, %null : !ptr
  %text = arith.select %is_none, %otherwise, %found : !ptr  %address = llvm.ptrtoint %text : !ptr to i64
  return %address : i64
}
// Return the name (16) or text (17) of a status in the table of statuses, or null.
func.func private @__relax_device_known(%table: !ptr, %which: i64, %status: i32) -> !ptr {
  %null = llvm.mlir.zero : !ptr  %ok = arith.constant 0 : i32  %c15 = arith.constant 15 : i64
  %rows_at = llvm.getelementptr %table[29] : (!ptr) -> !ptr, !ptr  %rows = llvm.load %rows_at : !ptr -> !ptr
  cf.br ^head(%rows : !ptr)
^head(%row: !ptr):
  %number = llvm.load %row : !ptr -> i32  %is_end = arith.cmpi eq, %number, %ok : i32
  %next = llvm.getelementptr %row[3] : (!ptr) -> !ptr, !ptr
  cf.cond_br %is_end, ^return(%null : !ptr), ^look
^look:
  %is_it = arith.cmpi eq, %number, %status : i32
  cf.cond_br %is_it, ^found, ^head(%next : !ptr)
^found:
  %place = arith.subi %which, %c15 : i64  %text_at = llvm.getelementptr %row[%place] : (!ptr, i64) -> !ptr, !ptr
  %text = llvm.load %text_at : !ptr -> !ptr
  cf.br ^return(%text : !ptr)
^return(%result: !ptr):
  return %result : !ptr
}
// Return status 0. Raise any other status as an error of the function at a place of the table.
func.func @__relax_device_answer(%table: !ptr, %where: !ptr, %which: i64, %status: i32) attributes {relax.entry} {
  %ok = arith.constant 0 : i32  %is_refused = arith.cmpi ne, %status, %ok : i32
  scf.if %is_refused {
    %names_at = llvm.getelementptr %table[27] : (!ptr) -> !ptr, !ptr  %names = llvm.load %names_at : !ptr -> !ptr
    %name_at = llvm.getelementptr %names[%which] : (!ptr, i64) -> !ptr, !ptr  %name = llvm.load %name_at : !ptr -> !ptr
    func.call @__relax_device_fail(%table, %where, %name, %status) : (!ptr, !ptr, !ptr, i32) -> ()
  }
  return
}
// Return status 0. Raise any other status.
func.func @__relax_device_status(%table: !ptr, %where: !ptr, %call: !ptr, %status: i32) attributes {relax.entry} {
  %ok = arith.constant 0 : i32  %is_refused = arith.cmpi ne, %status, %ok : i32
  scf.if %is_refused {
    func.call @__relax_device_fail(%table, %where, %call, %status) : (!ptr, !ptr, !ptr, i32) -> ()
  }
  return
}

// ---- the context ----

llvm.mlir.global internal constant @__relax_the_device("the device\00")
llvm.mlir.global internal constant @__relax_no_device("the program's device is not set: call %s first\00")
// Make the device's context current in this thread, until device_leave.
func.func @__relax_device_enter(%table: !ptr) attributes {relax.entry} {
  %c0 = arith.constant 0 : i64  %null = llvm.mlir.zero : !ptr
  %context = llvm.load %table : !ptr -> !ptr  %is_unset = llvm.icmp "eq" %context, %null : !ptr
  scf.if %is_unset {
    %error = llvm.mlir.addressof @__relax_value_error : !ptr  %format = llvm.mlir.addressof @__relax_no_device : !ptr
    %setter = llvm.mlir.addressof @__relax_set_device_name : !ptr
    func.call @__relax_fail(%error, %format, %setter, %c0, %c0, %c0, %c0) : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> ()
  }
  %push_at = llvm.getelementptr %table[6] : (!ptr) -> !ptr, !ptr  %push = llvm.load %push_at : !ptr -> !ptr
  %status = llvm.call %push(%context) : !ptr, (!ptr) -> i32
  %where = llvm.mlir.addressof @__relax_the_device : !ptr  %which = arith.constant 6 : i64
  func.call @__relax_device_answer(%table, %where, %which, %status) : (!ptr, !ptr, i64, i32) -> ()
  return
}
func.func @__relax_device_leave(%table: !ptr) {
  %c1 = arith.constant 1 : i64  %popped = llvm.alloca %c1 x !ptr : (i64) -> !ptr
  %pop_at = llvm.getelementptr %table[7] : (!ptr) -> !ptr, !ptr  %pop = llvm.load %pop_at : !ptr -> !ptr
  %status = llvm.call %pop(%popped) : !ptr, (!ptr) -> i32
  return
}
// Return the caller's stream.
func.func @__relax_device_stream(%table: !ptr) -> !ptr {
  %kind_at = llvm.getelementptr %table[25] : (!ptr) -> !ptr, !ptr  %kind = llvm.load %kind_at : !ptr -> i32
  %number_at = llvm.getelementptr %table[1] : (!ptr) -> !ptr, !ptr  %number = llvm.load %number_at : !ptr -> i32
  %only_at = llvm.getelementptr %table[28] : (!ptr) -> !ptr, !ptr  %only = llvm.load %only_at : !ptr -> !ptr
  %stream = func.call @__relax_stream_of(%only, %kind, %number) : (!ptr, i32, i32) -> !ptr
  return %stream : !ptr
}
func.func @__relax_stream_of(%only: !ptr, %kind: i32, %number: i32) -> !ptr {
  %null = llvm.mlir.zero : !ptr  %is_only = llvm.icmp "ne" %only, %null : !ptr
  %stream = scf.if %is_only -> !ptr {
    scf.yield %only : !ptr
  } else {
    %callers = func.call @TVMFFIEnvGetStream(%kind, %number) : (i32, i32) -> !ptr
    scf.yield %callers : !ptr
  }
  return %stream : !ptr
}

// ---- kernels ----

llvm.mlir.global internal constant @__relax_many_blocks("%s: %lld blocks were asked for, a launch takes 2147483647\00")
// Launch a kernel by its place in the table. `params` points to the addresses of its parameters. Skip 0 blocks.
func.func @__relax_device_launch(%table: !ptr, %kernel: i64, %blocks: i64, %threads: i64, %shared: i64,
    %params: !ptr) attributes {relax.entry} {
  %one = arith.constant 1 : i32  %c0 = arith.constant 0 : i64  %most = arith.constant 2147483647 : i64
  %null = llvm.mlir.zero : !ptr  %are_some = arith.cmpi sgt, %blocks, %c0 : i64
  scf.if %are_some {
    %names_at = llvm.getelementptr %table[4] : (!ptr) -> !ptr, !ptr  %names = llvm.load %names_at : !ptr -> !ptr
    %name_at = llvm.getelementptr %names[%kernel] : (!ptr, i64) -> !ptr, !ptr  %where = llvm.load %name_at : !ptr -> !ptr
    %are_many = arith.cmpi sgt, %blocks, %most : i64
    scf.if %are_many {
      %error = llvm.mlir.addressof @__relax_value_error : !ptr
      %format = llvm.mlir.addressof @__relax_many_blocks : !ptr
      func.call @__relax_fail(%error, %format, %where, %blocks, %c0, %c0, %c0)
        : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> ()
    }
    %kernels = llvm.getelementptr %table[30] : (!ptr) -> !ptr, !ptr
    %handle_at = llvm.getelementptr %kernels[%kernel] : (!ptr, i64) -> !ptr, !ptr
    %handle = llvm.load %handle_at : !ptr -> !ptr
    %launch_at = llvm.getelementptr %table[8] : (!ptr) -> !ptr, !ptr  %launch = llvm.load %launch_at : !ptr -> !ptr
    %stream = func.call @__relax_device_stream(%table) : (!ptr) -> !ptr
    %grid = arith.trunci %blocks : i64 to i32  %block = arith.trunci %threads : i64 to i32
    %bytes = arith.trunci %shared : i64 to i32
    %status = llvm.call %launch(%handle, %grid, %one, %one, %block, %one, %one, %bytes, %stream, %params, %null)
      : !ptr, (!ptr, i32, i32, i32, i32, i32, i32, i32, !ptr, !ptr, !ptr) -> i32
    %which = arith.constant 8 : i64
    func.call @__relax_device_answer(%table, %where, %which, %status) : (!ptr, !ptr, i64, i32) -> ()
  }
  return
}

// Each calling thread has a record of its own: a failed assertion is reported only to the thread that launched the
// kernel, and stops only its kernels. The threads after the 63rd share the last record.
llvm.mlir.global internal @__relax_callers(dense<0> : tensor<64xi64>) {alignment = 8 : i64} : !llvm.array<64 x i64>
func.func private @__relax_device_caller() -> i64 {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %last = arith.constant 63 : i64
  %callers = llvm.mlir.addressof @__relax_callers : !ptr  %own = func.call @pthread_self() : () -> i64
  cf.br ^head(%c0 : i64)
^head(%i: i64):
  %more = arith.cmpi slt, %i, %last : i64
  cf.cond_br %more, ^look, ^return(%last : i64)
^look:
  %place = llvm.getelementptr %callers[%i] : (!ptr, i64) -> !ptr, i64
  %known = llvm.load %place atomic monotonic {alignment = 8 : i64} : !ptr -> i64
  %is_own = arith.cmpi eq, %known, %own : i64
  cf.cond_br %is_own, ^return(%i : i64), ^other
^other:
  %next = arith.addi %i, %c1 : i64  %is_taken = arith.cmpi ne, %known, %c0 : i64
  cf.cond_br %is_taken, ^head(%next : i64), ^take
^take:
  %swapped = llvm.cmpxchg %place, %c0, %own monotonic monotonic {alignment = 8 : i64} : !ptr, i64
  %is_mine = llvm.extractvalue %swapped[1] : !swapped
  cf.cond_br %is_mine, ^return(%i : i64), ^head(%next : i64)
^return(%number: i64):
  return %number : i64
}
// Return the assertion flag of the kernels that this thread launches. A graph in recording has a flag of its own.
func.func @__relax_device_record(%table: !ptr) -> !ptr {
  %c1 = arith.constant 1 : i64  %null = llvm.mlir.zero : !ptr
  %graphs_at = llvm.getelementptr %table[23] : (!ptr) -> !ptr, !ptr  %graphs = llvm.load %graphs_at : !ptr -> !ptr
  %has_graphs = llvm.icmp "ne" %graphs, %null : !ptr
  cf.cond_br %has_graphs, ^look, ^own
^look:
  %recorded_at = llvm.getelementptr %graphs[11] : (!ptr) -> !ptr, !ptr
  %recorded = llvm.load %recorded_at atomic monotonic {alignment = 8 : i64} : !ptr -> !ptr
  %stream = func.call @__relax_device_stream(%table) : (!ptr) -> !ptr
  %is_some = llvm.icmp "ne" %recorded, %null : !ptr  %is_here = llvm.icmp "eq" %recorded, %stream : !ptr
  %is_recorded = arith.andi %is_some, %is_here : i1
  cf.cond_br %is_recorded, ^recorded, ^own
^recorded:
  %asked_at = llvm.getelementptr %graphs[13] : (!ptr) -> !ptr, !ptr
  llvm.store %c1, %asked_at : i64, !ptr
  %record_at = llvm.getelementptr %graphs[12] : (!ptr) -> !ptr, !ptr  %of_graph = llvm.load %record_at : !ptr -> !ptr
  return %of_graph : !ptr
^own:
  %record = func.call @__relax_device_record_in(%table, %c1) : (!ptr, i64) -> !ptr
  return %record : !ptr
}
// Return the address of this thread's flag (1) or record (2).
func.func private @__relax_device_record_in(%table: !ptr, %which: i64) -> !ptr {
  %behind = llvm.getelementptr %table[1] : (!ptr) -> !ptr, !ptr
  %place = llvm.getelementptr %behind[%which] : (!ptr, i64) -> !ptr, !ptr  %records = llvm.load %place : !ptr -> !ptr
  %number = func.call @__relax_device_caller() : () -> i64
  %record = llvm.getelementptr %records[%number] : (!ptr, i64) -> !ptr, !llvm.array<64 x i8>
  return %record : !ptr
}
// Raise a failed assertion of a kernel that this thread launched. The first word of a record is set before the others.
func.func @__relax_device_check(%table: !ptr) attributes {relax.entry} {
  %ok = arith.constant 0 : i32  %c2 = arith.constant 2 : i64
  %record = func.call @__relax_device_record_in(%table, %c2) : (!ptr, i64) -> !ptr
  %taken = llvm.load %record atomic acquire {alignment = 4 : i64} : !ptr -> i32
  %is_taken = arith.cmpi ne, %taken, %ok : i32
  scf.if %is_taken {
    func.call @__relax_device_raise(%table, %record) : (!ptr, !ptr) -> ()
  }
  return
}
func.func private @__relax_device_raise(%table: !ptr, %record: !ptr)
    attributes {llvm.cold, llvm.no_inline, relax.entry} {
  %ok = arith.constant 0 : i32  %one = arith.constant 1 : i32
  %wait_at = llvm.getelementptr %table[15] : (!ptr) -> !ptr, !ptr  %wait = llvm.load %wait_at : !ptr -> !ptr
  %stream = func.call @__relax_device_stream(%table) : (!ptr) -> !ptr
  %waited = llvm.call %wait(%stream) : !ptr, (!ptr) -> i32  // CUDA's takes none, and does not look
  %the_device = llvm.mlir.addressof @__relax_the_device : !ptr  %waits = arith.constant 15 : i64
  func.call @__relax_device_answer(%table, %the_device, %waits, %waited) : (!ptr, !ptr, i64, i32) -> ()
  %loaded = llvm.load %record : !ptr -> !record
  // Only one of several threads that share the record raises the error.
  %swapped = llvm.cmpxchg %record, %one, %ok acq_rel monotonic {alignment = 4 : i64} : !ptr, i32
  %is_mine = llvm.extractvalue %swapped[1] : !llvm.struct<(i32, i1)>
  scf.if %is_mine {
    // Later kernels do their work again, on any stream.
    %flag = func.call @__relax_device_record(%table) : (!ptr) -> !ptr
    %four = arith.constant 4 : i64  %c1 = arith.constant 1 : i64  %none = llvm.alloca %c1 x i32 : (i64) -> !ptr
    llvm.store %ok, %none : i32, !ptr
    func.call @__relax_device_write(%table, %flag, %none, %four) : (!ptr, !ptr, !ptr, i64) -> ()
    %where = llvm.extractvalue %loaded[2] : !record  %site = llvm.extractvalue %loaded[3] : !record
    %kind = llvm.load %site : !ptr -> !ptr
    %format_at = llvm.getelementptr %site[8] : (!ptr) -> !ptr, i8  %format = llvm.load %format_at : !ptr -> !ptr
    %a = llvm.extractvalue %loaded[4, 0] : !record  %b = llvm.extractvalue %loaded[4, 1] : !record
    %c = llvm.extractvalue %loaded[4, 2] : !record  %d = llvm.extractvalue %loaded[4, 3] : !record
    func.call @__relax_fail(%kind, %format, %where, %a, %b, %c, %d) : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> ()
  }
  return
}

// ---- memory ----

// Allocate device memory and store its address at a place. 0 bytes get an address, too. Return the driver's status.
func.func @__relax_device_take(%table: !ptr, %bytes: i64, %place: !ptr) -> i32 {
  %c1 = arith.constant 1 : i64  %null = llvm.mlir.zero : !ptr
  %allocate_at = llvm.getelementptr %table[9] : (!ptr) -> !ptr, !ptr  %allocate = llvm.load %allocate_at : !ptr -> !ptr
  %stream = func.call @__relax_device_stream(%table) : (!ptr) -> !ptr
  %some = arith.maxui %bytes, %c1 : i64
  llvm.store %null, %place : !ptr, !ptr
  %status = llvm.call %allocate(%place, %some, %stream) : !ptr, (!ptr, i64, !ptr) -> i32
  return %status : i32
}
// Allocate device memory. Return its address, or null.
func.func @__relax_device_alloc(%table: !ptr, %bytes: i64) -> !ptr {
  %c1 = arith.constant 1 : i64  %ok = arith.constant 0 : i32  %null = llvm.mlir.zero : !ptr
  %place = llvm.alloca %c1 x !ptr : (i64) -> !ptr
  %status = func.call @__relax_device_take(%table, %bytes, %place) : (!ptr, i64, !ptr) -> i32
  %given = llvm.load %place : !ptr -> !ptr  %is_good = arith.cmpi eq, %status, %ok : i32
  %result = arith.select %is_good, %given, %null : !ptr
  return %result : !ptr
}
func.func @__relax_device_free(%table: !ptr, %address: !ptr) {
  %null = llvm.mlir.zero : !ptr  %is_some = llvm.icmp "ne" %address, %null : !ptr
  scf.if %is_some {
    %free_at = llvm.getelementptr %table[10] : (!ptr) -> !ptr, !ptr  %free = llvm.load %free_at : !ptr -> !ptr
    %stream = func.call @__relax_device_stream(%table) : (!ptr) -> !ptr
    %status = llvm.call %free(%address, %stream) : !ptr, (!ptr, !ptr) -> i32
  }
  return
}

llvm.mlir.global internal constant @__relax_copying("copying memory\00")
// Copy with the driver's function at a place of the table.
func.func private @__relax_device_move(%table: !ptr, %which: i64, %to: !ptr, %from: !ptr, %bytes: i64)
    attributes {relax.entry} {
  %c0 = arith.constant 0 : i64  %is_some = arith.cmpi ne, %bytes, %c0 : i64
  scf.if %is_some {
    %function_at = llvm.getelementptr %table[%which] : (!ptr, i64) -> !ptr, !ptr
    %function = llvm.load %function_at : !ptr -> !ptr
    %stream = func.call @__relax_device_stream(%table) : (!ptr) -> !ptr
    %status = llvm.call %function(%to, %from, %bytes, %stream) : !ptr, (!ptr, !ptr, i64, !ptr) -> i32
    %where = llvm.mlir.addressof @__relax_copying : !ptr
    func.call @__relax_device_answer(%table, %where, %which, %status) : (!ptr, !ptr, i64, i32) -> ()
  }
  return
}
// Wait for the caller's stream.
func.func @__relax_device_wait(%table: !ptr) attributes {relax.entry} {
  %function_at = llvm.getelementptr %table[14] : (!ptr) -> !ptr, !ptr  %function = llvm.load %function_at : !ptr -> !ptr
  %stream = func.call @__relax_device_stream(%table) : (!ptr) -> !ptr
  %waited = llvm.call %function(%stream) : !ptr, (!ptr) -> i32
  %where = llvm.mlir.addressof @__relax_the_device : !ptr  %which = arith.constant 14 : i64
  func.call @__relax_device_answer(%table, %where, %which, %waited) : (!ptr, !ptr, i64, i32) -> ()
  return
}
// Copy to the host and wait. Raise failed assertions of kernels.
func.func @__relax_device_read(%table: !ptr, %host: !ptr, %device: !ptr, %bytes: i64) attributes {relax.entry} {
  %which = arith.constant 12 : i64
  func.call @__relax_device_wait(%table) : (!ptr) -> ()
  // A kernel with a failed assertion has not written its results.
  func.call @__relax_device_check(%table) : (!ptr) -> ()
  func.call @__relax_device_move(%table, %which, %host, %device, %bytes) : (!ptr, i64, !ptr, !ptr, i64) -> ()
  func.call @__relax_device_wait(%table) : (!ptr) -> ()
  return
}
// Copy to the device and wait, as the host's memory may be freed after the call.
func.func @__relax_device_write(%table: !ptr, %device: !ptr, %host: !ptr, %bytes: i64) attributes {relax.entry} {
  %which = arith.constant 11 : i64
  func.call @__relax_device_move(%table, %which, %device, %host, %bytes) : (!ptr, i64, !ptr, !ptr, i64) -> ()
  func.call @__relax_device_wait(%table) : (!ptr) -> ()
  return
}
func.func @__relax_device_copy(%table: !ptr, %to: !ptr, %from: !ptr, %bytes: i64) attributes {relax.entry} {
  %which = arith.constant 13 : i64
  func.call @__relax_device_move(%table, %which, %to, %from, %bytes) : (!ptr, i64, !ptr, !ptr, i64) -> ()
  return
}
