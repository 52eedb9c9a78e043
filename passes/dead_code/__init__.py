# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What nobody needs: functions, calls, parameters and results."""
