# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models, and their conversion by torchao's PT2E."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torchao.quantization.pt2e import move_exported_model_to_eval
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e

import relax_mlir as rx

CPU = "llvm{cpu=cascadelake}"  # which multiplies bytes


class Convolutions(nn.Module):
    """Convolutions with a norm, a sum, pools and a concatenation, as small image classifiers have them."""

    example = (2, 3, 12, 12)
    products = 4

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.depthwise, self.point = nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.Conv2d(16, 16, 1)
        self.head = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.norm(self.first(x)))
        z = F.max_pool2d(F.relu(self.point(F.relu6(self.depthwise(y))) + y), 2)
        both = torch.cat([z, F.max_pool2d(y, 2)], 1)
        return self.head(F.adaptive_avg_pool2d(both, 1).flatten(1))


class Perceptron(nn.Module):
    """Linear layers, one of them without a bias, behind more than one dimension."""

    example = (2, 3, 32)
    products = 3

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(32, 64), nn.Linear(64, 64, bias=False), nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.c(F.relu(self.b(F.relu(self.a(x)))))


class Transformer(nn.Module):
    """Block of a vision transformer, written out."""

    example = (2, 8, 32)
    products = 4

    def __init__(self) -> None:
        super().__init__()
        self.n, self.qkv, self.o = nn.LayerNorm(32), nn.Linear(32, 96), nn.Linear(32, 32)
        self.m, self.f, self.g = nn.LayerNorm(32), nn.Linear(32, 128), nn.Linear(128, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (each.reshape(2, 8, 4, 8).transpose(1, 2) for each in self.qkv(self.n(x)).chunk(3, -1))
        heads = torch.softmax(q @ k.transpose(-1, -2) / 8**0.5, -1) @ v
        x = x + self.o(heads.transpose(1, 2).reshape(2, 8, 32))
        return x + self.g(F.gelu(self.f(self.m(x))))


def exported(model: nn.Module, *args: Any, is_qat: bool = False) -> torch.fx.GraphModule:
    """Return the graph that quantizers annotate."""
    return torch.export.export(model.train(is_qat), args).module()  # type: ignore[no-any-return]


def converted(model: Any, quantizer: Any, *, is_qat: bool = False, args: Any = None, **options: Any) -> Any:
    """Return a model that torchao has quantized after a few random samples."""
    draw = torch.Generator().manual_seed(1)
    samples = [(torch.randn(model.example, generator=draw),) for _ in range(4)] if args is None else [args]
    prepare = prepare_qat_pt2e if is_qat else prepare_pt2e
    prepared = prepare(exported(model, *samples[0], is_qat=is_qat), quantizer)
    for sample in samples:
        result = prepared(*sample)
    if is_qat:
        result.pow(2).mean().backward()
        torch.optim.SGD(prepared.parameters(), 1e-3).step()
        move_exported_model_to_eval(prepared)
    return convert_pt2e(prepared, **options)


def check_converted(model: Any, args: Any, *, step: float = 1e-5, **options: Any) -> rx.Module:
    """Compare a converted model with its program: equal up to `step` times the largest result. Return its module."""
    module = rx.from_torch(torch.export.export(model, args))
    with torch.no_grad():
        expected = model(*args)
    found = rx.compile(module, **options)["main"](*args)
    assert (found - expected).abs().max() <= step * expected.abs().max()
    return module


def integer_products(module: rx.Module) -> int:
    """Return how many products and convolutions compute on integers for a CPU."""
    text = rx.lower(module, CPU, pipeline=rx.stages(CPU).until("integers")).script()
    return text.count('out_dtype="int32"')
