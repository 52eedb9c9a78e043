// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What host code of programs for NVIDIA's GPUs does with the device: memory, copies, launches, what kernels assert. Beside
// support.mlir, whose names it uses, for programs that need it (support.py); tensors are in device_tensors.mlir, what
// few programs need in device_calls.mlir, device_profile.mlir, device_graphs.mlir and device_tensor_maps.mlir.
//
// `%table` is the program's table of one place each (DEVICE_SLOTS of support.py, runtime/cuda/loading.py fills it):
//   0 context            1 number of the device   2 flags for assertions, of kernels   3 their records, the host's
//   4 array of kernels' names, for messages       5 what deletes results: code that stays with the process
//   6 cuCtxPushCurrent   7 cuCtxPopCurrent        8 cuLaunchKernel        9 cuMemAllocAsync    10 cuMemFreeAsync
//  11 cuMemcpyHtoDAsync 12 cuMemcpyDtoHAsync     13 cuMemcpyDtoDAsync    14 cuStreamSynchronize
//  15 cuCtxSynchronize  16 cuGetErrorName        17 cuGetErrorString     18 cuEventCreate      19 cuEventRecord
//  20 cuEventSynchronize 21 cuEventElapsedTime   22 cuEventDestroy       23 graphs, where there are (device_graphs.mlir)
//  24 cuTensorMapEncodeTiled, where kernels need it (device_tensor_maps.mlir)   25 the first kernel's handle
// Work goes to the caller's stream, the one that TVMFFIEnvGetStream tells for the device.

!ptr = !llvm.ptr
!any = !llvm.struct<(i64, i64)>
// What a kernel asserts: whether it has (1), the texts of place and of kind and message, four numbers. This is the host's
// memory. Kernels look at a flag in the device's: whether one has asserted something, and where it tells the host.
!record = !llvm.struct<(i32, i32, ptr, ptr, array<4 x i64>)>

llvm.func @TVMFFIEnvGetStream(i32, i32) -> !ptr
llvm.func @pthread_self() -> i64

llvm.func @__relax_fail(!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32

llvm.mlir.global internal constant @__relax_value_error("ValueError\00")
llvm.mlir.global internal constant @__relax_memory_error("MemoryError\00")
llvm.mlir.global internal constant @__relax_runtime_error("RuntimeError\00")

// ---- the loader's one call before all others ----

llvm.mlir.global internal constant @__relax_set_device_name("__relax_set_device\00")
llvm.mlir.global internal constant @__relax_set_device_wrong(
  "%s: expected, once, a pointer to %lld addresses and their number\00")
// What owns all that the table tells of comes with the constants (support.py).
llvm.func hidden @__relax_set_device(%table: !ptr, %wanted: i64, %args: !ptr, %count: i32) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32  %two = llvm.mlir.constant(2 : i32) : i32
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c8 = llvm.mlir.constant(8 : i64) : i64
  %pointer_kind = llvm.mlir.constant(4 : i32) : i32  %int_kind = llvm.mlir.constant(1 : i32) : i32
  %null = llvm.mlir.zero : !ptr
  %enough = llvm.icmp "eq" %count, %two : i32
  llvm.cond_br %enough, ^kinds, ^refuse
^refuse:
  %error = llvm.mlir.addressof @__relax_value_error : !ptr
  %format = llvm.mlir.addressof @__relax_set_device_wrong : !ptr
  %name = llvm.mlir.addressof @__relax_set_device_name : !ptr
  %refused = llvm.call @__relax_fail(%error, %format, %name, %wanted, %c0, %c0, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.return %refused : i32
^kinds:
  %number_at = llvm.getelementptr %args[1] : (!ptr) -> !ptr, !any
  %kind0 = llvm.load %args : !ptr -> i32
  %kind1 = llvm.load %number_at : !ptr -> i32
  %number = llvm.load %number_at : !ptr -> !any
  %given = llvm.extractvalue %number[1] : !any
  %context = llvm.load %table : !ptr -> !ptr
  %is_pointer = llvm.icmp "eq" %kind0, %pointer_kind : i32
  %is_int = llvm.icmp "eq" %kind1, %int_kind : i32
  %is_whole = llvm.icmp "eq" %given, %wanted : i64
  %is_first = llvm.icmp "eq" %context, %null : !ptr
  %kinds = llvm.and %is_pointer, %is_int : i1
  %fitting = llvm.and %kinds, %is_whole : i1
  %good = llvm.and %fitting, %is_first : i1
  llvm.cond_br %good, ^copy, ^refuse
^copy:
  %source_at = llvm.getelementptr %args[8] : (!ptr) -> !ptr, i8
  %source = llvm.load %source_at : !ptr -> !ptr
  %bytes = llvm.mul %wanted, %c8 : i64
  "llvm.intr.memcpy"(%table, %source, %bytes) <{isVolatile = false}> : (!ptr, !ptr, i64) -> ()
  llvm.return %ok : i32
}

// ---- errors ----

llvm.mlir.global internal constant @__relax_unknown_name("unknown error\00")
llvm.mlir.global internal constant @__relax_no_text("the driver tells no more\00")
llvm.mlir.global internal constant @__relax_driver_error("%s: %s: %s: %s\00")
// What a function of the driver refuses: `where` and `call` are texts, `status` is what it gave.
llvm.func hidden @__relax_device_fail(%table: !ptr, %where: !ptr, %call: !ptr, %status: i32) -> i32
    attributes {passthrough = ["cold", "noinline"]} {
  %c1 = llvm.mlir.constant(1 : i64) : i64  %no_room = llvm.mlir.constant(2 : i32) : i32  // CUDA_ERROR_OUT_OF_MEMORY
  %null = llvm.mlir.zero : !ptr
  %name_at = llvm.alloca %c1 x !ptr : (i64) -> !ptr
  %text_at = llvm.alloca %c1 x !ptr : (i64) -> !ptr
  llvm.store %null, %name_at : !ptr, !ptr
  llvm.store %null, %text_at : !ptr, !ptr
  %name_of_at = llvm.getelementptr %table[16] : (!ptr) -> !ptr, !llvm.ptr
  %name_of = llvm.load %name_of_at : !ptr -> !ptr
  %named = llvm.call %name_of(%status, %name_at) : !ptr, (i32, !ptr) -> i32
  %text_of_at = llvm.getelementptr %table[17] : (!ptr) -> !ptr, !llvm.ptr
  %text_of = llvm.load %text_of_at : !ptr -> !ptr
  %told = llvm.call %text_of(%status, %text_at) : !ptr, (i32, !ptr) -> i32
  %found_name = llvm.load %name_at : !ptr -> !ptr
  %found_text = llvm.load %text_at : !ptr -> !ptr
  %unknown = llvm.mlir.addressof @__relax_unknown_name : !ptr
  %no_text = llvm.mlir.addressof @__relax_no_text : !ptr
  %lacks_name = llvm.icmp "eq" %found_name, %null : !ptr
  %lacks_text = llvm.icmp "eq" %found_text, %null : !ptr
  %name = llvm.select %lacks_name, %unknown, %found_name : i1, !ptr
  %text = llvm.select %lacks_text, %no_text, %found_text : i1, !ptr
  %memory_error = llvm.mlir.addressof @__relax_memory_error : !ptr
  %runtime_error = llvm.mlir.addressof @__relax_runtime_error : !ptr
  %is_memory = llvm.icmp "eq" %status, %no_room : i32
  %kind = llvm.select %is_memory, %memory_error, %runtime_error : i1, !ptr
  %format = llvm.mlir.addressof @__relax_driver_error : !ptr
  %a = llvm.ptrtoint %call : !ptr to i64
  %b = llvm.ptrtoint %name : !ptr to i64
  %c = llvm.ptrtoint %text : !ptr to i64
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %failed = llvm.call @__relax_fail(%kind, %format, %where, %a, %b, %c, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.return %failed : i32
}
// 0 as it is, anything else raised.
llvm.func hidden @__relax_device_status(%table: !ptr, %where: !ptr, %call: !ptr, %status: i32) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32
  %is_good = llvm.icmp "eq" %status, %ok : i32
  llvm.cond_br %is_good weights([2000, 1]), ^return(%ok : i32), ^fail
^fail:
  %failed = llvm.call @__relax_device_fail(%table, %where, %call, %status) : (!ptr, !ptr, !ptr, i32) -> i32
  llvm.br ^return(%failed : i32)
^return(%result: i32):
  llvm.return %result : i32
}

// ---- the context ----

llvm.mlir.global internal constant @__relax_the_device("the device\00")
llvm.mlir.global internal constant @__relax_no_device("the program's device is not set: call %s first\00")
llvm.mlir.global internal constant @__relax_push_name("cuCtxPushCurrent\00")
llvm.mlir.global internal constant @__relax_wait_name("cuCtxSynchronize\00")
// Makes the device's context this thread's, until device_leave.
llvm.func hidden @__relax_device_enter(%table: !ptr) -> i32 {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %null = llvm.mlir.zero : !ptr
  %context = llvm.load %table : !ptr -> !ptr
  %is_set = llvm.icmp "ne" %context, %null : !ptr
  llvm.cond_br %is_set weights([2000, 1]), ^push, ^refuse
^refuse:
  %error = llvm.mlir.addressof @__relax_value_error : !ptr
  %format = llvm.mlir.addressof @__relax_no_device : !ptr
  %setter = llvm.mlir.addressof @__relax_set_device_name : !ptr
  %refused = llvm.call @__relax_fail(%error, %format, %setter, %c0, %c0, %c0, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.return %refused : i32
^push:
  %push_at = llvm.getelementptr %table[6] : (!ptr) -> !ptr, !llvm.ptr
  %push = llvm.load %push_at : !ptr -> !ptr
  %status = llvm.call %push(%context) : !ptr, (!ptr) -> i32
  %where = llvm.mlir.addressof @__relax_the_device : !ptr
  %name = llvm.mlir.addressof @__relax_push_name : !ptr
  %result = llvm.call @__relax_device_status(%table, %where, %name, %status) : (!ptr, !ptr, !ptr, i32) -> i32
  llvm.return %result : i32
}
llvm.func hidden @__relax_device_leave(%table: !ptr) {
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %popped = llvm.alloca %c1 x !ptr : (i64) -> !ptr
  %pop_at = llvm.getelementptr %table[7] : (!ptr) -> !ptr, !llvm.ptr
  %pop = llvm.load %pop_at : !ptr -> !ptr
  %status = llvm.call %pop(%popped) : !ptr, (!ptr) -> i32
  llvm.return
}
// The caller's stream.
llvm.func hidden @__relax_device_stream(%table: !ptr) -> !ptr {
  %cuda = llvm.mlir.constant(2 : i32) : i32
  %number_at = llvm.getelementptr %table[1] : (!ptr) -> !ptr, !llvm.ptr
  %number = llvm.load %number_at : !ptr -> i32
  %stream = llvm.call @TVMFFIEnvGetStream(%cuda, %number) : (i32, i32) -> !ptr
  llvm.return %stream : !ptr
}

// ---- kernels ----

llvm.mlir.global internal constant @__relax_launch_name("cuLaunchKernel\00")
llvm.mlir.global internal constant @__relax_many_blocks("%s: %lld blocks were asked for, a launch takes 2147483647\00")
// Starts a kernel by its place in the table; `params` is where the addresses of its parameters are. Of 0 blocks: nothing.
llvm.func hidden @__relax_device_launch(%table: !ptr, %kernel: i64, %blocks: i64, %threads: i64, %shared: i64,
    %params: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32  %one = llvm.mlir.constant(1 : i32) : i32
  %c0 = llvm.mlir.constant(0 : i64) : i64  %most = llvm.mlir.constant(2147483647 : i64) : i64
  %first = llvm.mlir.constant(25 : i64) : i64  %null = llvm.mlir.zero : !ptr
  %is_none = llvm.icmp "sle" %blocks, %c0 : i64
  llvm.cond_br %is_none weights([1, 2000]), ^return(%ok : i32), ^count
^count:
  %names_at = llvm.getelementptr %table[4] : (!ptr) -> !ptr, !llvm.ptr
  %names = llvm.load %names_at : !ptr -> !ptr
  %name_at = llvm.getelementptr %names[%kernel] : (!ptr, i64) -> !ptr, !llvm.ptr
  %where = llvm.load %name_at : !ptr -> !ptr
  %is_many = llvm.icmp "sgt" %blocks, %most : i64
  llvm.cond_br %is_many weights([1, 2000]), ^refuse, ^launch
^refuse:
  %error = llvm.mlir.addressof @__relax_value_error : !ptr
  %format = llvm.mlir.addressof @__relax_many_blocks : !ptr
  %refused = llvm.call @__relax_fail(%error, %format, %where, %blocks, %c0, %c0, %c0)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.br ^return(%refused : i32)
^launch:
  %place = llvm.add %kernel, %first : i64
  %handle_at = llvm.getelementptr %table[%place] : (!ptr, i64) -> !ptr, !llvm.ptr
  %handle = llvm.load %handle_at : !ptr -> !ptr
  %launch_at = llvm.getelementptr %table[8] : (!ptr) -> !ptr, !llvm.ptr
  %launch = llvm.load %launch_at : !ptr -> !ptr
  %stream = llvm.call @__relax_device_stream(%table) : (!ptr) -> !ptr
  %grid = llvm.trunc %blocks : i64 to i32
  %block = llvm.trunc %threads : i64 to i32
  %bytes = llvm.trunc %shared : i64 to i32
  %status = llvm.call %launch(%handle, %grid, %one, %one, %block, %one, %one, %bytes, %stream, %params, %null)
    : !ptr, (!ptr, i32, i32, i32, i32, i32, i32, i32, !ptr, !ptr, !ptr) -> i32
  %name = llvm.mlir.addressof @__relax_launch_name : !ptr
  %launched = llvm.call @__relax_device_status(%table, %where, %name, %status) : (!ptr, !ptr, !ptr, i32) -> i32
  llvm.br ^return(%launched : i32)
^return(%result: i32):
  llvm.return %result : i32
}

// The threads that have called, each with a record of its own: what kernels of one assert is no other's, and stops no
// other's kernels. All that come after the 63rd share the last one.
llvm.mlir.global internal @__relax_callers() {alignment = 8 : i64} : !llvm.array<64 x i64> {
  %none = llvm.mlir.zero : !llvm.array<64 x i64>
  llvm.return %none : !llvm.array<64 x i64>
}
llvm.func internal @__relax_device_caller() -> i64 {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %last = llvm.mlir.constant(63 : i64) : i64
  %callers = llvm.mlir.addressof @__relax_callers : !ptr
  %own = llvm.call @pthread_self() : () -> i64
  llvm.br ^head(%c0 : i64)
^head(%i: i64):
  %more = llvm.icmp "slt" %i, %last : i64
  llvm.cond_br %more, ^look, ^return(%last : i64)
^look:
  %place = llvm.getelementptr %callers[%i] : (!ptr, i64) -> !ptr, i64
  %known = llvm.load %place atomic monotonic {alignment = 8 : i64} : !ptr -> i64
  %is_own = llvm.icmp "eq" %known, %own : i64
  llvm.cond_br %is_own, ^return(%i : i64), ^other
^other:
  %next = llvm.add %i, %c1 : i64
  %is_taken = llvm.icmp "ne" %known, %c0 : i64
  llvm.cond_br %is_taken, ^head(%next : i64), ^take
^take:
  %swapped = llvm.cmpxchg %place, %c0, %own monotonic monotonic {alignment = 8 : i64} : !ptr, i64
  %is_mine = llvm.extractvalue %swapped[1] : !llvm.struct<(i64, i1)>
  llvm.cond_br %is_mine, ^return(%i : i64), ^head(%next : i64)
^return(%number: i64):
  llvm.return %number : i64
}
// The flag of what kernels assert that this thread starts, or has recorded for a graph: that has one of its own.
llvm.func hidden @__relax_device_record(%table: !ptr) -> !ptr {
  %c1 = llvm.mlir.constant(1 : i64) : i64  %null = llvm.mlir.zero : !ptr
  %graphs_at = llvm.getelementptr %table[23] : (!ptr) -> !ptr, !llvm.ptr
  %graphs = llvm.load %graphs_at : !ptr -> !ptr
  %has_graphs = llvm.icmp "ne" %graphs, %null : !ptr
  llvm.cond_br %has_graphs, ^look, ^own
^look:
  %recorded_at = llvm.getelementptr %graphs[11] : (!ptr) -> !ptr, !llvm.ptr
  %recorded = llvm.load %recorded_at atomic monotonic {alignment = 8 : i64} : !ptr -> !ptr
  %stream = llvm.call @__relax_device_stream(%table) : (!ptr) -> !ptr
  %is_some = llvm.icmp "ne" %recorded, %null : !ptr
  %is_recorded_on = llvm.icmp "eq" %recorded, %stream : !ptr
  %is_recorded = llvm.and %is_some, %is_recorded_on : i1
  llvm.cond_br %is_recorded, ^recorded, ^own
^recorded:
  %asked_at = llvm.getelementptr %graphs[13] : (!ptr) -> !ptr, !llvm.ptr
  llvm.store %c1, %asked_at : i64, !ptr
  %record_at = llvm.getelementptr %graphs[12] : (!ptr) -> !ptr, !llvm.ptr
  %of_graph = llvm.load %record_at : !ptr -> !ptr
  llvm.return %of_graph : !ptr
^own:
  %place = llvm.getelementptr %table[2] : (!ptr) -> !ptr, !llvm.ptr
  %records = llvm.load %place : !ptr -> !ptr
  %number = llvm.call @__relax_device_caller() : () -> i64
  %record = llvm.getelementptr %records[%number] : (!ptr, i64) -> !ptr, !llvm.array<64 x i8>
  llvm.return %record : !ptr
}
// Raises what a kernel that this thread has started asserted. Whoever sees the first word of a record waits for the rest of it.
llvm.func hidden @__relax_device_check(%table: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32
  %place = llvm.getelementptr %table[3] : (!ptr) -> !ptr, !llvm.ptr
  %records = llvm.load %place : !ptr -> !ptr
  %number = llvm.call @__relax_device_caller() : () -> i64
  %record = llvm.getelementptr %records[%number] : (!ptr, i64) -> !ptr, !llvm.array<64 x i8>
  %taken = llvm.load %record atomic acquire {alignment = 4 : i64} : !ptr -> i32
  %is_good = llvm.icmp "eq" %taken, %ok : i32
  llvm.cond_br %is_good weights([2000, 1]), ^return(%ok : i32), ^raise
^raise:
  %raised = llvm.call @__relax_device_raise(%table, %record) : (!ptr, !ptr) -> i32
  llvm.br ^return(%raised : i32)
^return(%result: i32):
  llvm.return %result : i32
}
llvm.func internal @__relax_device_raise(%table: !ptr, %record: !ptr) -> i32
    attributes {passthrough = ["cold", "noinline"]} {
  %ok = llvm.mlir.constant(0 : i32) : i32  %one = llvm.mlir.constant(1 : i32) : i32
  %wait_at = llvm.getelementptr %table[15] : (!ptr) -> !ptr, !llvm.ptr
  %wait = llvm.load %wait_at : !ptr -> !ptr
  %waited = llvm.call %wait() : !ptr, () -> i32
  %the_device = llvm.mlir.addressof @__relax_the_device : !ptr
  %wait_name = llvm.mlir.addressof @__relax_wait_name : !ptr
  %status = llvm.call @__relax_device_status(%table, %the_device, %wait_name, %waited) : (!ptr, !ptr, !ptr, i32) -> i32
  %is_good = llvm.icmp "eq" %status, %ok : i32
  llvm.cond_br %is_good, ^read, ^return(%status : i32)
^read:
  %told = llvm.load %record : !ptr -> !record
  // One of several threads that come here raises it.
  %swapped = llvm.cmpxchg %record, %one, %ok acq_rel monotonic {alignment = 4 : i64} : !ptr, i32
  %is_mine = llvm.extractvalue %swapped[1] : !llvm.struct<(i32, i1)>
  llvm.cond_br %is_mine, ^clear, ^return(%ok : i32)
// Kernels that come after this do their work again, on whatever stream.
^clear:
  %flag = llvm.call @__relax_device_record(%table) : (!ptr) -> !ptr
  %four = llvm.mlir.constant(4 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %none = llvm.alloca %c1 x i32 : (i64) -> !ptr
  llvm.store %ok, %none : i32, !ptr
  %cleared = llvm.call @__relax_device_write(%table, %flag, %none, %four) : (!ptr, !ptr, !ptr, i64) -> i32
  %is_clear = llvm.icmp "eq" %cleared, %ok : i32
  llvm.cond_br %is_clear, ^raise, ^return(%cleared : i32)
^raise:
  %where = llvm.extractvalue %told[2] : !record
  %site = llvm.extractvalue %told[3] : !record
  %kind = llvm.load %site : !ptr -> !ptr
  %format_at = llvm.getelementptr %site[8] : (!ptr) -> !ptr, i8
  %format = llvm.load %format_at : !ptr -> !ptr
  %a = llvm.extractvalue %told[4, 0] : !record
  %b = llvm.extractvalue %told[4, 1] : !record
  %c = llvm.extractvalue %told[4, 2] : !record
  %d = llvm.extractvalue %told[4, 3] : !record
  %raised = llvm.call @__relax_fail(%kind, %format, %where, %a, %b, %c, %d)
    : (!ptr, !ptr, !ptr, i64, i64, i64, i64) -> i32
  llvm.br ^return(%raised : i32)
^return(%result: i32):
  llvm.return %result : i32
}

// ---- memory ----

// Memory of the device at a place, of 0 bytes too: an address of its own. The driver's status.
llvm.func hidden @__relax_device_take(%table: !ptr, %bytes: i64, %place: !ptr) -> i32 {
  %c1 = llvm.mlir.constant(1 : i64) : i64  %null = llvm.mlir.zero : !ptr
  %allocate_at = llvm.getelementptr %table[9] : (!ptr) -> !ptr, !llvm.ptr
  %allocate = llvm.load %allocate_at : !ptr -> !ptr
  %stream = llvm.call @__relax_device_stream(%table) : (!ptr) -> !ptr
  %some = llvm.intr.umax(%bytes, %c1) : (i64, i64) -> i64
  llvm.store %null, %place : !ptr, !ptr
  %status = llvm.call %allocate(%place, %some, %stream) : !ptr, (!ptr, i64, !ptr) -> i32
  llvm.return %status : i32
}
// The same by its address, null where there is none.
llvm.func hidden @__relax_device_alloc(%table: !ptr, %bytes: i64) -> !ptr {
  %c1 = llvm.mlir.constant(1 : i64) : i64  %ok = llvm.mlir.constant(0 : i32) : i32  %null = llvm.mlir.zero : !ptr
  %place = llvm.alloca %c1 x !ptr : (i64) -> !ptr
  %status = llvm.call @__relax_device_take(%table, %bytes, %place) : (!ptr, i64, !ptr) -> i32
  %given = llvm.load %place : !ptr -> !ptr
  %is_good = llvm.icmp "eq" %status, %ok : i32
  %result = llvm.select %is_good, %given, %null : i1, !ptr
  llvm.return %result : !ptr
}
llvm.func hidden @__relax_device_free(%table: !ptr, %address: !ptr) {
  %null = llvm.mlir.zero : !ptr
  %is_none = llvm.icmp "eq" %address, %null : !ptr
  llvm.cond_br %is_none, ^end, ^give
^give:
  %free_at = llvm.getelementptr %table[10] : (!ptr) -> !ptr, !llvm.ptr
  %free = llvm.load %free_at : !ptr -> !ptr
  %stream = llvm.call @__relax_device_stream(%table) : (!ptr) -> !ptr
  %status = llvm.call %free(%address, %stream) : !ptr, (!ptr, !ptr) -> i32
  llvm.br ^end
^end:
  llvm.return
}

llvm.mlir.global internal constant @__relax_copying("copying memory\00")
llvm.mlir.global internal constant @__relax_read_name("cuMemcpyDtoHAsync\00")
llvm.mlir.global internal constant @__relax_write_name("cuMemcpyHtoDAsync\00")
llvm.mlir.global internal constant @__relax_copy_name("cuMemcpyDtoDAsync\00")
llvm.mlir.global internal constant @__relax_stream_name("cuStreamSynchronize\00")
// Copies by the driver's function at a place of the table.
llvm.func internal @__relax_device_move(%table: !ptr, %which: i64, %name: !ptr, %to: !ptr, %from: !ptr,
    %bytes: i64) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32  %c0 = llvm.mlir.constant(0 : i64) : i64
  %is_empty = llvm.icmp "eq" %bytes, %c0 : i64
  llvm.cond_br %is_empty, ^return(%ok : i32), ^copy
^copy:
  %function_at = llvm.getelementptr %table[%which] : (!ptr, i64) -> !ptr, !llvm.ptr
  %function = llvm.load %function_at : !ptr -> !ptr
  %stream = llvm.call @__relax_device_stream(%table) : (!ptr) -> !ptr
  %status = llvm.call %function(%to, %from, %bytes, %stream) : !ptr, (!ptr, !ptr, i64, !ptr) -> i32
  %where = llvm.mlir.addressof @__relax_copying : !ptr
  %copied = llvm.call @__relax_device_status(%table, %where, %name, %status) : (!ptr, !ptr, !ptr, i32) -> i32
  llvm.br ^return(%copied : i32)
^return(%result: i32):
  llvm.return %result : i32
}
// Waits for the caller's stream, unless something has failed.
llvm.func hidden @__relax_device_wait(%table: !ptr, %status: i32) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32
  %is_good = llvm.icmp "eq" %status, %ok : i32
  llvm.cond_br %is_good weights([2000, 1]), ^wait, ^return(%status : i32)
^wait:
  %function_at = llvm.getelementptr %table[14] : (!ptr) -> !ptr, !llvm.ptr
  %function = llvm.load %function_at : !ptr -> !ptr
  %stream = llvm.call @__relax_device_stream(%table) : (!ptr) -> !ptr
  %waited = llvm.call %function(%stream) : !ptr, (!ptr) -> i32
  %where = llvm.mlir.addressof @__relax_the_device : !ptr
  %name = llvm.mlir.addressof @__relax_stream_name : !ptr
  %done = llvm.call @__relax_device_status(%table, %where, %name, %waited) : (!ptr, !ptr, !ptr, i32) -> i32
  llvm.br ^return(%done : i32)
^return(%result: i32):
  llvm.return %result : i32
}
// Copies to the host and waits; what kernels have asserted until then is raised.
llvm.func hidden @__relax_device_read(%table: !ptr, %host: !ptr, %device: !ptr, %bytes: i64) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32  %which = llvm.mlir.constant(12 : i64) : i64
  %name = llvm.mlir.addressof @__relax_read_name : !ptr
  %waited = llvm.call @__relax_device_wait(%table, %ok) : (!ptr, i32) -> i32
  %is_good = llvm.icmp "eq" %waited, %ok : i32
  llvm.cond_br %is_good weights([2000, 1]), ^check, ^return(%waited : i32)
^check:
  // A kernel that has found something wrong has not written what is to be read.
  %checked = llvm.call @__relax_device_check(%table) : (!ptr) -> i32
  %is_right = llvm.icmp "eq" %checked, %ok : i32
  llvm.cond_br %is_right weights([2000, 1]), ^read, ^return(%checked : i32)
^read:
  %copied = llvm.call @__relax_device_move(%table, %which, %name, %host, %device, %bytes)
    : (!ptr, i64, !ptr, !ptr, !ptr, i64) -> i32
  %there = llvm.call @__relax_device_wait(%table, %copied) : (!ptr, i32) -> i32
  llvm.br ^return(%there : i32)
^return(%result: i32):
  llvm.return %result : i32
}
// Copies to the device. It waits, as the host's memory may be gone after the call.
llvm.func hidden @__relax_device_write(%table: !ptr, %device: !ptr, %host: !ptr, %bytes: i64) -> i32 {
  %which = llvm.mlir.constant(11 : i64) : i64
  %name = llvm.mlir.addressof @__relax_write_name : !ptr
  %copied = llvm.call @__relax_device_move(%table, %which, %name, %device, %host, %bytes)
    : (!ptr, i64, !ptr, !ptr, !ptr, i64) -> i32
  %waited = llvm.call @__relax_device_wait(%table, %copied) : (!ptr, i32) -> i32
  llvm.return %waited : i32
}
llvm.func hidden @__relax_device_copy(%table: !ptr, %to: !ptr, %from: !ptr, %bytes: i64) -> i32 {
  %which = llvm.mlir.constant(13 : i64) : i64
  %name = llvm.mlir.addressof @__relax_copy_name : !ptr
  %copied = llvm.call @__relax_device_move(%table, %which, %name, %to, %from, %bytes)
    : (!ptr, i64, !ptr, !ptr, !ptr, i64) -> i32
  llvm.return %copied : i32
}
