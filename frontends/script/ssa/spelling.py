# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types and attributes in the form that dialects/script prints. Each text is read once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping

from ....bindings.ir import Attribute, Context, Operation, Type
from ....bindings.mlir import DYNAMIC, ir, parse_attribute, parse_type
from ....dialects.core.codec import TypeProblem, element_type, encode
from ....dialects.core.infos import DTYPE_BY_NAME, ObjectInfo, ShapeInfo, TensorInfo, dtype_name
from ....dialects.core.operator import Operator
from ....dialects.core.symbols import Dim, SymbolError, parse
from ....dialects.script.syntax import dotted, expression_at, text_of
from ....dialects.script.words import case_form
from ..common.source import Source

_TENSORS = frozenset({"R.Tensor", "T.Tensor"})
_SHAPED = _TENSORS | {"T.Buffer", "T.Vector"}
#: Words that denote a type, with arguments or without.
TYPE_CALLS = _SHAPED | {"I.type", "R.Shape"}
#: Range of a 64-bit integer.
I64 = range(-(2**63), 2**63)
_VECTOR = re.compile(r"([a-z]+\d*(?:_\w+?)?)x(\d+)")


def is_number(node: ast.expr) -> bool:
    """Check whether an expression is a number literal, which takes its type from the context."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))


def is_typed_number(node: ast.expr) -> bool:
    """Check for a number with a type, such as `T.float32(1.0)`."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or not is_number(node.args[0]):
        return False
    return dotted(node.func).startswith("T.")


def number_of(node: ast.expr) -> int | float:
    """Return the value of a number literal."""
    if isinstance(node, ast.UnaryOp):
        return -number_of(node.operand)
    assert isinstance(node, ast.Constant) and isinstance(node.value, (int, float))
    return node.value


class Spelling:
    """Meaning of the types and attributes in one script."""

    def __init__(self, source: Source, context: Context, shortened: Mapping[str, str]):
        self.source, self.context = source, context
        self.resources: dict[str, Attribute] = {}
        #: Operators by the words that calls have used so far.
        self.operators: dict[str, Operator] = {}
        self._types: dict[str, Type] = {}
        # Types by the names that replace their texts.
        self._shortened = shortened
        self._attributes: dict[str, Attribute] = {}
        self._is_plain = source.text.isascii()
        self._i64 = ir.IntegerType.get_signless(64, context)

    def text(self, node: ast.expr) -> str:
        """Return the text of a node. Nodes with the same meaning have the same text."""
        if self._is_plain and node.lineno == node.end_lineno:
            return self.source.lines[node.lineno - 1][node.col_offset : node.end_col_offset]
        return ast.unparse(node)

    # ---- types ----

    def is_type(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call):
            return dotted(node.func) in TYPE_CALLS
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            return False
        return node.value.id == "T" or (node.value.id == "R" and node.attr == "Object")

    def type(self, node: ast.expr) -> Type:
        """Return the type that an expression denotes. Raises ScriptError."""
        text = node.id if isinstance(node, ast.Name) else self.text(node)
        if (found := self._types.get(text)) is None:
            try:
                found = self._types[text] = self._type(self._in_full(node, text))
            except (TypeProblem, SymbolError, ValueError, ir.MLIRError) as error:
                raise self.source.problem(node, f"this is not a type: {error}") from None
        return found

    def _in_full(self, node: ast.expr, text: str) -> ast.expr:
        if text not in self._shortened:
            return node
        try:
            return expression_at(node, self._shortened[text])
        except SyntaxError as error:
            raise self.source.problem(node, f"this is not Python: {error.msg}") from None

    def _type(self, node: ast.expr) -> Type:
        word = dotted(node.func) if isinstance(node, ast.Call) else dotted(node)
        if isinstance(node, ast.Call) and word in TYPE_CALLS:
            return self._type_of_call(node, word)
        letter, _, name = word.partition(".")
        if word == "R.Object":
            return encode(ObjectInfo(), self.context)
        if letter != "T" or isinstance(node, ast.Call):
            raise self.source.problem(node, "this is not a type", sorted({*TYPE_CALLS, "R.Object"}), word)
        if (vector := _VECTOR.fullmatch(name)) is not None:
            return self._shaped("T.Vector", (int(vector.group(2)),), vector.group(1))
        return element_type(name, self.context)

    def _type_of_call(self, node: ast.Call, word: str) -> Type:
        if node.keywords:
            raise self.source.problem(node.keywords[0].value, f"{word} takes no argument '{node.keywords[0].arg}'")
        if word == "I.type":
            (text,) = self.strings(node, 1)
            return parse_type(text, self.context)
        if word == "R.Shape":
            return encode(ShapeInfo(self.dims(node.args[0]) if node.args else None), self.context)
        *shape, element = node.args or [node]
        if (name := text_of(element)) is None or len(shape) > 1:
            raise self.source.problem(node, f'{word} takes a shape and an element type: {word}((4, "n"), "float32")')
        if not shape and word in _TENSORS:
            return encode(TensorInfo(None, dtype_name(name) or ""), self.context)
        return self._shaped(word, self.dims(shape[0]) if shape else (), name)

    def _shaped(self, word: str, dims: tuple[Dim, ...], element: str) -> Type:
        if word in _TENSORS:
            return encode(TensorInfo(dims, DTYPE_BY_NAME.get(element, element)), self.context)
        sizes = [dim if isinstance(dim, int) else DYNAMIC for dim in dims]
        if any(size not in I64 for size in sizes):
            raise ValueError("a size has 63 bits at most")
        made = ir.VectorType if word == "T.Vector" else ir.MemRefType
        with ir.Location.unknown(self.context):
            return made.get(sizes, element_type(element, self.context))

    def dims(self, node: ast.expr) -> tuple[Dim, ...]:
        """Return the sizes in a tuple: numbers, and texts with symbols."""
        if not isinstance(node, (ast.Tuple, ast.List)):
            raise self.source.problem(node, 'a shape must be a tuple: (4, "n")')
        return tuple(self._dim(item) for item in node.elts)

    def _dim(self, node: ast.expr) -> Dim:
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, str):
            return None if value == "?" else parse(value)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.source.problem(node, 'a size must be a number or text: (4, "n", "2 * n", "?")')
        return value

    def strings(self, node: ast.Call, *counts: int) -> list[str]:
        """Return the arguments of a call that takes text only."""
        texts = [text for arg in node.args if (text := text_of(arg)) is not None]
        if len(texts) != len(node.args) or len(texts) not in counts or node.keywords:
            takes = " or ".join(map(str, counts))
            raise self.source.problem(node, f"{dotted(node.func)} takes {takes} arguments of text")
        return texts

    # ---- attributes ----

    def attribute(self, node: ast.expr) -> Attribute:
        """Return the attribute that an expression denotes. Raises ScriptError."""
        text = self.text(node)
        if (found := self._attributes.get(text)) is None:
            try:
                found = self._attributes[text] = self._attribute(node)
            except (ValueError, OverflowError, ir.MLIRError) as error:
                raise self.source.problem(node, f"this is not an attribute: {error}") from None
        return found

    def attribute_of(self, operation: str, name: str, node: ast.expr) -> Attribute:
        """Return an attribute of an operation. Text may be the name of an enum case."""
        form, text = case_form(operation, name), text_of(node)
        return self.parsed(node, form.format(text)) if form and text is not None else self.attribute(node)

    def parsed(self, node: ast.expr, text: str) -> Attribute:
        """Return the attribute that MLIR text spells."""
        try:
            return parse_attribute(text, self.context)
        except ValueError as error:
            raise self.source.problem(node, f"this is not an attribute: {error}") from None

    def _attribute(self, node: ast.expr) -> Attribute:
        if is_number(node):
            return self._number(number_of(node))
        if (text := text_of(node)) is not None:
            return ir.StringAttr.get(text, self.context)
        if isinstance(node, ast.Tuple):
            return ir.DenseI64ArrayAttr.get([self._integer(item) for item in node.elts], self.context)
        if isinstance(node, ast.List):
            return ir.ArrayAttr.get([self.attribute(item) for item in node.elts], self.context)
        if isinstance(node, ast.Dict):
            return ir.DictAttr.get(self.dictionary(node), self.context)
        if self.is_type(node):
            return ir.TypeAttr.get(self.type(node), self.context)
        word = dotted(node.func) if isinstance(node, ast.Call) else dotted(node)
        if isinstance(node, ast.Call) and word == "I.attr":
            return parse_attribute(self.strings(node, 1)[0], self.context)
        if isinstance(node, ast.Call) and word == "I.resource":
            return self._resource(node)
        if word == "I.unit" and isinstance(node, ast.Attribute):
            return ir.UnitAttr.get(self.context)
        if word.startswith("cls.") and word.count(".") == 1 and isinstance(node, ast.Attribute):
            return ir.FlatSymbolRefAttr.get(word[4:], self.context)
        raise self.source.problem(node, 'this is not an attribute: a literal, a type, cls.name or I.attr("...")')

    def _number(self, value: int | float) -> Attribute:
        if isinstance(value, bool):
            return ir.BoolAttr.get(value, self.context)
        if isinstance(value, int):
            return ir.IntegerAttr.get(self._i64, self._checked(value))
        with ir.Location.unknown(self.context):
            return ir.FloatAttr.get(ir.F64Type.get(self.context), value)

    def _integer(self, node: ast.expr) -> int:
        value = number_of(node) if is_number(node) else None
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.source.problem(node, "a tuple among attributes has integers; a list has attributes")
        return self._checked(value)

    @staticmethod
    def _checked(value: int) -> int:
        if value not in I64:
            raise ValueError(f'{value} has more than 64 bits; I.attr("{value} : i128") has its own type')
        return value

    def dictionary(self, node: ast.expr) -> dict[str, Attribute]:
        """Return attributes by name."""
        if not isinstance(node, ast.Dict):
            raise self.source.problem(node, 'expected a dictionary of attributes: {"name": value}')
        attributes: dict[str, Attribute] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if (name := text_of(key)) is None:
                raise self.source.problem(key or node, "an attribute's name must be text")
            attributes[name] = self.attribute(value)
        return attributes

    def check_held(self, node: ast.AST, operation: Operation, attributes: Iterable[str]) -> None:
        """Check that an operation has the attributes.

        MLIR silently drops an attribute of the wrong kind, and may crash later because it is missing.
        """
        held = operation.attributes
        if (lost := next((name for name in attributes if name not in held), None)) is not None:
            raise self.source.problem(node, f"'{operation.name}' has another kind of attribute '{lost}'")

    def elements(self, node: ast.expr, stated: ast.expr) -> Attribute:
        """Return nested lists of numbers with an element type as an attribute, or one number with a tensor type."""
        if (element := text_of(stated)) is not None:
            shape: list[int] = []
            inner = node
            while isinstance(inner, ast.List) and inner.elts:
                shape.append(len(inner.elts))
                inner = inner.elts[0]
            type_ = self._tensor(stated, tuple(shape), element)
        else:
            type_ = self.type(stated)
        text = self._elements_text(node)
        try:
            return parse_attribute(f"dense<{'' if text == '[]' else text}> : {type_}", self.context)
        except ValueError as error:
            raise self.source.problem(node, f"these are not elements of {type_}: {error}") from None

    def _tensor(self, node: ast.expr, shape: tuple[int, ...], element: str) -> Type:
        try:
            return encode(TensorInfo(shape, DTYPE_BY_NAME.get(element, element)), self.context)
        except TypeProblem as problem:
            raise self.source.problem(node, str(problem)) from None

    def _elements_text(self, node: ast.expr) -> str:
        if isinstance(node, ast.List):
            return f"[{', '.join(self._elements_text(item) for item in node.elts)}]"
        if not is_number(node):
            raise self.source.problem(node, "the elements of a constant are numbers, or lists of numbers")
        value = number_of(node)
        return str(value).lower() if isinstance(value, int) else f"{value:.17e}"

    # ---- large constants ----

    def _resource(self, node: ast.Call) -> Attribute:
        (name,) = self.strings(node, 1)
        if name not in self.resources:
            hint = f'I.resource("{name}", ...) at the end of the module gives its elements'
            raise self.source.problem(node, f"there is no resource '{name}': {hint}", self.resources, name)
        return self.resources[name]

    def take_resource(self, node: ast.Call) -> None:
        """Read `I.resource(name, attribute)`, a resource without bytes."""
        name, text = self.strings(node, 2)
        try:
            self.resources[name] = parse_attribute(text, self.context)
        except ValueError as error:
            raise self.source.problem(node, f"resource '{name}': {error}") from None
