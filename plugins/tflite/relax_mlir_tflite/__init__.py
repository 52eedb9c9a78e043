# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of TFLite (LiteRT) models as modules of relax."""
