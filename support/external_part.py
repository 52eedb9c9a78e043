# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled part of a program by an external codegen, as stored in the module and the artifact."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ExternalPart:
    """Result of a codegen for a part of the program, which the codegen's runtime loads."""

    codegen: str
    #: The part's name. The program calls its functions as `name.function`.
    name: str
    #: Version of the bytes, which must equal the version of the runtime.
    version: str
    functions: tuple[str, ...]
    #: Nodes of the model that the part implements.
    nodes: tuple[str, ...]
    #: None if the functions are in the program's objects.
    data: memoryview | None = None
    #: Number of read-only arguments of each function. The remaining arguments are outputs.
    inputs: tuple[int, ...] = ()
    #: True if the codegen declares that bits depend neither on threads nor on batches.
    same_bits: bool = False

    @property
    def label(self) -> str:
        return f"codegen '{self.codegen}', part '{self.name}'"
