// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUDA graphs: what a function of known sizes launches is recorded at its first call and launched as one after that.
// Beside device.mlir, which says what `%table` is, for programs that need it (support.py).
//
// A graph reads and writes at the addresses that it was recorded with. Callers' tensors come and go, and so do results,
// hence a graph has memory of its own: arguments are copied there before a launch and what is written is copied back,
// on the caller's stream. (A graph for each set of addresses would copy nothing, but allocators promise no address
// twice: how many graphs there are, and which call stops to record one, would be theirs to decide.)
//
// Place 23 of the table is null where nobody asks for graphs, else (runtime/cuda/graphs.py):
//   0 cuStreamCreate    1 cuStreamDestroy   2 cuStreamBeginCapture   3 cuStreamEndCapture  4 cuGraphInstantiateWithFlags
//   5 cuGraphDestroy    6 cuGraphLaunch     7 cuStreamIsCapturing    8 cuStreamWaitEvent   9 cuMemAlloc
//  10 whether something is recorded: one function of a program at a time     11 the stream that it is recorded on
//  12 where kernels that are recorded write what they assert                 13 whether one asked for that
//  16 and on, 8 words for each function: 0 taken   1 the graph   2 an event behind its last launch
//                                        3 its memory: the record of what kernels assert, then tensors
//                                        4 whether its kernels assert something
// One thread at a time has a function's graph, while it launches it; others meanwhile launch kernels one by one.

!ptr = !llvm.ptr
// Of a call: 0 how it runs (0 kernel by kernel, 1 recording, 2 by the graph)   1 the table   2 the function's words
//            3 the stream that is recorded on   4 the caller's meanwhile   5 whether recording has begun
!scope = !llvm.array<6 x ptr>

llvm.func @TVMFFIEnvSetStream(i32, i32, !ptr, !ptr) -> i32
llvm.func @pthread_self() -> i64
llvm.func @__relax_device_copy(!ptr, !ptr, !ptr, i64) -> i32
llvm.func @__relax_device_record(!ptr) -> !ptr
llvm.func @__relax_device_status(!ptr, !ptr, !ptr, i32) -> i32
llvm.func @__relax_device_stream(!ptr) -> !ptr

llvm.mlir.global internal constant @__relax_allocate_name("cuMemAlloc\00")
llvm.mlir.global internal constant @__relax_create_name("cuStreamCreate\00")
llvm.mlir.global internal constant @__relax_event_name("cuEventCreate\00")
llvm.mlir.global internal constant @__relax_begin_name("cuStreamBeginCapture\00")
llvm.mlir.global internal constant @__relax_end_name("cuStreamEndCapture\00")
llvm.mlir.global internal constant @__relax_instantiate_name("cuGraphInstantiateWithFlags\00")
llvm.mlir.global internal constant @__relax_wait_name("cuStreamWaitEvent\00")
llvm.mlir.global internal constant @__relax_launch_name("cuGraphLaunch\00")
llvm.mlir.global internal constant @__relax_record_name("cuEventRecord\00")

// Begins a call of the function at a place: of `count` tensors at the addresses `given`, `described` by bytes and role each
// (1 read, 2 written, 3 both). Leaves in `passed` the addresses that kernels are to have, where they are to be launched.
llvm.func hidden @__relax_device_graph_begin(%table: !ptr, %function: i64, %label: !ptr, %times: !ptr, %count: i64,
    %given: !ptr, %described: !ptr, %passed: !ptr, %scope: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32  %one = llvm.mlir.constant(1 : i32) : i32
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %c2 = llvm.mlir.constant(2 : i64) : i64  %c8 = llvm.mlir.constant(8 : i64) : i64
  %null = llvm.mlir.zero : !ptr
  %asked_at = llvm.alloca %c1 x i32 : (i64) -> !ptr
  %bytes = llvm.mul %count, %c8 : i64
  "llvm.intr.memcpy"(%passed, %given, %bytes) <{isVolatile = false}> : (!ptr, !ptr, i64) -> ()
  %graphs_at = llvm.getelementptr %table[23] : (!ptr) -> !ptr, !llvm.ptr
  %graphs = llvm.load %graphs_at : !ptr -> !ptr
  %is_off = llvm.icmp "eq" %graphs, %null : !ptr
  llvm.cond_br %is_off, ^return(%ok : i32), ^profile
// Whoever asks for times gets them kernel by kernel.
^profile:
  %has_times = llvm.icmp "ne" %times, %null : !ptr
  llvm.cond_br %has_times, ^timed, ^take
^timed:
  %timed = llvm.load %times atomic monotonic {alignment = 8 : i64} : !ptr -> i64
  %thread = llvm.call @pthread_self() : () -> i64
  %is_timed = llvm.icmp "eq" %timed, %thread : i64
  llvm.cond_br %is_timed, ^return(%ok : i32), ^take
^take:
  %states = llvm.getelementptr %graphs[16] : (!ptr) -> !ptr, !llvm.ptr
  %state = llvm.getelementptr %states[%function] : (!ptr, i64) -> !ptr, !llvm.array<8 x ptr>
  %swapped = llvm.cmpxchg %state, %c0, %c1 acq_rel monotonic {alignment = 8 : i64} : !ptr, i64
  %is_mine = llvm.extractvalue %swapped[1] : !llvm.struct<(i64, i1)>
  llvm.cond_br %is_mine, ^ask, ^return(%ok : i32)
// A caller who records a graph of his own gets the kernels in it: graphs that allocate cannot be part of another.
^ask:
  %stream = llvm.call @__relax_device_stream(%table) : (!ptr) -> !ptr
  %ask_at = llvm.getelementptr %graphs[7] : (!ptr) -> !ptr, !llvm.ptr
  %ask = llvm.load %ask_at : !ptr -> !ptr
  llvm.store %one, %asked_at : i32, !ptr
  %told = llvm.call %ask(%stream, %asked_at) : !ptr, (!ptr, !ptr) -> i32
  %capturing = llvm.load %asked_at : !ptr -> i32
  %unclear = llvm.or %told, %capturing : i32
  %is_free = llvm.icmp "eq" %unclear, %ok : i32
  %exec_at = llvm.getelementptr %state[8] : (!ptr) -> !ptr, i8
  %exec = llvm.load %exec_at : !ptr -> !ptr
  %is_recorded = llvm.icmp "ne" %exec, %null : !ptr
  llvm.cond_br %is_free, ^look, ^give
^look:
  llvm.cond_br %is_recorded, ^by_graph, ^take_recording
^by_graph:
  llvm.call @__relax_device_graph_note(%scope, %c2, %table, %state) : (!ptr, i64, !ptr, !ptr) -> ()
  llvm.br ^return(%ok : i32)
^take_recording:
  %recording_at = llvm.getelementptr %graphs[10] : (!ptr) -> !ptr, !llvm.ptr
  %swapped_too = llvm.cmpxchg %recording_at, %c0, %c1 acq_rel monotonic {alignment = 8 : i64} : !ptr, i64
  %is_mine_too = llvm.extractvalue %swapped_too[1] : !llvm.struct<(i64, i1)>
  llvm.cond_br %is_mine_too, ^record, ^give
^give:
  llvm.store %c0, %state atomic release {alignment = 8 : i64} : i64, !ptr
  llvm.br ^return(%ok : i32)
^record:
  llvm.call @__relax_device_graph_note(%scope, %c1, %table, %state) : (!ptr, i64, !ptr, !ptr) -> ()
  %status = llvm.call @__relax_device_graph_record(%table, %label, %count, %described, %passed, %scope)
    : (!ptr, !ptr, i64, !ptr, !ptr, !ptr) -> i32
  llvm.br ^return(%status : i32)
^return(%result: i32):
  llvm.return %result : i32
}
llvm.func internal @__relax_device_graph_note(%scope: !ptr, %mode: i64, %table: !ptr, %state: !ptr) {
  %table_at = llvm.getelementptr %scope[8] : (!ptr) -> !ptr, i8
  %state_at = llvm.getelementptr %scope[16] : (!ptr) -> !ptr, i8
  %null = llvm.mlir.zero : !ptr
  %stream_at = llvm.getelementptr %scope[24] : (!ptr) -> !ptr, i8
  %begun_at = llvm.getelementptr %scope[40] : (!ptr) -> !ptr, i8
  llvm.store %mode, %scope : i64, !ptr
  llvm.store %table, %table_at : !ptr, !ptr
  llvm.store %state, %state_at : !ptr, !ptr
  llvm.store %null, %stream_at : !ptr, !ptr
  llvm.store %null, %begun_at : !ptr, !ptr
  llvm.return
}

// Where the tensor behind one of so many bytes lies in a graph's memory.
llvm.func internal @__relax_device_graph_behind(%place: i64, %bytes: i64) -> i64 {
  %most = llvm.mlir.constant(255 : i64) : i64  %mask = llvm.mlir.constant(-256 : i64) : i64
  %end = llvm.add %place, %bytes : i64
  %over = llvm.add %end, %most : i64
  %next = llvm.and %over, %mask : i64
  llvm.return %next : i64
}

// Has the calls that follow recorded: on a stream of its own, which is the thread's meanwhile, as the usual stream cannot
// be recorded on. What fails is given back by device_graph_leave.
llvm.func internal @__relax_device_graph_record(%table: !ptr, %label: !ptr, %count: i64, %described: !ptr, %passed: !ptr,
    %scope: !ptr) -> i32 attributes {passthrough = ["cold", "noinline"]} {
  %ok = llvm.mlir.constant(0 : i32) : i32  %one = llvm.mlir.constant(1 : i32) : i32
  %untimed = llvm.mlir.constant(2 : i32) : i32  %cuda = llvm.mlir.constant(2 : i32) : i32
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %first = llvm.mlir.constant(256 : i64) : i64  %null = llvm.mlir.zero : !ptr
  %state_at = llvm.getelementptr %scope[16] : (!ptr) -> !ptr, i8
  %state = llvm.load %state_at : !ptr -> !ptr
  %graphs_at = llvm.getelementptr %table[23] : (!ptr) -> !ptr, !llvm.ptr
  %graphs = llvm.load %graphs_at : !ptr -> !ptr
  %memory_at = llvm.getelementptr %state[24] : (!ptr) -> !ptr, i8
  %memory = llvm.load %memory_at : !ptr -> !ptr
  %has_memory = llvm.icmp "ne" %memory, %null : !ptr
  llvm.cond_br %has_memory, ^event, ^count(%c0, %first : i64, i64)
^count(%i: i64, %total: i64):
  %more = llvm.icmp "slt" %i, %count : i64
  llvm.cond_br %more, ^add, ^allocate
^add:
  %item = llvm.getelementptr %described[%i, 0] : (!ptr, i64) -> !ptr, !llvm.array<2 x i64>
  %size = llvm.load %item : !ptr -> i64
  %next_total = llvm.call @__relax_device_graph_behind(%total, %size) : (i64, i64) -> i64
  %next = llvm.add %i, %c1 : i64
  llvm.br ^count(%next, %next_total : i64, i64)
^allocate:
  %allocate_at = llvm.getelementptr %graphs[9] : (!ptr) -> !ptr, !llvm.ptr
  %allocate = llvm.load %allocate_at : !ptr -> !ptr
  %allocated = llvm.call %allocate(%memory_at, %total) : !ptr, (!ptr, i64) -> i32
  %allocate_name = llvm.mlir.addressof @__relax_allocate_name : !ptr
  llvm.br ^check(%allocate_name, %allocated, %c0 : !ptr, i32, i64)
// Goes on with the step of that number where the one before went well.
^check(%name: !ptr, %status: i32, %step: i64):
  %checked = llvm.call @__relax_device_status(%table, %label, %name, %status) : (!ptr, !ptr, !ptr, i32) -> i32
  %is_good = llvm.icmp "eq" %checked, %ok : i32
  llvm.cond_br %is_good, ^go, ^return(%checked : i32)
^go:
  llvm.switch %step : i64, ^begun [0: ^event, 1: ^create, 2: ^begin]
^event:
  %event_at = llvm.getelementptr %state[16] : (!ptr) -> !ptr, i8
  %event = llvm.load %event_at : !ptr -> !ptr
  %has_event = llvm.icmp "ne" %event, %null : !ptr
  llvm.cond_br %has_event, ^create, ^make_event
^make_event:
  %make_event_at = llvm.getelementptr %table[18] : (!ptr) -> !ptr, !llvm.ptr
  %make_event = llvm.load %make_event_at : !ptr -> !ptr
  %event_made = llvm.call %make_event(%event_at, %untimed) : !ptr, (!ptr, i32) -> i32
  %event_name = llvm.mlir.addressof @__relax_event_name : !ptr
  llvm.br ^check(%event_name, %event_made, %c1 : !ptr, i32, i64)
^create:
  %c2 = llvm.mlir.constant(2 : i64) : i64
  %stream_at = llvm.getelementptr %scope[24] : (!ptr) -> !ptr, i8
  %create = llvm.load %graphs : !ptr -> !ptr
  %created = llvm.call %create(%stream_at, %one) : !ptr, (!ptr, i32) -> i32  // CU_STREAM_NON_BLOCKING
  %create_name = llvm.mlir.addressof @__relax_create_name : !ptr
  llvm.br ^check(%create_name, %created, %c2 : !ptr, i32, i64)
^begin:
  %c3 = llvm.mlir.constant(3 : i64) : i64
  %own_stream_at = llvm.getelementptr %scope[24] : (!ptr) -> !ptr, i8
  %own_stream = llvm.load %own_stream_at : !ptr -> !ptr
  %begin_at = llvm.getelementptr %graphs[2] : (!ptr) -> !ptr, !llvm.ptr
  %begin = llvm.load %begin_at : !ptr -> !ptr
  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: other threads may do what they like.
  %has_begun = llvm.call %begin(%own_stream, %one) : !ptr, (!ptr, i32) -> i32
  %begin_name = llvm.mlir.addressof @__relax_begin_name : !ptr
  llvm.br ^check(%begin_name, %has_begun, %c3 : !ptr, i32, i64)
^begun:
  %stream_place = llvm.getelementptr %scope[24] : (!ptr) -> !ptr, i8
  %stream = llvm.load %stream_place : !ptr -> !ptr
  %callers_at = llvm.getelementptr %scope[32] : (!ptr) -> !ptr, i8
  %begun_at = llvm.getelementptr %scope[40] : (!ptr) -> !ptr, i8
  llvm.store %c1, %begun_at : i64, !ptr
  %number_at = llvm.getelementptr %table[1] : (!ptr) -> !ptr, !llvm.ptr
  %number = llvm.load %number_at : !ptr -> i32
  %set = llvm.call @TVMFFIEnvSetStream(%cuda, %number, %stream, %callers_at) : (i32, i32, !ptr, !ptr) -> i32
  %recorded_at = llvm.getelementptr %graphs[11] : (!ptr) -> !ptr, !llvm.ptr
  %record_at = llvm.getelementptr %graphs[12] : (!ptr) -> !ptr, !llvm.ptr
  %asked_at = llvm.getelementptr %graphs[13] : (!ptr) -> !ptr, !llvm.ptr
  %own = llvm.load %memory_at : !ptr -> !ptr
  llvm.store %own, %record_at : !ptr, !ptr
  llvm.store %c0, %asked_at : i64, !ptr
  llvm.store %stream, %recorded_at : !ptr, !ptr
  llvm.br ^place(%c0, %first : i64, i64)
^place(%j: i64, %offset: i64):
  %any_more = llvm.icmp "slt" %j, %count : i64
  llvm.cond_br %any_more, ^set, ^return(%ok : i32)
^set:
  %address = llvm.getelementptr %own[%offset] : (!ptr, i64) -> !ptr, i8
  %passed_at = llvm.getelementptr %passed[%j] : (!ptr, i64) -> !ptr, !llvm.ptr
  llvm.store %address, %passed_at : !ptr, !ptr
  %item_too = llvm.getelementptr %described[%j, 0] : (!ptr, i64) -> !ptr, !llvm.array<2 x i64>
  %size_too = llvm.load %item_too : !ptr -> i64
  %next_offset = llvm.call @__relax_device_graph_behind(%offset, %size_too) : (i64, i64) -> i64
  %following = llvm.add %j, %c1 : i64
  llvm.br ^place(%following, %next_offset : i64, i64)
^return(%result: i32):
  llvm.return %result : i32
}

// The thread's stream is the caller's again, and what was recorded comes as a graph, where the driver has one; its status.
llvm.func internal @__relax_device_graph_recorded(%table: !ptr, %scope: !ptr, %graph_at: !ptr) -> i32 {
  %cuda = llvm.mlir.constant(2 : i32) : i32  %c0 = llvm.mlir.constant(0 : i64) : i64  %null = llvm.mlir.zero : !ptr
  %graphs_at = llvm.getelementptr %table[23] : (!ptr) -> !ptr, !llvm.ptr
  %graphs = llvm.load %graphs_at : !ptr -> !ptr
  %recorded_at = llvm.getelementptr %graphs[11] : (!ptr) -> !ptr, !llvm.ptr
  llvm.store %null, %recorded_at : !ptr, !ptr
  %number_at = llvm.getelementptr %table[1] : (!ptr) -> !ptr, !llvm.ptr
  %number = llvm.load %number_at : !ptr -> i32
  %callers_at = llvm.getelementptr %scope[32] : (!ptr) -> !ptr, i8
  %callers = llvm.load %callers_at : !ptr -> !ptr
  %set = llvm.call @TVMFFIEnvSetStream(%cuda, %number, %callers, %null) : (i32, i32, !ptr, !ptr) -> i32
  %begun_at = llvm.getelementptr %scope[40] : (!ptr) -> !ptr, i8
  llvm.store %c0, %begun_at : i64, !ptr
  %stream_at = llvm.getelementptr %scope[24] : (!ptr) -> !ptr, i8
  %stream = llvm.load %stream_at : !ptr -> !ptr
  %end_at = llvm.getelementptr %graphs[3] : (!ptr) -> !ptr, !llvm.ptr
  %end = llvm.load %end_at : !ptr -> !ptr
  llvm.store %null, %graph_at : !ptr, !ptr
  %status = llvm.call %end(%stream, %graph_at) : !ptr, (!ptr, !ptr) -> i32
  llvm.return %status : i32
}
llvm.func internal @__relax_device_graph_drop(%table: !ptr, %graph: !ptr) {
  %null = llvm.mlir.zero : !ptr
  %is_none = llvm.icmp "eq" %graph, %null : !ptr
  llvm.cond_br %is_none, ^end, ^drop
^drop:
  %graphs_at = llvm.getelementptr %table[23] : (!ptr) -> !ptr, !llvm.ptr
  %graphs = llvm.load %graphs_at : !ptr -> !ptr
  %destroy_at = llvm.getelementptr %graphs[5] : (!ptr) -> !ptr, !llvm.ptr
  %destroy = llvm.load %destroy_at : !ptr -> !ptr
  %status = llvm.call %destroy(%graph) : !ptr, (!ptr) -> i32
  llvm.br ^end
^end:
  llvm.return
}
// Makes a graph of what was recorded.
llvm.func internal @__relax_device_graph_make(%table: !ptr, %label: !ptr, %scope: !ptr) -> i32
    attributes {passthrough = ["cold", "noinline"]} {
  %ok = llvm.mlir.constant(0 : i32) : i32  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %graph_at = llvm.alloca %c1 x !ptr : (i64) -> !ptr
  %state_at = llvm.getelementptr %scope[16] : (!ptr) -> !ptr, i8
  %state = llvm.load %state_at : !ptr -> !ptr
  %graphs_at = llvm.getelementptr %table[23] : (!ptr) -> !ptr, !llvm.ptr
  %graphs = llvm.load %graphs_at : !ptr -> !ptr
  %ended = llvm.call @__relax_device_graph_recorded(%table, %scope, %graph_at) : (!ptr, !ptr, !ptr) -> i32
  %graph = llvm.load %graph_at : !ptr -> !ptr
  %end_name = llvm.mlir.addressof @__relax_end_name : !ptr
  %checked = llvm.call @__relax_device_status(%table, %label, %end_name, %ended) : (!ptr, !ptr, !ptr, i32) -> i32
  %has_graph = llvm.icmp "eq" %checked, %ok : i32
  llvm.cond_br %has_graph, ^make, ^drop(%checked : i32)
^make:
  %exec_at = llvm.getelementptr %state[8] : (!ptr) -> !ptr, i8
  %asserts_at = llvm.getelementptr %state[32] : (!ptr) -> !ptr, i8
  %asked_at = llvm.getelementptr %graphs[13] : (!ptr) -> !ptr, !llvm.ptr
  %asserts = llvm.load %asked_at : !ptr -> i64
  llvm.store %asserts, %asserts_at : i64, !ptr
  %instantiate_at = llvm.getelementptr %graphs[4] : (!ptr) -> !ptr, !llvm.ptr
  %instantiate = llvm.load %instantiate_at : !ptr -> !ptr
  %made = llvm.call %instantiate(%exec_at, %graph, %c0) : !ptr, (!ptr, !ptr, i64) -> i32
  %name = llvm.mlir.addressof @__relax_instantiate_name : !ptr
  %status = llvm.call @__relax_device_status(%table, %label, %name, %made) : (!ptr, !ptr, !ptr, i32) -> i32
  llvm.br ^drop(%status : i32)
^drop(%result: i32):
  llvm.call @__relax_device_graph_drop(%table, %graph) : (!ptr, !ptr) -> ()
  llvm.return %result : i32
}

// Copies tensors of one role between the graph's memory and where the caller has them.
llvm.func internal @__relax_device_graph_copy(%table: !ptr, %count: i64, %given: !ptr, %described: !ptr, %memory: !ptr,
    %role: i64) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %first = llvm.mlir.constant(256 : i64) : i64
  %is_read = llvm.icmp "eq" %role, %c1 : i64
  llvm.br ^head(%c0, %first : i64, i64)
^head(%i: i64, %offset: i64):
  %more = llvm.icmp "slt" %i, %count : i64
  llvm.cond_br %more, ^look, ^return(%ok : i32)
^look:
  %item = llvm.getelementptr %described[%i, 0] : (!ptr, i64) -> !ptr, !llvm.array<2 x i64>
  %bytes = llvm.load %item : !ptr -> i64
  %role_at = llvm.getelementptr %item[8] : (!ptr) -> !ptr, i8
  %own_role = llvm.load %role_at : !ptr -> i64
  %both = llvm.and %own_role, %role : i64
  %next = llvm.add %i, %c1 : i64
  %next_offset = llvm.call @__relax_device_graph_behind(%offset, %bytes) : (i64, i64) -> i64
  %is_other = llvm.icmp "eq" %both, %c0 : i64
  llvm.cond_br %is_other, ^head(%next, %next_offset : i64, i64), ^copy
^copy:
  %own = llvm.getelementptr %memory[%offset] : (!ptr, i64) -> !ptr, i8
  %theirs_at = llvm.getelementptr %given[%i] : (!ptr, i64) -> !ptr, !llvm.ptr
  %theirs = llvm.load %theirs_at : !ptr -> !ptr
  %to = llvm.select %is_read, %own, %theirs : i1, !ptr
  %from = llvm.select %is_read, %theirs, %own : i1, !ptr
  %copied = llvm.call @__relax_device_copy(%table, %to, %from, %bytes) : (!ptr, !ptr, !ptr, i64) -> i32
  %is_good = llvm.icmp "eq" %copied, %ok : i32
  llvm.cond_br %is_good, ^head(%next, %next_offset : i64, i64), ^return(%copied : i32)
^return(%status: i32):
  llvm.return %status : i32
}

// Behind the calls, or in their place: launches the graph on the caller's stream, behind its last launch on any stream.
llvm.func hidden @__relax_device_graph_end(%table: !ptr, %label: !ptr, %count: i64, %given: !ptr, %described: !ptr,
    %scope: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %c2 = llvm.mlir.constant(2 : i64) : i64  %c3 = llvm.mlir.constant(3 : i64) : i64
  %c16 = llvm.mlir.constant(16 : i64) : i64  %null = llvm.mlir.zero : !ptr
  %mode = llvm.load %scope : !ptr -> i64
  llvm.switch %mode : i64, ^launch [0: ^return(%ok : i32), 1: ^make]
^make:
  %made = llvm.call @__relax_device_graph_make(%table, %label, %scope) : (!ptr, !ptr, !ptr) -> i32
  %is_made = llvm.icmp "eq" %made, %ok : i32
  llvm.cond_br %is_made, ^launch, ^return(%made : i32)
^launch:
  %graphs_at = llvm.getelementptr %table[23] : (!ptr) -> !ptr, !llvm.ptr
  %graphs = llvm.load %graphs_at : !ptr -> !ptr
  %state_at = llvm.getelementptr %scope[16] : (!ptr) -> !ptr, i8
  %state = llvm.load %state_at : !ptr -> !ptr
  %told = llvm.load %state : !ptr -> !llvm.array<5 x ptr>
  %exec = llvm.extractvalue %told[1] : !llvm.array<5 x ptr>
  %event = llvm.extractvalue %told[2] : !llvm.array<5 x ptr>
  %memory = llvm.extractvalue %told[3] : !llvm.array<5 x ptr>
  %asserts = llvm.extractvalue %told[4] : !llvm.array<5 x ptr>
  %has_record = llvm.icmp "ne" %asserts, %null : !ptr
  %stream = llvm.call @__relax_device_stream(%table) : (!ptr) -> !ptr
  %wait_at = llvm.getelementptr %graphs[8] : (!ptr) -> !ptr, !llvm.ptr
  %wait = llvm.load %wait_at : !ptr -> !ptr
  %waited = llvm.call %wait(%stream, %event, %ok) : !ptr, (!ptr, !ptr, i32) -> i32
  %wait_name = llvm.mlir.addressof @__relax_wait_name : !ptr
  llvm.br ^check(%wait_name, %waited, %c0 : !ptr, i32, i64)
// Goes on with the step of that number where the one before went well; without a name its error is set already.
^check(%name: !ptr, %status: i32, %step: i64):
  %checked = llvm.call @__relax_device_status(%table, %label, %name, %status) : (!ptr, !ptr, !ptr, i32) -> i32
  llvm.br ^checked(%checked, %step : i32, i64)
^checked(%outcome: i32, %then: i64):
  %is_good = llvm.icmp "eq" %outcome, %ok : i32
  llvm.cond_br %is_good weights([2000, 1]), ^go, ^return(%outcome : i32)
^go:
  llvm.switch %then : i64, ^return(%ok : i32) [0: ^read, 1: ^tell, 2: ^run, 3: ^write, 4: ^ask, 5: ^mark]
^read:
  %read = llvm.call @__relax_device_graph_copy(%table, %count, %given, %described, %memory, %c1)
    : (!ptr, i64, !ptr, !ptr, !ptr, i64) -> i32
  llvm.br ^checked(%read, %c1 : i32, i64)
// What its kernels assert is this thread's.
^tell:
  llvm.cond_br %has_record, ^tell_record, ^run
^tell_record:
  %record = llvm.call @__relax_device_record(%table) : (!ptr) -> !ptr
  %set = llvm.call @__relax_device_copy(%table, %memory, %record, %c16) : (!ptr, !ptr, !ptr, i64) -> i32
  llvm.br ^checked(%set, %c2 : i32, i64)
^run:
  %run_at = llvm.getelementptr %graphs[6] : (!ptr) -> !ptr, !llvm.ptr
  %run = llvm.load %run_at : !ptr -> !ptr
  %launched = llvm.call %run(%exec, %stream) : !ptr, (!ptr, !ptr) -> i32
  %launch_name = llvm.mlir.addressof @__relax_launch_name : !ptr
  llvm.br ^check(%launch_name, %launched, %c3 : !ptr, i32, i64)
^write:
  %c4 = llvm.mlir.constant(4 : i64) : i64
  %written = llvm.call @__relax_device_graph_copy(%table, %count, %given, %described, %memory, %c2)
    : (!ptr, i64, !ptr, !ptr, !ptr, i64) -> i32
  llvm.br ^checked(%written, %c4 : i32, i64)
^ask:
  llvm.cond_br %has_record, ^ask_record, ^mark
^ask_record:
  %c5 = llvm.mlir.constant(5 : i64) : i64
  %own_record = llvm.call @__relax_device_record(%table) : (!ptr) -> !ptr
  %got = llvm.call @__relax_device_copy(%table, %own_record, %memory, %c16) : (!ptr, !ptr, !ptr, i64) -> i32
  llvm.br ^checked(%got, %c5 : i32, i64)
^mark:
  %c6 = llvm.mlir.constant(6 : i64) : i64
  %mark_at = llvm.getelementptr %table[19] : (!ptr) -> !ptr, !llvm.ptr
  %mark = llvm.load %mark_at : !ptr -> !ptr
  %marked = llvm.call %mark(%event, %stream) : !ptr, (!ptr, !ptr) -> i32
  %mark_name = llvm.mlir.addressof @__relax_record_name : !ptr
  llvm.br ^check(%mark_name, %marked, %c6 : !ptr, i32, i64)
^return(%result: i32):
  llvm.return %result : i32
}

// Ends a call, whatever came of it.
llvm.func hidden @__relax_device_graph_leave(%scope: !ptr) {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64  %null = llvm.mlir.zero : !ptr
  %graph_at = llvm.alloca %c1 x !ptr : (i64) -> !ptr
  %mode = llvm.load %scope : !ptr -> i64
  %table_at = llvm.getelementptr %scope[8] : (!ptr) -> !ptr, i8
  %state_at = llvm.getelementptr %scope[16] : (!ptr) -> !ptr, i8
  %is_plain = llvm.icmp "eq" %mode, %c0 : i64
  llvm.cond_br %is_plain, ^end, ^look
^look:
  %table = llvm.load %table_at : !ptr -> !ptr
  %state = llvm.load %state_at : !ptr -> !ptr
  %is_recording = llvm.icmp "eq" %mode, %c1 : i64
  llvm.cond_br %is_recording, ^recording, ^give
^recording:
  %begun_at = llvm.getelementptr %scope[40] : (!ptr) -> !ptr, i8
  %begun = llvm.load %begun_at : !ptr -> i64
  %is_under_way = llvm.icmp "ne" %begun, %c0 : i64
  llvm.cond_br %is_under_way, ^drop, ^stream
^drop:
  %status = llvm.call @__relax_device_graph_recorded(%table, %scope, %graph_at) : (!ptr, !ptr, !ptr) -> i32
  %graph = llvm.load %graph_at : !ptr -> !ptr
  llvm.call @__relax_device_graph_drop(%table, %graph) : (!ptr, !ptr) -> ()
  llvm.br ^stream
^stream:
  %graphs_at = llvm.getelementptr %table[23] : (!ptr) -> !ptr, !llvm.ptr
  %graphs = llvm.load %graphs_at : !ptr -> !ptr
  %stream_at = llvm.getelementptr %scope[24] : (!ptr) -> !ptr, i8
  %stream = llvm.load %stream_at : !ptr -> !ptr
  %has_stream = llvm.icmp "ne" %stream, %null : !ptr
  llvm.cond_br %has_stream, ^destroy, ^recorded
^destroy:
  %destroy_at = llvm.getelementptr %graphs[1] : (!ptr) -> !ptr, !llvm.ptr
  %destroy = llvm.load %destroy_at : !ptr -> !ptr
  %destroyed = llvm.call %destroy(%stream) : !ptr, (!ptr) -> i32
  llvm.br ^recorded
^recorded:
  %recording_at = llvm.getelementptr %graphs[10] : (!ptr) -> !ptr, !llvm.ptr
  llvm.store %c0, %recording_at atomic release {alignment = 8 : i64} : i64, !ptr
  llvm.br ^give
^give:
  llvm.store %c0, %state atomic release {alignment = 8 : i64} : i64, !ptr
  llvm.br ^end
^end:
  llvm.return
}
