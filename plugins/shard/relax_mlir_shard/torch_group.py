# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks of the user's torch.distributed group: `torchrun --nproc-per-node 4 program.py`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import chain, combinations
from typing import Any

import numpy
from relax_mlir.support.errors import OptionError

from .engines import Array, Combine, own_group
from .mesh import Groups, Mesh


class TorchRank:
    """This process as a rank of torch's default group. Sums are ours: torch moves bytes only."""

    name = "torch"

    def __init__(self) -> None:
        try:
            import torch.distributed as distributed

            import torch
        except ImportError as error:
            raise OptionError(f"engine 'torch' needs torch: pip install torch ({error})") from None
        if not distributed.is_initialized():
            raise OptionError("engine 'torch' needs a group: call torch.distributed.init_process_group first")
        self._torch, self._distributed = torch, distributed
        self.rank: int = distributed.get_rank()
        self.size: int = distributed.get_world_size()
        self._groups: dict[tuple[int, ...], Any] = {tuple(range(self.size)): None}

    def prepare(self, mesh: Mesh) -> None:
        """Create all groups of a mesh. All ranks create each group, so that none waits for a rank that failed."""
        names = [name for name, _ in mesh.axes]
        for axes in chain.from_iterable(combinations(names, count) for count in range(1, len(names) + 1)):
            for group in map(tuple, map(sorted, mesh.groups(axes))):
                if group not in self._groups:
                    self._groups[group] = self._distributed.new_group(list(group))

    def exchange(self, groups: Groups, x: Array, combine: Combine) -> Array:
        own = own_group(self, groups)
        ordered = sorted(own)
        group = self._groups[tuple(ordered)]
        mine = self._torch.from_numpy(numpy.ascontiguousarray(x).reshape(-1).view(numpy.uint8).copy())
        received = [self._torch.empty_like(mine) for _ in own]
        self._distributed.all_gather(received, mine, group=group)
        arrays = [buffer.numpy().view(x.dtype).reshape(x.shape) for buffer in received]
        return combine([arrays[ordered.index(rank)] for rank in own])

    def agree(self, value: bytes) -> Sequence[bytes]:
        """Return the values of all ranks."""
        values: list[Any] = [None] * self.size
        self._distributed.all_gather_object(values, value)
        return values

    def fail(self, error: BaseException) -> None:
        """Print the error and end this process: others, which wait for it in gloo, get an error from torch then."""
        print(f"rank {self.rank} of {self.size}: {error}", file=sys.stderr, flush=True)
        sys.stdout.flush()
        os._exit(1)
