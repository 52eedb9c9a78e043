# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Architectures of torch_geometric."""

from __future__ import annotations

from typing import Any

import torch

from .cases import ZOO, Case, case

_DYNAMIC = ({0: "nodes"}, {1: "edges"})


def nodes(count: int = 6, features: int = 8) -> torch.Tensor:
    return torch.randn(count, features)


def edges(nodes: int = 6, count: int = 11) -> torch.Tensor:
    return torch.randint(0, nodes, (2, count))


def _network(name: str, **options: Any) -> None:
    def build() -> Case:
        from torch_geometric.nn import models

        model = getattr(models, name)(8, 16, num_layers=2, out_channels=5, **options)
        return Case(model, (nodes(), edges()), {}, _DYNAMIC)

    ZOO[f"geometric {name}"] = build


def _convolution(name: str, *options: Any, **named: Any) -> None:
    def build() -> Case:
        import torch_geometric

        return Case(getattr(torch_geometric.nn, name)(8, 12, *options, **named), (nodes(), edges()), {}, _DYNAMIC)

    ZOO[f"geometric {name}"] = build


_network("GCN")
_network("GraphSAGE")
_network("GIN")
_network("GAT", heads=2)
_network("PNA", aggregators=["mean", "max", "std"], scalers=["identity"], deg=torch.tensor([1, 2, 3]))
_network("EdgeCNN")
_convolution("TransformerConv", heads=2)
_convolution("ChebConv", 3)


@case("geometric SchNet")
def schnet() -> Case:
    from torch_geometric.nn.models import SchNet

    model = SchNet(
        hidden_channels=16, num_filters=16, num_interactions=2, num_gaussians=8, interaction_graph=_all_pairs
    )
    return Case(model, (torch.tensor([6, 1, 1, 8, 7]), torch.randn(5, 3)))


def _all_pairs(positions: torch.Tensor, batch: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Connect each atom with all others: the library's graphs of a radius need an extension of its own."""
    count = positions.shape[0]
    sources, targets = torch.nonzero(~torch.eye(count, dtype=torch.bool), as_tuple=True)
    return torch.stack([sources, targets]), (positions[sources] - positions[targets]).norm(dim=-1)


@case("geometric graph classifier")
def graph_classifier() -> Case:
    from torch_geometric.nn import GCNConv, global_mean_pool

    class Classifier(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = GCNConv(8, 16), torch.nn.Linear(16, 3)

        def forward(self, x: torch.Tensor, edges: torch.Tensor, graph: torch.Tensor) -> torch.Tensor:
            return self.second(global_mean_pool(self.first(x, edges).relu(), graph, 2))

    return Case(Classifier(), (nodes(), edges(), torch.tensor([0, 0, 0, 1, 1, 1])))


@case("geometric LightGCN")
def light_gcn() -> Case:
    from torch_geometric.nn.models import LightGCN

    return Case(LightGCN(6, 8, 2), (edges(),))


@case("geometric AttentiveFP")
def attentive_fp() -> Case:
    from torch_geometric.nn.models import AttentiveFP

    model = AttentiveFP(8, 16, 4, edge_dim=5, num_layers=2, num_timesteps=2)
    return Case(model, (nodes(), edges(), torch.randn(11, 5), torch.tensor([0, 0, 0, 1, 1, 1])))
