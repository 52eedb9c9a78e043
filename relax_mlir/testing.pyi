# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the names in __init__.py (`make generate`): do not edit.

from relax_mlir_proof.testing.bisect import bisect as bisect
from relax_mlir_proof.testing.checking import check as check
from relax_mlir_proof.testing.report import Report as Report
