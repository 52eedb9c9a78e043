# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The platform `relax` of jax: PJRT's table of C functions, each a function of Python. Nothing is built for it."""
