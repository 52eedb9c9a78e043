# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dead code elimination of functions, calls, parameters and results."""
