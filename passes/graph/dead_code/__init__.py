# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dead code elimination for functions, calls, parameters and results."""
