# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What graphs and tensor programs have in common as scripts: their source, and the pieces that they are printed in."""
