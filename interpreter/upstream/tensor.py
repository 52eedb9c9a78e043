# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tensor: arrays, which nothing changes."""

from __future__ import annotations

from typing import Any

import numpy

from ...bindings.mlir import DYNAMIC
from ..registry import register_step
from ..sites import Site, Step


@register_step(["tensor.dim", "memref.dim"])
def dim(site: Site) -> Step:
    return lambda frame, array, axis: numpy.int64(array.shape[axis])


@register_step("tensor.empty")
def empty(site: Site) -> Step:
    type_, numbers = site.result_type(), site.numbers
    sizes, dtype = list(type_.shape), str(type_.element_type)

    def run(frame: object, *dynamic: Any) -> Any:
        given = iter(dynamic)
        return numbers.empty(tuple(int(next(given)) if size == DYNAMIC else size for size in sizes), dtype)

    return run
