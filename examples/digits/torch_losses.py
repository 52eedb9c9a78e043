# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write torch's losses in the training of learn.py, with the same weights, pictures and steps.

python examples/digits/torch_losses.py         (needs torch, and relax-mlir beside it; some seconds)
"""

from __future__ import annotations

from typing import Any

import torch
from learn import EPOCHS, HERE, RATE, batches, digits, initial


def loss(pictures: Any, labels: Any, weights: dict[str, Any]) -> Any:
    layer = torch.nn.functional
    first = torch.relu(layer.conv2d(pictures, weights["conv1"], padding=1) + weights["bias1"])
    second = torch.relu(layer.conv2d(layer.max_pool2d(first, 2), weights["conv2"], padding=1) + weights["bias2"])
    scores = layer.max_pool2d(second, 2).flatten(1) @ weights["dense"] + weights["bias"]
    return layer.nll_loss(torch.log_softmax(scores, 1), labels)


def main() -> None:
    pictures, labels = map(torch.from_numpy, digits("training.npz"))
    weights = {name: torch.from_numpy(array).requires_grad_() for name, array in initial().items()}
    optimizer = torch.optim.Adam(weights.values(), lr=RATE)
    losses = []
    for chosen in batches(len(pictures), EPOCHS):
        optimizer.zero_grad()
        value = loss(pictures[chosen], labels[chosen], weights)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    (HERE / "torch_losses.txt").write_text("".join(f"{each:.6f}\n" for each in losses))


if __name__ == "__main__":
    main()
