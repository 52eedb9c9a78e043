// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUDA graphs: the launches of a function with static sizes are recorded once. Later calls launch the graph. device.mlir
// describes `%table`. Used with cuda_recording.mlir, for programs that need it (units.py).
//
// A graph reads and writes at the addresses that it was recorded with. Tensors of callers and results have new addresses
// in each call, hence a graph has memory of its own: arguments are copied there before a launch and results are copied
// back, on the caller's stream. Alternatives: a graph for each set of addresses needs no copies, but the allocator would
// decide how many graphs exist and which call records one. Recording at each call with an update of the graph
// (cuGraphExecUpdate) costs the host as much as the launches. Setting the parameters of the kernels that read an argument
// (cuGraphExecKernelNodeSetParams) takes a call for each kernel, and a map from arguments to parameters of kernels.
//
// Place 23 of the table is null without graphs, else (runtime/cuda/graphs.py):
//   0 cuStreamCreate    1 cuStreamDestroy   2 cuStreamBeginCapture   3 cuStreamEndCapture  4 cuGraphInstantiateWithFlags
//   5 cuGraphDestroy    6 cuGraphLaunch     7 cuStreamIsCapturing    8 cuStreamWaitEvent   9 cuMemAlloc
//  10 whether something is recorded: one function of a program at a time     11 the stream that it is recorded on
//  12 where kernels that are recorded write what they assert                 13 whether one asked for that
//  14 cuEventQuery     15 cuThreadExchangeStreamCaptureMode
//  16 and on, 8 words for each function: 0 taken   1 the graph   2 an event behind its last launch
//                                        3 its memory: the record of what kernels assert, then tensors
//                                        4 whether its kernels assert something
//                                        5 how many calls come before the one that is recorded; -1: no call is
//                                        6 the stream of its last launch   7 whether an estimate asked for it
// A thread owns the graph of a function while it launches the graph. Other threads launch the kernels one by one
// meanwhile. A graph that an estimate chose delays and fails no call: the kernels are launched one by one while its last
// launch runs on another stream, and in all later calls if the driver cannot create the graph.

// Words of a call: 0 how it runs (0 kernel by kernel, 1 recording, 2 by the graph)   1 the table   2 the function's words
//            3 the stream that is recorded on   4 the caller's meanwhile   5 whether recording has begun
//            6 whether the kernels are to be launched after all
!scope = !llvm.array<6 x ptr>

func.func private @__relax_device_record(!ptr) -> !ptr
func.func private @__relax_device_status(!ptr, !ptr, !ptr, i32) -> i32
func.func private @__relax_device_stream(!ptr) -> !ptr
func.func private @__relax_cuda_graph_behind(i64, i64) -> i64
func.func private @__relax_cuda_graph_drop(!ptr, !ptr)
func.func private @__relax_cuda_graph_exchange(!ptr, !ptr)
func.func private @__relax_cuda_graph_make(!ptr, !ptr, !ptr) -> i32
func.func private @__relax_cuda_graph_record(!ptr, !ptr, i64, !ptr, !ptr, !ptr) -> i32
func.func private @__relax_cuda_graph_recorded(!ptr, !ptr, !ptr) -> i32
func.func private @__relax_cuda_graph_status(!ptr, !ptr, !ptr, i32, !ptr) -> i32

llvm.mlir.global internal constant @__relax_graph_wait_name("cuStreamWaitEvent\00")
llvm.mlir.global internal constant @__relax_graph_copy_name("cuMemcpyDtoDAsync\00")
llvm.mlir.global internal constant @__relax_graph_launch_name("cuGraphLaunch\00")
llvm.mlir.global internal constant @__relax_graph_mark_name("cuEventRecord\00")

// Begin a call of the function at a place with `count` tensors at the addresses `given`. `described` has the bytes and the
// role (1 read, 2 written, 3 both) of each. If kernels must be launched, store the addresses for them in `passed`.
func.func @__relax_cuda_graph_begin(%table: !ptr, %function: i64, %label: !ptr, %times: !ptr, %count: i64,
    %given: !ptr, %described: !ptr, %passed: !ptr, %scope: !ptr) -> i32 {
  %ok = arith.constant 0 : i32  %one = arith.constant 1 : i32  %never = arith.constant -1 : i64
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %c2 = arith.constant 2 : i64
  %c8 = arith.constant 8 : i64  %relaxed = arith.constant 2 : i32  %null = llvm.mlir.zero : !ptr
  %mode_at = llvm.alloca %c1 x i32 : (i64) -> !ptr  %asked_at = llvm.alloca %c1 x i32 : (i64) -> !ptr
  %bytes = arith.muli %count, %c8 : i64
  "llvm.intr.memcpy"(%passed, %given, %bytes) <{isVolatile = false}> : (!ptr, !ptr, i64) -> ()
  %graphs_at = llvm.getelementptr %table[23] : (!ptr) -> !ptr, !ptr  %graphs = llvm.load %graphs_at : !ptr -> !ptr
  %is_off = llvm.icmp "eq" %graphs, %null : !ptr
  cf.cond_br %is_off, ^return(%ok : i32), ^find
^find:
  %states = llvm.getelementptr %graphs[16] : (!ptr) -> !ptr, !ptr
  %state = llvm.getelementptr %states[%function] : (!ptr, i64) -> !ptr, !llvm.array<8 x ptr>
  %before_at = llvm.getelementptr %state[5] : (!ptr) -> !ptr, !ptr
  %reported_before = llvm.load %before_at atomic monotonic {alignment = 8 : i64} : !ptr -> i64
  %is_never = arith.cmpi eq, %reported_before, %never : i64
  cf.cond_br %is_never, ^return(%ok : i32), ^profile
// A profiled call launches kernel by kernel, so that each kernel has a time.
^profile:
  %has_times = llvm.icmp "ne" %times, %null : !ptr
  cf.cond_br %has_times, ^timed, ^take
^timed:
  %timed = llvm.load %times atomic monotonic {alignment = 8 : i64} : !ptr -> i64
  %thread = func.call @pthread_self() : () -> i64  %is_timed = arith.cmpi eq, %timed, %thread : i64
  cf.cond_br %is_timed, ^return(%ok : i32), ^take
^take:
  %swapped = llvm.cmpxchg %state, %c0, %c1 acq_rel monotonic {alignment = 8 : i64} : !ptr, i64
  %is_mine = llvm.extractvalue %swapped[1] : !swapped
  cf.cond_br %is_mine, ^ask, ^return(%ok : i32)
// A caller that records a graph gets the kernels in it: a graph that allocates cannot be part of another graph.
^ask:
  %stream = func.call @__relax_device_stream(%table) : (!ptr) -> !ptr
  %ask_at = llvm.getelementptr %graphs[7] : (!ptr) -> !ptr, !ptr  %ask = llvm.load %ask_at : !ptr -> !ptr
  llvm.store %one, %asked_at : i32, !ptr
  %answer = llvm.call %ask(%stream, %asked_at) : !ptr, (!ptr, !ptr) -> i32
  %capturing = llvm.load %asked_at : !ptr -> i32  %unclear = arith.ori %answer, %capturing : i32
  %is_free = arith.cmpi eq, %unclear, %ok : i32
  %exec_at = llvm.getelementptr %state[8] : (!ptr) -> !ptr, i8  %exec = llvm.load %exec_at : !ptr -> !ptr
  %is_recorded = llvm.icmp "ne" %exec, %null : !ptr
  cf.cond_br %is_free, ^look, ^give
^look:
  cf.cond_br %is_recorded, ^query, ^wait_for_more
^query:
  %is_ready = func.call @__relax_cuda_graph_is_ready(%table, %state, %stream) : (!ptr, !ptr, !ptr) -> i1
  cf.cond_br %is_ready, ^by_graph, ^give
^wait_for_more:
  %before = llvm.load %before_at : !ptr -> i64  %is_due = arith.cmpi sle, %before, %c0 : i64
  cf.cond_br %is_due, ^is_allowed, ^count
^count:
  %fewer = arith.subi %before, %c1 : i64
  llvm.store %fewer, %before_at atomic monotonic {alignment = 8 : i64} : i64, !ptr
  cf.br ^give
// Another thread may have released the graph meanwhile.
^is_allowed:
  %is_given_up = arith.cmpi eq, %before, %never : i64
  cf.cond_br %is_given_up, ^give, ^take_recording
^by_graph:
  func.call @__relax_cuda_graph_note(%scope, %c2, %table, %state) : (!ptr, i64, !ptr, !ptr) -> ()
  cf.br ^return(%ok : i32)
^take_recording:
  %recording_at = llvm.getelementptr %graphs[10] : (!ptr) -> !ptr, !ptr
  %swapped_too = llvm.cmpxchg %recording_at, %c0, %c1 acq_rel monotonic {alignment = 8 : i64} : !ptr, i64
  %is_mine_too = llvm.extractvalue %swapped_too[1] : !swapped
  cf.cond_br %is_mine_too, ^record, ^give
^give:
  llvm.store %c0, %state atomic release {alignment = 8 : i64} : i64, !ptr
  cf.br ^return(%ok : i32)
^record:
  func.call @__relax_cuda_graph_note(%scope, %c1, %table, %state) : (!ptr, i64, !ptr, !ptr) -> ()
  // Allocations here must not invalidate a recording of this or another thread: CU_STREAM_CAPTURE_MODE_RELAXED.
  llvm.store %relaxed, %mode_at : i32, !ptr
  func.call @__relax_cuda_graph_exchange(%table, %mode_at) : (!ptr, !ptr) -> ()
  %status = func.call @__relax_cuda_graph_record(%table, %label, %count, %described, %passed, %scope)
    : (!ptr, !ptr, i64, !ptr, !ptr, !ptr) -> i32
  func.call @__relax_cuda_graph_exchange(%table, %mode_at) : (!ptr, !ptr) -> ()
  %has_begun = arith.cmpi eq, %status, %ok : i32
  %is_asked_for = func.call @__relax_cuda_graph_is_asked_for(%state) : (!ptr) -> i1
  %is_final = arith.ori %has_begun, %is_asked_for : i1
  cf.cond_br %is_final, ^return(%status : i32), ^give_up
^give_up:
  llvm.store %never, %before_at atomic monotonic {alignment = 8 : i64} : i64, !ptr
  func.call @__relax_cuda_graph_leave(%scope) : (!ptr) -> ()
  llvm.store %c0, %scope : i64, !ptr
  cf.br ^return(%ok : i32)
^return(%result: i32):
  return %result : i32
}
// Check whether the user asked for the graph of a function, instead of an estimate.
func.func private @__relax_cuda_graph_is_asked_for(%state: !ptr) -> i1 {
  %estimated_at = llvm.getelementptr %state[7] : (!ptr) -> !ptr, !ptr  %estimated = llvm.load %estimated_at : !ptr -> !ptr
  %null = llvm.mlir.zero : !ptr  %is_asked_for = llvm.icmp "eq" %estimated, %null : !ptr
  return %is_asked_for : i1
}
// Check whether a call on a stream can use the graph. A graph that an estimate chose must not let the stream wait.
func.func private @__relax_cuda_graph_is_ready(%table: !ptr, %state: !ptr, %stream: !ptr) -> i1 {
  %true = arith.constant true  %ok = arith.constant 0 : i32  %relaxed = arith.constant 2 : i32
  %c1 = arith.constant 1 : i64  %per_thread = arith.constant 2 : i64  // CU_STREAM_PER_THREAD: each thread has its own
  %mode_at = llvm.alloca %c1 x i32 : (i64) -> !ptr
  %is_asked_for = func.call @__relax_cuda_graph_is_asked_for(%state) : (!ptr) -> i1
  %is_ready = scf.if %is_asked_for -> i1 {
    scf.yield %true : i1
  } else {
    %last_at = llvm.getelementptr %state[6] : (!ptr) -> !ptr, !ptr  %last = llvm.load %last_at : !ptr -> !ptr
    %number = llvm.ptrtoint %stream : !ptr to i64  %is_one = arith.cmpi ne, %number, %per_thread : i64
    %is_last = llvm.icmp "eq" %last, %stream : !ptr  %is_same = arith.andi %is_last, %is_one : i1
    %is_free = scf.if %is_same -> i1 {
      scf.yield %true : i1
    } else {
      %event_at = llvm.getelementptr %state[2] : (!ptr) -> !ptr, !ptr  %event = llvm.load %event_at : !ptr -> !ptr
      %graphs_at = llvm.getelementptr %table[23] : (!ptr) -> !ptr, !ptr  %graphs = llvm.load %graphs_at : !ptr -> !ptr
      %query_at = llvm.getelementptr %graphs[14] : (!ptr) -> !ptr, !ptr  %query = llvm.load %query_at : !ptr -> !ptr
      llvm.store %relaxed, %mode_at : i32, !ptr
      func.call @__relax_cuda_graph_exchange(%table, %mode_at) : (!ptr, !ptr) -> ()
      %status = llvm.call %query(%event) : !ptr, (!ptr) -> i32
      func.call @__relax_cuda_graph_exchange(%table, %mode_at) : (!ptr, !ptr) -> ()
      %is_done = arith.cmpi eq, %status, %ok : i32
      scf.yield %is_done : i1
    }
    scf.yield %is_free : i1
  }
  return %is_ready : i1
}
func.func private @__relax_cuda_graph_note(%scope: !ptr, %mode: i64, %table: !ptr, %state: !ptr) {
  %none = llvm.mlir.zero : !scope  %number = llvm.inttoptr %mode : i64 to !ptr
  %s0 = llvm.insertvalue %number, %none[0] : !scope  %s1 = llvm.insertvalue %table, %s0[1] : !scope
  %s2 = llvm.insertvalue %state, %s1[2] : !scope
  llvm.store %s2, %scope : !scope, !ptr
  return
}

// Copy on the device, on the caller's stream. Return the driver's status.
func.func private @__relax_cuda_graph_move(%table: !ptr, %to: !ptr, %from: !ptr, %bytes: i64) -> i32 {
  %ok = arith.constant 0 : i32  %c0 = arith.constant 0 : i64  %is_some = arith.cmpi ne, %bytes, %c0 : i64
  %result = scf.if %is_some -> i32 {
    %copy_at = llvm.getelementptr %table[13] : (!ptr) -> !ptr, !ptr  %copy = llvm.load %copy_at : !ptr -> !ptr
    %stream = func.call @__relax_device_stream(%table) : (!ptr) -> !ptr
    %status = llvm.call %copy(%to, %from, %bytes, %stream) : !ptr, (!ptr, !ptr, i64, !ptr) -> i32
    scf.yield %status : i32
  } else {
    scf.yield %ok : i32
  }
  return %result : i32
}
// Copy the tensors of one role between the memory of the graph and the caller's memory. Return the driver's status.
func.func private @__relax_cuda_graph_copy(%table: !ptr, %count: i64, %given: !ptr, %described: !ptr, %memory: !ptr,
    %role: i64) -> i32 {
  %ok = arith.constant 0 : i32  %first = arith.constant 256 : i64
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %is_read = arith.cmpi eq, %role, %c1 : i64
  cf.br ^head(%c0, %first : i64, i64)
^head(%i: i64, %offset: i64):
  %more = arith.cmpi slt, %i, %count : i64
  cf.cond_br %more, ^look, ^return(%ok : i32)
^look:
  %item_at = llvm.getelementptr %described[%i, 0] : (!ptr, i64) -> !ptr, !llvm.array<2 x i64>
  %item = llvm.load %item_at : !ptr -> !any  %bytes = llvm.extractvalue %item[0] : !any
  %own_role = llvm.extractvalue %item[1] : !any  %both = arith.andi %own_role, %role : i64
  %next = arith.addi %i, %c1 : i64
  %next_offset = func.call @__relax_cuda_graph_behind(%offset, %bytes) : (i64, i64) -> i64
  %is_other = arith.cmpi eq, %both, %c0 : i64
  cf.cond_br %is_other, ^head(%next, %next_offset : i64, i64), ^copy
^copy:
  %own = llvm.getelementptr %memory[%offset] : (!ptr, i64) -> !ptr, i8
  %theirs_at = llvm.getelementptr %given[%i] : (!ptr, i64) -> !ptr, !ptr  %theirs = llvm.load %theirs_at : !ptr -> !ptr
  %to = arith.select %is_read, %own, %theirs : !ptr  %from = arith.select %is_read, %theirs, %own : !ptr
  %copied = func.call @__relax_cuda_graph_move(%table, %to, %from, %bytes) : (!ptr, !ptr, !ptr, i64) -> i32
  %is_good = arith.cmpi eq, %copied, %ok : i32
  cf.cond_br %is_good, ^head(%next, %next_offset : i64, i64), ^return(%copied : i32)
^return(%status: i32):
  return %status : i32
}

// Launch the graph on the caller's stream, after its last launch on any stream.
func.func @__relax_cuda_graph_end(%table: !ptr, %label: !ptr, %count: i64, %given: !ptr, %described: !ptr,
    %scope: !ptr) -> i32 {
  %ok = arith.constant 0 : i32  %relaxed = arith.constant 2 : i32  %c16 = arith.constant 16 : i64
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %c2 = arith.constant 2 : i64
  %c3 = arith.constant 3 : i64  %null = llvm.mlir.zero : !ptr
  %mode_at = llvm.alloca %c1 x i32 : (i64) -> !ptr
  %state_at = llvm.getelementptr %scope[16] : (!ptr) -> !ptr, i8  %state = llvm.load %state_at : !ptr -> !ptr
  %mode = llvm.load %scope : !ptr -> i64
  cf.switch %mode : i64, [default: ^launch, 0: ^return(%ok : i32), 1: ^make]
^make:
  llvm.store %relaxed, %mode_at : i32, !ptr
  func.call @__relax_cuda_graph_exchange(%table, %mode_at) : (!ptr, !ptr) -> ()
  %made = func.call @__relax_cuda_graph_make(%table, %label, %scope) : (!ptr, !ptr, !ptr) -> i32
  func.call @__relax_cuda_graph_exchange(%table, %mode_at) : (!ptr, !ptr) -> ()
  %is_made = arith.cmpi eq, %made, %ok : i32
  cf.cond_br %is_made, ^launch, ^failed(%made : i32)
^launch:
  %graphs_at = llvm.getelementptr %table[23] : (!ptr) -> !ptr, !ptr  %graphs = llvm.load %graphs_at : !ptr -> !ptr
  %held = llvm.load %state : !ptr -> !llvm.array<5 x ptr>
  %exec = llvm.extractvalue %held[1] : !llvm.array<5 x ptr>  %event = llvm.extractvalue %held[2] : !llvm.array<5 x ptr>
  %memory = llvm.extractvalue %held[3] : !llvm.array<5 x ptr>
  %asserts = llvm.extractvalue %held[4] : !llvm.array<5 x ptr>  %has_record = llvm.icmp "ne" %asserts, %null : !ptr
  %stream = func.call @__relax_device_stream(%table) : (!ptr) -> !ptr
  %wait_at = llvm.getelementptr %graphs[8] : (!ptr) -> !ptr, !ptr  %wait = llvm.load %wait_at : !ptr -> !ptr
  %waited = llvm.call %wait(%stream, %event, %ok) : !ptr, (!ptr, !ptr, i32) -> i32
  %wait_name = llvm.mlir.addressof @__relax_graph_wait_name : !ptr
  %copy_name = llvm.mlir.addressof @__relax_graph_copy_name : !ptr
  cf.br ^check(%wait_name, %waited, %c0 : !ptr, i32, i64)
// Start the step of this number if the step before succeeded.
^check(%name: !ptr, %status: i32, %step: i64):
  %checked = func.call @__relax_cuda_graph_status(%table, %label, %name, %status, %state)
    : (!ptr, !ptr, !ptr, i32, !ptr) -> i32
  %is_good = arith.cmpi eq, %checked, %ok : i32
  cf.cond_br %is_good weights([2000, 1]), ^go, ^failed(%checked : i32)
^go:
  cf.switch %step : i64, [default: ^return(%ok : i32), 0: ^read, 1: ^tell, 2: ^run, 3: ^write]
^read:
  %read = func.call @__relax_cuda_graph_copy(%table, %count, %given, %described, %memory, %c1)
    : (!ptr, i64, !ptr, !ptr, !ptr, i64) -> i32
  cf.br ^check(%copy_name, %read, %c1 : !ptr, i32, i64)
// Assign the assertions of the graph's kernels to this thread. Keep the flag: kernels on other streams may set it.
^tell:
  cf.cond_br %has_record, ^tell_record, ^run
^tell_record:
  %record = func.call @__relax_device_record(%table) : (!ptr) -> !ptr
  %set = func.call @__relax_cuda_graph_move(%table, %memory, %record, %c16) : (!ptr, !ptr, !ptr, i64) -> i32
  cf.br ^check(%copy_name, %set, %c2 : !ptr, i32, i64)
^run:
  %run_at = llvm.getelementptr %graphs[6] : (!ptr) -> !ptr, !ptr  %run = llvm.load %run_at : !ptr -> !ptr
  %launched = llvm.call %run(%exec, %stream) : !ptr, (!ptr, !ptr) -> i32
  %launch_name = llvm.mlir.addressof @__relax_graph_launch_name : !ptr
  cf.br ^check(%launch_name, %launched, %c3 : !ptr, i32, i64)
// Nothing is launched yet.
^failed(%failure: i32):
  %is_asked_for = func.call @__relax_cuda_graph_is_asked_for(%state) : (!ptr) -> i1
  cf.cond_br %is_asked_for, ^return(%failure : i32), ^give_up
^give_up:
  %never = arith.constant -1 : i64
  %before_at = llvm.getelementptr %state[5] : (!ptr) -> !ptr, !ptr
  %again_at = llvm.getelementptr %scope[48] : (!ptr) -> !ptr, i8
  llvm.store %never, %before_at atomic monotonic {alignment = 8 : i64} : i64, !ptr
  llvm.store %c1, %again_at : i64, !ptr
  cf.br ^return(%ok : i32)
// Errors from here on are raised.
^write:
  %written = func.call @__relax_cuda_graph_copy(%table, %count, %given, %described, %memory, %c2)
    : (!ptr, i64, !ptr, !ptr, !ptr, i64) -> i32
  %has_written = func.call @__relax_device_status(%table, %label, %copy_name, %written) : (!ptr, !ptr, !ptr, i32) -> i32
  %last_at = llvm.getelementptr %state[6] : (!ptr) -> !ptr, !ptr
  llvm.store %stream, %last_at : !ptr, !ptr
  %mark_at = llvm.getelementptr %table[19] : (!ptr) -> !ptr, !ptr  %mark = llvm.load %mark_at : !ptr -> !ptr
  %marked = llvm.call %mark(%event, %stream) : !ptr, (!ptr, !ptr) -> i32
  %is_written = arith.cmpi eq, %has_written, %ok : i32
  cf.cond_br %is_written weights([2000, 1]), ^mark, ^return(%has_written : i32)
^mark:
  %mark_name = llvm.mlir.addressof @__relax_graph_mark_name : !ptr
  %has_marked = func.call @__relax_device_status(%table, %label, %mark_name, %marked) : (!ptr, !ptr, !ptr, i32) -> i32
  cf.br ^return(%has_marked : i32)
^return(%result: i32):
  return %result : i32
}

// End a call, successful or not.
func.func @__relax_cuda_graph_leave(%scope: !ptr) {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %never = arith.constant -1 : i64
  %null = llvm.mlir.zero : !ptr  %graph_at = llvm.alloca %c1 x !ptr : (i64) -> !ptr
  %mode = llvm.load %scope : !ptr -> i64  %is_other = arith.cmpi ne, %mode, %c0 : i64
  scf.if %is_other {
    %table_at = llvm.getelementptr %scope[8] : (!ptr) -> !ptr, i8  %table = llvm.load %table_at : !ptr -> !ptr
    %state_at = llvm.getelementptr %scope[16] : (!ptr) -> !ptr, i8  %state = llvm.load %state_at : !ptr -> !ptr
    %is_recording = arith.cmpi eq, %mode, %c1 : i64
    scf.if %is_recording {
      %begun_at = llvm.getelementptr %scope[40] : (!ptr) -> !ptr, i8  %begun = llvm.load %begun_at : !ptr -> i64
      %is_under_way = arith.cmpi ne, %begun, %c0 : i64
      // A launch has failed: do not try again the graph that an estimate chose.
      scf.if %is_under_way {
        %before_at = llvm.getelementptr %state[5] : (!ptr) -> !ptr, !ptr
        %is_asked_for = func.call @__relax_cuda_graph_is_asked_for(%state) : (!ptr) -> i1
        %before = arith.select %is_asked_for, %c0, %never : i64
        llvm.store %before, %before_at atomic monotonic {alignment = 8 : i64} : i64, !ptr
        %status = func.call @__relax_cuda_graph_recorded(%table, %scope, %graph_at) : (!ptr, !ptr, !ptr) -> i32
        %graph = llvm.load %graph_at : !ptr -> !ptr
        func.call @__relax_cuda_graph_drop(%table, %graph) : (!ptr, !ptr) -> ()
      }
      %graphs_at = llvm.getelementptr %table[23] : (!ptr) -> !ptr, !ptr  %graphs = llvm.load %graphs_at : !ptr -> !ptr
      %stream_at = llvm.getelementptr %scope[24] : (!ptr) -> !ptr, i8  %stream = llvm.load %stream_at : !ptr -> !ptr
      %has_stream = llvm.icmp "ne" %stream, %null : !ptr
      scf.if %has_stream {
        %destroy_at = llvm.getelementptr %graphs[1] : (!ptr) -> !ptr, !ptr  %destroy = llvm.load %destroy_at : !ptr -> !ptr
        %destroyed = llvm.call %destroy(%stream) : !ptr, (!ptr) -> i32
      }
      %recording_at = llvm.getelementptr %graphs[10] : (!ptr) -> !ptr, !ptr
      llvm.store %c0, %recording_at atomic release {alignment = 8 : i64} : i64, !ptr
    }
    llvm.store %c0, %state atomic release {alignment = 8 : i64} : i64, !ptr
  }
  return
}
