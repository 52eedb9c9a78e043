# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""oneDNN's objects, which are destroyed with their last reference."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence

from .library import DnnlError, library

#: By MLIR's names, its own with a sign.
DATA_TYPES = {"f16": 1, "bf16": 2, "f32": 3, "i32": 4, "i8": 5, "ui8": 6}
WIDTHS = {"f16": 2, "bf16": 2, "f32": 4, "i32": 4, "i8": 1, "ui8": 1}
ANY = 1
_USER_SCRATCHPAD = 1
_IMPLEMENTATION, _EXEC_MD, _SCRATCHPAD_MD = 8, 255, 136
_FORMAT_KIND, _BLOCKS = 262, 263

#: What steps call arguments, as oneDNN numbers them.
ARGUMENTS = {"src": 1, "src1": 2, "dst": 17, "weights": 33, "bias": 41, "mean": 49, "variance": 50, "scale": 51,
             "shift": 52, **{f"part{number}": 1024 + number for number in range(64)}}  # fmt: skip
SCRATCHPAD = 80
SCALES, ZERO_POINTS, POST_OP = 4096, 8192, 32768


def numbers(values: Sequence[int]) -> ctypes.Array[ctypes.c_int64]:
    """Sizes as oneDNN takes them."""
    return (ctypes.c_int64 * 12)(*values)


def row_major(dims: Sequence[int]) -> list[int]:
    """The strides of a tensor without gaps."""
    return [math.prod(max(size, 1) for size in dims[axis + 1 :]) for axis in range(len(dims))]


class _Object:
    """One of the library's objects."""

    destroy = ""
    handle = 0

    def __init__(self, handle: int):
        self.handle = handle
        self._give_back = library().function(self.destroy)

    def __del__(self) -> None:
        if self.handle:  # it was made
            self._give_back(self.handle)


class Layout(_Object):
    """A tensor's layout in memory: a memory descriptor."""

    destroy = "memory_desc_destroy"

    def __init__(self, handle: int, dims: Sequence[int], dtype: str):
        super().__init__(handle)
        self.dims, self.dtype = tuple(dims), dtype

    @staticmethod
    def strided(dims: Sequence[int], dtype: str, strides: Sequence[int] | None = None) -> Layout:
        """Row-major where no strides are given. A number alone is a vector of one."""
        dims = dims or (1,)
        steps = numbers(row_major(dims) if strides is None else strides)
        create = "memory_desc_create_with_strides"
        return Layout(library().make(create, len(dims), numbers(dims), DATA_TYPES[dtype], steps), dims, dtype)

    @staticmethod
    def any(dims: Sequence[int], dtype: str) -> Layout:
        """As the primitive likes it."""
        create = "memory_desc_create_with_tag"
        return Layout(library().make(create, len(dims), numbers(dims), DATA_TYPES[dtype], ANY), dims, dtype)

    def permuted(self, axes: Sequence[int]) -> Layout:
        """With the dimensions in another order, as numpy's transpose."""
        places = (ctypes.c_int * 12)(*(list(axes).index(axis) for axis in range(len(axes))))
        handle = library().make("memory_desc_permute_axes", self.handle, places)
        return Layout(handle, [self.dims[axis] for axis in axes], self.dtype)

    def reshaped(self, dims: Sequence[int]) -> Layout | None:
        """The same elements in the same memory by other sizes; None where the layout does not allow that."""
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
        """A piece of the tensor in place; None where it begins or ends inside of a block."""
        try:
            handle = library().make("memory_desc_create_submemory", self.handle, numbers(dims), numbers(begin))
        except DnnlError:
            return None
        return Layout(handle, dims, self.dtype)

    @property
    def is_any(self) -> bool:
        """Whether the primitive is to choose."""
        kind = ctypes.c_int()
        library().call("memory_desc_query", self.handle, _FORMAT_KIND, ctypes.byref(kind))
        return kind.value == ANY

    @property
    def is_blocked(self) -> bool:
        """Whether there is more to say than strides."""
        blocks = ctypes.c_int()
        library().call("memory_desc_query", self.handle, _BLOCKS, ctypes.byref(blocks))
        return blocks.value > 0

    @property
    def nbytes(self) -> int:
        return int(library().function("memory_desc_get_size")(self.handle))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and bool(library().function("memory_desc_equal")(self.handle, other.handle))

    __hash__ = None  # type: ignore[assignment]


class Memory(_Object):
    """A layout at an address."""

    destroy = "memory_destroy"

    def __init__(self, layout: Layout, address: int):
        super().__init__(library().make("memory_create", layout.handle, library().engine, address))


class PostOps(_Object):
    destroy = "post_ops_destroy"

    def __init__(self) -> None:
        super().__init__(library().make("post_ops_create"))


class Attributes(_Object):
    """What a primitive does in addition to its own: post-ops, scales."""

    destroy = "primitive_attr_destroy"

    def __init__(self) -> None:
        super().__init__(library().make("primitive_attr_create"))
        library().call("primitive_attr_set_scratchpad_mode", self.handle, _USER_SCRATCHPAD)


class Description(_Object):
    """A primitive that could be made."""

    destroy = "primitive_desc_destroy"

    def __init__(self, kind: str, *arguments: object):
        made = ctypes.c_void_p()
        library().call(f"{kind}_primitive_desc_create", ctypes.byref(made), *arguments)
        super().__init__(made.value or 0)

    def layout(self, argument: int, dims: Sequence[int], dtype: str) -> Layout:
        """How it wants an argument."""
        return Layout(self._queried(_EXEC_MD, argument), dims, dtype)

    @property
    def scratchpad(self) -> Layout:
        return Layout(self._queried(_SCRATCHPAD_MD, 0), (), "ui8")

    def _queried(self, what: int, index: int) -> int:
        found = library().function("primitive_desc_query_md")(self.handle, what, index)
        return library().make("memory_desc_clone", found)

    @property
    def implementation(self) -> str:
        """What it is made of: "jit:avx2", "ref:any"."""
        name = ctypes.c_char_p()
        library().call("primitive_desc_query", self.handle, _IMPLEMENTATION, 0, ctypes.byref(name))
        return (name.value or b"").decode()

    @property
    def is_reference(self) -> bool:
        """Whether it is written to be right, not fast."""
        return self.implementation.startswith("ref") or ":ref" in self.implementation


class Primitive(_Object):
    destroy = "primitive_destroy"

    def __init__(self, description: Description):
        super().__init__(library().make("primitive_create", description.handle))
