# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What functions of places compute with: Numbers, and indices that remember how they are made of loops' variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

from ...bindings.ir import Value
from ...bindings.mlir import ir
from ...dialects.core.symbols_expr import Size, SymExpr, make_variable
from ...support.errors import RelaxError
from ..arithmetic import Operand
from ..numbers import Number


class Body(Protocol):
    """Where a function of places is called: what is being emitted."""

    def reduce_index(self, axis: ReduceAxis) -> Index: ...

    def symbol(self, expression: SymExpr) -> Index: ...


_body: ContextVar[Any] = ContextVar("te_body", default=None)


def body(what: str) -> Any:
    """The one around. Raises RelaxError where there is none."""
    found = _body.get()
    if found is None:
        raise RelaxError(f"{what} is known in the function of a te.compute only")
    return found


class Index(Number):
    """A number of type index; `at` is what it is of loops' variables, None where that is not known."""

    __slots__ = ("at",)

    def __init__(self, value: Value, at: Size | None = None, *, unsigned: bool = False):
        super().__init__(value, unsigned=unsigned)
        self.at = at

    def _with(self, other: Any, number: Callable[[Any], Number], size: Callable[[Size], Size]) -> Number:
        other = operand(other)
        known = other if isinstance(other, int) else getattr(other, "at", None)
        made = number(other)
        if self.at is None or known is None or isinstance(known, bool):
            return made
        return Index(made, size(known))

    def __add__(self, other: Any) -> Any:
        return self._with(other, super().__add__, lambda at: self.at + at)  # type: ignore[operator]

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._with(other, super().__sub__, lambda at: self.at - at)  # type: ignore[operator]

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, super().__rsub__, lambda at: at - self.at)  # type: ignore[operator]

    def __mul__(self, other: Any) -> Any:
        return self._with(other, super().__mul__, lambda at: self.at * at)  # type: ignore[operator]

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        """Rounded down: indices may be below 0 before something is added."""
        return self._with(other, self._floor, lambda at: self.at // at)  # type: ignore[operator]

    def __mod__(self, other: Any) -> Any:
        return self._with(other, lambda x: self - self._floor(x) * x, lambda at: self.at % at)  # type: ignore[operator]

    def _floor(self, other: Any) -> Number:
        return Number(self.binary("", "arith.floordivsi", other))

    def _compared(self, name: str, predicate: int, other: Operand) -> Any:
        return Number(super()._compared(name, predicate, operand(other)))


def operand(value: Any) -> Any:
    """What stands beside an index: axes of reductions and symbols are indices."""
    if isinstance(value, ReduceAxis):
        return value.index
    return body(f"the value of {value}").symbol(value) if isinstance(value, SymExpr) else value


@dataclass(frozen=True, eq=False)
class ReduceAxis:
    """Along which a reduction goes: from `start` on, `extent` steps."""

    start: int
    extent: Size
    name: str

    @property
    def index(self) -> Index:
        found: Index = body(f"where reduce axis '{self.name}' stands").reduce_index(self)
        return found

    def astype(self, dtype: str) -> Number:
        return self.index.astype(dtype)

    def __str__(self) -> str:
        return self.name


def _forwarded(name: str) -> Callable[..., Any]:
    return lambda self, *others: getattr(self.index, name)(*map(operand, others))


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "floordiv", "mod", "lt", "le", "gt", "ge"):
    setattr(ReduceAxis, f"__{_name}__", _forwarded(f"__{_name}__"))


def variables(names: Sequence[str]) -> list[SymExpr]:
    return list(map(make_variable, names))


# ---- reductions ----


@dataclass(frozen=True, eq=False)
class Reduction:
    """What a function of places gives that reduces: it must be all that it gives."""

    combine: Callable[[Sequence[Number], Sequence[Number]], Sequence[Number]]
    values: tuple[Number, ...]
    starts: tuple[Any, ...]
    axes: tuple[ReduceAxis, ...]

    def __getitem__(self, position: int) -> Any:
        raise RelaxError("a reduction of several values is all that a function of places can give")

    def __add__(self, other: object) -> Any:
        raise RelaxError("nothing can be computed with a reduction: use its tensor in another te.compute")

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __neg__ = __add__


def is_index(value: object) -> bool:
    return isinstance(value, Value) and isinstance(value.type, ir.IndexType)
