# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Demonstration of `make run`: a module through passes, readable after each, and then compiled programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import mandelbrot
from digits import classify, learn

import relax_mlir as rx

PIPELINE = "builtin.module(relax-inline,relax-canonicalize,cse)"


def main() -> int:
    path = Path(__file__).parent / "hello.mlir"
    module = rx.Module.from_file(path)
    print(f"# {path.name}: the module as written\n{module.script()}", end="")
    timing = rx.Timing()

    def show(name: str, op: Any) -> None:
        print(f"\n# after {name}\n{rx.print_script(op)}", end="")

    rx.Pipeline(PIPELINE, instruments=[timing, rx.Callback(after=show)]).run(module)
    print(f"\n{timing.report()}")
    print("The same from the command line:")
    flags = "--mlir-print-ir-after-all --print-script"
    print(f"  relax-opt {path.parent.name}/{path.name} --pass-pipeline='{PIPELINE}' {flags}\n")
    print("# examples/mandelbrot.py: a graph with a loop, compiled and run\n")
    mandelbrot.main()
    print("\n# examples/digits/classify.py: an ONNX model from file to native code\n")
    classify.main()
    print("\n# examples/digits/learn.py: a network trained from a script\n")
    return learn.main()


if __name__ == "__main__":
    sys.exit(main())
