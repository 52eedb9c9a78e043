# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linalg operations as loops: `for i, j, k in T.grid(4, 8, T.reduce(16)): C[i, j] = C[i, j] + A[i, k] * B[k, j]`.

The inputs of the operation are the elements that the body reads, in order of appearance. If this order gives other
inputs, `reads=[...]` lists them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...bindings.ir import Attribute, Operation, Value
from ...bindings.mlir import DYNAMIC, ir
from .printer import Inside, Printer, statement
from .types import is_tensor
from .words import SEGMENTS

_SHOWN = frozenset({"indexing_maps", "iterator_types", SEGMENTS})
_ITERATORS = {"#linalg.iterator_type<parallel>": "", "#linalg.iterator_type<reduction>": "T.reduce"}
_WORDS = re.compile(r"\b(?:d\d+|floordiv|mod)\b")
_MOST_LINE = 110


@statement("linalg.generic")
def _generic(printer: Printer, op: Operation) -> bool:
    nest = Nest(printer, op)
    if printer.nest is not None or not nest.is_plain(printer):
        return False
    return _fill(printer, nest) or _loops(printer, nest)


#: Index of each dimension of an operand: a loop, or the text of an expression over loops.
Places = tuple[int | str, ...]


class Nest:
    """Parts of a linalg.generic."""

    def __init__(self, printer: Printer, op: Operation):
        self.op = op
        self.block = op.regions[0].blocks[0]
        operands = list(op.operands)
        count = op.attributes[SEGMENTS][0]
        self.inputs, self.outputs = operands[:count], operands[count:]
        self.types = [operand.type for operand in operands]
        self.is_shaped = [isinstance(type_, ir.ShapedType) for type_ in self.types]
        # All kernels use the same few maps.
        self.places: list[Places] | None = printer.remembered(op.attributes["indexing_maps"], _places)
        self.iterators: list[str] | None = printer.remembered(op.attributes["iterator_types"], _iterators)

    def is_plain(self, printer: Printer) -> bool:
        """Check whether the nest accesses named tensors or buffers, or numbers, in a form that loops can express."""
        if self.iterators is None or self.places is None or not self.outputs:
            return False
        shaped = [type_ for type_, is_shaped in zip(self.types, self.is_shaped, strict=True) if is_shaped]
        are_tensors = {is_tensor(each) for each in shaped}
        if len(are_tensors) != 1 or any(not each.has_rank for each in shaped):
            return False
        if any(isinstance(type_, ir.VectorType) for type_ in self.types):
            return False
        named = zip([*self.inputs, *self.outputs], self.is_shaped, strict=True)
        is_named = all(printer.text_of(each).isidentifier() for each, is_shaped in named if is_shaped)
        return is_named and self._are_different(self.places, is_tensor(shaped[0]))

    def _are_different(self, places: Sequence[Places], are_tensors: bool) -> bool:
        """Check whether each element that is read or written has a distinct text."""
        # An output tensor becomes a new tensor.
        operands = self.inputs if are_tensors else [*self.inputs, *self.outputs]
        read = zip(operands, places, self.is_shaped, strict=False)
        elements = [(value, place) for value, place, is_shaped in read if is_shaped]
        return len(set(elements)) == len(elements) and len(set(self.outputs)) == len(self.outputs)

    def sizes(self, names: Sequence[str]) -> list[str]:
        """Return the size of each loop, from the first operand with a dimension of this loop."""
        assert self.iterators is not None and self.places is not None
        found = [""] * len(self.iterators)
        for type_, name, places in zip(self.types, names, self.places, strict=True):
            for axis, place in enumerate(places):
                if isinstance(place, int) and not found[place]:
                    size = type_.shape[axis]
                    found[place] = str(size) if size != DYNAMIC else f"{name}.shape[{axis}]"
        return [size or "..." for size in found]


def _places(maps: Attribute) -> list[Places] | None:
    """Return the indices of each operand, or None if Python has no operator for a map."""
    found = []
    for map_ in maps:
        results = tuple(
            result.position if isinstance(result, ir.AffineDimExpr) else str(result) for result in map_.value.results
        )
        if map_.value.n_symbols or any("ceildiv" in result for result in results if isinstance(result, str)):
            return None
        found.append(results)
    return found


def _iterators(kinds: Attribute) -> list[str] | None:
    found = [_ITERATORS.get(str(kind)) for kind in kinds]
    return None if None in found else [each or "" for each in found]


def _fill(printer: Printer, nest: Nest) -> bool:
    """Print a fill: `C[:] = 0.0`, in which a number becomes each of the elements."""
    op = nest.op
    if len(nest.inputs) != 1 or len(nest.outputs) != 1 or nest.is_shaped[0] or len(nest.block.operations) != 1:
        return False
    value, target = nest.inputs[0], nest.outputs[0]
    operands = list(nest.block.operations[0].operands)
    assert nest.iterators is not None
    if (
        operands != [nest.block.arguments[0]]
        or any(nest.iterators)
        or nest.places != [(), tuple(range(len(nest.iterators)))]
    ):
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
        return [printer.text_of(output) for output in outputs]
    return [printer.overwritten(op, output, text=text) for output in outputs]


def _assign(printer: Printer, op: Operation, names: Sequence[str]) -> None:
    for name, result in zip(names, op.results, strict=False):
        printer.assign(name, result)


def _loops(printer: Printer, nest: Nest) -> bool:
    op = nest.op
    assert nest.iterators is not None and nest.places is not None
    before = [
        _named(printer, input_, is_shaped) for input_, is_shaped in zip(nest.inputs, nest.is_shaped, strict=False)
    ]
    targets = _targets(printer, op, nest.outputs)
    names = [*before, *targets]
    sizes = nest.sizes(names)
    printer.flush()
    header = len(printer.writer.lines)
    printer.writer.line("")
    with printer.suite():
        indices = [printer.names.index() for _ in nest.iterators]
        elements = [
            _element(name, places, indices) if is_shaped else name
            for name, places, is_shaped in zip(names, nest.places, nest.is_shaped, strict=True)
        ]
        for argument, element in zip(nest.block.arguments, elements, strict=True):
            printer.bind(argument, element)
        for index, name in enumerate(indices):
            printer.index_names[nest.block, index] = name
        outer, printer.nest = printer.nest, (inside := Inside(frozenset(indices), frozenset(op.operands)))
        printer.block(nest.block, lambda end: _store(printer, end, elements[len(nest.inputs) :]))
        printer.nest = outer
    _write_header(printer, nest, header, indices, sizes, elements, are_listed=inside.are_listed)
    _assign(printer, op, targets)
    return True


def _named(printer: Printer, value: Value, is_shaped: bool) -> str:
    """Return the name of an input. Numbers get names of their own, because the body uses the block argument."""
    text = printer.texts([value])[0]
    if is_shaped:
        return text
    name = printer.names.numbered("v")
    printer.emit(f"{name} = {text}")
    return name


def _store(printer: Printer, end: Operation, elements: Sequence[str]) -> None:
    printer.emit(f"{', '.join(elements)} = {', '.join(printer.texts(end.operands))}")


def _element(name: str, places: Places, indices: Sequence[str]) -> str:
    texts = [indices[place] if isinstance(place, int) else _affine(place, indices) for place in places]
    return f"{name}[{', '.join(texts) or '()'}]"


def _affine(text: str, indices: Sequence[str]) -> str:
    """Replace MLIR's dimensions in the text of an affine expression by loop variables."""

    def replace(match: re.Match[str]) -> str:
        word = match.group()
        return {"floordiv": "//", "mod": "%"}.get(word) or indices[int(word[1:])]

    return _WORDS.sub(replace, text)


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
    assert nest.iterators is not None
    items = [f"{kind}({size})" if kind else size for kind, size in zip(nest.iterators, sizes, strict=True)]
    inputs = list(elements[: len(nest.inputs)])
    if are_listed or _find_inputs(lines[header + 1 :], inputs, list(elements[len(nest.inputs) :])) != inputs:
        items.append(f"reads=[{', '.join(inputs)}]")
    rest = printer.keyword("annotations", nest.op, _SHOWN)
    items += rest
    names = ", ".join(indices) if len(indices) != 1 else indices[0]
    head = f"{printer.writer.margin}for {names or '()'} in T.grid({', '.join(items)}):"
    body = lines[header + 1].strip()
    if len(lines) == header + 2 and len(head) + len(body) < _MOST_LINE and not rest:
        del lines[header + 1]
        head = f"{head} {body}"
    lines[header] = head


def _find_inputs(lines: Sequence[str], inputs: Sequence[str], outputs: Sequence[str]) -> list[str] | None:
    """Return the inputs in the order in which a body reads them, or None if the texts are ambiguous."""
    if len(set(inputs)) < len(inputs) or set(inputs) & set(outputs) or any("[" not in input_ for input_ in inputs):
        return None
    text = "\n".join(lines)
    return [each for place, each in sorted([(_place_of(input_, text), input_) for input_ in inputs]) if place >= 0]


def _place_of(element: str, text: str) -> int:
    """Return the first position of an element in a text, or -1. Matches inside longer names are skipped."""
    place = text.find(element)
    while place > 0 and (text[place - 1].isalnum() or text[place - 1] == "_"):
        place = text.find(element, place + 1)
    return place
