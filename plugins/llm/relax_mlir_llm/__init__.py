# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Language models: `rx.llm.load`, `relax-chat`, `rx.llm.Scheduler`, `relax-serve`."""
