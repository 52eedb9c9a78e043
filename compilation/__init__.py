# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Complete compilations, their options and ordered steps, for `rx.compile` and `relax-compile`."""
