# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dynamic sizes as tensors: symbols are read from shapes, expressions are computed from symbols."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from ....dialects.core.infos import Info, ShapeInfo, TensorInfo
from ....dialects.core.symbols import Dim, SymExpr, sym
from ....dialects.core.symbols_expr import terms_of
from ....dialects.core.symbols_terms import Atom
from ...core.node import Unsupported
from .export_values import Held, Part, Ref, ShapeValue, SizeOf
from .graph import Graph

_LARGEST = 2**63 - 1


class SizeTensors:
    """Symbols of one graph function, and the tensors that were created for sizes."""

    def __init__(self) -> None:
        self._symbols: dict[str, Part] = {}
        self._made: dict[tuple[Graph, object], Ref] = {}

    # ---- definitions of symbols ----

    def define(self, held: Held, info: Info) -> None:
        """Define the symbols in a value's type by the value's sizes, unless they are defined already."""
        if isinstance(info, TensorInfo) and isinstance(held, Ref):
            self._define([SizeOf(held, axis) for axis in range(info.rank or 0)], info.shape or ())
        if isinstance(info, ShapeInfo) and isinstance(held, ShapeValue) and held.parts is not None:
            self._define(held.parts, info.dims or ())

    def _define(self, parts: Sequence[Part], dims: Sequence[Dim]) -> None:
        for part, dim in zip(parts, dims, strict=True):
            if isinstance(dim, SymExpr) and dim.variables == {str(dim)} and part != dim:
                self._symbols.setdefault(str(dim), part)

    def solve(self, values: Sequence[tuple[Held, Info]]) -> None:
        """Define symbols that appear in expressions only, such as n in a size of 2 * n."""
        for held, info in values:
            shape = info.shape if isinstance(info, TensorInfo) and isinstance(held, Ref) else None
            for axis, dim in enumerate(shape or ()):
                if isinstance(dim, SymExpr) and isinstance(held, Ref):
                    self._solve(dim, SizeOf(held, axis))

    def _solve(self, dim: SymExpr, size: SizeOf) -> None:
        """Solve an expression factor * symbol + rest with one unknown symbol."""
        unknown = dim.variables - self._symbols.keys()
        if len(unknown) != 1:
            return
        (name,) = unknown
        rest, one = dim.substitute({name: 0}), dim.substitute({name: 1})
        factor = None if rest is None or one is None else one - rest
        if not isinstance(factor, int) or factor < 1 or rest is None or sym(name) * factor + rest != dim:
            return
        # A name that no symbol can have represents the size itself.
        whole = f"{name}..size"
        self._symbols[whole] = size
        self._symbols[name] = (sym(whole) - rest) // factor

    def take(self, names: Iterable[str], other: SizeTensors, graph: Graph) -> None:
        """Define symbols by the sizes of another function."""
        for name in sorted(names):
            if other.is_known(sym(name)):
                self._symbols[name] = other.one(graph, sym(name))

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Forget definitions of symbols at the end of the context."""
        before = dict(self._symbols)
        try:
            yield
        finally:
            self._symbols = before

    # ---- tensors ----

    def tensor(self, graph: Graph, shape: ShapeValue | Sequence[Part]) -> Ref:
        """Return a shape as a 1-D tensor."""
        if isinstance(shape, ShapeValue) and shape.tensor is not None:
            return shape.tensor
        parts = shape.parts if isinstance(shape, ShapeValue) else list(shape)
        assert parts is not None
        if all(isinstance(part, int) for part in parts):
            return graph.const(parts, "i64")
        whole = parts[0].tensor if isinstance(parts[0], SizeOf) else None
        if whole is not None and len(parts) > 1 and parts == [SizeOf(whole, axis) for axis in range(len(parts))]:
            return graph.node("Shape", whole, end=len(parts))
        pieces = self._pieces(graph, parts)
        return pieces[0] if len(pieces) == 1 else graph.node("Concat", *pieces, axis=0)

    def _pieces(self, graph: Graph, parts: Sequence[Part]) -> list[Ref]:
        pieces: list[Ref] = []
        numbers: list[int] = []
        for part in (*parts, None):
            if isinstance(part, int):
                numbers.append(part)
                continue
            if numbers:
                pieces.append(graph.const(numbers, "i64"))
                numbers = []
            if part is not None:
                pieces.append(self.one(graph, part))
        return pieces

    def one(self, graph: Graph, part: Part) -> Ref:
        """Return a size as a tensor of one element."""
        if isinstance(part, Ref):
            return part
        if isinstance(part, int):
            return graph.ints(part)
        key = str(part) if isinstance(part, SymExpr) else part
        if (known := self._known(graph, key)) is not None:
            return known
        if isinstance(part, SizeOf):
            made = graph.node("Shape", part.tensor, start=part.axis, end=part.axis + 1)
        else:
            made = self._computed(graph, part)
        self._made[graph, key] = made
        return made

    def _known(self, graph: Graph | None, key: object) -> Ref | None:
        while graph is not None:
            if (found := self._made.get((graph, key))) is not None:
                return found
            graph = graph.outer
        return None

    def scalar(self, graph: Graph, part: Part) -> Ref:
        """Return a size as a 0-D tensor."""
        if isinstance(part, int):
            return graph.number(part, "i64")
        return graph.squeeze(self.one(graph, part), [0])

    def is_known(self, part: Part) -> bool:
        """Check whether a size is a number or can be computed."""
        return not isinstance(part, SymExpr) or all(name in self._symbols for name in part.variables)

    # ---- expressions ----

    def _computed(self, graph: Graph, expression: SymExpr) -> Ref:
        total: Ref | None = None
        for monomial, coefficient in terms_of(expression).items():
            factors = [self._atom(graph, atom) for atom in monomial]
            if coefficient != 1 or not factors:
                factors.append(graph.ints(coefficient))
            term = factors[0]
            for factor in factors[1:]:
                term = graph.node("Mul", term, factor)
            total = term if total is None else graph.node("Add", total, term)
        assert total is not None
        return total

    def _atom(self, graph: Graph, atom: Atom) -> Ref:
        if atom.kind == "variable":
            if str(atom) not in self._symbols:
                raise Unsupported(f"the size '{atom}' is not the size of an argument")
            return self.one(graph, self._symbols[str(atom)])
        one, *others = [self.one(graph, arg) for arg in atom.args]
        if atom.kind == "//":
            # ONNX divides integers towards zero, but sizes round down.
            return graph.node("Div", graph.node("Sub", one, graph.node("Mod", one, *others)), *others)
        return graph.node({"%": "Mod", "min": "Min", "max": "Max"}[atom.kind], one, *others)

    # ---- reshaping ----

    def reshape(self, graph: Graph, tensor: Ref, parts: Sequence[Part], source: Sequence[Part] = ()) -> Ref:
        """Reshape a tensor to these sizes. `source` are the sizes of the tensor, as far as they are known."""
        if (wanted := self._short(parts, source)) is not None:
            return graph.node("Reshape", tensor, graph.const(wanted, "i64"), allowzero=1 if 0 in parts else None)
        return graph.node("Reshape", tensor, self.tensor(graph, parts), allowzero=1)

    @staticmethod
    def _short(parts: Sequence[Part], source: Sequence[Part]) -> list[int] | None:
        """Return a shape of numbers only, or None. -1 replaces one unknown size, 0 keeps a size of the source."""
        unknown = [axis for axis, part in enumerate(parts) if not isinstance(part, int)]
        if 0 in parts:
            return None if unknown else [int(part) for part in parts if isinstance(part, int)]
        kept = [axis for axis in unknown if axis < len(source) and source[axis] == parts[axis]]
        others = [axis for axis in unknown if axis not in kept]
        if len(others) > 1:
            return None
        if not others and len(unknown) == 1:
            kept, others = [], unknown
        # -1 is ambiguous for a tensor without elements.
        if others and kept:
            return None
        return [part if isinstance(part, int) else 0 if axis in kept else -1 for axis, part in enumerate(parts)]


def clamped(bound: int) -> int:
    """Clamp a bound to a 64-bit integer."""
    return max(-_LARGEST, min(bound, _LARGEST))
