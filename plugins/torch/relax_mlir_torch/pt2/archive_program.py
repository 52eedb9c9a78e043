# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs in .pt2 archives."""

from __future__ import annotations

import json
import threading
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .archive_tensors import TensorReader
from .document import read_document
from .records import ArchiveRecords, check_format
from .refusals import UnreadableError, refuse
from .registrations import register_named
from .targets import HasConverter

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    import torch

_MODELS, _SUFFIX = "models/", ".json"
#: torch.export.save's name of the only program in an archive.
_MODEL = "model"
#: torch's deserializer keeps itself in a global variable, and fails if two threads use it.
deserializing = threading.Lock()


def read_archive(path: Path, has_converter: HasConverter) -> ExportedProgram:
    """Return the program in an archive, without its sample inputs.

    Operators outside of torch's own namespaces are accepted if they have a converter. Raise RelaxError, or what torch
    raises.
    """
    with ArchiveRecords(path) as records:
        check_format(records)
        document = read_document(records.json(_model_record(records)), has_converter)
        reader = TensorReader(records)
        state, constants = reader.state(_MODEL), reader.constants(_MODEL)
    _check_tensors(document.graph_module, state, constants)
    from torch._export.serde import serialize

    with deserializing:
        program: ExportedProgram = serialize.ExportedProgramDeserializer().deserialize(document, state, constants, None)
    return program


def register_needs(path: Path) -> None:
    """Import the well-known modules with the operators or types that the program in an archive names.

    torch.export.load expects these modules to be imported. Archives that cannot be read here are left to torch.
    """
    try:
        with ArchiveRecords(path) as records:
            register_named(json.dumps(records.json(_model_record(records))))
    except (UnreadableError, zipfile.BadZipFile, OSError, ValueError):
        return


def _model_record(records: ArchiveRecords) -> str:
    if (name := f"{_MODELS}{_MODEL}{_SUFFIX}") not in records:
        others = ", ".join(records.names(_MODELS)) or "none"
        refuse(f"the archive has no record '{name}', the program that torch.export.save writes; it has {others}")
    return name


def _check_tensors(graph_module: Any, state: dict[str, torch.Tensor], constants: dict[str, torch.Tensor]) -> None:
    """Refuse programs with weights that differ from their graphs."""
    kinds = {"parameter": "parameter_name", "buffer": "buffer_name", "tensor_constant": "tensor_constant_name"}
    for spec in graph_module.signature.input_specs:
        if spec.type not in kinds:
            continue
        name = getattr(spec.value, kinds[spec.type])
        tensor = state[name] if name in state else constants.get(name)
        if tensor is None:
            refuse(f"the archive has no tensor '{name}', a {spec.type.replace('_', ' ')} of the program")
        _check_tensor(name, tensor, graph_module.graph.tensor_values.get(spec.value.arg.name))


def _check_tensor(name: str, tensor: torch.Tensor, meta: Any) -> None:
    from torch._export.serde import serialize

    if meta is None:
        refuse(f"the graph does not state the type of tensor '{name}'")
    sizes = [size.value if size.type == "as_int" else None for size in meta.sizes]
    dtype = serialize._SERIALIZE_TO_TORCH_DTYPE.get(meta.dtype)
    if sizes != list(tensor.shape) or dtype != tensor.dtype:
        refuse(f"tensor '{name}' is {tensor.dtype} {list(tensor.shape)}, and in the graph {dtype} {sizes}")
