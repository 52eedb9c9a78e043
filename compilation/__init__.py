# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compilation as a whole: its options and its steps in their order, for `rx.compile` and for `relax-compile`."""
