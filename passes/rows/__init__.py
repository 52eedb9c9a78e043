# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop fusion by rows: operations of a PrimFunc that go through the same rows, all done for some rows at a time."""
