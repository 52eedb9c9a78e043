# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reader of the expressions in a script, for graphs, tensor programs and SSA functions."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from ....dialects.script.syntax import operation_of, sign_of
from .source import Source

Result = TypeVar("Result")

#: Deeper expressions could exceed Python's own recursion limit.
_MOST_DEPTH = 300
#: Method of the reader for each kind of syntax. A table of functions would take one more stack frame per level.
_METHODS: dict[type, str] = {
    ast.Name: "read_name", ast.Subscript: "read_element", ast.Call: "read_call",
    ast.BinOp: "_read_binary", ast.UnaryOp: "_read_unary", ast.Compare: "_read_comparison",
}  # fmt: skip


class ExpressionReader(ABC, Generic[Result]):
    """Evaluation of expressions from left to right, operands before operations.

    The reader walks the syntax, and its methods give meaning to names, elements, calls and operators.
    """

    source: Source
    _depth = 0

    def value(self, node: ast.expr) -> Result:
        """Return the value of an expression. Raises ScriptError."""
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise self.source.problem(node, "the expression is nested too deep")
        try:
            read: Callable[[ast.expr], Result] = getattr(self, _METHODS.get(type(node), "read_other"))
            return read(node)
        finally:
            self._depth -= 1

    @abstractmethod
    def read_name(self, node: ast.Name) -> Result:
        """Return the value of a name."""

    @abstractmethod
    def read_element(self, node: ast.Subscript) -> Result:
        """Return an element of a buffer, or an item of several values."""

    @abstractmethod
    def read_call(self, node: ast.Call) -> Result:
        """Return the result of a call."""

    @abstractmethod
    def apply_operator(self, node: ast.expr, sign: str, *values: Result) -> Result:
        """Return the result of a Python operator. The sign is empty for an operator outside of scripts, such as `is`.

        A chain of comparisons is an operation "and" on the results of the comparisons.
        """

    @abstractmethod
    def read_other(self, node: ast.expr) -> Result:
        """Return the value of any other expression, such as a constant."""

    def _read_binary(self, node: ast.BinOp) -> Result:
        """Read a sum without recursion: generated programs have sums of thousands of terms."""
        chain = [node]
        while isinstance(chain[-1].left, ast.BinOp):
            chain.append(chain[-1].left)
        value = self.value(chain[-1].left)
        for binary in reversed(chain):
            value = self.apply_operator(binary, sign_of(binary.op), value, self.value(binary.right))
        return value

    def _read_unary(self, node: ast.UnaryOp) -> Result:
        return self.apply_operator(node, operation_of(node)[0], self.value(node.operand))

    def _read_comparison(self, node: ast.Compare) -> Result:
        operands = [self.value(comparator) for comparator in (node.left, *node.comparators)]
        pairs = zip(map(sign_of, node.ops), operands, operands[1:], strict=False)
        found = [self.apply_operator(node, *pair) for pair in pairs]
        return found[0] if len(found) == 1 else self.apply_operator(node, "and", *found)
