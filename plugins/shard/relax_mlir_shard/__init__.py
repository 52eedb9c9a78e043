# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One model over many devices: annotations, their propagation, programs of ranks, and engines that run them."""

from .factors import register_sharding as register_sharding
