# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reader of `@R.function`: the statements of a graph, each with its line as location."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from ...bindings.ir import Attribute, Operation, Value
from ...bindings.mlir import ir
from ...dialects.core.codec import decode, encode
from ...dialects.core.infos import Info, ScalarInfo, ShapeInfo, TensorInfo, describe
from ...dialects.core.ir_attributes import RELAX_TARGET
from ...dialects.core.symbols import SymExpr
from ...dialects.core.verifier import compatible
from ...dialects.relax.function_attributes import function_attributes
from ...dialects.script.syntax import statements_within, targets_of
from ...emit.loops import with_results
from . import graph_calls, graph_te  # noqa: F401  # their calls register
from .annotations import argument_of, leaves, rebuilt
from .graph_values import Allocated, Around, GraphValues, Missing, Nested, form, relax
from .names import RELAX, TIR

#: Functions that take sizes.
_OF_SIZES = ((RELAX, "Tensor"), (RELAX, "Shape"), (RELAX, "shape"))


class GraphReader(GraphValues):
    """Reader of a function that builds operations at the current insertion point."""

    def __init__(self, module: Around, function: ast.FunctionDef):
        super().__init__(module, module.names.inside(function))
        self.function = function
        self._last: ast.stmt = function
        #: Return value of the function, with the same tuple structure.
        self.returned: object = ()
        #: Attributes of the function.
        self.attributes: dict[str, Attribute] = {}
        #: Enclosing chain of nested functions that are being inlined.
        self._within: tuple[Nested, ...] = ()

    # ---- the function ----

    def parameters(self) -> list[tuple[str, Info]]:
        """Return names and types of the arguments. A tuple contributes one argument per leaf."""
        self.annotations.declare(statements_within(self.function.body))
        found: list[tuple[str, Info]] = []
        arguments = self.function.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
            raise self.source.problem(self.function, "a graph's function takes plain parameters only: (x: ..., y: ...)")
        self._declare_numbers([*arguments.posonlyargs, *arguments.args])
        for argument in [*arguments.posonlyargs, *arguments.args]:
            if argument.annotation is None:
                hint = f'give it one: {argument.arg}: R.Tensor((n, 128), "float32")'
                raise self.source.problem(argument, f"parameter '{argument.arg}' has no type; {hint}")
            tree = self.annotations.type(argument.annotation, new=True)
            infos = leaves(tree)
            names = [argument.arg] if type(tree) is not tuple else [f"{argument.arg}_{i}" for i in range(len(infos))]
            self.values[argument.arg] = tree
            found += zip(names, infos, strict=True)
        return found

    def _declare_numbers(self, arguments: Sequence[ast.arg]) -> None:
        """Declare parameters that are numbers, `n: T.int64`, and also sizes in types and shapes."""
        numbers = {
            argument.arg: argument
            for argument in arguments
            if argument.annotation is not None and self.names.word(argument.annotation) == (TIR, "int64")
        }
        for node in ast.walk(self.function) if numbers else ():
            if not isinstance(node, ast.Call) or self.names.word(node) not in _OF_SIZES:
                continue
            for name in (each.id for each in ast.walk(node) if isinstance(each, ast.Name)):
                if name in numbers and name not in self.annotations.symbols:
                    self.annotations.add(numbers[name], name)

    def _received(self, argument: Value, info: Info, name: str) -> Value:
        """Convert an argument to the parameter's type: a tensor of sizes to a shape.

        A number may also define a symbol.
        """
        if isinstance(info, ShapeInfo) and isinstance(argument.type, ir.RankedTensorType):
            shape = relax["tensor_to_shape"](argument)
            return shape if None in (info.dims or (None,)) else relax["match_cast"](shape, info)
        if isinstance(info, ScalarInfo) and name in self.annotations.symbols:
            sizes = relax["reshape"](relax["scalar_to_tensor"](argument), (1,))
            relax["match_cast"](relax["tensor_to_shape"](sizes), ShapeInfo((self.annotations.symbols[name],)))
        return argument

    def _bind(self, arguments: Iterable[Value]) -> None:
        """Bind the parameter names to the arguments."""
        rest = iter(arguments)
        self.values.update({name: rebuilt(tree, rest) for name, tree in self.values.items()})

    def build(self, name: str, is_private: bool) -> Operation:
        """Build the func.func at the current insertion point."""
        context = self.module.context
        parameters = self.parameters()
        with context, self.source.location(self.function):
            passed = [info if is_private else _passed(info) for _, info in parameters]
            types = [self.source.guarded(self.function, partial(encode, info, context)) for info in passed]
            attributes = function_attributes(name, types, [], [each for each, _ in parameters], is_private)
            function = ir.Operation.create("func.func", attributes=attributes, regions=1)
            block = function.regions[0].blocks.append(*types)
            arguments = list(block.arguments)
            for argument, (each, _) in zip(arguments, parameters, strict=True):
                argument.set_location(self.source.location(self.function, each))
            with ir.InsertionPoint(block):
                self._bind(
                    self._received(each, info, name) for each, (name, info) in zip(arguments, parameters, strict=True)
                )
                self.returned = self.body()
                held = leaves(self.returned)
                if type(self.returned) is tuple:  # R.null_value() in a tuple is left out
                    held = [leaf for leaf in held if leaf is not None]
                results = [self.ssa(self._last, leaf) for leaf in held]
                ir.Operation.create("func.return", operands=results)
            function.attributes["function_type"] = ir.TypeAttr.get(
                ir.FunctionType.get(types, [value.type for value in results])
            )
            for key, attribute in self.attributes.items():
                function.attributes[key] = attribute
        return function

    def body(self) -> object:
        """Read the statements and return the function's result."""
        self.statements(self._but_last())
        if not isinstance(last := self._last, ast.Return):
            raise self.source.problem(last, f"function '{self.function.name}' ends without `return`")
        with self.source.location(last):
            result = self.value(last.value) if last.value is not None else ()
            if self.function.returns is not None:
                result = self.stated(self.function.returns, result, self.annotations.type(self.function.returns))
            return result

    def _but_last(self) -> Iterator[ast.stmt]:
        """Yield all statements except the last one, which `_last` then is."""
        statements = iter(self.module.statements(self.function))
        self._last = next(statements)
        for statement in statements:
            yield self._last
            self._last = statement

    def call_nested(self, node: ast.Call, callee: Nested, arguments: tuple[object, ...]) -> object:
        name = callee.function.name
        if callee in self._within:
            raise self.source.problem(node, f"'{name}' calls itself")
        reader = GraphReader(self.module, callee.function)
        reader._within = (*self._within, callee)
        reader.names._own |= self.names._own  # names of the enclosing function are visible
        reader.annotations.symbols.update(self.annotations.symbols)
        reader.values.update(self.values)
        values = tuple(self.ssa(node, leaf) for argument in arguments for leaf in leaves(argument))
        return reader.inline(node, values)

    def inline(self, node: ast.AST, arguments: tuple[Value, ...]) -> object:
        """Inline the function into the calling graph, and return its result.

        Symbols are renamed to the caller's sizes.
        """
        outer = dict(self.values)
        self.values.clear()
        parameters = self.parameters()
        if len(parameters) != len(arguments):
            message = f"'{self.function.name}' takes {len(parameters)} arguments, not {len(arguments)}"
            raise self.source.problem(node, message)
        for (name, info), value in zip(parameters, arguments, strict=True):
            passed = decode(value.type)
            if not compatible(passed, info):
                message = f"'{name}' of '{self.function.name}' is {describe(info)}, not {describe(passed)}"
                raise self.source.problem(node, message)
            sizes = (getattr(info, "shape", None) or (), getattr(passed, "shape", None) or ())
            for dim, size in zip(*sizes, strict=False):
                if isinstance(dim, SymExpr) and str(dim) in self.annotations.symbols and size is not None:
                    self.annotations.symbols[str(dim)] = size
        self._bind(arguments)
        self.values = {**outer, **self.values}
        return self.body()

    # ---- statements ----

    def statements(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            if (write := _WRITERS.get(type(statement))) is None:
                word = type(statement).__name__.lower()
                expected = "assignments, `with R.dataflow():`, `if` and one `return` at its end"
                message = f"a graph's function cannot contain `{word}`: expected {expected}"
                raise self.source.problem(statement, message)
            target = next(iter(targets_of(statement)), None)
            with self.source.location(statement, target.id if isinstance(target, ast.Name) else ""):
                write(self, statement)

    def _on_return(self, statement: ast.Return) -> None:
        raise self.source.problem(statement, "`return` is only allowed at the end of a graph's function")

    def _on_assign(self, statement: ast.Assign) -> None:
        if len(statement.targets) != 1:
            raise self.source.problem(statement, "expected one assigned name per statement")
        target = statement.targets[0]
        if statement in self.annotations.declarations:
            return
        self._assign(target, self.held(statement.value))

    def _on_annassign(self, statement: ast.AnnAssign) -> None:
        if statement.value is None:
            raise self.source.problem(statement, "the name has no value")
        value = self.held(statement.value)
        stated = self.annotations.type(statement.annotation)
        self._assign(statement.target, self.stated(statement.annotation, value, stated))

    def _assign(self, target: ast.expr, value: object) -> None:
        if isinstance(target, ast.Name):
            if self.names.is_around(target.id):  # the name is defined around a function that is read in pieces
                raise self.source.problem(target, f"'{target.id}' is already defined with another meaning")
            self.values[target.id] = value
            return
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise self.source.problem(target, "only names can be assigned: tensors of a graph do not change")
        if type(value) is not tuple or len(value) != len(target.elts):
            count = len(value) if type(value) is tuple else 1
            raise self.source.problem(target, f"{len(target.elts)} names for {count} value{'s' * (count != 1)}")
        for each, item in zip(target.elts, value, strict=True):
            self._assign(each, item)

    def _on_expr(self, statement: ast.Expr) -> None:
        if isinstance(value := statement.value, ast.Constant):
            return  # a docstring, `...`
        if isinstance(value, ast.Call):
            if (word := self.names.word(value)) == (RELAX, "output"):
                for arg in value.args:
                    self.value(arg)
                return
            if word == (RELAX, "func_attr"):
                self._take_attributes(value)
                return
        self.value(value)

    def _take_attributes(self, call: ast.Call) -> None:
        """Read the target attribute. Other attributes belong to passes of TVM and are ignored."""
        attributes = argument_of(self.names, call, "attrs")
        held = self.names.found(attributes)
        if not isinstance(held, dict) or not all(isinstance(key, str) for key in held):
            raise self.source.problem(attributes, "a function's attributes must be a dictionary of constants")
        if (target := held.get(RELAX_TARGET)) is not None:
            if not isinstance(target, str):
                raise self.source.problem(attributes, f"'{RELAX_TARGET}' is the name of a target, not {target!r}")
            self.attributes[RELAX_TARGET] = ir.StringAttr.get(target)

    def _on_functiondef(self, statement: ast.FunctionDef) -> None:
        if (RELAX, "function") not in map(self.names.word, statement.decorator_list):
            raise self.source.problem(statement, "a function inside of a graph's function must be an @R.function")
        self.values[statement.name] = Nested(statement)

    def _on_with(self, statement: ast.With) -> None:
        call = statement.items[0].context_expr
        is_call = isinstance(call, ast.Call) and len(statement.items) == 1
        if not is_call or self.names.word(call) != (RELAX, "dataflow"):
            raise self.source.problem(call, "in a graph's function `with` must open a block of R.dataflow()")
        self.statements(statement.body)

    def _on_if(self, statement: ast.If) -> None:
        """Emit an `if`. Names that both branches define with the same type are defined after it."""
        condition = self._truth(statement.test)
        if not statement.orelse:
            raise self.source.problem(
                statement, "`if` without `else`: both branches must define the names used after it"
            )
        before = dict(self.values)
        allocated = {each: each.value for each in before.values() if isinstance(each, Allocated)}
        sketch = ir.Operation.create("scf.if", operands=[condition], regions=2)
        try:
            sides = []
            for region, statements in zip(sketch.regions, (statement.body, statement.orelse), strict=True):
                self.values = dict(before)
                with ir.InsertionPoint(region.blocks.append()):
                    self.statements(statements)
                if any(key.value is not value for key, value in allocated.items()):
                    message = "one branch of an `if` writes to a tensor that was allocated before: allocate it there"
                    raise self.source.problem(statement, message)
                sides.append(self.values)
            self.values = dict(before)
            self._join(statement, sketch, sides, before)
        finally:
            sketch.erase()

    def _join(
        self, node: ast.If, sketch: Operation, sides: list[dict[str, object]], before: Mapping[str, object]
    ) -> None:
        changed = [name for name in sides[0] if any(side.get(name) is not before.get(name) for side in sides)]
        shared = [name for name in changed if all(name in side for side in sides)]
        trees = [[side[name] for name in shared] for side in sides]
        yielded: list[list[Value]] = []
        for region, branch in zip(sketch.regions, trees, strict=True):
            with ir.InsertionPoint(region.blocks[0]):
                yielded.append([self.ssa(node, leaf) for tree in branch for leaf in leaves(tree)])
        types = [[value.type for value in held] for held in yielded]
        if types[0] != types[1] or [form(tree) for tree in trees[0]] != [form(tree) for tree in trees[1]]:
            name, one, other = self._difference(shared, trees)
            raise self.source.problem(node, f"'{name}' is {one} on one side of the `if` and {other} on the other")
        for region, values in zip(sketch.regions, yielded, strict=True):
            with ir.InsertionPoint(region.blocks[0]):
                ir.Operation.create("scf.yield", operands=values)
        results = iter(with_results(sketch, types[0]).results)
        for name, tree in zip(shared, trees[0], strict=True):
            self.values[name] = rebuilt(tree, results)
        for side in sides:
            for name in side.keys() - set(shared) - before.keys():
                self.values[name] = Missing("only one branch of the preceding `if` defines it")

    def _difference(self, names: Sequence[str], trees: Sequence[Sequence[object]]) -> tuple[str, str, str]:
        for name, one, other in zip(names, *trees, strict=True):
            texts = [self._types_text(tree) for tree in (one, other)]
            if texts[0] != texts[1]:
                return name, texts[0], texts[1]
        return names[0], "one thing", "another"

    @staticmethod
    def _types_text(tree: object) -> str:
        texts = [describe(decode(leaf.type)) if isinstance(leaf, ir.Value) else repr(leaf) for leaf in leaves(tree)]
        return texts[0] if type(tree) is not tuple else f"({', '.join(texts)})"

    def _truth(self, node: ast.expr) -> Value:
        """Return a condition as an i1."""
        value = self.ssa(node, self.value(node))
        info = decode(value.type)
        if isinstance(info, TensorInfo) and info.shape == () and info.dtype == "i1":
            return ir.Operation.create("tensor.extract", results=[value.type.element_type], operands=[value]).result
        if isinstance(info, ScalarInfo) and info.dtype == "i1":
            return value
        raise self.source.problem(node, f"a condition must be a 0-D tensor of bool, this is {describe(info)}")


def _passed(info: Info) -> Info:
    """Return the type that an external caller passes: for a shape of known rank, a tensor of its sizes."""
    if isinstance(info, ShapeInfo) and info.dims is not None:
        return TensorInfo((len(info.dims),), "i64")
    return info


_WRITERS: dict[type, Callable[..., None]] = {
    ast.Pass: lambda reader, statement: None,
    ast.Return: GraphReader._on_return,
    ast.Assign: GraphReader._on_assign,
    ast.AnnAssign: GraphReader._on_annassign,
    ast.Expr: GraphReader._on_expr,
    ast.With: GraphReader._on_with,
    ast.FunctionDef: GraphReader._on_functiondef,
    ast.If: GraphReader._on_if,
}
