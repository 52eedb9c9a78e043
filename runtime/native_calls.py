# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of parts as lists of C calls, which programs make without Python.

targets/host/library/native_calls.py defines the same structures. Its code is part of each program that calls
functions.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

from ..support.errors import RelaxError
from .foreign_types import CFunction, Exporter, PackedFunction, Tensor

#: Limits of one call: integers and addresses, and floats.
MOST_WORDS, MOST_FLOATS = 24, 8
#: Number of idle call lists that a function keeps, each for tensors of one layout.
MOST_IDLE = 64
_FEW_WORDS = 6
_IS_STATUS, _ALWAYS, _IS_LARGE, _IS_KERNEL = 1, 2, 4, 8
#: Functions that are part of programs: `finish_f32(least, out, row, rows, columns)` adds a row to adjacent rows, and
#: then replaces values below `least` by it.
KERNELS = ("finish_f32", "finish_f64")
_MOST_TEXT = 900


class Passed(NamedTuple):
    """Address of the data of an argument of the part, inputs first, then outputs, plus an offset in bytes."""

    argument: int
    offset: int = 0


class Given(NamedTuple):
    """Result of an earlier call, by its position in the list."""

    call: int


#: Argument of a C function, see Call; and the memory of a call's words.
Word: TypeAlias = "int | Passed | Given | ctypes._CDataType | None"
CallArgument: TypeAlias = "float | Word"
_Words: TypeAlias = "ctypes.Array[ctypes.c_uint64]"


@dataclass(frozen=True)
class Call:
    """Call of a C function, without varargs, structs by value, or floats as its result."""

    #: Function of a ctypes library, an address, or a name of KERNELS.
    function: CFunction | int | str
    #: Integers and addresses, `Passed`, `Given`. A float is a double, `ctypes.c_float(x)` a float. Any other object of
    #: ctypes (a structure, an array) is passed by address.
    arguments: Sequence[CallArgument] = ()
    #: True if the result is an int with 0 for success. The first other result makes the part fail.
    is_status: bool = False
    #: True if the call is made even after a failure.
    always: bool = False
    #: Name in the error; by default the function's own name.
    name: str = ""
    #: Name in profiles and traces, by default that of errors, and the model's nodes that the call computes.
    step: str = ""
    nodes: Sequence[str] = ()


@dataclass(frozen=True)
class CallList:
    """Calls of a part for tensors of one layout. One call of the part uses the list exclusively."""

    calls: Sequence[Call]
    #: Addresses of memory that is written before the calls: arrays of pointers, for instance.
    pointers: Mapping[int, Passed] = field(default_factory=dict)
    #: Object that must live as long as the list.
    keeps: object = None

    def check(self, arguments: int) -> None:
        """Raise RelaxError if a call reads an argument or a result that does not exist."""
        read: set[int] = set()
        for place, call in enumerate(self.calls):
            for argument in call.arguments:
                if isinstance(argument, Passed) and not 0 <= argument.argument < arguments:
                    raise RelaxError(f"argument {argument.argument} is passed to {_name(call)}, of {arguments}")
                if isinstance(argument, Given) and not 0 <= argument.call < place:
                    raise RelaxError(
                        f"call {place} of the list reads what call {argument.call} gives, which is not made before it"
                    )
                if isinstance(argument, Given) and argument.call in read:
                    raise RelaxError(f"what call {argument.call} of the list gives is read twice: once is possible")
                if isinstance(argument, Given):
                    read.add(argument.call)

    def run(self, addresses: Sequence[int] = ()) -> None:
        """Make the calls from Python. Raises RelaxError if a call fails."""
        _Frame(self, ()).run(addresses)


class NativeFunction:
    """Function of a part, for `load` to return. `make(*tensors)` returns the calls for tensors of these layouts.

    `make` is called if no idle list fits the tensors: at first, for other sizes, and for concurrent calls. The caller
    receives its exceptions. It may do all the work itself and return None.
    """

    def __init__(self, make: Callable[..., CallList | None], arguments: int, most_idle: int = MOST_IDLE) -> None:
        """Create the function with its number of tensors, and the number of idle lists to keep."""
        self.make, self.arguments, self.most_idle = make, arguments, most_idle
        self._idle: list[_Frame] = []
        self._idling = threading.Lock()

    def __call__(self, *tensors: Exporter) -> None:
        """Make the same calls from Python."""
        from .ffi import tvm_ffi

        exporters = [
            tensor if isinstance(tensor, tvm_ffi.Tensor) else tvm_ffi.from_dlpack(tensor) for tensor in tensors
        ]
        frame = self._taken(tuple(map(_layout, exporters))) or self.made(exporters)
        if frame is None:
            return
        try:
            frame.run([exporter.data_ptr() for exporter in exporters])
        finally:
            with self._idling:
                self._idle.append(frame)
                del self._idle[: -self.most_idle]

    def bound(self, native_function: Callable[..., object], where: str, named: Callable[..., object]) -> PackedFunction:
        """Return the function for a program's calls. It keeps this object alive.

        `native_function` is the program's function. `named` adds the part's name to errors.
        """
        from .ffi import tvm_ffi

        bound = _Bound(self, where)
        function = native_function(bound.address, tvm_ffi.convert(named(bound.asked)))
        assert isinstance(function, tvm_ffi.Function)
        return function

    def made(self, tensors: Sequence[Tensor]) -> _Frame | None:
        """Return a new list for such tensors."""
        if len(tensors) != self.arguments:
            raise RelaxError(f"takes {self.arguments} tensors, inputs and outputs, got {len(tensors)}")
        if (calls := self.make(*tensors)) is None:
            return None
        calls.check(self.arguments)
        return _Frame(calls, tuple(map(_layout, tensors)))

    def _taken(self, layouts: tuple[TensorLayout, ...]) -> _Frame | None:
        with self._idling:
            frame = next((each for each in reversed(self._idle) if each.layouts == layouts), None)
            if frame is not None:
                self._idle.remove(frame)
        return frame


class _Bound:
    """Function in a program. The program's native code has the idle lists."""

    def __init__(self, function: NativeFunction, where: str) -> None:
        self._function = function
        self._frames: dict[int, _Frame] = {}
        shown = where.encode()[:_MOST_TEXT].decode(errors="ignore").encode()
        self._native = _Native(None, None, function.arguments, function.most_idle, shown)
        self.address = ctypes.c_void_p(ctypes.addressof(self._native))
        ctypes.CDLL(None).pthread_mutex_init(ctypes.byref(self._native, _Native.mutex.offset), None)

    def asked(self, *given: Any) -> int:
        """Answer native code: return the address of a list for tensors, or 0 if no work is left.

        A single number is the address of a list to drop, because there is no room for it.
        """
        if given and isinstance(given[0], int):
            del self._frames[given[0]]
            return 0
        if (frame := self._function.made(given)) is None:
            return 0
        self._frames[frame.address] = frame
        return frame.address


class TensorLayout(NamedTuple):
    """Layout of a tensor. Strides count elements."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def is_gapless(self) -> bool:
        """Check whether the tensor is row-major."""
        step = 1
        for size, stride in zip(reversed(self.sizes), reversed(self.strides), strict=True):
            if size != 1 and stride != step:
                return 0 in self.sizes
            step *= size
        return True


def _layout(tensor: Tensor) -> TensorLayout:
    return TensorLayout(tuple(tensor.shape), tuple(tensor.strides))


# ---- native structures ----


class _Native(ctypes.Structure):
    """Native function."""

    _fields_ = [("idle", ctypes.c_void_p), ("make", ctypes.c_void_p), ("count", ctypes.c_int64),
                ("most_idle", ctypes.c_int64), ("where", ctypes.c_char_p), ("mutex", ctypes.c_uint64 * 8)]  # fmt: skip


class _NativeFrame(ctypes.Structure):
    _fields_ = [("next", ctypes.c_void_p), ("layouts", ctypes.c_void_p), ("passed_count", ctypes.c_int64),
                ("passed", ctypes.c_void_p), ("call_count", ctypes.c_int64), ("calls", ctypes.c_void_p)]  # fmt: skip


class _NativePassed(ctypes.Structure):
    _fields_ = [("place", ctypes.c_void_p), ("argument", ctypes.c_int64), ("offset", ctypes.c_int64)]


class _NativeCall(ctypes.Structure):
    _fields_ = [("function", ctypes.c_void_p), ("how", ctypes.c_int64), ("words", ctypes.c_void_p),
                ("gives", ctypes.c_void_p), ("name", ctypes.c_char_p)]  # fmt: skip


class _Frame:
    """List of calls in the form that a program's code reads."""

    def __init__(self, listed: CallList, layouts: tuple[TensorLayout, ...]) -> None:
        self.layouts, self._listed = layouts, listed
        self._passed = [_NativePassed(place, *pointer) for place, pointer in listed.pointers.items()]
        calls = [_prepare(call) for call in listed.calls]
        self._calls = (_NativeCall * len(calls))(*calls)
        self._words = [self._written(call, native) for call, native in zip(listed.calls, self._calls, strict=True)]
        words = [
            word
            for layout in layouts
            for word in (len(layout.sizes), layout.is_gapless, *layout.sizes, *layout.strides)
        ]
        self._keys = (ctypes.c_int64 * len(words))(*words)
        passed = self._all_passed = (_NativePassed * len(self._passed))(*self._passed)
        places = [ctypes.addressof(each) for each in (self._keys, passed, self._calls)]
        self.native = _NativeFrame(None, places[0], len(passed), places[1], len(calls), places[2])
        self.address = ctypes.addressof(self.native)
        _FRAMES[self.address] = self

    def step(self, number: int) -> tuple[str, Sequence[str]]:
        """Return the name of a call, and the model's nodes."""
        call = self._listed.calls[number]
        return call.step or _name(call), call.nodes

    def _written(self, call: Call, native: _NativeCall) -> _Words:
        """Return the memory of a call's words, with the values that are already known."""
        floats = [
            argument for argument in call.arguments if isinstance(argument, (float, ctypes.c_float, ctypes.c_double))
        ]
        others = [
            argument
            for argument in call.arguments
            if not isinstance(argument, (float, ctypes.c_float, ctypes.c_double))
        ]
        if len(others) > MOST_WORDS or len(floats) > MOST_FLOATS:
            raise RelaxError(
                f"{_name(call)} is called with {len(others)} integers and addresses and {len(floats)} floats: "
                f"{MOST_WORDS} and {MOST_FLOATS} can be passed"
            )
        is_large = bool(floats) or len(others) > _FEW_WORDS
        words = (ctypes.c_uint64 * (MOST_WORDS + MOST_FLOATS if is_large else _FEW_WORDS))()
        native.words, native.how = ctypes.addressof(words), native.how | _IS_LARGE * is_large
        for place, each in enumerate(floats, MOST_WORDS):
            words[place] = _float_word(each)
        for place, word in enumerate(others):
            self._write(words, place, word)
        return words

    def _write(self, words: _Words, place: int, argument: Word) -> None:
        address = ctypes.addressof(words) + 8 * place
        if isinstance(argument, Passed):
            self._passed.append(_NativePassed(address, *argument))
        elif isinstance(argument, Given):
            self._calls[argument.call].gives = address
        else:
            words[place] = _word(argument)

    def run(self, addresses: Sequence[int]) -> None:
        """Run the calls in the same way as native code."""
        for each in self._all_passed:
            ctypes.c_uint64.from_address(each.place).value = addresses[each.argument] + each.offset
        problem = ""
        for call, native, words in zip(self._listed.calls, self._calls, self._words, strict=True):
            if problem and not call.always:
                continue
            if native.how & _IS_KERNEL:
                _finish(call, words)
                continue
            found = _TYPES[len(words) > _FEW_WORDS](native.function)(*_arguments(words))
            if native.gives:
                ctypes.c_int64.from_address(native.gives).value = found
            status = ctypes.c_int32(found).value
            if call.is_status and status and not problem:
                problem = f"{_name(call)} gave {status}"
        if problem:
            raise RelaxError(problem)


_FRAMES: WeakValueDictionary[int, _Frame] = WeakValueDictionary()


def step_at(frame: int, number: int) -> tuple[str, Sequence[str]]:
    """Return the name and nodes of a call from a log's numbers. The list may no longer exist."""
    found = _FRAMES.get(frame)
    return ("a C call", ()) if found is None else found.step(number)


_TYPES = (
    ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_uint64] * _FEW_WORDS),
    ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_double] * MOST_FLOATS, *[ctypes.c_uint64] * MOST_WORDS),
)


def _arguments(words: _Words) -> Sequence[float]:
    """Return the arguments in the form of the function's type."""
    if len(words) == _FEW_WORDS:
        return list(words)
    return [*struct.unpack_from(f"{MOST_FLOATS}d", words, 8 * MOST_WORDS), *words[:MOST_WORDS]]


def _finish(call: Call, words: _Words) -> None:
    """Run a kernel in NumPy."""
    import numpy

    least, (out, row, rows, columns) = call.arguments[0], words[:4]
    assert isinstance(least, (ctypes.c_float, ctypes.c_double))
    values = numpy.ctypeslib.as_array((type(least) * (rows * columns)).from_address(out)).reshape(rows, columns)
    added = numpy.ctypeslib.as_array((type(least) * columns).from_address(row))
    numpy.maximum(values + added, least.value, out=values)


def _prepare(call: Call) -> _NativeCall:
    """Return the native call without its words."""
    is_kernel = isinstance(call.function, str)
    how = _IS_STATUS * call.is_status | _ALWAYS * call.always | _IS_KERNEL * is_kernel
    function = KERNELS.index(call.function) if isinstance(call.function, str) else _function_address(call.function)
    return _NativeCall(function, how, None, None, _name(call).encode()[:_MOST_TEXT])


def _function_address(function: CFunction | int) -> int:
    return function if isinstance(function, int) else ctypes.cast(function, ctypes.c_void_p).value or 0


def _name(call: Call) -> str:
    own = call.function if isinstance(call.function, str) else getattr(call.function, "__name__", "")
    return call.name or own or "a C function"


def _float_word(value: float | ctypes.c_float | ctypes.c_double) -> int:
    if isinstance(value, ctypes.c_float):
        return int.from_bytes(struct.pack("=fI", value.value, 0), "little")
    number = value if isinstance(value, float) else value.value
    return int.from_bytes(struct.pack("=d", number), "little")


def _word(argument: int | ctypes._CDataType | None) -> int:
    """Return an integer or an address as 64 bits."""
    if isinstance(argument, int):
        return argument & (1 << 64) - 1
    if argument is None:
        return 0
    if isinstance(argument, ctypes._SimpleCData):
        return int(argument.value or 0) & (1 << 64) - 1
    return ctypes.addressof(argument)


def cuda_function_address(name: str) -> int:
    """Return the address of a function of the CUDA driver, such as "cuMemsetD8Async".

    Raises DeviceError if there is no driver, or if the driver lacks the function.
    """
    from .cuda.driver import driver  # loads libcuda, which programs for other devices do not need

    return driver().address(name)
