# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import time of large modules of StableHLO and TOSA: milliseconds per operation.

    python bench/mlir_import.py               transformers of 6, 24 and 80 layers without a loop, chains of TOSA
    python bench/mlir_import.py --layers 24

Figures are processor time of the fastest of three imports of the text, including parsing and verification.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import relax_mlir as rx

_ROWS, _WIDTH, _REPEATS = 8, 16, 3
_T, _S = f"tensor<{_ROWS}x{_WIDTH}xf32>", f"tensor<{_ROWS}x{_ROWS}xf32>"
_ROW, _VECTOR, _MATRIX = f"tensor<{_ROWS}xf32>", f"tensor<{_WIDTH}xf32>", f"tensor<{_WIDTH}x{_WIDTH}xf32>"
_TOSA_OPERATIONS_A_LAYER = 75


class Transformer:
    """Text of a transformer in jax's form: explicit broadcasts, reductions in place of softmax and norms."""

    def __init__(self, layers: int):
        self._arguments, self._lines = [f"%x: {_T}"], list[str]()
        numbers = {"zero": "0.0", "eps": "1.0e-5", "width": f"{_WIDTH}.0", "least": "0xFF800000"}
        self._numbers = {
            name: self._new(f"stablehlo.constant dense<{each}> : tensor<f32>") for name, each in numbers.items()
        }
        x = "%x"
        for _ in range(layers):
            x = self._both("add", x, self._attention(self._norm(x)))
            hidden = self._dense(self._norm(x))
            hidden = self._both("multiply", hidden, self._new(f"stablehlo.logistic {hidden} : {_T}"))
            x = self._both("add", x, self._dense(hidden))
        self.operations = len(self._lines)
        body = "\n".join(self._lines)
        self.text = f"func.func @main({', '.join(self._arguments)}) -> {_T} {{\n{body}\n  return {x} : {_T}\n}}"

    def _new(self, operation: str) -> str:
        self._lines.append(f"  %v{len(self._lines)} = {operation}")
        return f"%v{len(self._lines) - 1}"

    def _weight(self, type_: str) -> str:
        self._arguments.append(f"%w{len(self._arguments)}: {type_}")
        return f"%w{len(self._arguments) - 1}"

    def _both(self, name: str, left: str, right: str, type_: str = _T) -> str:
        return self._new(f"stablehlo.{name} {left}, {right} : {type_}")

    def _spread(self, x: str, type_: str, dims: str, to: str = _T) -> str:
        return self._new(f"stablehlo.broadcast_in_dim {x}, dims = [{dims}] : ({type_}) -> {to}")

    def _reduced(self, name: str, x: str, first: str, type_: str = _T) -> str:
        what = f"stablehlo.reduce({x} init: {self._numbers[first]}) applies stablehlo.{name} across dimensions = [1]"
        return self._new(f"{what} : ({type_}, tensor<f32>) -> {_ROW}")

    def _number(self, name: str) -> str:
        return self._spread(self._numbers[name], "tensor<f32>", "", _ROW)

    def _norm(self, x: str) -> str:
        mean = self._both("divide", self._reduced("add", x, "zero"), self._number("width"), _ROW)
        apart = self._both("subtract", x, self._spread(mean, _ROW, "0"))
        squares = self._reduced("add", self._both("multiply", apart, apart), "zero")
        variance = self._both("divide", squares, self._number("width"), _ROW)
        root = self._new(f"stablehlo.rsqrt {self._both('add', variance, self._number('eps'), _ROW)} : {_ROW}")
        scaled = self._both("multiply", apart, self._spread(root, _ROW, "0"))
        scaled = self._both("multiply", scaled, self._spread(self._weight(_VECTOR), _VECTOR, "1"))
        return self._both("add", scaled, self._spread(self._weight(_VECTOR), _VECTOR, "1"))

    def _dense(self, x: str) -> str:
        types = f"({_T}, {_MATRIX}) -> {_T}"
        made = self._new(f"stablehlo.dot_general {x}, {self._weight(_MATRIX)}, contracting_dims = [1] x [0] : {types}")
        return self._both("add", made, self._spread(self._weight(_VECTOR), _VECTOR, "1"))

    def _attention(self, x: str) -> str:
        q, k, v = (self._dense(x) for _ in range(3))
        scores = self._new(f"stablehlo.dot_general {q}, {k}, contracting_dims = [1] x [1] : ({_T}, {_T}) -> {_S}")
        largest = self._spread(self._reduced("maximum", scores, "least", _S), _ROW, "0", _S)
        powers = self._new(f"stablehlo.exponential {self._both('subtract', scores, largest, _S)} : {_S}")
        total = self._spread(self._reduced("add", powers, "zero", _S), _ROW, "0", _S)
        shares = self._both("divide", powers, total, _S)
        made = self._new(f"stablehlo.dot_general {shares}, {v}, contracting_dims = [1] x [0] : ({_S}, {_T}) -> {_T}")
        return self._dense(made)


def tosa_chain(operations: int) -> str:
    lines, x = ['  %s = "tosa.const"() {values = dense<0> : tensor<1xi8>} : () -> tensor<1xi8>'], "%x"
    forms = (
        f"tosa.add {{x}}, %y : ({_T}, {_T}) -> {_T}",
        f"tosa.mul {{x}}, %y, %s : ({_T}, {_T}, tensor<1xi8>) -> {_T}",
        f"tosa.tanh {{x}} : ({_T}) -> {_T}",
    )
    for place in range(operations):
        lines.append(f"  %v{place} = {forms[place % len(forms)].format(x=x)}")
        x = f"%v{place}"
    return f"func.func @main(%x: {_T}, %y: {_T}) -> {_T} {{\n" + "\n".join(lines) + f"\n  return {x} : {_T}\n}}"


def seconds(read: Callable[[str], object], text: str) -> float:
    least = float("inf")
    for _ in range(_REPEATS):
        start = time.process_time()
        read(text)
        least = min(least, time.process_time() - start)
    return least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, nargs="*", default=[6, 24, 80])
    options = parser.parse_args()
    rx.from_stablehlo(Transformer(1).text)
    rx.from_tosa(tosa_chain(3))
    print(f"{'':12}{'operations':>12}{'s':>10}{'ms each':>10}")
    for layers in options.layers:
        model, count = Transformer(layers), layers * _TOSA_OPERATIONS_A_LAYER
        for name, operations, taken in (
            ("StableHLO", model.operations, seconds(rx.from_stablehlo, model.text)),
            ("TOSA", count, seconds(rx.from_tosa, tosa_chain(count))),
        ):
            print(f"{name:12}{operations:12}{taken:10.3f}{taken * 1e3 / operations:10.3f}", flush=True)


if __name__ == "__main__":
    main()
