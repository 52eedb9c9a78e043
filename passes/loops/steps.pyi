# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from passes/primitives (`make generate`): do not edit.
from collections.abc import Callable, Sequence

from .handles import BlockRV, IndexMap, LoopRV

class Steps:
    def annotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str, ann_val: object) -> None:
        """Puts a note on a loop or block. "grain" on a parallel loop: how many of its steps a thread takes at a time."""

    def bind(self, loop: LoopRV, thread_axis: str) -> None:
        """Has blocks of a GPU's threads, or the threads of a block, take a loop's steps; elsewhere they run in order."""

    def cache_read(
        self,
        block: BlockRV | str,
        read_buffer_index: int | str,
        storage_scope: str,
        consumer_blocks: Sequence[BlockRV] | None = ...,
    ) -> BlockRV:
        """Copies a buffer to memory of a scope, from where these blocks read it then, all that read it where none is named; the block that copies, which compute_at puts where it is needed."""

    def cache_write(
        self,
        block: BlockRV | str,
        write_buffer_index: int | str,
        storage_scope: str,
        consumer_blocks: Sequence[BlockRV] | None = ...,
    ) -> BlockRV:
        """Has a block write to memory of a scope, from where a new block copies it, which reverse_compute_at puts where it is done; `consumer_blocks` read from there themselves."""

    def compute_at(self, block: BlockRV | str, loop: LoopRV, preserve_unit_loops: bool = ..., index: int = ...) -> None:
        """Moves a block into a loop, where it makes what the blocks in one step of it need; before the first of these, with `index` -2 first of all, or as the `index`-th of what is in the loop."""

    def compute_inline(self, block: BlockRV | str) -> None:
        """Computes what a block makes anew wherever it is read; its buffer is gone."""

    def decompose_reduction(self, block: BlockRV | str, loop: LoopRV) -> BlockRV:
        """Gives a reduction's init loops of its own before a loop: the block that fills. What is left goes on with it."""

    def fuse(self, *loops: LoopRV, preserve_unit_iters: bool = ...) -> LoopRV:
        """Makes one loop of loops that are nested in one another, given from the outermost on."""

    def get_block(self, name: str, func_name: str | None = ...) -> BlockRV:
        """The block of a name, of one PrimFunc where several have such a block."""

    def get_loops(self, block: BlockRV | str) -> list[LoopRV]:
        """The loops around a block, outermost first."""

    def get_sblock(self, name: str, func_name: str | None = ...) -> BlockRV:
        """The block of a name, of one PrimFunc where several have such a block."""

    def pad_einsum(self, block: BlockRV | str, padding: Sequence[int]) -> None:
        """Makes the extents of a block's iters multiples of these numbers: it works on copies with zeros behind their end, and another block copies what there is of its result."""

    def parallel(self, loop: LoopRV) -> None:
        """Has threads share the steps of a loop."""

    def reorder(self, *loops: LoopRV) -> None:
        """Puts loops in this order, the first one outermost; what stands between them stays where it is."""

    def reverse_compute_at(
        self,
        block: BlockRV | str,
        loop: LoopRV,
        preserve_unit_loops: bool = ...,
        index: int = ...,
    ) -> None:
        """Moves a block into a loop, where it goes on with what one step has made: behind all that is there, with an index of -2 directly behind what makes what it reads, or as the `index`-th of what is in the loop."""

    def reverse_compute_inline(self, block: BlockRV | str) -> None:
        """Has the block that makes what this one reads go on with what this one computes; the buffer between is gone."""

    def rfactor(self, loop: LoopRV, factor_axis: int, merge_loops: bool = ...) -> BlockRV:
        """Keeps what each step of a reduction's loop adds up apart, in a buffer with one dimension more, at `factor_axis`; the block does that from now on, which is returned, and one of its old name adds up those."""

    def set_scope(self, block: BlockRV | str, buffer_index: int | str, storage_scope: str) -> None:
        """Puts a buffer that a block writes in memory of a scope: "global", "local", or "shared" on a GPU."""

    def split(self, loop: LoopRV, factors: Sequence[int | None], preserve_unit_iters: bool = ...) -> list[LoopRV]:
        """Makes several loops of one, outermost first, with these extents; one factor may be None: as many as it takes."""

    def tensorize(self, block_or_loop: LoopRV, tensor_intrin: str, preserve_unit_iters: bool = ...) -> None:
        """Has an intrinsic (register_tensor_intrin) compute a loop and all in it, which must be what it says it does."""

    def tile(self, x_parent: LoopRV, y_parent: LoopRV, x_factor: int, y_factor: int) -> list[LoopRV]:
        """Splits two loops by a tile's sizes, and puts the loops over tiles outside: (xo, yo, xi, yi)."""

    def transform_layout(
        self,
        block: BlockRV | str,
        buffer: tuple[str, int] | int | str,
        index_map: IndexMap | Callable[..., object],
        pad_value: float | None = ...,
        *,
        assume_injective_transform: bool = ...,
    ) -> None:
        """Stores a buffer's element (i, j, ...) at `index_map(i, j, ...)`, wherever it is written and read."""

    def unannotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str) -> None:
        """Takes a note off a loop or block."""

    def unroll(self, loop: LoopRV) -> None:
        """Emits what is in a loop once for each of its steps."""

    def vectorize(self, loop: LoopRV) -> None:
        """Runs all steps of a loop at once, on vectors."""
