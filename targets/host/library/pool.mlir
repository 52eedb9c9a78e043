// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The threads that all programs of a process share: one pool, which the runtime loads once and never unloads
// (runtime/threads.py). Each artifact with parallel loops contains it as a separate object.
//
// A loop's range is a job on the stack of the calling thread. The caller shows the job to the workers, takes grains as
// they do, takes the job back from workers that have not begun, and waits for the others. Each thread has a part of the
// range, the same part of each loop, so that it reads from its own cache what it wrote in the loop before. A thread
// takes grains from the front of its own part. An idle thread steals from the end of another part. Nobody waits for a
// worker that has not woken up: a worker that another program keeps from running delays only the grains that it has
// begun. While the loop of one thread is shared, other threads run their loops sequentially.
//
// A forked process has no copy of the state's memory: its only thread finds a pool without workers.

// Bytes of the state, in pages of its own: 1 while a loop is shared (0), number of workers (8), 1 if starting a worker
// failed (16), 1 at the end of the process (24). From 128 on 128 bytes for each worker: its job, null, or 1 while it works
// (0), 1 while it sleeps (8), its thread (16), the index of its part of a job (24), a semaphore (64).
// Bytes of a job: number of parts (0), begin (8) and end (16) of the range, grain (24), function (32) and its argument
// (40); on the next cache line the place of the first failure (64), its error (72), the lock of the error (80).
// From 128 on a cache line for each part: the number of its first grain and the number after its last, 32 bits each.
!job = !llvm.struct<(i64, i64, i64, i64, ptr, ptr)>

func.func private @mmap(!ptr, i64, i32, i32, i32, i64) -> !ptr
func.func private @munmap(!ptr, i64) -> i32
func.func private @pthread_create(!ptr, !ptr, !ptr, !ptr) -> i32
func.func private @pthread_join(i64, !ptr) -> i32
func.func private @pthread_sigmask(i32, !ptr, !ptr) -> i32
func.func private @sched_yield() -> i32
func.func private @sem_init(!ptr, i32, i32) -> i32
func.func private @sem_post(!ptr) -> i32
func.func private @sem_wait(!ptr) -> i32
func.func private @sigfillset(!ptr) -> i32

llvm.mlir.global internal @state(0 : i64) {alignment = 8 : i64} : i64

// Return the state, or null if the system cannot exclude memory from a fork.
func.func private @find_state() -> !ptr {
  %null = llvm.mlir.zero : !ptr  %none = arith.constant -1 : i64
  %slot = llvm.mlir.addressof @state : !ptr
  %known = llvm.load %slot atomic acquire {alignment = 8 : i64} : !ptr -> !ptr
  %is_known = llvm.icmp "ne" %known, %null : !ptr
  cf.cond_br %is_known, ^give(%known : !ptr), ^map
^give(%state: !ptr):
  return %state : !ptr
^map:
  // Room for 255 workers. Readable and writable; private, anonymous.
  %bytes = arith.constant 32768 : i64  %c0 = arith.constant 0 : i64
  %protection = arith.constant 3 : i32  %flags = arith.constant 34 : i32  %no_file = arith.constant -1 : i32
  %made = func.call @mmap(%null, %bytes, %protection, %flags, %no_file, %c0) : (!ptr, i64, i32, i32, i32, i64) -> !ptr
  %address = llvm.ptrtoint %made : !ptr to i64  %failed = arith.cmpi eq, %address, %none : i64
  cf.cond_br %failed, ^give(%null : !ptr), ^wipe
^wipe:
  %wipe_on_fork = arith.constant 18 : i32  %ok = arith.constant 0 : i32
  %status = func.call @madvise(%made, %bytes, %wipe_on_fork) : (!ptr, i64, i32) -> i32
  %is_wiped = arith.cmpi eq, %status, %ok : i32
  cf.cond_br %is_wiped, ^publish, ^drop(%null : !ptr)
^publish:
  %pair = llvm.cmpxchg %slot, %null, %made acq_rel acquire : !ptr, !ptr
  %first = llvm.extractvalue %pair[0] : !llvm.struct<(ptr, i1)>
  %is_mine = llvm.extractvalue %pair[1] : !llvm.struct<(ptr, i1)>
  cf.cond_br %is_mine, ^give(%made : !ptr), ^drop(%first : !ptr)
^drop(%other: !ptr):
  %gone = func.call @munmap(%made, %bytes) : (!ptr, i64) -> i32
  cf.br ^give(%other : !ptr)
}

func.func private @worker_at(%state: !ptr, %number: i64) -> !ptr {
  %first = llvm.getelementptr %state[128] : (!ptr) -> !ptr, i8
  %worker = llvm.getelementptr %first[%number] : (!ptr, i64) -> !ptr, !llvm.array<128 x i8>
  return %worker : !ptr
}

func.func private @nanoseconds() -> i64 {
  %giga = arith.constant 1000000000 : i64  %c1 = arith.constant 1 : i64  %monotonic = arith.constant 1 : i32
  %time = llvm.alloca %c1 x !any : (i64) -> !ptr
  %status = func.call @clock_gettime(%monotonic, %time) : (i32, !ptr) -> i32
  %both = llvm.load %time : !ptr -> !any
  %seconds = llvm.extractvalue %both[0] : !any  %rest = llvm.extractvalue %both[1] : !any
  %whole = arith.muli %seconds, %giga : i64  %now = arith.addi %whole, %rest : i64
  return %now : i64
}

// ---- jobs ----

// Take grains of a job until none is left, from the own part first. Skip the grains after a failure.
func.func private @work(%job: !ptr, %own: i64) {
  %ok = arith.constant 0 : i32  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64  %low = arith.constant 4294967295 : i64  %from_behind = arith.constant -4294967296 : i64
  %first_at = llvm.getelementptr %job[64] : (!ptr) -> !ptr, i8
  %about = llvm.load %job : !ptr -> !job  %parts = llvm.extractvalue %about[0] : !job
  %from = llvm.extractvalue %about[1] : !job  %end = llvm.extractvalue %about[2] : !job
  %grain = llvm.extractvalue %about[3] : !job  %function = llvm.extractvalue %about[4] : !job
  %argument = llvm.extractvalue %about[5] : !job
  cf.br ^part(%own, %c0 : i64, i64)
^part(%number: i64, %seen: i64):
  %is_own = arith.cmpi eq, %seen, %c0 : i64  %change = arith.select %is_own, %c1, %from_behind : i64
  %part = func.call @part_of(%job, %number) : (!ptr, i64) -> !ptr
  cf.br ^next
^next:
  // Taking from an empty part has no effect: its front never gets before its end again.
  %both = llvm.atomicrmw add %part, %change monotonic : !ptr, i64  %front = arith.andi %both, %low : i64
  %behind = arith.shrsi %both, %c32 : i64  %is_left = arith.cmpi slt, %front, %behind : i64
  cf.cond_br %is_left, ^take, ^other
^take:
  %last = arith.subi %behind, %c1 : i64  %index = arith.select %is_own, %front, %last : i64
  %offset = arith.muli %index, %grain : i64  %start = arith.addi %from, %offset : i64
  %first = llvm.load %first_at atomic monotonic {alignment = 8 : i64} : !ptr -> i64
  %is_wanted = arith.cmpi slt, %start, %first : i64
  cf.cond_br %is_wanted weights([2000, 1]), ^run, ^next
^run:
  %left = arith.subi %end, %start : i64  %length = arith.minsi %grain, %left : i64
  %stop = arith.addi %start, %length : i64
  %status = llvm.call %function(%argument, %start, %stop) : !ptr, (!ptr, i64, i64) -> i32
  %is_ok = arith.cmpi eq, %status, %ok : i32
  cf.cond_br %is_ok weights([2000, 1]), ^next, ^fail
^fail:
  func.call @note_failure(%job, %start) : (!ptr, i64) -> ()
  cf.br ^next
^other:
  %seen_now = arith.addi %seen, %c1 : i64  %are_more = arith.cmpi slt, %seen_now, %parts : i64
  %after = arith.addi %number, %c1 : i64  %is_over = arith.cmpi eq, %after, %parts : i64
  %around = arith.select %is_over, %c0, %after : i64
  cf.cond_br %are_more, ^part(%around, %seen_now : i64, i64), ^done
^done:
  return
}

func.func private @part_of(%job: !ptr, %number: i64) -> !ptr {
  %first = llvm.getelementptr %job[128] : (!ptr) -> !ptr, i8
  %part = llvm.getelementptr %first[%number] : (!ptr, i64) -> !ptr, !llvm.array<64 x i8>
  return %part : !ptr
}

// Store this thread's error unless an earlier grain has failed. All earlier grains run, so that the error in the end is
// the error that a single thread would raise.
func.func private @note_failure(%job: !ptr, %start: i64) attributes {llvm.cold, llvm.no_inline} {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64
  %null = llvm.mlir.zero : !ptr  %slot = llvm.alloca %c1 x !ptr : (i64) -> !ptr
  llvm.store %null, %slot : !ptr, !ptr
  func.call @TVMFFIErrorMoveFromRaised(%slot) : (!ptr) -> ()
  %error = llvm.load %slot : !ptr -> !ptr  %first_at = llvm.getelementptr %job[64] : (!ptr) -> !ptr, i8
  %error_at = llvm.getelementptr %job[72] : (!ptr) -> !ptr, i8  %lock = llvm.getelementptr %job[80] : (!ptr) -> !ptr, i8
  scf.while : () -> () {
    %held = llvm.atomicrmw xchg %lock, %c1 acquire : !ptr, i64  %is_taken = arith.cmpi ne, %held, %c0 : i64
    scf.condition(%is_taken)
  } do {
    %yielded = func.call @sched_yield() : () -> i32
    scf.yield
  }
  %first = llvm.load %first_at : !ptr -> i64  %is_first = arith.cmpi slt, %start, %first : i64
  %unwanted = scf.if %is_first -> !ptr {
    %other = llvm.load %error_at : !ptr -> !ptr
    llvm.store %start, %first_at atomic monotonic {alignment = 8 : i64} : i64, !ptr
    llvm.store %error, %error_at : !ptr, !ptr
    scf.yield %other : !ptr
  } else {
    scf.yield %error : !ptr
  }
  llvm.store %c0, %lock atomic release {alignment = 8 : i64} : i64, !ptr
  %is_some = llvm.icmp "ne" %unwanted, %null : !ptr
  scf.if %is_some {
    %status = func.call @TVMFFIObjectDecRef(%unwanted) : (!ptr) -> i32
  }
  return
}

// ---- workers ----

// Main loop of a worker: poll for the next job for 50 microseconds after each job, then sleep. A new thread inherits the
// floating-point mode of its creator, which may flush denormal numbers. A worker resets the mode, and programs that flush
// set it for their parts (host-flush-denormals).
llvm.func internal @serve(%worker: !ptr) -> !ptr {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64  %patience = arith.constant 50000 : i64
  %ok = arith.constant 0 : i32  %end = arith.constant 2 : i64  %null = llvm.mlir.zero : !ptr
  %sleeps = llvm.getelementptr %worker[8] : (!ptr) -> !ptr, i8
  %semaphore = llvm.getelementptr %worker[64] : (!ptr) -> !ptr, i8
  %own_at = llvm.getelementptr %worker[24] : (!ptr) -> !ptr, i8  %own = llvm.load %own_at : !ptr -> i64
  func.call @keep_denormals() : () -> ()
  cf.br ^idle
^idle:
  %now = func.call @nanoseconds() : () -> i64
  %deadline = arith.addi %now, %patience : i64
  cf.br ^look(%c0 : i64)
^look(%count: i64):
  %job = llvm.load %worker atomic seq_cst {alignment = 8 : i64} : !ptr -> i64
  %is_job = arith.cmpi ugt, %job, %c1 : i64
  cf.cond_br %is_job, ^take(%job : i64), ^wait
^wait:
  func.call @pause() : () -> ()
  %next = arith.addi %count, %c1 : i64  %is_long = arith.cmpi uge, %next, %c64 : i64
  cf.cond_br %is_long, ^time, ^look(%next : i64)
^time:
  %later = func.call @nanoseconds() : () -> i64
  %is_over = arith.cmpi sgt, %later, %deadline : i64
  cf.cond_br %is_over, ^lie_down, ^look(%c0 : i64)
^lie_down:
  llvm.store %c1, %sleeps atomic seq_cst {alignment = 8 : i64} : i64, !ptr
  %late = llvm.load %worker atomic seq_cst {alignment = 8 : i64} : !ptr -> i64
  %is_late = arith.cmpi ugt, %late, %c1 : i64
  cf.cond_br %is_late, ^rise, ^sleep
^rise:
  // Wait for a post that came meanwhile: each post wakes once.
  %slept = llvm.atomicrmw xchg %sleeps, %c0 seq_cst : !ptr, i64
  %is_awake = arith.cmpi eq, %slept, %c1 : i64
  cf.cond_br %is_awake, ^idle, ^sleep
^sleep:
  %woken = func.call @sem_wait(%semaphore) : (!ptr) -> i32
  %is_woken = arith.cmpi eq, %woken, %ok : i32
  cf.cond_br %is_woken, ^idle, ^sleep
^take(%taken: i64):
  %is_end = arith.cmpi eq, %taken, %end : i64
  cf.cond_br %is_end, ^leave, ^begin
^leave:
  llvm.return %null : !ptr
^begin:
  %pair = llvm.cmpxchg %worker, %taken, %c1 seq_cst monotonic : !ptr, i64
  %is_mine = llvm.extractvalue %pair[1] : !swapped
  cf.cond_br %is_mine, ^work, ^look(%c0 : i64)
^work:
  %at = llvm.inttoptr %taken : i64 to !ptr
  func.call @work(%at, %own) : (!ptr, i64) -> ()
  llvm.store %c0, %worker atomic release {alignment = 8 : i64} : i64, !ptr
  cf.br ^idle
}

// Give a job to a worker and wake the worker.
func.func private @hand(%worker: !ptr, %job: i64) {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64
  %sleeps = llvm.getelementptr %worker[8] : (!ptr) -> !ptr, i8
  llvm.store %job, %worker atomic seq_cst {alignment = 8 : i64} : i64, !ptr
  %now = llvm.load %sleeps atomic seq_cst {alignment = 8 : i64} : !ptr -> i64
  %may_sleep = arith.cmpi eq, %now, %c1 : i64
  scf.if %may_sleep {
    %slept = llvm.atomicrmw xchg %sleeps, %c0 seq_cst : !ptr, i64  %is_asleep = arith.cmpi eq, %slept, %c1 : i64
    scf.if %is_asleep {
      %semaphore = llvm.getelementptr %worker[64] : (!ptr) -> !ptr, i8
      %status = func.call @sem_post(%semaphore) : (!ptr) -> i32
    }
  }
  return
}

// Start workers up to a number, or to the limit of the system. Return their number. Workers block all signals.
func.func private @start(%state: !ptr, %wanted: i64) -> i64 {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %c16 = arith.constant 16 : i64
  %ok = arith.constant 0 : i32  %set_mask = arith.constant 2 : i32  %most = arith.constant 255 : i64
  %null = llvm.mlir.zero : !ptr
  %count_at = llvm.getelementptr %state[8] : (!ptr) -> !ptr, i8  %had = llvm.load %count_at : !ptr -> i64
  %failed_at = llvm.getelementptr %state[16] : (!ptr) -> !ptr, i8
  %all = arith.minsi %wanted, %most : i64  %is_enough = arith.cmpi sge, %had, %all : i64
  cf.cond_br %is_enough, ^give(%had : i64), ^look
^give(%count: i64):
  return %count : i64
^look:
  %has_failed = llvm.load %failed_at : !ptr -> i64  %may_start = arith.cmpi eq, %has_failed, %c0 : i64
  cf.cond_br %may_start, ^block, ^give(%had : i64)
^block:
  %signals = llvm.alloca %c16 x i64 : (i64) -> !ptr  %before = llvm.alloca %c16 x i64 : (i64) -> !ptr
  %filled = func.call @sigfillset(%signals) : (!ptr) -> i32
  %blocked = func.call @pthread_sigmask(%set_mask, %signals, %before) : (i32, !ptr, !ptr) -> i32
  cf.br ^more(%had : i64)
^more(%number: i64):
  %is_missing = arith.cmpi slt, %number, %all : i64
  cf.cond_br %is_missing, ^make, ^done(%number : i64)
^make:
  %worker = func.call @worker_at(%state, %number) : (!ptr, i64) -> !ptr
  %thread = llvm.getelementptr %worker[16] : (!ptr) -> !ptr, i8
  %semaphore = llvm.getelementptr %worker[64] : (!ptr) -> !ptr, i8
  %ready = func.call @sem_init(%semaphore, %ok, %ok) : (!ptr, i32, i32) -> i32
  %own_at = llvm.getelementptr %worker[24] : (!ptr) -> !ptr, i8  %next = arith.addi %number, %c1 : i64
  llvm.store %next, %own_at : i64, !ptr
  %body = llvm.mlir.addressof @serve : !ptr
  %status = func.call @pthread_create(%thread, %null, %body, %worker) : (!ptr, !ptr, !ptr, !ptr) -> i32
  %is_made = arith.cmpi eq, %status, %ok : i32
  cf.cond_br %is_made, ^more(%next : i64), ^fail
^fail:
  llvm.store %c1, %failed_at : i64, !ptr
  cf.br ^done(%number : i64)
^done(%last: i64):
  llvm.store %last, %count_at : i64, !ptr
  %restored = func.call @pthread_sigmask(%set_mask, %before, %null) : (i32, !ptr, !ptr) -> i32
  cf.br ^give(%last : i64)
}

// ---- called by programs ----

// Run `function(argument, from, to)` over a range, in grains, on at most `threads` threads. Return the status, with the
// error set. A grain of 0 selects eight grains for each thread.
llvm.func internal @share(%function: !ptr, %argument: !ptr, %from: i64, %to: i64, %asked: i64, %threads: i64) -> i32 {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %c8 = arith.constant 8 : i64
  %ok = arith.constant 0 : i32  %failure = arith.constant -1 : i32  %furthest = arith.constant 9223372036854775807 : i64
  %null = llvm.mlir.zero : !ptr  %state = func.call @find_state() : () -> !ptr
  %length = arith.subi %to, %from : i64  %before_last = arith.subi %length, %c1 : i64
  %most_grains = arith.muli %threads, %c8 : i64  %suiting = arith.divsi %length, %most_grains : i64
  %at_least_one = arith.maxsi %suiting, %c1 : i64  %is_asked = arith.cmpi sgt, %asked, %c0 : i64
  %grain = arith.select %is_asked, %asked, %at_least_one : i64  %others = arith.divsi %before_last, %grain : i64
  // Grains are counted in 31 bits.
  %most = arith.constant 2147483392 : i64  %are_few = arith.cmpi slt, %others, %most : i64
  %is_there = llvm.icmp "ne" %state, %null : !ptr  %is_worth_it = arith.andi %is_there, %are_few : i1
  cf.cond_br %is_worth_it, ^enter, ^alone
^alone:
  %own = llvm.call %function(%argument, %from, %to) : !ptr, (!ptr, i64, i64) -> i32
  llvm.return %own : i32
^enter:
  %pair = llvm.cmpxchg %state, %c0, %c1 acquire monotonic : !ptr, i64
  %is_free = llvm.extractvalue %pair[1] : !swapped
  cf.cond_br %is_free, ^look, ^alone
^look:
  %ending_at = llvm.getelementptr %state[24] : (!ptr) -> !ptr, i8  %ending = llvm.load %ending_at : !ptr -> i64
  %goes_on = arith.cmpi eq, %ending, %c0 : i64
  cf.cond_br %goes_on, ^prepare, ^give_up
^give_up:
  llvm.store %c0, %state atomic release {alignment = 8 : i64} : i64, !ptr
  cf.br ^alone
^prepare:
  %allowed = arith.subi %threads, %c1 : i64  %useful = arith.minsi %others, %allowed : i64
  %there = func.call @start(%state, %useful) : (!ptr, i64) -> i64
  %workers = arith.minsi %there, %useful : i64  %parts = arith.addi %workers, %c1 : i64
  %c64 = arith.constant 64 : i64  %c128 = arith.constant 128 : i64
  %lines = arith.muli %parts, %c64 : i64  %bytes = arith.addi %lines, %c128 : i64
  %job = llvm.alloca %bytes x i8 {alignment = 64 : i64} : (i64) -> !ptr
  %j0 = llvm.mlir.zero : !job  %j1 = llvm.insertvalue %parts, %j0[0] : !job
  %j2 = llvm.insertvalue %from, %j1[1] : !job  %j3 = llvm.insertvalue %to, %j2[2] : !job
  %j4 = llvm.insertvalue %grain, %j3[3] : !job  %j5 = llvm.insertvalue %function, %j4[4] : !job
  %j6 = llvm.insertvalue %argument, %j5[5] : !job
  llvm.store %j6, %job : !job, !ptr
  %first_at = llvm.getelementptr %job[64] : (!ptr) -> !ptr, i8  %error_at = llvm.getelementptr %job[72] : (!ptr) -> !ptr, i8
  %lock_at = llvm.getelementptr %job[80] : (!ptr) -> !ptr, i8
  llvm.store %furthest, %first_at : i64, !ptr
  llvm.store %null, %error_at : !ptr, !ptr
  llvm.store %c0, %lock_at : i64, !ptr
  %address = llvm.ptrtoint %job : !ptr to i64  %grains = arith.addi %others, %c1 : i64
  // The caller's part, the first, is the longest: the caller begins earlier.
  %end = scf.for %index = %c0 to %parts step %c1 iter_args(%front = %c0) -> (i64) : i64 {
    %after = arith.addi %index, %c1 : i64  %scaled = arith.muli %after, %grains : i64
    %rounded = arith.addi %scaled, %workers : i64  %behind = arith.divsi %rounded, %parts : i64
    %c32 = arith.constant 32 : i64  %high = arith.shli %behind, %c32 : i64  %both = arith.ori %high, %front : i64
    %part = func.call @part_of(%job, %index) : (!ptr, i64) -> !ptr
    llvm.store %both, %part : i64, !ptr
    scf.yield %behind : i64
  }
  scf.for %number = %c0 to %workers step %c1 : i64 {
    %worker = func.call @worker_at(%state, %number) : (!ptr, i64) -> !ptr
    func.call @hand(%worker, %address) : (!ptr, i64) -> ()
  }
  func.call @work(%job, %c0) : (!ptr, i64) -> ()
  scf.for %number = %c0 to %workers step %c1 : i64 {
    %worker = func.call @worker_at(%state, %number) : (!ptr, i64) -> !ptr
    %back = llvm.cmpxchg %worker, %address, %c0 acq_rel acquire : !ptr, i64
    %is_back = llvm.extractvalue %back[1] : !swapped
    scf.if %is_back {
    } else {
      func.call @wait_for(%worker) : (!ptr) -> ()
    }
  }
  llvm.store %c0, %state atomic release {alignment = 8 : i64} : i64, !ptr
  %error = llvm.load %error_at : !ptr -> !ptr  %is_error = llvm.icmp "ne" %error, %null : !ptr
  %first = llvm.load %first_at : !ptr -> i64  %is_good = arith.cmpi eq, %first, %furthest : i64
  %status = arith.select %is_good, %ok, %failure : i32
  scf.if %is_error {
    func.call @TVMFFIErrorSetRaised(%error) : (!ptr) -> ()
    %released = func.call @TVMFFIObjectDecRef(%error) : (!ptr) -> i32
  }
  llvm.return %status : i32
}
// Wait until a worker has finished the grains that it began.
func.func private @wait_for(%worker: !ptr) {
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %patience = arith.constant 2000 : i64
  %all = scf.while (%count = %c0) : (i64) -> (i64) {
    %left = llvm.load %worker atomic acquire {alignment = 8 : i64} : !ptr -> i64
    %is_busy = arith.cmpi ne, %left, %c0 : i64
    scf.condition(%is_busy) %count : i64
  } do {
  ^bb0(%count: i64):
    func.call @pause() : () -> ()
    %more = arith.addi %count, %c1 : i64  %is_long = arith.cmpi uge, %more, %patience : i64
    scf.if %is_long {
      %yielded = func.call @sched_yield() : () -> i32
    }
    %next = arith.select %is_long, %c0, %more : i64
    scf.yield %next : i64
  }
  return
}

// ---- called by the runtime, with the packed-function ABI ----

// Return the address of the function that shares a range.
func.func @__tvm_ffi___relax_pool(%handle: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32 {
  %share = llvm.mlir.addressof @share : !ptr  %address = llvm.ptrtoint %share : !ptr to i64
  %status = func.call @give(%address, %result) : (i64, !ptr) -> i32
  return %status : i32
}
func.func private @give(%number: i64, %result: !ptr) -> i32 {
  %ok = arith.constant 0 : i32  %int_kind = arith.constant 1 : i64
  %payload = llvm.getelementptr %result[8] : (!ptr) -> !ptr, i8
  llvm.store %int_kind, %result : i64, !ptr
  llvm.store %number, %payload : i64, !ptr
  return %ok : i32
}

// Return the number of workers that this process has started.
func.func @__tvm_ffi___relax_pool_workers(%handle: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32 {
  %workers_at = arith.constant 8 : i64  %status = func.call @tell(%workers_at, %result) : (i64, !ptr) -> i32
  return %status : i32
}

// Check whether the system refused to start a worker.
func.func @__tvm_ffi___relax_pool_failed(%handle: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32 {
  %failed_at = arith.constant 16 : i64  %status = func.call @tell(%failed_at, %result) : (i64, !ptr) -> i32
  return %status : i32
}

// Return a number of the state, or 0 before the first shared loop.
func.func private @tell(%offset: i64, %result: !ptr) -> i32 {
  %c0 = arith.constant 0 : i64  %null = llvm.mlir.zero : !ptr  %slot = llvm.mlir.addressof @state : !ptr
  %state = llvm.load %slot atomic acquire {alignment = 8 : i64} : !ptr -> !ptr
  %is_some = llvm.icmp "ne" %state, %null : !ptr
  %number = scf.if %is_some -> i64 {
    %number_at = llvm.getelementptr %state[%offset] : (!ptr, i64) -> !ptr, i8  %loaded = llvm.load %number_at : !ptr -> i64
    scf.yield %loaded : i64
  } else {
    scf.yield %c0 : i64
  }
  %status = func.call @give(%number, %result) : (i64, !ptr) -> i32
  return %status : i32
}

// End the workers and start no more, at the end of the process, when this code may be unloaded. Loops run sequentially
// from then on.
func.func @__tvm_ffi___relax_pool_end(%handle: !ptr, %args: !ptr, %count: i32, %result: !ptr) -> i32 {
  %ok = arith.constant 0 : i32  %end = arith.constant 2 : i64  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64
  %null = llvm.mlir.zero : !ptr  %none = llvm.mlir.zero : !any
  llvm.store %none, %result : !any, !ptr
  %slot = llvm.mlir.addressof @state : !ptr
  %state = llvm.load %slot atomic acquire {alignment = 8 : i64} : !ptr -> !ptr
  %is_some = llvm.icmp "ne" %state, %null : !ptr
  scf.if %is_some {
    scf.while : () -> () {
      %pair = llvm.cmpxchg %state, %c0, %c1 acquire monotonic : !ptr, i64
      %is_free = llvm.extractvalue %pair[1] : !swapped
      %yes = arith.constant true  %is_taken = arith.xori %is_free, %yes : i1
      scf.condition(%is_taken)
    } do {
      %yielded = func.call @sched_yield() : () -> i32
      scf.yield
    }
    %ending_at = llvm.getelementptr %state[24] : (!ptr) -> !ptr, i8
    llvm.store %c1, %ending_at : i64, !ptr
    %count_at = llvm.getelementptr %state[8] : (!ptr) -> !ptr, i8  %workers = llvm.load %count_at : !ptr -> i64
    scf.for %number = %c0 to %workers step %c1 : i64 {
      %worker = func.call @worker_at(%state, %number) : (!ptr, i64) -> !ptr
      func.call @hand(%worker, %end) : (!ptr, i64) -> ()
      %thread_at = llvm.getelementptr %worker[16] : (!ptr) -> !ptr, i8  %thread = llvm.load %thread_at : !ptr -> i64
      %joined = func.call @pthread_join(%thread, %null) : (i64, !ptr) -> i32
    }
    llvm.store %c0, %count_at : i64, !ptr
    llvm.store %c0, %state atomic release {alignment = 8 : i64} : i64, !ptr
  }
  return %ok : i32
}
