# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Mandelbrot set as a graph of relax operators with a loop: compiled once, drawn at two sizes, beside NumPy."""

from __future__ import annotations

import time
from typing import Any

import numpy

import relax_mlir as rx

ITERATIONS = 60
SHADES = " .:-=+*#%@"

# One more step of a point: z = z * z + c, and the number of steps for which it stayed near 0.
GRAPH = """
!grid = tensor<?x?xf32, #relax.sym<["h", "w"]>>
func.func @main(%cr: !grid {relax.name = "re"}, %ci: !grid {relax.name = "im"}, %steps: i64 {relax.name = "steps"})
    -> !grid {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %none = "relax.zeros_like"(%cr) : (!grid) -> !grid
  %four = arith.constant dense<4.0> : tensor<f32>
  %two = arith.constant dense<2.0> : tensor<f32>
  %r:3 = scf.for %i = %zero to %steps step %one iter_args(%x = %none, %y = %none, %count = %none)
      -> (!grid, !grid, !grid) : i64 {
    %xx = "relax.multiply"(%x, %x) : (!grid, !grid) -> !grid
    %yy = "relax.multiply"(%y, %y) : (!grid, !grid) -> !grid
    %xy = "relax.multiply"(%x, %y) : (!grid, !grid) -> !grid
    %size = "relax.add"(%xx, %yy) : (!grid, !grid) -> !grid
    %near = "relax.less"(%size, %four) : (!grid, tensor<f32>) -> tensor<?x?xi1, #relax.sym<["h", "w"]>>
    %stayed = "relax.astype"(%near) {dtype = f32} : (tensor<?x?xi1, #relax.sym<["h", "w"]>>) -> !grid
    %n = "relax.add"(%count, %stayed) : (!grid, !grid) -> !grid
    %difference = "relax.subtract"(%xx, %yy) : (!grid, !grid) -> !grid
    %x1 = "relax.add"(%difference, %cr) : (!grid, !grid) -> !grid
    %xy2 = "relax.multiply"(%xy, %two) : (!grid, tensor<f32>) -> !grid
    %y1 = "relax.add"(%xy2, %ci) : (!grid, !grid) -> !grid
    %x2 = "relax.where"(%near, %x1, %x) : (tensor<?x?xi1, #relax.sym<["h", "w"]>>, !grid, !grid) -> !grid
    %y2 = "relax.where"(%near, %y1, %y) : (tensor<?x?xi1, #relax.sym<["h", "w"]>>, !grid, !grid) -> !grid
    scf.yield %x2, %y2, %n : !grid, !grid, !grid
  }
  return %r#2 : !grid
}
"""


def plane(width: int, height: int) -> tuple[Any, Any]:
    """Return the complex numbers of a picture's pixels."""
    re, im = numpy.meshgrid(numpy.linspace(-2.1, 0.7, width), numpy.linspace(-1.15, 1.15, height))
    return re.astype("float32"), im.astype("float32")


def with_numpy(re: Any, im: Any, steps: int) -> Any:
    x, y, count = (numpy.zeros_like(re) for _ in range(3))
    for _ in range(steps):
        xx, yy, xy = x * x, y * y, x * y
        near = xx + yy < 4
        count += near
        x, y = numpy.where(near, xx - yy + re, x), numpy.where(near, 2 * xy + im, y)
    return count


def picture(counts: Any) -> str:
    shades = (counts * (len(SHADES) - 1) / ITERATIONS).astype(int)
    return "\n".join("".join(SHADES[shade] for shade in row).rstrip() for row in shades)


def seconds(function: Any, *arguments: Any) -> float:
    """Return the best time of three calls."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    module = rx.Module.parse(GRAPH, "mandelbrot")
    start = time.perf_counter()
    executable = rx.compile(module)
    compiled_in = time.perf_counter() - start
    draw = executable["main"]
    print(picture(numpy.from_dlpack(draw(*plane(78, 26), ITERATIONS))))
    large = plane(640, 480)
    ours, theirs = seconds(draw, *large, ITERATIONS), seconds(with_numpy, *large, ITERATIONS)
    same = (numpy.from_dlpack(draw(*large, ITERATIONS)) == with_numpy(*large, ITERATIONS)).mean()
    print(f"\ncompiled in {compiled_in * 1e3:.0f} ms, for pictures of every size")
    print(f"640 x 480, {ITERATIONS} steps: {ours * 1e3:.1f} ms, numpy {theirs * 1e3:.1f} ms; {same:.2%} agree")


if __name__ == "__main__":
    main()
