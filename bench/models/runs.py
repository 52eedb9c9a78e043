# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of a model by each contender at given sizes: this project, onnxruntime, OpenVINO; and quantized models.

onnxruntime's quantization tool quantizes the models.
"""

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
#: Peers of each precision: OpenVINO's default precision is the one in which the CPU is fastest.
PEERS = {
    "f32": (ONNXRUNTIME, OPENVINO),
    "bf16": (OPENVINO_DEFAULT,),
    "int8": (ONNXRUNTIME, OPENVINO, OPENVINO_DEFAULT),
}
#: Values of ONEDNN_MAX_CPU_ISA by CPU.
LEVELS = {
    "x86-64-v3": "AVX2",
    "alderlake": "AVX2_VNNI",
    "x86-64-v4": "AVX512_CORE",
    "cascadelake": "AVX512_CORE_VNNI",
}


class Case(NamedTuple):
    """Model at the exported batch (0) or another one; static or with dynamic sizes."""

    model: Exported
    is_dynamic: bool
    batch: int
    precision: str
    #: True if 3x3 convolutions use tiles, with fewer products and another error.
    by_tiles: bool = False
    #: CPU that programs are compiled for, or "" for this one.
    cpu: str = ""

    @property
    def name(self) -> str:
        return f"{self.model.name}{'_dynamic' if self.is_dynamic else ''}{' by tiles' if self.by_tiles else ''}"

    @property
    def target(self) -> str:
        return target_of(self.cpu, "winograd=4" if self.by_tiles else "")

    @property
    def sizes(self) -> dict[str, int]:
        return {**self.model.sizes[0], **({BATCH: self.batch} if self.batch else {})}

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the declared shapes of inputs: static models of another batch are dynamic ones with fixed sizes."""
        if self.is_dynamic or not self.batch:
            return {}
        return {each.name: self.model.shape(each, self.sizes) for each in self.model.inputs}

    def path(self, folder: Path) -> Path:
        """Return the path of the exported file."""
        return folder / f"{self.model.name}{'_dynamic' if self.is_dynamic or self.batch else ''}.onnx"

    def inputs(self) -> dict[str, Any]:
        return random_inputs(self.model, self.sizes)


def target_of(cpu: str, *options: str) -> str:
    """Return a target with its options, without `cores`: whoever compiles for another CPU knows no number."""
    given = ",".join(filter(None, (f"cpu={cpu}" if cpu else "", *options)))
    return f"llvm{{{given}}}" if given else "llvm"


def model_file(case: Case, exported: Path) -> Path:
    """Return the file that all contenders use: for int8 the quantized one, which is created if needed."""
    return quantized(case.model, exported) if case.precision == "int8" else exported


def quantized(model: Exported, source: Path) -> Path:
    """Return a quantized model: QDQ, unsigned activations, signed weights with a scale for each channel.

    One random input calibrates the ranges.
    """
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
    logging.disable(logging.WARNING)  # logs suggest other tools to run before
    quantize_static(source, partial, Random(), **how, **types)
    logging.disable(logging.NOTSET)
    partial.rename(path)
    return path


def module_of(case: Case, path: Path) -> rx.Module:
    return rx.from_onnx(path, shapes=case.shapes or None)


def run_of(who: str, case: Case, path: Path, inputs: Mapping[str, Any], threads: int) -> Run:
    """Return a call by one of the peers."""
    if who == ONNXRUNTIME:
        session = onnxruntime_session(path, threads, case.sizes if case.shapes else {})
        return lambda: session.run(None, dict(inputs))
    return openvino_run(path, inputs, threads, "f32" if who == OPENVINO else "", case.shapes)


def openvino_run(
    path: Path, inputs: Mapping[str, Any], threads: int, precision: str, shapes: Mapping[str, Sequence[int]] = _NONE
) -> Run:
    """Return a run in a precision, or in the default one for "". `shapes` are the values of dynamic shapes."""
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
    """Return OpenVINO's version and default precision, or "" if it is not installed.

    It is searched here and next to the models, where `suite.py bench-models` installs it.
    """
    if importlib.util.find_spec("openvino") is None:
        # At the end, so that installed packages have priority.
        sys.path.extend(map(str, folder.glob("env-peers/lib/python*/site-packages")))
    try:
        import openvino
    except ImportError:
        return ""
    default = openvino.Core().get_property("CPU", "INFERENCE_PRECISION_HINT")
    return f"OpenVINO {openvino.__version__.partition('-')[0]}, which computes in {default.to_string()} by default"
