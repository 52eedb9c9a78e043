# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conformance tests of codegens and targets: cases, isolated processes for them, and verdicts.

A case is data: a module and its inputs for a seed. `operators/` has cases of each operator, one file per family with
the name of its rows. `models/` has small models. composites.py makes cases from a codegen's own patterns. trial.py runs
one case, checking.py all of them.
"""
