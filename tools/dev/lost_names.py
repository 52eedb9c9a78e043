# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check of comprehensions whose variables CPython 3.12 loses, and a fast walk over syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_Span = tuple[tuple[int, int], tuple[int, int]]
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)


def lost_names(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.AST, str]]:
    """Find comprehensions of inner functions that CPython 3.12 and 3.13 compile wrongly.

    Such a comprehension names its items like a variable of the enclosing function, and another comprehension of the
    inner function reads that variable: "cannot access local variable".
    """
    nodes = list(nodes)
    functions = [node for node in nodes if isinstance(node, _FUNCTIONS)]
    comprehensions = [node for node in nodes if isinstance(node, _COMPREHENSIONS)]
    holders = _around(functions, comprehensions)
    for outer in _around(functions, holders):
        for inner in [node for node in _below(outer) if node in holders]:
            inside = list(_below(inner))
            named = [(node, names) for node in inside if (names := _items_of(node))]
            bound = _bound_in(outer) - _bound_in(inner) if named else set()
            for node, names in named:
                lost = names & bound
                if any(each is not node and _reads(each, lost) for each in inside if lost):
                    problem = f"the comprehension's `{min(lost)}` hides the one around the function"
                    yield node, f"{problem}: CPython 3.12 loses that, name it otherwise"


def _around(functions: Iterable[ast.expr | ast.stmt], nodes: Iterable[ast.expr | ast.stmt]) -> set[ast.expr | ast.stmt]:
    """Return the functions with text that contains one of the nodes and more."""
    spans = [_span(node) for node in nodes]
    return {each for each in functions if any(_holds(_span(each), span) for span in spans)}


def _span(node: ast.expr | ast.stmt) -> _Span:
    return (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)


def _holds(outer: _Span, inner: _Span) -> bool:
    return outer != inner and outer[0] <= inner[0] and inner[1] <= outer[1]


def _below(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function, without the contents of inner functions."""
    left = children(function)
    while left:
        node = left.pop()
        yield node
        if not isinstance(node, _FUNCTIONS):
            left.extend(children(node))


def _bound_in(function: ast.AST) -> set[str]:
    """Return the names of parameters and assigned variables."""
    arguments = [each for each in ast.walk(function.args) if isinstance(each, ast.arg)]  # type: ignore[attr-defined]
    items = {id(name) for node in _below(function) for name in _item_names(node)}
    stored = [node for node in _below(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return {each.arg for each in arguments} | {each.id for each in stored if id(each) not in items}


def _item_names(node: ast.AST) -> list[ast.Name]:
    targets = (
        [each.target for each in node.generators] if isinstance(node, (*_COMPREHENSIONS, ast.GeneratorExp)) else []
    )
    return [name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]


def _items_of(node: ast.AST) -> set[str]:
    return {name.id for name in _item_names(node)} if isinstance(node, _COMPREHENSIONS) else set()


def _reads(node: ast.AST, names: set[str]) -> bool:
    """Check whether a comprehension or an inner function reads one of the names from outside."""
    if not names or not isinstance(node, (*_COMPREHENSIONS, *_FUNCTIONS)):
        return False
    left = names - _items_of(node)
    return any(
        isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and each.id in left for each in ast.walk(node)
    )


def children(node: ast.AST) -> list[ast.AST]:
    """Return the child nodes that have fields: neither operators nor contexts, which are half of a tree.

    The function takes a third of the time of ast.iter_child_nodes, and the repository has millions of nodes.
    """
    found: list[ast.AST] = []
    for value in vars(node).values():
        if isinstance(value, list):
            found += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST) and value._fields:
            found.append(value)
    return found
