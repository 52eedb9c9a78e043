# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can go wrong between an artifact and a call."""

from __future__ import annotations

from ..support.errors import RelaxError


class ArtifactError(RelaxError):
    """An artifact cannot be written, read, or run on this machine; the text gives the reason."""


class DeviceError(ArtifactError):
    """A device is missing, unfit for a program, or refuses what it is to do; the text gives the reason."""


class UnknownFunction(LookupError):
    """The executable has no function of that name."""


class UnsupportedArray(TypeError):
    """An array cannot be a tensor without a copy, or a tensor no array; the text gives the reason."""
