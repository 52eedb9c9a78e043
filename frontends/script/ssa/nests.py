# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops over elements as linalg: `for i, j, k in T.grid(4, 8, T.reduce(16)): C[i, j] = C[i, j] + A[i, k] * B[k, j]`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ....bindings.ir import AffineExpr, AffineMap, Attribute, Value
from ....bindings.mlir import DYNAMIC, ir
from ....dialects.script.syntax import dotted, indices_of, items_of, operation_of, parts_of
from ..common.affine import affine
from .body import LOOPS, ScriptBody, nest_attributes
from .spelling import I64, is_number, number_of

_NAME = re.compile(r"[A-Za-z_]\w*")


class NestElement(NamedTuple):
    """Element that a nest accesses: a buffer and its index map. A number has no map."""

    name: str
    map: AffineMap | None


def loops(body: ScriptBody, node: ast.For, call: ast.Call) -> None:
    """Build the nest at the current insertion point. The names of its outputs denote its results afterwards."""
    nest = ReadNest(body, node, call)
    body.check_kept(node, nest.statements, (), "give it a name of its own")
    nest.find_elements()
    operands = [nest.operand(element) for element in nest.elements]
    outputs = operands[len(nest.inputs) :]
    types = [] if isinstance(outputs[0].type, ir.MemRefType) else [each.type for each in outputs]
    maps = [element.map or ir.AffineMap.get(len(nest.indices), 0, [], body.context) for element in nest.elements]
    attributes = nest_attributes(body.context, len(nest.inputs), maps, nest.reduced)
    attributes.update(nest.annotations)
    nest.check_sizes(operands, maps)
    location = body.location
    body.location = ir.Location.name(nest.outputs[0].name, location)  # schedules refer to the block's location
    made = body.create("linalg.generic", operands, types, attributes, regions=1)
    body.location = location
    elements = [each.type.element_type if isinstance(each.type, ir.ShapedType) else each.type for each in operands]
    block = made.regions[0].blocks.append(*elements, arg_locs=[location] * len(elements))
    nest.arguments = dict(zip(nest.elements, block.arguments, strict=True))
    outer, body.nest = body.nest, nest
    with body.scope(), body.block(block):
        for name in nest.indices:
            body.hide(name)
        for key, argument in nest.arguments.items():
            if key.map is None:
                body.bind(key.name, argument)
        body.statements(nest.statements)
        body.location = body.source.location(nest.last)
        body.create("linalg.yield", nest.yielded(), ())
    body.nest = outer
    for output, result in zip(nest.outputs, made.results, strict=False):
        body.bind(output.name, result)


class ReadNest:
    """Nest that is being read."""

    def __init__(self, body: ScriptBody, node: ast.For, call: ast.Call):
        self.body, self.source, self.node, self.call = body, body.source, node, call
        targets = items_of(node.target)
        self.indices = [target.id for target in targets if isinstance(target, ast.Name)]
        if len(self.indices) != len(call.args) or len(set(self.indices)) < len(targets):
            raise self.source.problem(node, f"{len(targets)} names for {len(call.args)} loops")
        self.reduced = [isinstance(arg, ast.Call) and dotted(arg.func) == "T.reduce" for arg in call.args]
        self.sizes = [arg.args[0] if isinstance(arg, ast.Call) and arg.args else arg for arg in call.args]
        *self.statements, last = node.body
        if not isinstance(last, ast.Assign) or len(last.targets) != 1:
            raise self.source.problem(last, "a nest must end with a store to its outputs: C[i, j] = ...")
        self.last = last
        for each in (part for statement in self.statements for part in ast.walk(statement)):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store) and each.id in self.indices:
                raise self.source.problem(each, f"'{each.id}' is a loop variable and cannot be assigned")
        self.inputs: list[NestElement] = []
        self.outputs: list[NestElement] = []
        self.annotations: dict[str, Attribute] = {}
        self.arguments: dict[NestElement, Value] = {}
        self._indices: dict[str, Value] = {}
        self._found: dict[str, NestElement | None] = {}
        self._dims = {name: ir.AffineExpr.get_dim(i, body.context) for i, name in enumerate(self.indices)}

    @property
    def elements(self) -> list[NestElement]:
        return [*self.inputs, *self.outputs]

    # ---- reads and writes ----

    def find_elements(self) -> None:
        target = self.last.targets[0]
        for each in target.elts if isinstance(target, ast.Tuple) else [target]:
            element = self._element(each) if isinstance(each, ast.Subscript) else None
            if element is None:
                raise self.source.problem(
                    each, "the indices of a nest's outputs must be affine in its loop variables: C[i, j]"
                )
            self.outputs.append(element)
        if len({output.name for output in self.outputs}) < len(self.outputs):
            raise self.source.problem(target, "the outputs of a nest must be different tensors")
        listed = None
        for keyword in self.call.keywords:
            if keyword.arg == "reads":
                listed = keyword.value
            elif keyword.arg == "annotations":
                self.annotations = self.body.spelling.dictionary(keyword.value)
            else:
                known = ("reads", "annotations")
                raise self.source.problem(keyword.value, "T.grid has no such argument", known, keyword.arg or "**")
        if listed is None:
            self.inputs = self._named()
        elif isinstance(listed, ast.List):
            self.inputs = [self._listed(each) for each in listed.elts]
        else:
            raise self.source.problem(listed, "reads must be a list: reads=[A[i, k], B[k, j]]")

    def _listed(self, node: ast.expr) -> NestElement:
        if isinstance(node, ast.Name):
            self.body.read_name(node)
            return NestElement(node.id, None)
        element = self._element(node) if isinstance(node, ast.Subscript) else None
        if element is None:
            raise self.source.problem(
                node, "a nest's reads must be numbers or elements at affine indices: A[i, 2 * k + 1]"
            )
        return element

    def _named(self) -> list[NestElement]:
        """Return the elements in the order in which the body names them, without the outputs."""
        subscripts: list[ast.Subscript] = []
        for statement in self.statements:
            if isinstance(statement, ast.Assign):
                subscripts += _subscripts(statement.value)
            else:
                several = [node for node in ast.walk(statement) if isinstance(node, ast.Subscript)]
                subscripts += sorted(several, key=lambda each: (each.lineno, each.col_offset))
        subscripts += _subscripts(self.last.value)
        elements = dict.fromkeys(self._element(subscript) for subscript in subscripts if self._is_read(subscript))
        return [element for element in elements if element is not None and element not in self.outputs]

    def _is_read(self, node: ast.Subscript) -> bool:
        """Check whether a subscript reads a value from outside of the nest, not a tensor that the body defines."""
        base = node.value
        return isinstance(node.ctx, ast.Load) and isinstance(base, ast.Name) and base.id in self.body.named

    def _element(self, node: ast.Subscript) -> NestElement | None:
        """Return the element that a node names, or None if its index depends on values of the body."""
        if (text := self.body.spelling.text(node)) not in self._found:
            self._found[text] = self._new_element(node)
        return self._found[text]

    def _new_element(self, node: ast.Subscript) -> NestElement | None:
        if not isinstance(node.value, ast.Name):
            return None
        if not all(name in self._dims for name in _NAME.findall(self.body.spelling.text(node).partition("[")[2])):
            return None
        results = [affine(place, _operation_of, self._leaf) for place in indices_of(node)]
        if any(result is None for result in results):
            return None
        self.body.check_rank(node, self.body.read_name(node.value), len(results))
        return NestElement(node.value.id, ir.AffineMap.get(len(self.indices), 0, results, self.body.context))

    def _leaf(self, node: ast.expr) -> AffineExpr | None:
        if isinstance(node, ast.Name):
            return self._dims[node.id]
        value = number_of(node) if is_number(node) else None
        return ir.AffineExpr.get_constant(value, self.body.context) if type(value) is int and value in I64 else None

    def operand(self, element: NestElement) -> Value:
        value = self.body.named[element.name]
        if isinstance(value.type, ir.ShapedType) == (element.map is None):
            raise self.source.problem(self.node, f"'{element.name}' is {value.type}")
        return value

    # ---- sizes ----

    def check_sizes(self, operands: Sequence[Value], maps: Sequence[AffineMap]) -> None:
        """Check that the loops' sizes match the sizes of the operands."""
        known: dict[int, tuple[int, str]] = {}
        for value, element, map_ in zip(operands, self.elements, maps, strict=True):
            for axis, result in enumerate(map_.results):
                if isinstance(result, ir.AffineDimExpr):
                    known.setdefault(result.position, (value.type.shape[axis], f"{element.name}.shape[{axis}]"))
        for position, node in enumerate(self.sizes):
            size, shown = known.get(position, (DYNAMIC, "..."))
            written = number_of(node) if is_number(node) else None
            if written is not None and size != DYNAMIC and written != size:
                raise self.source.problem(node, f"loop '{self.indices[position]}' runs over {shown}, which is {size}")

    # ---- the body ----

    def lookup(self, node: ast.Subscript) -> Value | None:
        element = self._element(node)
        return None if element is None else self.arguments.get(element)

    def index(self, name: str) -> Value | None:
        """Return a loop variable as a value of the operation's own block, for uses in any nested region."""
        if name not in self._dims:
            return None
        if name not in self._indices:
            block = next(iter(self.arguments.values())).owner
            i64 = ir.IntegerType.get_signless(64, self.body.context)
            dim = {"dim": ir.IntegerAttr.get(i64, self.indices.index(name))}
            with ir.InsertionPoint.at_block_begin(block):
                self._indices[name] = self.body.one("linalg.index", (), ir.IndexType.get(self.body.context), dim)
        return self._indices[name]

    def yielded(self) -> list[Value]:
        value = self.last.value
        nodes = items_of(value)
        if len(nodes) != len(self.outputs):
            raise self.source.problem(value, f"{len(self.outputs)} elements for {len(nodes)} values")
        kinds = [self.arguments[output].type for output in self.outputs]
        return [self.body.typed(node, kind) for node, kind in zip(nodes, kinds, strict=True)]


def _operation_of(node: ast.expr) -> tuple[str, Sequence[ast.expr]]:
    return ("", ()) if is_number(node) else operation_of(node)


def _subscripts(node: ast.expr) -> Iterator[ast.Subscript]:
    """Yield the elements in an expression, in the order in which it names them."""
    waiting = [node]
    while waiting:
        if isinstance(node := waiting.pop(), ast.Subscript):
            yield node
        waiting += reversed(parts_of(node))


LOOPS["T.grid"] = loops
