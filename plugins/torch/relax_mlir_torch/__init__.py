# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of torch models: exported programs, and graphs of torch.compile. torch is imported only when it is used."""
