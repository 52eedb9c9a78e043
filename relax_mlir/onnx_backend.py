# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler behind ONNX's interface for backends, which ONNX's own tests and other tools drive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .bindings.errors import RelaxError
from .compiling import compile
from .frontends.onnx.inputs import Shape
from .frontends.onnx.model import read_model
from .onnx_import import from_onnx
from .runtime import Executable, tensor, to_numpy

try:
    from onnx.backend.base import Backend, BackendRep, namedtupledict
except ImportError:
    raise RelaxError("rx.OnnxBackend needs the package onnx: pip install relax-mlir[onnx]") from None


class OnnxBackendRep(BackendRep):
    """A compiled model: `run(inputs)` takes arrays and gives arrays, by position and by the outputs' names."""

    def __init__(self, executable: Executable, outputs: Sequence[str]):
        self._executable = executable
        self._tuple = namedtupledict("Outputs", list(outputs))

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs for inputs in the model's order. One array stands for a list of one."""
        import numpy

        given = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        results = self._executable["main"](*[_passed(numpy.asarray(each)) for each in given])
        described = self._executable.signature("main")["outputs"]
        several = [results] if len(described) == 1 else list(results)
        arrays = [to_numpy(each, about.get("holds")) for each, about in zip(several, described, strict=True)]
        return self._tuple(*arrays)


def _passed(array: Any) -> Any:
    """An array as a tensor; a copy of one that is read-only or does not lie in one piece."""
    return tensor(array if array.flags.c_contiguous and array.flags.writeable else array.copy(order="C"))


class OnnxBackend(Backend):
    """`rx.OnnxBackend.prepare(model).run(inputs)`."""

    @classmethod
    def prepare(
        cls,
        model: Any,
        device: str = "CPU",
        *,
        shapes: Mapping[str, Shape] | None = None,
        target: str = "llvm",
        **kwargs: Any,
    ) -> OnnxBackendRep:
        """Imports and compiles a model: a ModelProto, a path or bytes. `shapes` are those of `rx.from_onnx`."""
        if not cls.supports_device(device):
            raise RelaxError(f"there is no device '{device}': models run on the CPU")
        names = [output.name for output in read_model(model).proto.graph.output]
        return OnnxBackendRep(compile(from_onnx(model, shapes=shapes), target), names)

    @classmethod
    def run_node(
        cls,
        node: Any,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Any = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Runs one operator; `opset_version=` is that of its domain, ONNX's newest where none is given."""
        opset_version = kwargs.pop("opset_version", None)
        return cls.prepare(_model_of(node, inputs, opset_version), device, **kwargs).run(_distinct(node, inputs))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device.partition(":")[0] == "CPU"


def _names(node: Any) -> list[str]:
    """The names of the inputs that are given; "" is one left out."""
    return [name for name in node.input if name]


def _distinct(node: Any, inputs: Sequence[Any]) -> list[Any]:
    """One array for each name: a node may use an input twice."""
    names = _names(node)
    if len(names) != len(inputs):
        raise RelaxError(f"the node has {len(names)} inputs ({', '.join(names)}), got {len(inputs)} arrays")
    return list(dict(zip(names, inputs, strict=True)).values())


def _model_of(node: Any, inputs: Sequence[Any], version: int | None) -> Any:
    """A model of this node alone."""
    import numpy
    from onnx import ValueInfoProto, defs, helper

    arrays = zip(dict.fromkeys(_names(node)), _distinct(node, inputs), strict=True)
    infos = [(name, numpy.asarray(array)) for name, array in arrays]
    graph = helper.make_graph(
        [node],
        node.op_type,
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in infos
        ],
        [ValueInfoProto(name=name) for name in node.output if name],
    )
    opset = helper.make_opsetid(node.domain, version or defs.onnx_opset_version())
    return helper.make_model(graph, opset_imports=[opset])
