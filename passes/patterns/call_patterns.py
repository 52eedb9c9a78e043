# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns of PrimFunc calls: by name, by fusion pattern, by computation."""

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
from ..kernels.structures.prim_funcs import CALL_TIR, KnownPrimFunc, prim_func_of
from ..kernels.structures.structure import Binding, Structure
from .operator_patterns import Op, Operand, Operands
from .tree import Bound, Found, GraphPattern, Subject, Ways

T = TypeVar("T")


class CallTir(Op):
    """Pattern of the result of a PrimFunc call. With structures, operands are in the order of their inputs."""

    reads_prim_funcs: ClassVar[bool] = True
    kinds: tuple[OpPattern, ...] = ()

    def __init__(self, functions: tuple[str, ...], structures: tuple[Structure, ...]):
        super().__init__((CALL_TIR,))
        self.functions, self.structures = functions, structures
        counts = sorted({structure.input_count for structure in self.structures})
        if len(counts) > 1:
            shown = " and ".join(map(str, counts))
            raise RelaxError(
                f"pattern {self}: structures of one pattern must have the same number of inputs, got {shown}"
            )

    def __call__(self, *positional: Operand | EllipsisType, **by_name: Operand) -> CallTir:
        """Return the pattern with these arguments, in order. `...` at the end allows any further arguments."""
        is_open = bool(positional) and positional[-1] is ...
        given = positional[:-1] if is_open else positional
        if by_name or not all(isinstance(each, GraphPattern) for each in given):
            raise RelaxError(f"pattern {self}: arguments of a PrimFunc must be patterns, by position")
        count = self.structures[0].input_count if self.structures else None
        if count is not None and (len(given) > count or (len(given) < count and not is_open)):
            raise RelaxError(f"pattern {self}: {self.structures[0]} has {counted(count, 'input')}, not {len(given)}")
        stated: Operands = {place: (each,) for place, each in enumerate(given) if isinstance(each, GraphPattern)}
        return self.but(operands=stated, is_open=is_open)

    def has_kind(self, *kinds: OpPattern | str) -> CallTir:
        """Return the pattern for a PrimFunc with one of these fusion patterns: "elemwise", rx.OpPattern.BROADCAST."""
        stated = [OpPattern.parse(kind, f"pattern {self}: ") if isinstance(kind, str) else kind for kind in kinds]
        return self.but(kinds=tuple(stated))

    def has_attr(self, **attributes: object) -> CallTir:
        raise RelaxError(f"pattern {self}: calls of PrimFuncs have no attributes; use where()")

    def ways(self, subject: Subject, bound: Bound) -> Ways:
        if isinstance(op := self.maker(subject, bound), str):
            return op
        if (known := prim_func_of(op)) is None:
            return f"calls {op.attributes['func']}, which has no body to read"
        name = symbol_name(known.function)
        if self.functions and not any(fnmatchcase(name, function) for function in self.functions):
            return f"calls @{name}"
        if self.kinds and known.kind not in self.kinds:
            return f"calls @{name}, which is {known.kind.attribute_text}"
        values = list(op.operands)
        if not self.structures:
            stated = len(values) if self.operands is None else len(self.operands)
            fits = stated == len(values) or (stated < len(values) and self.is_open)
            return self._goals(values) if fits else f"reads {counted(len(values), 'value')}, not {stated}"
        if isinstance(found := self.found_at(op, known), str):
            return f"calls @{name}, which {found}"
        return [
            (*goals, (Found(self, structure, binding), op))
            for structure, binding in found
            for goals in self._goals([values[place] for place in binding.inputs])
        ]

    def unstated(self, op: Operation) -> list[int]:
        """Return the operands behind the stated ones, or [] if a structure maps operands."""
        if self.operands is not None and self.structures:
            return []
        return list(range(len(self.operands or ()), len(op.operands)))

    def found_at(self, call: Operation, known: KnownPrimFunc) -> list[tuple[Structure, Binding]] | str:
        """Return the structures of a called PrimFunc with their bindings, or the reason why it has none."""
        if isinstance(known.body, str):
            return known.body
        if (alike := known.signature) not in self._by_signature:
            return "computes something else"
        if isinstance(canonical := known.canonical, str):
            return canonical
        if alike not in self._keys:
            self._keys[alike] = _group(self._by_signature[alike], lambda each: each.key)
        if (candidates := self._keys[alike].get(canonical.key)) is None:
            return "computes something else"
        shapes = [_shape(value) for value in (*call.operands, *call.results)]
        tried = [(candidate, candidate.bindings(canonical, shapes)) for candidate in candidates]
        found = [(each, way) for each, ways in tried if not isinstance(ways, str) for way in ways]
        return found or next(reason for _, reason in tried if isinstance(reason, str))

    @cached_property
    def _by_signature(self) -> dict[str, list[Structure]]:
        return _group(self.structures, lambda each: each.signature)

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


def _group(structures: Iterable[Structure], by: Callable[[Structure], T]) -> dict[T, list[Structure]]:
    found: dict[T, list[Structure]] = {}
    for structure in structures:
        found.setdefault(by(structure), []).append(structure)
    return found


def _shape(value: Value) -> Sequence[Dim] | None:
    info = decode(value.type)
    return info.shape if isinstance(info, TensorInfo) else None


def is_call_tir(*functions: str, structure: Structure | Sequence[Structure] = ()) -> CallTir:
    """Return the pattern of the result of a PrimFunc call, by names or structures.

    Names may contain `*` for any text. Structures state the computation. Call the pattern with patterns of the
    arguments.
    """
    structures = (structure,) if isinstance(structure, Structure) else tuple(structure)
    return CallTir(functions, structures)
