# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Object code: native code of a lowered module, unit by unit, for this machine or another CPU."""
