# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model as each of those compared runs it, at given sizes: this project, onnxruntime, OpenVINO; and the models of
onnxruntime's quantization tool."""

from __future__ import annotations

import importlib.util
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from compare import onnxruntime_session, random_inputs
from zoo import BATCH, Exported

import relax_mlir as rx

Run = Callable[[], Any]
_NONE: Mapping[str, Sequence[int]] = MappingProxyType({})
OURS, ONNXRUNTIME, OPENVINO, OPENVINO_DEFAULT = "ours", "onnxruntime", "OpenVINO f32", "OpenVINO"
#: Beside whom each precision is measured: OpenVINO as it is by default computes in what the CPU is fastest in.
PEERS = {
    "f32": (ONNXRUNTIME, OPENVINO),
    "bf16": (OPENVINO_DEFAULT,),
    "int8": (ONNXRUNTIME, OPENVINO, OPENVINO_DEFAULT),
}


class Case(NamedTuple):
    """A model at a batch, the one that it is exported with (0) or another; static or with dynamic sizes."""

    model: Exported
    is_dynamic: bool
    batch: int
    precision: str
    #: Whether convolutions of 3x3 taps work by tiles, with fewer products and another error.
    by_tiles: bool = False

    @property
    def name(self) -> str:
        return f"{self.model.name}{'_dynamic' if self.is_dynamic else ''}{' by tiles' if self.by_tiles else ''}"

    @property
    def target(self) -> str:
        return "llvm{winograd=4}" if self.by_tiles else "llvm"

    @property
    def sizes(self) -> dict[str, int]:
        return {**self.model.sizes[0], **({BATCH: self.batch} if self.batch else {})}

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """What inputs are declared as: static models of another batch are dynamic ones with their sizes given."""
        if self.is_dynamic or not self.batch:
            return {}
        return {each.name: self.model.shape(each, self.sizes) for each in self.model.inputs}

    def path(self, folder: Path) -> Path:
        """Of what is exported."""
        return folder / f"{self.model.name}{'_dynamic' if self.is_dynamic or self.batch else ''}.onnx"

    def inputs(self) -> dict[str, Any]:
        return random_inputs(self.model, self.sizes)


def model_file(case: Case, exported: Path) -> Path:
    """The file that all take: of int8, quantized where that has not been done yet."""
    return quantized(case.model, exported) if case.precision == "int8" else exported


def quantized(model: Exported, source: Path) -> Path:
    """QDQ, unsigned activations, signed weights with a scale for each channel; one random input says how large numbers
    get."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    path = source.with_name(f"{source.stem}_int8.onnx")
    if path.exists():
        return path

    class Random(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self._inputs: Iterator[dict[str, Any]] = iter([random_inputs(model, model.sizes[0])])

        def get_next(self) -> dict[str, Any] | None:
            return next(self._inputs, None)

    partial = path.with_suffix(".partial")
    how = {"quant_format": QuantFormat.QDQ, "per_channel": True}
    types = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
    logging.disable(logging.WARNING)  # that other tools could be run before
    quantize_static(source, partial, Random(), **how, **types)
    logging.disable(logging.NOTSET)
    partial.rename(path)
    return path


def module_of(case: Case, path: Path) -> rx.Module:
    return rx.from_onnx(path, shapes=case.shapes or None)


def run_of(who: str, case: Case, path: Path, inputs: Mapping[str, Any], threads: int) -> Run:
    """A call by one of the peers."""
    if who == ONNXRUNTIME:
        session = onnxruntime_session(path, threads, case.sizes if case.shapes else {})
        return lambda: session.run(None, dict(inputs))
    return openvino_run(path, inputs, threads, "f32" if who == OPENVINO else "", case.shapes)


def openvino_run(
    path: Path, inputs: Mapping[str, Any], threads: int, precision: str, shapes: Mapping[str, Sequence[int]] = _NONE
) -> Run:
    """In a precision, or its own default where that is empty; `shapes` are given for what varies in the model."""
    import openvino

    core = openvino.Core()
    model = core.read_model(path)
    if shapes:
        model.reshape({name: list(shape) for name, shape in shapes.items()})
    how: dict[str, Any] = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1}
    if precision:
        how["INFERENCE_PRECISION_HINT"] = precision
    request = core.compile_model(model, "CPU", how).create_infer_request()
    given = list(inputs.values())
    return lambda: request.infer(given)


def find_openvino(folder: Path) -> str:
    """Its version and what it computes in by default; empty where it is not installed, neither here nor next to the
    models, where `make bench-models` puts it."""
    if importlib.util.find_spec("openvino") is None:
        # Behind all others: what is installed here is not taken from there.
        sys.path.extend(map(str, folder.glob("env-peers/lib/python*/site-packages")))
    try:
        import openvino
    except ImportError:
        return ""
    default = openvino.Core().get_property("CPU", "INFERENCE_PRECISION_HINT")
    return f"OpenVINO {openvino.__version__.partition('-')[0]}, which computes in {default.to_string()} by default"
