# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Implementation of ONNX's backend interface, which ONNX's test suite and other tools use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..frontends.core.values import Array
from ..frontends.onnx.from_onnx import from_onnx
from ..frontends.onnx.inputs import InputShape, declared_inputs, kind_of
from ..frontends.onnx.model import read_model
from ..frontends.onnx.tensor_data import ModelProto, NodeProto, ValueInfoProto
from ..runtime import Executable, to_numpy
from ..support.errors import OptionError, RelaxError
from ..support.suggest import counted
from .compiling import compile

try:
    from onnx.backend.base import Backend, BackendRep, namedtupledict
except ImportError:
    raise RelaxError("rx.OnnxBackend needs the package onnx: pip install relax-mlir[onnx]") from None


class OnnxBackendRep(BackendRep):
    """Prepared model: `run(inputs)` takes and returns arrays, by position and by the outputs' names.

    Sequences are lists of arrays. If the lengths of sequences or the presence of optionals are unknown, the model is
    compiled at the first call with each combination.
    """

    def __init__(self, source: object, shapes: Mapping[str, InputShape], target: str):
        model = read_model(source)
        inputs = declared_inputs(model)
        self._source, self._shapes, self._target = source, shapes, target
        self._tuple = namedtupledict("Outputs", [output.name for output in model.proto.graph.output])
        kinds = [kind_of(input_.type) for input_ in inputs]
        #: Positions of inputs that may be lists or None, and positions and names of inputs that callers determine.
        self._may_be_lists = [position for position, kind in enumerate(kinds) if kind in ("sequence", "optional")]
        self._open = [
            (position, inputs[position].name) for position in self._may_be_lists if inputs[position].name not in shapes
        ]
        self._count = len(inputs)
        self._compiled: dict[tuple[InputShape, ...], Executable] = {}
        if not self._open:
            self._executable(())

    def run(self, inputs: object, **kwargs: object) -> tuple[object, ...]:
        """Run the model on inputs in the model's order. A single array stands for a list of one input."""
        import numpy

        several = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        given = [
            _arrays(each) if position in self._may_be_lists else numpy.asarray(each)
            for position, each in enumerate(several)
        ]
        if self._open and len(given) != self._count:
            raise RelaxError(f"the model has {counted(self._count, 'input')}, got {len(given)}")
        executable = self._executable(tuple(_shape_of(given[position]) for position, _ in self._open))
        results = executable.copying()["main"](*given)
        described = executable.signature("main")["outputs"]
        outputs = [results] if len(described) == 1 else list(results)
        return self._tuple(*[_result(output, about) for output, about in zip(outputs, described, strict=True)])

    def _executable(self, shapes: tuple[InputShape, ...]) -> Executable:
        """Return the program for these shapes of the undetermined inputs, compiled on first use."""
        if shapes not in self._compiled:
            named = {name: shape for (_, name), shape in zip(self._open, shapes, strict=True)}
            module = from_onnx(self._source, shapes={**self._shapes, **named})
            self._compiled[shapes] = compile(module, self._target)
        return self._compiled[shapes]


def _arrays(value: object) -> Array | list[Array] | None:
    """Convert an input to an array, a list of arrays, or None."""
    import numpy

    if isinstance(value, (list, tuple)):
        return [numpy.asarray(each) for each in value]
    return None if value is None else numpy.asarray(value)


def _shape_of(value: Array | list[Array] | None) -> InputShape:
    """Return the `shapes` entry of `rx.from_onnx` for an input."""
    if isinstance(value, list):
        return tuple(each.shape for each in value)
    return None if value is None else value.shape


def _result(value: Any, described: Mapping[str, Any]) -> object:
    """Convert an output to an array (of strings if the output has labels), a list of arrays, or None."""
    import numpy

    if value is None:
        return None
    if described["kind"] == "list":
        items = described["items"]
        return [_result(each, items[at] if at < len(items) else described["rest"]) for at, each in enumerate(value)]
    array = to_numpy(value, described.get("holds"))
    return numpy.array(described["labels"], object)[array] if "labels" in described else array


class OnnxBackend(Backend):
    """ONNX backend: `rx.OnnxBackend.prepare(model).run(inputs)`."""

    @classmethod
    def prepare(
        cls,
        model: object,
        device: str = "CPU",
        *,
        shapes: Mapping[str, InputShape] | None = None,
        target: str = "llvm",
        **kwargs: Any,
    ) -> OnnxBackendRep:
        """Import and compile a model, given as ModelProto, path or bytes. `shapes` are those of `rx.from_onnx`."""
        if not cls.supports_device(device):
            raise OptionError(f"there is no device '{device}': models run on the CPU")
        return OnnxBackendRep(model, shapes or {}, target)

    @classmethod
    def run_node(
        cls, node: NodeProto, inputs: Sequence[object], device: str = "CPU", outputs_info: object = None, **kwargs: Any
    ) -> tuple[object, ...]:
        """Run a single operator. `opset_version=` is the version of its domain, by default ONNX's newest."""
        opset_version = kwargs.pop("opset_version", None)
        return cls.prepare(_model_of(node, inputs, opset_version), device, **kwargs).run(_distinct(node, inputs))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device.partition(":")[0] == "CPU"


def _names(node: NodeProto) -> list[str]:
    """Return the names of the present inputs. An omitted input has the name ""."""
    return [name for name in node.input if name]


def _distinct(node: NodeProto, inputs: Sequence[object]) -> list[object]:
    """Return one array per distinct name: a node may use an input twice."""
    names = _names(node)
    if len(names) != len(inputs):
        raise RelaxError(f"the node has {counted(len(names), 'input')} ({', '.join(names)}), got {len(inputs)} arrays")
    return list(dict(zip(names, inputs, strict=True)).values())


def _model_of(node: NodeProto, inputs: Sequence[object], version: int | None) -> ModelProto:
    """Return a model that contains only this node."""
    from onnx import ValueInfoProto, defs, helper

    values = zip(dict.fromkeys(_names(node)), _distinct(node, inputs), strict=True)
    infos = [_info_of(name, value) for name, value in values]
    outputs = [ValueInfoProto(name=name) for name in node.output if name]
    graph = helper.make_graph([node], node.op_type, infos, outputs)
    opset = helper.make_opsetid(node.domain, version or defs.onnx_opset_version())
    return helper.make_model(graph, opset_imports=[opset])


def _info_of(name: str, value: object) -> ValueInfoProto:
    """Return the declaration of an input. A list is a sequence; an empty list and None have type float32."""
    import numpy
    from onnx import TensorProto, helper

    if value is None:
        tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
        return helper.make_value_info(name, helper.make_optional_type_proto(tensor))
    if isinstance(value, (list, tuple)) and all(isinstance(each, numpy.ndarray) for each in value):
        dtype = helper.np_dtype_to_tensor_dtype(value[0].dtype) if value else TensorProto.FLOAT
        return helper.make_tensor_sequence_value_info(name, dtype, None)
    array = numpy.asarray(value)
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
