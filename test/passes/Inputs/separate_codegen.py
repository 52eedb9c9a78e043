# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen for a library with functions of one operation each."""

import relax_mlir as rx
from relax_mlir.patterns import is_op


@rx.register_codegen("library")
class Library(rx.Codegen):
    separate = True
    patterns = (("library.matmul", is_op("relax.matmul")), ("library.softmax", is_op("relax.nn.softmax")))
