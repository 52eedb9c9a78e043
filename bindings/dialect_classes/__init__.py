# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is imported for a dialect when its first operation is handed to Python, where upstream's own module is slow."""
