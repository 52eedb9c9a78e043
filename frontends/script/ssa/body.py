# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Statements: names for values, stores, loops, branches, operations with regions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeGuard

from ....bindings.ir import AffineMap, Attribute, Block, Context, Region, Type, Value
from ....bindings.mlir import ir
from ....dialects.script.syntax import dotted, indices_of, items_of, statements_within, targets_of, text_of
from ....dialects.script.words import SEGMENTS
from ....emit.loops import with_results
from .operators import Calls
from .spelling import Spelling


class ScriptBody(Calls):
    """Reader of one function's statements."""

    def __init__(self, spelling: Spelling, functions: dict[str, list[Type]], *, is_graph: bool):
        super().__init__(spelling, functions)
        self._is_graph = is_graph

    # ---- blocks ----

    @contextmanager
    def block(self, block: Block) -> Iterator[None]:
        """Insert the operations that are read inside into the block."""
        leaves, self.leaves = self.leaves, {}
        with ir.InsertionPoint(block):
            yield
        self.leaves = leaves

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Undo the definitions of names inside at the end."""
        outer, self.changed = self.changed, []
        yield
        for name, value in reversed(self.changed):
            if value is None:
                self.named.pop(name, None)
            else:
                self.named[name] = value
        self.changed = outer

    def statements(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            if (read := _STATEMENTS.get(type(statement))) is None:
                word = type(statement).__name__.lower()
                raise self.source.problem(statement, f"an ssa function cannot contain `{word}`")
            self.location, self.around, self.statement = self.source.location(statement), None, statement
            read(self, statement)

    def blocks(self, region: Region, functions: Sequence[ast.FunctionDef]) -> None:
        """Read functions such as `def bb0(x: T.int32):` as blocks of the region.

        Every block can jump to every other.
        """
        self._filled(self._declared(region, functions))

    def _declared(self, region: Region, functions: Sequence[ast.FunctionDef]) -> list[tuple[ast.FunctionDef, Block]]:
        made = []
        for function in functions:
            types = [self.spelling.type(self._annotation(argument)) for argument in function.args.args]
            block = region.blocks.append(*types, arg_locs=[self.source.location(function)] * len(types))
            self.labels[function.name] = block
            made.append((function, block))
        return made

    def _filled(self, function_defs: Sequence[tuple[ast.FunctionDef, Block]]) -> None:
        for function_def, block in function_defs:
            for argument, value in zip(function_def.args.args, block.arguments, strict=True):
                self.bind(argument.arg, value)
            with self.block(block):
                self.statements(function_def.body)

    def enter(
        self, region: Region, entry: Block, statements: Iterable[ast.stmt], blocks: Sequence[ast.FunctionDef]
    ) -> None:
        """Read a function's statements into its first block, and then its other blocks."""
        made = self._declared(region, blocks)
        with self.block(entry):
            self.statements(statements)
        self._filled(made)

    def _annotation(self, argument: ast.arg) -> ast.expr:
        if argument.annotation is None:
            raise self.source.problem(argument, f"'{argument.arg}' has no type: {argument.arg}: T.int32")
        return argument.annotation

    # ---- names ----

    def assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            raise self.source.problem(node, "expected one assigned name per statement")
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Name):
            self.bind(target.id, self._named_value(target.id, value))
        elif isinstance(target, ast.Subscript):
            self._store(target, value)
        elif isinstance(target, ast.Tuple):
            self._assign_several(target, value)
        else:
            raise self.source.problem(target, "expected a name or an element: C[i, j] = ...")

    def _named_value(self, name: str, node: ast.expr, types: list[Type] | None = None) -> Value:
        if self._is_graph and isinstance(node, (ast.Call, ast.Subscript)):
            self.around, self.location = self.location, ir.Location.name(name, self.location)
        if not isinstance(node, ast.Call):
            return self.operand(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "const":
            self.leaves = {}  # a constant that has a name is an operation of its own
        results = self.call(node, 1, types)
        if len(results) != 1:
            raise self.source.problem(node, f"one name for {len(results)} values")
        return results[0]

    def annotated(self, node: ast.AnnAssign) -> None:
        """Read `y: R.Tensor((4,), "float32") = R.nn.relu(x)`."""
        if not isinstance(node.target, ast.Name) or not isinstance(node.value, ast.Call):
            raise self.source.problem(
                node, "a type annotation needs a name and a call with one result: y: R.Tensor(...) = ..."
            )
        types = [self.spelling.type(node.annotation)]
        self.bind(node.target.id, self._named_value(node.target.id, node.value, types))

    def _assign_several(self, target: ast.Tuple, node: ast.expr) -> None:
        names = [each.id if isinstance(each, ast.Name) else "" for each in target.elts]
        if "" in names:
            raise self.source.problem(target, "expected several assigned names, or one element")
        values: Sequence[Value]
        if isinstance(node, ast.Tuple):
            values = [self.operand(each) for each in node.elts]
        elif isinstance(node, ast.Call):
            values = self.call(node, len(names))
        else:
            values = [self.operand(node)]
        if len(values) != len(names):
            raise self.source.problem(node, f"{len(names)} names for {len(values)} values")
        for name, value in zip(names, values, strict=True):
            self.bind(name, value)

    def _store(self, target: ast.Subscript, node: ast.expr) -> None:
        """Read `C[i, j] = x` or `C[:] = x`. The name of a tensor denotes the new tensor from then on."""
        if not isinstance(target.value, ast.Name):
            raise self.source.problem(target, "only elements of named buffers can be assigned: C[i, j] = ...")
        name, held = target.value.id, self.read_name(target.value)
        if not isinstance(held.type, (ir.RankedTensorType, ir.MemRefType)):
            raise self.source.problem(target, f"{held.type} has no elements")
        value = self.typed(node, held.type.element_type)
        if isinstance(target.slice, ast.Slice):
            results = self._fill(target, value, held)
        else:
            indices = [self.index(index) for index in indices_of(target)]
            self.check_rank(target, held, len(indices))
            is_memory = isinstance(held.type, ir.MemRefType)
            kind, types = ("memref.store", []) if is_memory else ("tensor.insert", [held.type])
            results = list(self.create(kind, (value, held, *indices), types).results)
        for result in results:
            self.bind(name, result)

    def _fill(self, target: ast.Subscript, value: Value, held: Value) -> list[Value]:
        """Emit `C[:] = x`."""
        part = target.slice
        if not isinstance(part, ast.Slice) or part.lower or part.upper or part.step:
            raise self.source.problem(target, "expected an assignment of all elements: C[:] = 0.0")
        rank = held.type.rank
        maps = [ir.AffineMap.get(rank, 0, [], self.context), ir.AffineMap.get_identity(rank, self.context)]
        attributes = nest_attributes(self.context, 1, maps, [False] * rank)
        types = [] if isinstance(held.type, ir.MemRefType) else [held.type]
        made = self.create("linalg.generic", (value, held), types, attributes, regions=1)
        block = made.regions[0].blocks.append(value.type, held.type.element_type, arg_locs=[self.location] * 2)
        with self.block(block):
            self.create("linalg.yield", (block.arguments[0],), ())
        return list(made.results)

    # ---- calls ----

    def expression(self, node: ast.Expr) -> None:
        call = node.value
        if text_of(call) is not None:
            return  # a docstring
        if not isinstance(call, ast.Call):
            raise self.source.problem(node, "this does nothing")
        if isinstance(call.func, ast.Attribute) and call.func.attr == "vstore":
            self._vstore(call, call.func.value)
        else:
            self.call(call, 0)

    def _vstore(self, node: ast.Call, target: ast.expr) -> None:
        given = node.args[1] if len(node.args) == 2 else None
        if not isinstance(target, ast.Name) or not isinstance(given, ast.List):
            raise self.source.problem(node, "vstore takes a vector and indices: A.vstore(v, [i, j])")
        held, value = self.read_name(target), self.operand(node.args[0])
        self.check_transfer(node, held.type, value.type)
        indices = [self.index(each) for each in given.elts]
        mask = self.mask(node)
        is_memory = isinstance(held.type, ir.MemRefType)
        attributes = self.transfer(held, value.type, [1, 1, len(indices), len(mask)])
        types = [] if is_memory else [held.type]
        operands = (value, held, *indices, *mask)
        for result in self.create("vector.transfer_write", operands, types, attributes).results:
            self.bind(target.id, result)

    # ---- loops and branches ----

    def loop(self, node: ast.For) -> None:
        call = node.iter
        read = LOOPS.get(dotted(call.func)) if isinstance(call, ast.Call) else None
        if node.orelse or not isinstance(call, ast.Call) or read is None:
            raise self.source.problem(node, "a loop is `for i in range(...)` or `for i, j in T.grid(...)`")
        read(self, node, call)

    def range_loop(self, node: ast.For, call: ast.Call) -> None:
        if not isinstance(node.target, ast.Name) or not 1 <= len(call.args) <= 3:
            raise self.source.problem(node, "a loop is `for i in range(start, stop, step)`")
        lower, upper, step = self._bounds(call)
        carried = self._carried(node, call)
        inits = [self.named[name] for name in carried]
        types = [value.type for value in inits]
        made = self.create("scf.for", (lower, upper, step, *inits), types, regions=1)
        block = made.regions[0].blocks.append(lower.type, *types, arg_locs=[self.location] * (1 + len(types)))
        with self.scope(), self.block(block):
            for name, value in zip([node.target.id, *carried], block.arguments, strict=True):
                self.bind(name, value)
            self.statements(node.body)
            self.create("scf.yield", [self.named[name] for name in carried], ())
        for name, result in zip(carried, made.results, strict=True):
            self.bind(name, result)

    def _bounds(self, call: ast.Call) -> tuple[Value, Value, Value]:
        args = call.args
        if len(args) == 1:
            upper = self.index(args[0])
            return self.number(call, 0, self._index), upper, self.number(call, 1, self._index)
        lower, upper = self.index(args[0]), self.index(args[1])
        return lower, upper, self.index(args[2]) if len(args) == 3 else self.number(call, 1, self._index)

    def _carried(self, node: ast.For, call: ast.Call) -> list[str]:
        """Return the names that a loop assigns again, in the order of their first assignment, or the names that it
        lists."""
        for keyword in call.keywords:
            if keyword.arg != "carry" or not isinstance(keyword.value, ast.List):
                raise self.source.problem(keyword.value, "range has no such argument", ("carry",), keyword.arg or "")
            names = [each.id if isinstance(each, ast.Name) else "" for each in keyword.value.elts]
            if (missing := next((name for name in names if name not in self.named), None)) is not None:
                raise self.source.problem(keyword.value, f"there is no value '{missing}' here", self.named, missing)
            self.check_kept(node, node.body, names, "list it in carry=[...]")
            return names
        found: dict[str, None] = {}
        for name in assigned_in(node.body):
            value = self.named.get(name)
            if value is not None and not isinstance(value.type, ir.MemRefType):
                found.setdefault(name)
        return list(found)

    def branch(self, node: ast.If) -> None:
        """Read an `if`. Its results are the names that both sides assign last."""
        condition = self.operand(node.test)
        names = _last_names(node.body) if _last_names(node.body) == _last_names(node.orelse) else []
        hint = "the results of an `if` are the names that both branches assign last"
        self.check_kept(node, [*node.body, *node.orelse], names, hint)
        types: list[Type] = []
        sketch = self.create("scf.if", (condition,), (), regions=2)
        for region, statements in zip(sketch.regions, (node.body, node.orelse), strict=True):
            if not statements:
                continue
            with self.scope(), self.block(region.blocks.append()):
                self.statements(statements)
                values = [self.named[name] for name in names]
                types = types or [value.type for value in values]
                if [value.type for value in values] != types:
                    raise self.source.problem(statements[-1], "both branches must assign values of the same types last")
                self.create("scf.yield", values, ())
        if not names:
            return
        self.location = self.source.location(node)
        if self._is_graph and len(names) == 1:
            self.location = ir.Location.name(names[0], self.location)
        with self.location:
            operation = with_results(sketch, types)
        sketch.erase()
        for name, result in zip(names, operation.results, strict=True):
            self.bind(name, result)

    # ---- operations with regions ----

    def with_regions(self, node: ast.With) -> None:
        """Read `with scf.while_(x) as y:`, with indented regions below."""
        call = node.items[0].context_expr
        if len(node.items) != 1 or not isinstance(call, ast.Call):
            raise self.source.problem(node, "`with` needs an operation with regions")
        target = node.items[0].optional_vars
        targets = () if target is None else items_of(target)
        bodies = [each.body for each in node.body if _is_region(each)]
        if bodies and len(bodies) != len(node.body):
            raise self.source.problem(node, "a body with regions contains only regions: with I.region():")
        bodies = bodies or [node.body]
        made = self.operation(call, dotted(call.func), len(targets), regions=len(bodies))
        for region, body in zip(made.regions, bodies, strict=True):
            self._region(region, body)
        if len(targets) != len(made.results):
            raise self.source.problem(call, f"{len(targets)} names for {len(made.results)} values")
        for each, result in zip(targets, made.results, strict=True):
            if not isinstance(each, ast.Name):
                raise self.source.problem(each, "expected a name")
            self.bind(each.id, result)

    def check_kept(self, node: ast.AST, statements: Sequence[ast.stmt], kept: Sequence[str], hint: str) -> None:
        """Refuse an assignment in a region to a name from outside if the name has its old value after the region."""
        for name in assigned_in(statements):
            value = self.named.get(name)
            if value is not None and name not in kept and not isinstance(value.type, ir.MemRefType):
                message = f"'{name}' from outside is assigned inside, and the new value is lost afterwards"
                raise self.source.problem(node, f"{message}: {hint}")

    def _region(self, region: Region, body: Sequence[ast.stmt]) -> None:
        functions = [stmt for stmt in body if isinstance(stmt, ast.FunctionDef)]
        for block in [body, *(function.body for function in functions)]:
            self.check_kept(block[0], block, (), "give it a name of its own")
        labels = dict(self.labels)
        with self.scope():
            if functions and len(functions) == len(body):
                self.blocks(region, functions)
            elif not all(isinstance(stmt, ast.Pass) for stmt in body):
                with self.block(region.blocks.append()):
                    self.statements(body)
        self.labels = labels

    def returned(self, node: ast.Return) -> None:
        nodes = () if node.value is None else items_of(node.value)
        self.create("func.return", [self.operand(each) for each in nodes], ())

    def passed(self, node: ast.Pass) -> None:
        """Read `pass`, which has no effect."""


#: Readers of `for` loops by the function that the loop iterates over. Nests are in nests.py.
LOOPS: dict[str, Callable[[ScriptBody, ast.For, ast.Call], None]] = {"range": ScriptBody.range_loop}


def nest_attributes(
    context: Context, inputs: int, maps: Sequence[AffineMap], reduced: Sequence[bool]
) -> dict[str, Attribute]:
    """Return the attributes of a linalg.generic."""
    kinds = ("reduction" if each else "parallel" for each in reduced)
    iterators = [ir.Attribute.parse(f"#linalg.iterator_type<{kind}>", context) for kind in kinds]
    return {
        "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in maps], context),
        "iterator_types": ir.ArrayAttr.get(iterators, context),
        SEGMENTS: ir.DenseI32ArrayAttr.get([inputs, len(maps) - inputs], context),
    }


def _is_region(node: ast.stmt) -> TypeGuard[ast.With]:
    if not isinstance(node, ast.With):
        return False
    call = node.items[0].context_expr
    return isinstance(call, ast.Call) and dotted(call.func) == "I.region"


def _last_names(statements: Sequence[ast.stmt]) -> list[str]:
    """Return the names that the last statement assigns, if it assigns names only."""
    last = statements[-1] if statements else None
    if not isinstance(last, ast.Assign) or len(last.targets) != 1:
        return []
    names = [each.id if isinstance(each, ast.Name) else "" for each in items_of(last.targets[0])]
    return [] if "" in names else names


def assigned_in(statements: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the names that statements assign, in order, at any depth."""
    for stmt in statements_within(statements):
        parts: list[ast.expr] = []
        if isinstance(stmt, (ast.Assign, ast.AnnAssign)):
            parts = [part for target in targets_of(stmt) if target is not None for part in items_of(target)]
        elif isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call):
            function = stmt.value.func
            parts = [function.value] if isinstance(function, ast.Attribute) and function.attr == "vstore" else []
        for part in parts:
            base = part.value if isinstance(part, ast.Subscript) else part
            if isinstance(base, ast.Name):
                yield base.id


_STATEMENTS: dict[type, Callable[..., None]] = {
    ast.Assign: ScriptBody.assign,
    ast.AnnAssign: ScriptBody.annotated,
    ast.Expr: ScriptBody.expression,
    ast.For: ScriptBody.loop,
    ast.If: ScriptBody.branch,
    ast.With: ScriptBody.with_regions,
    ast.Return: ScriptBody.returned,
    ast.Pass: ScriptBody.passed,
}
