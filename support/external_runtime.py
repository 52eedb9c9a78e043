# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runtimes for the parts of external codegens, found by name when an artifact is loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, TypeVar

from .contract import check_contract
from .errors import RelaxError
from .plugins import announced_names, load_plugins, missing_plugin, plugin_problems
from .registry import NamedRegistry
from .suggest import suggest

R = TypeVar("R", bound="type[ExternalRuntime]")


class ExternalRuntime:
    """Loader for the bytes of one codegen. Subclasses implement `load`, and are created without arguments."""

    #: Name under which the runtime is registered.
    name: ClassVar[str] = ""
    #: Version of the bytes. Bytes of other versions are refused before anything runs.
    version: ClassVar[str] = "1"
    #: Codegen contract of the runtime, such as "1.0". Incompatible contracts are refused.
    contract: ClassVar[str] = ""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of codegen '{self.name}'>"

    def load(self, data: memoryview) -> Mapping[str, Callable[..., object]]:
        """Return the functions by name, each `f(*inputs, *outputs)` on DLPack tensors.

        Called once per program.

        The memory of `data` lives as long as the functions. Native code is returned as `tvm_ffi.Function`.
        """
        raise RelaxError(f"codegen '{self.name}' has no load()")

    def requires(self, data: memoryview) -> str:
        """Describe the requirements that this machine does not meet, or return "". Called before anything runs."""
        del data
        return ""

    def list_devices(self) -> Sequence[str]:
        """Return a description of each device for `relax-run --list-devices`.

        Raises DeviceError with the reason if there is no device.
        """
        return ()


class CallingRuntime(ExternalRuntime):
    """Runtime whose functions call functions of other parts."""

    def link(self, functions: Mapping[str, Callable[..., object]]) -> None:
        """Receive all functions of the program's parts as `part.function`. Called once, after `load`."""
        raise NotImplementedError


_RUNTIMES = NamedRegistry[type[ExternalRuntime]]("a runtime", plugins="runtime")


def register_runtime(name: str) -> Callable[[R], R]:
    """Register a subclass of ExternalRuntime under its codegen's name, as a decorator.

    A codegen that loads its own code needs no runtime. A separate runtime avoids importing the compiler where programs
    run.
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
    """Return the runtime of a codegen: registered by the program, by this project or by another package.

    Raises RelaxError if there is none.
    """
    found = _RUNTIMES.find(name)
    if found is None and load_plugins("codegen", name):
        found = _RUNTIMES.find(name)
    if found is None:
        known = sorted({*_RUNTIMES.names(), *announced_names("codegen")})
        listed = f"there are {', '.join(known)}" if known else "there are none"
        raise RelaxError(
            f"nothing here runs what codegen '{name}' makes{suggest(name, known)} ({listed}): import or install what "
            "registers it, or name it by --load-plugin",
            notes=[*filter(None, [missing_plugin(f"target.{name}")]), *plugin_problems()],
        )
    return found.thing


def all_runtimes() -> list[type[ExternalRuntime]]:
    """Return the runtimes that plug-ins announce or programs registered, sorted by name."""
    return [each.thing for each in _RUNTIMES.all()]
