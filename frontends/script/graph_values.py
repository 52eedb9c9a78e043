# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions of graphs: operators come from the tables by name; all other calls are in `SPECIAL`."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

from ...bindings.ir import Attribute, Context, Type, Value
from ...bindings.ir import Module as MlirModule
from ...bindings.mlir import ir
from ...dialects.context import find_dialect
from ...dialects.core.codec import decode
from ...dialects.core.dialect import find_op
from ...dialects.core.infos import (
    Info,
    ObjectInfo,
    ScalarInfo,
    ShapeInfo,
    TensorInfo,
    describe,
    dtype_name,
    is_bool,
    is_dtype,
    is_float,
)
from ...dialects.core.operator import Operator
from ...dialects.core.symbols import SymExpr, sym
from ...dialects.core.verifier import compatible
from ...dialects.relax import const, dialect
from ...dialects.script.syntax import items_of
from ...emit.numbers import number
from .annotations import TYPE_ARGUMENTS, Annotations, arguments_of, leaves, rebuilt
from .common.expression_reader import ExpressionReader
from .common.pieces import StatementsOf
from .common.source import Source
from .module_prim_funcs import PrimFunc
from .names import RELAX, TIR, Names, NotConstant

#: Relax operators by name.
relax = dialect.ops

#: Operators by their signs: with one operand, and with two.
_SIGNS: dict[int, dict[str, str]] = {
    1: {"-": "negative", "~": "bitwise_not", "not": "logical_not"},
    2: {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "//": "floor_divide", "%": "mod", "**": "power",
        "@": "matmul", "&": "bitwise_and", "|": "bitwise_or", "^": "bitwise_xor", "<<": "left_shift",
        ">>": "right_shift", "==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater",
        ">=": "greater_equal"},
}  # fmt: skip

_WHERE = "a graph's function"

Special = Callable[["GraphValues", ast.Call], object]
#: Readers of special calls by their name in R. See graph_calls.py.
SPECIAL: dict[str, Special] = {}

#: Operator, operand types and attribute text. Operations that share a signature differ only in their operands.
Signature = tuple[Operator, tuple[Type, ...], str]


class Callee(NamedTuple):
    """Callable function: of the module, or external in C."""

    name: str


class ThisModule(NamedTuple):
    """The name `cls`. Its attributes are the module's functions."""


@dataclass(eq=False)
class Allocated:
    """Tensor that a graph allocates. `value` is set once something writes the tensor."""

    info: TensorInfo
    value: Value | None = None


class Nested(NamedTuple):
    """Function inside of a function. Calls of it are inlined."""

    function: ast.FunctionDef


class Missing(NamedTuple):
    """Name that only one of two branches defines."""

    reason: str


class Around(Protocol):
    """Interface of the module that encloses a graph."""

    source: Source
    names: Names
    context: Context
    owner: MlirModule
    functions: dict[str, ast.FunctionDef]
    prim_funcs: dict[str, PrimFunc]
    own_names: set[str]
    statements: StatementsOf
    #: Result types and attributes of earlier operations, by signature.
    made: dict[Signature, tuple[list[Type], dict[str, Attribute]]]

    def cleared(self, name: str) -> PrimFunc:
        """Return a PrimFunc that clears the elements of its results which it does not write."""

    def call(self, graph: GraphValues, node: ast.Call, name: str, arguments: tuple[object, ...]) -> object:
        """Emit a call of another function."""


class GraphValues(ExpressionReader[object]):
    """Evaluation of expressions at the current insertion point."""

    def __init__(self, module: Around, names: Names):
        self.module, self.names = module, names
        self.source: Source = module.source
        self.annotations = Annotations(names, self._shape_called)
        #: Names in scope: an SSA value, a tuple of values, a size, or a Python constant.
        self.values: dict[str, object] = {}

    def _shape_called(self, name: str) -> ShapeInfo | None:
        held = self.values.get(name)
        info = decode(held.type) if isinstance(held, Value) else held
        return info if isinstance(info, ShapeInfo) else None

    # ---- values ----

    def read_other(self, node: ast.expr) -> object:
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple(map(self.value, node.elts))
        return self._attribute(node) if isinstance(node, ast.Attribute) else self.names.constant_in(node, _WHERE)

    def read_name(self, node: ast.Name) -> object:
        if (name := node.id) in self.values:
            if isinstance(found := self.values[name], Missing):
                raise self.source.problem(node, f"'{name}' is not known here: {found.reason}")
            return found.value if isinstance(found, Allocated) and found.value is not None else found
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

    def _attribute(self, node: ast.Attribute) -> object:
        if self._is_module(node.value):
            if node.attr not in self.module.functions:
                message = f"the module has no function '{node.attr}'"
                raise self.source.problem(node, message, self.module.functions, node.attr)
            return Callee(node.attr)
        kind, name = self.names.word(node)
        if kind == TIR:
            return name  # an element type: T.float32
        if node.attr == "shape":
            return self.built(node, relax["shape_of"], (self.value(node.value),), {})
        if node.attr == "dtype":
            info = decode(self.ssa(node, self.value(node.value)).type)
            if isinstance(info, (TensorInfo, ScalarInfo)):
                return info.dtype
        raise self.source.problem(node, f"there is no '{ast.unparse(node)}' here")

    def read_element(self, node: ast.Subscript) -> object:
        if hasattr(array := self.names.found(node), "__array__"):
            return self.source.guarded(node, lambda: const(array))
        held = self.value(node.value)
        place = self.names.found(node.slice)
        if type(held) is not tuple or not isinstance(place, int):
            hint = "use R.strided_slice or R.take for parts of a tensor"
            raise self.source.problem(node, f"only tuples can be indexed, and only by a constant; {hint}")
        if not -len(held) <= place < len(held):
            raise self.source.problem(node.slice, f"a tuple of {len(held)} has no item {place}")
        return held[place]

    def apply_operator(self, node: ast.expr, sign: str, *values: object) -> object:
        if (name := _SIGNS.get(len(values), {}).get(sign)) is None:
            raise self.names.unsupported(node, _WHERE)
        if not any(isinstance(value, ir.Value) for value in values):
            if isinstance(node, ast.Compare) and any(isinstance(value, SymExpr) for value in values):
                left, right = (number(self.ssa(node, value)) for value in values)
                return left.compare(sign, right).value
            try:
                return self.names.computed(node, *values)
            except NotConstant:
                raise self.source.problem(node, "this cannot be computed while the graph is read") from None
        like = next(value for value in values if isinstance(value, ir.Value))
        return self.built(node, relax[name], tuple(self._operand(node, value, like) for value in values), {})

    def _operand(self, node: ast.AST, value: object, like: Value) -> object:
        """Return an operand as an SSA value. A Python number beside a tensor becomes a constant of its element type."""
        info = decode(like.type)
        if isinstance(value, (bool, int, float)) and isinstance(info, TensorInfo):
            return const(value, info.dtype)
        return self.ssa(node, value)

    def ssa(self, node: ast.AST, value: object) -> Value:
        if isinstance(value, ir.Value):
            return value
        if isinstance(value, Allocated):
            if value.value is None:
                raise self.source.problem(node, "this tensor is used before anything is written to it")
            return value.value
        if isinstance(value, (SymExpr, int)) and not isinstance(value, bool):
            return self.source.guarded(node, lambda: relax["prim_value"](value))
        shown = "a tuple" if type(value) is tuple else "a function" if isinstance(value, Callee) else repr(value)[:60]
        raise self.source.problem(node, f"expected a value, got {shown} (a constant is R.const(...))")

    # ---- calls ----

    def read_call(self, node: ast.Call) -> object:
        kind, name = self.names.word(node)
        if not kind:
            return self._call_of_function(node)
        if kind == TIR:
            return self._number(node, name)
        special = SPECIAL.get(name)
        if kind == RELAX and special is not None:
            return special(self, node)
        return self._operator(node, find_relax(self.source, node.func, name))

    def _number(self, node: ast.Call, name: str) -> object:
        """Return `T.float32(0.5)`, `T.bool(True)` or `T.int64(-1)` as an attribute. Other calls are sizes."""
        if name == "index_map" and node.args and isinstance(node.args[0], ast.Lambda):
            return self._index_map(node.args[0])
        dtype = dtype_name(name)
        if dtype is not None and is_dtype(dtype) and len(node.args) == 1 and not node.keywords:
            value = self.names.found(node.args[0])
            if isinstance(value, (bool, int, float)):
                return float(value) if is_float(dtype) else bool(value) if is_bool(dtype) else int(value)
        return self.annotations.dim(node)

    def _single_element(self, node: ast.expr, value: object) -> object:
        """Return `T.float32(0.5)` in place of a tensor as a tensor with a single element."""
        kind, name = self.names.word(node)
        return const(value, dtype_name(name)) if kind == TIR and isinstance(node, ast.Call) else value

    def _index_map(self, node: ast.Lambda) -> str:
        """Return the text of an affine map for `T.index_map(lambda n, c: (n, c // 4, c % 4))`."""
        indices = Annotations(self.names)
        names = [arg.arg for arg in node.args.args]
        indices.symbols.update((name, sym(f"d{position}")) for position, name in enumerate(names))
        # Both languages have the same precedence. Only the operators' names differ.
        texts = [str(each).replace("//", " floordiv ").replace("%", " mod ") for each in indices.shape(node.body)]
        variables = ", ".join(f"d{position}" for position in range(len(names)))
        return f"affine_map<({variables}) -> ({', '.join(texts)})>"

    def _call_of_function(self, node: ast.Call) -> object:
        if isinstance(func := node.func, ast.Attribute):
            if (plug_in := self._operator_of_another_dialect(func)) is not None:
                return self._operator(node, plug_in)
            if func.attr == "astype" and not self._is_module(func.value):
                dtype = self.annotations.dtype(arguments_of(self.names, node, ("dtype",), 1)["dtype"])
                return self.built(node, relax["astype"], (self.value(func.value),), {"dtype": dtype})
        if self.names.is_helped(node):
            return self.names.constant(node)
        if isinstance(callee := self.value(func), Nested):
            return self.call_nested(node, callee, tuple(map(self.value, node.args)))
        if not isinstance(callee, Callee):
            raise self.source.problem(func, "this is not a function")
        arguments = tuple(map(self.held, node.args))
        if node.keywords:
            raise self.source.problem(node.keywords[0].value, "functions of the module take positional arguments only")
        return self.module.call(self, node, callee.name, arguments)

    @abstractmethod
    def call_nested(self, node: ast.Call, callee: Nested, arguments: tuple[object, ...]) -> object:
        """Inline a call of a nested function."""

    def held(self, node: ast.expr) -> object:
        """Return a value. A tensor that a function may write stays an Allocated."""
        held = self.values.get(node.id) if isinstance(node, ast.Name) else None
        return held if isinstance(held, Allocated) else self.value(node)

    def _is_module(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Name):
            return False
        return isinstance(self.values.get(node.id), ThisModule) or (
            node.id in self.module.own_names and node.id not in self.values
        )

    def _operator_of_another_dialect(self, func: ast.Attribute) -> Operator | None:
        text = ast.unparse(func)
        root = text.partition(".")[0]
        if root in self.values or find_dialect(root, self.module.context) is None:
            return None
        return self.source.guarded(func, lambda: find_op(text))

    def _operator(self, node: ast.Call, definition: Operator) -> object:
        """Build `R.nn.conv2d(x, w, strides=(2, 2))` with the arguments that the builder expects."""
        arguments = [self._argument(each) for each in node.args]
        for place, (operand, arg) in enumerate(zip(definition.operands, node.args, strict=False)):
            if operand[1:] == ("tensor", "single") and isinstance(arguments[place], (bool, int, float)):
                arguments[place] = self._single_element(arg, arguments[place])
        named: dict[str, object] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.source.problem(keyword.value, "write out the arguments: ** is not supported")
            name = definition.explicit if keyword.arg in TYPE_ARGUMENTS and definition.explicit else keyword.arg
            is_type = name == definition.explicit and bool(name)
            named[name] = self.types(keyword.value) if is_type else self._argument(keyword.value)
        return self.built(node, definition, tuple(arguments), named)

    def _argument(self, node: ast.expr) -> object:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name) and isinstance(known := self.values.get(node.id), Value):
            return known
        kind, name = self.names.word(node)
        if kind == RELAX and name in ("Tensor", "Shape", "Prim", "Tuple", "Object"):
            return self.types(node)
        if isinstance(value := self.value(node), Allocated):
            return self.ssa(node, value)
        return value.name if isinstance(value, Callee) else value

    def types(self, node: ast.expr) -> list[Info]:
        """Return the types of results: a single type, or a list or R.Tuple of several."""
        return [leaf for item in items_of(node) for leaf in leaves(self.annotations.type(item))]

    def built(
        self, node: ast.AST, definition: Operator, arguments: tuple[object, ...], named: Mapping[str, object]
    ) -> object:
        signature = _signature(definition, arguments, named)
        known = self.module.made.get(signature) if signature is not None else None
        if known is not None:
            types, attributes = known
            name = definition.full_name
            return ir.Operation.create(name, results=types, operands=arguments, attributes=attributes).result
        made = self.source.guarded(node, lambda: definition(*arguments, **named))
        if signature is not None and isinstance(made, Value) and list(made.owner.operands) == list(arguments):
            self.module.made[signature] = [made.type], dict(made.owner.attributes.items())
        return () if made is None else made

    def stated(self, node: ast.AST, value: object, stated: object) -> object:
        """Return a value with a stated type. A contradiction is an error; a narrower type is checked at run time."""
        if isinstance(value, Value) and decode(value.type) == stated:
            return value
        return self.each_stated(node, value, stated, partial(self._as_stated, node))

    def each_stated(self, node: ast.AST, value: object, stated: object, make: Callable[..., object]) -> object:
        """Replace each leaf of a value by the result of `make` for the leaf and its stated type."""
        held, wanted = leaves(value), leaves(stated)
        if len(held) != len(wanted):
            raise self.source.problem(node, f"{len(wanted)} types for {len(held)} values")
        return rebuilt(value, iter(list(map(make, held, wanted))))

    def _as_stated(self, node: ast.AST, value: object, tensor_info: Info) -> object:
        if not isinstance(value, ir.Value):
            return value
        info = decode(value.type)
        if isinstance(tensor_info, ObjectInfo):
            return value  # anything
        if isinstance(tensor_info, TensorInfo) and isinstance(info, TensorInfo) and self.annotations.is_untyped(node):
            tensor_info = TensorInfo(tensor_info.shape, info.dtype)
        if not compatible(info, tensor_info):
            raise self.source.problem(node, f"this is {describe(info)}, not {describe(tensor_info)}")
        if info == tensor_info or not _says_more(tensor_info, info):
            return value
        return self.source.guarded(node, lambda: relax["match_cast"](value, tensor_info))


def _signature(definition: Operator, arguments: tuple[object, ...], named: Mapping[str, object]) -> Signature | None:
    """Return the signature of a call, or None if more than types and constants determine the operation."""
    if definition.value_dependent or definition.explicit or definition.prepare or definition.redirect:
        return None
    types = [argument.type for argument in arguments if isinstance(argument, Value)]
    if len(types) < len(arguments) or (named and not all(map(_is_plain, named.values()))):
        return None
    return definition, tuple(types), repr(named) if named else ""


def _is_plain(value: object) -> bool:
    """Check whether the text of a constant determines its value."""
    return all(map(_is_plain, value)) if type(value) is tuple else type(value) in (bool, int, float, str)


def form(tree: object) -> object:
    """Return the tuple structure of a tree."""
    return tuple(map(form, tree)) if type(tree) is tuple else None


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


def find_relax(source: Source, node: ast.AST, name: str) -> Operator:
    """Return the operator with a name such as `nn.relu`. Raises a ScriptError that names the nearest operator."""
    if name not in relax:
        raise source.problem(node, f"R has no '{name}'", [*relax, *SPECIAL, "Tensor", "Shape", "Tuple"], name)
    return relax[name]
