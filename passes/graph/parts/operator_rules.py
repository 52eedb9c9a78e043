# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Table of a library's conversion rules by operator, with the reasons to refuse an operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ....bindings.ir import Operation
from ....dialects.core.dialect import row_of
from ....dialects.core.infos import TensorInfo
from ....dialects.core.opdef import Call
from ....dialects.core.operands import operand_info
from ....dialects.core.verifier import call_of

#: Function that returns the reason why the library cannot compute an operation, or an empty text.
Refuse = Callable[[Operation, Call], str]
#: Function that converts a node of the part. The first argument is the codegen's converter.
Convert = Callable[[Any, Any], Any]


class Rule(NamedTuple):
    refuse: Refuse
    convert: Convert
    #: Supported element types.
    dtypes: tuple[str, ...]


class Rules(dict[str, Rule]):
    """Conversion rules by the operators' full names.

    `nothing` is the reason for an operator without a rule, such as "the library has no layer". `refuse_tensors` returns
    the reason to refuse the operands and results of an operation, or an empty text.
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
        """Return a decorator that registers a conversion for operators of the relax dialect."""

        def declare(convert: Convert) -> Convert:
            self.update({f"relax.{name}": Rule(refuse, convert, dtypes or self._dtypes) for name in names})
            return convert

        return declare

    def refusal(self, op: Operation) -> str:
        """Return the reason why the library cannot convert an operation, or an empty text."""
        if (row := row_of(op)) is None or op.name not in self:
            return f"{self._nothing} for {op.name}"
        rule = self[op.name]
        infos = [operand_info(value) for value in (*op.operands, *op.results)]
        tensors = [info for info in infos if isinstance(info, TensorInfo)]
        unknown = "a size is unknown at compile time and has no symbol" if any(map(_is_unknown, tensors)) else ""
        reason = unknown or self._refuse_tensors(tensors, rule.dtypes) or rule.refuse(op, call_of(row, op))
        return reason and f"{op.name}: {reason}"


def _is_unknown(info: TensorInfo) -> bool:
    return info.shape is None or None in info.shape
