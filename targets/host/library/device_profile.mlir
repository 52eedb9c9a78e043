// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times of kernels on NVIDIA's GPUs, by events around their launches, for programs with clocks (host-profile-kernels).
// device.mlir describes `%table`; `%times` is the program's table of times (support.py).

func.func private @__relax_device_enter(!ptr) attributes {relax.entry}
func.func private @__relax_device_leave(!ptr)
func.func private @__relax_device_stream(!ptr) -> !ptr
func.func private @__relax_is_logged() -> i1
func.func private @__relax_log(i64, i64, i64, i64)
func.func private @__relax_now() -> i64

// The time between two events is reported after both have passed; only a full table waits. Number of reported pairs,
// number of pairs since; the pairs of events; the place of each pair, -1 before its end.
llvm.mlir.global internal @__relax_reported_events(0 : i64) {alignment = 8 : i64} : i64
llvm.mlir.global internal @__relax_open_events(0 : i64) {alignment = 8 : i64} : i64
llvm.mlir.global internal @__relax_events(dense<0> : tensor<1024xi64>) {alignment = 8 : i64} : !llvm.array<1024 x i64>
llvm.mlir.global internal @__relax_event_places(dense<0> : tensor<512xi64>) {alignment = 8 : i64} : !llvm.array<512 x i64>

// For the log: the first event since the last report, and the host's time of recording, which approximates its time on
// the device; 0 without a log.
llvm.mlir.global internal @__relax_first_event(0 : i64) {alignment = 8 : i64} : i64
llvm.mlir.global internal @__relax_first_time(0 : i64) {alignment = 8 : i64} : i64
func.func private @__relax_device_mark_first(%table: !ptr) attributes {llvm.cold, llvm.no_inline} {
  %c0 = arith.constant 0 : i64  %ok = arith.constant 0 : i32
  %time_at = llvm.mlir.addressof @__relax_first_time : !ptr  %time = llvm.load %time_at : !ptr -> i64
  %is_new = arith.cmpi eq, %time, %c0 : i64
  scf.if %is_new {
    %event_at = llvm.mlir.addressof @__relax_first_event : !ptr
    %status = func.call @__relax_device_event(%table, %event_at) : (!ptr, !ptr) -> i32
    %now = func.call @__relax_now() : () -> i64  %is_good = arith.cmpi eq, %status, %ok : i32
    %known = arith.select %is_good, %now, %c0 : i64
    llvm.store %known, %time_at : i64, !ptr
  }
  return
}
// Return the host's time of an event in nanoseconds, by its distance to the first event.
func.func private @__relax_device_time_of(%table: !ptr, %event: !ptr) -> i64 {
  %c1 = arith.constant 1 : i64  %mega = arith.constant 1.0e6 : f64  %elapsed = llvm.alloca %c1 x f32 : (i64) -> !ptr
  %zero = arith.constant 0.0 : f32
  llvm.store %zero, %elapsed : f32, !ptr
  %event_at = llvm.mlir.addressof @__relax_first_event : !ptr  %first = llvm.load %event_at : !ptr -> !ptr
  %time_at = llvm.mlir.addressof @__relax_first_time : !ptr  %time = llvm.load %time_at : !ptr -> i64
  %measure_at = llvm.getelementptr %table[21] : (!ptr) -> !ptr, !ptr  %measure = llvm.load %measure_at : !ptr -> !ptr
  %status = llvm.call %measure(%elapsed, %first, %event) : !ptr, (!ptr, !ptr, !ptr) -> i32
  %milliseconds = llvm.load %elapsed : !ptr -> f32  %wide = arith.extf %milliseconds : f32 to f64
  %nanoseconds = arith.mulf %wide, %mega : f64  %since = arith.fptosi %nanoseconds : f64 to i64
  %at = arith.addi %time, %since : i64
  return %at : i64
}

// Record an event on the caller's stream, and create it if needed. Return the driver's status.
func.func private @__relax_device_event(%table: !ptr, %slot: !ptr) -> i32 {
  %ok = arith.constant 0 : i32  %null = llvm.mlir.zero : !ptr
  %there = llvm.load %slot : !ptr -> !ptr  %is_new = llvm.icmp "eq" %there, %null : !ptr
  %made = scf.if %is_new -> i32 {
    %create_at = llvm.getelementptr %table[18] : (!ptr) -> !ptr, !ptr  %create = llvm.load %create_at : !ptr -> !ptr
    %status = llvm.call %create(%slot, %ok) : !ptr, (!ptr, i32) -> i32
    scf.yield %status : i32
  } else {
    scf.yield %ok : i32
  }
  %is_there = arith.cmpi eq, %made, %ok : i32
  %recorded = scf.if %is_there -> i32 {
    %event = llvm.load %slot : !ptr -> !ptr
    %record_at = llvm.getelementptr %table[19] : (!ptr) -> !ptr, !ptr  %record = llvm.load %record_at : !ptr -> !ptr
    %stream = func.call @__relax_device_stream(%table) : (!ptr) -> !ptr
    %status = llvm.call %record(%event, %stream) : !ptr, (!ptr, !ptr) -> i32
    scf.yield %status : i32
  } else {
    scf.yield %made : i32
  }
  return %recorded : i32
}

// Like profile_begin and profile_end, for the device's work between both; 0 if this thread has no profile.
func.func @__relax_device_profile_begin(%table: !ptr, %times: !ptr) -> i64 {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %none = arith.constant -1 : i64
  %room = arith.constant 512 : i64  %ok = arith.constant 0 : i32
  %thread = llvm.load %times atomic monotonic {alignment = 8 : i64} : !ptr -> i64
  %off = arith.cmpi eq, %thread, %c0 : i64
  cf.cond_br %off weights([2000, 1]), ^return(%c0 : i64), ^on
^on:
  %own = func.call @pthread_self() : () -> i64  %mine = arith.cmpi eq, %own, %thread : i64
  %ordinal = scf.if %mine -> i64 {
    %open_at = llvm.mlir.addressof @__relax_open_events : !ptr  %before = llvm.load %open_at : !ptr -> i64
    %is_full = arith.cmpi sge, %before, %room : i64
    scf.if %is_full {
      func.call @__relax_device_tell_events(%table, %times) : (!ptr, !ptr) -> ()
    }
    %number = llvm.load %open_at : !ptr -> i64  %next = arith.addi %number, %c1 : i64
    %now = func.call @__relax_now() : () -> i64  %is_logged = func.call @__relax_is_logged() : () -> i1
    scf.if %is_logged {
      func.call @__relax_device_mark_first(%table) : (!ptr) -> ()
    }
    %places = llvm.mlir.addressof @__relax_event_places : !ptr
    %place_at = llvm.getelementptr %places[%number] : (!ptr, i64) -> !ptr, i64
    llvm.store %none, %place_at : i64, !ptr
    %events = llvm.mlir.addressof @__relax_events : !ptr
    %slot = llvm.getelementptr %events[%number] : (!ptr, i64) -> !ptr, !llvm.struct<(ptr, ptr)>
    %status = func.call @__relax_device_event(%table, %slot) : (!ptr, !ptr) -> i32
    llvm.store %next, %open_at : i64, !ptr
    %reported_at = llvm.mlir.addressof @__relax_reported_events : !ptr  %reported = llvm.load %reported_at : !ptr -> i64
    %sum = arith.addi %reported, %next : i64
    %is_good = arith.cmpi eq, %status, %ok : i32  %given = arith.select %is_good, %sum, %c0 : i64
    func.call @__relax_log(%c0, %sum, %now, %now) : (i64, i64, i64, i64) -> ()
    scf.yield %given : i64
  } else {
    scf.yield %c0 : i64
  }
  cf.br ^return(%ordinal : i64)
^return(%result: i64):
  return %result : i64
}
func.func @__relax_device_profile_end(%table: !ptr, %times: !ptr, %place: i64, %ordinal: i64) {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %ok = arith.constant 0 : i32
  %off = arith.cmpi eq, %ordinal, %c0 : i64
  cf.cond_br %off weights([2000, 1]), ^end, ^look
^look:
  // A pair that began before the last report has no place any more.
  %reported_at = llvm.mlir.addressof @__relax_reported_events : !ptr  %reported = llvm.load %reported_at : !ptr -> i64
  %behind = arith.subi %ordinal, %reported : i64  %number = arith.subi %behind, %c1 : i64
  %is_there = arith.cmpi sge, %number, %c0 : i64
  scf.if %is_there {
    %c8 = arith.constant 8 : i64  %launch_kind = arith.constant 5 : i64
    %shifted = arith.shli %place, %c8 : i64  %what = arith.ori %shifted, %launch_kind : i64
    %now = func.call @__relax_now() : () -> i64
    func.call @__relax_log(%what, %ordinal, %now, %now) : (i64, i64, i64, i64) -> ()
    %events = llvm.mlir.addressof @__relax_events : !ptr
    %slot = llvm.getelementptr %events[%number, 1] : (!ptr, i64) -> !ptr, !llvm.struct<(ptr, ptr)>
    %status = func.call @__relax_device_event(%table, %slot) : (!ptr, !ptr) -> i32
    %is_good = arith.cmpi eq, %status, %ok : i32
    scf.if %is_good {
      %places = llvm.mlir.addressof @__relax_event_places : !ptr
      %place_at = llvm.getelementptr %places[%number] : (!ptr, i64) -> !ptr, i64
      llvm.store %place, %place_at : i64, !ptr
    }
  }
  cf.br ^end
^end:
  return
}

// Wait for all pairs and add their nanoseconds to their places.
func.func private @__relax_device_tell_events(%table: !ptr, %times: !ptr) {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %ok = arith.constant 0 : i32
  %mega = arith.constant 1.0e6 : f64  %elapsed = llvm.alloca %c1 x f32 : (i64) -> !ptr
  %events = llvm.mlir.addressof @__relax_events : !ptr  %places = llvm.mlir.addressof @__relax_event_places : !ptr
  %wait_at = llvm.getelementptr %table[20] : (!ptr) -> !ptr, !ptr  %wait = llvm.load %wait_at : !ptr -> !ptr
  %measure_at = llvm.getelementptr %table[21] : (!ptr) -> !ptr, !ptr  %measure = llvm.load %measure_at : !ptr -> !ptr
  %open_at = llvm.mlir.addressof @__relax_open_events : !ptr  %count = llvm.load %open_at : !ptr -> i64
  %first_at = llvm.mlir.addressof @__relax_first_time : !ptr  %first_time = llvm.load %first_at : !ptr -> i64
  scf.for %i = %c0 to %count step %c1 : i64 {
    %place_at = llvm.getelementptr %places[%i] : (!ptr, i64) -> !ptr, i64  %place = llvm.load %place_at : !ptr -> i64
    %is_ended = arith.cmpi sge, %place, %c0 : i64
    scf.if %is_ended {
      %pair_at = llvm.getelementptr %events[%i] : (!ptr, i64) -> !ptr, !llvm.struct<(ptr, ptr)>
      %pair = llvm.load %pair_at : !ptr -> !llvm.struct<(ptr, ptr)>
      %first = llvm.extractvalue %pair[0] : !llvm.struct<(ptr, ptr)>
      %last = llvm.extractvalue %pair[1] : !llvm.struct<(ptr, ptr)>
      %waited = llvm.call %wait(%last) : !ptr, (!ptr) -> i32
      %measured = llvm.call %measure(%elapsed, %first, %last) : !ptr, (!ptr, !ptr, !ptr) -> i32
      %is_good = arith.cmpi eq, %measured, %ok : i32
      scf.if %is_good {
        %milliseconds = llvm.load %elapsed : !ptr -> f32  %wide = arith.extf %milliseconds : f32 to f64
        %nanoseconds = arith.mulf %wide, %mega : f64  %spent = arith.fptosi %nanoseconds : f64 to i64
        func.call @__relax_add_spent(%times, %place, %spent) : (!ptr, i64, i64) -> ()
        %is_known = arith.cmpi ne, %first_time, %c0 : i64
        scf.if %is_known {
          %c8 = arith.constant 8 : i64  %device_kind = arith.constant 4 : i64
          %shifted = arith.shli %place, %c8 : i64  %what = arith.ori %shifted, %device_kind : i64
          %begin = func.call @__relax_device_time_of(%table, %first) : (!ptr, !ptr) -> i64
          %end = func.call @__relax_device_time_of(%table, %last) : (!ptr, !ptr) -> i64
          func.call @__relax_log(%what, %c0, %begin, %end) : (i64, i64, i64, i64) -> ()
        }
      }
    }
  }
  %reported_at = llvm.mlir.addressof @__relax_reported_events : !ptr
  func.call @__relax_add(%reported_at, %count) : (!ptr, i64) -> ()
  llvm.store %c0, %open_at : i64, !ptr
  return
}

// Report all pairs and destroy the events. The runtime calls this after a call, before it reads the times.
func.func @__relax_device_tell_profile(%table: !ptr, %times: !ptr) attributes {relax.entry} {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %room = arith.constant 1024 : i64
  %null = llvm.mlir.zero : !ptr  %events = llvm.mlir.addressof @__relax_events : !ptr
  func.call @__relax_device_enter(%table) : (!ptr) -> ()
  func.call @__relax_device_tell_events(%table, %times) : (!ptr, !ptr) -> ()
  %end_at = llvm.getelementptr %table[22] : (!ptr) -> !ptr, !ptr  %end = llvm.load %end_at : !ptr -> !ptr
  %first_at = llvm.mlir.addressof @__relax_first_event : !ptr  %first = llvm.load %first_at : !ptr -> !ptr
  %time_at = llvm.mlir.addressof @__relax_first_time : !ptr  %is_first = llvm.icmp "ne" %first, %null : !ptr
  llvm.store %c0, %time_at : i64, !ptr
  llvm.store %null, %first_at : !ptr, !ptr
  scf.if %is_first {
    %ended = llvm.call %end(%first) : !ptr, (!ptr) -> i32
  }
  scf.for %i = %c0 to %room step %c1 : i64 {
    %slot = llvm.getelementptr %events[%i] : (!ptr, i64) -> !ptr, !ptr  %event = llvm.load %slot : !ptr -> !ptr
    %is_some = llvm.icmp "ne" %event, %null : !ptr
    scf.if %is_some {
      %ended = llvm.call %end(%event) : !ptr, (!ptr) -> i32
      llvm.store %null, %slot : !ptr, !ptr
    }
  }
  func.call @__relax_device_leave(%table) : (!ptr) -> ()
  return
}
