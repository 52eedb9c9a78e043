// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recording of a CUDA graph. cuda_graphs.mlir calls these functions and describes the words of graphs, functions
// (`%state`) and calls (`%scope`); device.mlir describes `%table`.

func.func private @TVMFFIEnvSetStream(i32, i32, !ptr, !ptr) -> i32
func.func private @__relax_device_status(!ptr, !ptr, !ptr, i32) attributes {relax.entry}

llvm.mlir.global internal constant @__relax_graph_allocate_name("cuMemAlloc\00")
llvm.mlir.global internal constant @__relax_graph_create_name("cuStreamCreate\00")
llvm.mlir.global internal constant @__relax_graph_event_name("cuEventCreate\00")
llvm.mlir.global internal constant @__relax_graph_begin_name("cuStreamBeginCapture\00")
llvm.mlir.global internal constant @__relax_graph_end_name("cuStreamEndCapture\00")
llvm.mlir.global internal constant @__relax_graph_instantiate_name("cuGraphInstantiateWithFlags\00")

// Raise a status of the driver, unless an estimate chose the graph: the kernels then run without a graph.
func.func @__relax_cuda_graph_status(%table: !ptr, %label: !ptr, %name: !ptr, %status: i32,
    %state: !ptr) attributes {relax.entry} {
  %null = llvm.mlir.zero : !ptr
  %estimated_at = llvm.getelementptr %state[7] : (!ptr) -> !ptr, !ptr  %estimated = llvm.load %estimated_at : !ptr -> !ptr
  %is_asked_for = llvm.icmp "eq" %estimated, %null : !ptr
  scf.if %is_asked_for {
    func.call @__relax_device_status(%table, %label, %name, %status) : (!ptr, !ptr, !ptr, i32) -> ()
  }
  "tir.return_unless_ok"(%status) : (i32) -> ()
  return
}

// Exchange this thread's capture mode, which says how its calls affect recordings, with the mode at a place.
func.func @__relax_cuda_graph_exchange(%table: !ptr, %mode: !ptr) {
  %graphs_at = llvm.getelementptr %table[23] : (!ptr) -> !ptr, !ptr  %graphs = llvm.load %graphs_at : !ptr -> !ptr
  %exchange_at = llvm.getelementptr %graphs[15] : (!ptr) -> !ptr, !ptr  %exchange = llvm.load %exchange_at : !ptr -> !ptr
  %status = llvm.call %exchange(%mode) : !ptr, (!ptr) -> i32
  return
}

// Return the offset in a graph's memory after a tensor: a multiple of 256 bytes.
func.func @__relax_cuda_graph_behind(%place: i64, %bytes: i64) -> i64 {
  %most = arith.constant 255 : i64  %mask = arith.constant -256 : i64
  %end = arith.addi %place, %bytes : i64  %over = arith.addi %end, %most : i64  %next = arith.andi %over, %mask : i64
  return %next : i64
}

// Start to record the following calls, on a new stream that becomes the thread's stream meanwhile: the default stream
// cannot be recorded. After a failure, cuda_graph_leave releases the resources.
func.func @__relax_cuda_graph_record(%table: !ptr, %label: !ptr, %count: i64, %described: !ptr, %passed: !ptr,
    %scope: !ptr) attributes {llvm.cold, llvm.no_inline, relax.entry} {
  %one = arith.constant 1 : i32  %untimed = arith.constant 2 : i32  %cuda = arith.constant 2 : i32
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %first = arith.constant 256 : i64
  %null = llvm.mlir.zero : !ptr
  %state_at = llvm.getelementptr %scope[16] : (!ptr) -> !ptr, i8  %state = llvm.load %state_at : !ptr -> !ptr
  %graphs_at = llvm.getelementptr %table[23] : (!ptr) -> !ptr, !ptr  %graphs = llvm.load %graphs_at : !ptr -> !ptr
  %memory_at = llvm.getelementptr %state[24] : (!ptr) -> !ptr, i8  %memory = llvm.load %memory_at : !ptr -> !ptr
  %lacks_memory = llvm.icmp "eq" %memory, %null : !ptr
  scf.if %lacks_memory {
    %total = scf.for %i = %c0 to %count step %c1 iter_args(%so_far = %first) -> (i64) : i64 {
      %item = llvm.getelementptr %described[%i, 0] : (!ptr, i64) -> !ptr, !llvm.array<2 x i64>
      %size = llvm.load %item : !ptr -> i64
      %next = func.call @__relax_cuda_graph_behind(%so_far, %size) : (i64, i64) -> i64
      scf.yield %next : i64
    }
    %allocate_at = llvm.getelementptr %graphs[9] : (!ptr) -> !ptr, !ptr  %allocate = llvm.load %allocate_at : !ptr -> !ptr
    %allocated = llvm.call %allocate(%memory_at, %total) : !ptr, (!ptr, i64) -> i32
    %name = llvm.mlir.addressof @__relax_graph_allocate_name : !ptr
    func.call @__relax_cuda_graph_status(%table, %label, %name, %allocated, %state) : (!ptr, !ptr, !ptr, i32, !ptr) -> ()
  }
  %event_at = llvm.getelementptr %state[16] : (!ptr) -> !ptr, i8  %event = llvm.load %event_at : !ptr -> !ptr
  %lacks_event = llvm.icmp "eq" %event, %null : !ptr
  scf.if %lacks_event {
    %make_at = llvm.getelementptr %table[18] : (!ptr) -> !ptr, !ptr  %make = llvm.load %make_at : !ptr -> !ptr
    %made = llvm.call %make(%event_at, %untimed) : !ptr, (!ptr, i32) -> i32
    %name = llvm.mlir.addressof @__relax_graph_event_name : !ptr
    func.call @__relax_cuda_graph_status(%table, %label, %name, %made, %state) : (!ptr, !ptr, !ptr, i32, !ptr) -> ()
  }
  %stream_at = llvm.getelementptr %scope[24] : (!ptr) -> !ptr, i8  %create = llvm.load %graphs : !ptr -> !ptr
  %created = llvm.call %create(%stream_at, %one) : !ptr, (!ptr, i32) -> i32  // CU_STREAM_NON_BLOCKING
  %create_name = llvm.mlir.addressof @__relax_graph_create_name : !ptr
  func.call @__relax_cuda_graph_status(%table, %label, %create_name, %created, %state)
    : (!ptr, !ptr, !ptr, i32, !ptr) -> ()
  %stream = llvm.load %stream_at : !ptr -> !ptr
  %begin_at = llvm.getelementptr %graphs[2] : (!ptr) -> !ptr, !ptr  %begin = llvm.load %begin_at : !ptr -> !ptr
  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: other threads may do what they like.
  %has_begun = llvm.call %begin(%stream, %one) : !ptr, (!ptr, i32) -> i32
  %begin_name = llvm.mlir.addressof @__relax_graph_begin_name : !ptr
  func.call @__relax_cuda_graph_status(%table, %label, %begin_name, %has_begun, %state)
    : (!ptr, !ptr, !ptr, i32, !ptr) -> ()
  %callers_at = llvm.getelementptr %scope[32] : (!ptr) -> !ptr, i8
  %begun_at = llvm.getelementptr %scope[40] : (!ptr) -> !ptr, i8
  llvm.store %c1, %begun_at : i64, !ptr
  %number_at = llvm.getelementptr %table[1] : (!ptr) -> !ptr, !ptr  %number = llvm.load %number_at : !ptr -> i32
  %set = func.call @TVMFFIEnvSetStream(%cuda, %number, %stream, %callers_at) : (i32, i32, !ptr, !ptr) -> i32
  %recorded_at = llvm.getelementptr %graphs[11] : (!ptr) -> !ptr, !ptr
  %record_at = llvm.getelementptr %graphs[12] : (!ptr) -> !ptr, !ptr
  %asked_at = llvm.getelementptr %graphs[13] : (!ptr) -> !ptr, !ptr
  %own = llvm.load %memory_at : !ptr -> !ptr
  llvm.store %own, %record_at : !ptr, !ptr
  llvm.store %c0, %asked_at : i64, !ptr
  llvm.store %stream, %recorded_at : !ptr, !ptr
  %end = scf.for %i = %c0 to %count step %c1 iter_args(%offset = %first) -> (i64) : i64 {
    %address = llvm.getelementptr %own[%offset] : (!ptr, i64) -> !ptr, i8
    %passed_at = llvm.getelementptr %passed[%i] : (!ptr, i64) -> !ptr, !ptr
    llvm.store %address, %passed_at : !ptr, !ptr
    %item = llvm.getelementptr %described[%i, 0] : (!ptr, i64) -> !ptr, !llvm.array<2 x i64>
    %size = llvm.load %item : !ptr -> i64
    %next = func.call @__relax_cuda_graph_behind(%offset, %size) : (i64, i64) -> i64
    scf.yield %next : i64
  }
  return
}

// Restore the caller's stream and store the recorded graph, if the driver returns one. Return the driver's status.
func.func @__relax_cuda_graph_recorded(%table: !ptr, %scope: !ptr, %graph_at: !ptr) -> i32 {
  %cuda = arith.constant 2 : i32  %c0 = arith.constant 0 : i64  %null = llvm.mlir.zero : !ptr
  %graphs_at = llvm.getelementptr %table[23] : (!ptr) -> !ptr, !ptr  %graphs = llvm.load %graphs_at : !ptr -> !ptr
  %recorded_at = llvm.getelementptr %graphs[11] : (!ptr) -> !ptr, !ptr
  llvm.store %null, %recorded_at : !ptr, !ptr
  %number_at = llvm.getelementptr %table[1] : (!ptr) -> !ptr, !ptr  %number = llvm.load %number_at : !ptr -> i32
  %callers_at = llvm.getelementptr %scope[32] : (!ptr) -> !ptr, i8  %callers = llvm.load %callers_at : !ptr -> !ptr
  %set = func.call @TVMFFIEnvSetStream(%cuda, %number, %callers, %null) : (i32, i32, !ptr, !ptr) -> i32
  %begun_at = llvm.getelementptr %scope[40] : (!ptr) -> !ptr, i8
  llvm.store %c0, %begun_at : i64, !ptr
  %stream_at = llvm.getelementptr %scope[24] : (!ptr) -> !ptr, i8  %stream = llvm.load %stream_at : !ptr -> !ptr
  %end_at = llvm.getelementptr %graphs[3] : (!ptr) -> !ptr, !ptr  %end = llvm.load %end_at : !ptr -> !ptr
  llvm.store %null, %graph_at : !ptr, !ptr
  %status = llvm.call %end(%stream, %graph_at) : !ptr, (!ptr, !ptr) -> i32
  return %status : i32
}
func.func @__relax_cuda_graph_drop(%table: !ptr, %graph: !ptr) {
  %null = llvm.mlir.zero : !ptr  %is_some = llvm.icmp "ne" %graph, %null : !ptr
  scf.if %is_some {
    %graphs_at = llvm.getelementptr %table[23] : (!ptr) -> !ptr, !ptr  %graphs = llvm.load %graphs_at : !ptr -> !ptr
    %destroy_at = llvm.getelementptr %graphs[5] : (!ptr) -> !ptr, !ptr  %destroy = llvm.load %destroy_at : !ptr -> !ptr
    %status = llvm.call %destroy(%graph) : !ptr, (!ptr) -> i32
  }
  return
}
// Instantiate the recorded graph.
func.func @__relax_cuda_graph_make(%table: !ptr, %label: !ptr, %scope: !ptr) attributes {
    llvm.cold, llvm.no_inline, relax.entry} {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %ok = arith.constant 0 : i32
  %graph_at = llvm.alloca %c1 x !ptr : (i64) -> !ptr
  %state_at = llvm.getelementptr %scope[16] : (!ptr) -> !ptr, i8  %state = llvm.load %state_at : !ptr -> !ptr
  %graphs_at = llvm.getelementptr %table[23] : (!ptr) -> !ptr, !ptr  %graphs = llvm.load %graphs_at : !ptr -> !ptr
  %ended = func.call @__relax_cuda_graph_recorded(%table, %scope, %graph_at) : (!ptr, !ptr, !ptr) -> i32
  %graph = llvm.load %graph_at : !ptr -> !ptr
  %end_name = llvm.mlir.addressof @__relax_graph_end_name : !ptr
  %name = llvm.mlir.addressof @__relax_graph_instantiate_name : !ptr
  %has_graph = arith.cmpi eq, %ended, %ok : i32
  %call, %status = scf.if %has_graph -> (!ptr, i32) {
    %exec_at = llvm.getelementptr %state[8] : (!ptr) -> !ptr, i8
    %asserts_at = llvm.getelementptr %state[32] : (!ptr) -> !ptr, i8
    %asked_at = llvm.getelementptr %graphs[13] : (!ptr) -> !ptr, !ptr  %asserts = llvm.load %asked_at : !ptr -> i64
    llvm.store %asserts, %asserts_at : i64, !ptr
    %make_at = llvm.getelementptr %graphs[4] : (!ptr) -> !ptr, !ptr  %make = llvm.load %make_at : !ptr -> !ptr
    %made = llvm.call %make(%exec_at, %graph, %c0) : !ptr, (!ptr, !ptr, i64) -> i32
    scf.yield %name, %made : !ptr, i32
  } else {
    scf.yield %end_name, %ended : !ptr, i32
  }
  func.call @__relax_cuda_graph_drop(%table, %graph) : (!ptr, !ptr) -> ()
  func.call @__relax_cuda_graph_status(%table, %label, %call, %status, %state) : (!ptr, !ptr, !ptr, i32, !ptr) -> ()
  return
}
