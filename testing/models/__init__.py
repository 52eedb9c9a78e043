# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models, each a case of its own."""
