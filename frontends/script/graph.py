# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`@R.function`: statements of a graph, each at its line; operators are found by their names in the tables."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ...bindings.ir import Operation, Value
from ...bindings.mlir import ir
from ...bindings.navigation import function_type_of
from ...dialects.core.codec import decode, encode
from ...dialects.core.dialect import find_op, registered_dialects
from ...dialects.core.infos import Info, ScalarInfo, ShapeInfo, TensorInfo, describe
from ...dialects.core.operator import Operator
from ...dialects.core.symbols import SymExpr
from ...dialects.core.verifier import compatible
from ...dialects.relax import const, dialect
from ...dialects.relax.function_attributes import ARGUMENT_NAME
from ...support.errors import RelaxError
from .annotations import Annotations, arguments_of, leaves, rebuilt
from .names import RELAX, TIR, NotConstant
from .source import Source

if TYPE_CHECKING:
    from .module import ModuleReader

#: relax's operators by name.
relax = dialect.ops

_BINARY = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.FloorDiv: "floor_divide",
    ast.Mod: "mod", ast.Pow: "power", ast.MatMult: "matmul", ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor", ast.LShift: "left_shift", ast.RShift: "right_shift",
}  # fmt: skip
_UNARY = {ast.USub: "negative", ast.Invert: "bitwise_not", ast.Not: "logical_not"}
_COMPARISONS = {
    ast.Eq: "equal", ast.NotEq: "not_equal", ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater",
    ast.GtE: "greater_equal",
}  # fmt: skip
#: What TVM calls the types that an operator states, by what a builder calls them.
_TYPE_ARGUMENTS = {"out_sinfo": "out_ty", "out_ty": "out_ty", "sinfo_args": "ty_args", "ty_args": "ty_args"}


class Callee(NamedTuple):
    """A function of the module, or of C: what a name stands for where it is called."""

    name: str


class ThisModule(NamedTuple):
    """`cls`, whose attributes are the module's functions."""


class Missing(NamedTuple):
    """What a name was, where only one of two branches says what it is."""

    reason: str


class GraphReader:
    """One function's statements as operations at the current insertion point."""

    def __init__(self, module: ModuleReader, function: ast.FunctionDef):
        self.module, self.function = module, function
        self.source: Source = module.source
        self.names = module.names
        self.annotations = Annotations(module.names)
        self.values: dict[str, Any] = {}
        self.attributes: dict[str, Any] = {}
        self._depth = 0

    # ---- the function ----

    def parameters(self) -> list[tuple[str, Info]]:
        """Names and types of the arguments; a tuple is one argument for each thing in it."""
        self.annotations.declare(list(_simple_statements(self.function.body)))
        found: list[tuple[str, Info]] = []
        arguments = self.function.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
            raise self.source.problem(self.function, "a graph's function has plain parameters only: (x: ..., y: ...)")
        for argument in [*arguments.posonlyargs, *arguments.args]:
            if argument.annotation is None:
                hint = f'give it one: {argument.arg}: R.Tensor((n, 128), "float32")'
                raise self.source.problem(argument, f"parameter '{argument.arg}' has no type; {hint}")
            tree = self.annotations.type(argument.annotation, new=True)
            infos = leaves(tree)
            names = [argument.arg] if type(tree) is not tuple else [f"{argument.arg}_{i}" for i in range(len(infos))]
            self.values[argument.arg] = (tree, len(found))
            found += zip(names, infos, strict=True)
        return found

    def build(self, name: str, is_private: bool) -> Operation:
        """The func.func at the current insertion point."""
        context = self.module.context
        parameters = self.parameters()
        with context, self.source.location(self.function):
            types = [self.source.guarded(self.function, lambda i=info: encode(i, context)) for _, info in parameters]
            attributes = {
                "sym_name": ir.StringAttr.get(name),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
            }
            if types:
                named = [ir.DictAttr.get({ARGUMENT_NAME: ir.StringAttr.get(each)}) for each, _ in parameters]
                attributes["arg_attrs"] = ir.ArrayAttr.get(named)
            if is_private:
                attributes["sym_visibility"] = ir.StringAttr.get("private")
            function = ir.Operation.create("func.func", attributes=attributes, regions=1)
            try:
                block = function.regions[0].blocks.append(*types)
                arguments = list(block.arguments)
                for key, (tree, start) in self.values.items():
                    self.values[key] = rebuilt(tree, iter(arguments[start:]))
                with ir.InsertionPoint(block):
                    results = self._body()
                    ir.Operation.create("func.return", operands=results)
            except BaseException:
                function.erase()
                raise
            function.attributes["function_type"] = ir.TypeAttr.get(
                ir.FunctionType.get(types, [value.type for value in results])
            )
        return function

    def _body(self) -> list[Value]:
        *statements, last = self.function.body
        self.statements(statements)
        if not isinstance(last, ast.Return):
            raise self.source.problem(last, f"function '{self.function.name}' ends without `return`")
        with self.source.location(last):
            result = self.value(last.value) if last.value is not None else ()
            if self.function.returns is not None:
                stated = self.annotations.type(self.function.returns)
                if not self._is_none(self.function.returns):
                    result = self.stated(self.function.returns, result, stated)
            return [self.ssa(last, leaf) for leaf in leaves(result)]

    @staticmethod
    def _is_none(node: ast.expr) -> bool:
        return isinstance(node, ast.Constant) and node.value is None

    # ---- statements ----

    def statements(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            write = getattr(self, f"_on_{type(statement).__name__.lower()}", None)
            if write is None:
                word = type(statement).__name__.lower()
                raise self.source.problem(statement, f"a graph's function has no `{word}`: it has assignments, "
                                          "`with R.dataflow():`, `if` and one `return` at its end")  # fmt: skip
            with self.source.location(statement):
                write(statement)

    def _on_pass(self, statement: ast.Pass) -> None:
        del statement

    def _on_return(self, statement: ast.Return) -> None:
        raise self.source.problem(statement, "`return` stands at the end of a graph's function only")

    def _on_assign(self, statement: ast.Assign) -> None:
        if len(statement.targets) != 1:
            raise self.source.problem(statement, "one name is assigned at a time")
        target = statement.targets[0]
        if self.annotations.made_by(statement):
            return
        self._assign(target, self.value(statement.value))

    def _on_annassign(self, statement: ast.AnnAssign) -> None:
        if statement.value is None:
            raise self.source.problem(statement, "a name without a value")
        value = self.value(statement.value)
        stated = self.annotations.type(statement.annotation)
        self._assign(statement.target, self.stated(statement.annotation, value, stated))

    def _assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.values[target.id] = value
            return
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise self.source.problem(target, "only names are assigned to: tensors of a graph do not change")
        if type(value) is not tuple or len(value) != len(target.elts):
            count = len(value) if type(value) is tuple else 1
            raise self.source.problem(target, f"{len(target.elts)} names for {count} value{'s' * (count != 1)}")
        for each, item in zip(target.elts, value, strict=True):
            self._assign(each, item)

    def _on_expr(self, statement: ast.Expr) -> None:
        value = statement.value
        if isinstance(value, ast.Constant):
            return  # a docstring, `...`
        if isinstance(value, ast.Call):
            word = self.names.word(value.func)
            if word == (RELAX, "output"):
                for each in value.args:
                    self.value(each)
                return
            if word == (RELAX, "func_attr"):
                self._take_attributes(value)
                return
        self.value(value)

    def _take_attributes(self, call: ast.Call) -> None:
        given = arguments_of(self.names, call, ("attrs",), 1)
        try:
            held = self.names.constant(given["attrs"])
        except NotConstant:
            held = None
        if not isinstance(held, dict) or not all(isinstance(key, str) for key in held):
            raise self.source.problem(given["attrs"], "a function's attributes are a dictionary of constants")
        self.attributes.update(held)

    def _on_with(self, statement: ast.With) -> None:
        items = statement.items
        calls = [item.context_expr for item in items]
        if len(items) != 1 or not isinstance(calls[0], ast.Call) or self.names.word(calls[0].func) != (RELAX, "dataflow"):
            raise self.source.problem(calls[0], "in a graph's function `with` begins a block of R.dataflow()")
        self.statements(statement.body)

    def _on_if(self, statement: ast.If) -> None:
        """Names that both branches say are known behind it, with the same type."""
        condition = self._truth(statement.test)
        if not statement.orelse:
            raise self.source.problem(statement, "`if` without `else`: both sides say what the names behind it are")
        before = dict(self.values)
        sketch = ir.Operation.create("scf.if", operands=[condition], regions=2)
        try:
            sides = []
            for region, statements in zip(sketch.regions, (statement.body, statement.orelse), strict=True):
                self.values = dict(before)
                with ir.InsertionPoint(region.blocks.append()):
                    self.statements(statements)
                sides.append(self.values)
            self.values = dict(before)
            self._join(statement, sketch, sides, before)
        finally:
            sketch.erase()

    def _join(self, node: ast.If, sketch: Operation, sides: list[dict[str, Any]], before: Mapping[str, Any]) -> None:
        changed = [name for name in sides[0] if any(side.get(name) is not before.get(name) for side in sides)]
        shared = [name for name in changed if all(name in side for side in sides)]
        trees = [[side[name] for name in shared] for side in sides]
        yielded: list[list[Value]] = []
        for region, held in zip(sketch.regions, trees, strict=True):
            with ir.InsertionPoint(region.blocks[0]):
                yielded.append([self.ssa(node, leaf) for tree in held for leaf in leaves(tree)])
        forms = [[rebuilt(tree, iter(leaves(tree))) for tree in held] for held in trees]
        types = [[value.type for value in held] for held in yielded]
        if types[0] != types[1] or [_form(tree) for tree in forms[0]] != [_form(tree) for tree in forms[1]]:
            name, one, other = self._difference(shared, trees)
            raise self.source.problem(node, f"'{name}' is {one} behind one side of the `if` and {other} behind the other")
        for region, held in zip(sketch.regions, yielded, strict=True):
            with ir.InsertionPoint(region.blocks[0]):
                ir.Operation.create("scf.yield", operands=held)
        made = ir.Operation.create("scf.if", results=types[0], operands=list(sketch.operands), regions=2)
        for source, target in zip(sketch.regions, made.regions, strict=True):
            source.blocks[0].append_to(target)
        results = iter(made.results)
        for name, tree in zip(shared, trees[0], strict=True):
            self.values[name] = rebuilt(tree, results)
        for side in sides:
            for name in side.keys() - set(shared) - before.keys():
                self.values[name] = Missing("only one side of the `if` before says what it is")

    def _difference(self, names: Sequence[str], trees: Sequence[Sequence[Any]]) -> tuple[str, str, str]:
        for name, one, other in zip(names, *trees, strict=True):
            texts = [self._types_text(tree) for tree in (one, other)]
            if texts[0] != texts[1]:
                return name, texts[0], texts[1]
        return names[0], "one thing", "another"

    @staticmethod
    def _types_text(tree: Any) -> str:
        texts = [describe(decode(leaf.type)) if isinstance(leaf, ir.Value) else repr(leaf) for leaf in leaves(tree)]
        return texts[0] if type(tree) is not tuple else f"({', '.join(texts)})"

    def _truth(self, node: ast.expr) -> Value:
        """A condition as an i1."""
        value = self.ssa(node, self.value(node))
        info = decode(value.type)
        if isinstance(info, TensorInfo) and info.shape == () and info.dtype == "i1":
            return ir.Operation.create("tensor.extract", results=[value.type.element_type], operands=[value]).result
        if isinstance(info, ScalarInfo) and info.dtype == "i1":
            return value
        raise self.source.problem(node, f"a condition is a 0-D tensor of bool, this is {describe(info)}")

    # ---- values ----

    def value(self, node: ast.expr) -> Any:
        """An SSA value, a tuple of what there is, a size, a Python constant, or a function's name."""
        self._depth += 1
        if self._depth > 400:
            raise self.source.problem(node, "the expression is nested too deep")
        try:
            return self._value(node)
        finally:
            self._depth -= 1

    def _value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return self._named(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple(self.value(item) for item in node.elts)
        if isinstance(node, ast.Subscript):
            return self._item(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.BinOp):
            return self._computed(node, _BINARY[type(node.op)], node.left, node.right)
        if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
            return self._computed(node, _UNARY[type(node.op)], node.operand)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
            return self._computed(node, _COMPARISONS[type(node.ops[0])], node.left, node.comparators[0])
        try:
            return self.names.constant(node, self.values)
        except NotConstant:
            word = type(node).__name__.lower()
            raise self.source.problem(node, f"a graph's function has no such expression ({word})") from None

    def _named(self, node: ast.Name) -> Any:
        name = node.id
        if name in self.values:
            found = self.values[name]
            if isinstance(found, Missing):
                raise self.source.problem(node, f"'{name}' is not known here: {found.reason}")
            return found
        if name in self.annotations.symbols:
            return self.annotations.symbols[name]
        if name in self.module.functions:
            return Callee(name)
        if name in self.module.own_names:
            return ThisModule()
        try:
            return self.names.known(name)
        except NotConstant:
            known = [*self.values, *self.annotations.symbols, *self.module.functions]
            raise self.source.problem(node, f"there is no '{name}' here", known, name) from None

    def _attribute(self, node: ast.Attribute) -> Any:
        if self._is_module(node.value):
            if node.attr not in self.module.functions:
                message = f"the module has no function '{node.attr}'"
                raise self.source.problem(node, message, self.module.functions, node.attr)
            return Callee(node.attr)
        word = self.names.word(node)
        if word is not None and word[0] == TIR:
            return word[1]  # an element type: T.float32
        if node.attr == "shape":
            return self._built(node, relax["shape_of"], (self.value(node.value),), {})
        if node.attr == "dtype":
            info = decode(self.ssa(node, self.value(node.value)).type)
            if isinstance(info, (TensorInfo, ScalarInfo)):
                return info.dtype
        try:
            return self.names.constant(node, self.values)
        except NotConstant:
            raise self.source.problem(node, f"there is no '{ast.unparse(node)}' here") from None

    def _item(self, node: ast.Subscript) -> Any:
        held = self.value(node.value)
        try:
            place = self.names.constant(node.slice)
        except NotConstant:
            place = None
        if type(held) is not tuple or not isinstance(place, int):
            hint = "parts of a tensor are taken by R.strided_slice and R.take"
            raise self.source.problem(node, f"only tuples are indexed, by a constant; {hint}")
        if not -len(held) <= place < len(held):
            raise self.source.problem(node.slice, f"a tuple of {len(held)} has no item {place}")
        return held[place]

    def _computed(self, node: ast.expr, name: str, *operands: ast.expr) -> Any:
        values = [self.value(each) for each in operands]
        if not any(isinstance(value, ir.Value) for value in values):
            if any(isinstance(value, SymExpr) for value in values):
                return self.annotations.dim(node)
            return self.names.constant(node, self.values)
        like = next(value for value in values if isinstance(value, ir.Value))
        return self._built(node, relax[name], tuple(self._beside(node, value, like) for value in values), {})

    def _beside(self, node: ast.AST, value: Any, like: Value) -> Any:
        """A Python number beside a tensor is one of its elements."""
        info = decode(like.type)
        if isinstance(value, (bool, int, float)) and isinstance(info, TensorInfo):
            return const(value, info.dtype)
        return self.ssa(node, value)

    def ssa(self, node: ast.AST, value: Any) -> Value:
        if isinstance(value, ir.Value):
            return value
        if isinstance(value, (SymExpr, int)) and not isinstance(value, bool):
            return self.source.guarded(node, lambda: relax["prim_value"](value))
        shown = "a tuple" if type(value) is tuple else "a function" if isinstance(value, Callee) else repr(value)[:60]
        raise self.source.problem(node, f"a value is needed here, this is {shown} (a constant is R.const(...))")

    # ---- calls ----

    def _call(self, node: ast.Call) -> Any:
        word = self.names.word(node.func)
        if word is None:
            return self._call_of_function(node)
        kind, name = word
        if kind == TIR:
            return self.annotations.dim(node)
        special = _SPECIAL.get(name)
        if kind == RELAX and special is not None:
            return special(self, node)
        return self._operator(node, find_relax(self.source, node.func, name))

    def _call_of_function(self, node: ast.Call) -> Any:
        func = node.func
        if isinstance(func, ast.Attribute):
            plug_in = self._operator_of_another_dialect(func)
            if plug_in is not None:
                return self._operator(node, plug_in)
            if func.attr == "astype" and not self._is_module(func.value):
                value, dtype = self.value(func.value), self.annotations.dtype(node.args[0])
                return self._built(node, relax["astype"], (value,), {"dtype": dtype})
        callee = self.value(func)
        if not isinstance(callee, Callee):
            raise self.source.problem(func, "this is no function")
        arguments = tuple(self.value(each) for each in node.args)
        if node.keywords:
            raise self.source.problem(node.keywords[0].value, "functions of the module take arguments by their places")
        return self.module.call(self, node, callee.name, arguments)

    def _is_module(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Name):
            return False
        return isinstance(self.values.get(node.id), ThisModule) or (
            node.id in self.module.own_names and node.id not in self.values
        )

    def _operator_of_another_dialect(self, func: ast.Attribute) -> Operator | None:
        text = ast.unparse(func)
        root = text.partition(".")[0]
        if root in self.values or root not in registered_dialects():
            return None
        return self.source.guarded(func, lambda: find_op(text))

    def _operator(self, node: ast.Call, definition: Operator) -> Any:
        """`R.nn.conv2d(x, w, strides=(2, 2))`: arguments as the builder takes them."""
        arguments = [self._argument(each) for each in node.args]
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.source.problem(keyword.value, "arguments are written out")
            name = definition.explicit if keyword.arg in _TYPE_ARGUMENTS and definition.explicit else keyword.arg
            is_type = name == definition.explicit and bool(name)
            named[name] = self.types(keyword.value) if is_type else self._argument(keyword.value)
        return self._built(node, definition, tuple(arguments), named)

    def _argument(self, node: ast.expr) -> Any:
        word = self.names.word(node.func if isinstance(node, ast.Call) else node)
        if word is not None and word[0] == RELAX and word[1] in ("Tensor", "Shape", "Prim", "Tuple", "Object"):
            return self.types(node)
        value = self.value(node)
        return value.name if isinstance(value, Callee) else value

    def types(self, node: ast.expr) -> list[Info]:
        """Of results: one, or a list or R.Tuple of several."""
        items = node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node]
        return [leaf for item in items for leaf in leaves(self.annotations.type(item))]

    def _built(self, node: ast.AST, definition: Operator, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        made = self.source.guarded(node, lambda: definition(*arguments, **named))
        return () if made is None else made

    def stated(self, node: ast.AST, value: Any, stated: Any) -> Any:
        """A value whose type is written beside it: what contradicts is refused, what says more is checked by the run."""
        held, wanted = leaves(value), leaves(stated)
        if len(held) != len(wanted):
            raise self.source.problem(node, f"{len(wanted)} types for {len(held)} values")
        return rebuilt(value, iter([self._as_stated(node, *pair) for pair in zip(held, wanted, strict=True)]))

    def _as_stated(self, node: ast.AST, value: Any, wanted: Info) -> Any:
        if not isinstance(value, ir.Value):
            return value
        info = decode(value.type)
        if not compatible(info, wanted):
            raise self.source.problem(node, f"this is {describe(info)}, not {describe(wanted)}")
        if info == wanted or not _says_more(wanted, info):
            return value
        return self.source.guarded(node, lambda: relax["match_cast"](value, wanted))


def _form(tree: Any) -> Any:
    return tuple(map(_form, tree)) if type(tree) is tuple else None


def _says_more(wanted: Info, info: Info) -> bool:
    if isinstance(wanted, TensorInfo) and isinstance(info, TensorInfo):
        sizes, known = wanted.shape, info.shape
    elif isinstance(wanted, ShapeInfo) and isinstance(info, ShapeInfo):
        sizes, known = wanted.dims, info.dims
    else:
        return False
    if sizes is None:
        return False
    return known is None or any(new is not None and new != old for new, old in zip(sizes, known, strict=True))


def _simple_statements(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements, and those inside of `with` and `if`."""
    for statement in statements:
        yield statement
        if isinstance(statement, (ast.With, ast.If)):
            yield from _simple_statements(statement.body)
            yield from _simple_statements(getattr(statement, "orelse", []))


def find_relax(source: Source, node: ast.AST, name: str) -> Operator:
    """The operator of that name, `nn.relu`. Raises ScriptError that names the nearest one."""
    if name not in relax:
        raise source.problem(node, f"R has no '{name}'", [*relax, *_SPECIAL, "Tensor", "Shape", "Tuple"], name)
    return relax[name]


# ---- what is written otherwise than the operators of the tables ----

Special = Callable[[GraphReader, ast.Call], Any]
_SPECIAL: dict[str, Special] = {}


def _special(*names: str) -> Callable[[Special], Special]:
    def declare(read: Special) -> Special:
        _SPECIAL.update(dict.fromkeys(names, read))
        return read

    return declare


@_special("const")
def _constant(graph: GraphReader, call: ast.Call) -> Any:
    given = arguments_of(graph.names, call, ("value", "dtype"), 1)
    try:
        value = graph.names.constant(given["value"], graph.values)
    except NotConstant:
        raise graph.source.problem(given["value"], "a constant is a number, an array or nested lists of numbers") from None
    dtype = graph.annotations.dtype(given["dtype"]) if "dtype" in given else None
    return graph.source.guarded(call, lambda: const(list(value) if isinstance(value, tuple) else value, dtype))


@_special("tuple")
def _tuple(graph: GraphReader, call: ast.Call) -> Any:
    return tuple(graph.value(each) for each in call.args)


@_special("shape")
def _shape(graph: GraphReader, call: ast.Call) -> Any:
    given = arguments_of(graph.names, call, ("value",), 1)
    dims = graph.annotations.shape(given["value"])
    return graph.source.guarded(call, lambda: relax["shape_expr"](dims))


@_special("prim_value")
def _prim_value(graph: GraphReader, call: ast.Call) -> Any:
    given = arguments_of(graph.names, call, ("value",), 1)
    return graph.ssa(call, graph.annotations.dim(given["value"]))


@_special("TupleGetItem")
def _tuple_get_item(graph: GraphReader, call: ast.Call) -> Any:
    given = arguments_of(graph.names, call, ("tuple_value", "index"), 2)
    return graph._item(ast.copy_location(ast.Subscript(given["tuple_value"], given["index"], ast.Load()), call))


@_special("emit", "emit_te")
def _emit(graph: GraphReader, call: ast.Call) -> Any:
    return graph.value(arguments_of(graph.names, call, ("value",), 1)["value"])


@_special("ExternFunc")
def _extern(graph: GraphReader, call: ast.Call) -> Any:
    return Callee(_text(graph, arguments_of(graph.names, call, ("global_symbol",), 1)["global_symbol"]))


@_special("match_cast", "emit_match_cast")
def _match_cast(graph: GraphReader, call: ast.Call) -> Any:
    given = arguments_of(graph.names, call, ("value", "struct_info"), 2)
    value, stated = graph.value(given["value"]), graph.annotations.type(given["struct_info"], new=True)
    held, wanted = leaves(value), leaves(stated)
    if len(held) != len(wanted):
        raise graph.source.problem(call, f"{len(wanted)} types for {len(held)} values")

    def cast(leaf: Any, info: Info) -> Any:
        return graph.source.guarded(call, lambda: relax["match_cast"](graph.ssa(call, leaf), info))

    return rebuilt(value, iter([cast(*pair) for pair in zip(held, wanted, strict=True)]))


def _text(graph: GraphReader, node: ast.expr) -> str:
    if isinstance(node, ast.Call) and graph.names.word(node.func) == (RELAX, "ExternFunc"):
        node = node.args[0] if node.args else node
    try:
        value = graph.names.constant(node)
    except NotConstant:
        value = None
    if not isinstance(value, str):
        raise graph.source.problem(node, "the name of a function is text")
    return value


def _passed(graph: GraphReader, node: ast.expr) -> list[Value]:
    """The arguments of a call, a tuple or one alone."""
    return [graph.ssa(node, leaf) for leaf in leaves(graph.value(node))]


def _stated(graph: GraphReader, node: ast.expr) -> Any:
    """The types that a call states: a list of several where the results are a tuple."""
    is_several = isinstance(node, (ast.List, ast.Tuple))
    found = graph.types(node)
    tree = None if is_several else graph.annotations.type(node)
    return found if is_several or type(tree) is tuple else found[0]


@_special("call_tir", "call_tir_with_grad")
def _call_tir(graph: GraphReader, call: ast.Call) -> Any:
    names = ("func", "args", "out_sinfo", "tir_vars")
    given = arguments_of(graph.names, _types_renamed(call), (*names, "te_grad_name", "te_grad_kwargs"), 3)
    sizes = [] if "tir_vars" not in given else _sizes_passed(graph, given["tir_vars"])
    callee = _prim_func(graph, given["func"])
    arguments = [*_passed(graph, given["args"]), *sizes]
    return graph._built(call, relax["call_tir"], (callee, arguments), {"out_ty": _stated(graph, given["out_sinfo"])})


@_special("call_tir_inplace")
def _call_tir_inplace(graph: GraphReader, call: ast.Call) -> Any:
    names = ("func", "args", "inplace_indices", "out_sinfo", "tir_vars")
    given = arguments_of(graph.names, _types_renamed(call), names, 4)
    places = graph.names.constant(given["inplace_indices"])
    sizes = [] if "tir_vars" not in given else _sizes_passed(graph, given["tir_vars"])
    arguments = [*_passed(graph, given["args"]), *sizes]
    named = {
        "inplace_indices": places if isinstance(places, tuple) else (places,),
        "out_ty": _stated(graph, given["out_sinfo"]),
    }
    return graph._built(call, relax["call_tir_inplace"], (_prim_func(graph, given["func"]), arguments), named)


@_special("call_dps_packed")
def _call_dps_packed(graph: GraphReader, call: ast.Call) -> Any:
    given = arguments_of(graph.names, _types_renamed(call), ("func", "args", "out_sinfo"), 3)
    arguments = (_text(graph, given["func"]), _passed(graph, given["args"]))
    return graph._built(call, relax["call_dps_packed"], arguments, {"out_ty": _stated(graph, given["out_sinfo"])})


@_special("call_packed", "call_pure_packed", "call_inplace_packed")
def _call_packed(graph: GraphReader, call: ast.Call) -> Any:
    word = graph.names.word(call.func)
    assert word is not None
    name, *arguments = call.args if call.args else [call]
    if not call.args:
        raise graph.source.problem(call, f"R.{word[1]} lacks the function's name")
    named: dict[str, Any] = {"ty_args": []}
    for keyword in call.keywords:
        if keyword.arg in _TYPE_ARGUMENTS:
            named["ty_args"] = _stated(graph, keyword.value)
        elif keyword.arg == "inplace_indices" and word[1] == "call_inplace_packed":
            places = graph.names.constant(keyword.value)
            named["inplace_indices"] = places if isinstance(places, tuple) else (places,)
        else:
            known = ("sinfo_args", "ty_args")
            raise graph.source.problem(keyword.value, f"no argument '{keyword.arg}'", known, str(keyword.arg))
    values = [graph.ssa(each, leaf) for each in arguments for leaf in leaves(graph.value(each))]
    return graph._built(call, relax[word[1]], (_text(graph, name), values), named)


def _types_renamed(call: ast.Call) -> ast.Call:
    """The call with the types of its results under TVM's usual name for them."""
    keywords = [
        ast.copy_location(ast.keyword("out_sinfo" if each.arg in _TYPE_ARGUMENTS else each.arg, each.value), each.value)
        for each in call.keywords
    ]
    return ast.copy_location(ast.Call(call.func, call.args, keywords), call)


def _prim_func(graph: GraphReader, node: ast.expr) -> str:
    callee = graph.value(node)
    if not isinstance(callee, Callee) or callee.name not in graph.module.functions:
        raise graph.source.problem(node, "expected a PrimFunc of this module: cls.name", graph.module.functions)
    return callee.name


def _sizes_passed(graph: GraphReader, node: ast.expr) -> list[Value]:
    if isinstance(node, ast.Call) and graph.names.word(node.func) == (RELAX, "shape"):
        node = node.args[0]
    return [graph.ssa(node, dim) for dim in graph.annotations.shape(node)]


@contextmanager
def nothing_around() -> Iterator[None]:
    yield


def same_types(function: Operation, values: Sequence[Value]) -> bool:
    return list(function_type_of(function).inputs) == [value.type for value in values]


def problem_of(error: RelaxError) -> str:
    return error.message
