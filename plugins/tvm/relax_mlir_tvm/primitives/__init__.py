# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitives of `tvm.tir.Schedule`, one file each. Importing this package registers them."""

from . import annotate_buffer_access as annotate_buffer_access
from . import blockize as blockize
from . import cache_index as cache_index
from . import cache_inplace as cache_inplace
from . import decompose_padding as decompose_padding
from . import fuse_reduction_epilogue as fuse_reduction_epilogue
from . import get_consumers as get_consumers
from . import get_output_blocks as get_output_blocks
from . import get_producers as get_producers
from . import loop_partition as loop_partition
from . import read_at as read_at
from . import reindex_cache_write as reindex_cache_write
from . import reverse_compute_inline as reverse_compute_inline
from . import rolling_buffer as rolling_buffer
from . import sample_compute_location as sample_compute_location
from . import sample_partitioned_tile as sample_partitioned_tile
from . import set_axis_separator as set_axis_separator
from . import unannotate as unannotate
from . import unsafe_set_dtype as unsafe_set_dtype
from . import write_at as write_at
