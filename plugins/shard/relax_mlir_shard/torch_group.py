# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks of the user's torch.distributed group: `torchrun --nproc-per-node 4 program.py`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from itertools import chain
from typing import Any

import numpy
from relax_mlir.support.errors import OptionError

from .engines import Array, Combine, RankError, groups_of_mesh, own_group, ranks_text
from .mesh import Groups, Mesh


class TorchRank:
    """This process as a rank of torch's default group. Sums are ours: torch moves bytes only."""

    name = "torch"
    piece = 1 << 24

    def __init__(self, timeout: float | None = None) -> None:
        try:
            import torch.distributed as distributed

            import torch
        except ImportError as error:
            raise OptionError(f"engine 'torch' needs torch: pip install torch ({error})") from None
        if "MASTER_ADDR" in os.environ and not distributed.is_initialized():
            distributed.init_process_group("gloo")
        if not distributed.is_initialized():
            raise OptionError("engine 'torch' needs a group: call torch.distributed.init_process_group first")
        self._torch, self._distributed, self._timeout = torch, distributed, timeout
        self.rank: int = distributed.get_rank()
        self.size: int = distributed.get_world_size()
        self._groups: dict[tuple[int, ...], Any] = {tuple(range(self.size)): None}

    def prepare(self, mesh: Mesh) -> None:
        """Create all groups of a mesh. All ranks create each group, so that none waits for a rank that failed."""
        for group in chain.from_iterable(groups_of_mesh(mesh)):
            if (ordered := tuple(sorted(group))) not in self._groups:
                self._groups[ordered] = self._distributed.new_group(list(ordered))

    def exchange(self, groups: Groups, x: Array, combine: Combine) -> None:
        own = own_group(self, groups)
        ordered = sorted(own)
        arrays = self._gather(tuple(ordered), x)
        combine([arrays[ordered.index(rank)] for rank in own])

    def _gather(self, ranks: tuple[int, ...], x: Array) -> list[Array]:
        """Return the arrays of a group, in order of the ranks."""
        mine = self._torch.from_numpy(numpy.ascontiguousarray(x).reshape(-1).view(numpy.uint8).copy())
        received = [self._torch.empty_like(mine) for _ in ranks]
        begin = time.monotonic()
        try:
            work = self._distributed.all_gather(received, mine, group=self._groups[ranks], async_op=True)
            work.wait(*([] if self._timeout is None else [timedelta(seconds=self._timeout)]))
        except RuntimeError as error:
            others = ranks_text([rank for rank in ranks if rank != self.rank])
            if self._timeout is not None and time.monotonic() - begin >= self._timeout:
                raise RankError(f"rank {self.rank} waited {self._timeout:g} s in a collective for {others}") from None
            reason = str(error).partition(". This is")[0].rpartition("] ")[2]
            raise RankError(f"rank {self.rank} lost {others} in a collective: {reason}") from None
        return [buffer.numpy().view(x.dtype).reshape(x.shape) for buffer in received]

    def agree(self, value: bytes) -> Sequence[bytes]:
        """Return the values of all ranks."""
        everyone = tuple(range(self.size))
        sizes = [int(size[0]) for size in self._gather(everyone, numpy.array([len(value)]))]
        texts = self._gather(everyone, numpy.frombuffer(value.ljust(max(sizes)), "uint8"))
        return [text.tobytes()[:size] for text, size in zip(texts, sizes, strict=True)]

    def finish(self) -> None:
        """End the group."""
        self._distributed.destroy_process_group()

    def fail(self, error: BaseException) -> None:
        """Print the error and end this process: others, which wait for it in gloo, get an error from torch then."""
        print(f"rank {self.rank} of {self.size}: {error}", file=sys.stderr, flush=True)
        sys.stdout.flush()
        os._exit(1)
