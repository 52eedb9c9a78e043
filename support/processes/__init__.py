# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Work in other processes: a few clean ones that stay for the next work."""
