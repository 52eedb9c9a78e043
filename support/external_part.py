# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A part of a program that a codegen has made: in the module, in the artifact, and where it is loaded."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ExternalPart:
    """What a codegen has made of a part of the program, for its runtime to load."""

    codegen: str
    #: The part's name. Its functions are called by the program as `name.function`.
    name: str
    #: Of the bytes, which the runtime has to be of too.
    version: str
    functions: tuple[str, ...]
    #: The model's nodes that it stands for.
    nodes: tuple[str, ...]
    #: None where its functions are in the program's objects.
    data: memoryview | None = None
    #: How many of what each function is given it only reads; the rest are outputs.
    inputs: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        return f"codegen '{self.codegen}', part '{self.name}'"
