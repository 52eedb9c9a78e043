# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of operations: operators by the parameters of their rows, all others by operands, types and attributes."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ....bindings.context import UPSTREAM_DIALECTS, load_dialects
from ....bindings.ir import Attribute, Block, Operation, Type, Value
from ....bindings.mlir import DYNAMIC, ir
from ....dialects.context import find_dialect
from ....dialects.core.attributes import AttributeProblem, AttrKind, Raw, Symbol
from ....dialects.core.builder import infer_types
from ....dialects.core.codec import TypeProblem
from ....dialects.core.dialect import registered_dialects
from ....dialects.core.opdef import OpProblem
from ....dialects.core.operator import Operator
from ....dialects.core.symbols import SymbolError
from ....dialects.script.syntax import dotted, items_of, text_of
from ....dialects.script.words import MIXED, SEGMENTS, operation_of
from .expressions import Values, shape_of
from .spelling import I64, Spelling, is_number, is_typed_number, number_of


class Calls(Values):
    """Expressions, and calls of any operation."""

    def __init__(self, spelling: Spelling, functions: dict[str, list[Type]]):
        super().__init__(spelling, functions)
        #: Blocks that can be jumped to.
        self.labels: dict[str, Block] = {}
        self._encoded: dict[tuple[AttrKind, str], Attribute] = {}

    def generic(
        self, node: ast.Call, word: str, count: int, types: list[Type] | None = None, regions: int = 0
    ) -> Sequence[Value]:
        return self.operation(node, word, count, types, regions).results

    def operation(
        self, node: ast.Call, word: str, count: int, types: list[Type] | None = None, regions: int = 0
    ) -> Operation:
        """Build the operation that a call names. `count` is the number of results if no types are written."""
        if (definition := self.spelling.operators.get(word)) is not None:
            return self._operator(node, definition, count, types)
        args, name = node.args, operation_of(word)
        if name == "I.op":
            first = text_of(args[0]) if args else None
            if first is None:
                raise self.source.problem(node, 'I.op takes the operation\'s name first: I.op("scf.yield", x)')
            name, args = first, args[1:]
        dialect, _, short = name.partition(".")
        if not short and not (dotted(node.func) == "I.op" and self.context.allow_unregistered_dialects):
            raise self.source.problem(
                node.func, f"'{name or ast.unparse(node.func)}' is not an operation", ("I.op",), name
            )
        if (definition := self._row(node, dialect, short)) is not None and dialect != "tir":
            self.spelling.operators[word] = definition
            return self._operator(node, definition, count, types)
        lists: list[ast.expr] = []
        if name in MIXED:
            lists = [arg for arg in args if isinstance(arg, ast.List)]
            args = [arg for arg in args if not isinstance(arg, ast.List)]
        operands, stated, attributes, successors = self._arguments(node, name, args)
        if types is None:
            types = stated or ([operands[-1].type] if count == 1 and operands else [])
        if lists:
            operands = self._mixed(node, name, operands, lists, attributes)
        try:
            made = self.create(name, operands, types, attributes, successors, regions)
        except (ValueError, RuntimeError, TypeError, ir.MLIRError) as error:
            raise self.source.problem(node, f"this cannot be '{name}': {str(error).strip()[:200]}") from None
        self.spelling.check_held(node, made, attributes)
        return made

    def _row(self, node: ast.Call, dialect: str, short: str) -> Operator | None:
        """Return the operator's row, or None for an upstream dialect's operation.

        Raises ScriptError if it is unknown.
        """
        if (known := find_dialect(dialect, self.context)) is not None:
            if (row := known.ops.get(short)) is None:
                letter = dotted(node.func).partition(".")[0]
                raise self.source.problem(node.func, f"{letter} has no '{short}'", known.ops, short)
            return row
        if not self.context.is_dialect_loaded(dialect):
            if dialect in UPSTREAM_DIALECTS:
                load_dialects(self.context, (dialect,))
            elif not self.context.allow_unregistered_dialects:
                names = (*registered_dialects(), *UPSTREAM_DIALECTS)
                raise self.source.problem(node.func, f"there is no dialect '{dialect}'", names, dialect)
        if not self.context.is_registered_operation(f"{dialect}.{short}") and dialect in UPSTREAM_DIALECTS:
            raise self.source.problem(node.func, f"dialect '{dialect}' has no operation '{short}'")
        return None

    # ---- operands, types, attributes ----

    def _arguments(
        self, node: ast.Call, operation: str, args: Sequence[ast.expr]
    ) -> tuple[list[Value], list[Type], dict[str, Attribute], list[Block]]:
        spelling = self.spelling
        stated = [arg for arg in args if spelling.is_type(arg)]
        exprs = [arg for arg in args if arg not in stated] if stated else list(args)
        pairs = list(zip(exprs, [self.value(expr) for expr in exprs], strict=True))
        # As in the printer: the type of the last operand that is not a number literal.
        typed = [
            value.type for each, value in pairs if not isinstance(value, (int, float)) and not is_typed_number(each)
        ]
        operands = [self.with_type(each, value, typed[-1] if typed else None) for each, value in pairs]
        attributes: dict[str, Attribute] = {}
        successors: list[Block] = []
        for keyword in node.keywords:
            if keyword.arg == "attrs":
                attributes.update(spelling.dictionary(keyword.value))
            elif keyword.arg == "segments":
                attributes[SEGMENTS] = self._segments(keyword.value)
            elif keyword.arg == "to":
                successors = self._successors(keyword.value)
            elif keyword.arg is None:
                raise self.source.problem(keyword.value, "pass attributes by name, or by attrs={...}")
            else:
                attributes[keyword.arg] = spelling.attribute_of(operation, keyword.arg, keyword.value)
        return operands, [spelling.type(expr) for expr in stated], attributes, successors

    def _mixed(
        self,
        node: ast.Call,
        name: str,
        operands: list[Value],
        lists: Sequence[ast.expr],
        attributes: dict[str, Attribute],
    ) -> list[Value]:
        """Return all operands of an operation with lists of sizes: numbers become attributes, all other sizes are
        values."""
        count, names = MIXED[name]
        if len(operands) != count or len(lists) != len(names):
            raise self.source.problem(node, f"'{name}' takes {count} values and {len(names)} lists of sizes")
        segments = [1] * count
        for each, list_ in zip(names, lists, strict=True):
            assert isinstance(list_, ast.List)
            sizes = [number_of(item) if is_number(item) else None for item in list_.elts]
            for item, size in zip(list_.elts, sizes, strict=True):
                if size is not None and size not in I64:
                    raise self.source.problem(item, f"{size} is not a 64-bit integer")
            values = [self.operand(item) for item, size in zip(list_.elts, sizes, strict=True) if size is None]
            known = [DYNAMIC if size is None else int(size) for size in sizes]
            attributes[each] = ir.DenseI64ArrayAttr.get(known, self.context)
            segments.append(len(values))
            operands = [*operands, *values]
        if len(names) > 1:
            attributes[SEGMENTS] = ir.DenseI32ArrayAttr.get(segments, self.context)
        return operands

    def _segments(self, node: ast.expr) -> Attribute:
        try:
            sizes = [int(each) for each in ast.literal_eval(node)]
        except (ValueError, TypeError):
            sizes = [-1]
        if not all(0 <= size < 2**31 for size in sizes):
            raise self.source.problem(node, "segments must be a tuple with the number of operands of each parameter")
        return ir.DenseI32ArrayAttr.get(sizes, self.context)

    def _successors(self, node: ast.expr) -> list[Block]:
        successors = []
        for each in items_of(node):
            name = each.id if isinstance(each, ast.Name) else ""
            if name not in self.labels:
                raise self.source.problem(each, f"there is no block '{name}'", self.labels, name)
            successors.append(self.labels[name])
        return successors

    # ---- operators with rows ----

    def _operator(self, node: ast.Call, definition: Operator, count: int, types: list[Type] | None) -> Operation:
        operands: dict[str, list[Value]] = {}
        attributes: dict[str, Attribute] = {}
        if len(node.args) > len(definition.parameters):
            most = len(definition.parameters)
            raise self.source.problem(node, f"{definition.full_name} takes at most {most} arguments")
        given = [*zip(definition.parameters, node.args, strict=False)]
        given += [(keyword.arg or "**", keyword.value) for keyword in node.keywords]
        for name, each in given:
            if name in operands or name in attributes:
                raise self.source.problem(each, f"{definition.full_name}: argument '{name}' is given twice")
            if isinstance(each, ast.Name):
                operands[name] = [self.read_name(each)]
            elif name in definition.attrs:
                attributes[name] = self._attribute(each, definition.attrs[name], f"attribute '{name}' ")
            elif name in ("out_sinfo", definition.explicit):
                types = [self.spelling.type(item) for item in items_of(each)]
            elif name == "attrs":
                attributes.update(self.spelling.dictionary(each))
            else:
                operands[name] = self._operand(each, definition, name)
        groups = [operands.get(operand.name) for operand in definition.operands]
        if len(groups) - groups.count(None) < len(operands):  # a name was passed for a parameter that does not exist
            known = {operand.name for operand in definition.operands}
            name, each = next((name, each) for name, each in given if name in operands and name not in known)
            self._operand(each, definition, name)
        for operand, group in zip(definition.operands, groups, strict=True):
            if group is None and operand.arity == "single":
                raise self.source.problem(node, f"{definition.full_name} lacks its argument '{operand.name}'")
        values = [value for group in groups if group for value in group]
        if types is None and (count or not definition.explicit):
            types = self._inferred(node, definition, values, [len(group or ()) for group in groups], attributes)
        if definition.segmented:
            sizes = [len(group or ()) for group in groups]
            attributes[SEGMENTS] = ir.DenseI32ArrayAttr.get(sizes, self.context)
        return self.create(definition.full_name, values, types or (), attributes)

    def _inferred(
        self,
        node: ast.Call,
        definition: Operator,
        values: Sequence[Value],
        sizes: Sequence[int],
        attributes: dict[str, Attribute],
    ) -> list[Type]:
        """Return the inferred types of results."""
        if definition.explicit:
            hint = f'{dotted(node.func)}(..., out_sinfo=R.Tensor((4, "n"), "float32"))'
            raise self.source.problem(node, f"the type of the result is missing: {hint}")
        given = zip(definition.operands, sizes, strict=True)
        lacks = [each.name for each, size in given if each.arity == "single" and size != 1]
        lacks += [name for name, kind in definition.attrs.items() if kind.required and name not in attributes]
        if lacks:
            raise self.source.problem(node, f"{definition.full_name} lacks its argument '{lacks[0]}'")
        try:
            return infer_types(definition, values, sizes, attributes, self.context)
        except (OpProblem, AttributeProblem, TypeProblem, SymbolError) as error:
            raise self.source.problem(node, f"{definition.full_name}: {error}") from None

    def _operand(self, node: ast.expr, definition: Operator, name: str) -> list[Value]:
        found = next((operand for operand in definition.operands if operand.name == name), None)
        if found is None:
            message = f"{definition.full_name} has no argument '{name}'"
            raise self.source.problem(node, message, definition.parameters, name)
        if found.arity == "variadic":
            if not isinstance(node, (ast.Tuple, ast.List)):
                raise self.source.problem(node, "expected a tuple of values")
            return [self.operand(each) for each in node.elts]
        if found.kind == "shape" and isinstance(node, (ast.Tuple, ast.List)):
            return [shape_of(self, node)]
        return [self.operand(node)]

    def _attribute(self, node: ast.expr, kind: AttrKind, what: str) -> Attribute:
        key = kind, self.spelling.text(node)
        if (attribute := self._encoded.get(key)) is None:
            try:
                attribute = kind.encode(kind.normalize(self._literal(node, kind)), self.context)
            except (AttributeProblem, SymbolError, ValueError, ir.MLIRError) as error:
                raise self.source.problem(node, f"{what}{error}") from None
            self._encoded[key] = attribute
        return attribute

    def _literal(self, node: ast.expr, kind: AttrKind) -> object:
        word = dotted(node)
        if isinstance(kind, Symbol) and word.startswith("cls."):
            return word[4:]
        if isinstance(kind, Raw) or (isinstance(node, ast.Call) and dotted(node.func).startswith("I.")):
            return self.spelling.attribute(node)
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError):
            raise ValueError(f"is a literal, not {ast.unparse(node)[:60]}") from None
