# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The target mynpu. Operators that the accelerator lacks run on the CPU, by llvm's rules."""

import relax_mlir as rx

rx.register_target(rx.Target("mynpu", parents=("llvm",), rule_modules=("mynpu.rules",), doc="An accelerator."))
