# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of jax: import of StableHLO modules, `rx.jit`, and the platform `relax` of jax."""
