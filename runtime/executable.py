# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled module that is ready to run, with its functions by name."""

from __future__ import annotations

import ctypes
import functools
import operator
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ..support.argument_types import types_checked
from ..support.collector import uncollected
from ..support.errors import OptionError
from ..support.external_part import ExternalPart
from ..support.suggest import suggest
from . import display
from .artifact import Artifact, artifact_bytes, parse_artifact, read_artifact, write_artifact
from .cache import function_of
from .cache_rows import CacheRows
from .code_functions import find_function, first_line
from .constant_memory import ConstantMemory
from .cpu import check_architecture, check_features
from .errors import ArtifactError, UnknownFunction
from .foreign_types import CodeModule, PackedFunction
from .function import Function
from .libraries import load_libraries
from .loader import loader_session
from .numerics import Numerics, numerics_of
from .registered import register_functions
from .signing import check_trust
from .threads import ThreadLimit, checked_threads, pool_of_process, usual_threads

if TYPE_CHECKING:
    from .devices.copies import Copies
    from .devices.device_program import DeviceProgram
    from .memory import Memory
    from .profile import Profile
    from .trace import Trace
    from .tracing import Copied

_SET_CONSTANTS, _SET_FUNCTIONS = "__relax_set_constants", "__relax_set_functions"
_NATIVE_FUNCTION = "__relax_native_function"
_POOL, _SET_THREADS = "__relax_pool", "__relax_set_threads"
_SET_DEVICE, _SYNCHRONIZE = "__relax_set_device", "__relax_device_synchronize"


class Executable:
    """Compiled program: `executable["main"](x, y)`. Functions take arrays of any DLPack framework and return the same
    kind.

    Calls may come from many threads at once. They run without the interpreter's lock.
    """

    def __init__(
        self, artifact: Artifact, *, load_later: bool = False, device: str | None = None, graphs: bool | None = None
    ) -> None:
        """Load the code of an artifact into this process, and its device code onto `device`: "cuda:1".

        With `graphs`, functions with static sizes are recorded at their first call, and launched as one unit. That
        takes less work of the host, but each graph keeps memory. A CUDA graph copies arguments and results; Vulkan
        keeps a command buffer for each set of addresses. With None, an estimate selects the functions that become
        faster, once they have been called twice. With False no function is recorded.

        Raises ArtifactError if this machine cannot run the program. Raises RelaxError if RELAX_NUM_THREADS is not a
        number of threads, `device` not a device of the program's kind, or `graphs` not a valid value. With `load_later`
        these errors occur at the first access to a function, so that code for another machine can be saved.
        """
        _check_functions(artifact)
        #: Device of the functions and their tensors: "cpu", "cuda:0".
        self.device = _checked_device(device, artifact)
        self._graphs = _checked_graphs(graphs, artifact)
        self._artifact = artifact
        #: Order of floating-point sums (docs/numerics.md).
        self.numerics: Numerics = numerics_of(artifact)
        self._program = _Program(artifact, self.device, self._graphs)
        self._signatures = {each.name: each for each in artifact.signatures}
        self._functions: dict[str, Function] = {}
        self._profiling, self._loading = threading.Lock(), threading.Lock()
        self._limit = ThreadLimit(usual_threads())
        self._module: CodeModule | None = None
        self._on_device: DeviceProgram | None = None
        if not load_later:
            self._load()

    def __getitem__(self, name: str) -> Function:
        """Return the function of a name. `executable[name].packed` is tvm-ffi's function."""
        if name not in self._functions:
            function = function_of(self._packed(name), self._signatures[name], self._rows())
            # Without a reference to this object, since functions outlive it.
            function.again = operator.getitem, (self._program, name)
            self._functions[name] = function
        return self._functions[name]

    def _load(self) -> CodeModule:
        # Load once: each program has its own state for what a thread's call leaves behind.
        with self._loading:
            if self._module is None:
                self._module, self._on_device = _load(self._artifact, self._limit, self.device, self._graphs)
            return self._module

    def _packed(self, name: str) -> PackedFunction:
        if name not in self._signatures:
            raise UnknownFunction(self._unknown(name))
        packed = find_function(self._load(), name)
        packed.release_gil = True
        return packed

    def __repr__(self) -> str:
        return display.text(self._artifact)

    def _repr_html_(self) -> str:
        return display.html(self._artifact)

    def __reduce__(self) -> tuple[Callable[..., Executable], tuple[object, ...]]:
        """Pickle as the bytes of the file that `save` writes. Code that is not loaded here is not loaded there."""
        return _unpickled, self._program.pickled(self._module is None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._signatures)

    def __contains__(self, name: object) -> bool:
        return name in self._signatures

    def __len__(self) -> int:
        return len(self._signatures)

    @property
    def threads(self) -> int:
        """Return the maximum number of threads of a call, including the calling thread.

        The default is the number of cores that this process may use, or RELAX_NUM_THREADS. Results do not depend on it.
        """
        return self._limit.threads

    @threads.setter
    def threads(self, threads: int) -> None:
        self._limit.threads = checked_threads(threads, "executable.threads = ")

    @property
    def graphs(self) -> tuple[str, ...]:
        """Return the functions that are launched as one unit (`graphs`), or will be after two calls."""
        self._load()
        graphs = None if self._on_device is None else self._on_device.graphs
        return () if graphs is None else graphs.functions

    @property
    def definitions(self) -> memoryview | None:
        """Return the program's source as MLIR bytecode, or None if it was compiled without `observe`."""
        return self._artifact.definitions

    def signature(self, name: str) -> dict[str, Any]:
        """Return the manifest's description of a function's arguments and results."""
        if name not in self._signatures:
            raise UnknownFunction(self._unknown(name))
        return next(entry for entry in self._artifact.entries if entry["name"] == name)

    def profile(self, name: str, *arguments: object, repeat: int = 20, warmup: int = 3) -> Profile:
        """Call a function repeatedly with and without clocks, and return the time of each kernel.

        A program can be profiled once at a time. Concurrent calls from other threads are not included.
        """
        from .profiling import profile_calls

        call, signature = self.ready(name, *arguments), self._signatures[name]
        with self._measuring(name, "profiled"):
            find, on_device = functools.partial(find_function, self._load()), self._on_device is not None
            counts = {"repeat": repeat, "warmup": warmup}
            return profile_calls(signature, call, find, on_device=on_device, parts=self._parts(), **counts)

    def trace(self, name: str, *arguments: object, repeat: int = 1, warmup: int = 3) -> Trace:
        """Call a function, and return the start and end of each kernel, part and step, thread range, launch and copy.

        `trace.write("t.json")` writes a file for Perfetto. Arguments are the same as for `profile`. Copies of a program
        for a device are included.
        """
        from .tracing import trace_calls

        copied: Copied = []
        call, signature = self._traced_call(name, copied, *arguments), self._signatures[name]
        with self._measuring(name, "traced"):
            find = functools.partial(find_function, self._load())
            device = "" if self._on_device is None else self.device
            counts = {"repeat": repeat, "warmup": warmup}
            return trace_calls(signature, call, find, device=device, parts=self._parts(), copied=copied, **counts)

    def _traced_call(self, name: str, copied: Copied, *arguments: object) -> Callable[[], object]:
        """Return the same call as `ready`. On a device it includes the copies of each call, which are timed."""
        self._load()
        if self._on_device is None:
            return self.ready(name, *arguments)
        from .devices.copying import CopyingFunctions

        copies = self._copies(self._on_device)
        function = CopyingFunctions(self._signatures, self._packed, copies.timed(copied))[name]
        passed = function.prepared(*arguments)
        return functools.partial(function.packed, *passed)

    @contextmanager
    def _measuring(self, name: str, what: str) -> Iterator[None]:
        if not self._profiling.acquire(blocking=False):
            raise RuntimeError(f"'{name}' cannot be {what}: a profile of this program is under way")
        try:
            yield
        finally:
            self._profiling.release()

    def _parts(self) -> dict[str, str]:
        """Map the program's names of functions in parts to the codegens that compiled them."""
        return {
            f"{external.name}.{name}": external.codegen
            for external in self._artifact.externals
            for name in external.functions
        }

    def ready(self, name: str, *arguments: object) -> Callable[[], object]:
        """Return a call of a function with these arguments, for repeated measurements.

        Necessary copies, also to the device, happen here. The call returns when its results are ready.
        """
        self._load()
        function = self[name] if self._on_device is None else self.copying()[name]
        passed = function.prepared(*arguments)
        packed: Any = function.packed
        return functools.partial(packed, *passed) if self._on_device is None else packed.ready(passed)

    def synchronize(self) -> None:
        """Wait for the device operations that calls from this thread have started, and raise their kernels' errors.

        A program on the CPU has nothing to wait for.
        """
        if self._on_device is not None:
            find_function(self._load(), _SYNCHRONIZE)()

    def copying(self) -> Mapping[str, Function]:
        """Return the functions by name, with arguments and results in CPU memory, for any device of the program.

        A call copies the arguments to the device. Then it copies the results and the arguments that it writes to back,
        and waits for them. Tensors on the device are passed without a copy.
        """
        self._load()
        if self._on_device is None:
            return MappingProxyType({name: self[name] for name in self})
        from .devices.copying import CopyingFunctions

        return CopyingFunctions(self._signatures, self._packed, self._copies(self._on_device))

    @property
    def memory(self) -> Memory:
        """Return the memory of the program's device, for arrays that stay there from call to call."""
        from .memory import Memory

        self._load()
        if self._on_device is None:
            return Memory()
        from .devices.device_memory import DeviceMemory

        return DeviceMemory(self._copies(self._on_device))

    def _copies(self, program: DeviceProgram) -> Copies:
        from .devices.copies import EMPTY, SYNCHRONIZE, Copies

        return Copies(program, *(find_function(self._load(), name) for name in (EMPTY, SYNCHRONIZE)))

    def _rows(self) -> CacheRows:
        """Return the storage of growing arguments, on the device of the functions' tensors."""
        if self._on_device is None:
            return CacheRows()
        from .devices.device_rows import DeviceRows

        return DeviceRows(self._copies(self._on_device))

    @types_checked
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole file for `load` or nothing. The same program gives the same bytes.

        The path may be the file that the program was loaded from: a new file replaces it, and existing mappings keep
        the old contents. Functions passed to the program are not saved: pass them to `load` again.
        """
        write_artifact(self._artifact, path)

    def _unknown(self, name: str) -> str:
        hint = suggest(str(name), self._signatures)
        return f"no function {name!r} in this executable; there are {', '.join(self._signatures) or 'none'}{hint}"


@types_checked
def load(
    path: str | os.PathLike[str],
    *,
    verify_constants: bool = True,
    sha256: str | None = None,
    verify_key: str | os.PathLike[str] | None = None,
    functions: Mapping[str, Callable[..., object]] | None = None,
    device: str | None = None,
    graphs: bool | None = None,
) -> Executable:
    """Load an executable from a file that `save` wrote. Raises ArtifactError with the reason on failure.

    A file contains native code with the rights of this process: load only files that you trust. The file's own
    checksums detect damage, not malice. `sha256` (64 hexadecimal digits) identifies the expected file. `verify_key` (a
    public Ed25519 key, a PEM file) identifies the signer (`sign`). Any other file is refused before its contents are
    used.

    The file's constants are mapped into memory, not copied, unless one of these is passed. Checking them for damage
    reads all of them once; without `verify_constants` they are read when they are used.

    This program calls `functions` in place of registered functions with the same names. `device`, "cuda:1", selects the
    device of a program for that kind; the default is "cuda:0". `graphs` selects functions with static sizes to launch
    as one unit on CUDA and Vulkan: all (True), none (False), or those that are faster by an estimate.
    """

    def check(data: memoryview) -> None:
        check_trust(path, data, sha256, verify_key)

    is_trusted = sha256 is None and verify_key is None
    artifact = read_artifact(path, verify_constants=verify_constants, check=None if is_trusted else check)
    return Executable(replace(artifact, functions=functions) if functions else artifact, device=device, graphs=graphs)


class _Program(NamedTuple):
    """Constituents of an executable."""

    artifact: Artifact
    device: str
    graphs: bool | None

    def pickled(self, load_later: bool) -> tuple[object, ...]:
        """Return the arguments of _unpickled."""
        rest = dict(self.artifact.functions), self.device, self.graphs, self.artifact.folder
        return artifact_bytes(self.artifact), load_later, *rest

    def __reduce__(self) -> tuple[Callable[..., Executable], tuple[object, ...]]:
        return _unpickled, self.pickled(False)


def _unpickled(
    data: bytes,
    load_later: bool,
    functions: Mapping[str, Callable[..., object]],
    device: str | None = None,
    graphs: bool | None = None,
    folder: str = "",
) -> Executable:
    artifact = replace(parse_artifact(memoryview(data)), functions=functions, folder=folder)
    return Executable(artifact, load_later=load_later, device=device, graphs=graphs)


def _checked_graphs(graphs: bool | None, artifact: Artifact) -> bool | None:
    """Raise RelaxError for an invalid value, or if the program's kind of device has no graphs."""
    if graphs is not None and not isinstance(graphs, bool):
        raise OptionError(f"graphs={graphs!r}: expected True, False, or None, which asks an estimate for each function")
    kind = artifact.devices[0].kind if artifact.devices else "cpu"
    if graphs and not _has_graphs(artifact):
        raise OptionError(f"graphs=True: the program is compiled for {kind}, a kind of device without graphs")
    return graphs


def _has_graphs(artifact: Artifact) -> bool:
    if not artifact.devices:
        return False
    from .device_kinds import program_class

    return program_class(artifact.devices).has_graphs


def _checked_device(device: str | None, artifact: Artifact) -> str:
    if device is None and not artifact.devices:
        return "cpu"
    from .device_kinds import checked_device

    return checked_device(device, artifact.devices)


def _check_functions(artifact: Artifact) -> None:
    """Refuse functions that the program does not call, and values that are not callable."""
    for name, function in artifact.functions.items():
        if name not in artifact.calls:
            listed = (", ".join(artifact.calls) or "none") + suggest(str(name), artifact.calls)
            raise UnknownFunction(f"this program calls no function {name!r}; it calls {listed}")
        if not callable(function):
            raise TypeError(f"function {name!r} is a {type(function).__name__}, which cannot be called")


@uncollected()  # importing tvm-ffi allocates many objects
def _load(
    artifact: Artifact, limit: ThreadLimit, device: str, graphs: bool | None
) -> tuple[CodeModule, DeviceProgram | None]:
    """Return the code, and its state on a device."""
    from .external_parts import loaded_functions, runtimes_of  # a process that only compiles does not need them

    check_architecture(artifact.triple)
    check_features(artifact.features)
    parts = runtimes_of(artifact.externals)
    load_libraries(artifact.libraries, artifact.folder)
    module = _load_objects(artifact.objects, artifact)
    if artifact.pool is not None:
        _set_threads(module, artifact, artifact.pool, limit)
    on_device = _set_device(module, artifact, device, graphs) if artifact.devices else None
    if artifact.constants or module.implements_function(_SET_CONSTANTS):
        _set_constants(module, artifact, on_device)
    native = find_function(module, _NATIVE_FUNCTION) if module.implements_function(_NATIVE_FUNCTION) else None
    given = {**_link_parts(module, artifact), **loaded_functions(parts, native), **artifact.functions}
    # dead code elimination may have removed a call
    if called := {name: given[name] for name in artifact.calls if name in given}:
        _set_functions(module, artifact.calls, called)
    return module, on_device


def _link_parts(module: CodeModule, artifact: Artifact) -> dict[str, object]:
    """Return the functions of parts with code among the program's objects."""
    parts = [external for external in artifact.externals if external.data is None]
    return {f"{part.name}.{name}": _find_of(part, module, name) for part in parts for name in part.functions}


def _find_of(part: ExternalPart, module: CodeModule, name: str) -> PackedFunction:
    try:
        return find_function(module, f"{part.name}.{name}")
    except ArtifactError as error:
        raise ArtifactError(f"{part.label}: {error}") from None


def _load_objects(objects: Sequence[memoryview], artifact: Artifact) -> CodeModule:
    """Return one module of object files that refer to each other."""
    code = list(map(bytes, objects))
    register_functions()
    try:
        # The path is not a compiler and cannot be run: the loader would ask one for its C++ runtime, but the code is C.
        return loader_session().load_module(code, cxx=os.devnull)
    except (RuntimeError, ValueError) as error:
        others = "; ".join(external.label for external in artifact.externals if external.data is None)
        among = f" (among it that of {others})" if others else ""
        raise ArtifactError(f"the object code{among} cannot be loaded: {first_line(error)}") from None


def _set_constants(module: CodeModule, artifact: Artifact, on_device: DeviceProgram | None) -> None:
    """Pass the addresses of the constants to the code, which owns that memory from here on: functions outlive
    executables."""
    memory = on_device or ConstantMemory([constant.data for constant in artifact.constants])
    _set_table(module, _SET_CONSTANTS, memory.table, "its constants", len(artifact.constants), memory)


def _set_device(module: CodeModule, artifact: Artifact, device: str, graphs: bool | None) -> DeviceProgram:
    """Load kernels and constants onto the device, which the code owns from here on, and pass it their addresses."""
    from .device_kinds import program_class
    from .devices.resident import ResidentCode

    kind, _, number = device.partition(":")
    constants = [constant.data for constant in artifact.constants]
    resident = ResidentCode(kind, lambda: _load_objects(artifact.objects, artifact))
    load = program_class(artifact.devices)
    program = load(artifact.devices, int(number), constants, resident, artifact.signatures, graphs)
    table = program.table_for_code()
    _set_table(module, _SET_DEVICE, table, "its device", len(table))
    return program


def _set_table(
    module: CodeModule, setter: str, table: ctypes.Array[ctypes.c_void_p], what: str, *others: object
) -> None:
    """Pass a table of addresses to the code. `others` are their number, and the owner of the addresses."""
    try:
        find_function(module, setter)(ctypes.cast(table, ctypes.c_void_p), *others)
    except (TypeError, ValueError) as error:
        raise ArtifactError(f"the object code does not take {what}: {first_line(error)}") from None


def _set_threads(module: CodeModule, artifact: Artifact, code: memoryview, limit: ThreadLimit) -> None:
    """Pass the thread pool of the process and the number of threads to the code."""
    pool = pool_of_process(lambda: _load_objects([code], artifact))
    table = limit.table_with(find_function(pool, _POOL)())
    _set_table(module, _SET_THREADS, table, "its threads", len(table), limit)


def _set_functions(module: CodeModule, calls: Sequence[str], functions: Mapping[str, object]) -> None:
    """Pass the functions that came with the program to the code, which owns them from here on."""
    from .ffi import tvm_ffi

    given = {name: tvm_ffi.convert(function) for name, function in functions.items()}
    handles = [given[name].__chandle__() if name in given else None for name in calls]
    table = (ctypes.c_void_p * len(handles))(*handles)
    _set_table(module, _SET_FUNCTIONS, table, "its functions", len(handles), list(given.values()))
