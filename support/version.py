# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Version of this project for programs and reports."""

#: Equal to the version in pyproject.toml.
VERSION = "0.1.0"
