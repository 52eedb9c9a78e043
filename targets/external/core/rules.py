# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a library has for each operator: why not for a given one, and how it is converted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ....bindings.ir import Operation
from ....dialects.core.dialect import row_of
from ....dialects.core.infos import TensorInfo
from ....dialects.core.opdef import Call
from ....dialects.core.operands import operand_info
from ....dialects.core.verifier import call_of

#: Why the library cannot; empty where it can.
Refuse = Callable[[Operation, Call], str]
#: Takes the codegen's own converter, and the node of the part.
Convert = Callable[[Any, Any], Any]


class Rule(NamedTuple):
    refuse: Refuse
    convert: Convert
    #: Element types that it is for.
    dtypes: tuple[str, ...]


class Rules(dict[str, Rule]):
    """By the operators' full names. `nothing`: what the library lacks where there is no rule; `refuse_tensors`: why
    it cannot with what an operation reads and makes.
    """

    def __init__(
        self,
        nothing: str,
        dtypes: tuple[str, ...],
        refuse_tensors: Callable[[Sequence[TensorInfo], tuple[str, ...]], str],
    ):
        super().__init__()
        self._nothing, self._dtypes, self._refuse_tensors = nothing, dtypes, refuse_tensors

    def converts(
        self, *names: str, refuse: Refuse = lambda op, call: "", dtypes: tuple[str, ...] = ()
    ) -> Callable[[Convert], Convert]:
        """Declares what operators become."""

        def declare(convert: Convert) -> Convert:
            self.update({f"relax.{name}": Rule(refuse, convert, dtypes or self._dtypes) for name in names})
            return convert

        return declare

    def refusal(self, op: Operation) -> str:
        """Why the library has nothing for an operation, in words; empty where it has."""
        row = row_of(op)
        if row is None or op.name not in self:
            return f"{self._nothing} for {op.name}"
        rule = self[op.name]
        infos = [operand_info(value) for value in (*op.operands, *op.results)]
        tensors = [info for info in infos if isinstance(info, TensorInfo)]
        unknown = "a size is not known before it runs, by a symbol neither" if any(map(_is_unknown, tensors)) else ""
        reason = unknown or self._refuse_tensors(tensors, rule.dtypes) or rule.refuse(op, call_of(row, op))
        return reason and f"{op.name}: {reason}"


def _is_unknown(info: TensorInfo) -> bool:
    return info.shape is None or None in info.shape
