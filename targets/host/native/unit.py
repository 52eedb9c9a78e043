# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Unit of the library from a module of host functions.

Its identity and its signatures need no reading of functions. Its text is emitted when it is compiled.

An object of the cache belongs to the unit's identity, which its sources determine. A unit without an object has new
sources, so the emission of its text checks all of them.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
from functools import cached_property, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from ....support.errors import ModelError
from . import types
from .function_reader import function_text
from .language import Function
from .symbols import PREFIX, Symbols, is_elsewhere, pointers_text, symbol_of

#: Scopes of functions that a unit has whether it uses them or not.
_ROOTS = ("library", "exported", "copied", "unload")
_LIBRARY = Path(__file__).parent.parent / "library"


class LibraryUnit:
    """Module of host functions as a unit."""

    def __init__(self, module: str, architecture: str = "") -> None:
        """Create the unit. The architecture is for units that ask for it."""
        self._module, self._architecture = module, architecture

    @cached_property
    def _source(self) -> str:
        return Path(_file_of(self._module)).read_text(encoding="utf-8")

    @cached_property
    def identity(self) -> bytes:
        """Return bytes that change with the sources of the unit's folder and of the library, such as structs."""
        folders = dict.fromkeys((_LIBRARY, Path(_file_of(self._module)).parent))
        return " ".join([self._module, self._architecture, *map(_digest, folders)]).encode()

    @cached_property
    def own_functions(self) -> list[Function[..., Any]]:
        """Return the functions that the module defines."""
        module = importlib.import_module(self._module)
        return [function for function in _functions(module) if not is_elsewhere(function, self._module)]

    def mentions(self, symbol: str) -> bool:
        """Check whether the source may define a function. Does not import the module."""
        name = symbol.removeprefix(PREFIX)
        return f"def {name}(" in self._source or f"\n{name} = " in self._source

    @cached_property
    def signatures(self) -> dict[str, tuple[tuple[str, ...], str]]:
        """Return the operand types and the result of each function for programs, in the LLVM dialect."""
        shared = [function for function in self.own_functions if function.scope in ("library", "copied")]
        return {symbol_of(function): _signature(function) for function in shared}

    @cached_property
    def c_functions(self) -> list[str]:
        """Return the declarations of the C functions that the module declares."""
        symbols = Symbols(self._module, self._architecture)
        for function in _functions(importlib.import_module(self._module)):
            if function.scope == "C" and function.python.__module__ == self._module:
                symbols.function(function)
        return [text.rstrip() for text in symbols.texts.values()]

    @cached_property
    def declared(self) -> frozenset[str]:
        """Return the library functions of other units that the module, or a module of local functions, may use."""
        modules = {self._module: None}
        for name in modules.copy():
            modules |= {function.python.__module__: None for function in _functions(importlib.import_module(name))
                        if function.scope == "local"}  # fmt: skip
        used = [function for name in modules for function in _functions(importlib.import_module(name))]
        return frozenset(symbol_of(function) for function in used if function.scope == "library") - {*self.signatures}

    @cached_property
    def text(self) -> str:
        """Return the unit's text in the LLVM dialect. Raise ModelError for a function that cannot be read."""
        symbols = Symbols(self._module, self._architecture)
        roots = [function for function in self.own_functions if function.scope in _ROOTS]
        for function in roots:
            symbols.function(function)
        bodies: dict[str, str] = {}
        while waiting := [symbol for symbol in symbols.functions if symbol not in bodies]:
            for symbol in waiting:
                function = symbols.functions[symbol]
                _signature(function)
                bodies[symbol] = function_text(symbols, function, _definition(function))
        unloads = [symbol_of(function) for function in roots if function.scope == "unload"]
        shown = [text for symbol, text in symbols.texts.items() if symbol not in bodies]
        return "".join([*shown, *bodies.values(), *map(_unload_text, unloads)])


def _unload_text(symbol: str) -> str:
    """Return the text that runs a function when the program is unloaded.

    Written to the sections directly: the JIT engine reserves llvm.global_dtors for itself. The loader runs the
    finalizers only of objects that have an initializer.
    """
    begin, at_load, at_unload = f"{PREFIX}load", f"{PREFIX}at_load", f"{PREFIX}at_unload"
    sections = [(at_load, ".init_array", begin), (at_unload, ".fini_array", symbol)]
    texts = [
        pointers_text(f'internal constant @{name}() {{alignment = 8 : i64, section = "{section}"}}', [function])
        for name, section, function in sections
    ]
    used = pointers_text('appending @llvm.used() {section = "llvm.metadata"}', [at_load, at_unload])
    return "".join([f"llvm.func internal @{begin}() {{\nllvm.return\n}}\n", *texts, used])


def _functions(module: ModuleType) -> list[Function[..., Any]]:
    return [value for value in vars(module).values() if isinstance(value, Function)]


def _signature(function: Function[..., Any]) -> tuple[tuple[str, ...], str]:
    inputs, result, _ = function.signature
    for type_ in (*inputs, *([] if result is None else [result])):
        if not types.is_value_type(type_):
            raise function.refuse(f"{types.type_name(type_)} is no type of a value")
    return tuple(map(types.llvm_type, inputs)), types.llvm_type(result) or "void"


def _file_of(module: str) -> str:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ModelError(f"host functions: there is no module '{module}'")
    return spec.origin


def _digest(folder: Path) -> str:
    digest = hashlib.blake2b(digest_size=20)
    for file in sorted(folder.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _definition(function: Function[..., Any]) -> ast.FunctionDef:
    code = function.python.__code__
    return _definitions(code.co_filename)[code.co_firstlineno]


@lru_cache(maxsize=64)
def _definitions(file: str) -> dict[int, ast.FunctionDef]:
    """Return the functions of a file by the lines of their first decorators."""
    tree = ast.parse(Path(file).read_bytes())
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.decorator_list)
    return {node.decorator_list[0].lineno: node for node in functions}
