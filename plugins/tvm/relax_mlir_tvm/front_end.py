# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registration of the front end for modules of a running TVM. It reads no files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir.frontends.front_end import FrontEnd, register_front_end

if TYPE_CHECKING:
    from relax_mlir.frontends.reader import Reader  # imports MLIR's bindings


def _load() -> Reader:
    from relax_mlir.frontends.reader import Reader

    from .from_tvm import from_tvm  # imports MLIR's bindings

    return Reader(from_tvm)


register_front_end(FrontEnd("tvm", (), _load, hint="rx.from_tvm(module)"))
