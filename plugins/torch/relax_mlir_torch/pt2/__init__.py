# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reader of torch.export's .pt2 archives. It runs no code of their authors: no pickle and no eval."""
