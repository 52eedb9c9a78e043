# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers for runtimes of devices: errors, and bytes of tensors. `rx.devices.DeviceError`."""

from . import _namespace

__all__, __getattr__, __dir__ = _namespace(__name__)
