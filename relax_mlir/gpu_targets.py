# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers for GPU targets: stages, kernels, host code, and writers of text. `rx.gpu_targets.kernel_stages`."""

from . import _namespace

__all__, __getattr__, __dir__ = _namespace(__name__)
