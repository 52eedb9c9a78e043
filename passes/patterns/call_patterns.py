# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns of calls of PrimFuncs: by name, by how they can be fused, by what they compute."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from types import EllipsisType
from typing import ClassVar, TypeVar

from ...bindings.ir import Operation, Value
from ...bindings.navigation import symbol_name
from ...dialects.core.codec import decode
from ...dialects.core.facts import OpPattern
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import Dim
from ...support.errors import RelaxError
from ...support.suggest import counted
from ..structures.prim_funcs import CALL_TIR, KnownPrimFunc, prim_func_of
from ..structures.structure import Binding, Structure
from .operator_patterns import Op, Operand, Operands
from .tree import Bound, Found, GraphPattern, Subject, Ways

T = TypeVar("T")


class CallTir(Op):
    """What a call of a PrimFunc gives. With structures, operands are in the order of their inputs."""

    reads_prim_funcs: ClassVar[bool] = True
    kinds: tuple[OpPattern, ...] = ()

    def __init__(self, functions: tuple[str, ...], structures: tuple[Structure, ...]):
        super().__init__((CALL_TIR,))
        self.functions, self.structures = functions, structures
        counts = sorted({structure.input_count for structure in self.structures})
        if len(counts) > 1:
            shown = " and ".join(map(str, counts))
            raise RelaxError(f"pattern {self}: structures of one pattern read as many values, not {shown}")

    def __call__(self, *positional: Operand | EllipsisType, **by_name: Operand) -> CallTir:
        """The same of these arguments, in their order. `...` at the end: and whatever else."""
        is_open = bool(positional) and positional[-1] is ...
        given = positional[:-1] if is_open else positional
        if by_name or not all(isinstance(each, GraphPattern) for each in given):
            raise RelaxError(f"pattern {self}: arguments of a PrimFunc are patterns in their order")
        count = self.structures[0].input_count if self.structures else None
        if count is not None and (len(given) > count or (len(given) < count and not is_open)):
            raise RelaxError(f"pattern {self}: {self.structures[0]} has {counted(count, 'input')}, not {len(given)}")
        stated: Operands = {place: (each,) for place, each in enumerate(given) if isinstance(each, GraphPattern)}
        return self.but(operands=stated, is_open=is_open)

    def has_kind(self, *kinds: OpPattern | str) -> CallTir:
        """The same of a PrimFunc that can be fused like this, or one of several: "elemwise", rx.OpPattern.BROADCAST."""
        stated = [OpPattern.parse(kind, f"pattern {self}: ") if isinstance(kind, str) else kind for kind in kinds]
        return self.but(kinds=tuple(stated))

    def has_attr(self, **attributes: object) -> CallTir:
        raise RelaxError(f"pattern {self}: a call has no attributes to tell; use where()")

    def ways(self, subject: Subject, bound: Bound) -> Ways:
        op = self.maker(subject, bound)
        if isinstance(op, str):
            return op
        known = prim_func_of(op)
        if known is None:
            return f"calls {op.attributes['func']}, which cannot be looked into"
        name = symbol_name(known.function)
        if self.functions and not any(fnmatchcase(name, each) for each in self.functions):
            return f"calls @{name}"
        if self.kinds and known.kind not in self.kinds:
            return f"calls @{name}, which is {known.kind.attribute_text}"
        values = list(op.operands)
        if not self.structures:
            stated = len(values) if self.operands is None else len(self.operands)
            fits = stated == len(values) or (stated < len(values) and self.is_open)
            return self._goals(values) if fits else f"reads {counted(len(values), 'value')}, not {stated}"
        found = self.found_at(op, known)
        if isinstance(found, str):
            return f"calls @{name}, which {found}"
        return [
            (*goals, (Found(self, structure, binding), op))
            for structure, binding in found
            for goals in self._goals([values[place] for place in binding.inputs])
        ]

    def unstated(self, op: Operation) -> list[int]:
        """Those behind the ones that are stated; none where a structure says which of them these are."""
        if self.operands is not None and self.structures:
            return []
        return list(range(len(self.operands or ()), len(op.operands)))

    def found_at(self, call: Operation, known: KnownPrimFunc) -> list[tuple[Structure, Binding]] | str:
        """The structures that a PrimFunc has as it is called, and how; why it has none."""
        if isinstance(known.body, str):
            return known.body
        alike = known.signature
        if alike not in self._by_signature:
            return "computes something else"
        canonical = known.canonical
        if isinstance(canonical, str):
            return canonical
        candidates = self._by_key(alike).get(canonical.key)
        if candidates is None:
            return "computes something else"
        shapes = [_shape(value) for value in (*call.operands, *call.results)]
        tried = [(each, each.bindings(canonical, shapes)) for each in candidates]
        found = [(each, way) for each, ways in tried if not isinstance(ways, str) for way in ways]
        return found or next(reason for _, reason in tried if isinstance(reason, str))

    @cached_property
    def _by_signature(self) -> dict[str, list[Structure]]:
        return _grouped(self.structures, lambda each: each.signature)

    def _by_key(self, alike: str) -> dict[bytes, list[Structure]]:
        if alike not in self._keys:
            self._keys[alike] = _grouped(self._by_signature[alike], lambda each: each.key)
        return self._keys[alike]

    @cached_property
    def _keys(self) -> dict[str, dict[bytes, list[Structure]]]:
        return {}

    def _goals(self, values: Sequence[Value]) -> Sequence[Sequence[tuple[GraphPattern, Subject]]]:
        operands = self.operands or {}
        return (tuple((operands[place][0], values[place]) for place in range(len(operands))),)

    @property
    def text(self) -> str:
        said = [*(f"@{name}" for name in self.functions), *(kind.attribute_text for kind in self.kinds)]
        said += [f"as {structure}" for structure in self.structures[:1]]
        said += [f"{len(self.structures) - 1} more"] if len(self.structures) > 1 else []
        return self.with_operands(f"call_tir{{{', '.join(said)}}}" if said else "call_tir")


def _grouped(structures: Iterable[Structure], by: Callable[[Structure], T]) -> dict[T, list[Structure]]:
    found: dict[T, list[Structure]] = {}
    for structure in structures:
        found.setdefault(by(structure), []).append(structure)
    return found


def _shape(value: Value) -> Sequence[Dim] | None:
    info = decode(value.type)
    return info.shape if isinstance(info, TensorInfo) else None


def is_call_tir(*functions: str, structure: Structure | Sequence[Structure] = ()) -> CallTir:
    """What a call of a PrimFunc gives: of one with this name, or one of several, `*` for anything in it; of one that
    computes what a structure states, or one of several. Called with patterns, of such arguments."""
    structures = (structure,) if isinstance(structure, Structure) else tuple(structure)
    return CallTir(functions, structures)
