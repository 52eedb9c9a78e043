# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of TFLite (LiteRT) as modules of relax."""
