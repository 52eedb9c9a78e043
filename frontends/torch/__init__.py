# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of torch as modules: exported programs, and graphs that torch.compile gives. Imports torch when it is used."""
