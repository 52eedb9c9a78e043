# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare VREQUANT with rx.Requantize and with code of the target llvm, on random sums in all forms and roundings.

python examples/npu/run_requantize.py [--cases=100000]

Each form of multiplier and each rounding mode gets this number of cases: a sum, a multiplier, a shift and a zero point.
Results have five types, one for each register of 2048 cases in turn.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy
from npu.isa import FORMS, REGISTER, RESULTS, ROUNDINGS, TYPES, Mode, assemble
from npu.program import Stream
from npu.simulator import Simulator

import relax_mlir as rx
from relax_mlir import relax

SPELLINGS = {"float": "float", "q31": "q31>>shift", "q15": "q15>>shift", "power_of_two": "power_of_two"}
#: Types of results on the machine, and their names in relax.
DTYPES = {"i8": "i8", "u8": "ui8", "i16": "i16", "i4": "i4", "i32": "i32"}
_I32 = TYPES.index("i32")
#: Registers of one program, and its bytes per register: an operand, or a result of one rounding.
_REGISTERS, _BYTES = 16, 4 * REGISTER


class Cases(NamedTuple):
    """Operands of requantizations, one element for each."""

    sums: numpy.ndarray
    multiplier: numpy.ndarray
    shift: numpy.ndarray
    zero: numpy.ndarray

    def part(self, places: Any) -> Cases:
        return Cases(*(each[places] for each in self))

    def words(self) -> numpy.ndarray:
        """Return the operands as words of the machine."""
        is_float = self.multiplier.dtype == numpy.float32
        multiplier = self.multiplier.view("int32") if is_float else self.multiplier.astype("int32")
        return numpy.stack([self.sums, multiplier, self.shift, self.zero])


def draw(form: str, count: int, seed: int = 0) -> Cases:
    """Return random cases: sums of all magnitudes with the limits of i32; a third of the multipliers gives ties."""
    random = numpy.random.default_rng(seed)
    sums = random.integers(-(2**31), 2**31, count) >> random.integers(0, 31, count)
    sums[:: max(count // 50, 1)] = random.choice([-(2**31), 2**31 - 1, 0, 1, -1], len(sums[:: max(count // 50, 1)]))
    if form == "float":
        multiplier = numpy.exp2(random.uniform(-32, 1, count)).astype("float32")
        multiplier[::3] = numpy.ldexp(random.integers(1, 8, count)[::3], -random.integers(0, 12, count)[::3])
        # Any bits: subnormal numbers, infinities, NaN, negative numbers.
        multiplier[1::50] = random.integers(0, 2**32, count, dtype="uint32")[1::50].view("float32")
    elif form == "power_of_two":
        multiplier = numpy.ones(count, "int32")
    else:
        bits = 31 if form == "q31" else 15
        multiplier = random.integers(2 ** (bits - 1), 2**bits, count).astype(f"int{bits + 1}")
        multiplier[::3] = 2 ** (bits - 1)
        multiplier[1::50] = random.integers(-(2**bits), 2**bits, count)[1::50]
    zero = random.integers(-150, 300, count)
    zero[::20] = random.integers(-(2**31), 2**31, count)[::20]
    return Cases(sums.astype("int32"), multiplier, random.integers(-31, 32, count, dtype="int32"), zero.astype("int32"))


def on_the_machine(cases: Cases, modes: Mapping[str, Mode]) -> dict[str, numpy.ndarray]:
    """Return the results by the name of the mode."""
    count = len(cases.sums)
    step = _REGISTERS * REGISTER
    padded = numpy.zeros((4, -(-count // step) * step), "int32")
    padded[:, :count] = cases.words()
    parts = [_run(padded[:, begin : begin + step], modes) for begin in range(0, count, step)]
    return {name: numpy.concatenate([part[number] for part in parts])[:count] for number, name in enumerate(modes)}


def _run(words: numpy.ndarray, modes: Mapping[str, Mode]) -> numpy.ndarray:
    stream = Stream()
    inputs, results = 4 * _REGISTERS * _BYTES, len(modes) * _REGISTERS * _BYTES
    for number in range(_REGISTERS):
        result = RESULTS.index(list(DTYPES)[number % len(DTYPES)])
        for operand in range(4):
            _copy(stream, "DMA_LOAD", (operand * _REGISTERS + number) * _BYTES, operand * _BYTES)
            _move(stream, "VLOAD", operand, operand * _BYTES)
        for place, mode in enumerate(modes.values()):
            fields = {"mode": mode.byte, "target": 4, "operands": 0 | 1 << 4, "others": 2 | 3 << 4, "result": result}
            stream.add("VREQUANT", **fields, count=REGISTER, multiplier=0, shift=0, zero=0)
            _move(stream, "VSTORE", 4, (4 + place) * _BYTES)
            _copy(stream, "DMA_STORE", inputs + (place * _REGISTERS + number) * _BYTES, (4 + place) * _BYTES)
    stream.add("HALT")
    dram = numpy.zeros(inputs + results, numpy.uint8)
    dram[:inputs] = numpy.ascontiguousarray(words).view(numpy.uint8).reshape(-1)
    Simulator(dram, inputs).run(assemble(stream.code))
    return dram[inputs:].view("int32").reshape(len(modes), -1)


def _copy(stream: Stream, name: str, dram: int, sram: int) -> None:
    stream.add(name, dram=dram, sram=sram, rows=1, bytes=_BYTES, dram_stride=0, sram_stride=0)


def _move(stream: Stream, name: str, register: int, address: int) -> None:
    strides = {"row_stride": 0, "column_stride": 4}
    stream.add(name, type=_I32, register=register, address=address, rows=1, columns=REGISTER, **strides)


def by_apply(cases: Cases, how: rx.Requantize) -> numpy.ndarray:
    """Return the results of rx.Requantize as words of the machine."""
    return _by_types(cases, lambda part, dtype: how.apply(part.sums, _multiplier(part), part.zero, dtype, axis=0))


def compiled(cases: Cases, hows: Mapping[str, rx.Requantize]) -> dict[str, numpy.ndarray]:
    """Return the results of the target llvm as words of the machine. One program computes all modes of a form."""
    names = ("i32", {"float32": "f32", "int16": "i16"}.get(str(cases.multiplier.dtype), "i32"), "i32", "i32")
    module = rx.Module()
    for dtype in DTYPES.values():
        with module.function(dtype, [rx.tensor(("n",), each) for each in names]) as f:
            f.returns(*(relax.requantize(*f, axis=0, out_dtype=dtype, **how.attributes()) for how in hows.values()))
    program = rx.compile(module)
    found = {
        dtype: [rx.runtime.to_numpy(each) for each in program[dtype](*cases.part(_places(cases, number)))]
        for number, dtype in enumerate(DTYPES.values())
    }
    return {
        name: _by_types(cases, lambda part, dtype, place=place: found[dtype][place]) for place, name in enumerate(hows)
    }


def _multiplier(cases: Cases) -> Any:
    return rx.Requantize().parameters(1.0)._replace(multiplier=cases.multiplier, shift=cases.shift)


def _places(cases: Cases, number: int) -> numpy.ndarray:
    """Return the cases with the result type of a number."""
    registers = numpy.arange(len(cases.sums)) // REGISTER % _REGISTERS
    return numpy.flatnonzero(registers % len(DTYPES) == number)


def _by_types(cases: Cases, results: Any) -> numpy.ndarray:
    words = numpy.zeros(len(cases.sums), "int32")
    for number, (name, dtype) in enumerate(DTYPES.items()):
        places = _places(cases, number)
        made = numpy.asarray(results(cases.part(places), dtype))
        words[places] = made.view("int8") if name == "u8" else made.astype("int32")
    return words


def differing(form: str, count: int, *, saturate: bool = True, twice: bool = False) -> dict[str, tuple[int, int]]:
    """Return for each rounding the number of results that differ from rx.Requantize, and from llvm's code."""
    cases = draw(form, count)
    number = list(FORMS).index(form)
    modes = {name: Mode(number, place, saturate, twice) for place, name in enumerate(ROUNDINGS)}
    hows = {name: rx.Requantize(SPELLINGS[form], name, saturate, twice) for name in ROUNDINGS}
    chip, code = on_the_machine(cases, modes), compiled(cases, hows)
    return {
        name: (int((chip[name] != by_apply(cases, how)).sum()), int((chip[name] != code[name]).sum()))
        for name, how in hows.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=100_000, help="for each form and rounding; default: 100000")
    count = parser.parse_args().cases
    print(f"{count} cases each: results that differ from rx.Requantize, and from code of llvm")
    for form in FORMS:
        found = differing(form, count)
        print(f"{form:<13}" + ", ".join(f"{name} {left} {right}" for name, (left, right) in found.items()))
        assert not any(map(any, found.values()))


if __name__ == "__main__":
    main()
