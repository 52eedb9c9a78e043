# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The vocabularies of TVMScript for Python programs: a decorated class or function becomes an rx.Module.

    from relax_mlir.script import ir as I, relax as R, tir as T

    @I.ir_module
    class MLP:
        @R.function
        def main(x: R.Tensor(("n", 784), "float32"), w: R.Tensor((784, 10), "float32")):
            return R.nn.softmax(R.matmul(x, w))

The source of what is decorated is read, its body never runs. Annotations do, as Python has it, so these words stand for
themselves there.
"""

from __future__ import annotations

import sys
from collections import ChainMap
from collections.abc import Callable
from typing import Any

from .frontends.script.module import read_script
from .frontends.script.source import Source
from .module import Module


class _Word:
    """What a script says with a vocabulary: it can be called and indexed, and means nothing to Python."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Word(f"{self._name}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def __getitem__(self, item: Any) -> Any:
        return self

    def __repr__(self) -> str:
        return self._name


class _Vocabulary(_Word):
    """The words of one kind; `decorators` are those that read what they stand before."""

    def __init__(self, name: str, decorators: tuple[str, ...]):
        super().__init__(name)
        self._decorators = decorators

    def __getattr__(self, name: str) -> Any:
        return _decorator if name in self._decorators else super().__getattr__(name)


def _decorator(item: Any = None, **options: Any) -> Any:
    """`@T.prim_func`, and with options `@T.prim_func(private=True)`."""
    frame = sys._getframe(1)
    around = ChainMap(dict(frame.f_locals), frame.f_globals)
    if item is None:
        return lambda each: _read(each, around)
    del options
    return _read(item, around)


def _read(item: type | Callable[..., Any], around: Any) -> Any:
    if "__qualname__" in around and "__module__" in around and not isinstance(item, type):
        return item  # in a class's body: the class is read, whole
    return Module(read_script(Source.of_object(item), around))


ir = _Vocabulary("I", ("ir_module",))
relax = _Vocabulary("R", ("function",))
tir = _Vocabulary("T", ("prim_func",))
