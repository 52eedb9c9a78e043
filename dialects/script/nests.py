# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""linalg as loops: `for i, j, k in T.grid(4, 8, T.reduce(16)): C[i, j] = C[i, j] + A[i, k] * B[k, j]`.

The elements that the body names are the operation's inputs, in the order in which they are named; where that would
not give the same inputs, `reads=[...]` lists them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...bindings.ir import AffineExpr, Operation, Value
from ...bindings.mlir import ir
from .printer import Inside, Printer, statement
from .types import is_tensor
from .words import quoted

_SHOWN = frozenset({"indexing_maps", "iterator_types", "operandSegmentSizes"})
_ITERATORS = {"#linalg.iterator_type<parallel>": "", "#linalg.iterator_type<reduction>": "T.reduce"}
_WORDS = re.compile(r"\b(?:d\d+|floordiv|mod)\b")
_MOST_LINE = 110


@statement("linalg.generic")
def _generic(printer: Printer, op: Operation) -> bool:
    nest = Nest(op)
    if printer.nest is not None or not nest.is_plain(printer):
        return False
    return _fill(printer, nest) or _loops(printer, nest)


class Nest:
    """The parts of a linalg.generic."""

    def __init__(self, op: Operation):
        self.op = op
        self.block = op.regions[0].blocks[0]
        inputs, _ = list(op.attributes["operandSegmentSizes"])
        operands = list(op.operands)
        self.inputs, self.outputs = operands[:inputs], operands[inputs:]
        self.maps = [each.value for each in op.attributes["indexing_maps"]]
        self.iterators = [_ITERATORS.get(str(each)) for each in op.attributes["iterator_types"]]

    def is_plain(self, printer: Printer) -> bool:
        """Whether it reads and writes tensors or buffers with names, and reads numbers."""
        if None in self.iterators or any(each.n_symbols for each in self.maps) or not self.outputs:
            return False
        shaped = [*(each for each in self.inputs if isinstance(each.type, ir.ShapedType)), *self.outputs]
        are_tensors = {is_tensor(each.type) for each in shaped}
        if len(are_tensors) != 1 or any(not each.type.has_rank for each in shaped):
            return False
        if any(isinstance(each.type, ir.VectorType) for each in self.inputs):
            return False
        if any("ceildiv" in str(each) for each in self.maps):  # Python has no sign for it
            return False
        return all(printer.text_of(each).isidentifier() for each in shaped) and self._are_different()

    def _are_different(self) -> bool:
        """Whether each element that is read or written has a text of its own."""
        read = zip(self.inputs, map(str, self.maps), strict=False)
        elements = [(value, map_) for value, map_ in read if isinstance(value.type, ir.ShapedType)]
        if not is_tensor(self.outputs[0].type):  # a tensor that is given is a new one
            elements += zip(self.outputs, map(str, self.maps[len(self.inputs) :]), strict=True)
        return len(set(elements)) == len(elements) and len(set(self.outputs)) == len(self.outputs)

    def sizes(self, names: Sequence[str]) -> list[str]:
        """Each loop's size, by the first operand that has it as a dimension of its own."""
        found = [""] * len(self.iterators)
        for value, name, map_ in zip([*self.inputs, *self.outputs], names, self.maps, strict=True):
            for axis, result in enumerate(map_.results):
                if isinstance(result, ir.AffineDimExpr) and not found[result.position]:
                    size = value.type.shape[axis]
                    is_known = size != ir.ShapedType.get_dynamic_size()
                    found[result.position] = str(size) if is_known else f"{name}.shape[{axis}]"
        return [size or "..." for size in found]


def _fill(printer: Printer, nest: Nest) -> bool:
    """`C[:] = 0.0`: a number is each of the elements."""
    op = nest.op
    if len(nest.inputs) != 1 or len(nest.outputs) != 1 or len(nest.block.operations) != 1:
        return False
    value, target = nest.inputs[0], nest.outputs[0]
    given = list(nest.block.operations[0].operands)
    identity = ir.AffineMap.get_identity(len(nest.iterators), op.context)
    is_number = not isinstance(value.type, ir.ShapedType) and given == [nest.block.arguments[0]]
    if not is_number or any(nest.iterators) or list(nest.maps[0].results) or nest.maps[1] != identity:
        return False
    if printer.other_attributes(op, _SHOWN):
        return False
    name = _targets(printer, op, [target], [value])[0]
    text = printer.take([value])[0]
    printer.emit(f"{name}[:] = {text.plain().text}")
    _assign(printer, op, [name])
    return True


def _targets(printer: Printer, op: Operation, outputs: Sequence[Value], text: Sequence[Value] = ()) -> list[str]:
    if not len(op.results):
        return [printer.text_of(each) for each in outputs]
    return [printer.overwritten(op, each, text=text) for each in outputs]


def _assign(printer: Printer, op: Operation, names: Sequence[str]) -> None:
    for name, result in zip(names, op.results, strict=False):
        printer.assign(name, result)


def _loops(printer: Printer, nest: Nest) -> bool:
    op = nest.op
    before = [_named(printer, op, each) for each in nest.inputs]
    targets = _targets(printer, op, nest.outputs)
    names = [*before, *targets]
    sizes = nest.sizes(names)
    printer.flush()
    header = len(printer.writer.lines)
    printer.writer.line("")
    with printer.suite():
        indices = [printer.names.index() for _ in nest.iterators]
        elements = [_element(name, each, indices) for name, each in zip(names, nest.maps, strict=True)]
        elements = [
            elements[k] if isinstance(each.type, ir.ShapedType) else before[k] for k, each in enumerate(nest.inputs)
        ] + elements[len(nest.inputs) :]
        for argument, element in zip(nest.block.arguments, elements, strict=True):
            printer.bind_text(argument, element)
        for index, name in enumerate(indices):
            printer.index_names[nest.block, index] = name
        outer, printer.nest = printer.nest, (inside := Inside(frozenset(indices), frozenset(op.operands)))
        printer.block(nest.block, lambda end: _store(printer, end, elements[len(nest.inputs) :]))
        printer.nest = outer
    _write_header(printer, nest, header, indices, sizes, elements, are_listed=inside.are_listed)
    _assign(printer, op, targets)
    return True


def _named(printer: Printer, op: Operation, value: Value) -> str:
    """An input's name. Numbers get one of their own: in the body it is the block's argument, not the value around."""
    text = printer.texts([value])[0]
    if isinstance(value.type, ir.ShapedType):
        return text
    name = printer.names.numbered("v")
    printer.emit(f"{name} = {text}")
    return name


def _store(printer: Printer, end: Operation, elements: Sequence[str]) -> None:
    printer.emit(f"{', '.join(elements)} = {', '.join(printer.texts(end.operands))}")


def _element(name: str, map_: ir.AffineMap, indices: Sequence[str]) -> str:
    return f"{name}[{', '.join(_affine(each, indices) for each in map_.results) or '()'}]"


def _affine(expr: AffineExpr, indices: Sequence[str]) -> str:
    """MLIR's text of an affine expression with the loops' variables."""
    if isinstance(expr, ir.AffineDimExpr):
        return indices[expr.position]

    def replace(match: re.Match[str]) -> str:
        word = match.group()
        return {"floordiv": "//", "mod": "%"}.get(word) or indices[int(word[1:])]

    return _WORDS.sub(replace, str(expr))


def _write_header(
    printer: Printer,
    nest: Nest,
    header: int,
    indices: Sequence[str],
    sizes: Sequence[str],
    elements: Sequence[str],
    *,
    are_listed: bool,
) -> None:
    lines = printer.writer.lines
    items = [f"{kind}({size})" if kind else size for kind, size in zip(nest.iterators, sizes, strict=True)]
    inputs = list(elements[: len(nest.inputs)])
    if are_listed or _named_in(lines[header + 1 :], inputs, list(elements[len(nest.inputs) :])) != inputs:
        items.append(f"reads=[{', '.join(inputs)}]")
    rest = printer.other_attributes(nest.op, _SHOWN)
    if rest:
        items.append(f"annotations={{{', '.join(f'{quoted(name)}: {text}' for name, text in rest)}}}")
    names = ", ".join(indices) if len(indices) != 1 else indices[0]
    head = f"{printer.writer.margin}for {names or '()'} in T.grid({', '.join(items)}):"
    body = lines[header + 1].strip()
    if len(lines) == header + 2 and len(head) + len(body) < _MOST_LINE and not rest:
        del lines[header + 1]
        head = f"{head} {body}"
    lines[header] = head


def _named_in(lines: Sequence[str], inputs: Sequence[str], outputs: Sequence[str]) -> list[str] | None:
    """The inputs in the order in which a body names them."""
    if len(set(inputs)) < len(inputs) or set(inputs) & set(outputs) or any("[" not in each for each in inputs):
        return None
    text = "\n".join(lines)
    places = {each: re.search(rf"(?<!\w){re.escape(each)}", text) for each in inputs}
    found = [(match.start(), each) for each, match in places.items() if match is not None]
    return [each for _, each in sorted(found)]
