# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of a PrimFunc that go through the same rows, one after the other or all for each row."""
