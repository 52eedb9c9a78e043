# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vocabulary of host functions: types, decorators and built-in functions.

mypy reads the signatures. Nothing here runs: the reader (expressions.py) emits code for each built-in function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    ParamSpec,
    SupportsFloat,
    SupportsInt,
    TypeAlias,
    TypeVar,
    get_type_hints,
)
from typing import cast as cast  # for addresses of functions: cast("Callable[[Ptr], I32]", address)

from ....support.errors import ModelError

#: Plain numbers of a source are 64-bit integers. `//`, `%` and `>>` round like C's, toward zero.
I64 = int
F64 = float
#: Address of a zero-terminated text. A literal becomes a private constant.
Text = str
#: Result of a function that can fail: it returns nothing to callers in host functions, which leave with it, and an i32
#: status to others: 0, or -1 with the error set.
if TYPE_CHECKING:
    Status: TypeAlias = None
else:
    Status = type("Status", (), {})
#: Null pointer of any type.
NULL: Any = None

_N = TypeVar("_N", bound="FixedNumber")
_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T")
_A = TypeVar("_A", bound="Array[Any]")
_S = TypeVar("_S", bound="Struct")
#: Order of an atomic access.
Order = Literal["monotonic", "acquire", "release", "acq_rel", "seq_cst"]


class FixedNumber:
    """Number of a type other than I64. The constructor converts numbers, and pointers to integers."""

    def __init__(self, value: SupportsInt | SupportsFloat) -> None:
        self.value = value

    if TYPE_CHECKING:

        def __add__(self: _N, other: _N | int) -> _N: ...

        def __lt__(self: _N, other: _N | int) -> bool: ...

        def __eq__(self, other: object) -> bool: ...

        def __int__(self) -> int: ...

        def __index__(self) -> int: ...

        def __float__(self) -> float: ...

        __sub__ = __mul__ = __floordiv__ = __truediv__ = __mod__ = __add__
        __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = __add__
        __le__ = __gt__ = __ge__ = __lt__


class I8(FixedNumber):
    """Signed 8-bit integer."""


class I32(FixedNumber):
    """Signed 32-bit integer."""


class U32(FixedNumber):
    """32-bit integer with unsigned comparisons, divisions and conversions."""


class U64(FixedNumber):
    """64-bit integer with unsigned comparisons, divisions and conversions."""


class F32(FixedNumber):
    """32-bit float."""


class Ptr:
    """Address of bytes. Offsets count bytes. The constructor takes addresses of any type, and integers."""

    if TYPE_CHECKING:

        def __init__(self, address: object) -> None: ...

        def __add__(self, offset: int) -> Ptr: ...

        def __sub__(self, offset: int) -> Ptr: ...

        def __int__(self) -> int: ...


class Array(Ptr, Generic[_T]):
    """Address of elements of a type. Offsets count elements. Structs are elements by their addresses."""

    if TYPE_CHECKING:

        def __getitem__(self, index: int | I32) -> _T: ...

        def __setitem__(self, index: int | I32, value: _T) -> None: ...

        def __add__(self: _A, offset: int) -> _A: ...

        def __sub__(self: _A, offset: int) -> _A: ...


class Struct(Ptr):
    """Address of a struct. Subclasses annotate the fields, in the layout of C.

    `Annotated[Array[I64], 4]` and `Annotated[Other, 1]` are elements inside of the struct instead of an address.
    `Annotated[Ptr, "payload"]` is another view of the field of that name.
    """


@dataclass(frozen=True)
class Function(Generic[_P, _R]):
    """Host function as declared."""

    python: Callable[_P, _R]
    scope: str
    #: LLVM's attributes.
    flags: tuple[str, ...] = ()

    def __call__(self, *arguments: _P.args, **_: _P.kwargs) -> _R:
        raise TypeError(f"{self.python.__name__} is a host function: only host functions can call it")

    def status(self, *arguments: _P.args, **_: _P.kwargs) -> I32:
        """Return the status of a function that can fail, instead of leaving the caller."""
        raise TypeError(f"{self.python.__name__} is a host function: only host functions can call it")

    @cached_property
    def signature(self) -> tuple[list[Any], Any, bool]:
        """Return the types of parameters and result, and whether further arguments may follow."""
        code = self.python.__code__
        try:
            hints = get_type_hints(self.python, include_extras=True)
        except (NameError, TypeError, AttributeError) as error:
            raise self.refuse(str(error)) from None
        names, is_variadic = code.co_varnames[: code.co_argcount], bool(code.co_flags & 4)
        if missing := [name for name in (*names, "return") if name not in hints]:
            raise self.refuse(f"'{missing[0]}' has no type")
        result = hints["return"]
        return [hints[name] for name in names], None if result is NoneType else result, is_variadic

    def refuse(self, problem: str, line: int = 0) -> ModelError:
        """Return the error of a problem at a line of the source, by default the first of the function."""
        code = self.python.__code__
        place = f"{code.co_filename}:{line or code.co_firstlineno}"
        return ModelError(f"host function '{self.python.__name__}': {problem}", location=place)

    @property
    def can_fail(self) -> bool:
        return self.signature[1] is Status


@dataclass(frozen=True)
class Declaration:
    """Decorator of host functions."""

    scope: str
    flags: tuple[str, ...] = ()

    def __call__(self, function: Callable[_P, _R]) -> Function[_P, _R]:
        return Function(function, self.scope, self.flags)

    @property
    def apart(self) -> Declaration:
        """The decorator of functions that callers do not inline."""
        return Declaration(self.scope, ("no_inline",))

    @property
    def cold(self) -> Declaration:
        """The decorator of functions outside of usual paths."""
        return Declaration(self.scope, ("cold", "no_inline"))

    @property
    def inline(self) -> Declaration:
        """The decorator of functions that callers always inline."""
        return Declaration(self.scope, ("always_inline",))


#: Function for the program's code and for other units. With `...` as its body, another unit defines it.
library_function = Declaration("library")
#: Function for the functions of its unit, and for other units, which then contain copies of it.
local_function = Declaration("local")
#: Function for the loader and the runtime.
exported_function = Declaration("exported")
#: Function that each program contains itself, to inline it.
copied_function = Declaration("copied")
#: Function of C, with `...` as its body.
c_function = Declaration("C")
#: Function without parameters that runs when the program is unloaded.
unload_function = Declaration("unload")


@dataclass(frozen=True, eq=False)
class Storage:
    """Global of a unit: zeros, or a constant table of functions' addresses."""

    element: Any
    count: int
    functions: tuple[Any, ...] = ()


def storage(element: type[_T], count: int = 1) -> Array[_T]:
    """Return a global of the unit, elements that are zero at first. Assign it to a name of the module."""
    return Storage(element, count)  # type: ignore[return-value]


def function_table(*functions: Any) -> Array[Ptr]:
    """Return a constant of the unit with addresses of functions, or NULL."""
    return Storage(Ptr, len(functions), functions)  # type: ignore[return-value]


# ---- built-in functions ----


def stack(element: type[_T], count: int = 1, alignment: int = 8) -> Array[_T]:
    """Return memory of the call, once per call if the count is a literal."""


def place_of(element: _T) -> Array[_T]:
    """Return the address of a struct's field or of an array's element."""


def size_of(element: type[_T]) -> int:
    """Return the number of bytes of an element."""


def clear(target: Struct) -> None:
    """Store zeros in all fields."""


def copy(target: _S, source: _S) -> None:
    """Copy all fields."""


def memcpy(target: Ptr, source: Ptr, count: int) -> None:
    """Copy bytes."""


def memset(target: Ptr, byte: I8, count: int) -> None:
    """Set bytes."""


def mask_pointer(address: Ptr, mask: int) -> Ptr:
    """Return the bitwise and of an address and a mask."""


def atomic_load(place: Array[_T], order: Order) -> _T:
    """Load an element."""


def atomic_store(place: Array[_T], value: _T, order: Order) -> None:
    """Store an element."""


def exchange(place: Array[_T], value: _T, order: Order) -> _T:
    """Store an element and return the one before."""


def fetch_add(place: Array[_T], value: _T, order: Order) -> _T:
    """Add to an integer and return the one before."""


def compare_exchange(place: Array[_T], expected: _T, value: _T, order: Order, failure_order: Order) -> tuple[_T, bool]:
    """Store a value if the element equals another. Return the element before, and whether it was equal."""


def multiply_checked(a: int, b: int) -> tuple[int, bool]:
    """Return the product, and whether it overflows."""


def likely(condition: bool) -> bool:
    """Return a condition that is almost always true."""


def unlikely(condition: bool) -> bool:
    """Return a condition that is almost never true."""


def require_ok(status: I32) -> None:
    """Leave the function, which can fail, unless the status of a call is 0."""


def architecture() -> str:
    """Return LLVM's name of the architecture, for a comparison that decides which code a unit has."""


def intrinsic(name: str, result: type[_T] | None, *operands: Any) -> _T:
    """Call an intrinsic of LLVM with a result of a type, or None."""
