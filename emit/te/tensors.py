# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors: given ones, and those that are computed. Nothing is computed before it is asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols_expr import Size
from ...support.errors import RelaxError
from .scalars import body, is_in_function
from .tracing import Traced


@dataclass(frozen=True, eq=False)
class Place:
    """A line of the program that says what a tensor is."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def problem(self, message: str) -> RelaxError:
        return RelaxError(message, location=str(self))


#: Whose lines say nothing to who calls them.
_OWN = tuple(f"{__package__.partition('.')[0]}.{name}" for name in ("emit.te", "te", "passes.legalize.builder"))


def place_of_caller() -> Place:
    """The line that called a function of te."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and _is_own(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno)


def _is_own(module: str) -> bool:
    return any(module == own or module.startswith(f"{own}.") for own in _OWN)


@dataclass(frozen=True, eq=False)
class Tensor:
    """`A[i, j]` is an element, in the function of another tensor."""

    shape: tuple[Size, ...]
    name: str
    place: Place

    @property
    def dtype(self) -> str:
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, indices: Any) -> Any:
        at = indices if isinstance(indices, tuple) else (indices,)
        if len(at) != len(self.shape):
            self._refuse(f"'{self.name}' has {len(self.shape)} dimensions, {len(at)} indices are given")
        if not is_in_function():
            self._refuse(f"an element of '{self.name}' is known in the function of a te.compute only")
        return body(self.name).element(self, at)

    def __call__(self, *indices: Any) -> Any:
        return self[indices]

    def __setitem__(self, indices: Any, value: Any) -> None:
        self._refuse(f"'{self.name}': what an element is, the function that is given to te.compute returns")

    def __iter__(self) -> Any:
        self._refuse(f"'{self.name}' has no elements yet that one could go through: te.reduce_axis goes along a dimension")

    def _refuse_arithmetic(self, *others: Any) -> Any:
        at = ", ".join("ijklmnop"[: self.ndim])
        self._refuse(f"'{self.name}' is a tensor; what is computed with is its elements, '{self.name}[{at}]'")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse_arithmetic
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __matmul__ = __neg__ = __abs__ = _refuse_arithmetic
    __lt__ = __le__ = __gt__ = __ge__ = _refuse_arithmetic
    __array_ufunc__ = None

    def _refuse(self, message: str) -> NoReturn:
        raise place_of_caller().problem(message)


@dataclass(frozen=True, eq=False)
class Placeholder(Tensor):
    """A tensor that is given."""

    given: str = "f32"

    @property
    def dtype(self) -> str:
        return self.given

    @property
    def info(self) -> TensorInfo:
        return TensorInfo(self.shape, self.given)


@dataclass(frozen=True, eq=False)
class Computation:
    """Elements of one or more tensors of a shape, by a function of their place."""

    shape: tuple[Size, ...]
    name: str
    place: Place
    trace: Traced
    results: list[Tensor]


@dataclass(frozen=True, eq=False)
class Computed(Tensor):
    """The `number`-th tensor of a computation."""

    computation: Computation
    number: int = 0

    @property
    def dtype(self) -> str:
        return self.computation.trace.dtypes[self.number]


@dataclass(frozen=True, eq=False)
class External:
    """Tensors that a function writes: `function(ins, outs)` gets memory."""

    shapes: tuple[tuple[Size, ...], ...]
    dtypes: tuple[str, ...]
    sources: tuple[Tensor, ...]
    function: Callable[..., Any]
    name: str
    place: Place
    results: list[Tensor]


@dataclass(frozen=True, eq=False)
class Written(Tensor):
    """The `number`-th tensor of an external function."""

    external: External
    number: int = 0

    @property
    def dtype(self) -> str:
        return self.external.dtypes[self.number]


@dataclass(frozen=True, eq=False)
class Recurrence:
    """States whose first steps `inits` tell, and the others `updates` by the steps before."""

    inits: tuple[Tensor, ...]
    updates: tuple[Tensor, ...]
    states: tuple[Placeholder, ...]
    name: str
    place: Place
    results: list[Tensor]

    @property
    def first(self) -> int:
        """How many steps the first ones are."""
        return int(self.inits[0].shape[0])  # type: ignore[arg-type]  # checked when it was made


@dataclass(frozen=True, eq=False)
class Scanned(Tensor):
    """The `number`-th state of a recurrence, all its steps."""

    recurrence: Recurrence
    number: int = 0

    @property
    def dtype(self) -> str:
        return self.recurrence.states[self.number].dtype
