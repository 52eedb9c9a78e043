# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What lowered graph functions do with results that have no memory before: places are lists, which get them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ..registry import register_step
from ..sites import Site, Step

if TYPE_CHECKING:
    from numpy import ndarray


@register_step(["tir.give_tensor", "tir.give_object"])
def give(site: Site) -> Step:
    is_tensor = site.operation.name == "tir.give_tensor"

    def run(frame: object, value: ndarray, place: list[ndarray]) -> None:
        place.append(numpy.array(value) if is_tensor else value)

    return run


@register_step("tir.release")
def release(site: Site) -> Step:
    return lambda frame, value: None


@register_step("tir.random_key")
def random_key(site: Site) -> Step:
    return lambda frame: numpy.int64(next(site.machine.keys))
