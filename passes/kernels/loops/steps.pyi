# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from passes/kernels/primitives (`make generate`): do not edit.
from collections.abc import Callable, Sequence

from .handles import BlockRV, IndexMap, LoopRV

class Steps:
    def add_unit_loop(self, block_or_loop: BlockRV | LoopRV) -> LoopRV:
        """Add a loop of one step around a block or a loop."""

    def annotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str, ann_val: object) -> None:
        """Annotate a loop or block. "grain" on a parallel loop is the number of steps that a thread takes at a time."""

    def bind(self, loop: LoopRV, thread_axis: str) -> None:
        """Map a loop's steps to a GPU's thread blocks, or to the threads of a block. Elsewhere the steps run in order."""

    def cache_read(
        self,
        block: BlockRV | str,
        read_buffer_index: int | str,
        storage_scope: str,
        consumer_blocks: Sequence[BlockRV] | None = ...,
    ) -> BlockRV:
        """Copy a buffer to memory of a scope, from which blocks then read. Return the block that copies."""

    def cache_write(
        self,
        block: BlockRV | str,
        write_buffer_index: int | str,
        storage_scope: str,
        consumer_blocks: Sequence[BlockRV] | None = ...,
    ) -> BlockRV:
        """Let a block write to memory of a scope, and copy the result to the output. Return the block that copies."""

    def compute_at(self, block: BlockRV | str, loop: LoopRV, preserve_unit_loops: bool = ..., index: int = ...) -> None:
        """Move a block into a loop, where each step computes what the loop's other blocks need."""

    def compute_inline(self, block: BlockRV | str) -> None:
        """Inline a block into all its readers, and remove its buffer."""

    def decompose_reduction(self, block: BlockRV | str, loop: LoopRV) -> BlockRV:
        """Move a reduction's init to a new nest before a loop, and return the block that fills."""

    def fuse(self, *loops: LoopRV, preserve_unit_iters: bool = ...) -> LoopRV:
        """Fuse nested loops, listed from the outermost on, into one loop."""

    def get_block(self, name: str, func_name: str | None = ...) -> BlockRV:
        """Return the block of a name. `func_name` selects the PrimFunc if several have such a block."""

    def get_loops(self, block: BlockRV | str) -> list[LoopRV]:
        """Return the loops around a block, outermost first. Inside of an outer block, loops start at that block."""

    def get_sblock(self, name: str, func_name: str | None = ...) -> BlockRV:
        """Return the block of a name. `func_name` selects the PrimFunc if several have such a block."""

    def merge(self, *loops: LoopRV) -> LoopRV:
        """Merge adjacent loops with equal extents, together with the loops around them that they do not share."""

    def pad_einsum(self, block: BlockRV | str, padding: Sequence[int]) -> None:
        """Pad the extents of a block's iters to multiples of these numbers."""

    def parallel(self, loop: LoopRV) -> None:
        """Share the steps of a loop among threads."""

    def pipeline(self, loop: LoopRV, stages: int = ...) -> None:
        """Let each step of a loop copy the inputs of a later one, `stages` - 1 steps ahead."""

    def reindex(self, block: BlockRV | str, buffer: tuple[str, int] | str) -> BlockRV:
        """Let a block access a copy of a buffer that has the block's iters as dimensions. Return the block that copies."""

    def reindex_cache_read(
        self,
        block: BlockRV | str,
        read_buffer_index: int,
        storage_scope: str,
        index_map: IndexMap | Callable[..., object],
    ) -> BlockRV:
        """Copy what a block reads to memory of a scope. Return the block that copies."""

    def reorder(self, *loops: LoopRV) -> None:
        """Reorder loops, the first one outermost. Loops between them that are not listed keep their positions."""

    def reorder_block_iter_var(self, block: BlockRV | str, new_order: Sequence[int]) -> None:
        """Permute a block's iters: the new iter n is the old iter `new_order[n]`."""

    def reverse_compute_at(
        self,
        block: BlockRV | str,
        loop: LoopRV,
        preserve_unit_loops: bool = ...,
        index: int = ...,
    ) -> None:
        """Move a block into a loop, where it consumes what one step has computed."""

    def rfactor(self, loop: LoopRV, factor_axis: int, merge_loops: bool = ...) -> BlockRV:
        """Keep the partial result of each step of a reduction's loop in a buffer with a new dimension at `factor_axis`."""

    def sample_categorical(
        self,
        candidates: Sequence[int],
        probs: Sequence[float] | None = ...,
        decision: int | None = ...,
        default: int | None = ...,
    ) -> int:
        """Decide for one of several numbers, and return it. The decision is the index of the number."""

    def sample_perfect_tile(
        self,
        loop: LoopRV,
        n: int,
        max_innermost_factor: int = ...,
        decision: Sequence[int] | None = ...,
        default: Sequence[int | None] | None = ...,
    ) -> list[int]:
        """Decide for `n` factors of `split` with a loop's number of steps as their product. The last factor has a limit."""

    def set_scope(self, block: BlockRV | str, buffer_index: int | str, storage_scope: str) -> None:
        """Set the scope of a buffer that a block writes: "global", "local", or "shared" on a GPU."""

    def split(
        self,
        loop: LoopRV,
        factors: Sequence[int | None],
        preserve_unit_iters: bool = ...,
        disable_predication: bool = ...,
    ) -> list[LoopRV]:
        """Split a loop into nested loops with these extents, outermost first."""

    def storage_align(self, block: BlockRV | str, buffer_index: int | str, axis: int, factor: int, offset: int) -> None:
        """Allocate a buffer that a block writes so that the stride of an axis is a multiple of `factor`, plus `offset`."""

    def tensorize(self, block_or_loop: BlockRV | LoopRV, tensor_intrin: str, preserve_unit_iters: bool = ...) -> None:
        """Compute a loop with its body by an intrinsic (register_tensor_intrin), if its description matches the loop."""

    def tile(self, x_parent: LoopRV, y_parent: LoopRV, x_factor: int, y_factor: int) -> list[LoopRV]:
        """Split two loops by a tile's sizes, and move the loops over tiles outside: (xo, yo, xi, yi)."""

    def transform_block_layout(self, block: BlockRV | str, index_map: IndexMap | Callable[..., object]) -> None:
        """Replace a block's iters and loops by the results of an index map of the iters."""

    def transform_layout(
        self,
        block: BlockRV | str,
        buffer: tuple[str, int] | int | str,
        index_map: IndexMap | Callable[..., object],
        pad_value: float | IndexMap | None = ...,
        *,
        assume_injective_transform: bool = ...,
    ) -> None:
        """Store a buffer's element (i, j, ...) at `index_map(i, j, ...)`, and adapt all its reads and writes."""

    def unroll(self, loop: LoopRV) -> None:
        """Emit a loop's body once for each of its steps."""

    def vectorize(self, loop: LoopRV) -> None:
        """Run all steps of a loop at once, on vectors."""
