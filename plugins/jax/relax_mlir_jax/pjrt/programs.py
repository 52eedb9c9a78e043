# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX programs: compilation of StableHLO artifacts, and calls with the platform's arrays."""

from __future__ import annotations

import ctypes
import hashlib
import pickle
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from relax_mlir.compilation.compiling import compile
from relax_mlir.dialects.core.infos import DTYPE_BY_NAME
from relax_mlir.runtime import executable
from relax_mlir.runtime.foreign_types import Tensor
from relax_mlir.support.version import VERSION

from ..jax_modules import imported, main_of, opened
from ..stablehlo.operators.python_calls import TARGET
from .api import ExecuteOptions, Program
from .c_handles import Held, KeptMemory, clear, held_by_handle, hold, stubs
from .call_queue import HAPPENED, QueuedCall, submit
from .client import KIND_OF_MEMORY, client
from .entries import NotHere, entry, gives, gives_list, gives_text
from .platform_arrays import PlatformArray, shape_of

_HANDLES = ctypes.c_void_p
#: Serialized protocol buffer DeviceAssignment: one replica and one computation on device 0.
_ON_THE_DEVICE = bytes([0x08, 1, 0x10, 1, 0x1A, 3, 0x0A, 1, 0])
_FORMAT = "mlir"
#: First bytes of a serialized executable.
_HEAD = f"relax-mlir {VERSION}\n".encode()
#: Seconds from which on a call is queued. A queued call takes some microseconds more.
_LONG = 0.5e-3
_MARKS_OF_DONATED = ("tf.aliasing_output", "jax.buffer_donor")


class Interface(NamedTuple):
    """Name, donated arguments and result types of a program."""

    name: str
    donated: list[int]
    results: list[tuple[str, tuple[int, ...]]]


class Executable(Held):
    """Compiled program, with precomputed answers to the queries of C code."""

    def __init__(self, code: bytes, interface: Interface, program: executable.Executable) -> None:
        self.shapes = [shape_of(*each) for each in interface.results]
        super().__init__(len(self.shapes), 1)  # one replica, one partition
        self.code, self.is_deleted = code, False
        self.name, self.donated, _ = self.interface = interface
        self.program = program
        self.main: Callable[..., Any] = program["main"].packed
        self.fingerprint = hashlib.sha256(code).hexdigest()
        self._memory = KeptMemory()
        array, count = self._memory.array, len(self.shapes)
        self.kinds = array(_HANDLES, [KIND_OF_MEMORY[0]] * count)
        self.kind_sizes = array(ctypes.c_size_t, [KIND_OF_MEMORY[1]] * count)
        self.types = array(ctypes.c_int32, [shape.type for shape in self.shapes])
        self.sizes = array(ctypes.c_int64, [size for shape in self.shapes for size in shape.sizes])
        self.ranks = array(ctypes.c_size_t, [len(shape.sizes) for shape in self.shapes])
        self.format = self._memory.text(_FORMAT)
        self.assignment = self._memory.text(_ON_THE_DEVICE)

        #: Seconds of the last call.
        self._seconds = 0.0
        self.calls_python = TARGET.encode() in code

    def results(self, tensors: Sequence[Tensor | None]) -> Sequence[Tensor]:
        start = time.perf_counter()
        given = self.main(*tensors)
        several = [] if not self.shapes else [given] if len(self.shapes) == 1 else given[:]
        self._seconds = time.perf_counter() - start
        return several

    def call(self, arrays: Sequence[PlatformArray]) -> tuple[list[PlatformArray], QueuedCall | None]:
        """Return the results, and the queued call that computes them, if it takes long.

        Calls of Python are not queued: Python may wait for other calls.
        """
        is_queued = self._seconds > _LONG or any([array.call is not None for array in arrays])
        if not is_queued or self.calls_python:
            tensors = [array.tensor for array in arrays]
            if any([tensor is None for tensor in tensors]):
                tensors = [array.wait() for array in arrays]
            pairs = zip(self.results(tensors), self.shapes, strict=True)
            return [PlatformArray(*pair) for pair in pairs], None
        sources = [array.source() for array in arrays]
        call = QueuedCall(lambda: self.results([source() for source in sources]))
        results = [PlatformArray(None, shape, call, index) for index, shape in enumerate(self.shapes)]
        call.arrays += results
        submit(call)
        return results, call


def _name(module: Any) -> str:
    attributes = module.operation.attributes
    return str(attributes["sym_name"].value) if "sym_name" in attributes else "main"


def _find_donated(module: Any) -> list[int]:
    """Return the positions of donated arguments."""
    attributes = main_of(module).attributes
    marks = list(attributes["arg_attrs"]) if "arg_attrs" in attributes else []
    return [place for place, each in enumerate(marks) if any(mark in each for mark in _MARKS_OF_DONATED)]


#: JAX's names of element types, by MLIR's names.
_NAMES = {dtype: name for name, dtype in reversed(DTYPE_BY_NAME.items())}  # "bool" is the first name of i1
_NAMES |= {"complex<f32>": "complex64", "complex<f64>": "complex128"}


def _result_type(type_: Any) -> tuple[str, tuple[int, ...]]:
    """Return the element type and the sizes of a result. A token of ordered effects is an array without elements."""
    if str(type_) == "!stablehlo.token":
        return "bool", (0,)
    element = str(type_.element_type)
    return _NAMES.get(element, element), tuple(type_.shape)


@entry("Client_Compile")
def _compile(arguments: ctypes.Structure, held: object) -> None:
    passed: ctypes.Structure = Program.from_address(arguments.program)
    code = ctypes.string_at(passed.code, passed.size)
    module = opened(code)
    results = main_of(module).attributes["function_type"].value.results
    interface = Interface(_name(module), _find_donated(module), list(map(_result_type, results)))
    arguments.executable = hold(Executable(code, interface, compile(imported(module), **client.options)))


class Serialized(Held):
    """Bytes of an executable for C code. The third word is the own handle, so that C code can pass it to `let_go`."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.node[2] = self.handle
        self._memory = KeptMemory()
        self.text = self._memory.text(data)


@entry("Executable_Serialize")
def _serialize(arguments: ctypes.Structure, executable: Executable) -> None:
    if executable.calls_python:
        raise NotHere("the program calls functions of this Python process, and cannot be serialized")
    data = pickle.dumps((executable.code, executable.interface, executable.program))
    serialized = Serialized(_HEAD + hashlib.sha256(data).digest() + data)
    arguments.text, arguments.size = serialized.text
    arguments.holder, arguments.deleter = hold(serialized), stubs().let_go


@entry("Executable_DeserializeAndLoad")
def _deserialize(arguments: ctypes.Structure, held: object) -> None:
    data = ctypes.string_at(arguments.data, arguments.size)
    start = len(_HEAD) + hashlib.sha256().digest_size
    if not data.startswith(_HEAD):
        raise ValueError(f"the serialized executable is not of the platform relax of relax-mlir {VERSION}")
    if hashlib.sha256(data[start:]).digest() != data[len(_HEAD) : start]:
        raise ValueError(f"the serialized executable is damaged: {len(data)} bytes without their checksum")
    arguments.executable = hold(Executable(*pickle.loads(data[start:])))


@entry("LoadedExecutable_Execute")
def _execute(arguments: ctypes.Structure, executable: Executable) -> None:
    clear()
    if executable.is_deleted:
        raise ValueError("the program is deleted")
    count = arguments.count
    buffers: list[PlatformArray] = []
    if count:
        row = _HANDLES.from_address(arguments.arguments).value or 0
        buffers = [held_by_handle[each] for each in (_HANDLES * count).from_address(row)]
    results, call = executable.call(buffers)
    if executable.donated:
        _delete_donated(executable, buffers, arguments.options)
    if results:
        place = _HANDLES.from_address(arguments.results).value or 0
        (_HANDLES * len(results)).from_address(place)[:] = [hold(result) for result in results]
    if arguments.events:
        _HANDLES.from_address(arguments.events).value = HAPPENED if call is None else call.event()


def _delete_donated(executable: Executable, buffers: list[PlatformArray], address: int) -> None:
    options: ctypes.Structure = ExecuteOptions.from_address(address)
    kept = (ctypes.c_int64 * options.kept_count).from_address(options.kept) if options.kept_count else ()
    for place in executable.donated:
        if place not in kept:
            buffers[place].delete()


@entry("Executable_OptimizedProgram")
def _program(arguments: ctypes.Structure, executable: Executable) -> None:
    """Return the original code. C code calls this function twice: for the size, then for the bytes."""
    program: ctypes.Structure = Program.from_address(arguments.program)
    if program.code:
        ctypes.memmove(program.code, executable.code, len(executable.code))
    program.size = len(executable.code)
    program.format, program.format_size = executable.format


@entry("LoadedExecutable_GetDeviceAssignment")
def _assignment(arguments: ctypes.Structure, executable: Executable) -> None:
    arguments.text, arguments.size = executable.assignment
    arguments.holder, arguments.deleter = executable.handle, stubs().nothing


@entry("LoadedExecutable_Delete")
def _delete(arguments: ctypes.Structure, executable: Executable) -> None:
    executable.is_deleted = True


gives("LoadedExecutable_IsDeleted", value=lambda executable: executable.is_deleted)
gives("LoadedExecutable_GetExecutable", value=lambda executable: executable.handle)
gives_text("Executable_Name", lambda executable: executable.name)
for _each in ("Executable_Fingerprint", "LoadedExecutable_Fingerprint"):
    gives_text(_each, lambda executable: executable.fingerprint)
gives("Executable_SizeOfGeneratedCodeInBytes", value=lambda executable: len(executable.code))
gives("Executable_GetCostAnalysis", count=0, items=0)
gives(
    "Executable_OutputMemoryKinds",
    count=lambda executable: len(executable.shapes),
    items=lambda executable: executable.kinds[0],
    sizes=lambda executable: executable.kind_sizes[0],
)
gives_list("Executable_OutputElementTypes", lambda executable: (executable.types[0], len(executable.shapes)))
gives(
    "Executable_OutputDimensions",
    count=lambda executable: len(executable.shapes),
    items=lambda executable: executable.sizes[0],
    sizes=lambda executable: executable.ranks[0],
)
gives("ExecuteContext_Create", value=lambda held: hold(Held()))
