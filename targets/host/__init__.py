# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every target with a host side needs: the functions that callers see, their checks, errors, memory, constants."""
