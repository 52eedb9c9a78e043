# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from passes/primitives (`make generate`): do not edit.
from collections.abc import Callable, Sequence

from .handles import BlockRV, IndexMap, LoopRV

class Steps:
    def add_unit_loop(self, block_or_loop: BlockRV | LoopRV) -> LoopRV:
        """Puts a loop of one step around a block or a loop."""

    def annotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str, ann_val: object) -> None:
        """Puts a note on a loop or block. "grain" on a parallel loop: how many of its steps a thread takes at a time."""

    def annotate_buffer_access(
        self,
        block: BlockRV | str,
        buffer_index: int | str,
        buf_type: str,
        gen_new_ranges: IndexMap | Callable[..., object],
    ) -> None:
        """Says which part of a buffer a block reads or writes, "read" or "write": by its iters, from where on and up to before where along each dimension. compute_at believes it where places are computed, and makes no more there."""

    def bind(self, loop: LoopRV, thread_axis: str) -> None:
        """Has blocks of a GPU's threads, or the threads of a block, take a loop's steps; elsewhere they run in order."""

    def blockize(self, target: LoopRV | Sequence[BlockRV], preserve_unit_iters: bool = ...) -> BlockRV:
        """Makes a block of a loop and all in it, or of several blocks and their loops, one behind the other."""

    def cache_index(self, block: BlockRV | str, storage_scope: str, cse_thresh: int = ...) -> list[BlockRV]:
        """Computes indices at which a block reads, and that are more than one of its iters, before it, into buffers of integers; only those that are there more than `cse_thresh` times. The blocks that compute, none where none is there."""

    def cache_inplace(self, block: BlockRV | str, read_buffer_index: int | str, storage_scope: str) -> list[BlockRV]:
        """Has a block that goes on with what a buffer holds do so in memory of a scope: the block that copies it there, and the one that copies it back."""

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

    def decompose_padding(self, block: BlockRV | str, loop: LoopRV) -> BlockRV:
        """Has a block that chooses between an element inside and a value outside copy the inside alone; another one, which is returned, fills all with the value before a loop."""

    def decompose_reduction(self, block: BlockRV | str, loop: LoopRV) -> BlockRV:
        """Gives a reduction's init loops of its own before a loop: the block that fills. What is left goes on with it."""

    def fuse(self, *loops: LoopRV, preserve_unit_iters: bool = ...) -> LoopRV:
        """Makes one loop of loops that are nested in one another, given from the outermost on."""

    def fuse_reduction_epilogue(self, reduction_block: BlockRV | str, epilogue_block: BlockRV | str) -> None:
        """Has a reduction begin with what a block adds to its result, like a bias, in place of its init, and drops it."""

    def get_block(self, name: str, func_name: str | None = ...) -> BlockRV:
        """The block of a name, of one PrimFunc where several have such a block."""

    def get_consumers(self, block: BlockRV | str) -> list[BlockRV]:
        """The blocks that read what a block writes, in the order in which they run."""

    def get_loops(self, block: BlockRV | str) -> list[LoopRV]:
        """The loops around a block, outermost first; of one in another block those inside of that."""

    def get_output_blocks(self, func_name: str | None = ...) -> list[BlockRV]:
        """The blocks that write parameters, in the order in which they run."""

    def get_producers(self, block: BlockRV | str) -> list[BlockRV]:
        """The blocks that write what a block reads, in the order in which they run."""

    def get_sblock(self, name: str, func_name: str | None = ...) -> BlockRV:
        """The block of a name, of one PrimFunc where several have such a block."""

    def loop_partition(
        self,
        loop: LoopRV,
        factors: Sequence[int | None],
        preserve_unit_iters: bool = ...,
    ) -> list[LoopRV]:
        """Makes several loops of one, each of which does that many of its steps; one factor may be None: the rest, which otherwise one loop more does."""

    def merge(self, *loops: LoopRV) -> LoopRV:
        """Makes one loop of loops that stand one behind the other and go as far, and of those around them that they do not share: each step does what a step of each did."""

    def pad_einsum(self, block: BlockRV | str, padding: Sequence[int]) -> None:
        """Makes the extents of a block's iters multiples of these numbers: it works on copies with zeros behind their end, and another block copies what there is of its result."""

    def parallel(self, loop: LoopRV) -> None:
        """Has threads share the steps of a loop."""

    def pipeline(self, loop: LoopRV, stages: int = ...) -> None:
        """Has each step of a loop copy what a later one uses, `stages` - 1 steps ahead, into buffers of which there are that many: before the loop the first steps copy, behind it the last ones use what is there. What a step makes in memory whose copies are asynchronous has as many versions, too."""

    def read_at(self, loop: LoopRV, block: BlockRV | str, read_buffer_index: int | str, storage_scope: str) -> BlockRV:
        """Copies to memory of a scope, at each step of a loop, what that step's blocks read of a buffer: the block that copies."""

    def reindex(self, block: BlockRV | str, buffer: tuple[str, int]) -> BlockRV:
        """Has a block read or write a copy whose dimensions are its iters, ("read", n) or ("write", n): the block that copies."""

    def reindex_cache_read(
        self,
        block: BlockRV | str,
        read_buffer_index: int,
        storage_scope: str,
        index_map: IndexMap | Callable[..., object],
    ) -> BlockRV:
        """Copies what a block reads to memory of a scope, at the indices that a map makes of the block's iters: the block that copies."""

    def reindex_cache_write(
        self,
        block: BlockRV | str,
        write_buffer_index: int,
        storage_scope: str,
        index_map: IndexMap | Callable[..., object],
    ) -> BlockRV:
        """Has a block write to memory of a scope, at the indices that a map makes of its iters: the block that copies it to where it belongs."""

    def reorder(self, *loops: LoopRV) -> None:
        """Puts loops in this order, the first one outermost; what stands between them stays where it is."""

    def reorder_block_iter_var(self, block: BlockRV | str, new_order: Sequence[int]) -> None:
        """Lists a block's iters in another order: the n-th one will be the one that was at `new_order[n]`."""

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

    def rolling_buffer(self, block: BlockRV | str, write_buffer_index: int | str) -> None:
        """Has a block that is computed at a loop whose steps overlap compute only what no step before has made; the buffer keeps that, circular along the outermost loop that slides over it."""

    def sample_categorical(self, candidates: Sequence[int], probs: Sequence[float], decision: int | None = ...) -> int:
        """Draws one of some numbers, each with its probability; the decision is which of them."""

    def sample_compute_location(self, block: BlockRV | str, decision: int | None = ...) -> LoopRV:
        """Draws a loop around what reads a block's output, to which `compute_at` can move it; the decision is which of these loops, the outermost is 0."""

    def sample_partitioned_tile(
        self,
        loop: LoopRV,
        n: int,
        partition_pos: int = ...,
        innerpart_factor: int = ...,
        decision: Sequence[int] | None = ...,
    ) -> list[int]:
        """Draws `n` numbers whose product is a loop's number of steps; that of those from `partition_pos` on is a multiple of `innerpart_factor`."""

    def sample_perfect_tile(
        self,
        loop: LoopRV,
        n: int,
        max_innermost_factor: int = ...,
        decision: Sequence[int] | None = ...,
    ) -> list[int]:
        """Draws `n` numbers whose product is a loop's number of steps, for `split`; the last is not above a limit."""

    def set_axis_separator(
        self,
        block: BlockRV | str,
        buffer: tuple[str, int] | int | str,
        axis_separators: Sequence[int],
    ) -> None:
        """Notes before which of a buffer's dimensions those of a physical memory begin. Memory has one dimension here, so nothing else comes of it: what reads the schedule's text may ask for it."""

    def set_scope(self, block: BlockRV | str, buffer_index: int | str, storage_scope: str) -> None:
        """Puts a buffer that a block writes in memory of a scope: "global", "local", or "shared" on a GPU."""

    def split(
        self,
        loop: LoopRV,
        factors: Sequence[int | None],
        preserve_unit_iters: bool = ...,
        disable_predication: bool = ...,
    ) -> list[LoopRV]:
        """Makes several loops of one, outermost first, with these extents; one factor may be None: as many as it takes."""

    def storage_align(self, block: BlockRV | str, buffer_index: int | str, axis: int, factor: int, offset: int) -> None:
        """Allocates a buffer that a block writes with a stride of an axis that is a multiple of `factor`, and `offset` more: a GPU's threads that read a column of "shared" memory, for instance, then meet in no bank."""

    def tensorize(self, block_or_loop: BlockRV | LoopRV, tensor_intrin: str, preserve_unit_iters: bool = ...) -> None:
        """Has an intrinsic (register_tensor_intrin) compute a loop and all in it, which must be what it says it does; what a reduction starts from is filled before."""

    def tile(self, x_parent: LoopRV, y_parent: LoopRV, x_factor: int, y_factor: int) -> list[LoopRV]:
        """Splits two loops by a tile's sizes, and puts the loops over tiles outside: (xo, yo, xi, yi)."""

    def transform_block_layout(self, block: BlockRV | str, index_map: IndexMap | Callable[..., object]) -> None:
        """Has a block run in loops over what a map makes of its iters, which are its iters from now on; it computes what it did."""

    def transform_layout(
        self,
        block: BlockRV | str,
        buffer: tuple[str, int] | int | str,
        index_map: IndexMap | Callable[..., object],
        pad_value: float | IndexMap | None = ...,
        *,
        assume_injective_transform: bool = ...,
    ) -> None:
        """Stores a buffer's element (i, j, ...) at `index_map(i, j, ...)`, wherever it is written and read."""

    def unannotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str) -> None:
        """Takes a note off a loop or block."""

    def unroll(self, loop: LoopRV) -> None:
        """Emits what is in a loop once for each of its steps."""

    def unsafe_set_dtype(self, block: BlockRV | str, buffer_index: int | str, dtype: str) -> None:
        """Stores a buffer that a block writes as elements of another type: what is written is converted to it, what is read back. Unsafe, because results change: they are rounded, or do not fit."""

    def vectorize(self, loop: LoopRV) -> None:
        """Runs all steps of a loop at once, on vectors."""

    def write_at(
        self,
        loop: LoopRV,
        block: BlockRV | str,
        write_buffer_index: int | str,
        storage_scope: str,
    ) -> BlockRV:
        """Has a block write to memory of a scope, from where each step of a loop copies what it has made: the block that copies."""
