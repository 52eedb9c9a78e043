# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Build of engines from networks. This is the only compile-time code that needs TensorRT or a substitute."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from relax_mlir import RefusalError, TensorInfo
from relax_mlir.dialects.relax.known_constants import NUMPY_NAME
from relax_mlir.passes.graph.parts.flat_graph import FlatGraph, Ref

from . import all_rules  # noqa: F401  # registers the rules
from .converter import Converter
from .options import Options
from .runtime import BuiltEngine, input_name

#: First version with the methods that this module uses: strongly typed networks, and casts.
LEAST_VERSION = (10, 0)


def tensorrt() -> ModuleType:
    """Return the package tensorrt. Raise RelaxError if it is missing or too old."""
    try:
        import tensorrt as found
    except ImportError as error:
        raise RefusalError(
            f"TensorRT is not installed, and builds the engines (pip install tensorrt): {error}"
        ) from None
    if tuple(map(int, found.__version__.split(".")[:2])) < LEAST_VERSION:
        raise RefusalError(f"engines need TensorRT 10.0 or newer, found {found.__version__}")
    return found


def build(trt: ModuleType, graph: FlatGraph, options: Options) -> BuiltEngine:
    """Build an engine for this machine's GPU."""
    builder = trt.Builder(trt.Logger(trt.Logger.WARNING))
    network = builder.create_network(_flags(trt, options))
    converter = Converter(_Checked(network), trt, graph)
    converter.convert()
    if options.fp16:
        for number, ref in enumerate(graph.outputs):
            network.get_output(number).dtype = converter.dtype(ref.info.dtype)
    if (plan := builder.build_serialized_network(network, _config(trt, builder, graph, options))) is None:
        raise RefusalError(f"TensorRT built no engine for {graph.name}; see TensorRT's messages for the reason")
    return BuiltEngine(_element_sizes(graph.inputs), _element_sizes(graph.outputs), bytes(plan))


class _Checked:
    """Network that raises RefusalError if TensorRT returns no layer."""

    def __init__(self, network: object):
        self._network = network

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._network, name)
        if not name.startswith("add_"):
            return found

        def add(*given: object) -> object:
            if (layer := found(*given)) is None:
                raise RefusalError(f"TensorRT refuses a layer ({name}); see TensorRT's messages for the reason")
            return layer

        return add


def _flags(trt: ModuleType, options: Options) -> int:
    """Return the network's flags: strongly typed, with the model's types, unless fp16 lets TensorRT choose types."""
    return 0 if options.fp16 else 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)


def _config(trt: ModuleType, builder: Any, graph: FlatGraph, options: Options) -> Any:
    config = builder.create_builder_config()
    if options.fp16:
        config.set_flag(trt.BuilderFlag.FP16)
    else:
        # f32 is computed in f32. TensorRT's default, TF32, keeps 10 bits of the fraction on newer GPUs.
        config.clear_flag(trt.BuilderFlag.TF32)
    if options.workspace is not None:
        config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, options.workspace)
    shapes = {input_name(number): ref.dims for number, ref in enumerate(graph.inputs)}
    if any(not isinstance(dim, int) for dims in shapes.values() for dim in dims):
        profile = builder.create_optimization_profile()
        for name, dims in shapes.items():
            profile.set_shape(name, *options.range_of(dims, name))
        config.add_optimization_profile(profile)
    return config


def _element_sizes(refs: list[Ref]) -> list[int]:
    import numpy

    infos: list[TensorInfo] = [ref.info for ref in refs]
    return [numpy.dtype(NUMPY_NAME[info.dtype]).itemsize for info in infos]
