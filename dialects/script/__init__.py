# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""IR as TVMScript, which frontends/script parses to the same IR. The printer is imported on demand (print_script)."""
