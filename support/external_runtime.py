# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What runs the parts of a program that an external codegen has made: by name, found where an artifact is loaded."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from typing import ClassVar, TypeVar

from .contract import check_contract
from .errors import RelaxError
from .plugins import announced_names, load_plugins, plugin_problems
from .registry import NamedRegistry
from .suggest import suggest

R = TypeVar("R", bound="type[ExternalRuntime]")

#: Where this project's own are; what the reference makes needs the compiler to run.
_OWN = ("relax_mlir.runtime.external", "relax_mlir.interpreter.external")


class ExternalRuntime:
    """Makes functions of the bytes of one codegen. Subclasses say how; it is made without arguments."""

    #: Where it is registered.
    name: ClassVar[str] = ""
    #: Of the bytes. Those of another one are refused, before anything runs.
    version: ClassVar[str] = "1"
    #: The codegen contract that it is written against, "1.0": one that this project does not have is refused.
    contract: ClassVar[str] = ""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of codegen '{self.name}'>"

    def load(self, data: memoryview) -> Mapping[str, Callable[..., object]]:
        """The functions by name, each `f(*inputs, *outputs)` on DLPack tensors; called once for each program.

        The memory of `data` stays while the functions live. Code that is no Python comes as a `tvm_ffi.Function`.
        """
        raise RelaxError(f"codegen '{self.name}' has no load()")

    def requires(self, data: memoryview) -> str:
        """What this machine lacks to run it, in words; empty where it lacks nothing. Asked before anything runs."""
        del data
        return ""


class CallingRuntime(ExternalRuntime):
    """One whose functions call those of other parts."""

    def link(self, functions: Mapping[str, Callable[..., object]]) -> None:
        """Told once, behind `load`: all functions of the program's parts, `part.function`."""
        raise NotImplementedError


def _import_own(name: str | None) -> None:
    """Import a runtime of this project: a module, or the module `runtime` of a package.

    The package does not import the module itself: Python raises an error where another thread imports one of the
    package's modules meanwhile.
    """
    for folder in _OWN if name is not None and name.isidentifier() else ():
        if importlib.util.find_spec(f"{folder}.{name}") is None:
            continue
        if hasattr(importlib.import_module(f"{folder}.{name}"), "__path__"):
            importlib.import_module(f"{folder}.{name}.runtime")


_RUNTIMES = NamedRegistry[type[ExternalRuntime]]("a runtime", source=_import_own, plugins="runtime")


def register_runtime(name: str) -> Callable[[R], R]:
    """Registers a subclass of ExternalRuntime under the name of its codegen; use it as a decorator.

    A codegen that loads its code itself needs none. A second class is for one whose compiler is not to be imported
    where programs run.
    """
    if not name.isidentifier():
        raise RelaxError(f"a codegen's name is a word, not {name!r}")

    def register(runtime: R) -> R:
        if not (isinstance(runtime, type) and issubclass(runtime, ExternalRuntime)):
            raise RelaxError(f"runtime '{name}' has to be a subclass of ExternalRuntime, got {runtime!r}")
        check_contract(f"runtime '{name}'", runtime.contract)
        _RUNTIMES.register(name, runtime)
        runtime.name = name
        return runtime

    return register


def find_runtime(name: str) -> type[ExternalRuntime]:
    """The runtime of a codegen: registered in this program, this project's own, or another package's."""
    found = _RUNTIMES.find(name)
    if found is None and load_plugins("codegen", name):
        found = _RUNTIMES.find(name)
    if found is None:
        known = sorted({*_RUNTIMES.names(), *announced_names("codegen")})
        listed = f"there are {', '.join(known)}" if known else "there are none"
        raise RelaxError(
            f"nothing here runs what codegen '{name}' makes{suggest(name, known)} ({listed}): import or install what "
            "registers it, or name it by --load-plugin",
            notes=plugin_problems(),
        )
    return found.thing
