# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads models and checks what the importer relies on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...bindings.errors import RelaxError

#: The domain of ONNX's own operators, and its other name.
DEFAULT_DOMAINS = ("", "ai.onnx")


@dataclass(frozen=True)
class Model:
    """A model, the versions of the operator sets that it was made for, and where its files lie."""

    proto: Any
    opsets: dict[str, int]
    folder: Path | None

    def version(self, domain: str) -> int:
        """The version of a domain's operators."""
        return self.opsets.get("" if domain in DEFAULT_DOMAINS else domain, 1)


def read_model(source: Any) -> Model:
    """A model from a path, bytes or a ModelProto. Raises RelaxError for what is none."""
    try:
        import onnx
    except ImportError:
        raise RelaxError("reading ONNX models needs the package onnx: pip install relax-mlir[onnx]") from None
    folder, what = None, "this"
    if isinstance(source, (str, Path)):
        folder, what = Path(source).parent, str(source)
        source = _bytes_of(Path(source))
    proto = _parsed(source, what) if isinstance(source, (bytes, bytearray, memoryview)) else source
    if not isinstance(proto, onnx.ModelProto):
        raise RelaxError(f"a model is a path, bytes or an onnx.ModelProto, got {type(source).__name__}")
    if not proto.HasField("graph"):
        raise RelaxError("the model has no graph: is it an ONNX file?")
    if not proto.graph.output:
        raise RelaxError("the model's graph has no outputs: there is nothing to compile")
    return Model(proto, _opsets(proto), folder)


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise RelaxError(f"cannot read {path}: {getattr(error, 'strerror', error)}") from None


def _parsed(data: Any, what: str) -> Any:
    import onnx
    from google.protobuf.message import DecodeError

    try:
        return onnx.load_model_from_string(bytes(data))
    except DecodeError:
        raise RelaxError(f"{what} is no ONNX model: its protobuf is malformed") from None


def versions_of(imports: Any) -> dict[str, int]:
    """Versions by domain, of a model's or a function's `opset_import`."""
    return {"" if each.domain in DEFAULT_DOMAINS else each.domain: each.version for each in imports}


def _opsets(proto: Any) -> dict[str, int]:
    import onnx

    versions = versions_of(proto.opset_import)
    newest = onnx.defs.onnx_opset_version()
    if versions.get("", 1) > newest:
        raise RelaxError(
            f"the model is for opset {versions['']}, the installed onnx {onnx.__version__} knows up to {newest}",
            notes=["a newer onnx may know it: pip install -U onnx"],
        )
    return versions
