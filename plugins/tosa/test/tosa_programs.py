# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All programs."""

from __future__ import annotations

from tosa_elements import ELEMENTS
from tosa_integers import INTEGERS
from tosa_movement import MOVEMENT
from tosa_program import Program
from tosa_windows import WINDOWS

PROGRAMS: list[Program] = [*ELEMENTS, *INTEGERS, *WINDOWS, *MOVEMENT]
