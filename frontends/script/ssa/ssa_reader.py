# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reader of `@I.ir_module(ssa=True)`: classes are modules, functions are functions, and `I.mlir(...)` contains MLIR
text."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ....bindings.ir import Attribute, Context, Operation, Type
from ....bindings.ir import Module as MlirModule
from ....bindings.mlir import ir
from ....dialects.core.ir_attributes import ARGUMENT_NAME, PRIM_FUNC
from ....dialects.script.syntax import dotted, text_of
from ..common.pieces import StatementsOf
from ..common.source import Source
from . import nests  # noqa: F401  # its loops register
from .body import ScriptBody
from .shortened_script import Shortened
from .spelling import Spelling

_FUNCTIONS = ("R.function", "T.prim_func")
_NESTED = "I.ir_module"


def ssa_class(tree: ast.Module, source: Source) -> ast.ClassDef | None:
    """Return the class of a script that is IR, or None for any other script.

    Raises ScriptError if there are several.
    """
    found = [each for each in tree.body if isinstance(each, ast.ClassDef) and _is_ssa(each)]
    if len(found) > 1:
        raise source.problem(
            found[1], "a script must be one module; relax-opt --split-input-file reads several, separated by # -----"
        )
    return found[0] if found else None


def _is_ssa(node: ast.ClassDef) -> bool:
    option = _options(_decorator(node, (_NESTED,))).get("ssa")
    return isinstance(option, ast.Constant) and option.value is True


def _decorator(node: ast.ClassDef | ast.FunctionDef, words: Sequence[str]) -> ast.expr | None:
    for each in node.decorator_list:
        if dotted(each.func if isinstance(each, ast.Call) else each) in words:
            return each
    return None


def _options(decorator: ast.expr | None) -> dict[str, ast.expr]:
    if not isinstance(decorator, ast.Call):
        return {}
    return {keyword.arg: keyword.value for keyword in decorator.keywords if keyword.arg}


class SsaReader:
    """Reader that builds the operations of a script in a module."""

    def __init__(self, source: Source, context: Context, shortened: Shortened, statements: StatementsOf):
        self.source, self.context, self._statements = source, context, statements
        self.spelling = Spelling(source, context, shortened.types)
        self.spelling.resources.update(shortened.resources(context))

    def read(self, node: ast.ClassDef, owner: MlirModule) -> None:
        for each in node.body:
            call = each.value if isinstance(each, ast.Expr) else None
            if isinstance(call, ast.Call) and dotted(call.func) == "I.resource":
                self.spelling.take_resource(call)
        options = self._known(_decorator(node, (_NESTED,)), ("ssa", "name", "attrs"))
        self._describe(node, owner.operation, options, self._text(options.get("name")))
        with ir.InsertionPoint(owner.body):
            self._members(node)

    def _known(self, decorator: ast.expr | None, known: Sequence[str]) -> dict[str, ast.expr]:
        options = _options(decorator)
        for name, value in options.items():
            if name not in known:
                raise self.source.problem(value, f"there is no option '{name}' here", known, name)
        return options

    def _text(self, node: ast.expr | None) -> str:
        if node is None or isinstance(node, ast.Constant) and node.value is None:
            return ""
        if (text := text_of(node)) is None:
            raise self.source.problem(node, "a name must be text")
        return text

    def _describe(self, node: ast.ClassDef, module: Operation, options: dict[str, ast.expr], name: str) -> None:
        attributes = self.spelling.dictionary(options["attrs"]) if "attrs" in options else {}
        if name:
            attributes["sym_name"] = ir.StringAttr.get(name, self.context)
        for key, value in attributes.items():
            module.attributes[key] = value
        self.spelling.check_held(node, module, attributes)

    # ---- members ----

    def _members(self, node: ast.ClassDef) -> None:
        functions: dict[str, list[Type]] = {}
        for each in node.body:
            if isinstance(each, ast.FunctionDef):
                options = _options(_decorator(each, _FUNCTIONS))
                results = [self._annotation(result)[0] for result in self._results(each)]
                functions[self._text(options.get("name")) or each.name] = results
        body = ScriptBody(self.spelling, functions, is_graph=False)
        for each in node.body:
            if isinstance(each, ast.FunctionDef):
                self._function(each, functions)
            elif isinstance(each, ast.ClassDef):
                self._class(each)
            elif isinstance(each, ast.Expr) and isinstance(each.value, ast.Call) and self._call(each.value):
                continue
            elif isinstance(each, (ast.With, ast.Expr, ast.Assign)) and not _is_text(each):
                body.statements([each])
            elif not isinstance(each, ast.Pass) and not _is_text(each):
                hint = "functions, classes, I.mlir(...) and I.resource(...)"
                raise self.source.problem(each, f"a module contains {hint}")

    def _class(self, node: ast.ClassDef) -> None:
        if (decorator := _decorator(node, (_NESTED,))) is None:
            raise self.source.problem(node, f"class '{node.name}' is not an @I.ir_module")
        options = self._known(decorator, ("name", "attrs"))
        module = ir.Operation.create("builtin.module", regions=1, loc=self.source.location(node))
        self._describe(node, module, options, self._text(options["name"]) if "name" in options else node.name)
        with ir.InsertionPoint(module.regions[0].blocks.append()):
            self._members(node)

    def _call(self, node: ast.Call) -> bool:
        """Handle a call that is not an operation, and return True: `I.resource`, which was read before, or `I.mlir`."""
        if (word := dotted(node.func)) != "I.mlir":
            return word == "I.resource"
        (text,) = self.spelling.strings(node, 1)
        try:
            parsed = ir.Module.parse(text, self.context)
        except ir.MLIRError as error:
            first = str(error.error_diagnostics[0]) if error.error_diagnostics else str(error)
            raise self.source.problem(node, f"MLIR refuses this: {first[:300]}") from None
        block = ir.InsertionPoint.current.block
        for operation in list(parsed.body.operations):
            block.append(operation)  # a copy would use values of the operations that stay in the parsed module
        return True

    # ---- functions ----

    def _results(self, node: ast.FunctionDef) -> list[ast.expr]:
        if (returns := node.returns) is None:
            return []
        if isinstance(returns, ast.Call) and dotted(returns.func) == "R.Tuple":
            return returns.args
        return [returns]

    def _annotation(self, node: ast.expr) -> tuple[Type, dict[str, Attribute]]:
        """Return a type and attributes: `I.annotated(type, {...})`."""
        if not isinstance(node, ast.Call) or dotted(node.func) != "I.annotated":
            return self.spelling.type(node), {}
        if len(node.args) != 2:
            raise self.source.problem(node, "I.annotated takes a type and a dictionary of attributes")
        return self.spelling.type(node.args[0]), self.spelling.dictionary(node.args[1])

    def _function(self, node: ast.FunctionDef, functions: dict[str, list[Type]]) -> None:
        if (decorator := _decorator(node, _FUNCTIONS)) is None:
            hint = "@R.function or @T.prim_func before it"
            raise self.source.problem(node, f"function '{node.name}' has no decorator: expected {hint}")
        is_prim = dotted(decorator.func if isinstance(decorator, ast.Call) else decorator) == "T.prim_func"
        options = self._known(decorator, ("private", "name", "named", "attrs"))
        location = self.source.location(node)
        names, inputs, given = self._inputs(node, named=not is_prim and not self._is(options.get("named"), False))
        attributes = self._attributes(node, options, is_prim, inputs, given)
        function = ir.Operation.create("func.func", attributes=attributes, regions=1, loc=location)
        self.spelling.check_held(node, function, attributes)
        if _is_declaration(node):
            return
        places = [ir.Location.name(name, location) for name in names]
        block = function.regions[0].blocks.append(*inputs, arg_locs=places)
        body = ScriptBody(self.spelling, functions, is_graph=not is_prim)
        for name, value in zip(names, block.arguments, strict=True):
            body.bind(name, value)
        body.location = location
        blocks = [each for each in node.body if isinstance(each, ast.FunctionDef)]
        statements = [each for each in node.body if each not in blocks] if blocks else self._statements(node)
        body.enter(function.regions[0], block, statements, blocks)

    def _inputs(
        self, node: ast.FunctionDef, *, named: bool
    ) -> tuple[list[str], list[Type], list[dict[str, Attribute]]]:
        names, types, given = [], [], []
        arguments = node.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
            raise self.source.problem(node, "a function takes plain parameters only: (x: ..., y: ...)")
        for each in [*arguments.posonlyargs, *arguments.args]:
            if each.annotation is None:
                raise self.source.problem(each, f"parameter '{each.arg}' has no type")
            type_, attributes = self._annotation(each.annotation)
            if named:
                attributes[ARGUMENT_NAME] = ir.StringAttr.get(each.arg, self.context)
            names.append(each.arg)
            types.append(type_)
            given.append(attributes)
        return names, types, given

    @staticmethod
    def _is(node: ast.expr | None, value: bool) -> bool:
        return isinstance(node, ast.Constant) and node.value is value

    def _attributes(
        self,
        node: ast.FunctionDef,
        options: dict[str, ast.expr],
        is_prim: bool,
        inputs: Sequence[Type],
        given: Sequence[dict[str, Attribute]],
    ) -> dict[str, Attribute]:
        attributes = self.spelling.dictionary(options["attrs"]) if "attrs" in options else {}
        results = [self._annotation(result) for result in self._results(node)]
        name = self._text(options.get("name")) or node.name
        type_ = ir.FunctionType.get(list(inputs), [result[0] for result in results], self.context)
        attributes["sym_name"] = ir.StringAttr.get(name, self.context)
        attributes["function_type"] = ir.TypeAttr.get(type_, self.context)
        if is_prim:
            attributes[PRIM_FUNC] = ir.UnitAttr.get(self.context)
        if self._is(options.get("private"), True):
            attributes["sym_visibility"] = ir.StringAttr.get("private", self.context)
        for key, held in (("arg_attrs", list(given)), ("res_attrs", [result[1] for result in results])):
            if any(held):
                attributes[key] = ir.ArrayAttr.get([ir.DictAttr.get(each, self.context) for each in held], self.context)
        return attributes


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_declaration(node: ast.FunctionDef) -> bool:
    only = node.body[0] if len(node.body) == 1 else None
    return isinstance(only, ast.Expr) and isinstance(only.value, ast.Constant) and only.value.value is Ellipsis
