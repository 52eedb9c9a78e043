# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Printer of trees as TVMScript loops and blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ....dialects.script.expr import Expr as Text
from ....dialects.script.expr import Level, as_tuple, infix
from ....dialects.script.printer import number
from ....dialects.script.types import dtype_name, type_text
from ....dialects.script.words import Sign, quoted, sign_of
from .body_scalars import Compute, ConditionalScalar, Element, Expr, IterIndex, Load, Outside
from .ranges import Guard, guards
from .tree import AROUND, SERIAL, SPATIAL, Access, Block, Loop, Node, Tree
from .tree_buffers import Buffer

_INDENT = "    "
#: Maximum number of operations of a block that are printed as one expression per result, without common subexpressions.
_MOST_WRITTEN_OUT = 200


def show_tree(tree: Tree) -> str:
    """Return the text of the whole function, with its own buffers."""
    given = ", ".join(f"{each.name}: T.Buffer({_buffer(each)})" for each in tree.buffers if each.is_given)
    lines = ["@T.prim_func", f"def {tree.name}({given}):"]
    for buffer in tree.buffers:
        if not buffer.is_given:
            scope = "" if buffer.scope == "global" else f', scope="{buffer.scope}"'
            separators = f", axis_separators={list(buffer.axis_separators)}" if buffer.axis_separators else ""
            lines.append(f"{_INDENT}{buffer.name} = T.alloc_buffer({_buffer(buffer)}{scope}{separators})")
    return "\n".join([*lines, *(_INDENT + line for line in show_nodes(tree, tree.body))]) + "\n"


def show_loops(tree: Tree, name: str = "") -> str:
    """Return the text of the loops around a node and of all inside, without the blocks' bodies.

    Without a name, return all loops.
    """
    around = tree.around(name) if name else []
    nodes = [around[0]] if around else [node for node in tree.body if name in ("", node.name)]
    return "\n".join(show_nodes(tree, nodes, is_short=True))


def show_nodes(tree: Tree, nodes: Sequence[Node], *, is_short: bool = False) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, Block):
            if is_short:
                points = ", ".join(f"{iter_.name} = {at}" for iter_, at in zip(node.iters, node.bindings, strict=True))
                yield f'with T.block("{node.name}"):  # {points}'
            else:
                yield from _block(tree, node)
            continue
        chain = [node]
        while _goes_on(chain[-1]):
            inner = chain[-1].body[0]
            assert isinstance(inner, Loop)
            chain.append(inner)
        yield _header(chain)
        for line in show_nodes(tree, chain[-1].body, is_short=is_short):
            yield _INDENT + line


def _goes_on(loop: Loop) -> bool:
    """Return True if a loop and the loop inside are printed on one line."""
    if len(loop.body) != 1 or not isinstance(loop.body[0], Loop):
        return False
    return all(each.kind == SERIAL and not each.annotations for each in (loop, loop.body[0]))


def _header(chain: Sequence[Loop]) -> str:
    names, first = ", ".join(loop.name for loop in chain), chain[0]
    more = f", annotations={dict(first.annotations)!r}" if first.annotations else ""
    if first.kind == AROUND:
        return f'with T.block("{first.name}"):'
    if len(chain) > 1:
        return f"for {names} in T.grid({', '.join(str(loop.extent) for loop in chain)}):"
    if first.kind == SERIAL and not more:
        return f"for {names} in range({first.extent}):"
    if "." in first.kind:
        return f'for {names} in T.thread_binding({first.extent}, thread="{first.kind}"{more}):'
    word = "unroll" if first.kind == "unrolled" else first.kind
    return f"for {names} in T.{word}({first.extent}{more}):"


def _block(tree: Tree, block: Block) -> Iterator[str]:
    yield f'with T.block("{block.name}"):'
    for iter_, at in zip(block.iters, block.bindings, strict=True):
        kind = "spatial" if iter_.kind == SPATIAL else "reduce"
        yield f"{_INDENT}{iter_.name} = T.axis.{kind}({iter_.extent}, {at})"
    asked = guards(block, tree.extents())
    if points := _conditions([guard for guard in asked if not guard.of_steps]):
        yield f"{_INDENT}T.where({points})"
    yield from (f"{_INDENT}{line}" for line in _regions(block))
    if annotations := _annotations(block):
        yield f"{_INDENT}T.block_attr({annotations!r})"
    if block.inits is not None:
        yield f"{_INDENT}with T.init():"
        yield from _assignments(block, block.inits, _INDENT * 2)
    if steps := _conditions([guard for guard in asked if guard.of_steps]):
        yield f"{_INDENT}if {steps}:"
    yield from _assignments(block, block.results, _INDENT * (2 if steps else 1))


def _annotations(block: Block) -> dict[str, Any]:
    """Return the block's annotations, and the alignments of the buffers that it writes."""
    written = list(dict.fromkeys(access.buffer for access in block.writes))
    aligned = [[number, *alignment] for number, buffer in enumerate(written) for alignment in buffer.alignments]
    return {**block.annotations, **({"buffer_dim_align": aligned} if aligned else {})}


def _regions(block: Block) -> Iterator[str]:
    """Yield the declared regions that a block reads and writes."""
    for region in block.regions:
        ends = ", ".join(f"{start}:{stop}" for start, stop in zip(region.starts, region.stops, strict=True))
        yield f"T.{'writes' if region.is_written else 'reads'}({region.buffer.name}[{ends}])"


def _conditions(asked: Sequence[Guard]) -> str:
    each = (["0 <= {at}"] * guard.below + ["{at} < {limit}"] * guard.beyond for guard in asked)
    return " and ".join(
        text.format(at=guard.at, limit=guard.limit) for guard, texts in zip(asked, each, strict=True) for text in texts
    )


def _assignments(block: Block, exprs: Sequence[Expr], indent: str) -> Iterator[str]:
    shown = Shown(block, exprs)
    texts = [shown.text(expr) for expr in exprs]
    yield from (f"{indent}{line}" for line in shown.lines)
    for access, text in zip(block.writes, texts, strict=True):
        yield f"{indent}{_access(access)} = {text}"


class Shown:
    """Python text of expressions.

    A shared subexpression is printed at each use. If the expressions are long, `lines` contains each shared
    subexpression once.
    """

    def __init__(self, block: Block, exprs: Sequence[Expr]):
        self._block = block
        self.lines: list[str] = []
        self._names: dict[int, str] = {}
        self._shared = _shared(exprs)

    def text(self, expr: Expr) -> str:
        return self._text(expr).text

    def _text(self, expr: Expr) -> Text:
        if id(expr) not in self._shared:
            return self._written(expr)
        if id(expr) not in self._names:
            text = self._written(expr).text
            self._names[id(expr)] = f"t{len(self._names)}"
            self.lines.append(f"{self._names[id(expr)]} = {text}")
        return Text(self._names[id(expr)])

    def _written(self, expr: Expr) -> Text:
        if isinstance(expr, Element):
            return Text(_access(self._block.accesses[expr.number]))
        if isinstance(expr, IterIndex):
            return Text(str(expr.value), Level.ATOM if str(expr.value).isidentifier() else Level.ANY)
        if isinstance(expr, Compute) and expr.name == "arith.constant":
            attribute = dict(expr.attributes)["value"]
            return number(attribute, type_text(attribute.type))
        parts = [self._text(part) for part in expr.parts()]
        if isinstance(expr, Compute) and (sign := _sign(expr)) is not None:
            return infix(parts[0], sign, parts[1])
        inner = ", ".join(part.text for part in parts)
        if isinstance(expr, Load):
            return Text(f"{expr.buffer.name}[{inner}]")
        if isinstance(expr, ConditionalScalar):
            return Text(f"T.if_then_else({inner})")
        if isinstance(expr, Compute):
            return Text(f"{_word(expr)}({inner})")
        assert isinstance(expr, Outside), expr
        return Text(str(expr.value))


def _shared(exprs: Sequence[Expr]) -> set[int]:
    """Return the shared subexpressions if the written-out text would be long.

    The text can have 2 ** n operations for n steps.
    """
    sizes: dict[int, int] = {}
    uses: Counter[int] = Counter()

    def size(expr: Expr) -> int:
        if id(expr) not in sizes:
            parts = expr.parts()
            uses.update(map(id, parts))
            sizes[id(expr)] = 1 + sum(map(size, parts))
        return sizes[id(expr)]

    if sum(map(size, exprs)) <= _MOST_WRITTEN_OUT:
        return set()
    return {key for key, count in uses.items() if count > 1 and sizes[key] > 1}


def _sign(expr: Compute) -> Sign | None:
    predicate = dict(expr.attributes).get("predicate")
    return sign_of(expr.name) if predicate is None else sign_of(expr.name, predicate.value)


def _word(expr: Compute) -> str:
    family, _, name = expr.name.partition(".")
    words = {"maximumf": "max", "maxsi": "max", "maxui": "max", "minimumf": "min", "minsi": "min", "minui": "min",
             "select": "Select", "negf": "negative"}  # fmt: skip
    if name in ("extf", "truncf", "sitofp", "uitofp", "fptosi", "fptoui", "extsi", "extui", "trunci", "index_cast"):
        return type_text(expr.type)
    return f"T.{words.get(name, name)}" if family in ("arith", "math", "tir") else expr.name


def _access(access: Access) -> str:
    return f"{access.buffer.name}[{', '.join(map(str, access.indices)) or '()'}]"


def _buffer(buffer: Buffer) -> str:
    """Return the shape and the element type."""
    return f"{as_tuple(list(map(str, buffer.shape)))}, {quoted(dtype_name(str(buffer.element)))}"
