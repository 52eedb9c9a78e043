# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""IR as TVMScript: what frontends/script reads back as the same IR. Printing imports what it needs (print_script)."""
