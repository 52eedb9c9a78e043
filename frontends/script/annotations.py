# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types in scripts, such as `R.Tensor((n, 128), "float32")`, and the sizes in them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...dialects.core.infos import (
    DTYPE_BY_NAME,
    Info,
    ObjectInfo,
    ScalarInfo,
    ShapeInfo,
    TensorInfo,
    dtype_name,
    is_dtype,
)
from ...dialects.core.symbols import (
    Dim,
    SymbolError,
    SymExpr,
    ceildiv,
    dim_add,
    dim_floordiv,
    dim_max,
    dim_min,
    dim_mod,
    dim_mul,
    dim_sub,
    parse,
    sym,
)
from ...dialects.script.syntax import expression_at, operation_of, text_of
from ...dialects.script.words import SIGN_OF_WORD
from .common.source import Source
from .names import RELAX, TIR, Names, NotConstant

#: Type of a graph value: the type of one SSA value, or a tuple of such types.
TypeTree = Info | tuple["TypeTree", ...]

#: By signs, or by function names where there is no sign. Sizes are never negative.
_OPERATORS: dict[str, Callable[[Dim, Dim], Dim]] = {
    "+": dim_add, "-": dim_sub, "*": dim_mul, "//": dim_floordiv, "%": dim_mod, "min": dim_min, "max": dim_max,
    "ceildiv": ceildiv, "truncdiv": dim_floordiv, "truncmod": dim_mod,
}  # fmt: skip
_FUNCTIONS = ("min", "max", "ceildiv", "floordiv", "floormod", "truncdiv", "truncmod")
#: `n = T.int64()` makes a symbol.
_SYMBOL_MAKERS = frozenset({"int32", "int64", "var", "Var", "SizeVar", "dyn", "index"})
_TYPES = ("Tensor", "Shape", "Prim", "Object", "Tuple", "Any", "Callable")
_MOST_RANK = 1000
#: Names in TVM of the arguments with an operator's result types, and their names in a builder.
TYPE_ARGUMENTS = {"out_sinfo": "out_ty", "out_ty": "out_ty", "sinfo_args": "ty_args", "ty_args": "ty_args"}


def arguments_of(names: Names, call: ast.Call, parameters: Sequence[str], required: int = 0) -> dict[str, ast.expr]:
    """Return the arguments of a call by parameter name. Raises ScriptError."""
    source = names.source
    aliases = dict.fromkeys(TYPE_ARGUMENTS, "out_sinfo") if "out_sinfo" in parameters else {}
    arguments = dict(zip(parameters, call.args, strict=False))
    if len(call.args) > len(parameters):
        message = f"{ast.unparse(call.func)} takes at most {len(parameters)} arguments"
        raise source.problem(call.args[len(parameters)], message)
    for keyword in call.keywords:
        parameter = aliases.get(keyword.arg or "", keyword.arg)
        if parameter is None or parameter not in parameters:
            name = keyword.arg or "**"
            message = f"{ast.unparse(call.func)} has no argument '{name}'"
            raise source.problem(keyword.value, message, parameters, name)
        if parameter in arguments:
            message = f"{ast.unparse(call.func)}: argument '{parameter}' is given twice"
            raise source.problem(keyword.value, message)
        arguments[parameter] = keyword.value
    for name in parameters[:required]:
        if name not in arguments:
            raise source.problem(call, f"{ast.unparse(call.func)} lacks its argument '{name}'")
    return arguments


def argument_of(names: Names, call: ast.Call, parameter: str) -> ast.expr:
    """Return the only argument of a call. Raises ScriptError."""
    return arguments_of(names, call, (parameter,), 1)[parameter]


def literals(source: Source, nodes: Sequence[ast.expr]) -> dict[str, object]:
    """Return the annotations of a loop or block. Warn about dictionaries that are no literals."""
    known: dict[str, object] = {}
    for node in nodes:
        try:
            known |= ast.literal_eval(node)
        except (ValueError, TypeError):
            source.warn(node, f"annotations {ast.unparse(node)} are dropped: expected a dictionary of literals")
    return known


class Annotations:
    """Types and sizes in one function, and the symbols that are declared so far."""

    def __init__(self, names: Names, shape_called: Callable[[str], ShapeInfo | None] = lambda name: None):
        self.names = names
        #: Callback that returns the type of a shape value by name, or None. The shape is then that of the type.
        self._shape_called = shape_called
        #: Symbols by name. A symbol of a called function maps to its size at the call.
        self.symbols: dict[str, Dim] = {}
        for name, text in names.symbols.items():
            self.symbols[name] = names.worked_out(ast.Pass(lineno=1, col_offset=0), sym, text)
        #: Statements that declare symbols.
        self.declarations: set[ast.stmt] = set()
        #: Types that were read before, by their texts.
        self._types: dict[str, TypeTree] = {}

    # ---- symbols ----

    def _is_new(self, value: ast.expr) -> bool:
        """Check whether an assigned value declares a symbol: `T.int64()`, `T.var("int64")`."""
        if not isinstance(value, ast.Call) or value.keywords or None in map(text_of, value.args):
            return False
        kind, name = self.names.word(value)
        return kind == TIR and name in _SYMBOL_MAKERS

    def _made_by(self, statement: ast.stmt) -> list[ast.Name]:
        """Return the symbols that a statement declares if it does nothing else: `n, m = T.int64(), T.int64()`."""
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return []
        target, value = statement.targets[0], statement.value
        if isinstance(target, ast.Name):
            return [target] if self._is_new(value) else []
        if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple):
            return []
        pairs = zip(target.elts, value.elts, strict=False)
        names = [one for one, made in pairs if isinstance(one, ast.Name) and self._is_new(made)]
        return names if len(names) == len(target.elts) == len(value.elts) else []

    def declare(self, statements: Iterable[ast.stmt]) -> None:
        """Declare the symbols of all statements, at any position: signatures above a statement may use its symbols."""
        for statement in statements:
            for name in self._made_by(statement):
                self.declarations.add(statement)
                self.add(name, name.id)

    def add(self, node: ast.AST, name: str) -> None:
        self.names.hide(name)
        self._types.clear()
        try:
            self.symbols[name] = sym(name)
        except SymbolError as error:
            raise self.names.source.problem(node, str(error)) from None

    # ---- sizes ----

    def shape(self, node: ast.expr, *, new: bool = False) -> tuple[Dim, ...]:
        """Return a tuple of sizes; a single size is a tuple of one. With `new`, text may introduce symbols."""
        items = node.elts if isinstance(node, (ast.Tuple, ast.List)) else None
        if items is None and isinstance(value := self.names.found(node), tuple):
            items = [ast.copy_location(ast.Constant(each), node) for each in value]
        if items is not None and len(items) > _MOST_RANK:
            raise self.names.source.problem(node, f"a shape of {len(items)} dimensions")
        return tuple(self.dim(item, new=new) for item in ([node] if items is None else items))

    def dim(self, node: ast.expr, *, new: bool = False) -> Dim:
        """Return a size: a number, a symbol, or arithmetic on them. Raises ScriptError."""
        source = self.names.source
        try:
            found = self._dim(node, new)
        except SymbolError as error:
            raise source.problem(node, str(error)) from None
        except RecursionError:
            raise source.problem(node, "the expression is nested too deep") from None
        if isinstance(found, int) and not 0 <= found < 2**63:
            raise source.problem(node, f"a size cannot be {found}: sizes go from 0 to 2**63 - 1")
        return found

    def _dim(self, node: ast.expr, new: bool) -> Dim:
        source = self.names.source
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if (text := text_of(node)) is not None:
            return self._dim_of_text(node, text, new)
        if isinstance(node, ast.Name) and node.id in self.symbols:
            return self.symbols[node.id]
        sign, operands = operation_of(node)
        if len(operands) == 2 and sign in _OPERATORS:
            return _OPERATORS[sign](*(self._dim(operand, new) for operand in operands))
        if isinstance(node, ast.Call) and not self.names.is_helped(node):
            return self._dim_of_call(node, new)
        try:
            value = self.names.constant(node)
        except NotConstant:
            if isinstance(node, ast.Name):
                message = f"there is no size '{node.id}': `{node.id} = T.int64()` makes a symbol of that name"
                raise source.problem(node, message, self.symbols, node.id) from None
            raise source.problem(
                node, "this is not a size: expected a number, a symbol or arithmetic on them"
            ) from None
        if isinstance(value, str):
            return self._dim_of_text(node, value, new)
        if isinstance(value, bool) or not isinstance(value, int):
            raise source.problem(node, f"this is not a size: {value!r}")
        return value

    def _dim_of_text(self, node: ast.expr, text: str, new: bool) -> Dim:
        if text == "?":
            return None
        if "T." in text:  # in the form of TVM's printer: "T.max(n, m) * T.int64(8)"
            inner = self._within(node, text, "size")
            for name in (each.id for each in ast.walk(inner) if isinstance(each, ast.Name)) if new else ():
                if name not in self.symbols and name not in self.names.vocabularies:
                    self.add(node, name)
            return self._dim(inner, new)
        found = parse(text)
        missing = sorted(found.variables - self.symbols.keys()) if isinstance(found, SymExpr) else []
        for name in missing:
            if not new:
                raise self.names.source.problem(node, f"there is no size '{name}'", self.symbols, name)
            self.add(node, name)
        return found.substitute(self.symbols) if isinstance(found, SymExpr) else found

    def _dim_of_call(self, node: ast.Call, new: bool) -> Dim:
        kind, name = self.names.word(node)
        name = name or getattr(node.func, "id", "")
        sizes = [arg for arg in node.args if text_of(arg) is None]
        if kind == TIR and name in ("int64", "int32", "cast", "Cast") and sizes:
            return self._dim(sizes[0], new)
        if name not in _FUNCTIONS or kind not in (TIR, "") or len(node.args) != 2 or node.keywords:
            raise self.names.source.problem(node.func, "this is not a function of sizes", _FUNCTIONS, name)
        return _OPERATORS[SIGN_OF_WORD[name]](*(self._dim(arg, new) for arg in node.args))

    # ---- types ----

    def dtype(self, node: ast.expr) -> str:
        """Return an element type given by Relax's or MLIR's name. Raises ScriptError."""
        kind, word = self.names.word(node)
        value = word if kind == TIR else self.names.found(node)
        name = dtype_name(value) if isinstance(value, str) else None
        if name is None or not is_dtype(name):
            shown = ast.unparse(node)
            raise self.names.source.problem(node, f"{shown} is not an element type", DTYPE_BY_NAME, str(value))
        return name

    def type(self, node: ast.expr, *, new: bool = False) -> TypeTree:
        """Return the type that an annotation such as `R.Tensor(...)` denotes. `new` as in `shape`."""
        text = "" if new else self.names.source.written(node)
        found = self._types.get(text) if text else None
        if found is None:
            found = self._type(node, new)
            if text:
                self._types[text] = found
        return found

    def _type(self, node: ast.expr, new: bool) -> TypeTree:
        source = self.names.source
        if (text := text_of(node)) is not None:  # an annotation in quotes
            node = self._within(node, text, "type")
        kind, name = self.names.word(node)
        if kind == TIR:
            return ScalarInfo(self.dtype(node.func if isinstance(node, ast.Call) else node))
        if kind != RELAX or name not in _TYPES:
            shown = ast.unparse(node)
            raise source.problem(node, f"this is not a type: {shown[:80]}", _TYPES, name or shown)
        call = node if isinstance(node, ast.Call) else ast.copy_location(ast.Call(node, [], []), node)
        type_tree: TypeTree = getattr(self, f"_type_{name.lower()}")(call, new)
        return type_tree

    def _within(self, node: ast.expr, text: str, what: str) -> ast.expr:
        """Parse an expression in a string, with the string's position."""
        try:
            return expression_at(node, text)
        except SyntaxError:
            raise self.names.source.problem(node, f"this is not a {what}") from None

    def _type_tensor(self, call: ast.Call, new: bool) -> Info:
        arguments = arguments_of(self.names, call, ("shape", "dtype", "vdevice", "ndim"))
        shape, dtype, rank = arguments.get("shape"), arguments.get("dtype"), arguments.get("ndim")
        if shape is not None and dtype is None and text_of(shape) is not None:
            shape, dtype = None, shape  # R.Tensor("float32")
        name = "f32" if dtype is None else self.dtype(dtype)
        shape_info = self._shape_called(shape.id) if isinstance(shape, ast.Name) else None
        if shape_info is not None:
            return TensorInfo(shape_info.dims, name)
        if shape is not None and not (isinstance(shape, ast.Constant) and shape.value is None):
            return TensorInfo(self.shape(shape, new=new), name)
        count = self._count(rank)
        return TensorInfo(None if count is None else (None,) * count, name)

    def is_untyped(self, node: ast.AST) -> bool:
        """Check whether a type contains a tensor without an element type: `R.Tensor((n, 4))`."""
        called = {each.func for each in ast.walk(node) if isinstance(each, ast.Call)}
        for each in ast.walk(node):
            if each in called or self.names.word(each) != (RELAX, "Tensor"):
                continue
            if not isinstance(each, ast.Call):
                return True
            arguments = arguments_of(self.names, each, ("shape", "dtype", "vdevice", "ndim"))
            if "dtype" not in arguments and not (text_of(arguments.get("shape")) is not None):
                return True
        return False

    def _type_shape(self, call: ast.Call, new: bool) -> Info:
        arguments = arguments_of(self.names, call, ("values", "ndim"))
        if "values" in arguments:
            return ShapeInfo(self.shape(arguments["values"], new=new))
        count = self._count(arguments.get("ndim"))
        return ShapeInfo(None if count is None else (None,) * count)

    def _type_prim(self, call: ast.Call, new: bool) -> Info:
        arguments = arguments_of(self.names, call, ("dtype", "value"))
        value = self.dim(arguments["value"], new=new) if "value" in arguments else None
        return ScalarInfo(self.dtype(arguments["dtype"]) if "dtype" in arguments else "i64", value)

    def _type_object(self, call: ast.Call, new: bool) -> Info:
        del new
        arguments_of(self.names, call, ())
        return ObjectInfo()

    _type_any = _type_object

    def _type_callable(self, call: ast.Call, new: bool) -> Info:
        """Return the type of a function value. No caller needs the signature."""
        del call, new
        return ObjectInfo()

    def _type_tuple(self, call: ast.Call, new: bool) -> TypeTree:
        items = call.args
        if len(items) == 1 and isinstance(items[0], (ast.Tuple, ast.List)):
            items = items[0].elts
        return tuple(self._type(item, new) for item in items)

    def _count(self, node: ast.expr | None) -> int | None:
        """Return the number of dimensions, or None if it is missing or -1."""
        if node is None:
            return None
        value = self.names.found(node)
        if not isinstance(value, int) or not -1 <= value <= _MOST_RANK:
            raise self.names.source.problem(node, "ndim must be a number of dimensions, or -1 if it is unknown")
        return None if value == -1 else value


def leaves(tree: object) -> list[Any]:
    """Return the leaves of nested tuples from left to right. NamedTuples are leaves."""
    return [tree] if type(tree) is not tuple else [leaf for item in tree for leaf in leaves(item)]


def rebuilt(tree: object, items: Iterator[object]) -> object:
    """Return a tree of the same form with the leaves that an iterator yields."""
    return tuple(rebuilt(each, items) for each in tree) if type(tree) is tuple else next(items)
