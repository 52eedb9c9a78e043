# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Engines from networks: the part that needs TensorRT itself, or what stands in for it."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ....dialects.core.infos import TensorInfo
from ....dialects.relax.known_constants import NUMPY_NAME
from ....runtime.external.tensorrt import Engine, input_name
from ....support.errors import RefusalError
from ..core.flatten import FlatGraph, Ref
from .converter import Converter
from .options import Options

#: The first whose methods are used here: the types of networks that are as stated, and casts.
LEAST_VERSION = (10, 0)


def tensorrt() -> ModuleType:
    """The package. Raises RelaxError where it is not, or is too old."""
    try:
        import tensorrt as found
    except ImportError as error:
        raise RefusalError(f"TensorRT is not installed, which builds engines (pip install tensorrt): {error}") from None
    version = tuple(map(int, found.__version__.split(".")[:2]))
    if version < LEAST_VERSION:
        raise RefusalError(f"TensorRT 10.0 or newer builds engines, here is {found.__version__}")
    return found


def build(trt: ModuleType, graph: FlatGraph, options: Options) -> Engine:
    """An engine for this machine's GPU."""
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network = builder.create_network(_flags(trt, options))
    converter = Converter(_Checked(network), trt, graph)
    converter.convert()
    if options.fp16:
        for number, ref in enumerate(graph.outputs):
            network.get_output(number).dtype = converter.dtype(ref.info.dtype)
    plan = builder.build_serialized_network(network, _config(trt, builder, graph, options))
    if plan is None:
        raise RefusalError(f"TensorRT builds no engine for {graph.name}, its messages say why")
    return Engine(_element_sizes(graph.inputs), _element_sizes(graph.outputs), bytes(plan))


class _Checked:
    """A network that says so where TensorRT gives no layer."""

    def __init__(self, network: object):
        self._network = network

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._network, name)
        if not name.startswith("add_"):
            return found

        def add(*given: object) -> object:
            layer = found(*given)
            if layer is None:
                raise RefusalError(f"TensorRT refuses a layer ({name}), its messages say why")
            return layer

        return add


def _flags(trt: ModuleType, options: Options) -> int:
    """Types are as the model states them, unless TensorRT may choose."""
    return 0 if options.fp16 else 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)


def _config(trt: ModuleType, builder: Any, graph: FlatGraph, options: Options) -> Any:
    config = builder.create_builder_config()
    if options.fp16:
        config.set_flag(trt.BuilderFlag.FP16)
    else:
        # What is stated as f32 is computed in f32; TensorRT's default keeps 10 bits of it on the newer GPUs.
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
