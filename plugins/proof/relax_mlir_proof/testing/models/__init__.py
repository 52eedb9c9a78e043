# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models, one case each."""
