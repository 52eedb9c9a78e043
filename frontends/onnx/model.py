# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reading of models, and the checks on which the importer relies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...support.errors import ModelError, RelaxError
from ..core.limits import Limits, Room
from .large_data import read_without_large_data, take_large_data
from .limits import expanded_nodes
from .tensor_data import GraphProto, ModelProto, NodeProto, TensorData

# First bytes of a Git LFS pointer file.
_LFS = b"version https://git-lfs"

#: The domain of ONNX's own operators, and its other name.
DEFAULT_DOMAINS = ("", "ai.onnx")
# Last version of an operator set that the bindings of onnx accept.
_LAST_VERSION = 2**31 - 1


_USUAL = Limits()


@dataclass(frozen=True)
class OnnxModel:
    """Model, the versions of its operator sets, and the data of its tensors."""

    proto: ModelProto
    opsets: dict[str, int]
    data: TensorData
    #: PrimFuncs that converters have added to the module, by their source.
    kernels: dict[Any, str] = field(default_factory=dict)
    #: Path of the model's file, if any.
    path: str = ""

    @property
    def room(self) -> Room:
        """Return the remaining room below the import's limits."""
        return self.data.room


@contextmanager
def errors_in(path: str) -> Iterator[None]:
    """Add the path of the model's file to errors, if there is one."""
    try:
        yield
    except RelaxError as error:
        if not path or error.location:
            raise
        raise error.altered(location=path) from error


def read_model(source: object, limits: Limits = _USUAL, *, is_mapped: bool = False) -> OnnxModel:
    """Read a model from a path, bytes or a ModelProto. Raise RelaxError if this fails.

    Weights of a mapped file are not read into memory. The file must not change as long as the module is used.
    """
    if isinstance(source, OnnxModel):
        return source
    try:
        import onnx
    except ImportError:
        raise ModelError("reading ONNX models needs the package onnx: pip install relax-mlir[onnx]") from None
    folder, what, path = None, "this", ""
    proto = source
    taken: dict[bytes, memoryview] = {}
    if isinstance(source, (str, Path)):
        folder, what, path = Path(source).parent, str(source), str(source)
        stripped, taken = _read(Path(source), is_mapped)
        proto = _parse(stripped, what)
    elif isinstance(source, (bytes, bytearray, memoryview)):
        stripped, taken = take_large_data(bytes(source))
        proto = _parse(stripped, what)
    if not isinstance(proto, onnx.ModelProto):
        raise ModelError(f"a model is a path, bytes or an onnx.ModelProto, got {type(source).__name__}")
    with errors_in(path):
        if not proto.HasField("graph"):
            raise ModelError("the model has no graph: is it an ONNX file?")
        if not proto.graph.output:
            raise ModelError("the model's graph has no outputs: there is nothing to compile")
        _check_texts(proto)
        room = Room(limits, "rx.from_onnx")
        room.check_expanded(expanded_nodes(proto))
        return OnnxModel(proto, _opsets(proto), TensorData(room, folder, taken), path=path)


def _read(path: Path, is_mapped: bool) -> tuple[bytes, dict[bytes, memoryview]]:
    try:
        with path.open("rb", buffering=0) as file:
            return read_without_large_data(file, is_mapped=is_mapped)
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read {path}: {getattr(error, 'strerror', error)}") from None


def _parse(data: bytes, what: str) -> ModelProto:
    import onnx
    from google.protobuf.message import DecodeError

    try:
        return onnx.load_model_from_string(data)
    except DecodeError:
        notes = ["it is a pointer of Git LFS: `git lfs pull` fetches the model"] if data.startswith(_LFS) else []
        raise ModelError(f"{what} is not an ONNX model: its protobuf is malformed or truncated", notes=notes) from None


def versions_of(imports: Any) -> dict[str, int]:
    """Return versions by domain from the `opset_import` of a model or a function."""
    return {"" if import_.domain in DEFAULT_DOMAINS else import_.domain: import_.version for import_ in imports}


def _opsets(proto: ModelProto) -> dict[str, int]:
    _check_opsets("the model", proto.opset_import)
    for function in proto.functions:
        _check_opsets(f"function '{function.name}'", function.opset_import)
    return versions_of(proto.opset_import)


def _check_opsets(whose: str, imports: Any) -> None:
    import onnx

    versions = versions_of(imports)
    for import_ in imports:
        domain = "" if import_.domain in DEFAULT_DOMAINS else import_.domain
        if not 1 <= import_.version <= _LAST_VERSION:
            reason = "versions begin with 1" if import_.version < 1 else "there are no such versions"
            raise ModelError(f"{whose} is for opset {import_.version} of {_name(domain)}: {reason}")
        if import_.version != versions[domain]:
            raise ModelError(
                f"{whose} is for opset {import_.version} and for opset {versions[domain]} of {_name(domain)} at once"
            )
    newest = onnx.defs.onnx_opset_version()
    if versions.get("", 1) > newest:
        raise ModelError(
            f"{whose} is for opset {versions['']}, the installed onnx {onnx.__version__} knows up to {newest}",
            notes=["a newer onnx may know it: pip install -U onnx"],
        )


def _name(domain: str) -> str:
    return f"domain '{domain or DEFAULT_DOMAINS[1]}'"


# ---- texts ----


def _check_texts(model: ModelProto) -> None:
    """Refuse names that are not UTF-8. protobuf returns such names as bytes, which the importer cannot handle."""
    for kind, text in _texts(model):
        if isinstance(text, bytes):
            raise ModelError(f"the model's protobuf is malformed: {kind} is {text!r}, which is not UTF-8")


def _texts(model: ModelProto) -> Iterator[tuple[str, str | bytes]]:
    yield "the producer's name", model.producer_name
    yield "the producer's version", model.producer_version
    for each in model.opset_import:
        yield "the domain of an operator set", each.domain
    yield from _yield_graph(model.graph)
    for function in model.functions:
        yield "a function's name", function.name
        yield "a function's domain", function.domain
        for each in function.opset_import:
            yield "the domain of an operator set", each.domain
        for name in (*function.input, *function.output):
            yield "the name of a value", name
        for node in function.node:
            yield from _yield_texts(node)


def _yield_graph(graph: GraphProto) -> Iterator[tuple[str, str | bytes]]:
    yield "a graph's name", graph.name
    for each in (*graph.input, *graph.output):
        yield "the name of a value", each.name
        for dim in each.type.tensor_type.shape.dim:
            yield "the name of a size", dim.dim_param
    for tensor in graph.initializer:
        yield "the name of a tensor", tensor.name
    for node in graph.node:
        yield from _yield_texts(node)


def _yield_texts(node: NodeProto) -> Iterator[tuple[str, str | bytes]]:
    yield "a node's name", node.name
    yield "a node's operator", node.op_type
    yield "a node's domain", node.domain
    for name in (*node.input, *node.output):
        yield "the name of a value", name
    for attribute in node.attribute:
        yield "an attribute's name", attribute.name
        yield "an attribute's reference", attribute.ref_attr_name
        if attribute.HasField("g"):
            yield from _yield_graph(attribute.g)
