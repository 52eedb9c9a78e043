# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Meaning of Python's syntax in a script, for all readers: dotted names, operators between expressions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from ...support.quiet import ignoring_warnings

Known = TypeVar("Known")

#: Python's operators by their syntax nodes.
_SIGNS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not", ast.And: "and", ast.Or: "or",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
#: Function of each binary operator.
APPLIED: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_,
    "|": operator.or_, "^": operator.xor, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

_BLOCKS = (ast.With, ast.If, ast.For, ast.While)
#: Targets of statements.
_TARGETS: dict[type, Callable[..., Sequence[ast.expr | None]]] = {
    ast.AnnAssign: lambda node: (node.target,),
    ast.AugAssign: lambda node: (node.target,),
    ast.For: lambda node: (node.target,),
    ast.With: lambda node: [item.optional_vars for item in node.items],
}


def parsed(text: str, file: str = "<script>") -> ast.Module:
    """Parse a text. Raise SyntaxError for any failure of Python's parser, without a line if it is unknown."""
    try:
        with ignoring_warnings():  # Python warns about the semantics of the text
            return ast.parse(text, file)
    except (RecursionError, MemoryError):
        raise SyntaxError("the script is nested too deep to be read") from None
    except SyntaxError:
        raise
    except ValueError as error:
        raise SyntaxError(f"this is not Python: {error}") from None


def expression_at(node: ast.expr, text: str) -> ast.expr:
    """Parse an expression, located at a node. Raise SyntaxError for other texts."""
    body = parsed(text.strip()).body
    if len(body) != 1 or not isinstance(body[0], ast.Expr):
        raise SyntaxError("expected one expression")
    for each in ast.walk(body[0].value):
        ast.copy_location(each, node)
    return body[0].value


def dotted(node: ast.AST) -> str:
    """Return a dotted name as text, `R.nn.relu`, or an empty string for other expressions."""
    if isinstance(node, ast.Name):
        return node.id
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def text_of(node: ast.AST | None) -> str | None:
    """Return the text of a string literal, or None."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def items_of(node: ast.expr) -> Sequence[ast.expr]:
    """Return the items of a tuple or list, or the expression as a single item."""
    return node.elts if isinstance(node, (ast.Tuple, ast.List)) else (node,)


def sign_of(node: ast.operator | ast.cmpop) -> str:
    """Return the text of an operator, `+`, `<`, or an empty string for operators outside of scripts: `in`, `is`."""
    return _SIGNS.get(type(node), "")


def operation_of(node: ast.AST) -> tuple[str, Sequence[ast.expr]]:
    """Return the operator and the operands of an expression. The operator is empty if there is none, or several."""
    if isinstance(node, ast.BinOp):
        return _SIGNS[type(node.op)], (node.left, node.right)
    if isinstance(node, ast.UnaryOp):
        return _SIGNS[type(node.op)], (node.operand,)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return sign_of(node.ops[0]), (node.left, node.comparators[0])
    return (_SIGNS[type(node.op)], node.values) if isinstance(node, ast.BoolOp) else ("", ())


def folded(
    node: ast.expr,
    operation: Callable[[ast.expr], tuple[str, Sequence[ast.expr]]],
    leaf: Callable[[ast.expr], Known | None],
    apply: Callable[[str, Sequence[Known]], Known | None],
) -> Known | None:
    """Fold an expression, or return None if an operand is unknown.

    `apply` combines operands, and `leaf` evaluates expressions without an operator.
    """
    sign, operands = operation(node)
    if not sign:
        return leaf(node)
    known = [folded(operand, operation, leaf, apply) for operand in operands]
    found = [each for each in known if each is not None]
    return apply(sign, found) if len(found) == len(known) else None


# ---- parts of expressions ----


def indices_of(node: ast.Subscript) -> Sequence[ast.expr]:
    """Return the indices in the brackets: `A[i, j]` has two, `A[()]` none."""
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else (node.slice,)


def buffer_name(node: ast.expr) -> str:
    """Return the name of the buffer in `A[i, j]`, or an empty string for other expressions."""
    return node.value.id if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) else ""


_PARTS: dict[type, Callable[..., Sequence[ast.expr]]] = {
    ast.BinOp: lambda node: (node.left, node.right),
    ast.UnaryOp: lambda node: (node.operand,),
    ast.Call: lambda node: [*node.args, *[keyword.value for keyword in node.keywords]] if node.keywords else node.args,
    ast.Subscript: indices_of,
    ast.Compare: lambda node: (node.left, *node.comparators),
    ast.BoolOp: lambda node: node.values,
    ast.IfExp: lambda node: (node.test, node.body, node.orelse),
    ast.Dict: lambda node: node.values,
    ast.Tuple: lambda node: node.elts,
    ast.List: lambda node: node.elts,
}


def parts_of(node: ast.expr) -> Sequence[ast.expr]:
    """Return the direct subexpressions, without the names of functions and buffers."""
    read = _PARTS.get(type(node))
    return () if read is None else read(node)


def parts_within(node: ast.expr) -> list[ast.expr]:
    """Return an expression and all of its subexpressions."""
    exprs = [node]
    for part in exprs:  # the list grows
        if (read := _PARTS.get(type(part))) is not None:
            exprs += read(part)
    return exprs


def names_within(*nodes: ast.expr) -> set[str]:
    """Return the names in expressions, without the names of functions and buffers."""
    return {part.id for node in nodes for part in parts_within(node) if isinstance(part, ast.Name)}


# ---- statements ----


def names_in(target: ast.expr | None) -> Sequence[str]:
    """Return the names that a target assigns."""
    if isinstance(target, ast.Name):
        return (target.id,)
    items = target.elts if isinstance(target, (ast.Tuple, ast.List)) else ()
    return [name for item in items for name in names_in(item)]


def targets_of(statement: ast.stmt) -> Sequence[ast.expr | None]:
    """Return the targets of a statement: names, tuples of names, elements of buffers."""
    if isinstance(statement, ast.Assign):
        return statement.targets
    read = _TARGETS.get(type(statement))
    return () if read is None else read(statement)


def statements_within(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements, and those inside `with`, `if` and loops, in order."""
    waiting = [*reversed(statements)]
    while waiting:
        statement = waiting.pop()
        yield statement
        if isinstance(statement, _BLOCKS):
            waiting += reversed([*statement.body, *getattr(statement, "orelse", ())])
