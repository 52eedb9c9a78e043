# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registration of the front end for StableHLO modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir.frontends.front_end import FrontEnd, register_front_end

if TYPE_CHECKING:
    from relax_mlir.frontends.reader import Reader  # imports MLIR's bindings


def _load() -> Reader:
    from .stablehlo.from_stablehlo import READER  # imports MLIR's bindings

    return READER


register_front_end(FrontEnd("stablehlo", (), _load))
