# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as text in OpenCL C (opencl/source), and the requirements that the text states."""

from __future__ import annotations

import re

#: Extensions for types and atomic operations, with their names in messages.
_NAMES = {
    "cl_khr_fp16": "f16",
    "cl_khr_fp64": "f64",
    "cl_khr_int64_base_atomics": "atomic i64",
    "cl_khr_int64_extended_atomics": "atomic i64",
}
_PRAGMA = re.compile(rb"^#pragma OPENCL EXTENSION (\w+)", re.MULTILINE)
_THREADS = re.compile(rb"reqd_work_group_size\((\d+)")


def kernel_name(name: str) -> str:
    """Return a kernel's name in the text, which differs from all function names of OpenCL C."""
    return "kernel_" + re.sub(r"\W", "_", name)


def extensions(text: bytes) -> dict[str, str]:
    """Return the extensions that a text enables, with their purposes."""
    return {name: _NAMES.get(name, name) for name in (each.decode() for each in _PRAGMA.findall(text))}


def most_threads(text: bytes) -> int:
    """Return the largest number of threads of a kernel's block."""
    return max((int(each) for each in _THREADS.findall(text)), default=0)
