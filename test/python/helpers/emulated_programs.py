# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emulator of static Linux programs for Arm and RISC-V, in place of qemu-user: unicorn has the CPUs of qemu 5.

    python emulated_programs.py KIND CPU PROGRAM [ARGUMENT ...]

It serves the system calls of targets/call_object.c with musl, on this machine's files. A program with an unknown
instruction ends by SIGILL, as under qemu.
"""

from __future__ import annotations

import errno
import os
import signal
import struct
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

import unicorn
from unicorn import arm64_const, riscv_const

_NAME = "emulated_programs"
_PAGE = 4096
_STACK_TOP = 0x7F_FFFF_F000
_STACK_SIZE = 8 << 20
_MAPPINGS = 0x40_0000_0000
_ENTRY_TYPES = {"phdr": 3, "phent": 4, "phnum": 5, "page size": 6, "entry": 9, "random": 25}
_FLOATS_OF_RISCV = 3 << 13
_LOADED_SEGMENT = 1
_ANONYMOUS = 0x20


class Kind(NamedTuple):
    """Architecture: ELF machine, CPU models by qemu's names, registers and numbers of exceptions."""

    machine: int
    architecture: int
    mode: int
    models: dict[str, int]
    call: int
    arguments: Sequence[int]
    counter: int
    stack: int
    system_call: int
    unknown_instruction: int


KINDS = {
    "aarch64": Kind(
        machine=183,
        architecture=unicorn.UC_ARCH_ARM64,
        mode=unicorn.UC_MODE_ARM,
        models={"cortex-a53": arm64_const.UC_CPU_ARM64_A53, "max": arm64_const.UC_CPU_ARM64_MAX},
        call=arm64_const.UC_ARM64_REG_X8,
        arguments=range(arm64_const.UC_ARM64_REG_X0, arm64_const.UC_ARM64_REG_X0 + 6),
        counter=arm64_const.UC_ARM64_REG_PC,
        stack=arm64_const.UC_ARM64_REG_SP,
        system_call=2,
        unknown_instruction=1,
    ),
    "riscv64": Kind(
        machine=243,
        architecture=unicorn.UC_ARCH_RISCV,
        mode=unicorn.UC_MODE_RISCV64,
        models={"rv64": riscv_const.UC_CPU_RISCV64_ANY},
        call=riscv_const.UC_RISCV_REG_A7,
        arguments=range(riscv_const.UC_RISCV_REG_A0, riscv_const.UC_RISCV_REG_A0 + 6),
        counter=riscv_const.UC_RISCV_REG_PC,
        stack=riscv_const.UC_RISCV_REG_SP,
        system_call=8,
        unknown_instruction=2,
    ),
}


def _stop(problem: str) -> NoReturn:
    sys.exit(f"{_NAME}: {problem}")


def _whole_pages(size: int) -> int:
    return -(-size // _PAGE) * _PAGE


def _enable_long_vectors(cpu: unicorn.Uc) -> None:
    """Enable SVE with registers of 256 bits, as neoverse-v1 has."""
    cpu.reg_write(arm64_const.UC_ARM64_REG_CPACR_EL1, 0x330000)
    cpu.reg_write(arm64_const.UC_ARM64_REG_CP_REG, (1, 1, 3, 6, 2, 0x100))  # CPTR_EL3
    for level in (0, 4, 6):
        cpu.reg_write(arm64_const.UC_ARM64_REG_CP_REG, (1, 2, 3, level, 0, 1))  # ZCR of EL1, EL2 and EL3
    # Only a write to this register makes unicorn derive its translation flags again.
    cpu.reg_write(arm64_const.UC_ARM64_REG_PSTATE, cpu.reg_read(arm64_const.UC_ARM64_REG_PSTATE))


class Process:
    """Memory and system calls of one emulated program."""

    def __init__(self, kind: Kind, model: str) -> None:
        self._kind = kind
        self._cpu = unicorn.Uc(kind.architecture, kind.mode)
        self._cpu.ctl_set_cpu_model(kind.models[model])
        self._cpu.hook_add(unicorn.UC_HOOK_INTR, self._interrupted)
        self._next_mapping = _MAPPINGS
        if model == "max":
            _enable_long_vectors(self._cpu)
        elif model == "rv64":
            status = self._cpu.reg_read(riscv_const.UC_RISCV_REG_MSTATUS)
            self._cpu.reg_write(riscv_const.UC_RISCV_REG_MSTATUS, status | _FLOATS_OF_RISCV)

    def run(self, program: bytes, words: Sequence[str]) -> NoReturn:
        """Run a static ELF program. This process ends with the program's status."""
        entry, auxiliary = self._load(program)
        self._cpu.reg_write(self._kind.stack, self._initial_stack(words, auxiliary))
        try:
            self._cpu.emu_start(entry, 0)
        except unicorn.UcError as error:
            _stop(f"{error} at {self._cpu.reg_read(self._kind.counter):#x}")
        _stop("the program ended without a system call")

    def _load(self, program: bytes) -> tuple[int, dict[str, int]]:
        """Map the segments. Return the entry point and the kernel's auxiliary values."""
        kind, machine = struct.unpack_from("<HH", program, 16)
        if program[:5] != b"\x7fELF\x02" or (kind, machine) != (2, self._kind.machine):
            _stop(f"the program is no static ELF of machine {self._kind.machine}: type {kind}, machine {machine}")
        entry, table = struct.unpack_from("<QQ", program, 24)
        size, count = struct.unpack_from("<HH", program, 54)
        auxiliary = {"phent": size, "phnum": count, "page size": _PAGE, "entry": entry}
        for place in range(table, table + size * count, size):
            type_, _, offset, address, _, in_file, in_memory = struct.unpack_from("<IIQQQQQ", program, place)
            if type_ != _LOADED_SEGMENT:
                continue
            self._map_missing(address, address + in_memory)
            self._cpu.mem_write(address, program[offset : offset + in_file])
            if offset <= table < offset + in_file:
                auxiliary["phdr"] = address + table - offset
        return entry, auxiliary

    def _map_missing(self, start: int, end: int) -> None:
        """Map the pages between two addresses, but for a first one that another segment shares."""
        start, end = start // _PAGE * _PAGE, _whole_pages(end)
        if any(first <= start <= last for first, last, _ in self._cpu.mem_regions()):
            start += _PAGE
        if start < end:
            self._cpu.mem_map(start, end - start)

    def _initial_stack(self, words: Sequence[str], auxiliary: dict[str, int]) -> int:
        """Write arguments and auxiliary values as the kernel does. Return the stack pointer."""
        self._cpu.mem_map(_STACK_TOP - _STACK_SIZE, _STACK_SIZE)
        place = _STACK_TOP - 16
        self._cpu.mem_write(place, os.urandom(16))
        pointers = []
        for word in words:
            text = word.encode() + b"\0"
            place -= len(text)
            self._cpu.mem_write(place, text)
            pointers.append(place)
        values = [len(words), *pointers, 0, 0]
        for name, value in {**auxiliary, "random": _STACK_TOP - 16}.items():
            values += [_ENTRY_TYPES[name], value]
        data = struct.pack(f"<{len(values) + 2}Q", *values, 0, 0)
        place = (place - len(data)) // 16 * 16
        self._cpu.mem_write(place, data)
        return place

    def _interrupted(self, cpu: unicorn.Uc, number: int, _: object) -> None:
        counter = cpu.reg_read(self._kind.counter)
        if number == self._kind.unknown_instruction:
            # On RISC-V this is the beginning of the block.
            word = int.from_bytes(cpu.mem_read(counter, 4), "little")
            print(f"{_NAME}: unknown instruction at or after {counter:#x}: {word:#010x}", file=sys.stderr, flush=True)
            signal.raise_signal(signal.SIGILL)
        if number != self._kind.system_call:
            _stop(f"exception {number} at {counter:#x}")
        call = cpu.reg_read(self._kind.call)
        served = _CALLS.get(call)
        if served is None:
            _stop(f"system call {call} at {counter:#x} is not emulated")
        arguments = [cpu.reg_read(each) for each in self._kind.arguments]
        try:
            result = served(self, *arguments)
        except OSError as error:
            result = -(error.errno or errno.EIO)
        cpu.reg_write(self._kind.arguments[0], result)

    # System calls: the kernel's six arguments, and the kernel's result.

    def exit(self, status: int, *_: int) -> NoReturn:
        sys.exit(status & 0xFF)

    def open(self, _: int, path: int, flags: int, mode: int, *__: int) -> int:
        return os.open(self._text(path), flags & (os.O_ACCMODE | os.O_CREAT | os.O_TRUNC | os.O_APPEND), mode)

    def close(self, file: int, *_: int) -> int:
        os.close(file)
        return 0

    def read(self, file: int, parts: int, count: int, *_: int) -> int:
        pieces = self._parts(parts, count)
        data = os.read(file, sum(size for _, size in pieces))
        place = 0
        for address, size in pieces:
            self._cpu.mem_write(address, data[place : place + size])
            place += size
        return len(data)

    def write(self, file: int, parts: int, count: int, *_: int) -> int:
        return os.writev(file, [bytes(self._cpu.mem_read(*piece)) for piece in self._parts(parts, count)])

    def _parts(self, address: int, count: int) -> list[tuple[int, int]]:
        """Return addresses and sizes, as the system calls `readv` and `writev` have them."""
        return list(struct.iter_unpack("<QQ", bytes(self._cpu.mem_read(address, 16 * count))))

    def map(self, _: int, size: int, __: int, flags: int, *___: int) -> int:
        if not flags & _ANONYMOUS:
            return -errno.ENODEV
        place = self._next_mapping
        self._cpu.mem_map(place, _whole_pages(size))
        self._next_mapping += _whole_pages(size) + _PAGE
        return place

    def unmap(self, address: int, size: int, *_: int) -> int:
        self._cpu.mem_unmap(address, _whole_pages(size))
        return 0

    def find_cores(self, _: int, __: int, address: int, *___: int) -> int:
        """Report a single core, so that the program starts no threads."""
        self._cpu.mem_write(address, struct.pack("<Q", 1))
        return 8

    def do_nothing(self, *_: int) -> int:
        return 0

    def is_no_terminal(self, *_: int) -> int:
        return -errno.ENOTTY

    def _text(self, address: int) -> str:
        text = bytearray()
        while 0 not in text:
            text += self._cpu.mem_read(address + len(text), 1)
        return text[:-1].decode()


#: System calls by number. Arm and RISC-V have the same numbers.
_CALLS: dict[int, Callable[..., int]] = {
    29: Process.is_no_terminal,  # ioctl
    56: Process.open,
    57: Process.close,
    65: Process.read,  # readv
    66: Process.write,  # writev
    94: Process.exit,
    96: Process.do_nothing,  # set_tid_address
    123: Process.find_cores,  # sched_getaffinity
    215: Process.unmap,
    222: Process.map,
}


def main(words: Sequence[str]) -> NoReturn:
    kind, model, *command = words
    Process(KINDS[kind], model).run(Path(command[0]).read_bytes(), command)


if __name__ == "__main__":
    main(sys.argv[1:])
