# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vocabularies of TVMScript for Python programs: a decorated class or function becomes an rx.Module.

    from relax_mlir.script import ir as I, relax as R, tir as T

    @I.ir_module
    class MLP:
        @R.function
        def main(x: R.Tensor(("n", 784), "float32"), w: R.Tensor((784, 10), "float32")):
            return R.nn.softmax(R.matmul(x, w))

The source of the decorated object is read, and a function's body never runs. Python evaluates annotations and the
statements of a class, so the words evaluate to placeholders there. Other dialects' words can be imported as well:
`from relax_mlir.script import llvm`.
"""

from __future__ import annotations

import linecache
import sys
from collections import ChainMap
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from ..bindings.context import UPSTREAM_DIALECTS
from ..dialects.core.dialect import registered_dialects
from ..support.suggest import suggest
from .module import Module
from .script.common.source import Source
from .script.module import read_script

# Operators that may connect words.
_SIGNS = "add sub mul matmul truediv floordiv mod pow lshift rshift and xor or".split()
_OTHER_SIGNS = ("neg", "pos", "invert", "lt", "le", "gt", "ge", "getitem", "setitem", "enter", "call")


class _Word:
    """Placeholder for a word of a vocabulary. Every operation on it is allowed and has no effect."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Word(f"{self._name}.{name}")

    def __exit__(self, *exception: object) -> None:
        pass

    def __repr__(self) -> str:
        return self._name


for _sign in (*_SIGNS, *(f"r{sign}" for sign in _SIGNS), *_OTHER_SIGNS):
    setattr(_Word, f"__{_sign}__", lambda self, *others, **named: self)


class _Vocabulary(_Word):
    """Words of one kind. `decorators` are the names that read the decorated object."""

    def __init__(self, name: str, decorators: tuple[str, ...]):
        super().__init__(name)
        self._decorators = decorators

    def __getattr__(self, name: str) -> Any:
        return _decorator if name in self._decorators else super().__getattr__(name)


def _decorator(item: type | Callable[..., object] | None = None, **options: object) -> object:
    """Read a decorated object: `@T.prim_func`, or with options `@T.prim_func(private=True)`."""
    frame = sys._getframe(1)
    around = ChainMap(dict(frame.f_locals), frame.f_globals)
    in_module = _is_in_module(frame, around)
    if item is None:
        return lambda each: _read(each, around, in_module=in_module)
    del options
    return _read(item, around, in_module=in_module)


def _is_in_module(frame: FrameType, around: Mapping[str, object]) -> bool:
    """Check whether the running code is the body of a class that is a module itself."""
    is_class = "__qualname__" in around and "__module__" in around
    return is_class and "ir_module" in linecache.getline(frame.f_code.co_filename, frame.f_code.co_firstlineno)


def _read(item: type | Callable[..., object], around: Mapping[str, object], *, in_module: bool) -> object:
    if in_module or ("__qualname__" in around and "__module__" in around and not isinstance(item, type)):
        return item  # the decorator of the class reads the whole class
    return Module(read_script(Source.of_object(item), around))


def __getattr__(name: str) -> Any:
    known = (*registered_dialects(), *UPSTREAM_DIALECTS)
    if name in known:
        return _Word(name)
    raise AttributeError(f"there is no dialect '{name}'{suggest(name, known)}")


ir = _Vocabulary("I", ("ir_module",))
relax = _Vocabulary("R", ("function",))
tir = _Vocabulary("T", ("prim_func",))
