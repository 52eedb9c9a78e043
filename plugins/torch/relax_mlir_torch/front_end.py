# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registration of the front end for exported programs of torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from relax_mlir.frontends.front_end import FrontEnd, register_front_end

if TYPE_CHECKING:
    from relax_mlir.frontends.reader import Reader  # imports MLIR's bindings


def _load() -> Reader:
    from .from_torch import READER  # imports MLIR's bindings

    return READER


def _peer(
    path: str, inputs: Mapping[str, Any], threads: int, trust: bool
) -> tuple[str, Callable[[], Mapping[str, Any]]]:
    from .torch_peer import torch_peer  # needs torch

    return torch_peer(path, inputs, threads, trust=trust)


register_front_end(FrontEnd("torch", (".pt2",), _load, hint="rx.from_torch(path)", peer=_peer))
