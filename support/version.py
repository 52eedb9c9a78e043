# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The version of this project, which programs and reports name."""

#: As in pyproject.toml.
VERSION = "0.1.0"
