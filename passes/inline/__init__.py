# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What relax-inline needs to know about symbolic sizes."""
