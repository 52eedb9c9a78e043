# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as text in OpenCL C (targets/opencl/source), and what it says that they need of a device."""

from __future__ import annotations

import re

#: Extensions of types and atomic operations, by what messages call them.
_NAMES = {
    "cl_khr_fp16": "f16",
    "cl_khr_fp64": "f64",
    "cl_khr_int64_base_atomics": "atomic i64",
    "cl_khr_int64_extended_atomics": "atomic i64",
}
_PRAGMA = re.compile(rb"^#pragma OPENCL EXTENSION (\w+)", re.MULTILINE)
_THREADS = re.compile(rb"reqd_work_group_size\((\d+)")


def kernel_name(name: str) -> str:
    """A kernel's in the text, which has no name of a function of OpenCL C."""
    return "kernel_" + re.sub(r"\W", "_", name)


def extensions(text: bytes) -> dict[str, str]:
    """Those that a text asks for, with what they are for."""
    return {name: _NAMES.get(name, name) for name in (each.decode() for each in _PRAGMA.findall(text))}


def most_threads(text: bytes) -> int:
    """Of a block of one of its kernels."""
    return max((int(each) for each in _THREADS.findall(text)), default=0)
