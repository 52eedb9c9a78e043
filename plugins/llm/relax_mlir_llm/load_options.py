# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of `rx.llm.load` that change the program."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import relax_mlir as rx

from .page_layout import KINDS

_PAGE_SIZE = 16
#: Precision of activations -> activation_bits of relax.matmul_nbits.
_ACTIVATIONS = {"f32": 0, "i8": 8}
#: Axis of a mesh that divides a model, and axis that divides the tokens of a call.
_AXIS, _TOKENS = "tp", "dp"


def add_rank_options(add: Callable[..., object]) -> None:
    """Add the options of tools for several ranks."""
    add("--tp", type=int, help="ranks that divide the model; default: one process")
    add("--engine", default="", help="where ranks run: threads, mpi or torch; default: as the process was started")


def mesh_of(options: argparse.Namespace) -> dict[str, int] | None:
    """Return the mesh that the options of a tool state."""
    return None if options.tp is None else {_AXIS: options.tp}


def check_mesh(mesh: Mapping[str, int]) -> None:
    """Raise OptionError unless a mesh has numbers of ranks for axes that divide models."""
    numbers = [size for size in mesh.values() if isinstance(size, int) and not isinstance(size, bool) and size > 0]
    if not mesh or not {*mesh} <= {_AXIS, _TOKENS} or len(numbers) < len(mesh):
        raise rx.OptionError(f"mesh={mesh!r}: expected a number of ranks, such as {{'{_AXIS}': 2}}")


def check_context(path: object, context: int, most: int) -> None:
    """Raise OptionError unless a model that was trained for `most` tokens has this context."""
    if not 1 <= context <= most:
        raise rx.OptionError(
            f"context={context}: {path} was trained for sequences of 1 to {most} tokens; choose one of these lengths"
        )


@dataclass(frozen=True)
class LoadOptions:
    """Options of `load` that change the program."""

    target: str
    context: int | None
    dtype: str
    kv: str
    activations: str
    page_size: int | None
    #: Folder of a LoRA adapter of PEFT, which is merged into the weights.
    adapter: str | None
    #: Names and folders of LoRA adapters, of which each sequence chooses one.
    adapters: tuple[tuple[str, str], ...]
    #: Compile a function for embeddings.
    embeddings: bool
    #: Mesh of ranks that divide the model, and the engine that runs them. None: one process.
    mesh: Mapping[str, int] | None = None
    engine: str = ""

    def __post_init__(self) -> None:
        if self.page_size is not None and self.page_size < 1:
            raise rx.OptionError(f"page_size={self.page_size}: expected at least one token")
        for name, value, allowed in (("kv", self.kv, KINDS), ("activations", self.activations, _ACTIVATIONS)):
            if value not in allowed:
                raise rx.OptionError(f"{name}='{value}': expected one of {', '.join(allowed)}")
        if self.mesh is not None:
            self._check_ranks()

    def _check_ranks(self) -> None:
        """Raise RelaxError for options that a model of several ranks does not have."""
        check_mesh(self.mesh or {})
        if self.target.partition("{")[0] != "llvm":
            raise rx.RefusalError(f"mesh= is for the target llvm, got target='{self.target}'")
        if self.embeddings or self.adapters:
            option = "embeddings" if self.embeddings else "adapters"
            raise rx.RefusalError(f"mesh= and {option}= together are not supported: leave one of them out")

    @property
    def places(self) -> int:
        """Return the number of tokens in a page."""
        return self.page_size or _PAGE_SIZE

    @property
    def activation_bits(self) -> int:
        """Return the attribute of relax.matmul_nbits."""
        return _ACTIVATIONS[self.activations]

    @property
    def merged(self) -> Path | None:
        """Return the folder of the adapter to merge."""
        return None if self.adapter is None else Path(self.adapter)

    @property
    def adapter_folders(self) -> list[Path]:
        """Return the folders of all adapters."""
        return [Path(each) for each in filter(None, (self.adapter, *(folder for _, folder in self.adapters)))]
