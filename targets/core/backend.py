# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interface of a target's backend: lowering stages, and code generation from the lowered module."""

from __future__ import annotations

import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ...bindings.ir import Module
from ...passes.core.options import quoted
from ...passes.core.stages import Stage
from ...support.errors import OptionError, RefusalError, RelaxError
from .machine import Machine

if TYPE_CHECKING:
    from ...runtime.artifact import Artifact
    from .code_options import CodeOptions


@dataclass(frozen=True)
class ChosenTarget:
    """Name of a target with its options, sorted by name."""

    name: str
    options: tuple[tuple[str, str], ...] = ()

    def option(self, name: str) -> str:
        """Return an option's value, or an empty string."""
        return dict(self.options).get(name, "")

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """Return a numeric option, a power of two unless it is a number of bytes. Raise OptionError for others."""
        text, is_size = self.option(name) or str(default), name == "shared"
        if not text.isdigit() or not least <= int(text) <= most or (not is_size and int(text) & (int(text) - 1)):
            what = "a number" if is_size else "a power of two"
            raise OptionError(f"target '{self}': option '{name}' expects {what} from {least} to {most}, got '{text}'")
        return int(text)

    def on_host(self, own: Iterable[str]) -> ChosenTarget:
        """Return the target llvm for a device's host, without the device's own options."""
        names = set(own)
        return ChosenTarget("llvm", tuple(each for each in self.options if each[0] not in names))

    @property
    def options_text(self) -> str:
        """Return the options in braces, or an empty string."""
        shown = " ".join(f"{name}={quoted(value)}" for name, value in self.options)
        return f"{{{shown}}}" if shown else ""

    def __str__(self) -> str:
        return self.name + self.options_text


class Backend(ABC):
    """Code generation of a target: `rx.Target("mynpu", backend=MyBackend)`.

    A backend is created once, without arguments. Its methods receive the chosen target with its options, and modules
    as MLIR's `ir.Module`. Call `rx.find_backend("llvm")` to reuse the backend of another target.
    """

    #: For backends that emit source files: True if the backend also builds loadable programs.
    makes_both: ClassVar[bool] = False

    def __repr__(self) -> str:
        return f"<backend {type(self).__name__}>"

    @abstractmethod
    def machine(self, target: ChosenTarget) -> Machine:
        """Return the processor that loops are planned for. Raise RelaxError for invalid option values."""

    @abstractmethod
    def stages(self, target: ChosenTarget) -> Sequence[Stage]:
        """Return the lowering stages in order. Raise RelaxError for invalid option values."""

    @abstractmethod
    def build(self, module: Module, target: ChosenTarget, options: CodeOptions) -> Artifact:
        """Build the program of a lowered module, which may be modified.

        Raises RelaxError if no code can be generated. Equal modules, targets and levels must give equal bytes.
        """

    def clock(self, target: ChosenTarget) -> Callable[[], float] | None:
        """Return the device's own clock for measurements: a function that returns seconds. None: this machine's clock.

        A clock that counts cycles, as that of a simulated device, gives equal times for equal calls.
        """
        return None

    def recipe(self, target: ChosenTarget) -> object | None:
        """Return the rx.Recipe by which rx.quantize quantizes models for the target, or None."""
        return None

    #: Folder of tuned kernels that come with the target (relax-tune), or empty.
    tuned_folder: ClassVar[str] = ""
    #: Stage after which kernels may be separated from a module; empty for targets that lower the module as a whole.
    separates_after: ClassVar[str] = ""

    def separate(
        self, module: Module, stages: Sequence[Stage], target: ChosenTarget, options: CodeOptions
    ) -> AbstractContextManager[object] | None:
        """Move kernels out of a module to compile them separately, if this is faster.

        `stages` are the remaining stages.

        `build` finds the returned object in its options. The object is closed when the program is finished or fails.
        """
        return None

    def prepare(self, target: ChosenTarget, options: CodeOptions) -> None:  # noqa: B027  # not abstract: may stay
        """Prepare resources for `build` early, such as processes, while a large module is being read."""

    def complete(self, module: Module, target: ChosenTarget) -> None:  # noqa: B027  # not abstract: may stay
        """Add to a lowered module the operations that `build` would add, for inspection: `relax-compile
        --emit=llvm`."""

    def assembly(self, module: Module, target: ChosenTarget, options: CodeOptions) -> str:
        """Return the code of a lowered module as text, for inspection. Raise RelaxError if there is none."""
        raise RefusalError(f"target '{target}' makes no assembly: --emit=obj or --emit=artifact may do")

    def sources(self, module: Module, target: ChosenTarget, version: str) -> dict[str, str | bytes]:
        """Return the program of a lowered module as source files, by name. Raise RelaxError if there are none."""
        raise RefusalError(f"target '{target}' makes no source files: --emit=artifact, the default, makes a program")


#: Prefix of the files of tuned programs, which are in the same folder (compilation/tuned_programs.py).
TUNED_PROGRAM = "program-"


def tuned_names(folder: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Return the files of a folder of tuned kernels, by key. Raise RelaxError if the folder cannot be read."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise RelaxError(f"tuned kernels in '{os.fspath(folder)}' cannot be read: {error.strerror}") from None
    found: dict[str, list[str]] = {}
    for name in names:
        # kernel-key-architecture-bits-cache.json: the kernel's name may have dashes too
        is_program = name.startswith(TUNED_PROGRAM) and name.count("-") > 4
        if name.endswith(".json") and name.count("-") > 3 and not is_program:
            found.setdefault(name.rsplit("-", 4)[1], []).append(name)
    return found


def check_backend(backend: object) -> None:
    """Raise RelaxError if a class is not a backend or lacks a method."""
    if not isinstance(backend, type) or not issubclass(backend, Backend):
        raise RelaxError(f"backend={backend!r}: expected a class derived from rx.Backend")
    if missing := sorted(backend.__abstractmethods__):
        raise RelaxError(f"backend {backend.__name__} lacks {', '.join(f'{name}()' for name in missing)}")
    _check_call(backend, backend, "is made without arguments")
    for name, method in vars(Backend).items():
        own = inspect.getattr_static(backend, name)
        if inspect.isfunction(method) and inspect.isfunction(own):
            parameters = list(inspect.signature(method).parameters)
            _check_call(backend, own, f"is given {', '.join(parameters[1:])} in {name}()", *parameters)


def _check_call(backend: type, called: Callable[..., object], expected: str, *given: str) -> None:
    try:
        inspect.signature(called).bind(*given)
    except TypeError as error:
        raise RelaxError(f"backend {backend.__name__} {expected}: {error}") from None
