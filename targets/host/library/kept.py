# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""State of a loaded program (memory, constants, functions), and parallel loops."""

from __future__ import annotations

from collections.abc import Callable

from ..native.language import (
    I32, I64, NULL, U64, Array, Ptr, Status, Struct, Text, atomic_load, clear, exchange, fetch_add, library_function,
    local_function, memcpy, place_of, stack, storage, unlikely, unload_function,
)  # fmt: skip
from .prelude import FIRST_OBJECT, INT, POINTER, AnyValue, aligned_alloc, free, pthread_self
from .support import ask_for_large_pages, give_object, is_logged, log, now, release

# ---- blocks of memory ----

#: Bytes before the data of a block, which hold the block's size.
HEADER = 64
ARENA, SCRATCH = 0, 1
#: Two cached blocks of memory: the arena of temporaries and the scratch memory of kernels. A call takes a cached block,
#: or allocates one if it is taken or too small. The last call to return leaves its block.
blocks = storage(Array[I64], 2)


@library_function
def take_block(which: I64, size: I64) -> Ptr:
    """Return memory for a call, or NULL."""
    block = exchange(place_of(blocks[which]), NULL, "acq_rel")
    if block == NULL or U64(block[0]) < U64(size):
        free(block)
        whole = size + HEADER + 63 & -64
        block = Array[I64](aligned_alloc(64, whole))
        if block == NULL:
            return NULL
        ask_for_large_pages(block, whole)
        block[0] = whole - HEADER
    return Ptr(block) + HEADER


@library_function
def give_block(which: I64, data: Ptr) -> None:
    """Keep the block for the next call that needs one, and free the block that it replaces."""
    if data != NULL:
        free(exchange(place_of(blocks[which]), Array[I64](data - HEADER), "acq_rel"))


@local_function
def forget_block(which: I64) -> None:
    """Free a cached block."""
    free(exchange(place_of(blocks[which]), NULL, "acq_rel"))


# ---- tables that the loader fills ----

#: Owners of the constants' memory, of the functions that came with the program, and of the thread pool.
constant_owner = storage(AnyValue)
function_owner = storage(AnyValue)
thread_owner = storage(AnyValue)


@library_function
def set_constants(table: Ptr, wanted: I64, arguments: Array[AnyValue], count: I32) -> Status:
    """Initialize the constants; the loader calls this first.

    Takes a pointer to the addresses of the constants, each aligned to 64, their number, and an object that owns the
    memory. The program references the object until it is unloaded.
    """
    set_table(table, wanted, constant_owner[0], "__relax_set_constants", "constants", arguments, count)


@library_function
def set_functions(table: Ptr, wanted: I64, arguments: Array[AnyValue], count: I32) -> Status:
    """Initialize the functions: their handles in the order of the table, null for a function to look up by name."""
    set_table(table, wanted, function_owner[0], "__relax_set_functions", "functions", arguments, count)


@library_function
def set_threads(table: Ptr, wanted: I64, arguments: Array[AnyValue], count: I32) -> Status:
    """Set the function that shares a range (pool.py), and the address of the largest number of threads."""
    set_table(table, wanted, thread_owner[0], "__relax_set_threads", "addresses of threads", arguments, count)


@local_function
def set_table(
    table: Ptr, wanted: I64, owner: AnyValue, name: Text, word: Text, arguments: Array[AnyValue], count: I32
) -> Status:
    """Fill a table once, from a pointer to the addresses, their number and an owner."""
    if count != 3 or (arguments[0].kind != POINTER) | (arguments[1].kind != INT) | (arguments[2].kind < FIRST_OBJECT):
        raise TypeError("%s: expected a pointer, a count and an owner", name)
    number = arguments[1].payload
    if number != wanted:
        raise ValueError("%s: the code has %lld %s, got %lld", name, wanted, word, number)
    if owner.whole_kind != 0:
        raise ValueError("%s: the %s are set already", name, word)
    give_object(arguments[2], owner)
    memcpy(table, arguments[0].address, wanted * 8)


# ---- random numbers ----

#: Number of keys that the program has drawn. Calls from several threads get different keys.
keys = storage(I64)


@library_function
def random_key() -> I64:
    """Return a new key."""
    return fetch_add(keys, 1, "monotonic")


# ---- parallel loops ----

#: Kind of a record in the log: a range that a thread took.
RANGE = 2


class ThreadTable(Struct):
    """Function that shares a range among threads, and the largest number of threads."""

    share: Callable[[Callable[[Ptr, I64, I64], I32], Ptr, I64, I64, I64, I64], I32]
    limit: Array[I64]


class LoggedRange(Struct):
    """Function of a range and its argument."""

    function: Callable[[Ptr, I64, I64], I32]
    argument: Ptr


@library_function
def parallel(
    table: ThreadTable, function: Callable[[Ptr, I64, I64], I32], argument: Ptr, begin: I64, end: I64, grain: I64
) -> I32:
    """Run `function(argument, begin, end)` over a range, in grains on several threads if there are any."""
    share = table.share
    limit = 1
    if share != NULL and end - begin > grain:
        limit = atomic_load(table.limit, "monotonic")
    if limit <= 1:
        return function(argument, begin, end)
    if unlikely(is_logged()):
        pair = stack(LoggedRange)[0]
        pair.function = function
        pair.argument = argument
        function = logged_range
        argument = pair
    return share(function, argument, begin, end, grain, limit)


@local_function
def logged_range(argument: Ptr, begin: I64, end: I64) -> I32:
    """Run a function with its argument, and log the thread, the range and the time."""
    pair = LoggedRange(argument)
    function = pair.function
    start = now()
    status = function(pair.argument, begin, end)
    stop = now()
    log(RANGE, pthread_self(), start, stop)
    return status


# ---- end of the program ----


@unload_function
def forget_all() -> None:
    """Free the cached memory, and release the owners."""
    forget_block(ARENA)
    forget_block(SCRATCH)
    forget(constant_owner[0])
    forget(function_owner[0])
    forget(thread_owner[0])


@local_function
def forget(owner: AnyValue) -> None:
    """Release a value and leave None."""
    release(owner)
    clear(owner)
