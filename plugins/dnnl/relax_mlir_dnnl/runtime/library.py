# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""oneDNN's shared library: its path, its version and its functions."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from relax_mlir import RelaxError
from relax_mlir.runtime import Call, CFunction, Given

WHEEL = "onednn-cpu-gomp"
#: First version with this interface, which later versions with the same major number keep.
OLDEST = (3, 2)
#: Environment variable with the path of a library that replaces the wheel's.
PLACE = "RELAX_DNNL_LIBRARY"
_FILE = "libdnnl.so.3"
_OPENMP, _SEQUENTIAL = 2, 1
_STATUS = ("success", "out of memory", "invalid arguments", "unimplemented", "last implementation reached",
           "runtime error", "not required")  # fmt: skip

_KINDS: dict[str, type[ctypes._SimpleCData]] = {
    "p": ctypes.c_void_p, "i": ctypes.c_int, "n": ctypes.c_size_t, "f": ctypes.c_float,
}  # fmt: skip
#: Parameters of functions: pointers, ints, sizes and floats. A result that is not a status follows a colon.
_FUNCTIONS = {
    "engine_create": "pin",
    "stream_create": "ppi",
    "stream_wait": "p",
    "memory_create": "pppp",
    "memory_set_data_handle": "pp",
    "memory_destroy": "p",
    "memory_desc_create_with_strides": "pipip",
    "memory_desc_create_with_tag": "pipii",
    "memory_desc_create_submemory": "pppp",
    "memory_desc_clone": "pp",
    "memory_desc_permute_axes": "ppp",
    "memory_desc_reshape": "ppip",
    "memory_desc_query": "pip",
    "memory_desc_get_size": "p:n",
    "memory_desc_equal": "pp:i",
    "memory_desc_destroy": "p",
    "primitive_attr_create": "p",
    "primitive_attr_set_scratchpad_mode": "pi",
    "primitive_attr_set_scales_mask": "pii",
    "primitive_attr_set_zero_points_mask": "pii",
    "primitive_attr_set_post_ops": "pp",
    "primitive_attr_destroy": "p",
    "post_ops_create": "p",
    "post_ops_append_eltwise": "piff",
    "post_ops_append_binary": "pip",
    "post_ops_destroy": "p",
    "primitive_desc_query": "piip",
    "primitive_desc_query_md": "pii:p",
    "primitive_desc_destroy": "p",
    "primitive_create": "pp",
    "primitive_execute": "ppip",
    "primitive_destroy": "p",
    "convolution_forward_primitive_desc_create": "ppiippppppppp",
    "deconvolution_forward_primitive_desc_create": "ppiippppppppp",
    "inner_product_forward_primitive_desc_create": "ppippppp",
    "matmul_primitive_desc_create": "ppppppp",
    "pooling_forward_primitive_desc_create": "ppiipppppppp",
    "batch_normalization_forward_primitive_desc_create": "ppippfip",
    "layer_normalization_forward_primitive_desc_create": "ppipppfip",
    "softmax_forward_primitive_desc_create": "ppiippip",
    "eltwise_forward_primitive_desc_create": "ppiippffp",
    "binary_primitive_desc_create": "ppipppp",
    "reduction_primitive_desc_create": "ppippffp",
    "prelu_forward_primitive_desc_create": "ppipppp",
    "resampling_forward_primitive_desc_create": "ppiipppp",
    "concat_primitive_desc_create": "pppiipp",
    "reorder_primitive_desc_create": "pppppp",
}


class DnnlError(RelaxError):
    """Error of oneDNN: the library is missing, has another version, or has refused a call."""


class _Version(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ("major", "minor", "patch")]
    _fields_ += [("hash", ctypes.c_char_p), ("cpu_runtime", ctypes.c_uint), ("gpu_runtime", ctypes.c_uint)]


class Library:
    """Loaded library. Functions are named without their prefix: `library.call("engine_create", …)`."""

    def __init__(self, path: str):
        try:
            self._functions = ctypes.CDLL(path)
            self._functions.dnnl_version.restype = ctypes.POINTER(_Version)
            version = self._functions.dnnl_version().contents
        except (OSError, AttributeError) as error:
            raise DnnlError(f"oneDNN cannot be loaded: {error} (pip install {WHEEL}==2023.2.0)") from None
        self.path = path
        self.version = (version.major, version.minor)
        if self.version < OLDEST or version.major != OLDEST[0]:
            wanted, found = (".".join(map(str, each)) for each in (OLDEST, self.version))
            raise DnnlError(f"oneDNN {found} in {path} is not supported: {wanted} or a later {OLDEST[0]}.x is needed")
        if version.cpu_runtime not in (_OPENMP, _SEQUENTIAL):
            raise DnnlError(f"oneDNN in {path} has an unsupported threading runtime: use a build for OpenMP")
        self._calls = {name: self._typed(name, kinds) for name, kinds in _FUNCTIONS.items()}
        self._openmp = ctypes.CDLL("libgomp.so.1") if version.cpu_runtime == _OPENMP else None
        self.engine = self.make("engine_create", 1, 0)
        self.stream = self.make("stream_create", self.engine, 1)

    def _typed(self, name: str, kinds: str) -> CFunction:
        function: CFunction = getattr(self._functions, f"dnnl_{name}")
        takes, _, gives = kinds.partition(":")
        function.argtypes = [_KINDS[kind] for kind in takes]
        function.restype = _KINDS[gives or "i"]
        return function

    def function(self, name: str) -> CFunction:
        return self._calls[name]

    def call(self, name: str, *arguments: object) -> None:
        if status := self._calls[name](*arguments):
            reason = _STATUS[status] if 0 <= status < len(_STATUS) else str(status)
            raise DnnlError(f"oneDNN's dnnl_{name} failed: {reason}")

    def make(self, name: str, *arguments: object) -> int:
        """Call a function and return the handle that it stores at its first argument."""
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle.value or 0

    @property
    def instructions(self) -> str:
        """Return the instruction set that oneDNN uses on this machine, such as "avx2" or "avx512_core_vnni"."""
        to_text = self._functions.dnnl_cpu_isa2str
        to_text.restype = ctypes.c_char_p
        return to_text(self._functions.dnnl_get_effective_cpu_isa()).decode().removeprefix("cpu_isa_")

    @contextmanager
    def threads(self, count: int) -> Iterator[None]:
        """Set this thread's number of OpenMP threads, and restore the previous number at exit.

        oneDNN creates primitives for a number of threads.
        """
        if self._openmp is None:
            yield
            return
        before = self._openmp.omp_get_max_threads()
        self._openmp.omp_set_num_threads(count)
        try:
            yield
        finally:
            self._openmp.omp_set_num_threads(before)

    def with_threads(self, count: int, calls: Sequence[Call]) -> list[Call]:
        """Return the calls between calls that set `count` OpenMP threads and that restore the previous number."""
        if self._openmp is None:
            return list(calls)
        ask, tell = self._openmp.omp_get_max_threads, self._openmp.omp_set_num_threads
        return [Call(ask), Call(tell, [count]), *calls, Call(tell, [Given(0)], always=True)]


@functools.lru_cache(maxsize=1)
def library() -> Library:
    """Return the library of this process. Raise DnnlError if there is no suitable library."""
    return Library(library_path())


def library_path() -> str:
    """Return the path from the environment, the wheel's file, or a bare name for the system's search."""
    if stated := os.environ.get(PLACE):
        return stated
    from importlib.metadata import PackageNotFoundError, files

    try:
        found = [file.locate() for file in files(WHEEL) or () if file.name == _FILE]
    except PackageNotFoundError:
        found = []
    installed = [str(each) for each in found] or [os.path.join(sys.prefix, "lib", _FILE)]
    return next((os.path.realpath(each) for each in installed if os.path.isfile(each)), _FILE)
