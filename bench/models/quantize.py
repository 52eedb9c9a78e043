# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantize exported models by onnxruntime's tools for latency.py: build/models/<name>_int8.onnx.

python bench/models/quantize.py build/models resnet50 bert
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from runs import quantized
from zoo import ZOO


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = {model.name: model for model in ZOO}
    parser.add_argument("folder", type=Path, help="of the exported models")
    parser.add_argument("models", nargs="+", choices=sorted(known), metavar="model", help=", ".join(known))
    arguments = parser.parse_args(given)
    for name in arguments.models:
        print(quantized(known[name], arguments.folder / f"{name}.onnx"), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
