# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handwritten digits in a browser: write a folder with the model for WebGPU and a page that shows its answers.

python examples/webgpu/digits.py build/webgpu --serve
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy

import relax_mlir as rx

HERE = Path(__file__).resolve().parent
MODEL = HERE.parent / "digits"


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes the digits for a browser.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--serve", action="store_true", help="serve the folder at http://localhost:8000")
    options = parser.parse_args()
    write(options.folder)
    print(f"written: {options.folder}; a browser needs it from a server, as it reads files")
    if options.serve:
        handler = partial(SimpleHTTPRequestHandler, directory=str(options.folder))
        print("http://localhost:8000")
        ThreadingHTTPServer(("localhost", 8000), handler).serve_forever()
    return 0


def write(folder: Path) -> None:
    """Write the files of `relax-compile --target webgpu -o folder/ digits.onnx`, a page, and pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    files = rx.sources(rx.from_onnx(MODEL / "digits.onnx"), target="webgpu")
    kept = numpy.load(MODEL / "digits.npz")
    pictures = (kept["pictures"].reshape(len(kept["labels"]), -1) / 16).tolist()
    files["pictures.json"] = json.dumps({"pictures": pictures, "labels": kept["labels"].tolist()})
    files["index.html"] = (HERE / "digits.html").read_text()
    for name, held in files.items():
        (folder / name).write_bytes(held.encode() if isinstance(held, str) else held)


if __name__ == "__main__":
    sys.exit(main())
