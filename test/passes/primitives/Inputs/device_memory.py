# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A memory whose copies are calls, which go on until they are waited for, for the cases of cache_read and pipeline."""

from typing import Any

from relax_mlir.emit.numbers import constant

import relax_mlir as rx
from relax_mlir import tir


def _copy(source: Any, target: Any) -> None:
    tir.call_extern("dma", [source, target], ())


def _wait(pending: int) -> None:
    tir.call_extern("dma_wait", [constant(pending, "i32")], ())


rx.schedules.register_memory("lit.sram", bytes=1 << 16, copy=_copy, wait=_wait)
