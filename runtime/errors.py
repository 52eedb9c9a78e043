# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors between an artifact and a call."""

from __future__ import annotations

from ..support.errors import RelaxError


class ArtifactError(RelaxError):
    """Artifact that cannot be written, read, or run on this machine; the text gives the reason."""


class DeviceError(ArtifactError):
    """Device that is missing, unfit for a program, or refuses an operation; the text gives the reason."""


class UnknownFunction(LookupError):
    """The executable has no function of this name."""


class UnsupportedArray(TypeError):
    """Array that cannot become a tensor without a copy, or tensor that cannot become an array; the text gives the
    reason."""
