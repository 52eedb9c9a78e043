# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registration of the front end for TFLite (LiteRT) models. Tools import this module to look up any other suffix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from relax_mlir.frontends.front_end import FrontEnd, register_front_end

from .file_identifier import IDENTIFIER

if TYPE_CHECKING:
    from relax_mlir.frontends.reader import Reader  # imports MLIR's bindings


def _load() -> Reader:
    from .reading import READER  # imports MLIR's bindings

    return READER


def _peer(
    path: str, inputs: Mapping[str, Any], threads: int, trust: bool
) -> tuple[str, Callable[[], Mapping[str, Any]]]:
    from .litert_peer import litert_peer  # needs a package of its own

    return litert_peer(path, inputs, threads)


register_front_end(
    FrontEnd(
        "tflite",
        (".tflite",),
        _load,
        recognizes=lambda head: head[4:8] == IDENTIFIER,
        hint="rx.from_tflite(path)",
        peer=_peer,
    )
)
