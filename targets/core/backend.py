# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interface of a target's backend: lowering stages, and code generation from the lowered module."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ...bindings.ir import Module
from ...passes.core.options import quoted
from ...passes.core.stages import Stage
from ...support.errors import RefusalError, RelaxError

if TYPE_CHECKING:
    from ...runtime.artifact import Artifact
    from .code import CodeOptions


#: Cache sizes assumed for processors with unknown caches. Processors used for computing rarely have less.
ORDINARY_CACHES = (32 << 10, 512 << 10)


@dataclass(frozen=True)
class DotInstruction:
    """Dot-product instruction: adds the products of packed narrow integers to each 32-bit accumulator.

    Types are bf16, s8, u8 for the factors, and f32, i32 for the accumulators.
    """

    #: LLVM's name of the intrinsic, which maps accumulators, left and right factors to new accumulators.
    intrinsic: str
    left: str
    right: str
    total: str
    #: Number of accumulators.
    lanes: int
    #: For tile instructions: the number of rows of left factors, each with as many groups. Otherwise 1: all
    #: accumulators share a group.
    rows: int = 1
    #: True if the instruction adds products of 16-bit pairs: it multiplies the even bytes of groups, then the odd ones.
    by_halves: bool = False

    @property
    def group(self) -> int:
        """Return the number of packed factors per accumulator."""
        return 32 // int(self.left.lstrip("bfsu"))


@dataclass(frozen=True)
class Machine:
    """Processor: instruction set, vector registers, caches and cores."""

    #: LLVM's name, such as x86_64.
    architecture: str
    #: LLVM's names, such as avx2 and neon.
    features: frozenset[str]
    vector_bytes: int
    registers: int
    #: Sizes in bytes of the data caches of a core, innermost first: private caches, then shared ones.
    caches: tuple[int, ...] = ORDINARY_CACHES
    cores: int = 1
    #: Dot-product instructions for narrow numbers.
    dots: tuple[DotInstruction, ...] = ()
    #: Shared memory of a thread block on GPUs, else 0.
    shared_bytes: int = 0
    #: Thread blocks on GPUs: maximum number of threads, threads per warp, and bytes that a thread loads or stores at
    #: once. All supported GPUs agree in these numbers, so code without access to the machine reads the defaults.
    block_threads: int = 1024
    warp: int = 32
    thread_bytes: int = 16
    #: Width of the integers of atomic compare-and-swap.
    atomic_bits: int = 64
    #: Matrix instructions of a warp, by the names that plans use.
    instructions: tuple[str, ...] = ()

    def lanes(self, bits: int) -> int:
        """Return the number of `bits`-wide numbers in a vector register."""
        return max(self.vector_bytes * 8 // bits, 1)

    @property
    def own_cache(self) -> int:
        """Return the size of the largest private cache of a core, usually the second level, or 0 without caches."""
        return self.caches[:2][-1] if self.caches else 0


@dataclass(frozen=True)
class ChosenTarget:
    """Name of a target with its options, sorted by name."""

    name: str
    options: tuple[tuple[str, str], ...] = ()

    def option(self, name: str) -> str:
        """Return an option's value, or an empty string."""
        return dict(self.options).get(name, "")

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


def check_backend(backend: object) -> None:
    """Raise RelaxError if a class is not a backend or lacks a method."""
    if not isinstance(backend, type) or not issubclass(backend, Backend):
        raise RelaxError(f"backend={backend!r}: expected a class derived from rx.Backend")
    missing = sorted(backend.__abstractmethods__)
    if missing:
        raise RelaxError(f"backend {backend.__name__} lacks {', '.join(f'{name}()' for name in missing)}")
    _check_call(backend, backend, "is made without arguments")
    for name, method in vars(Backend).items():
        own = inspect.getattr_static(backend, name)
        if inspect.isfunction(method) and inspect.isfunction(own):
            given = list(inspect.signature(method).parameters)
            _check_call(backend, own, f"is given {', '.join(given[1:])} in {name}()", *given)


def _check_call(backend: type, called: Callable[..., object], expected: str, *given: str) -> None:
    try:
        inspect.signature(called).bind(*given)
    except TypeError as error:
        raise RelaxError(f"backend {backend.__name__} {expected}: {error}") from None
