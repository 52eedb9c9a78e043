# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimizers for rx.Trainer and rx.add_training_step. `rx.optim.Adam(lr=1e-3)`."""

from . import _namespace

__all__, __getattr__, __dir__ = _namespace(__name__)
