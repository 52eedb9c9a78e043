# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sectors of global memory that requests of warps touch, relative to the number of bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy

SECTOR_BYTES = 32


@dataclass
class Requests:
    """Requests of one kind. An instruction of a warp is one request."""

    count: int = 0
    sectors: int = 0
    #: The sectors that as many different bytes take where they are contiguous.
    least: int = 0
    #: As the instructions say, for each thread.
    bytes: int = 0

    def note(self, address: Any, width: int, warp: Any) -> None:
        first = address.astype(numpy.int64)
        of_warp = warp.astype(numpy.int64)
        pairs = numpy.unique(numpy.stack([of_warp, first]), axis=1)
        warps, wanted = numpy.unique(pairs[0], return_counts=True)
        sectors = numpy.unique(numpy.stack([pairs[0], pairs[1] // SECTOR_BYTES]), axis=1)
        self.count += len(warps)
        self.sectors += sectors.shape[1]
        self.least += int((-(-wanted * width // SECTOR_BYTES)).sum())
        self.bytes += width * len(first)


@dataclass
class Traffic:
    """Requests of a kernel's launches to global memory."""

    reads: Requests = field(default_factory=Requests)
    writes: Requests = field(default_factory=Requests)

    @property
    def waste(self) -> float:
        """Return the touched sectors per necessary sector."""
        least = self.reads.least + self.writes.least
        return (self.reads.sectors + self.writes.sectors) / least if least else 1.0
