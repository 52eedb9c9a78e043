# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functional collectives and distributed tensors of torch, compared with its simulation of four ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from rank_threads import on_ranks
from relax_mlir_shard.torch_collectives import mesh_groups
from torch.distributed._local_tensor import LocalTensor, LocalTensorMode
from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor, init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore

import relax_mlir as rx

COLLECTIVES: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda x, mesh: functional.all_reduce(x, "sum", (mesh, 1)),
    "average": lambda x, mesh: functional.all_reduce(x, "avg", (mesh, 0)),
    "product": lambda x, mesh: functional.all_reduce(x, "product", (mesh, 0)),
    "maximum": lambda x, _: functional.all_reduce(x, "max", dist.group.WORLD),
    "gather": lambda x, mesh: functional.all_gather_tensor(x, 1, (mesh, 0)),
    "scatter": lambda x, mesh: functional.reduce_scatter_tensor(x, "avg", 1, (mesh, 1)),
    "exchange": lambda x, mesh: functional.all_to_all_single(x, None, None, (mesh, 1)),
    "broadcast": lambda x, mesh: functional.broadcast(x, 1, (mesh, 1)),
}


class Collective(torch.nn.Module):
    def __init__(self, name: str, mesh: Any) -> None:
        super().__init__()
        self.name, self.mesh = name, mesh

    def forward(self, x: torch.Tensor) -> Any:
        return COLLECTIVES[self.name](x * 2, self.mesh) + 1


@pytest.fixture(scope="module")
def mesh() -> Iterator[Any]:
    dist.init_process_group("fake", rank=0, world_size=4, store=FakeStore())
    yield init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    dist.destroy_process_group()


@pytest.mark.parametrize("name", COLLECTIVES)
def test_collectives_have_the_bits_of_torch(name: str, mesh: Any) -> None:
    inputs = [torch.randn(8, 4, generator=torch.Generator().manual_seed(rank)) for rank in range(4)]
    model = Collective(name, mesh)
    with LocalTensorMode(4):
        expected = model(LocalTensor(dict(enumerate(inputs))))._local_tensors
    program = rx.compile(rx.from_torch(torch.export.export(model, (inputs[0],), strict=False)))
    results = on_ranks(lambda x: program["main"](x.numpy()), inputs)
    for rank, result in enumerate(results):
        numpy.testing.assert_array_equal(result, expected[rank].numpy())


class Layers(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(16, 32), torch.nn.Linear(32, 4)

    def forward(self, x: torch.Tensor) -> Any:
        return self.second(torch.nn.functional.gelu(self.first(x)))


def distributed_layers(mesh: Any, placements: dict[str, Any]) -> tuple[Layers, dict[str, Any]]:
    """Return layers with distributed parameters, and the whole parameters."""
    layers = Layers()
    whole = {name: value.detach().clone() for name, value in layers.named_parameters()}
    for name, value in whole.items():
        layer, _, parameter = name.partition(".")
        divided = distribute_tensor(value, mesh, placements.get(name, [Replicate(), Replicate()]))
        setattr(getattr(layers, layer), parameter, torch.nn.Parameter(divided))
    return layers, whole


def test_placements_are_shardings(mesh: Any) -> None:
    placements = {"first.weight": [Replicate(), Shard(0)], "second.weight": [Shard(1), Shard(1)]}
    layers, whole = distributed_layers(mesh, placements)
    x = torch.randn(8, 16)
    exported = torch.export.export(layers, (distribute_tensor(x, mesh, [Shard(0), Replicate()]),), strict=False)
    module = rx.from_torch(exported, keep_params=True)
    for sharding in ("(dp, _)", "(tp, _)", "(_, dp+tp)"):
        assert f'ccl.sharding = "{sharding}"' in str(module)
    with rx.launch(rx.compile(rx.shard(module, sums="split"))) as ranks:
        result = ranks["main"](x.numpy(), **{name: value.numpy() for name, value in whole.items()})
    plain = Layers()
    plain.load_state_dict(whole)
    numpy.testing.assert_allclose(result, plain(x).detach().numpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(rx.ModelError, match=r"is divided among ranks, so it is an argument.*keep_params=True"):
        rx.from_torch(exported)


def test_partial_sums_are_left_to_the_planner(mesh: Any) -> None:
    layers, _ = distributed_layers(mesh, {"second.bias": [Partial(), Partial()]})
    exported = torch.export.export(layers, (distribute_tensor(torch.ones(8, 16), mesh, [Shard(0)] * 2),), strict=False)
    tensors = [node.meta["val"] for node in exported.graph.find_nodes(op="placeholder")]
    tensors += [node.meta["val"] for node in exported.graph.output_node().args[0]]
    whole = [tensor for tensor in tensors if not any(placement.is_partial() for placement in tensor.placements)]
    assert len(whole) < len(tensors)
    assert str(rx.from_torch(exported, keep_params=True)).count("ccl.sharding") == len(whole)


def test_groups_of_a_mesh() -> None:
    assert mesh_groups([1, 3], 4) == [[0, 2], [1, 3]]
    assert mesh_groups([4, 5], 6) == [[0, 1], [2, 3], [4, 5]]
    for ranks in ([0, 3], [1, 2], [1, 0]):
        with pytest.raises(rx.OptionError, match="expected those along a dimension of a mesh"):
            mesh_groups(ranks, 4)


def test_problems_of_collectives_are_named(mesh: Any) -> None:
    model = Collective("sum", mesh)
    exported = torch.export.export(model, (torch.ones(4),), strict=False)
    (node,) = [node for node in exported.graph.nodes if "all_reduce" in node.name]
    for arguments, problem in (
        ((node.args[0], "bxor", node.args[2]), "reduce_op is 'bxor'"),
        ((*node.args[:2], "none"), "group 'none'"),
    ):
        node.args = arguments
        with pytest.raises(rx.ModelError, match=problem):
            rx.from_torch(exported)
