# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors: placeholders and computed tensors. Nothing is computed before emission."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols_expr import Size
from .places import SourcePlace, place_of_caller
from .scalar_expressions import body
from .tracing import Traced


@dataclass(frozen=True, eq=False, repr=False)
class Tensor:
    """Tensor. `A[i, j]` is an element, in the function of another tensor."""

    shape: tuple[Size, ...]
    name: str
    place: SourcePlace

    @property
    def dtype(self) -> str:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"Tensor(shape=({', '.join(map(str, self.shape))}), name={self.name!r}, dtype={self.dtype!r})"

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, indices: object) -> Any:
        at = indices if isinstance(indices, tuple) else (indices,)
        if len(at) != len(self.shape):
            self._refuse(f"'{self.name}' has {len(self.shape)} dimensions, {len(at)} indices are given")
        return body(f"an element of '{self.name}'").element(self, at)

    def __call__(self, *indices: object) -> Any:
        return self[indices]

    def __setitem__(self, indices: object, value: object) -> None:
        self._refuse(f"'{self.name}': what an element is, the function that is given to te.compute returns")

    def __iter__(self) -> NoReturn:
        self._refuse(f"'{self.name}' has no elements yet that one could go through: use a te.reduce_axis")

    def _refuse_arithmetic(self, *others: object) -> NoReturn:
        at = ", ".join("ijklmnop"[: self.ndim])
        self._refuse(f"'{self.name}' is a tensor; what is computed with is its elements, '{self.name}[{at}]'")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse_arithmetic
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __matmul__ = __neg__ = __abs__ = _refuse_arithmetic
    __lt__ = __le__ = __gt__ = __ge__ = _refuse_arithmetic
    __array_ufunc__ = None

    def _refuse(self, message: str) -> NoReturn:
        raise place_of_caller().problem(message)


@dataclass(frozen=True, eq=False, repr=False)
class Placeholder(Tensor):
    """Tensor that the caller supplies."""

    given: str = "f32"

    @property
    def dtype(self) -> str:
        return self.given

    @property
    def info(self) -> TensorInfo:
        return TensorInfo(self.shape, self.given)


@dataclass(frozen=True, eq=False)
class Computation:
    """Elements of one or more tensors of a shape, as a function of their index."""

    shape: tuple[Size, ...]
    name: str
    place: SourcePlace
    trace: Traced
    results: list[Tensor]


@dataclass(frozen=True, eq=False, repr=False)
class Computed(Tensor):
    """Tensor `number` of a computation."""

    computation: Computation
    number: int = 0

    @property
    def dtype(self) -> str:
        return self.computation.trace.dtypes[self.number]


@dataclass(frozen=True, eq=False)
class External:
    """Tensors that a function writes: `function(ins, outs)` receives memory."""

    shapes: tuple[tuple[Size, ...], ...]
    dtypes: tuple[str, ...]
    sources: tuple[Tensor, ...]
    function: Callable[..., object]
    name: str
    place: SourcePlace
    results: list[Tensor]


@dataclass(frozen=True, eq=False, repr=False)
class Written(Tensor):
    """Tensor `number` of an external function."""

    external: External
    number: int = 0

    @property
    def dtype(self) -> str:
        return self.external.dtypes[self.number]


@dataclass(frozen=True, eq=False)
class Recurrence:
    """Recurrence of states: `inits` give the first steps, and `updates` compute the others from previous steps."""

    inits: tuple[Tensor, ...]
    updates: tuple[Tensor, ...]
    states: tuple[Placeholder, ...]
    name: str
    place: SourcePlace
    results: list[Tensor]

    @property
    def first(self) -> int:
        """Number of steps that the initial states cover."""
        return int(self.inits[0].shape[0])  # type: ignore[arg-type]  # checked when it was made


@dataclass(frozen=True, eq=False, repr=False)
class Scanned(Tensor):
    """State `number` of a recurrence, with all of its steps."""

    recurrence: Recurrence
    number: int = 0

    @property
    def dtype(self) -> str:
        return self.recurrence.states[self.number].dtype
