# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same model by onnxruntime, and how far its outputs are from ours."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import NamedTuple

from ...support.errors import OptionError
from ...support.registry import table
from ...support.suggest import counted
from .inputs import Array, Given, spread_values
from .outputs import number_text
from .sizes import shape_text


class Difference(NamedTuple):
    """How far an output is from the expected one: `reason` says why they cannot be compared.

    `doubt` says why an output that is close proves nothing.
    """

    name: str
    absolute: float = 0.0
    relative: float = 0.0
    is_close: bool = False
    reason: str = ""
    doubt: str = ""


def reference_outputs(path: str, inputs: Mapping[str, Given]) -> dict[str, object]:
    """What onnxruntime computes. Raises RelaxError."""
    try:
        ort = importlib.import_module("onnxruntime")
    except ImportError:
        raise OptionError("--compare needs onnxruntime: pip install onnxruntime") from None
    options = ort.SessionOptions()
    options.log_severity_level = 4  # what goes wrong is raised too
    try:
        session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        taken = {each.name for each in session.get_inputs()}
        names = [each.name for each in session.get_outputs()]
        values = session.run(names, {name: value for name, value in inputs.items() if name in taken})
    except Exception as error:  # its exceptions have no class in common
        raise OptionError(f"onnxruntime cannot run '{path}': {(str(error).splitlines() or [''])[0]}") from None
    return dict(spread_values(dict(zip(names, values, strict=True))))


def differences(ours: Mapping[str, Array], theirs: Mapping[str, object], tolerance: float) -> list[Difference]:
    """By the outputs' names; by their places where a program was compiled without the model's names."""
    if len(ours) != len(theirs):
        raise OptionError(f"the program has {counted(len(ours), 'output')}, the model of --compare {len(theirs)}")
    if set(ours) == set(theirs):
        return [difference(name, ours[name], theirs[name], tolerance) for name in ours]
    pairs = zip(ours.items(), theirs.values(), strict=True)
    return [difference(name, value, expected, tolerance) for (name, value), expected in pairs]


def difference(name: str, ours: Array, theirs: object, tolerance: float) -> Difference:
    import numpy

    if not isinstance(theirs, numpy.ndarray):
        return Difference(name, reason=f"the model's is no tensor but {type(theirs).__name__}")
    if ours.dtype.name != theirs.dtype.name or ours.shape != theirs.shape:
        here, there = (f"{each.dtype.name} {shape_text(each.shape)}" for each in (ours, theirs))
        return Difference(name, reason=f"ours is {here}, the model's is {there}")
    if ours.size == 0:
        return Difference(name, is_close=True, doubt="it is empty")
    a, b = ours.astype("float64"), theirs.astype("float64")
    with numpy.errstate(invalid="ignore", divide="ignore"):
        same = (a == b) | (numpy.isnan(a) & numpy.isnan(b))
        gap = numpy.where(same, 0.0, numpy.abs(a - b))
        # NaN or infinity on one side only is as far as can be.
        gap = numpy.where(numpy.isfinite(gap), gap, numpy.inf)
        relative = numpy.where(same, 0.0, gap / numpy.abs(b))
        allowed = numpy.where(numpy.isfinite(b), tolerance + tolerance * numpy.abs(b), 0.0)
    relative = numpy.where(numpy.isnan(relative), numpy.inf, relative)
    is_close = bool((gap <= allowed).all())
    return Difference(name, float(gap.max()), float(relative.max()), is_close, doubt=_doubt(b, tolerance))


def _doubt(expected: Array, tolerance: float) -> str:
    """Why zeros would be as close as what was computed; empty where they would not."""
    import numpy

    largest = float(numpy.abs(expected).max())
    if largest == 0:
        return "all of it is 0"
    if largest <= tolerance:
        smaller = number_text(float(f"{largest * 1e-3:.0e}"))
        return f"nothing in it is above the tolerance, zeros would be as close: --tolerance={smaller}"
    return ""


def report(found: list[Difference]) -> str:
    """A line for each output."""
    rows = [("output", "max abs difference", "max rel difference", "")]
    for each in found:
        numbers = ("-", "-") if each.reason else (number_text(each.absolute), number_text(each.relative))
        close = f"close, but {each.doubt}" if each.doubt else "close"
        rows.append((each.name, *numbers, close if each.is_close else each.reason or "differs"))
    return table(*rows) + "\n"
