# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a target's backend must have: the stages that lower a module for it, and how code is made of what they leave."""

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


#: What is assumed of a processor with unknown caches: hardly any that computes has less.
ORDINARY_CACHES = (32 << 10, 512 << 10)


@dataclass(frozen=True)
class DotInstruction:
    """What puts to each of some 32-bit sums the products of neighbours, narrow numbers that fill 32 bits together.

    Types are bf16, s8, u8 for the factors, f32, i32 for the sums.
    """

    #: LLVM's name of it: of the sums, the left factors and the right ones it makes the sums.
    intrinsic: str
    left: str
    right: str
    total: str
    #: How many sums.
    lanes: int
    #: Of tiles: for how many rows of left factors, each of as many groups. Without, a group that all sums share.
    rows: int = 1
    #: Whether it sums products of pairs of 16 bits: it takes the even bytes of groups, and then the odd ones.
    by_halves: bool = False

    @property
    def group(self) -> int:
        """How many neighbours."""
        return 32 // int(self.left.lstrip("bfsu"))


@dataclass(frozen=True)
class Machine:
    """A processor: what it is, how long and how many its vector registers are, its caches and cores."""

    #: By LLVM's name: x86_64.
    architecture: str
    #: By LLVM's names: avx2, neon.
    features: frozenset[str]
    vector_bytes: int
    registers: int
    #: Bytes of the data caches that a core reaches, innermost first: its own, then those that it shares.
    caches: tuple[int, ...] = ORDINARY_CACHES
    cores: int = 1
    #: What it has for sums of products of narrow numbers.
    dots: tuple[DotInstruction, ...] = ()
    #: What a block of threads has of shared memory, where there are such blocks: a GPU's.
    shared_bytes: int = 0
    #: Of such a block: the most threads, those that go in step, and the bytes that one reads or writes at once. All
    #: GPUs that there is code for are alike in this: what is not given the machine reads the defaults.
    block_threads: int = 1024
    warp: int = 32
    thread_bytes: int = 16
    #: Of the integers that an atomic operation compares.
    atomic_bits: int = 64
    #: The instructions by which a warp multiplies tiles, as plans name them.
    instructions: tuple[str, ...] = ()

    def lanes(self, bits: int) -> int:
        """How many numbers of `bits` bits are in a register."""
        return max(self.vector_bytes * 8 // bits, 1)

    @property
    def own_cache(self) -> int:
        """Bytes of the largest cache that a core has to itself: as a rule the second. 0 without caches."""
        return self.caches[:2][-1] if self.caches else 0


@dataclass(frozen=True)
class ChosenTarget:
    """A target's name and the options given with it, in the order of their names."""

    name: str
    options: tuple[tuple[str, str], ...] = ()

    def option(self, name: str) -> str:
        """An option's value, empty where it is not given."""
        return dict(self.options).get(name, "")

    def on_host(self, own: Iterable[str]) -> ChosenTarget:
        """The target llvm, for a device's host, with the options that are not the device's own, by name."""
        names = set(own)
        return ChosenTarget("llvm", tuple(each for each in self.options if each[0] not in names))

    @property
    def options_text(self) -> str:
        """The options in braces; empty without any."""
        shown = " ".join(f"{name}={quoted(value)}" for name, value in self.options)
        return f"{{{shown}}}" if shown else ""

    def __str__(self) -> str:
        return self.name + self.options_text


class Backend(ABC):
    """How a target makes code: `rx.Target("mynpu", backend=MyBackend)`.

    It is made once, without arguments, and its methods are given all that they need: `target` as it was chosen, with
    its options; `module`, MLIR's own (an `ir.Module`). What another target has, `rx.find_backend("llvm")` does.
    """

    #: Of one that makes source files: whether it makes programs to load, too.
    makes_both: ClassVar[bool] = False

    def __repr__(self) -> str:
        return f"<backend {type(self).__name__}>"

    @abstractmethod
    def machine(self, target: ChosenTarget) -> Machine:
        """The processor that loops are planned for. Raises RelaxError for values of options that are wrong."""

    @abstractmethod
    def stages(self, target: ChosenTarget) -> Sequence[Stage]:
        """The stages that lower a module, in their order. Raises RelaxError for values of options that are wrong."""

    @abstractmethod
    def build(self, module: Module, target: ChosenTarget, options: CodeOptions) -> Artifact:
        """The program of a module that the stages have lowered; the module may be taken apart.

        Raises RelaxError where no code can be made of it. The same module, target and level give the same bytes.
        """

    #: The stage behind which kernels may leave a module; empty for targets that lower it as a whole.
    separates_after: ClassVar[str] = ""

    def separate(
        self, module: Module, stages: Sequence[Stage], target: ChosenTarget, options: CodeOptions
    ) -> AbstractContextManager[object] | None:
        """Move kernels out of a module to compile them apart, where that is faster; `stages` are those that follow.

        `build` finds the returned object in its options. It is closed when the program is made, or fails.
        """
        return None

    def prepare(self, target: ChosenTarget, options: CodeOptions) -> None:  # noqa: B027  # not abstract: may stay
        """Starts what `build` will need, processes for instance: called early where a large module is being read."""

    def complete(self, module: Module, target: ChosenTarget) -> None:  # noqa: B027  # not abstract: may stay
        """Adds to a lowered module what `build` would, for those who look at it: `relax-compile --emit=llvm`."""

    def assembly(self, module: Module, target: ChosenTarget, options: CodeOptions) -> str:
        """The code of such a module as text, to be looked at. Raises RelaxError where there is none."""
        raise RefusalError(f"target '{target}' makes no assembly: --emit=obj or --emit=artifact may do")

    def sources(self, module: Module, target: ChosenTarget, version: str) -> dict[str, str | bytes]:
        """The program of such a module as source files, by name. Raises RelaxError where there are none."""
        raise RefusalError(f"target '{target}' makes no source files: --emit=artifact, the default, makes a program")


def check_backend(backend: object) -> None:
    """Raises RelaxError for what is no backend, or lacks a method."""
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
