// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The threads that all programs of a process share: one pool, which the runtime loads once and never unloads
// (runtime/threads.py). It is an object of its own in each artifact whose code has parallel loops.
//
// A loop's range is a job on the stack of the thread that calls. It puts the job where workers look, takes grains of it
// as they do, takes it back from those that have not begun, and waits for the others. Each thread has a part of the
// range, the same of each loop: what it has written it reads again in the next loop, from its own cache. It takes that
// from the front; who is done takes of others' parts, from behind. Nobody waits for a worker that has not woken up; one
// that another program keeps from running delays what it has begun, no more. While one thread's loop is shared, those
// of others are theirs alone.
//
// What is in the state's memory is gone in a forked process, whose only thread finds a pool without workers.

!ptr = !llvm.ptr

// The state, pages of its own: whether a loop is shared (0), workers (8), whether starting one failed (16), whether the
// process ends (24). From 128 on 128 bytes for each worker: its job, null or 1 while it works (0), whether it sleeps
// (8), its thread (16), which part of a job is its own (24), a semaphore (64).
// A job: how many parts it has (0), where it begins (8) and ends (16), a grain (24), the function (32) and what it is
// told (40); on the next line of the cache where the first failure is (64) and its error (72), the error's lock (80).
// From 128 on a line for each part: the numbers of its first grain and of that behind its last, 32 bits each.

llvm.func @TVMFFIErrorMoveFromRaised(!ptr)
llvm.func @TVMFFIErrorSetRaised(!ptr)
llvm.func @TVMFFIObjectDecRef(!ptr) -> i32
llvm.func @clock_gettime(i32, !ptr) -> i32
llvm.func @madvise(!ptr, i64, i32) -> i32
llvm.func @mmap(!ptr, i64, i32, i32, i32, i64) -> !ptr
llvm.func @munmap(!ptr, i64) -> i32
llvm.func @pthread_create(!ptr, !ptr, !ptr, !ptr) -> i32
llvm.func @pthread_join(i64, !ptr) -> i32
llvm.func @pthread_sigmask(i32, !ptr, !ptr) -> i32
llvm.func @sched_yield() -> i32
llvm.func @sem_init(!ptr, i32, i32) -> i32
llvm.func @sem_post(!ptr) -> i32
llvm.func @sem_wait(!ptr) -> i32
llvm.func @sigfillset(!ptr) -> i32

llvm.mlir.global internal @state() {alignment = 8 : i64} : !ptr {
  %null = llvm.mlir.zero : !ptr
  llvm.return %null : !ptr
}

// The state; null where the system has no memory that vanishes on a fork.
llvm.func internal @find_state() -> !ptr {
  %null = llvm.mlir.zero : !ptr  %none = llvm.mlir.constant(-1 : i64) : i64
  %slot = llvm.mlir.addressof @state : !ptr
  %known = llvm.load %slot atomic acquire {alignment = 8 : i64} : !ptr -> !ptr
  %is_known = llvm.icmp "ne" %known, %null : !ptr
  llvm.cond_br %is_known, ^give(%known : !ptr), ^map
^give(%state: !ptr):
  llvm.return %state : !ptr
^map:
  // Room for 255 workers. Readable and writable; private, of no file.
  %bytes = llvm.mlir.constant(32768 : i64) : i64  %c0 = llvm.mlir.constant(0 : i64) : i64
  %protection = llvm.mlir.constant(3 : i32) : i32  %flags = llvm.mlir.constant(34 : i32) : i32
  %no_file = llvm.mlir.constant(-1 : i32) : i32
  %made = llvm.call @mmap(%null, %bytes, %protection, %flags, %no_file, %c0)
    : (!ptr, i64, i32, i32, i32, i64) -> !ptr
  %address = llvm.ptrtoint %made : !ptr to i64
  %failed = llvm.icmp "eq" %address, %none : i64
  llvm.cond_br %failed, ^give(%null : !ptr), ^wipe
^wipe:
  %wipe_on_fork = llvm.mlir.constant(18 : i32) : i32  %ok = llvm.mlir.constant(0 : i32) : i32
  %status = llvm.call @madvise(%made, %bytes, %wipe_on_fork) : (!ptr, i64, i32) -> i32
  %is_wiped = llvm.icmp "eq" %status, %ok : i32
  llvm.cond_br %is_wiped, ^publish, ^drop(%null : !ptr)
^publish:
  %pair = llvm.cmpxchg %slot, %null, %made acq_rel acquire : !ptr, !ptr
  %first = llvm.extractvalue %pair[0] : !llvm.struct<(ptr, i1)>
  %is_mine = llvm.extractvalue %pair[1] : !llvm.struct<(ptr, i1)>
  llvm.cond_br %is_mine, ^give(%made : !ptr), ^drop(%first : !ptr)
^drop(%other: !ptr):
  %gone = llvm.call @munmap(%made, %bytes) : (!ptr, i64) -> i32
  llvm.br ^give(%other : !ptr)
}

llvm.func internal @worker_at(%state: !ptr, %number: i64) -> !ptr {
  %c1 = llvm.mlir.constant(1 : i64) : i64  %c128 = llvm.mlir.constant(128 : i64) : i64
  %next = llvm.add %number, %c1 : i64
  %offset = llvm.mul %next, %c128 : i64
  %worker = llvm.getelementptr %state[%offset] : (!ptr, i64) -> !ptr, i8
  llvm.return %worker : !ptr
}

// Tells a processor that this is waiting; PAUSE is what does so on the machine.
llvm.func internal @pause() attributes {passthrough = ["alwaysinline"]} {
  PAUSE
  llvm.return
}

llvm.func internal @nanoseconds() -> i64 {
  %giga = llvm.mlir.constant(1000000000 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %monotonic = llvm.mlir.constant(1 : i32) : i32
  %time = llvm.alloca %c1 x !llvm.struct<(i64, i64)> : (i64) -> !ptr
  %status = llvm.call @clock_gettime(%monotonic, %time) : (i32, !ptr) -> i32
  %both = llvm.load %time : !ptr -> !llvm.struct<(i64, i64)>
  %seconds = llvm.extractvalue %both[0] : !llvm.struct<(i64, i64)>
  %rest = llvm.extractvalue %both[1] : !llvm.struct<(i64, i64)>
  %whole = llvm.mul %seconds, %giga : i64
  %now = llvm.add %whole, %rest : i64
  llvm.return %now : i64
}

// ---- jobs ----

// Takes grains of a job until none is left, those of its own part first. Behind a failure none is worked on.
llvm.func internal @work(%job: !ptr, %own: i64) {
  %ok = llvm.mlir.constant(0 : i32) : i32  %c32 = llvm.mlir.constant(32 : i64) : i64
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %from_behind = llvm.mlir.constant(-4294967296 : i64) : i64  %low = llvm.mlir.constant(4294967295 : i64) : i64
  %from_at = llvm.getelementptr %job[8] : (!ptr) -> !ptr, i8
  %end_at = llvm.getelementptr %job[16] : (!ptr) -> !ptr, i8
  %grain_at = llvm.getelementptr %job[24] : (!ptr) -> !ptr, i8
  %function_at = llvm.getelementptr %job[32] : (!ptr) -> !ptr, i8
  %told_at = llvm.getelementptr %job[40] : (!ptr) -> !ptr, i8
  %first_at = llvm.getelementptr %job[64] : (!ptr) -> !ptr, i8
  %parts = llvm.load %job : !ptr -> i64
  %from = llvm.load %from_at : !ptr -> i64
  %end = llvm.load %end_at : !ptr -> i64
  %grain = llvm.load %grain_at : !ptr -> i64
  %function = llvm.load %function_at : !ptr -> !ptr
  %told = llvm.load %told_at : !ptr -> !ptr
  llvm.br ^part(%own, %c0 : i64, i64)
^part(%number: i64, %seen: i64):
  %is_own = llvm.icmp "eq" %seen, %c0 : i64
  %change = llvm.select %is_own, %c1, %from_behind : i1, i64
  %part = llvm.call @part_of(%job, %number) : (!ptr, i64) -> !ptr
  llvm.br ^next
^next:
  // What is taken of a part that has no more stays without effect: its front is not before its end ever again.
  %both = llvm.atomicrmw add %part, %change monotonic : !ptr, i64
  %front = llvm.and %both, %low : i64
  %behind = llvm.ashr %both, %c32 : i64
  %is_left = llvm.icmp "slt" %front, %behind : i64
  llvm.cond_br %is_left, ^take, ^other
^take:
  %last = llvm.sub %behind, %c1 : i64
  %index = llvm.select %is_own, %front, %last : i1, i64
  %offset = llvm.mul %index, %grain : i64
  %start = llvm.add %from, %offset : i64
  %first = llvm.load %first_at atomic monotonic {alignment = 8 : i64} : !ptr -> i64
  %is_wanted = llvm.icmp "slt" %start, %first : i64
  llvm.cond_br %is_wanted weights([2000, 1]), ^run, ^next
^run:
  %left = llvm.sub %end, %start : i64
  %length = llvm.intr.smin(%grain, %left) : (i64, i64) -> i64
  %stop = llvm.add %start, %length : i64
  %status = llvm.call %function(%told, %start, %stop) : !ptr, (!ptr, i64, i64) -> i32
  %is_ok = llvm.icmp "eq" %status, %ok : i32
  llvm.cond_br %is_ok weights([2000, 1]), ^next, ^fail
^fail:
  llvm.call @note_failure(%job, %start) : (!ptr, i64) -> ()
  llvm.br ^next
^other:
  %seen_now = llvm.add %seen, %c1 : i64
  %after = llvm.add %number, %c1 : i64
  %is_over = llvm.icmp "eq" %after, %parts : i64
  %around = llvm.select %is_over, %c0, %after : i1, i64
  %are_more = llvm.icmp "slt" %seen_now, %parts : i64
  llvm.cond_br %are_more, ^part(%around, %seen_now : i64, i64), ^done
^done:
  llvm.return
}

llvm.func internal @part_of(%job: !ptr, %number: i64) -> !ptr {
  %c64 = llvm.mlir.constant(64 : i64) : i64  %c128 = llvm.mlir.constant(128 : i64) : i64
  %lines = llvm.mul %number, %c64 : i64
  %offset = llvm.add %lines, %c128 : i64
  %part = llvm.getelementptr %job[%offset] : (!ptr, i64) -> !ptr, i8
  llvm.return %part : !ptr
}

// Keeps the error that this thread has raised if no grain before has failed. Those before are all worked on, so that in
// the end it is the one that a single thread would have met.
llvm.func internal @note_failure(%job: !ptr, %start: i64) attributes {passthrough = ["cold", "noinline"]} {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %null = llvm.mlir.zero : !ptr
  %slot = llvm.alloca %c1 x !ptr : (i64) -> !ptr
  llvm.store %null, %slot : !ptr, !ptr
  llvm.call @TVMFFIErrorMoveFromRaised(%slot) : (!ptr) -> ()
  %error = llvm.load %slot : !ptr -> !ptr
  %first_at = llvm.getelementptr %job[64] : (!ptr) -> !ptr, i8
  %error_at = llvm.getelementptr %job[72] : (!ptr) -> !ptr, i8
  %lock = llvm.getelementptr %job[80] : (!ptr) -> !ptr, i8
  llvm.br ^lock
^lock:
  %held = llvm.atomicrmw xchg %lock, %c1 acquire : !ptr, i64
  %is_free = llvm.icmp "eq" %held, %c0 : i64
  llvm.cond_br %is_free, ^compare, ^wait
^wait:
  %yielded = llvm.call @sched_yield() : () -> i32
  llvm.br ^lock
^compare:
  %first = llvm.load %first_at : !ptr -> i64
  %other = llvm.load %error_at : !ptr -> !ptr
  %is_first = llvm.icmp "slt" %start, %first : i64
  llvm.cond_br %is_first, ^keep, ^unlock(%error : !ptr)
^keep:
  llvm.store %start, %first_at atomic monotonic {alignment = 8 : i64} : i64, !ptr
  llvm.store %error, %error_at : !ptr, !ptr
  llvm.br ^unlock(%other : !ptr)
^unlock(%unwanted: !ptr):
  llvm.store %c0, %lock atomic release {alignment = 8 : i64} : i64, !ptr
  %is_none = llvm.icmp "eq" %unwanted, %null : !ptr
  llvm.cond_br %is_none, ^end, ^release
^release:
  %status = llvm.call @TVMFFIObjectDecRef(%unwanted) : (!ptr) -> i32
  llvm.br ^end
^end:
  llvm.return
}

// ---- workers ----

// What a worker does as long as the process lives: for 50 microseconds after each job it looks for the next one, then
// it sleeps.
llvm.func internal @serve(%worker: !ptr) -> !ptr {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %c64 = llvm.mlir.constant(64 : i64) : i64  %patience = llvm.mlir.constant(50000 : i64) : i64
  %ok = llvm.mlir.constant(0 : i32) : i32  %end = llvm.mlir.constant(2 : i64) : i64
  %null = llvm.mlir.zero : !ptr
  %sleeps = llvm.getelementptr %worker[8] : (!ptr) -> !ptr, i8
  %semaphore = llvm.getelementptr %worker[64] : (!ptr) -> !ptr, i8
  %own_at = llvm.getelementptr %worker[24] : (!ptr) -> !ptr, i8
  %own = llvm.load %own_at : !ptr -> i64
  llvm.br ^idle
^idle:
  %now = llvm.call @nanoseconds() : () -> i64
  %deadline = llvm.add %now, %patience : i64
  llvm.br ^look(%c0 : i64)
^look(%count: i64):
  %job = llvm.load %worker atomic seq_cst {alignment = 8 : i64} : !ptr -> i64
  %is_job = llvm.icmp "ugt" %job, %c1 : i64
  llvm.cond_br %is_job, ^take(%job : i64), ^wait
^wait:
  llvm.call @pause() : () -> ()
  %next = llvm.add %count, %c1 : i64
  %is_long = llvm.icmp "uge" %next, %c64 : i64
  llvm.cond_br %is_long, ^time, ^look(%next : i64)
^time:
  %later = llvm.call @nanoseconds() : () -> i64
  %is_over = llvm.icmp "sgt" %later, %deadline : i64
  llvm.cond_br %is_over, ^lie_down, ^look(%c0 : i64)
^lie_down:
  llvm.store %c1, %sleeps atomic seq_cst {alignment = 8 : i64} : i64, !ptr
  %late = llvm.load %worker atomic seq_cst {alignment = 8 : i64} : !ptr -> i64
  %is_late = llvm.icmp "ugt" %late, %c1 : i64
  llvm.cond_br %is_late, ^rise, ^sleep
^rise:
  // Who has posted meanwhile is waited for: each post wakes once.
  %slept = llvm.atomicrmw xchg %sleeps, %c0 seq_cst : !ptr, i64
  %is_awake = llvm.icmp "eq" %slept, %c1 : i64
  llvm.cond_br %is_awake, ^idle, ^sleep
^sleep:
  %woken = llvm.call @sem_wait(%semaphore) : (!ptr) -> i32
  %is_woken = llvm.icmp "eq" %woken, %ok : i32
  llvm.cond_br %is_woken, ^idle, ^sleep
^take(%taken: i64):
  %is_end = llvm.icmp "eq" %taken, %end : i64
  llvm.cond_br %is_end, ^leave, ^begin
^leave:
  llvm.return %null : !ptr
^begin:
  %pair = llvm.cmpxchg %worker, %taken, %c1 seq_cst monotonic : !ptr, i64
  %is_mine = llvm.extractvalue %pair[1] : !llvm.struct<(i64, i1)>
  llvm.cond_br %is_mine, ^work, ^look(%c0 : i64)
^work:
  %at = llvm.inttoptr %taken : i64 to !ptr
  llvm.call @work(%at, %own) : (!ptr, i64) -> ()
  llvm.store %c0, %worker atomic release {alignment = 8 : i64} : i64, !ptr
  llvm.br ^idle
}

// Puts a job where a worker looks, and wakes it.
llvm.func internal @hand(%worker: !ptr, %job: i64) {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %sleeps = llvm.getelementptr %worker[8] : (!ptr) -> !ptr, i8
  %semaphore = llvm.getelementptr %worker[64] : (!ptr) -> !ptr, i8
  llvm.store %job, %worker atomic seq_cst {alignment = 8 : i64} : i64, !ptr
  %now = llvm.load %sleeps atomic seq_cst {alignment = 8 : i64} : !ptr -> i64
  %may_sleep = llvm.icmp "eq" %now, %c1 : i64
  llvm.cond_br %may_sleep, ^ask, ^end
^ask:
  %slept = llvm.atomicrmw xchg %sleeps, %c0 seq_cst : !ptr, i64
  %is_asleep = llvm.icmp "eq" %slept, %c1 : i64
  llvm.cond_br %is_asleep, ^wake, ^end
^wake:
  %status = llvm.call @sem_post(%semaphore) : (!ptr) -> i32
  llvm.br ^end
^end:
  llvm.return
}

// Starts workers until there are so many, or the system has no more; how many there are. Signals are for others.
llvm.func internal @start(%state: !ptr, %wanted: i64) -> i64 {
  %c1 = llvm.mlir.constant(1 : i64) : i64  %c16 = llvm.mlir.constant(16 : i64) : i64
  %c0 = llvm.mlir.constant(0 : i64) : i64  %most = llvm.mlir.constant(255 : i64) : i64
  %ok = llvm.mlir.constant(0 : i32) : i32  %set_mask = llvm.mlir.constant(2 : i32) : i32
  %null = llvm.mlir.zero : !ptr
  %count_at = llvm.getelementptr %state[8] : (!ptr) -> !ptr, i8
  %failed_at = llvm.getelementptr %state[16] : (!ptr) -> !ptr, i8
  %had = llvm.load %count_at : !ptr -> i64
  %all = llvm.intr.smin(%wanted, %most) : (i64, i64) -> i64
  %is_enough = llvm.icmp "sge" %had, %all : i64
  llvm.cond_br %is_enough, ^give(%had : i64), ^look
^give(%count: i64):
  llvm.return %count : i64
^look:
  %has_failed = llvm.load %failed_at : !ptr -> i64
  %may_start = llvm.icmp "eq" %has_failed, %c0 : i64
  llvm.cond_br %may_start, ^block, ^give(%had : i64)
^block:
  %signals = llvm.alloca %c16 x i64 : (i64) -> !ptr
  %before = llvm.alloca %c16 x i64 : (i64) -> !ptr
  %filled = llvm.call @sigfillset(%signals) : (!ptr) -> i32
  %blocked = llvm.call @pthread_sigmask(%set_mask, %signals, %before) : (i32, !ptr, !ptr) -> i32
  llvm.br ^more(%had : i64)
^more(%number: i64):
  %is_missing = llvm.icmp "slt" %number, %all : i64
  llvm.cond_br %is_missing, ^make, ^done(%number : i64)
^make:
  %worker = llvm.call @worker_at(%state, %number) : (!ptr, i64) -> !ptr
  %thread = llvm.getelementptr %worker[16] : (!ptr) -> !ptr, i8
  %semaphore = llvm.getelementptr %worker[64] : (!ptr) -> !ptr, i8
  %ready = llvm.call @sem_init(%semaphore, %ok, %ok) : (!ptr, i32, i32) -> i32
  %own_at = llvm.getelementptr %worker[24] : (!ptr) -> !ptr, i8
  %next = llvm.add %number, %c1 : i64
  llvm.store %next, %own_at : i64, !ptr
  %body = llvm.mlir.addressof @serve : !ptr
  %status = llvm.call @pthread_create(%thread, %null, %body, %worker) : (!ptr, !ptr, !ptr, !ptr) -> i32
  %is_made = llvm.icmp "eq" %status, %ok : i32
  llvm.cond_br %is_made, ^more(%next : i64), ^fail
^fail:
  llvm.store %c1, %failed_at : i64, !ptr
  llvm.br ^done(%number : i64)
^done(%last: i64):
  llvm.store %last, %count_at : i64, !ptr
  %restored = llvm.call @pthread_sigmask(%set_mask, %before, %null) : (i32, !ptr, !ptr) -> i32
  llvm.br ^give(%last : i64)
}

// ---- what programs call ----

// `function(told, from, to)` for a whole range, in grains, by `threads` at most; its status, with the error set. Where no
// grain is told (0), there are eight for each thread.
llvm.func internal @share(%function: !ptr, %told: !ptr, %from: i64, %to: i64, %asked: i64, %threads: i64) -> i32 {
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %c128 = llvm.mlir.constant(128 : i64) : i64  %furthest = llvm.mlir.constant(9223372036854775807 : i64) : i64
  %ok = llvm.mlir.constant(0 : i32) : i32  %failure = llvm.mlir.constant(-1 : i32) : i32
  %null = llvm.mlir.zero : !ptr
  %state = llvm.call @find_state() : () -> !ptr
  %is_there = llvm.icmp "ne" %state, %null : !ptr
  %length = llvm.sub %to, %from : i64
  %before_last = llvm.sub %length, %c1 : i64
  %c8 = llvm.mlir.constant(8 : i64) : i64
  %most_grains = llvm.mul %threads, %c8 : i64
  %suiting = llvm.sdiv %length, %most_grains : i64
  %at_least_one = llvm.intr.smax(%suiting, %c1) : (i64, i64) -> i64
  %is_asked = llvm.icmp "sgt" %asked, %c0 : i64
  %grain = llvm.select %is_asked, %asked, %at_least_one : i1, i64
  %others = llvm.sdiv %before_last, %grain : i64
  // Grains are counted in 31 bits.
  %most = llvm.mlir.constant(2147483392 : i64) : i64
  %are_few = llvm.icmp "slt" %others, %most : i64
  %is_worth_it = llvm.and %is_there, %are_few : i1
  llvm.cond_br %is_worth_it, ^enter, ^alone
^alone:
  %own = llvm.call %function(%told, %from, %to) : !ptr, (!ptr, i64, i64) -> i32
  llvm.return %own : i32
^enter:
  %pair = llvm.cmpxchg %state, %c0, %c1 acquire monotonic : !ptr, i64
  %is_free = llvm.extractvalue %pair[1] : !llvm.struct<(i64, i1)>
  llvm.cond_br %is_free, ^look, ^alone
^look:
  %ending_at = llvm.getelementptr %state[24] : (!ptr) -> !ptr, i8
  %ending = llvm.load %ending_at : !ptr -> i64
  %goes_on = llvm.icmp "eq" %ending, %c0 : i64
  llvm.cond_br %goes_on, ^prepare, ^give_up
^give_up:
  llvm.store %c0, %state atomic release {alignment = 8 : i64} : i64, !ptr
  llvm.br ^alone
^prepare:
  %allowed = llvm.sub %threads, %c1 : i64
  %useful = llvm.intr.smin(%others, %allowed) : (i64, i64) -> i64
  %there = llvm.call @start(%state, %useful) : (!ptr, i64) -> i64
  %workers = llvm.intr.smin(%there, %useful) : (i64, i64) -> i64
  %parts = llvm.add %workers, %c1 : i64
  %c64 = llvm.mlir.constant(64 : i64) : i64  %c32 = llvm.mlir.constant(32 : i64) : i64
  %lines = llvm.mul %parts, %c64 : i64
  %bytes = llvm.add %lines, %c128 : i64
  %job = llvm.alloca %bytes x i8 {alignment = 64 : i64} : (i64) -> !ptr
  %from_at = llvm.getelementptr %job[8] : (!ptr) -> !ptr, i8
  %end_at = llvm.getelementptr %job[16] : (!ptr) -> !ptr, i8
  %grain_at = llvm.getelementptr %job[24] : (!ptr) -> !ptr, i8
  %function_at = llvm.getelementptr %job[32] : (!ptr) -> !ptr, i8
  %told_at = llvm.getelementptr %job[40] : (!ptr) -> !ptr, i8
  %first_at = llvm.getelementptr %job[64] : (!ptr) -> !ptr, i8
  %error_at = llvm.getelementptr %job[72] : (!ptr) -> !ptr, i8
  %lock_at = llvm.getelementptr %job[80] : (!ptr) -> !ptr, i8
  llvm.store %parts, %job : i64, !ptr
  llvm.store %from, %from_at : i64, !ptr
  llvm.store %to, %end_at : i64, !ptr
  llvm.store %grain, %grain_at : i64, !ptr
  llvm.store %function, %function_at : !ptr, !ptr
  llvm.store %told, %told_at : !ptr, !ptr
  llvm.store %furthest, %first_at : i64, !ptr
  llvm.store %null, %error_at : !ptr, !ptr
  llvm.store %c0, %lock_at : i64, !ptr
  %address = llvm.ptrtoint %job : !ptr to i64
  %grains = llvm.add %others, %c1 : i64
  llvm.br ^split(%c0, %c0 : i64, i64)
^split(%index: i64, %front: i64):
  // The caller's, the first, is the longest: it begins earlier.
  %is_part = llvm.icmp "slt" %index, %parts : i64
  llvm.cond_br %is_part, ^split_one, ^hand(%c0 : i64)
^split_one:
  %after = llvm.add %index, %c1 : i64
  %scaled = llvm.mul %after, %grains : i64
  %rounded = llvm.add %scaled, %workers : i64
  %behind = llvm.sdiv %rounded, %parts : i64
  %high = llvm.shl %behind, %c32 : i64
  %both = llvm.or %high, %front : i64
  %part = llvm.call @part_of(%job, %index) : (!ptr, i64) -> !ptr
  llvm.store %both, %part : i64, !ptr
  llvm.br ^split(%after, %behind : i64, i64)
^hand(%given: i64):
  %is_more = llvm.icmp "slt" %given, %workers : i64
  llvm.cond_br %is_more, ^hand_one, ^work
^hand_one:
  %helper = llvm.call @worker_at(%state, %given) : (!ptr, i64) -> !ptr
  llvm.call @hand(%helper, %address) : (!ptr, i64) -> ()
  %one_more = llvm.add %given, %c1 : i64
  llvm.br ^hand(%one_more : i64)
^work:
  llvm.call @work(%job, %c0) : (!ptr, i64) -> ()
  llvm.br ^collect(%c0 : i64)
^collect(%number: i64):
  %is_left = llvm.icmp "slt" %number, %workers : i64
  llvm.cond_br %is_left, ^take_back, ^done
^take_back:
  %worker = llvm.call @worker_at(%state, %number) : (!ptr, i64) -> !ptr
  %next = llvm.add %number, %c1 : i64
  %back = llvm.cmpxchg %worker, %address, %c0 acq_rel acquire : !ptr, i64
  %is_back = llvm.extractvalue %back[1] : !llvm.struct<(i64, i1)>
  llvm.cond_br %is_back, ^collect(%next : i64), ^wait(%c0 : i64)
^wait(%count: i64):
  %left = llvm.load %worker atomic acquire {alignment = 8 : i64} : !ptr -> i64
  %is_done = llvm.icmp "eq" %left, %c0 : i64
  llvm.cond_br %is_done, ^collect(%next : i64), ^spin
^spin:
  llvm.call @pause() : () -> ()
  %more = llvm.add %count, %c1 : i64
  %patience = llvm.mlir.constant(2000 : i64) : i64
  %is_long = llvm.icmp "uge" %more, %patience : i64
  llvm.cond_br %is_long, ^yield, ^wait(%more : i64)
^yield:
  %yielded = llvm.call @sched_yield() : () -> i32
  llvm.br ^wait(%c0 : i64)
^done:
  llvm.store %c0, %state atomic release {alignment = 8 : i64} : i64, !ptr
  %error = llvm.load %error_at : !ptr -> !ptr
  %first = llvm.load %first_at : !ptr -> i64
  %is_good = llvm.icmp "eq" %first, %furthest : i64
  llvm.cond_br %is_good, ^succeed, ^fail
^succeed:
  llvm.return %ok : i32
^fail:
  %is_silent = llvm.icmp "eq" %error, %null : !ptr
  llvm.cond_br %is_silent, ^leave, ^raise
^raise:
  llvm.call @TVMFFIErrorSetRaised(%error) : (!ptr) -> ()
  %released = llvm.call @TVMFFIObjectDecRef(%error) : (!ptr) -> i32
  llvm.br ^leave
^leave:
  llvm.return %failure : i32
}

// ---- what the runtime calls, by the packed-function ABI ----

// The address of what shares a range.
llvm.func @__tvm_ffi___relax_pool(%handle: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32  %int_kind = llvm.mlir.constant(1 : i64) : i64
  %share = llvm.mlir.addressof @share : !ptr
  %address = llvm.ptrtoint %share : !ptr to i64
  %payload = llvm.getelementptr %result[8] : (!ptr) -> !ptr, i8
  llvm.store %int_kind, %result : i64, !ptr
  llvm.store %address, %payload : i64, !ptr
  llvm.return %ok : i32
}

// How many workers there are, of those that this process has begun.
llvm.func @__tvm_ffi___relax_pool_workers(%handle: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32 {
  %workers_at = llvm.mlir.constant(8 : i64) : i64
  %status = llvm.call @tell(%workers_at, %result) : (i64, !ptr) -> i32
  llvm.return %status : i32
}

// Whether the system had no thread to give when one more was asked for.
llvm.func @__tvm_ffi___relax_pool_failed(%handle: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32 {
  %failed_at = llvm.mlir.constant(16 : i64) : i64
  %status = llvm.call @tell(%failed_at, %result) : (i64, !ptr) -> i32
  llvm.return %status : i32
}

// A number of the state, as a result; 0 where nothing has been shared yet.
llvm.func internal @tell(%offset: i64, %result: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32  %int_kind = llvm.mlir.constant(1 : i64) : i64
  %c0 = llvm.mlir.constant(0 : i64) : i64  %null = llvm.mlir.zero : !ptr
  %payload = llvm.getelementptr %result[8] : (!ptr) -> !ptr, i8
  llvm.store %int_kind, %result : i64, !ptr
  llvm.store %c0, %payload : i64, !ptr
  %slot = llvm.mlir.addressof @state : !ptr
  %state = llvm.load %slot atomic acquire {alignment = 8 : i64} : !ptr -> !ptr
  %is_none = llvm.icmp "eq" %state, %null : !ptr
  llvm.cond_br %is_none, ^end, ^read
^read:
  %number_at = llvm.getelementptr %state[%offset] : (!ptr, i64) -> !ptr, i8
  %number = llvm.load %number_at : !ptr -> i64
  llvm.store %number, %payload : i64, !ptr
  llvm.br ^end
^end:
  llvm.return %ok : i32
}

// At the end of the process, when this code may go: workers leave, and no more are started. Who works meanwhile does so
// alone.
llvm.func @__tvm_ffi___relax_pool_end(%handle: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32 {
  %ok = llvm.mlir.constant(0 : i32) : i32  %null = llvm.mlir.zero : !ptr  %end = llvm.mlir.constant(2 : i64) : i64
  %c0 = llvm.mlir.constant(0 : i64) : i64  %c1 = llvm.mlir.constant(1 : i64) : i64
  %payload = llvm.getelementptr %result[8] : (!ptr) -> !ptr, i8
  llvm.store %c0, %result : i64, !ptr
  llvm.store %c0, %payload : i64, !ptr
  %slot = llvm.mlir.addressof @state : !ptr
  %state = llvm.load %slot atomic acquire {alignment = 8 : i64} : !ptr -> !ptr
  %is_none = llvm.icmp "eq" %state, %null : !ptr
  llvm.cond_br %is_none, ^done, ^lock
^lock:
  %pair = llvm.cmpxchg %state, %c0, %c1 acquire monotonic : !ptr, i64
  %is_free = llvm.extractvalue %pair[1] : !llvm.struct<(i64, i1)>
  llvm.cond_br %is_free, ^stop, ^wait
^wait:
  %yielded = llvm.call @sched_yield() : () -> i32
  llvm.br ^lock
^stop:
  %ending_at = llvm.getelementptr %state[24] : (!ptr) -> !ptr, i8
  %count_at = llvm.getelementptr %state[8] : (!ptr) -> !ptr, i8
  llvm.store %c1, %ending_at : i64, !ptr
  %workers = llvm.load %count_at : !ptr -> i64
  llvm.br ^each(%c0 : i64)
^each(%number: i64):
  %is_left = llvm.icmp "slt" %number, %workers : i64
  llvm.cond_br %is_left, ^one, ^unlock
^one:
  %worker = llvm.call @worker_at(%state, %number) : (!ptr, i64) -> !ptr
  llvm.call @hand(%worker, %end) : (!ptr, i64) -> ()
  %thread_at = llvm.getelementptr %worker[16] : (!ptr) -> !ptr, i8
  %thread = llvm.load %thread_at : !ptr -> i64
  %joined = llvm.call @pthread_join(%thread, %null) : (i64, !ptr) -> i32
  %next = llvm.add %number, %c1 : i64
  llvm.br ^each(%next : i64)
^unlock:
  llvm.store %c0, %count_at : i64, !ptr
  llvm.store %c0, %state atomic release {alignment = 8 : i64} : i64, !ptr
  llvm.br ^done
^done:
  llvm.return %ok : i32
}
