// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a CUDA graph of a function is recorded. Beside device.mlir, which says what `%table` is, and device_graphs.mlir,
// which calls this and says what the words of graphs, functions (`%state`) and calls (`%scope`) are.

!ptr = !llvm.ptr

llvm.func @TVMFFIEnvSetStream(i32, i32, !ptr, !ptr) -> i32
llvm.func @__relax_device_status(!ptr, !ptr, !ptr, i32) -> i32

llvm.mlir.global internal constant @__relax_graph_allocate_name("cuMemAlloc\00")
llvm.mlir.global internal constant @__relax_graph_create_name("cuStreamCreate\00")
llvm.mlir.global internal constant @__relax_graph_event_name("cuEventCreate\00")
llvm.mlir.global internal constant @__relax_graph_begin_name("cuStreamBeginCapture\00")
llvm.mlir.global internal constant @__relax_graph_end_name("cuStreamEndCapture\00")
llvm.mlir.global internal constant @__relax_graph_instantiate_name("cuGraphInstantiateWithFlags\00")

// A status of the driver's: raised, unless it was an estimate that asked for the graph, where kernels do without one.
llvm.func hidden @__relax_device_graph_status(%table: !ptr, %label: !ptr, %name: !ptr, %status: i32,
    %state: !ptr) -> i32 {
  %null = llvm.mlir.zero : !ptr
  %estimated_at = llvm.getelementptr %state[7] : (!ptr) -> !ptr, !llvm.ptr
  %estimated = llvm.load %estimated_at : !ptr -> !ptr
  %is_asked_for = llvm.icmp "eq" %estimated, %null : !ptr
  llvm.cond_br %is_asked_for, ^check, ^return(%status : i32)
^check:
  %checked = llvm.call @__relax_device_status(%table, %label, %name, %status) : (!ptr, !ptr, !ptr, i32) -> i32
  llvm.br ^return(%checked : i32)
^return(%result: i32):
  llvm.return %result : i32
}

// How this thread's calls go with what anybody records meanwhile, at a place, from where the one before comes.
llvm.func hidden @__relax_device_graph_exchange(%table: !ptr, %mode: !ptr) {
  %graphs_at = llvm.getelementptr %table[23] : (!ptr) -> !ptr, !llvm.ptr
  %graphs = llvm.load %graphs_at : !ptr -> !ptr
  %exchange_at = llvm.getelementptr %graphs[15] : (!ptr) -> !ptr, !llvm.ptr
  %exchange = llvm.load %exchange_at : !ptr -> !ptr
  %status = llvm.call %exchange(%mode) : !ptr, (!ptr) -> i32
  llvm.return
}

// Where the tensor behind one of so many bytes lies in a graph's memory.
llvm.func hidden @__relax_device_graph_behind(%place: i64, %bytes: i64) -> i64 {
  %most = llvm.mlir.constant(255 : i64) : i64  %mask = llvm.mlir.constant(-256 : i64) : i64
  %end = llvm.add %place, %bytes : i64
  %over = llvm.add %end, %most : i64
  %next = llvm.and %over, %mask : i64
  llvm.return %next : i64
}

// Has the calls that follow recorded: on a stream of its own, which is the thread's meanwhile, as the usual stream cannot
// be recorded on. What fails is given back by device_graph_leave.
llvm.func hidden @__relax_device_graph_record(%table: !ptr, %label: !ptr, %count: i64, %described: !ptr, %passed: !ptr,
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
  %allocate_name = llvm.mlir.addressof @__relax_graph_allocate_name : !ptr
  llvm.br ^check(%allocate_name, %allocated, %c0 : !ptr, i32, i64)
// Goes on with the step of that number where the one before went well.
^check(%name: !ptr, %status: i32, %step: i64):
  %checked = llvm.call @__relax_device_graph_status(%table, %label, %name, %status, %state)
    : (!ptr, !ptr, !ptr, i32, !ptr) -> i32
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
  %event_name = llvm.mlir.addressof @__relax_graph_event_name : !ptr
  llvm.br ^check(%event_name, %event_made, %c1 : !ptr, i32, i64)
^create:
  %c2 = llvm.mlir.constant(2 : i64) : i64
  %stream_at = llvm.getelementptr %scope[24] : (!ptr) -> !ptr, i8
  %create = llvm.load %graphs : !ptr -> !ptr
  %created = llvm.call %create(%stream_at, %one) : !ptr, (!ptr, i32) -> i32  // CU_STREAM_NON_BLOCKING
  %create_name = llvm.mlir.addressof @__relax_graph_create_name : !ptr
  llvm.br ^check(%create_name, %created, %c2 : !ptr, i32, i64)
^begin:
  %c3 = llvm.mlir.constant(3 : i64) : i64
  %own_stream_at = llvm.getelementptr %scope[24] : (!ptr) -> !ptr, i8
  %own_stream = llvm.load %own_stream_at : !ptr -> !ptr
  %begin_at = llvm.getelementptr %graphs[2] : (!ptr) -> !ptr, !llvm.ptr
  %begin = llvm.load %begin_at : !ptr -> !ptr
  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: other threads may do what they like.
  %has_begun = llvm.call %begin(%own_stream, %one) : !ptr, (!ptr, i32) -> i32
  %begin_name = llvm.mlir.addressof @__relax_graph_begin_name : !ptr
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
llvm.func hidden @__relax_device_graph_recorded(%table: !ptr, %scope: !ptr, %graph_at: !ptr) -> i32 {
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
llvm.func hidden @__relax_device_graph_drop(%table: !ptr, %graph: !ptr) {
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
llvm.func hidden @__relax_device_graph_make(%table: !ptr, %label: !ptr, %scope: !ptr) -> i32
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
  %end_name = llvm.mlir.addressof @__relax_graph_end_name : !ptr
  %checked = llvm.call @__relax_device_graph_status(%table, %label, %end_name, %ended, %state)
    : (!ptr, !ptr, !ptr, i32, !ptr) -> i32
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
  %name = llvm.mlir.addressof @__relax_graph_instantiate_name : !ptr
  %status = llvm.call @__relax_device_graph_status(%table, %label, %name, %made, %state)
    : (!ptr, !ptr, !ptr, i32, !ptr) -> i32
  llvm.br ^drop(%status : i32)
^drop(%result: i32):
  llvm.call @__relax_device_graph_drop(%table, %graph) : (!ptr, !ptr) -> ()
  llvm.return %result : i32
}
