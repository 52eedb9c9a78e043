# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Framework with a single class: a framework that the runtime has never heard of."""

from __future__ import annotations

from typing import Any

import numpy


class Array:
    """Array with DLPack from before 1.0, by its own names only."""

    def __init__(self, values: Any) -> None:
        self.values = numpy.asarray(values)

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.values.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()


class ReadOnly(Array):
    """Array that forbids writes to its memory by a flag of DLPack 1.0."""

    def __dlpack__(self, stream: Any = None, max_version: tuple[int, int] | None = None) -> Any:
        before, self.values.flags.writeable = self.values.flags.writeable, False
        try:
            return self.values.__dlpack__(max_version=max_version)
        finally:
            self.values.flags.writeable = before


def from_dlpack(tensor: Any) -> Array:
    return Array(numpy.from_dlpack(tensor))
