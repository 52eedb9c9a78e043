// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times of kernels on NVIDIA's GPUs, by events around their launches. Beside device.mlir, which says what `%table` is, for
// programs with clocks (host-profile-kernels); `%times` is the program's table of them (support.mlir).

!ptr = !llvm.ptr
!any = !llvm.struct<(i64, i64)>

llvm.func @pthread_self() -> i64

llvm.func @__relax_device_enter(!ptr) -> i32
llvm.func @__relax_device_leave(!ptr)
llvm.func @__relax_device_stream(!ptr) -> !ptr

// What runs between two events is told when it is done: nobody waits meanwhile, but for room. How many there have been
// that are told, and how many since; pairs of events; the place of each pair, -1 before its end.
llvm.mlir.global internal @__relax_told_events() {alignment = 8 : i64} : i64 {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  llvm.return %c0 : i64
}
llvm.mlir.global internal @__relax_open_events() {alignment = 8 : i64} : i64 {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  llvm.return %c0 : i64
}
llvm.mlir.global internal @__relax_events() {alignment = 8 : i64} : !llvm.array<512 x struct<(ptr, ptr)>> {
  %none = llvm.mlir.zero : !llvm.array<512 x struct<(ptr, ptr)>>
  llvm.return %none : !llvm.array<512 x struct<(ptr, ptr)>>
}
llvm.mlir.global internal @__relax_event_places() {alignment = 8 : i64} : !llvm.array<512 x i64> {
  %none = llvm.mlir.zero : !llvm.array<512 x i64>
  llvm.return %none : !llvm.array<512 x i64>
}

// Records an event on the caller's stream, made where there is none yet; the driver's status.
llvm.func internal @__relax_device_event(%table: !ptr, %slot: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32  %null = llvm.mlir.zero : !ptr
  %there = llvm.load %slot : !ptr -> !ptr
  %is_new = llvm.icmp "eq" %there, %null : !ptr
  llvm.cond_br %is_new, ^make, ^record
^make:
  %create_at = llvm.getelementptr %table[18] : (!ptr) -> !ptr, !llvm.ptr
  %create = llvm.load %create_at : !ptr -> !ptr
  %made = llvm.call %create(%slot, %ok) : !ptr, (!ptr, i32) -> i32
  %is_made = llvm.icmp "eq" %made, %ok : i32
  llvm.cond_br %is_made, ^record, ^return(%made : i32)
^record:
  %event = llvm.load %slot : !ptr -> !ptr
  %record_at = llvm.getelementptr %table[19] : (!ptr) -> !ptr, !llvm.ptr
  %record = llvm.load %record_at : !ptr -> !ptr
  %stream = llvm.call @__relax_device_stream(%table) : (!ptr) -> !ptr
  %recorded = llvm.call %record(%event, %stream) : !ptr, (!ptr, !ptr) -> i32
  llvm.br ^return(%recorded : i32)
^return(%status: i32):
  llvm.return %status : i32
}

// As profile_begin and profile_end, of what the device does between them; 0 where nobody asks this thread.
llvm.func hidden @__relax_device_profile_begin(%table: !ptr, %times: !ptr) -> i64 {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %none = llvm.mlir.constant(-1 : i64) : i64  %room = llvm.mlir.constant(512 : i64) : i64
  %ok = llvm.mlir.constant(0 : i32) : i32
  %open_at = llvm.mlir.addressof @__relax_open_events : !ptr
  %told_at = llvm.mlir.addressof @__relax_told_events : !ptr
  %events = llvm.mlir.addressof @__relax_events : !ptr
  %places = llvm.mlir.addressof @__relax_event_places : !ptr
  %thread = llvm.load %times atomic monotonic {alignment = 8 : i64} : !ptr -> i64
  %off = llvm.icmp "eq" %thread, %c0 : i64
  llvm.cond_br %off weights([2000, 1]), ^return(%c0 : i64), ^on
^on:
  %own = llvm.call @pthread_self() : () -> i64
  %mine = llvm.icmp "eq" %own, %thread : i64
  llvm.cond_br %mine, ^look, ^return(%c0 : i64)
^look:
  %before = llvm.load %open_at : !ptr -> i64
  %is_full = llvm.icmp "sge" %before, %room : i64
  llvm.cond_br %is_full, ^tell, ^begin
^tell:
  llvm.call @__relax_device_tell_events(%table, %times) : (!ptr, !ptr) -> ()
  llvm.br ^begin
^begin:
  %number = llvm.load %open_at : !ptr -> i64
  %place_at = llvm.getelementptr %places[%number] : (!ptr, i64) -> !ptr, i64
  llvm.store %none, %place_at : i64, !ptr
  %slot = llvm.getelementptr %events[%number] : (!ptr, i64) -> !ptr, !llvm.struct<(ptr, ptr)>
  %status = llvm.call @__relax_device_event(%table, %slot) : (!ptr, !ptr) -> i32
  %next = llvm.add %number, %c1 : i64
  llvm.store %next, %open_at : i64, !ptr
  %told = llvm.load %told_at : !ptr -> i64
  %ordinal = llvm.add %told, %next : i64
  %is_good = llvm.icmp "eq" %status, %ok : i32
  %given = llvm.select %is_good, %ordinal, %c0 : i1, i64
  llvm.br ^return(%given : i64)
^return(%result: i64):
  llvm.return %result : i64
}
llvm.func hidden @__relax_device_profile_end(%table: !ptr, %times: !ptr, %place: i64, %ordinal: i64) {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %ok = llvm.mlir.constant(0 : i32) : i32
  %told_at = llvm.mlir.addressof @__relax_told_events : !ptr
  %events = llvm.mlir.addressof @__relax_events : !ptr
  %places = llvm.mlir.addressof @__relax_event_places : !ptr
  %off = llvm.icmp "eq" %ordinal, %c0 : i64
  llvm.cond_br %off weights([2000, 1]), ^end, ^look
^look:
  // What has begun before the last time that all were told has no place any more.
  %told = llvm.load %told_at : !ptr -> i64
  %behind = llvm.sub %ordinal, %told : i64
  %number = llvm.sub %behind, %c1 : i64
  %is_there = llvm.icmp "sge" %number, %c0 : i64
  llvm.cond_br %is_there, ^record, ^end
^record:
  %pair = llvm.getelementptr %events[%number] : (!ptr, i64) -> !ptr, !llvm.struct<(ptr, ptr)>
  %slot = llvm.getelementptr %pair[8] : (!ptr) -> !ptr, i8
  %status = llvm.call @__relax_device_event(%table, %slot) : (!ptr, !ptr) -> i32
  %is_good = llvm.icmp "eq" %status, %ok : i32
  llvm.cond_br %is_good, ^note, ^end
^note:
  %place_at = llvm.getelementptr %places[%number] : (!ptr, i64) -> !ptr, i64
  llvm.store %place, %place_at : i64, !ptr
  llvm.br ^end
^end:
  llvm.return
}

// Waits for all pairs and adds what they tell, in nanoseconds, to their places.
llvm.func internal @__relax_device_tell_events(%table: !ptr, %times: !ptr) {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %ok = llvm.mlir.constant(0 : i32) : i32  %mega = llvm.mlir.constant(1.0e6 : f64) : f64
  %open_at = llvm.mlir.addressof @__relax_open_events : !ptr
  %told_at = llvm.mlir.addressof @__relax_told_events : !ptr
  %events = llvm.mlir.addressof @__relax_events : !ptr
  %places = llvm.mlir.addressof @__relax_event_places : !ptr
  %elapsed = llvm.alloca %c1 x f32 : (i64) -> !ptr
  %wait_at = llvm.getelementptr %table[20] : (!ptr) -> !ptr, !llvm.ptr
  %wait = llvm.load %wait_at : !ptr -> !ptr
  %measure_at = llvm.getelementptr %table[21] : (!ptr) -> !ptr, !llvm.ptr
  %measure = llvm.load %measure_at : !ptr -> !ptr
  %count = llvm.load %open_at : !ptr -> i64
  llvm.br ^head(%c0 : i64)
^head(%i: i64):
  %more = llvm.icmp "slt" %i, %count : i64
  llvm.cond_br %more, ^look, ^all
^all:
  %told = llvm.load %told_at : !ptr -> i64
  %now_told = llvm.add %told, %count : i64
  llvm.store %now_told, %told_at : i64, !ptr
  llvm.store %c0, %open_at : i64, !ptr
  llvm.return
^look:
  %next = llvm.add %i, %c1 : i64
  %place_at = llvm.getelementptr %places[%i] : (!ptr, i64) -> !ptr, i64
  %place = llvm.load %place_at : !ptr -> i64
  %is_open = llvm.icmp "slt" %place, %c0 : i64
  llvm.cond_br %is_open, ^head(%next : i64), ^measure
^measure:
  %pair = llvm.getelementptr %events[%i] : (!ptr, i64) -> !ptr, !llvm.struct<(ptr, ptr)>
  %last_at = llvm.getelementptr %pair[8] : (!ptr) -> !ptr, i8
  %first = llvm.load %pair : !ptr -> !ptr
  %last = llvm.load %last_at : !ptr -> !ptr
  %waited = llvm.call %wait(%last) : !ptr, (!ptr) -> i32
  %measured = llvm.call %measure(%elapsed, %first, %last) : !ptr, (!ptr, !ptr, !ptr) -> i32
  %is_good = llvm.icmp "eq" %measured, %ok : i32
  llvm.cond_br %is_good, ^add, ^head(%next : i64)
^add:
  %milliseconds = llvm.load %elapsed : !ptr -> f32
  %wide = llvm.fpext %milliseconds : f32 to f64
  %nanoseconds = llvm.fmul %wide, %mega : f64
  %spent = llvm.fptosi %nanoseconds : f64 to i64
  %all_at = llvm.getelementptr %times[1] : (!ptr) -> !ptr, i64
  %so_far = llvm.load %all_at : !ptr -> i64
  %total = llvm.add %so_far, %spent : i64
  llvm.store %total, %all_at : i64, !ptr
  %index = llvm.add %place, %c1 : i64
  %row = llvm.getelementptr %times[%index] : (!ptr, i64) -> !ptr, !any
  %calls = llvm.load %row : !ptr -> i64
  %more_calls = llvm.add %calls, %c1 : i64
  llvm.store %more_calls, %row : i64, !ptr
  %spent_at = llvm.getelementptr %row[1] : (!ptr) -> !ptr, i64
  %earlier = llvm.load %spent_at : !ptr -> i64
  %later = llvm.add %earlier, %spent : i64
  llvm.store %later, %spent_at : i64, !ptr
  llvm.br ^head(%next : i64)
}
// For the runtime, after a call and before it reads the times: all that is under way is told. The events go.
llvm.func hidden @__relax_device_tell_profile(%table: !ptr, %times: !ptr) -> i32 {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %room = llvm.mlir.constant(1024 : i64) : i64  %ok = llvm.mlir.constant(0 : i32) : i32
  %null = llvm.mlir.zero : !ptr
  %events = llvm.mlir.addressof @__relax_events : !ptr
  %entered = llvm.call @__relax_device_enter(%table) : (!ptr) -> i32
  %is_in = llvm.icmp "eq" %entered, %ok : i32
  llvm.cond_br %is_in, ^tell, ^return(%entered : i32)
^tell:
  llvm.call @__relax_device_tell_events(%table, %times) : (!ptr, !ptr) -> ()
  %end_at = llvm.getelementptr %table[22] : (!ptr) -> !ptr, !llvm.ptr
  %end = llvm.load %end_at : !ptr -> !ptr
  llvm.br ^head(%c0 : i64)
^head(%i: i64):
  %more = llvm.icmp "slt" %i, %room : i64
  llvm.cond_br %more, ^look, ^leave
^look:
  %next = llvm.add %i, %c1 : i64
  %slot = llvm.getelementptr %events[%i] : (!ptr, i64) -> !ptr, !llvm.ptr
  %event = llvm.load %slot : !ptr -> !ptr
  %is_none = llvm.icmp "eq" %event, %null : !ptr
  llvm.cond_br %is_none, ^head(%next : i64), ^end
^end:
  %ended = llvm.call %end(%event) : !ptr, (!ptr) -> i32
  llvm.store %null, %slot : !ptr, !ptr
  llvm.br ^head(%next : i64)
^leave:
  llvm.call @__relax_device_leave(%table) : (!ptr) -> ()
  llvm.br ^return(%ok : i32)
^return(%status: i32):
  llvm.return %status : i32
}
