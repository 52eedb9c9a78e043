# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of `rx.llm.load` that change the program."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import relax_mlir as rx

from .page_layout import KINDS

_PAGE_SIZE = 16
#: Precision of activations -> activation_bits of relax.matmul_nbits.
_ACTIVATIONS = {"f32": 0, "i8": 8}


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

    def __post_init__(self) -> None:
        if self.page_size is not None and self.page_size < 1:
            raise rx.OptionError(f"page_size={self.page_size}: expected at least one token")
        for name, value, allowed in (("kv", self.kv, KINDS), ("activations", self.activations, _ACTIVATIONS)):
            if value not in allowed:
                raise rx.OptionError(f"{name}='{value}': expected one of {', '.join(allowed)}")

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
