# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that are lists of C calls. runtime/native_calls.py builds the structures that they read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, cast

from ..native.language import (
    F32, F64, I32, I64, NULL, U32, Array, Ptr, Status, Struct, Text, c_function, clear, function_table, intrinsic,
    library_function, local_function, place_of, require_ok, stack,
)  # fmt: skip
from .prelude import (
    INT, OBJECT_HEADER, OK, POINTER, TENSOR, TENSOR_POINTER, AnyValue, DLTensor, TVMFFIFunctionCall,
    TVMFFIObjectDecRef, TVMFFIObjectIncRef,
)  # fmt: skip
from .support import is_logged, log, now

#: Kind of a function among values, and of a call in the log.
FUNCTION, CALL = 68, 3
#: Flags of a call: it returns a status, it is made even after a failure, it takes many words, it is a kernel of this
#: file by its number.
IS_STATUS, IS_ALWAYS, IS_LARGE, IS_KERNEL = 1, 2, 4, 8
#: Functions of few words, and of many. Integers and floats have their own registers, in any order of parameters.
FewWords = Callable[[I64, I64, I64, I64, I64, I64], I64]
ManyWords = Callable[[
    F64, F64, F64, F64, F64, F64, F64, F64, I64, I64, I64, I64, I64, I64, I64, I64, I64, I64, I64, I64, I64, I64, I64,
    I64, I64, I64, I64, I64, I64, I64, I64, I64,
], I64]  # fmt: skip


class FrameLayout(Struct):
    """Layout of a tensor: rank, 1 if contiguous, sizes, then strides."""

    rank: I64
    is_contiguous: I64
    sizes: Annotated[Array[I64], 0]


class PassedAddress(Struct):
    """Place for the address of an argument plus an offset."""

    place: Array[Ptr]
    argument: I64
    offset: I64


class NativeCall(Struct):
    """Function, its flags, words, then floats if they are many, the place of its result, and its name."""

    function: Ptr
    flags: I64
    words: Array[I64]
    result: Array[I64]
    name: Text


class Frame(Struct):
    """Next idle frame, layouts of the tensors that the frame accepts, addresses to pass, and calls."""

    next: Ptr
    layouts: FrameLayout
    passed_count: I64
    passed: Array[PassedAddress]
    call_count: I64
    calls: Array[NativeCall]


class NativeFunction(Struct):
    """Idle frames, the latest first, the function that creates frames, limits, and the part's name."""

    idle: Ptr
    make: Ptr
    argument_count: I64
    most_idle: I64
    name: Text
    mutex: Annotated[Array[I64], 8]


@c_function
def memcmp(a: Ptr, b: Ptr, size: I64) -> I32: ...
@c_function
def pthread_mutex_lock(mutex: Ptr) -> I32: ...
@c_function
def pthread_mutex_unlock(mutex: Ptr) -> I32: ...
@c_function
def TVMFFIFunctionCreate(
    self: NativeFunction, call: Callable[[NativeFunction, Array[AnyValue], I32, AnyValue], I32],
    delete: Callable[[NativeFunction], None], function: Array[Ptr],
) -> I32: ...  # fmt: skip


@library_function
def native_function(arguments: Array[AnyValue], count: I32, result: AnyValue) -> Status:
    """Create a function from the address of its description, and from an owned function that creates its frames."""
    if count != 2 or (arguments[0].kind != POINTER) | (arguments[1].kind != FUNCTION):
        raise TypeError("%s takes a pointer and a function", "__relax_native_function")
    native = NativeFunction(arguments[0].address)
    make = arguments[1].address
    TVMFFIObjectIncRef(make)
    native.make = make
    require_ok(TVMFFIFunctionCreate(native, run, drop, place_of(result.address)))
    result.whole_kind = FUNCTION


@local_function
def drop(native: NativeFunction) -> None:
    """End a function."""
    TVMFFIObjectDecRef(native.make)


@local_function
def run(native: NativeFunction, arguments: Array[AnyValue], count: I32, result: AnyValue) -> I32:
    """Run a function with an idle frame that fits, or with a new one. No other call uses the frame meanwhile."""
    frame = take_idle(native, arguments, I64(U32(count)))
    if frame == NULL:
        status = make_frame(native, arguments, count, result)
        frame = Frame(result.address)
        clear(result)
        if frame == NULL:
            return status
    pass_addresses(frame, arguments)
    failed, value = make_calls(frame)
    pthread_mutex_lock(native.mutex)
    frame.next = native.idle
    native.idle = frame
    pthread_mutex_unlock(native.mutex)
    if failed != NULL:
        raise RuntimeError("%s: %s gave %lld", native.name, failed, value)
    return OK


# ---- frames ----


@local_function
def take_idle(native: NativeFunction, arguments: Array[AnyValue], count: I64) -> Frame:
    """Remove and return the latest idle frame that fits, or return NULL."""
    if count != native.argument_count:
        return NULL
    pthread_mutex_lock(native.mutex)
    link = place_of(native.idle)
    while link[0] != NULL and not fits(Frame(link[0]).layouts, arguments, count):
        link = place_of(Frame(link[0]).next)
    frame = Frame(link[0])
    if frame != NULL:
        link[0] = frame.next
    pthread_mutex_unlock(native.mutex)
    return frame


@local_function
def fits(layout: FrameLayout, arguments: Array[AnyValue], count: I64) -> bool:
    """Check whether tensors have layouts."""
    for i in range(count):
        actual = tensor_of(arguments[i])
        rank = layout.rank
        if actual == NULL or I64(U32(actual.rank)) != rank or memcmp(actual.shape, layout.sizes, rank * 8) != 0:
            return False
        strides = layout.sizes + rank
        if actual.strides == NULL:
            if layout.is_contiguous == 0:
                return False
        elif memcmp(actual.strides, strides, rank * 8) != 0:
            return False
        layout = FrameLayout(strides + rank)
    return True


@local_function
def tensor_of(argument: AnyValue) -> DLTensor:
    """Return the tensor of an argument, or NULL."""
    if argument.kind == TENSOR:
        return DLTensor(argument.address + OBJECT_HEADER)
    return DLTensor(argument.address) if argument.kind == TENSOR_POINTER else NULL


@local_function.cold
def make_frame(native: NativeFunction, arguments: Array[AnyValue], count: I32, result: AnyValue) -> I32:
    """Let Python create a frame. Store its address, or 0 if Python has done the work itself, or failed."""
    clear(result)
    oldest = take_oldest(native)
    if oldest != NULL:
        frame = stack(AnyValue)
        frame[0].whole_kind = INT
        frame[0].address = oldest
        TVMFFIFunctionCall(native.make, frame, I32(1), result)
        clear(result)
    status = TVMFFIFunctionCall(native.make, arguments, count, result)
    if status != OK:
        clear(result)
    return status


@local_function
def take_oldest(native: NativeFunction) -> Ptr:
    """If there are enough frames, remove and return the one with the longest idle time, else return NULL."""
    pthread_mutex_lock(native.mutex)
    link = place_of(native.idle)
    last = link
    count = 0
    while link[0] != NULL:
        last = link
        link = place_of(Frame(link[0]).next)
        count += 1
    oldest: Ptr = NULL
    if count >= native.most_idle:
        oldest = last[0]
        last[0] = NULL
    pthread_mutex_unlock(native.mutex)
    return oldest


@local_function
def pass_addresses(frame: Frame, arguments: Array[AnyValue]) -> None:
    """Store the addresses of the arguments for the calls."""
    all_passed = frame.passed
    for i in range(frame.passed_count):
        passed = all_passed[i]
        actual = tensor_of(arguments[passed.argument])
        passed.place[0] = actual.data + actual.offset + passed.offset


# ---- kernels ----


@local_function
def finish_f32(least: F32, out: Array[F32], row: Array[F32], rows: I64, columns: I64) -> None:
    """Add a row to contiguous rows and clamp elements below `least`: the epilogue that BLAS libraries lack."""
    for i in range(rows):
        elements = out + i * columns
        for j in range(columns):
            elements[j] = intrinsic("llvm.maximum", F32, elements[j] + row[j], least)


@local_function
def finish_f64(least: F64, out: Array[F64], row: Array[F64], rows: I64, columns: I64) -> None:
    """Do what finish_f32 does."""
    for i in range(rows):
        elements = out + i * columns
        for j in range(columns):
            elements[j] = intrinsic("llvm.maximum", F64, elements[j] + row[j], least)


#: Kernels by their numbers in KERNELS of runtime/native_calls.py.
kernels = function_table(finish_f32, finish_f64)

# ---- calls ----


@local_function
def make_calls(frame: Frame) -> tuple[Text, I64]:
    """Make the calls of a frame. Return the name and the status of the first call that failed, or NULL."""
    has_log = is_logged()
    failed: Text = NULL
    failure = 0
    calls = frame.calls
    for i in range(frame.call_count):
        call = calls[i]
        flags = call.flags
        if failed == NULL or flags & IS_ALWAYS != 0:
            value = log_call(call, i, frame) if has_log else make_call(call)
            if call.result != NULL:
                call.result[0] = value
            if flags & IS_STATUS != 0 and I32(value) != 0 and failed == NULL:
                failed = call.name
                failure = I64(I32(value))
    return failed, failure


@local_function.cold
def log_call(call: NativeCall, number: I64, frame: Frame) -> I64:
    """Make a call, and log it."""
    begin = now()
    value = make_call(call)
    log(number << 8 | CALL, I64(frame), begin, now())
    return value


@local_function
def make_call(call: NativeCall) -> I64:
    """Make a call, and return its result."""
    w = call.words
    function = call.function
    if call.flags & IS_KERNEL != 0:
        function = kernels[I64(function)]
    if call.flags & IS_LARGE == 0:
        return cast(FewWords, function)(w[0], w[1], w[2], w[3], w[4], w[5])
    f = Array[F64](w + 24)
    return cast(ManyWords, function)(
        f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9],
        w[10], w[11], w[12], w[13], w[14], w[15], w[16], w[17], w[18], w[19], w[20], w[21], w[22], w[23],
    )  # fmt: skip
