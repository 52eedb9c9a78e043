# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Threads that all programs of a process share: one pool, which the runtime loads once and never unloads.

Each artifact with parallel loops contains the pool as a separate object (runtime/threads.py).

A loop's range is a job on the stack of the calling thread. The caller shows the job to the workers, takes grains as
they do, takes the job back from workers that have not begun, and waits for the others. Each thread has a part of the
range, the same part of each loop, so that it reads from its own cache what it wrote in the loop before. A thread takes
grains from the front of its own part. An idle thread steals from the end of another part. Nobody waits for a worker
that has not woken up: a worker that another program keeps from running delays only the grains that it has begun. While
the loop of one thread is shared, other threads run their loops sequentially.

A forked process has no copy of the state's memory: its only thread finds a pool without workers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from ..flush_modes import FLUSH_MODES

from ..native.language import (  # isort: skip
    I8, I32, I64, NULL, U64, Array, Ptr, Struct, architecture, atomic_load, atomic_store, c_function, clear,
    compare_exchange, exchange, exported_function, fetch_add, intrinsic, likely, local_function, place_of, size_of,
    stack, storage, unlikely,
)  # fmt: skip
from .prelude import (  # isort: skip
    FAILED, INT, OK, AnyValue, TVMFFIErrorMoveFromRaised, TVMFFIErrorSetRaised, TVMFFIObjectDecRef, clock_gettime,
    madvise,
)  # fmt: skip

#: Most workers.
MOST = 255
#: Function that runs a part of a range: `function(argument, begin, end)` returns a status.
RangeFunction = Callable[[Ptr, I64, I64], I32]


class PoolWorker(Struct):
    """Thread of the pool, in cache lines of its own."""

    #: Address of its job, IDLE, BUSY while it works, or END.
    job: I64
    #: 1 while it sleeps.
    sleeps: I64
    thread: I64
    #: Index of its part of a job.
    part: I64
    unused: Annotated[Array[I64], 4]
    semaphore: Annotated[Array[I64], 8]


IDLE, BUSY, END = 0, 1, 2


class PoolState(Struct):
    """State of the pool, in pages of its own."""

    #: 1 while a loop is shared.
    is_shared: I64
    count: I64
    #: 1 if the system refused to start a worker.
    has_failed: I64
    #: 1 at the end of the process.
    is_ending: I64
    unused: Annotated[Array[I64], 12]
    workers: Annotated[Array[PoolWorker], MOST]


class JobPart(Struct):
    """Thread's part of a job, in a cache line of its own."""

    #: Number of its first grain, and in the upper half the number after its last.
    grains: I64
    unused: Annotated[Array[I64], 7]


class Job(Struct):
    """Range of a loop. The fields that change are in another cache line."""

    count: I64
    begin: I64
    end: I64
    grain: I64
    function: RangeFunction
    argument: Ptr
    unused: Annotated[Array[I64], 2]
    #: Place of the first failure, or NOWHERE, and its error, which the lock protects.
    failure: I64
    error: Ptr
    lock: I64
    also_unused: Annotated[Array[I64], 5]
    parts: Annotated[Array[JobPart], 0]


NOWHERE = 9223372036854775807


@c_function
def mmap(address: Ptr, size: I64, protection: I32, flags: I32, file: I32, offset: I64) -> Ptr: ...
@c_function
def munmap(address: Ptr, size: I64) -> I32: ...
@c_function
def pthread_create(thread: Ptr, attributes: Ptr, body: Callable[[PoolWorker], Ptr], argument: Ptr) -> I32: ...
@c_function
def pthread_join(thread: I64, result: Ptr) -> I32: ...
@c_function
def pthread_sigmask(how: I32, signals: Ptr, before: Ptr) -> I32: ...
@c_function
def sched_yield() -> I32: ...
@c_function
def sem_init(semaphore: Ptr, is_shared: I32, value: I32) -> I32: ...
@c_function
def sem_post(semaphore: Ptr) -> I32: ...
@c_function
def sem_wait(semaphore: Ptr) -> I32: ...
@c_function
def sigfillset(signals: Ptr) -> I32: ...


# ---- state ----

#: Address of the state, NULL before the first shared loop.
slot = storage(Ptr)
# PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, no file, MADV_WIPEONFORK.
PROTECTION, FLAGS, NO_FILE, WIPE_ON_FORK = I32(3), I32(34), I32(-1), I32(18)


@local_function
def find_state() -> PoolState:
    """Return the state, or NULL if the system cannot exclude memory from a fork."""
    known = atomic_load(slot, "acquire")
    if known != NULL:
        return PoolState(known)
    size = size_of(PoolState)
    new = mmap(NULL, size, PROTECTION, FLAGS, NO_FILE, 0)
    if I64(new) == -1:
        return NULL
    if madvise(new, size, WIPE_ON_FORK) == OK:
        known, is_ours = compare_exchange(slot, NULL, new, "acq_rel", "acquire")
        if is_ours:
            return PoolState(new)
    munmap(new, size)
    return PoolState(known)


@local_function
def nanoseconds() -> I64:
    """Return the time of the monotonic clock."""
    time = stack(I64, 2)
    clock_gettime(I32(1), time)
    return time[0] * 1000000000 + time[1]


@local_function.inline
def pause() -> None:
    """Tell the processor that this thread polls."""
    if architecture() == "x86_64":
        intrinsic("llvm.x86.sse2.pause", None)
    elif architecture() == "aarch64":
        intrinsic("llvm.aarch64.hint", None, I32(1))  # yield


X86_KEPT, ARM_KEPT = I32(~FLUSH_MODES["x86_64"].bits), ~FLUSH_MODES["aarch64"].bits


@local_function.inline
def keep_denormals() -> None:
    """Clear the bits by which this thread flushes denormal numbers."""
    if architecture() == "x86_64":
        mode = stack(I32)
        intrinsic("llvm.x86.sse.stmxcsr", None, mode)
        mode[0] = mode[0] & X86_KEPT
        intrinsic("llvm.x86.sse.ldmxcsr", None, mode)
    elif architecture() == "aarch64":
        intrinsic("llvm.aarch64.set.fpcr", None, intrinsic("llvm.aarch64.get.fpcr", I64) & ARM_KEPT)


# ---- jobs ----

#: Change of a part that takes its first grain, or its last.
FROM_FRONT, FROM_BEHIND = 1, -1 << 32


@local_function
def work(job: Job, own: I64) -> None:
    """Take grains of a job until none is left, from the own part first. Skip the grains after a failure."""
    count, begin, end, grain = job.count, job.begin, job.end, job.grain
    function, argument = job.function, job.argument
    number = own
    for seen in range(count):
        grains = place_of(job.parts[number].grains)
        change = FROM_FRONT if seen == 0 else FROM_BEHIND
        while True:
            # Taking from an empty part has no effect: its front never gets before its end again.
            both = fetch_add(grains, change, "monotonic")
            front = both & 0xFFFFFFFF
            behind = both >> 32
            if front >= behind:
                break
            index = front if seen == 0 else behind - 1
            start = begin + index * grain
            if likely(start < atomic_load(place_of(job.failure), "monotonic")) and unlikely(
                function(argument, start, start + min(grain, end - start)) != OK
            ):
                note_failure(job, start)
        number += 1
        if number == count:
            number = 0


@local_function.cold
def note_failure(job: Job, start: I64) -> None:
    """Store this thread's error unless an earlier grain has failed.

    All earlier grains run, so that the error in the end is the error that a single thread would raise.
    """
    out = stack(Ptr)
    out[0] = NULL
    TVMFFIErrorMoveFromRaised(out)
    dropped = out[0]
    while exchange(place_of(job.lock), 1, "acquire") != 0:
        sched_yield()
    if start < job.failure:
        error = dropped
        dropped = job.error
        atomic_store(place_of(job.failure), start, "monotonic")
        job.error = error
    atomic_store(place_of(job.lock), 0, "release")
    if dropped != NULL:
        TVMFFIObjectDecRef(dropped)


# ---- workers ----

#: Nanoseconds for which a worker polls after each job. It reads the clock once for a number of polls.
PATIENCE, POLLS = 50000, 64


@local_function
def serve(worker: PoolWorker) -> Ptr:
    """Run the main loop of a worker: poll for the next job, then sleep.

    A new thread inherits the floating-point mode of its creator, which may flush denormal numbers. A worker resets the
    mode, and programs that flush set it for their parts (host-flush-denormals).
    """
    own = worker.part
    keep_denormals()
    deadline = nanoseconds() + PATIENCE
    while True:
        job = poll(worker, deadline)
        if job == END:
            return NULL
        if U64(job) > BUSY:
            _, is_ours = compare_exchange(place_of(worker.job), job, BUSY, "seq_cst", "monotonic")
            if not is_ours:
                continue
            work(Job(job), own)
            atomic_store(place_of(worker.job), IDLE, "release")
        else:
            sleep(worker)
        deadline = nanoseconds() + PATIENCE


@local_function
def poll(worker: PoolWorker, deadline: I64) -> I64:
    """Return a job or END, or IDLE after the deadline."""
    count = 0
    while True:
        job = atomic_load(place_of(worker.job), "seq_cst")
        if U64(job) > BUSY:
            return job
        pause()
        count += 1
        if count >= POLLS:
            if nanoseconds() > deadline:
                return IDLE
            count = 0


@local_function
def sleep(worker: PoolWorker) -> None:
    """Sleep until there is a job."""
    sleeps = place_of(worker.sleeps)
    atomic_store(sleeps, 1, "seq_cst")
    if U64(atomic_load(place_of(worker.job), "seq_cst")) > BUSY and exchange(sleeps, 0, "seq_cst") == 1:
        return
    # Wait also for a post that came meanwhile: each post wakes once.
    while sem_wait(worker.semaphore) != OK:
        pass


@local_function
def hand(worker: PoolWorker, job: I64) -> None:
    """Give a job to a worker and wake the worker."""
    sleeps = place_of(worker.sleeps)
    atomic_store(place_of(worker.job), job, "seq_cst")
    if atomic_load(sleeps, "seq_cst") == 1 and exchange(sleeps, 0, "seq_cst") == 1:
        sem_post(worker.semaphore)


SET_MASK = I32(2)


@local_function
def start_workers(state: PoolState, wanted: I64) -> I64:
    """Start workers up to a number, or to the limit of the system. Return their number. Workers block all signals."""
    number = state.count
    most = min(wanted, MOST)
    if number >= most or state.has_failed != 0:
        return number
    signals = stack(I64, 16)
    before = stack(I64, 16)
    sigfillset(signals)
    pthread_sigmask(SET_MASK, signals, before)
    while number < most:
        worker = state.workers[number]
        sem_init(worker.semaphore, I32(0), I32(0))
        worker.part = number + 1
        if pthread_create(place_of(worker.thread), NULL, serve, worker) != OK:
            state.has_failed = 1
            break
        number += 1
    state.count = number
    pthread_sigmask(SET_MASK, before, NULL)
    return number


# ---- called by programs ----

#: Grains are counted in 31 bits.
MOST_GRAINS = 2147483392


@local_function
def share(function: RangeFunction, argument: Ptr, begin: I64, end: I64, asked: I64, threads: I64) -> I32:
    """Run `function(argument, begin, end)` over a range, in grains, on at most `threads` threads.

    Return the status, with the error set. A grain of 0 selects eight grains for each thread.
    """
    state = find_state()
    grain = asked if asked > 0 else max((end - begin) // (threads * 8), 1)
    others = (end - begin - 1) // grain
    if state != NULL and others < MOST_GRAINS:
        _, is_free = compare_exchange(place_of(state.is_shared), 0, 1, "acquire", "monotonic")
        if is_free:
            if state.is_ending == 0:
                return share_grains(state, function, argument, begin, end, grain, others, threads)
            atomic_store(place_of(state.is_shared), 0, "release")
    return function(argument, begin, end)


@local_function
def share_grains(
    state: PoolState, function: RangeFunction, argument: Ptr, begin: I64, end: I64, grain: I64, others: I64,
    threads: I64,
) -> I32:  # fmt: skip
    """Share a grain and a number of others among the threads. The state is this thread's."""
    useful = min(others, threads - 1)
    workers = min(start_workers(state, useful), useful)
    count = workers + 1
    job = Job(stack(I8, size_of(Job) + count * size_of(JobPart), 64))
    job.count = count
    job.begin = begin
    job.end = end
    job.grain = grain
    job.function = function
    job.argument = argument
    job.failure = NOWHERE
    job.error = NULL
    job.lock = 0
    # The caller's part, the first, is the longest: the caller begins earlier.
    front = 0
    for index in range(count):
        behind = ((index + 1) * (others + 1) + workers) // count
        job.parts[index].grains = behind << 32 | front
        front = behind
    for number in range(workers):
        hand(state.workers[number], I64(job))
    work(job, 0)
    for number in range(workers):
        _, is_back = compare_exchange(place_of(state.workers[number].job), I64(job), IDLE, "acq_rel", "acquire")
        if not is_back:
            wait_for(state.workers[number])
    atomic_store(place_of(state.is_shared), 0, "release")
    error = job.error
    status = OK if job.failure == NOWHERE else FAILED
    if error != NULL:
        TVMFFIErrorSetRaised(error)
        TVMFFIObjectDecRef(error)
    return status


@local_function
def wait_for(worker: PoolWorker) -> None:
    """Wait until a worker has finished the grains that it began."""
    count = 0
    while atomic_load(place_of(worker.job), "acquire") != IDLE:
        pause()
        count += 1
        if count >= 2000:
            sched_yield()
            count = 0


# ---- called by the runtime ----


@exported_function
def pool(handle: Ptr, arguments: Ptr, count: I32, result: AnyValue) -> I32:
    """Return the address of the function that shares a range."""
    return give(I64(Ptr(share)), result)


@exported_function
def pool_workers(handle: Ptr, arguments: Ptr, count: I32, result: AnyValue) -> I32:
    """Return the number of workers that this process has started."""
    state = PoolState(atomic_load(slot, "acquire"))
    return give(state.count if state != NULL else 0, result)


@exported_function
def pool_failed(handle: Ptr, arguments: Ptr, count: I32, result: AnyValue) -> I32:
    """Check whether the system refused to start a worker, or to exclude memory from a fork."""
    state = find_state()
    return give(state.has_failed if state != NULL else 1, result)


@local_function
def give(number: I64, result: AnyValue) -> I32:
    """Return an integer to the runtime."""
    result.whole_kind = INT
    result.payload = number
    return OK


@exported_function
def pool_end(handle: Ptr, arguments: Ptr, count: I32, result: AnyValue) -> I32:
    """End the workers and start no more, at the end of the process, when this code may be unloaded.

    Loops run sequentially from then on.
    """
    clear(result)
    state = PoolState(atomic_load(slot, "acquire"))
    if state == NULL:
        return OK
    is_free = False
    while not is_free:
        _, is_free = compare_exchange(place_of(state.is_shared), 0, 1, "acquire", "monotonic")
        if not is_free:
            sched_yield()
    state.is_ending = 1
    for number in range(state.count):
        worker = state.workers[number]
        hand(worker, END)
        pthread_join(worker.thread, NULL)
    state.count = 0
    atomic_store(place_of(state.is_shared), 0, "release")
    return OK
