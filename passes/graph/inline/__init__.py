# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of relax-inline: splicing of bodies, and renaming of symbolic sizes."""
