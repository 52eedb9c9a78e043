# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegens of products for tests: a fast one, a slow one, and some that hang, crash, or compute wrong numbers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

import numpy
import relax_mlir as rx
from relax_mlir.codegens import CodegenOption
from relax_mlir.patterns import is_op, wildcard

Function = Callable[..., None]


class Products(rx.codegens.Codegen):
    """Products by NumPy. Data are the functions' names, and the value of an option."""

    option: ClassVar[str] = ""

    def compile(self, module: Any, options: Mapping[str, object]) -> bytes:
        return " ".join([str(options.get(self.option, "-")), *self.functions(module)]).encode()

    def load(self, data: Any) -> dict[str, Function]:
        value, *names = bytes(data).decode().split()
        return dict.fromkeys(names, lambda *tensors: self.call(value, *map(numpy.from_dlpack, tensors)))

    @staticmethod
    def call(value: str, x: Any, w: Any, result: Any) -> None:
        numpy.matmul(x, w, out=result)


def product(name: str) -> list[Any]:
    return [(f"{name}.product", is_op("relax.matmul")(wildcard().named("x"), wildcard().named("w")))]


@rx.codegens.register_codegen("quick")
class Quick(Products):
    """Products that take no time: the result is the first rows of x. Tests compare with a model of such weights."""

    patterns = product("quick")
    separate = True

    @staticmethod
    def call(value: str, x: Any, w: Any, result: Any) -> None:
        result[...] = x


@rx.codegens.register_codegen("slow")
class Slow(Products):
    """Products that take long."""

    patterns = product("slow")
    separate = True

    @staticmethod
    def call(value: str, x: Any, w: Any, result: Any) -> None:
        time.sleep(0.02)
        numpy.matmul(x, w, out=result)


@rx.codegens.register_codegen("optional")
class Optional(Products):
    """Products that are quick with an option. Another value of the option is as quick, and wrong."""

    patterns = product("optional")
    separate = True
    options: ClassVar[Mapping[str, CodegenOption | str]] = {
        "mode": CodegenOption("how to compute", Literal["slow", "rough", "quick"], "slow")
    }
    option = "mode"

    @staticmethod
    def call(value: str, x: Any, w: Any, result: Any) -> None:
        if value == "slow":
            time.sleep(0.0003)
        result[...] = x * (1.01 if value == "rough" else 1)


@rx.codegens.register_codegen("crashing")
class Crashing(Products):
    """Products that end the process."""

    patterns = product("crashing")
    separate = True

    @staticmethod
    def call(value: str, x: Any, w: Any, result: Any) -> None:
        os.abort()


@rx.codegens.register_codegen("hanging")
class Hanging(Products):
    """Products that never end."""

    patterns = product("hanging")
    separate = True

    @staticmethod
    def call(value: str, x: Any, w: Any, result: Any) -> None:
        time.sleep(3600)


@rx.codegens.register_codegen("wrong")
class Wrong(Products):
    """Products that are quick and wrong."""

    patterns = product("wrong")
    separate = True

    @staticmethod
    def call(value: str, x: Any, w: Any, result: Any) -> None:
        result[...] = 0


@rx.codegens.register_codegen("tangent")
class Tangent(Products):
    """Tangents by NumPy, which take long."""

    patterns: ClassVar[list[Any]] = [("tangent.tanh", is_op("relax.tanh")(wildcard().named("x")))]
    separate = True

    def load(self, data: Any) -> dict[str, Function]:
        def run(x: Any, result: Any) -> None:
            time.sleep(0.02)
            numpy.tanh(numpy.from_dlpack(x), out=numpy.from_dlpack(result))

        return dict.fromkeys(bytes(data).decode().split()[1:], run)
