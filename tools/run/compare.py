# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparison of outputs with the same model in onnxruntime."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from ...runtime.foreign_types import Array
from ...support.errors import OptionError
from ...support.registry import table
from ...support.suggest import counted
from .input_sizes import shape_text
from .inputs import Given, spread_values
from .outputs import number_text

_FOLDER = "session.model_external_initializers_file_folder_path"
#: Default tolerance of differences.
USUAL_TOLERANCE = 1e-4


class Difference(NamedTuple):
    """Difference between an output and the expected output.

    `reason` explains why they cannot be compared.

    `worst` is the position of the largest difference. `doubt` explains why a close output proves little.
    """

    name: str
    absolute: float = 0.0
    relative: float = 0.0
    is_close: bool = False
    reason: str = ""
    doubt: str = ""
    worst: str = ""


class Reference:
    """Model in onnxruntime with its inputs, and the resulting `outputs` by name."""

    name = "onnxruntime"

    def __init__(self, path: str, inputs: Mapping[str, Given], threads: int, model: bytes | None = None):
        """Run a model, or `model` in place of the file's content. Raise RelaxError if onnxruntime fails."""
        try:
            ort = importlib.import_module("onnxruntime")
        except ImportError:
            raise OptionError("--compare with an ONNX model needs onnxruntime: pip install onnxruntime") from None
        self.threads = threads
        options = ort.SessionOptions()
        options.log_severity_level = 4  # errors are also raised
        options.intra_op_num_threads = threads
        if model is not None:  # keeps the folder of the external data
            options.add_session_config_entry(_FOLDER, os.path.dirname(os.path.abspath(path)))
        try:
            session = ort.InferenceSession(
                path if model is None else model, options, providers=["CPUExecutionProvider"]
            )
            taken = {input_.name for input_ in session.get_inputs()}
            names = [output.name for output in session.get_outputs()]
            self.run = partial(session.run, names, {name: value for name, value in inputs.items() if name in taken})
            values = self.run()
        except Exception as error:  # the exceptions have no common base class
            raise OptionError(f"onnxruntime cannot run '{path}': {(str(error).splitlines() or [''])[0]}") from None
        self.outputs: Mapping[str, object] = dict(spread_values(dict(zip(names, values, strict=True))))


def differences(ours: Mapping[str, Array], theirs: Mapping[str, object], tolerance: float) -> list[Difference]:
    """Compare outputs by name, or by position if the names differ.

    Raise OptionError for different numbers of outputs.
    """
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
        here, there = (f"{array.dtype.name} {shape_text(array.shape)}" for array in (ours, theirs))
        return Difference(name, reason=f"ours is {here}, the model's is {there}")
    if ours.size == 0:
        return Difference(name, is_close=True, doubt="it is empty")
    a, b = ours.astype("float64"), theirs.astype("float64")
    with numpy.errstate(invalid="ignore", divide="ignore"):
        same = (a == b) | (numpy.isnan(a) & numpy.isnan(b))
        gap = numpy.where(same, 0.0, numpy.abs(a - b))
        # NaN or infinity on one side only counts as an infinite difference.
        gap = numpy.where(numpy.isfinite(gap), gap, numpy.inf)
        relative = numpy.where(same, 0.0, gap / numpy.abs(b))
        allowed = numpy.where(numpy.isfinite(b), tolerance + tolerance * numpy.abs(b), 0.0)
        excess = gap - allowed
    relative = numpy.where(numpy.isnan(relative), numpy.inf, relative)
    is_close = bool((gap <= allowed).all())
    worst = numpy.unravel_index(int(numpy.argmax(numpy.where(numpy.isnan(excess), 0, excess))), gap.shape)
    where = f"at {list(map(int, worst))}: " if worst else ""
    place = f"{where}{number_text(a[worst])} instead of {number_text(b[worst])}"
    doubt = _doubt(b, tolerance)
    return Difference(name, float(gap.max()), float(relative.max()), is_close, doubt=doubt, worst=place)


def _doubt(expected: Array, tolerance: float) -> str:
    """Return the reason why zeros would be as close as the computed output, or ""."""
    import numpy

    if (largest := float(numpy.abs(expected).max())) == 0:
        return "all of it is 0"
    if largest <= tolerance:
        smaller = number_text(float(f"{largest * 1e-3:.0e}"))
        return f"nothing in it is above the tolerance, zeros would be as close: --tolerance={smaller}"
    return ""


def with_doubt(
    found: Difference, ours: Mapping[str, Array], others: Mapping[str, Array], tolerance: float
) -> Difference:
    """Add a doubt if an output is the same for other inputs, whose results are `others`: the comparison shows
    little."""
    one, other = ours.get(found.name), others.get(found.name)
    if found.doubt or one is None or other is None or one.dtype.kind not in "fV":
        return found
    if not difference(found.name, one, other, tolerance).is_close:
        return found
    return found._replace(
        doubt="it is the same for other random inputs, so little was compared: --input gives real ones"
    )


def report(found: list[Difference]) -> str:
    """Format the differences as a table with a line per output."""
    rows = [("output", "max abs difference", "max rel difference", "")]
    for each in found:
        numbers = ("-", "-") if each.reason else (number_text(each.absolute), number_text(each.relative))
        close = f"close, but {each.doubt}" if each.doubt else "close"
        rows.append((each.name, *numbers, close if each.is_close else each.reason or f"differs, most {each.worst}"))
    return table(*rows) + "\n"
