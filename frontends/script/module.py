# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reader of modules: `@I.ir_module` classes, or functions outside of a class.

PrimFuncs are read before their callers.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ...bindings.context import load_dialects
from ...bindings.diagnostics import errors_as_relax_error
from ...bindings.ir import Attribute, Context, Operation, Type
from ...bindings.ir import Module as MlirModule
from ...bindings.mlir import ir
from ...bindings.navigation import function_type_of
from ...dialects.context import create_context
from ...dialects.core.codec import encode
from ...dialects.core.infos import Info, ScalarInfo, TensorInfo
from ...dialects.core.ir_attributes import RELAX_TARGET
from ...dialects.relax import dialect
from ...dialects.relax.function_attributes import function_attributes
from ...dialects.verification import verify_ir
from ...support.collector import uncollected
from ...support.errors import RelaxError
from ...support.names import fresh_name
from . import graph_memory
from .annotations import leaves, rebuilt
from .common.pieces import Pieces, StatementsOf, statements_of
from .common.source import Source
from .graph import GraphReader
from .graph_values import GraphValues, Signature
from .module_prim_funcs import PrimFunc
from .names import IR, RELAX, TIR, Names
from .program import Buffer, Scalar
from .ssa.shortened_script import Shortened
from .ssa.ssa_reader import SsaReader, ssa_class

_DIALECTS = ("arith", "linalg", "math", "memref", "scf", "tensor")
#: Name of the graph function of a script that is a single tensor program.
_MAIN = "main"


def read_script(
    source: Source, around: Mapping[str, object] | None = None, context: Context | None = None
) -> MlirModule:
    """Return the module that a script describes. `around` are the variables of the scope that defines the object.

    Without a context the module gets a new one. Raises ScriptError.
    """
    context = context or create_context()
    load_dialects(context, _DIALECTS)
    with uncollected(), context, ir.Location.file(source.file, source.first_line, 1):
        shortened = Shortened(source) if "ssa=True" in source.text else None
        text = source.text if shortened is None else shortened.text
        if (owner := _read_in_pieces(source, shortened, around, Pieces(source, text))) is None:
            try:
                owner = _read(source, shortened, around, text)
            except RecursionError:
                raise source.problem(ast.Pass(lineno=1, col_offset=0), "the script is nested too deep") from None
    with errors_as_relax_error(context, "the script's module is not valid"):
        verify_ir(owner.operation, "the script's module is not valid")
    return owner


def _read_in_pieces(
    source: Source, shortened: Shortened | None, around: Mapping[str, object] | None, pieces: Pieces
) -> MlirModule | None:
    """Read the script in pieces.

    Returns None if there are no pieces or on any error; the whole then reports the error.
    """
    if not pieces:
        return None
    try:
        owner = _read(source, shortened, around, pieces.text, pieces.statements)
    except (RelaxError, RecursionError):
        return None
    return owner if pieces.are_read else None


def _read(
    source: Source,
    shortened: Shortened | None,
    around: Mapping[str, object] | None,
    text: str,
    statements: StatementsOf = statements_of,
) -> MlirModule:
    owner = ir.Module.create()
    tree = source.parse(text)
    ir_class = ssa_class(tree, source)
    if shortened is not None and ir_class is not None:
        SsaReader(source, owner.context, shortened, statements).read(ir_class, owner)
    else:
        # The keyword may occur somewhere else in the text.
        whole = tree if shortened is None else source.parse()
        ModuleReader(source, Names(source, around), owner, statements).read(whole)
    return owner


class ModuleReader:
    """Reader of a script's functions. It builds them in a module."""

    def __init__(self, source: Source, names: Names, owner: MlirModule, statements: StatementsOf):
        self.source, self.names, self.owner = source, names, owner
        self.statements = statements
        self.context: Context = owner.context
        #: Names that refer to the module itself: the class's name, and the first parameter of methods.
        self.own_names: set[str] = {"cls", "self", "Module"}
        self.functions: dict[str, ast.FunctionDef] = {}
        self.prim_funcs: dict[str, PrimFunc] = {}
        self._cleared: dict[str, PrimFunc] = {}
        self._kinds: dict[str, str] = {}
        self._graphs: dict[str, tuple[Operation, object]] = {}
        self.made: dict[Signature, tuple[list[Type], dict[str, Attribute]]] = {}
        self._building: list[str] = []

    def read(self, tree: ast.Module) -> None:
        for statement in tree.body:
            self._take(statement)
        if not self.functions:
            place = ast.Pass(lineno=1, col_offset=0)
            hint = "@I.ir_module before a class, @R.function or @T.prim_func before a function"
            raise self.source.problem(place, f"the script has no function: {hint}")
        with ir.InsertionPoint(self.owner.body):
            in_place = self._called_in_place()
            prims, graphs = self._of_kind(TIR), self._of_kind(RELAX)
            is_alone = not graphs and len(prims) == 1
            for name in prims:
                function = self.functions[name]
                function.body = list(self.statements(function))
                prim = PrimFunc(self.names, function, in_place=name in in_place, is_alone=is_alone)
                self.prim_funcs[name] = prim
                prim.build(f"{name}_" if is_alone and name == _MAIN else name, is_private=True)
            for name in graphs:
                self.graph_function(name)
            if is_alone:
                self._add_main(prim)

    def _of_kind(self, kind: str) -> list[str]:
        return [name for name, text in self._kinds.items() if text == kind]

    # ---- declarations ----

    def _take(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.ClassDef):
            self._take_class(statement)
        elif isinstance(statement, ast.FunctionDef) and statement.decorator_list:
            self._take_function(statement)
        elif not self.names.take(statement):
            word = type(statement).__name__.lower()
            message = f"a script contains imports, constants, functions and an @I.ir_module class, not `{word}`"
            raise self.source.problem(statement, message)

    def _take_class(self, statement: ast.ClassDef) -> None:
        if (IR, "ir_module") not in map(self.names.word, statement.decorator_list):
            raise self.source.problem(statement, f"class '{statement.name}' is not an @I.ir_module")
        self.own_names.add(statement.name)
        for inner in statement.body:
            if isinstance(inner, ast.FunctionDef):
                self._take_function(inner)
            elif not (isinstance(inner, ast.Pass) or self._is_said(inner) or self.names.take(inner)):
                raise self.source.problem(inner, "a module contains functions, and calls of I")

    def _is_said(self, statement: ast.stmt) -> bool:
        """Check for a call of I, or for a declaration without effect: `f = R.ExternFunc("f")`."""
        if isinstance(statement, ast.Assign):
            return self.names.word(statement.value) == (RELAX, "ExternFunc")
        value = statement.value if isinstance(statement, ast.Expr) else None
        return isinstance(value, ast.Call) and self.names.word(value)[0] == IR

    def _take_function(self, function: ast.FunctionDef) -> None:
        words = map(self.names.word, function.decorator_list)
        kind = next((word[0] for word in words if word in ((RELAX, "function"), (TIR, "prim_func"))), None)
        if kind is None:
            message = f"function '{function.name}' has no decorator: expected @R.function or @T.prim_func"
            raise self.source.problem(function, message)
        if function.name in self.functions:
            raise self.source.problem(function, f"the module has a function '{function.name}' already")
        self.functions[function.name] = function
        self._kinds[function.name] = kind

    def _is_private(self, function: ast.FunctionDef) -> bool:
        for each in function.decorator_list:
            for keyword in each.keywords if isinstance(each, ast.Call) else ():
                if keyword.arg == "private" and isinstance(keyword.value, ast.Constant):
                    return bool(keyword.value.value)
        return False

    def _called_in_place(self) -> set[str]:
        """Return the PrimFuncs that some call uses in place."""
        found: set[str] = set()
        if "call_tir_inplace" not in self.source.text:
            return found
        for function in self.functions.values():
            for node in (part for statement in self.statements(function) for part in ast.walk(statement)):
                if not isinstance(node, ast.Call) or self.names.word(node) != (RELAX, "call_tir_inplace"):
                    continue
                named = [keyword.value for keyword in node.keywords if keyword.arg == "func"]
                for callee in (*node.args[:1], *named):
                    found.add(callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", ""))
        return found

    def cleared(self, name: str) -> PrimFunc:
        """Return a PrimFunc that clears the elements of its results which it does not write, since memory is
        uninitialized."""
        if name not in self._cleared:
            taken = {*self.functions, *(prim_func.symbol for prim_func in self._cleared.values())}
            self._cleared[name] = prim = PrimFunc(self.names, self.functions[name], is_cleared=True)
            with ir.InsertionPoint.at_block_begin(self.owner.body):
                prim.build(fresh_name(f"{name}_cleared", taken), is_private=True)
        return self._cleared[name]

    # ---- graphs ----

    def graph_function(self, name: str) -> tuple[Operation, object]:
        """Return the function and its result, and build it if needed.

        Raises ScriptError if the function calls itself.
        """
        if name in self._graphs:
            return self._graphs[name]
        function = self.functions[name]
        if name in self._building:
            raise self.source.problem(function, f"'{name}' calls itself: {' -> '.join([*self._building, name])}")
        self._building.append(name)
        with ir.InsertionPoint(self.owner.body):
            reader = GraphReader(self, function)
            self._graphs[name] = reader.build(name, self._is_private(function)), reader.returned
        self._building.pop()
        return self._graphs[name]

    def call(self, graph: GraphValues, node: ast.Call, name: str, arguments: tuple[object, ...]) -> object:
        """Emit a call of another function of the module."""
        if name not in self._kinds:
            raise self.source.problem(node, f"'{name}' is not a function of this module: call it with R.call_packed")
        if self._kinds[name] != RELAX:
            return graph_memory.called(graph, node, self.prim_funcs[name], arguments)
        callee, returned = self.graph_function(name)
        type_ = function_type_of(callee)
        values = [graph.ssa(node, leaf) for argument in arguments for leaf in leaves(argument)]
        if len(values) != len(type_.inputs):
            raise self.source.problem(node, f"'{name}' takes {len(type_.inputs)} arguments, not {len(values)}")
        if [value.type for value in values] != list(type_.inputs):
            if RELAX_TARGET in callee.attributes:
                message = f"'{name}' has its own target: the arguments' types must equal its parameters' types"
                raise self.source.problem(node, message)
            return GraphReader(self, self.functions[name]).inline(node, tuple(values))
        attributes = {"callee": ir.FlatSymbolRefAttr.get(name)}
        made = ir.Operation.create("func.call", results=list(type_.results), operands=values, attributes=attributes)
        results = iter(made.results)
        return rebuilt(returned, (None if leaf is None else next(results) for leaf in leaves(returned)))

    # ---- a single tensor program ----

    def _add_main(self, prim: PrimFunc) -> None:
        """Add a graph that calls the only PrimFunc, so that the module can be compiled and called.

        TVM calls the PrimFunc directly, with memory for the results. Here the caller does not pass new results.
        """
        if not prim.written or any(None in each.dims for each in prim.written):
            return
        with self.source.location(prim.program.node):
            types = [encode(self._info(each), self.context) for each in prim.passed]
            results = {effect: encode(self._info(effect), self.context) for effect in prim.effects}
            names = [each.name for each in prim.passed]
            attributes = function_attributes(_MAIN, types, list(results.values()), names)
            function = ir.Operation.create("func.func", attributes=attributes, regions=1)
            block = function.regions[0].blocks.append(*types)
            with ir.InsertionPoint(block):
                name, arguments, named = prim.call(dict(zip(prim.passed, block.arguments, strict=True)), results)
                made = dialect.ops[name](*arguments, **named)
                values = dict(zip(prim.written, made if isinstance(made, tuple) else (made,), strict=True))
                ir.Operation.create("func.return", operands=[values[result] for result in results])

    @staticmethod
    def _info(parameter: Buffer | Scalar) -> Info:
        if isinstance(parameter, Scalar):
            return ScalarInfo(parameter.dtype)
        return TensorInfo(parameter.dims, parameter.dtype)
