# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks of kinds for which no library has a small model."""

from __future__ import annotations

import torch
from torch import nn

from .cases import BATCH, ZOO, Case, image


class _ResidualBlock(nn.Module):
    """Residual block of a diffusion model: the time step scales and shifts a norm."""

    def __init__(self, channels: int, times: int):
        super().__init__()
        self.first, self.second = nn.GroupNorm(4, channels), nn.GroupNorm(4, channels)
        self.convs = nn.ModuleList([nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2)])
        self.time = nn.Linear(times, 2 * channels)

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        scale, shift = self.time(nn.functional.silu(time))[:, :, None, None].chunk(2, 1)
        inner = self.convs[0](nn.functional.silu(self.first(x)))
        inner = self.second(inner) * (1 + scale) + shift
        return x + self.convs[1](nn.functional.silu(inner))


class Diffusion(nn.Module):
    """A small U-Net: down, attention in the middle, up."""

    def __init__(self) -> None:
        super().__init__()
        self.inputs, self.outputs = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 3, 3, padding=1)
        self.down, self.middle, self.up = (_ResidualBlock(16, 32) for _ in range(3))
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
        self.pool = nn.Conv2d(16, 16, 3, stride=2, padding=1)

    def forward(self, x: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
        frequencies = torch.exp(-9.2 * torch.arange(16, dtype=torch.float32) / 16)
        angles = step[:, None].to(torch.float32) * frequencies
        time = torch.cat([angles.sin(), angles.cos()], -1)
        kept = self.down(self.inputs(x), time)
        inner = self.middle(self.pool(kept), time)
        batch, channels, height, width = inner.shape
        rows = inner.flatten(2).transpose(1, 2)
        rows = rows + self.attention(rows, rows, rows, need_weights=False)[0]
        inner = rows.transpose(1, 2).reshape(batch, channels, height, width)
        inner = nn.functional.interpolate(inner, scale_factor=2.0, mode="nearest")
        return self.outputs(self.up(inner + kept, time))


ZOO["diffusion block"] = lambda: Case(Diffusion(), (image(16), torch.tensor([3, 500])), {}, (BATCH, BATCH))


class Detector(nn.Module):
    """Head that keeps boxes with scores above a threshold: sizes depend on data."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 6, 3, 2, 1))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rows = self.backbone(x).flatten(2).transpose(1, 2)[0]
        scores = rows[:, 4].sigmoid()
        kept = torch.nonzero(scores > 0.5)[:, 0]
        return rows[kept, :4], scores[kept]


ZOO["detector of dynamic sizes"] = lambda: Case(Detector(), (image(32, batch=1),))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, 16, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(32, 8, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, _ = self.lstm(x)
        rows, last = self.gru(rows)
        return torch.cat([rows[:, -1], last[0]], -1)


ZOO["recurrent"] = lambda: Case(Recurrent(), (torch.randn(2, 5, 8),))


class Spectral(nn.Module):
    """A layer of a Fourier neural operator."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 4, 5, 2) / 4)
        self.local = nn.Conv1d(4, 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        spectrum = torch.fft.rfft(x)[:, :, :5]
        mixed = torch.einsum("bim,iom->bom", spectrum, torch.view_as_complex(self.weight))
        return nn.functional.gelu(torch.fft.irfft(mixed, n=x.shape[-1]) + self.local(x))


ZOO["spectral"] = lambda: Case(Spectral(), (torch.randn(2, 4, 16),))


class Caching(nn.Module):
    """Attention with a cache of keys and values in buffers, which a call changes."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(16, 48)
        self.register_buffer("keys", torch.zeros(1, 8, 16))
        self.register_buffer("values", torch.zeros(1, 8, 16))

    def forward(self, x: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        query, key, value = self.qkv(x).chunk(3, -1)
        self.keys.index_copy_(1, place, key)
        self.values.index_copy_(1, place, value)
        mask = torch.arange(8)[None, :] <= place[:, None]
        return nn.functional.scaled_dot_product_attention(query, self.keys, self.values, attn_mask=mask)


class Graphs(nn.Module):
    """A layer of message passing: sums of rows by an index."""

    def __init__(self) -> None:
        super().__init__()
        self.own, self.other = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        messages = self.other(x[edges[0]])
        gathered = torch.zeros_like(x).index_add(0, edges[1], messages)
        return torch.relu(self.own(x) + gathered)


_EDGES = torch.randint(0, 6, (2, 11))
ZOO["graph network"] = lambda: Case(Graphs(), (torch.randn(6, 8), _EDGES), {}, ({0: "nodes"}, {1: "edges"}))
