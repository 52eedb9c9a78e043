# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Objects of oneDNN, which are destroyed with their last reference in Python."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence

from .library import DnnlError, library

#: oneDNN's data types by MLIR's names. The types i8 and i32 are signed.
DATA_TYPES = {"f16": 1, "bf16": 2, "f32": 3, "i32": 4, "i8": 5, "ui8": 6}
WIDTHS = {"f16": 2, "bf16": 2, "f32": 4, "i32": 4, "i8": 1, "ui8": 1}
ANY = 1
_USER_SCRATCHPAD = 1
_IMPLEMENTATION, _EXEC_MD, _SCRATCHPAD_MD = 8, 255, 136
_FORMAT_KIND, _BLOCKS = 262, 263

#: oneDNN's numbers of arguments, by their names in steps.
ARGUMENTS = {"src": 1, "src1": 2, "dst": 17, "weights": 33, "bias": 41, "mean": 49, "variance": 50, "scale": 51,
             "shift": 52, **{f"part{number}": 1024 + number for number in range(64)}}  # fmt: skip
SCRATCHPAD = 80
SCALES, ZERO_POINTS, POST_OP = 4096, 8192, 32768


def numbers(values: Sequence[int]) -> ctypes.Array[ctypes.c_int64]:
    """Return integers as the array of 12 that oneDNN reads."""
    return (ctypes.c_int64 * 12)(*values)


def row_major(dims: Sequence[int]) -> list[int]:
    """Return the strides of a contiguous row-major tensor."""
    return [math.prod(max(size, 1) for size in dims[axis + 1 :]) for axis in range(len(dims))]


class _Object:
    """Object of the library."""

    destroy = ""
    handle = 0

    def __init__(self, handle: int):
        self.handle = handle
        self._give_back = library().function(self.destroy)

    def __del__(self) -> None:
        if self.handle:  # its constructor has succeeded
            self._give_back(self.handle)


class Layout(_Object):
    """Layout of a tensor in memory: a memory descriptor."""

    destroy = "memory_desc_destroy"

    def __init__(self, handle: int, dims: Sequence[int], dtype: str):
        super().__init__(handle)
        self.dims, self.dtype = tuple(dims), dtype

    @staticmethod
    def strided(dims: Sequence[int], dtype: str, strides: Sequence[int] | None = None) -> Layout:
        """Return a layout with strides, row-major by default. A scalar becomes a vector of one element."""
        dims = dims or (1,)
        steps = numbers(row_major(dims) if strides is None else strides)
        create = "memory_desc_create_with_strides"
        return Layout(library().make(create, len(dims), numbers(dims), DATA_TYPES[dtype], steps), dims, dtype)

    @staticmethod
    def any(dims: Sequence[int], dtype: str) -> Layout:
        """Return a layout that the primitive chooses."""
        create = "memory_desc_create_with_tag"
        return Layout(library().make(create, len(dims), numbers(dims), DATA_TYPES[dtype], ANY), dims, dtype)

    def permuted(self, axes: Sequence[int]) -> Layout:
        """Return the layout with its dimensions in another order, as in numpy.transpose."""
        places = (ctypes.c_int * 12)(*(list(axes).index(axis) for axis in range(len(axes))))
        handle = library().make("memory_desc_permute_axes", self.handle, places)
        return Layout(handle, [self.dims[axis] for axis in axes], self.dtype)

    def reshaped(self, dims: Sequence[int]) -> Layout | None:
        """Return the layout of the same memory with other sizes, or None if oneDNN has no such layout."""
        dims = dims or (1,)
        if tuple(dims) == self.dims:
            return self
        if self == Layout.strided(self.dims, self.dtype):
            return Layout.strided(dims, self.dtype)
        try:
            handle = library().make("memory_desc_reshape", self.handle, len(dims), numbers(dims))
        except DnnlError:
            return None
        return Layout(handle, dims, self.dtype)

    def part(self, dims: Sequence[int], begin: Sequence[int]) -> Layout | None:
        """Return the layout of a slice in place, or None if the slice begins or ends inside of a block."""
        try:
            handle = library().make("memory_desc_create_submemory", self.handle, numbers(dims), numbers(begin))
        except DnnlError:
            return None
        return Layout(handle, dims, self.dtype)

    @property
    def is_any(self) -> bool:
        """Return True if the primitive chooses the layout."""
        kind = ctypes.c_int()
        library().call("memory_desc_query", self.handle, _FORMAT_KIND, ctypes.byref(kind))
        return kind.value == ANY

    @property
    def is_blocked(self) -> bool:
        """Return True if the layout has blocks, which strides do not describe."""
        blocks = ctypes.c_int()
        library().call("memory_desc_query", self.handle, _BLOCKS, ctypes.byref(blocks))
        return blocks.value > 0

    @property
    def nbytes(self) -> int:
        return int(library().function("memory_desc_get_size")(self.handle))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and bool(library().function("memory_desc_equal")(self.handle, other.handle))

    __hash__ = None  # type: ignore[assignment]


class DnnlMemory(_Object):
    """Memory at an address, with a layout."""

    destroy = "memory_destroy"

    def __init__(self, layout: Layout, address: int):
        super().__init__(library().make("memory_create", layout.handle, library().engine, address))


class PostOps(_Object):
    destroy = "post_ops_destroy"

    def __init__(self) -> None:
        super().__init__(library().make("post_ops_create"))


class Attributes(_Object):
    """Attributes of a primitive: post-ops, scales and zero points."""

    destroy = "primitive_attr_destroy"

    def __init__(self) -> None:
        super().__init__(library().make("primitive_attr_create"))
        library().call("primitive_attr_set_scratchpad_mode", self.handle, _USER_SCRATCHPAD)


class PrimitiveDescription(_Object):
    """Description of a primitive that oneDNN can create."""

    destroy = "primitive_desc_destroy"

    def __init__(self, kind: str, *arguments: object):
        handle = ctypes.c_void_p()
        library().call(f"{kind}_primitive_desc_create", ctypes.byref(handle), *arguments)
        super().__init__(handle.value or 0)

    def layout(self, argument: int, dims: Sequence[int], dtype: str) -> Layout:
        """Return the layout that the primitive expects for an argument."""
        return Layout(self._query(_EXEC_MD, argument), dims, dtype)

    @property
    def scratchpad(self) -> Layout:
        return Layout(self._query(_SCRATCHPAD_MD, 0), (), "ui8")

    def _query(self, what: int, index: int) -> int:
        found = library().function("primitive_desc_query_md")(self.handle, what, index)
        return library().make("memory_desc_clone", found)

    @property
    def implementation(self) -> str:
        """Return the name of the implementation, such as "jit:avx2" or "ref:any"."""
        name = ctypes.c_char_p()
        library().call("primitive_desc_query", self.handle, _IMPLEMENTATION, 0, ctypes.byref(name))
        return (name.value or b"").decode()

    @property
    def is_reference(self) -> bool:
        """Return True for a reference implementation, which is written to be correct, not fast."""
        return self.implementation.startswith("ref") or ":ref" in self.implementation


class Primitive(_Object):
    destroy = "primitive_destroy"

    def __init__(self, description: PrimitiveDescription):
        super().__init__(library().make("primitive_create", description.handle))
