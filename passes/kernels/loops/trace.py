# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of a schedule as text: Python statements, which are parsed and never run.

# schedule 1
C = sch.get_block("C")
i, j, k = sch.get_loops(C)
i_0, i_1 = sch.split(i, [None, 6])
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from keyword import iskeyword
from typing import Any, NamedTuple

from ....dialects.script.syntax import parsed
from ....dialects.script.words import quoted
from ....support.argument_types import types_checked
from ....support.errors import RelaxError
from .handles import BlockRV, IndexMap, LoopRV, Sampled, index_map_of
from .tree import Tree

#: First line of the text. Its number changes when the meaning of steps changes.
HEADER = "# schedule 1"
Handle = BlockRV | LoopRV | Sampled


class TraceStep(NamedTuple):
    """Step of a schedule: the request and the resulting handles."""

    primitive: str
    arguments: tuple[Any, ...]
    options: tuple[tuple[str, Any], ...]
    results: tuple[Handle, ...]
    #: True if the step returns one handle instead of a list.
    is_single: bool = False


class Request(NamedTuple):
    """Line of a text. Names stand for handles; `names` are assigned the results."""

    line: int
    text: str
    primitive: str
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]
    names: tuple[str, ...]


class Name(NamedTuple):
    """Name of a handle in a text."""

    text: str


class Words:
    """Unique names of handles in a text."""

    def __init__(self) -> None:
        self._names: dict[object, str] = {}

    def name(self, handle: Handle) -> str:
        key = (handle.function, handle.name) if isinstance(handle, Sampled) else handle
        if key not in self._names:
            taken = set(self._names.values())
            name, number = handle.name, 0
            while name in taken or name == "sch" or iskeyword(name):
                number += 1
                name = (
                    f"{handle.name}_{handle.function}" if number == 1 else f"{handle.name}_{handle.function}_{number}"
                )
            self._names[key] = name
        return self._names[key]

    def text(self, value: Any) -> str:
        if isinstance(value, (BlockRV, LoopRV, Sampled)):
            return self.name(value)
        if isinstance(value, (list, tuple)):
            inner = ", ".join(map(self.text, value))
            return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{self.text(key)}: {self.text(each)}" for key, each in value.items()) + "}"
        return quoted(value) if isinstance(value, str) else str(value)

    def line(self, step: TraceStep) -> str:
        items = [self.text(value) for value in step.arguments]
        items += [f"{name}={self.text(value)}" for name, value in step.options]
        names = ", ".join(map(self.name, step.results))
        target = f"{names}{',' if len(step.results) == 1 and not step.is_single else ''} = " if names else ""
        return f"{target}sch.{step.primitive}({', '.join(items)})"


def lines_of(steps: Sequence[TraceStep]) -> list[str]:
    words = Words()
    return [HEADER, *(words.line(step) for step in steps)]


def is_plain(value: Any) -> bool:
    """Return True if a text can represent the value."""
    if isinstance(value, (list, tuple)):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(is_plain(each) for pair in value.items() for each in pair)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, (BlockRV, LoopRV, IndexMap, Name, bool, int, str))


# ---- handles of steps ----


def handles_in(value: object) -> list[BlockRV | LoopRV]:
    if isinstance(value, (BlockRV, LoopRV)):
        return [value]
    return [handle for item in value for handle in handles_in(item)] if isinstance(value, (list, tuple)) else []


def function_of(step: TraceStep) -> str:
    handles = [handle for value in (*step.arguments, *step.results) for handle in handles_in(value)]
    drawn = [result for result in step.results if isinstance(result, Sampled)]
    return (*handles, *drawn)[0].function


def alive_steps(steps: Sequence[TraceStep], tree: Tree) -> list[TraceStep]:
    """Remove the steps on dead blocks, which are erased before the schedule is applied."""
    read: set[str] = set()
    for block in reversed(tree.blocks()):
        if any(access.buffer.is_given or access.buffer.name in read for access in block.writes):
            read.update(buffer.name for buffer in block.buffers)
    dead: set[Handle] = {
        BlockRV(tree.name, block.name)
        for block in tree.blocks()
        if not any(access.buffer.is_given or access.buffer.name in read for access in block.writes)
    }
    found = []
    for step in steps:
        handles = [handle for value in (*step.arguments, *step.results) for handle in handles_in(value)]
        if dead.isdisjoint(handles):
            found.append(step)
        else:
            dead.update(step.results)
    return found


# ---- decisions ----


def with_decisions(text: str, decisions: Mapping[str, Any] | None) -> str:
    """Return a text with other decisions, each by the first name that a line assigns, or without decisions for None.

    Without decisions, a schedule draws all numbers anew.
    Raises RelaxError for names of lines that draw nothing.
    """
    left = dict(decisions or {})
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        statement = None if line.lstrip().startswith("#") or not line.strip() else parsed(line).body[0]
        call = getattr(statement, "value", None)
        named = [keyword.arg for keyword in call.keywords] if isinstance(call, ast.Call) else []
        if not isinstance(statement, ast.Assign) or not isinstance(call, ast.Call) or "decision" not in named:
            lines.append(line)
            continue
        (request,) = [_request_of(number, line, statement)]
        others = [keyword for keyword in call.keywords if keyword.arg != "decision"]
        first = request.names[0]
        if decisions is None:
            call.keywords = others
        elif first in left:
            value = ast.parse(repr(left.pop(first)), mode="eval").body
            call.keywords = [*others, ast.keyword("decision", value)]
        lines.append(ast.unparse(statement))
    if left:
        raise RelaxError(f"no line of the schedule draws {', '.join(map(repr, left))}")
    return "\n".join(lines) + "\n"


class Trace(str):
    """Steps as a Python program over `sch`."""

    @types_checked
    def with_decisions(self, decisions: Mapping[str, object] | None = None) -> Trace:
        """Return a trace with other decisions: `{"v0": [4, 8]}`.

        A key is the first name that a line assigns. With None, a replay of the trace draws all numbers anew.
        """
        return Trace(with_decisions(self, decisions))


# ---- from text ----


def read_requests(lines: Sequence[str]) -> Iterator[Request]:
    """Yield the steps of a text, in order. Raises RelaxError, which names the line."""
    if not lines or lines[0].strip() != HEADER:
        found = f"'{lines[0].strip()}'" if lines and lines[0].startswith("#") else "none"
        raise RelaxError(f"the first line of a schedule is its version: expected '{HEADER}', found {found}")
    for number, line in enumerate(lines[1:], 2):
        if line.strip() and not line.lstrip().startswith("#"):
            yield _request(number, line.strip())


def _request(number: int, text: str) -> Request:
    try:
        (statement,) = parsed(text).body
    except (SyntaxError, ValueError):
        raise _problem(number, text, "expected one call of sch") from None
    try:
        return _request_of(number, text, statement)
    except RecursionError:
        raise _problem(number, text, "the expression is nested too deeply") from None


def _request_of(number: int, text: str, statement: ast.stmt) -> Request:
    targets: tuple[str, ...] = ()
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        if not all(isinstance(part, ast.Name) for part in parts):
            raise _problem(number, text, "only names are assigned to")
        targets = tuple(part.id for part in parts if isinstance(part, ast.Name))
    call = statement.value if isinstance(statement, (ast.Assign, ast.Expr)) else None
    if not isinstance(call, ast.Call) or not _is_step(call.func):
        raise _problem(number, text, "expected a call of sch, like sch.reorder(i, j)")
    assert isinstance(call.func, ast.Attribute)
    arguments = tuple(_value(number, text, arg) for arg in call.args)
    options = {keyword.arg: _value(number, text, keyword.value) for keyword in call.keywords if keyword.arg is not None}
    return Request(number, text, call.func.attr, arguments, options, targets)


def _is_step(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sch"


def _value(number: int, text: str, node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        return Name(node.id)
    if isinstance(node, ast.List):
        return [_value(number, text, each) for each in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_value(number, text, each) for each in node.elts)
    if isinstance(node, ast.Lambda):
        return index_map_of(node)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        raise _problem(number, text, f"'{ast.unparse(node)}' is neither a value nor a handle") from None


def _problem(number: int, text: str, reason: str) -> RelaxError:
    return RelaxError(f"line {number} of the schedule, '{text}': {reason}")
