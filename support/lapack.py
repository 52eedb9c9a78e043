# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LAPACK for CPUs: the shared library of the package scipy-openblas32, for calls from compiled code."""

from __future__ import annotations

from .wheel_folders import wheel_folders

PACKAGE = "scipy_openblas32"
#: Advice for machines without the package.
INSTALL = "LAPACK is missing on this machine: pip install 'relax-mlir[lapack]'"


def find_lapack() -> str:
    """Return the path of the shared library, or an empty text without the package."""
    paths = (path for folder in wheel_folders([PACKAGE]) for path in sorted(folder.glob("libscipy_openblas*")))
    return str(next(paths, ""))
