# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Meaning of the names in a script: the vocabularies I, R and T, and constants of the surrounding program."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import TypeVar

from ...dialects.core.symbols import SymbolError, SymExpr
from ...dialects.script.syntax import APPLIED, dotted, names_in, operation_of, statements_within, targets_of
from ...dialects.script.words import SIGN_OF_WORD
from .common.source import ScriptError, Source
from .metadata import read_metadata

IR, RELAX, TIR = "ir", "relax", "tir"
#: Names of modules in TVM, and the corresponding vocabularies.
_VOCABULARIES = {"ir": IR, "relax": RELAX, "tir": TIR, "tirx": TIR}
#: Vocabularies without any import: the letters of print-outs, and the full names.
_USUAL = {"I": IR, "R": RELAX, "T": TIR, "ir": IR, "relax": RELAX, "tir": TIR}

Result = TypeVar("Result")

_NO_WORD = ("", "")
_CHOICES = ((TIR, "if_then_else"), (TIR, "Select"))
#: A power of more bits would take long to compute.
_MOST_BITS = 4096


class NotConstant(Exception):
    """Expression with a value that only the compiled program knows."""


class Names:
    """Names that are visible around the functions of a script."""

    def __init__(self, source: Source, around: Mapping[str, object] | None = None):
        self.source = source
        #: Local name -> "ir", "relax" or "tir".
        self.vocabularies: dict[str, str] = dict(_USUAL)
        #: Name -> a Python value: a number, text, a tuple, an array.
        self.constants: dict[str, object] = {}
        #: Names of TypeVars: sizes that all functions share.
        self.symbols: dict[str, str] = {}
        #: Python functions of constants, interpreted as such.
        self.helpers: dict[str, ast.FunctionDef] = {}
        self._around = around or {}
        #: Imported words of the vocabularies, by local name.
        self._words: dict[str, tuple[str, str]] = {}
        #: Names of the function itself. They hide constants of the surrounding program.
        self._own: set[str] = set()
        self._has_lets = "Let" in source.text

    def inside(self, function: ast.FunctionDef) -> Names:
        """Return the names as a function sees them."""
        made, taken = object.__new__(Names), function.args
        made.__dict__.update(self.__dict__)  # copy.copy takes ten times as long
        arguments = [*taken.posonlyargs, *taken.args, *taken.kwonlyargs, taken.vararg, taken.kwarg]
        made._own = {argument.arg for argument in arguments if argument is not None}
        for statement in statements_within(function.body):
            for target in targets_of(statement):
                made._own.update(names_in(target))
        for node in ast.walk(function) if self._has_lets else ():
            if isinstance(node, ast.keyword) and node.arg == "where" and isinstance(node.value, ast.Dict):  # T.Let
                made._own.update(key.id for key in node.value.keys if isinstance(key, ast.Name))
        return made

    def hide(self, name: str) -> None:
        """Mark a name as the function's own, such as a symbol in a type."""
        self._own.add(name)

    def is_around(self, name: str) -> bool:
        """Check whether a name is defined around the function, and not by the function."""
        held = (self.vocabularies, self.constants, self._around, self._words)
        return name not in self._own and any([name in names for names in held])

    def take(self, statement: ast.stmt) -> bool:
        """Read a statement outside of functions. Returns True if the statement defines a name or has no effect."""
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                word = _VOCABULARIES.get(alias.name)
                if "script" in (statement.module or "").split("."):
                    if word is not None:
                        self.vocabularies[alias.asname or alias.name] = word
                    elif alias.name == "ir_module":
                        self._words[alias.asname or alias.name] = (IR, alias.name)
            return True
        if isinstance(statement, ast.Import):
            return True
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            return True  # a docstring
        if isinstance(statement, ast.FunctionDef) and not statement.decorator_list:
            self.helpers[statement.name] = statement
            return True
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            return self._take_constant(statement.targets[0], statement.value)
        return False

    def _take_constant(self, target: ast.expr, value: ast.expr) -> bool:
        if not isinstance(target, ast.Name):
            return False
        if (called := _called(value)) is not None and called[0] == "TypeVar":
            self.symbols[target.id] = called[1]
            return True
        if called is not None and called[0] == "load_json":
            self.constants[target.id] = self.worked_out(value, read_metadata, called[1])
            return True
        try:
            self.constants[target.id] = self.constant(value)
        except NotConstant:
            return False
        return True

    def word(self, node: ast.AST) -> tuple[str, str]:
        """Return `R.nn.relu`, with or without a call, as ("relax", "nn.relu"); ("", "") for names of no vocabulary."""
        root, _, path = dotted(node.func if isinstance(node, ast.Call) else node).partition(".")
        if not path:
            return self._words.get(root, _NO_WORD)
        if (kind := self.vocabularies.get(root)) is not None:
            return _NO_WORD if root in self._own else (kind, path)
        return _word_of_tvm(path) if root == "tvm" else _NO_WORD

    def operation(self, node: ast.expr) -> tuple[str, Sequence[ast.expr]]:
        """Return the sign and the operands of a Python expression or a function of T; "" without a sign."""
        if not isinstance(node, ast.Call):
            return operation_of(node)
        kind, name = self.word(node)
        sign = SIGN_OF_WORD.get(name, "") if kind == TIR and not node.keywords else ""
        return sign, node.args if sign else ()

    def choice(self, node: ast.expr) -> Sequence[ast.expr] | None:
        """Return condition, yes and no of a conditional expression, or None."""
        if isinstance(node, ast.IfExp):
            return node.test, node.body, node.orelse
        is_choice = isinstance(node, ast.Call) and self.word(node) in _CHOICES and len(node.args) == 3
        return node.args if isinstance(node, ast.Call) and is_choice else None

    def known(self, name: str) -> object:
        """Return the constant with a name. Raises NotConstant."""
        for held in (self.constants, self._around):
            if name in held and name not in self._own:
                return held[name]
        raise NotConstant

    def constant(self, node: ast.AST) -> object:
        """Return the value of an expression of Python constants. Raises NotConstant."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple(self.constant(item) for item in node.elts)
        if isinstance(node, ast.Dict) and None not in node.keys:
            return self._dictionary(node)
        if isinstance(node, ast.Name):
            return self.known(node.id)
        if isinstance(node, (ast.UnaryOp, ast.BinOp)):
            return self.computed(node, *map(self.constant, operation_of(node)[1]))
        if isinstance(node, ast.Subscript):
            held, place = self.constant(node.value), self.constant(node.slice)
            if not isinstance(held, (tuple, list, dict)):
                raise NotConstant
            return self.worked_out(node, operator.getitem, held, place)
        if isinstance(node, ast.Call) and self.is_helped(node):
            name = ast.unparse(node.func)
            return self._helped(node, self.helpers[name]) if name in self.helpers else self._run(node, name)
        return self._of_numpy(node)

    def is_helped(self, node: ast.Call) -> bool:
        """Check whether a call is of a Python function of the surrounding program."""
        if not isinstance(node.func, ast.Name) or node.func.id in self._own:
            return False
        return node.func.id in self.helpers or isinstance(self._around.get(node.func.id), FunctionType)

    def running(self, node: ast.expr) -> Callable[..., object]:
        """Return the function of the running program that an expression names, maybe in a module.

        Raises NotConstant.
        """
        if not isinstance(found := self._object(node), FunctionType):
            raise NotConstant
        return found

    def _object(self, node: ast.expr) -> object:
        if isinstance(node, ast.Attribute):
            module = self._object(node.value)
            return getattr(module, node.attr, None) if isinstance(module, ModuleType) else None
        return self._around.get(node.id) if isinstance(node, ast.Name) and node.id not in self._own else None

    def _run(self, node: ast.Call, name: str) -> object:
        """Call a function of the running program with constants."""
        if any(keyword.arg is None for keyword in node.keywords):
            raise NotConstant
        given = list(map(self.constant, node.args))
        named = {str(keyword.arg): self.constant(keyword.value) for keyword in node.keywords}
        try:
            return self.running(node.func)(*given, **named)
        except Exception as error:  # user code may raise any error
            raise self.source.problem(node, f"'{name}' raised {type(error).__name__}: {error}") from error

    def _helped(self, node: ast.Call, helper: ast.FunctionDef) -> object:
        """Evaluate a Python function of constants: definitions of constants, then a return."""
        inside = object.__new__(Names)
        inside.__dict__.update(self.__dict__)
        inside.helpers = {name: each for name, each in self.helpers.items() if each is not helper}  # no recursion
        names = [arg.arg for arg in helper.args.args]
        given = dict(zip(names, map(self.constant, node.args), strict=False))
        given.update(
            (keyword.arg, self.constant(keyword.value)) for keyword in node.keywords if keyword.arg is not None
        )
        if len(node.args) > len(names) or set(given) != set(names):
            raise self.source.problem(node, f"'{helper.name}' takes {', '.join(names) or 'nothing'}")
        inside.constants, inside._own = {**self.constants, **given}, set()
        for statement in helper.body:
            if isinstance(statement, ast.Return) and statement.value is not None:
                return inside.constant(statement.value)
            if not inside.take(statement):
                break
        message = f"'{helper.name}' is not a function of constants: expected assignments of constants and `return`"
        raise self.source.problem(statement, message)

    def constant_in(self, node: ast.expr, where: str) -> object:
        """Return the value of a constant expression. Raises ScriptError for any other expression."""
        try:
            return self.constant(node)
        except NotConstant:
            raise self.unsupported(node, where) from None

    def unsupported(self, node: ast.expr, where: str) -> ScriptError:
        word = type(node).__name__.lower()
        return self.source.problem(node, f"this expression is not supported in {where} ({word})")

    def found(self, node: ast.AST) -> object:
        """Return the value of a constant expression, or None if it is not constant."""
        try:
            return self.constant(node)
        except NotConstant:
            return None

    def text(self, node: ast.expr) -> str:
        """Return the text that a constant expression denotes. Raises ScriptError."""
        if not isinstance(value := self.found(node), str):
            raise self.source.problem(node, "expected text")
        return value

    def _dictionary(self, node: ast.Dict) -> dict[object, object]:
        pairs = [
            (self.constant(key), self.constant(value))
            for key, value in zip(node.keys, node.values, strict=True)
            if key is not None
        ]
        return self.worked_out(node, dict, pairs)

    def computed(self, node: ast.expr, *values: object) -> object:
        """Return the result of a Python operator on constants and symbols. Raises NotConstant."""
        sign, _ = operation_of(node)
        if sign == "not":
            return not values[0]
        if not all(isinstance(value, (int, float, SymExpr)) for value in values):
            raise NotConstant
        if isinstance(node, ast.UnaryOp) and sign == "-" and isinstance(values[0], (int, float, SymExpr)):
            return -values[0]
        if not isinstance(node, ast.BinOp) or sign not in APPLIED or sign in ("**", "<<") and _is_huge(*values):
            raise NotConstant
        return self.worked_out(node, APPLIED[sign], *values)

    def worked_out(self, node: ast.AST, apply: Callable[..., Result], *constants: object) -> Result:
        """Return the result of a function of constants. Raises ScriptError."""
        try:
            made = apply(*constants)
        except (ArithmeticError, ValueError, TypeError, LookupError, SymbolError) as error:
            raise self.source.problem(node, f"this cannot be evaluated: {error}") from None
        if isinstance(made, int) and made.bit_length() > 2 * _MOST_BITS:
            raise self.source.problem(node, "this number is too large")
        return made

    def _of_numpy(self, node: ast.AST) -> object:
        """Return the constant in `float("inf")`, `np.float32(1)` or `T.int64(16)`, which are common forms."""
        if isinstance(node, ast.Call) and not node.keywords and len(node.args) == 1:
            if (word := self.word(node)) in ((IR, "meta_var"), (TIR, "int32"), (TIR, "int64")):
                value = self.constant(node.args[0])
                if word[0] == IR or isinstance(value, int):
                    return value
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            make = {"float": float, "int": int, "bool": bool}.get(name.rstrip("0123456789"))
            if make is not None and word == _NO_WORD:
                return self.worked_out(node, make, self.constant(node.args[0]))
        raise NotConstant


def _called(value: ast.expr) -> tuple[str, str] | None:
    """Return the last word and the argument of a function of one text: `TypeVar("n")`, `tvm.ir.load_json("...")`."""
    if not isinstance(value, ast.Call) or not value.args or not isinstance(value.args[0], ast.Constant):
        return None
    text = value.args[0].value
    name = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
    return (name, text) if isinstance(text, str) else None


def _word_of_tvm(path: str) -> tuple[str, str]:
    """Return the word in a path below tvm, such as `script.ir_module` or `script.tir.exp`."""
    root, _, rest = path.partition(".")
    first, _, last = rest.partition(".")
    kind = _VOCABULARIES.get(first) if last else IR
    return _NO_WORD if root != "script" or not rest or kind is None else (kind, last or first)


def _is_huge(left: object, right: object) -> bool:
    """Check whether a power or a shift of integers would have too many digits."""
    if not isinstance(left, int) or not isinstance(right, int):
        return False
    return right > _MOST_BITS or left.bit_length() * right > _MOST_BITS
