# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page that shows a compilation: what passes noted in a journal, and what a profile measured, as one HTML file."""
