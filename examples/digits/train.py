# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Train the model in this folder: a small convolutional network on scikit-learn's handwritten digits.

python examples/digits/train.py         (needs torch, onnxscript and scikit-learn; half a minute)

Writes digits.onnx, for any number of pictures, and digits.npz, the pictures of the test set.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

HERE = Path(__file__).parent
EPOCHS, BATCH = 60, 64


def network() -> torch.nn.Module:
    def convolution(inputs: int, outputs: int) -> list[torch.nn.Module]:
        return [torch.nn.Conv2d(inputs, outputs, 3, padding=1), torch.nn.BatchNorm2d(outputs), torch.nn.ReLU()]

    return torch.nn.Sequential(
        *convolution(1, 16),
        *convolution(16, 32),
        torch.nn.MaxPool2d(2),
        *convolution(32, 48),
        torch.nn.AdaptiveAvgPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Dropout(0.3),
        torch.nn.Linear(192, 10),
        torch.nn.Softmax(dim=1),
    )


def train(pictures: Any, labels: Any) -> torch.nn.Module:
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(pictures)).split(BATCH):
            optimizer.zero_grad()
            # The network returns probabilities, as its users want them.
            chosen = torch.log(model(_shifted(pictures[batch])) + 1e-9)
            torch.nn.functional.nll_loss(chosen, labels[batch]).backward()
            optimizer.step()
        schedule.step()
    return model.eval()


def _shifted(pictures: Any) -> Any:
    """Shift pictures by up to a pixel: handwriting is not centred."""
    down, right = (int(each) for each in torch.randint(-1, 2, (2,)))
    return torch.roll(pictures, (down, right), (2, 3))


def main() -> None:
    torch.manual_seed(0)
    data = load_digits()
    pictures = (data.images / 16).astype(numpy.float32)[:, None]
    learnt, kept, learnt_labels, kept_labels = train_test_split(
        pictures, data.target, test_size=300, random_state=0, stratify=data.target
    )
    model = train(torch.from_numpy(learnt), torch.from_numpy(learnt_labels))
    with torch.no_grad():
        right = model(torch.from_numpy(kept)).argmax(1).numpy() == kept_labels
    print(f"{right.mean():.1%} of {len(kept)} pictures that it has not seen")
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        names: dict[str, Any] = {"input_names": ["pictures"], "output_names": ["probabilities"]}
        axes = {"pictures": {0: "batch"}, "probabilities": {0: "batch"}}
        torch.onnx.export(
            model, (torch.from_numpy(kept[:2]),), HERE / "digits.onnx", dynamo=False, dynamic_axes=axes, **names
        )
    # Sixteen shades would fit in half a byte each; a byte is simpler.
    numpy.savez_compressed(
        HERE / "digits.npz", pictures=(kept[:, 0] * 16).astype(numpy.uint8), labels=kept_labels.astype(numpy.uint8)
    )


if __name__ == "__main__":
    main()
