# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small changes of a Python file that a test should notice: comparisons, bounds, guards, indices, lost statements."""

from __future__ import annotations

import ast
import difflib
from typing import NamedTuple


class Mutation(NamedTuple):
    """Replacement of the bytes from `start` to `end` of a file."""

    kind: str
    start: int
    end: int
    text: str

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.end :]

    def line(self, source: bytes) -> int:
        """Return the line number of its start, counted from one."""
        return source.count(b"\n", 0, self.start) + 1


_COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not",
    ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_ARITHMETIC = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*", ast.Mod: "//", ast.Div: "*"}
#: Prefixes of functions with operands that may be swapped.
_COMMUTATIVE = ("add", "multiply", "maximum", "minimum", "equal", "logical_", "bitwise_", "min", "max", "_mul", "add_")
_TWINS = {"min": "max", "max": "min", "any": "all", "all": "any"}


def mutations_of(source: bytes) -> list[Mutation]:
    """Return the mutations in the file's order."""
    found = _Finder(source)
    found.visit(ast.parse(source))
    return sorted(set(found.mutations), key=lambda each: (each.start, each.end, each.text))


def difference(path: str, source: bytes, mutation: Mutation) -> str:
    """Return a unified diff of few lines."""
    before, after = (text.decode().splitlines(keepends=True) for text in (source, mutation.applied(source)))
    return "".join(difflib.unified_diff(before, after, path, f"{path} ({mutation.kind})", n=2))


class _Finder(ast.NodeVisitor):
    """Collector of possible changes in executed code: no annotations, no messages, no docstrings."""

    def __init__(self, source: bytes):
        self._source = source
        self.mutations: list[Mutation] = []
        self._lines = [0]
        for line in source.split(b"\n"):
            self._lines.append(self._lines[-1] + len(line) + 1)

    def _start(self, node: ast.AST) -> int:
        return self._lines[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]

    def _end(self, node: ast.AST) -> int:
        return self._lines[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def _text(self, node: ast.AST) -> str:
        return self._source[self._start(node) : self._end(node)].decode()

    def _replace(self, kind: str, node: ast.AST, text: str) -> None:
        self.mutations.append(Mutation(kind, self._start(node), self._end(node), text))

    def _between(self, kind: str, left: ast.AST, right: ast.AST, text: str) -> None:
        """Change the operator between two operands, which is not a node with a position."""
        start, end = self._end(left), self._start(right)
        gap = self._source[start:end].decode()
        if gap.strip("() \n") and "#" not in gap:
            kept = "".join(each for each in gap if each in "()")
            opening, closing = kept.count("("), kept.count(")")
            self.mutations.append(Mutation(kind, start, end, f"{')' * closing} {text} {'(' * opening}"))

    # -- unchanged nodes --

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """Skip an annotation."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for default in [*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)]:
            self.visit(default)
        self._visit_body(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_body(node)

    def _visit_body(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        for statement in node.body:
            self.visit(statement)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Skip an f-string, which is mostly a message."""

    def visit_Raise(self, node: ast.Raise) -> None:
        """Skip a message. Mutations of the guard change whether it is raised."""

    # -- changed nodes --

    def visit_If(self, node: ast.If) -> None:
        if self._text(node.test) == "TYPE_CHECKING":
            return
        self._visit_condition(node.test)
        if not node.orelse and isinstance(node.body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break)):
            self._replace("guard dropped", node.test, "False")
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._visit_condition(node.test)
        self.generic_visit(node)

    def _visit_condition(self, test: ast.expr) -> None:
        if not isinstance(test, (ast.Compare, ast.UnaryOp)):
            self._replace("condition negated", test, f"not ({self._text(test)})")

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._replace("not dropped", node, f"({self._text(node.operand)})")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for index, operator in enumerate(node.ops):
            self._between("comparison", operands[index], operands[index + 1], _COMPARISONS[type(operator)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        if len(node.values) == 2:
            left, right = node.values
            self._between("and, or", left, right, "or" if isinstance(node.op, ast.And) else "and")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        other = _ARITHMETIC.get(type(node.op))
        if other is not None and not any(_is_text(each) for each in (node.left, node.right)):
            self._between("arithmetic", node.left, node.right, other)
            if isinstance(node.op, (ast.Sub, ast.FloorDiv, ast.Mod, ast.Div)):
                swapped = f"({self._text(node.right)}) {_SYMBOLS[type(node.op)]} ({self._text(node.left)})"
                self._replace("operands swapped", node, swapped)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._replace("boolean", node, str(not node.value))
        elif isinstance(node.value, int):
            self._replace("off by one", node, str(node.value + 1))
            if node.value > 1:
                self._replace("off by one", node, str(node.value - 1))

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in _TWINS:
            self._replace("min, max, any, all", node.func, _TWINS[node.func.id])
        first_two = node.args[:2]
        if len(first_two) == 2 and not any(isinstance(each, (ast.Starred, ast.Constant)) for each in first_two):
            texts = [self._text(each) for each in first_two]
            commutes = any(each in self._text(node.func) for each in _COMMUTATIVE)
            if texts[0] != texts[1] and not commutes and not _is_isinstance(node):
                start, end = self._start(first_two[0]), self._end(first_two[1])
                self.mutations.append(Mutation("arguments swapped", start, end, f"{texts[1]}, {texts[0]}"))
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in ("strict", "maxsize"):  # of zip and caches: their values rarely matter
            self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._replace("statement dropped", node, "pass")
            self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._replace("statement dropped", node, "pass")
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if isinstance(node.value, ast.Constant):
            self.generic_visit(node)
        elif node.value is not None:
            self.visit(node.value)


_SYMBOLS = {ast.Sub: "-", ast.FloorDiv: "//", ast.Mod: "%", ast.Div: "/"}


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))


def _is_isinstance(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass", "cast")
