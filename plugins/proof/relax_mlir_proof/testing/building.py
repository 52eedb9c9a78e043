# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of trees: a search for operands that the operators accept, and the build."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy
from relax_mlir.bindings.ir import Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.core.attributes import AttributeProblem
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.dialect import find_op
from relax_mlir.dialects.core.infos import TensorInfo, tensor
from relax_mlir.dialects.relax.constants import const
from relax_mlir.dialects.relax.values import dtype_of, shape_of
from relax_mlir.frontends.module import Module
from relax_mlir.passes.graph.scales.weights import CONVOLUTIONS, channel_axes
from relax_mlir.support.errors import RelaxError

from ..interpreter.held_values import stored
from .core.cases import Setup
from .core.rows import array_of
from .core.trees import Leaf, Made, Node, Part, Tree
from .core.variants import DYNAMIC_SIZES, PLAIN, Variant
from .fitting import Elements, Reading, readings, shapes_read

if TYPE_CHECKING:
    from numpy import ndarray

_Size = TypeVar("_Size")

#: Largest total distance from the first accepted choices.
_FARTHEST = 12


class Search:
    """Search for operands and attributes that the operators of a tree accept.

    The operators are built in a temporary module, `most_steps` of them at most. `types` are element types of some
    nodes, besides the conditions of the pattern. `first_rows` are names of the rows that are tried first, by operator.
    """

    def __init__(
        self,
        tree: Tree,
        most_steps: int,
        variant: Variant = PLAIN,
        types: Mapping[Node, str] = MappingProxyType({}),
        first_rows: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._first_rows = first_rows
        self._tree, self._left, self._variant, self._types = tree, most_steps, variant, types
        #: Refused calls per operator, and the message of the last one.
        self.refused: dict[str, tuple[int, str]] = {}
        self._module = Module()
        with self._module.function("main", []) as function:
            function.returns()
        self._block = function.block
        self._values: dict[Node, Value] = {}
        self._results: dict[Made, list[Value]] = {}

    def found(self) -> Iterator[Mapping[Made, Reading]]:
        """Yield combinations of accepted calls, beginning with the first choice of each operator."""
        for far in range(_FARTHEST):
            yield from self._ways(0, {}, far)

    def _ways(self, place: int, called: Mapping[Made, Reading], far: int) -> Iterator[Mapping[Made, Reading]]:
        """Yield choices for the operators from `place` on, at a total distance of `far` from the first choices."""
        if place == len(self._tree.operators):
            if far == 0:
                yield called
            return
        kept = dict(self._values)
        for rank, reading in enumerate(self.accepted(self._tree.operators[place])):
            yield from self._ways(place + 1, {**called, self._tree.operators[place]: reading}, far - rank)
            self._values = dict(kept)
            if rank == far:
                return

    def accepted(self, operator: Made) -> Iterator[Reading]:
        """Yield the accepted calls of an operator. The operator is built when a call is yielded."""
        kept = dict(self._values)
        known = {name: [self._info(node) for node in nodes] for name, nodes in (operator.operands or {}).items()}
        has_others = operator.operands is None or operator.is_open
        leaves = [node for nodes in (operator.operands or {}).values() for node in nodes if node not in self._values]
        beside = [shape for node in leaves for shape in self._bias_shapes(operator, node)]
        for reading in readings(
            *(operator, known, has_others, self._variant, self._find_shapes(operator), beside),
            first_row=self._first_rows.get(operator.op, ""),
        ):
            if self._left == 0:
                return
            if not _has_types(operator, reading, self._types):
                continue
            self._left -= 1
            if self._is_built(operator, reading):
                yield reading
            self._values = dict(kept)

    def take(self, operator: Made, reading: Reading) -> None:
        """Build an operator with an accepted call."""
        self._is_built(operator, reading)

    def _find_shapes(self, operator: Made) -> list[tuple[int, ...]]:
        """Return the shapes in which operators of the tree read this one."""
        readers = [
            (other, name)
            for other in self._tree.operators
            for name, nodes in (other.operands or {}).items()
            if operator in nodes
        ]
        biases = [shape for other, _ in readers for shape in self._bias_shapes(other, operator)]
        return biases + [
            shape for other, name in readers for shape in shapes_read(other, name, self._variant.sizes.letters)
        ]

    def _bias_shapes(self, reader: Made, node: Node) -> list[tuple[int, ...]]:
        """Return the shape of a constant per output channel, if an operator adds it to a product."""
        others = [each for nodes in (reader.operands or {}).values() for each in nodes if each is not node]
        if not _is_constant(node):
            return []
        return [channel_shape(self._values[each]) for each in others if each in self._values and _is_product(each)]

    def _info(self, node: Node) -> TensorInfo | None:
        if isinstance(node, Part):
            self._values.setdefault(node, self._results[node.of][node.index])
        value = self._values.get(node)
        info = None if value is None else decode(value.type)
        return info if isinstance(info, TensorInfo) else None

    def _is_built(self, operator: Made, reading: Reading) -> bool:
        if (attributes := attributes_of(operator, reading)) is None:
            return False
        random = numpy.random.default_rng(0)
        place = ir.InsertionPoint.at_block_terminator(self._block)
        with self._module.context, ir.Location.unknown(), place:
            try:
                operands = {
                    name: [self._value(node, elements, random) for node, elements in operand]
                    for name, operand in _operands(operator, reading).items()
                }
                results = built(operator.op, operands, attributes)
            except RelaxError as error:
                self.refused[operator.op] = (self.refused.get(operator.op, (0, ""))[0] + 1, error.message)
                return False
        self._values[operator], self._results[operator] = results[0], results
        leaves = (node for nodes in (operator.operands or {}).values() for node in nodes)
        return all(self._accepts(node) for node in (*leaves, operator) if node in self._values)

    def _accepts(self, node: Node) -> bool:
        value = self._values[node]
        return node.accepts(value) and self._types.get(node) in (None, dtype_of(value))

    def _value(self, node: Node | None, elements: Elements | None, random: numpy.random.Generator) -> Value:
        if node in self._values:
            return self._values[node]
        assert elements is not None
        value = const(elements_of(node, elements, random, PLAIN._replace(sizes=self._variant.sizes)))
        if node is not None:
            self._values[node] = value
        return value


def _is_constant(node: Node) -> bool:
    """Check whether all inputs of a value are constants."""
    if isinstance(node, Leaf):
        return node.is_constant and node.number is None
    operands = node.operands if isinstance(node, Made) else None
    leaves = [
        each
        for nodes in (operands or {}).values()
        for each in nodes
        if not isinstance(each, Leaf) or each.number is None
    ]
    return bool(leaves) and all(map(_is_constant, leaves))


def _is_product(node: Node) -> bool:
    return isinstance(node, Made) and node.op in ("relax.matmul", *CONVOLUTIONS)


def channel_shape(product: Value) -> tuple[int, ...]:
    """Return the shape of a constant with a number per output channel, which broadcasts to a product."""
    shape = [int(str(size)) for size in shape_of(product) or ()]
    axis = output_axis(product)
    return () if axis >= len(shape) else (shape[axis], *[1] * (len(shape) - 1 - axis))


def output_axis(product: Value) -> int:
    """Return the axis of the output channels, from the front."""
    axes = None if product.owner.name == "relax.matmul" else channel_axes(product.owner.opview)
    return max(len(shape_of(product) or ()) - 1, 0) if axes is None else axes[1]


class Building:
    """Module of a tree with its operators called as a search has found."""

    def __init__(
        self, tree: Tree, called: Mapping[Made, Reading], random: numpy.random.Generator, variant: Variant = PLAIN
    ) -> None:
        self._tree, self._called, self._random, self._variant = tree, called, random, variant
        self._inputs: dict[object, tuple[Node | None, Elements]] = {}
        self._constants: dict[object, ndarray] = {}
        for operator, reading in called.items():
            for name, operand in _operands(operator, reading).items():
                for place, (node, elements) in enumerate(operand):
                    key = node if node is not None else (operator, name, place)
                    if elements is None or key in self._inputs or key in self._constants:
                        continue
                    if node.is_constant if isinstance(node, Leaf) else elements.text.is_constant:
                        self._constants[key] = self._constant(name, node, elements)
                    else:
                        self._inputs[key] = node, elements

    def _constant(self, operand: str, node: Node | None, elements: Elements) -> ndarray:
        if operand == "zero_point" and not self._variant.has_zero_points:
            return numpy.zeros(elements.shape, stored(elements.dtype))
        return elements_of(node, elements, self._random, PLAIN._replace(sizes=self._variant.sizes))

    def setup(self) -> Setup:
        """Return the module and the arguments of its calls. Raise RelaxError where an operator refuses the sizes."""
        batch = self._batch() if self._variant.is_dynamic else None
        infos = {
            f"x{number}": tensor(_with_size(each.shape, batch, "n"), each.dtype)
            for number, (_, each) in enumerate(self._inputs.values())
        }
        module = Module()
        with module.function("main", infos) as f:
            values: dict[object, Value] = dict(zip(self._inputs, f, strict=True))
            values.update((key, const(array)) for key, array in self._constants.items())
            results: dict[Made, list[Value]] = {}
            for operator in self._tree.operators:
                results[operator] = self._results(operator, values, results)
                values[operator] = results[operator][0]
            returned = [each for node in self._tree.results for each in _list_returned(node, results)]
            f.returns(*returned)
        sizes = (None,) if batch is None else (None, *DYNAMIC_SIZES)
        return Setup(module, [self._arguments(batch, size) for size in sizes])

    def _batch(self) -> int:
        """Return the size that becomes dynamic: the first one of the first input."""
        if not (shape := next((each.shape for _, each in self._inputs.values()), ())):
            raise RelaxError("no input has a size that could be dynamic")
        return shape[0]

    def _arguments(self, batch: int | None, size: int | None) -> list[ndarray]:
        """Return a call's arguments, with another size in the place of the dynamic one."""
        arguments = []
        for node, elements in self._inputs.values():
            shape = elements.shape if size is None else _with_size(elements.shape, batch, size)
            arguments.append(elements_of(node, elements._replace(shape=shape), self._random, self._variant))
        return arguments

    def _results(
        self, operator: Made, values: Mapping[object, Value], results: Mapping[Made, list[Value]]
    ) -> list[Value]:
        reading = self._called[operator]
        operands = {
            name: [
                values_of(node, results) if isinstance(node, Part)
                else values[node if node is not None else (operator, name, place)]
                for place, (node, _) in enumerate(operand)
            ]
            for name, operand in _operands(operator, reading).items()
        }  # fmt: skip
        return built(operator.op, operands, attributes_of(operator, reading) or {})


def _with_size(shape: Sequence[int], batch: int | None, size: _Size) -> tuple[int | _Size, ...]:
    """Return a shape with another first size if that is the batch."""
    return (size, *shape[1:]) if batch is not None and shape and shape[0] == batch else tuple(shape)


def _has_types(operator: Made, reading: Reading, types: Mapping[Node, str]) -> bool:
    """Check whether inputs have element types that the pattern wants, before arrays are made for them."""
    return all(
        not any(condition.problem(tensor(elements.shape, elements.dtype)) for condition in node.conditions)
        and types.get(node) in (None, elements.dtype)
        for pairs in _operands(operator, reading).values()
        for node, elements in pairs
        if node is not None and elements is not None
    )


def _list_returned(node: Node, results: Mapping[Made, list[Value]]) -> list[Value]:
    return [values_of(node, results)] if isinstance(node, Part) else results[node] if isinstance(node, Made) else []


def values_of(part: Part, results: Mapping[Made, Sequence[Value]]) -> Value:
    return results[part.of][part.index]


def _operands(operator: Made, reading: Reading) -> dict[str, list[tuple[Node | None, Elements | None]]]:
    """Return each operand's values: the tree's node, or None if unspecified, and the elements to create."""
    stated = operator.operands or {}
    return {
        name: list(zip(stated.get(name, [None] * len(elements)), elements, strict=True))
        for name, elements in reading.operands.items()
    }


def elements_of(node: Node | None, elements: Elements, random: numpy.random.Generator, variant: Variant) -> ndarray:
    """Return a leaf's array."""
    if isinstance(node, Leaf) and node.number is not None:
        return numpy.full(elements.shape, node.number).astype(stored(elements.dtype))
    letters = variant.sizes.letters
    return array_of(elements.text, elements.dtype, elements.shape, letters, random, variant.has_special, variant.is_far)


def attributes_of(operator: Made, reading: Reading) -> dict[str, Any] | None:
    """Return the attributes with the pattern's, or None if the pattern refuses them."""
    rows, found = find_op(operator.op).attrs, dict(reading.attributes)
    for name, wanted in operator.attributes:
        if not callable(wanted):
            found[name] = wanted
            continue
        try:
            value = rows[name].normalize(found[name]) if found.get(name) is not None else rows[name].default
        except AttributeProblem:
            return None
        if not wanted(value):
            return None
    return found


def built(op: str, operands: Mapping[str, Sequence[Value]], attributes: Mapping[str, Any]) -> list[Value]:
    """Build an operator and return its results."""
    definition = find_op(op)
    several = {operand.name for operand in definition.operands if operand.arity == "variadic"}
    given = {name: list(operand) if name in several else operand[0] for name, operand in operands.items() if operand}
    made = definition(**given, **attributes)
    return list(made) if isinstance(made, (list, tuple)) else [made]
