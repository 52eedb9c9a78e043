# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs for other kinds of CPU: linked by a cross compiler, and run by an emulator.

Debian's gcc and qemu-user come first, because this qemu has all CPUs. The wheels of the extra `test` are next.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pytest
import tvm_ffi

_CALLER = Path(__file__).parents[1] / "targets" / "call_object.c"
_EMULATOR = Path(__file__).parent / "emulated_programs.py"
_HEADERS = Path(tvm_ffi.__file__).parent / "include"


class Tools(NamedTuple):
    """Beginnings of the commands that link a program, and that run one."""

    link: Sequence[str]
    run: Sequence[str]


class Cpu(NamedTuple):
    """Target of the code, and qemu's name of a CPU that can run it."""

    target: str
    kind: str
    emulated: str
    #: Instructions that the emulator of the wheel may lack.
    rare: str = ""

    def lacks(self) -> str:
        """Return the reason why this machine cannot link or run programs for the CPU, or an empty text."""
        if self.of_debian() or self.of_wheels():
            return ""
        of_debian = f"gcc-{self.kind}-linux-gnu and qemu-user on Debian"
        if self.has_long_riscv_vectors():
            return f"the wheel unicorn lacks V of RISC-V: install {of_debian}"
        return f"no linker or emulator for {self.kind}: install ziglang and unicorn by pip, or {of_debian}"

    def has_long_riscv_vectors(self) -> bool:
        return ",v=true" in self.emulated

    def tools(self) -> Tools:
        """Return the first tools that this machine has."""
        found = self.of_debian() or self.of_wheels()
        assert found is not None, self.lacks()
        return found

    def of_debian(self) -> Tools | None:
        """Return Debian's tools, or None where one is missing."""
        compiler, emulator = f"{self.kind}-linux-gnu-gcc", f"qemu-{self.kind}"
        has_both = shutil.which(compiler) and shutil.which(emulator)
        return Tools([compiler], [emulator, "-cpu", self.emulated]) if has_both else None

    def of_wheels(self) -> Tools | None:
        """Return tools of installed wheels, or None if they are missing or cannot emulate the CPU."""
        if self.has_long_riscv_vectors() or find_spec("ziglang") is None or find_spec("unicorn") is None:
            return None
        return Tools(
            [sys.executable, "-m", "ziglang", "cc", "-target", f"{self.kind}-linux-musl"],
            [sys.executable, str(_EMULATOR), self.kind, self.emulated],
        )


#: Plain vectors; dot products of bytes; those of bf16 and of unsigned with signed bytes; long vectors.
CPUS = {
    "armv8": Cpu("triple=aarch64-linux-gnu", "aarch64", "cortex-a53"),
    "neoverse-n1": Cpu("triple=aarch64-linux-gnu cpu=neoverse-n1", "aarch64", "max"),
    "neoverse-v1": Cpu("triple=aarch64-linux-gnu cpu=neoverse-v1", "aarch64", "max", "bf16 or i8mm"),
    "riscv64": Cpu("triple=riscv64-linux-gnu", "riscv64", "rv64"),
    "sifive-x280": Cpu("triple=riscv64-linux-gnu cpu=sifive-x280", "riscv64", "rv64,v=true,vext_spec=v1.0,vlen=512"),
}


def linked(objects: Sequence[bytes], cpu: Cpu, folder: Path) -> Path:
    """Link object files with a program that calls their function, statically."""
    names = [f"object{number}.o" for number in range(len(objects))]
    for name, data in zip(names, objects, strict=True):
        (folder / name).write_bytes(data)
    command = [*cpu.tools().link, "-O1", "-static", f"-I{_HEADERS}", "-o", "program", str(_CALLER), *names, "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return folder / "program"


def emulated(program: Path, cpu: Cpu, given: Any, like: Any) -> Any:
    """Run the program on an array. The result has the type of `like`."""
    code = {"i": 0, "u": 1, "f": 2}.get(given.dtype.kind, 4)
    head = numpy.array([code, given.itemsize * 8, given.ndim, *given.shape], "int64")
    (program.parent / "given").write_bytes(head.tobytes() + given.tobytes())
    command = [*cpu.tools().run, "./program", "result", "given"]
    done = subprocess.run(command, cwd=program.parent, capture_output=True, text=True, timeout=600)
    if done.returncode == -signal.SIGILL and cpu.rare and cpu.of_debian() is None:
        pytest.skip(f"the emulator of the wheel unicorn lacks an instruction of {cpu.rare}: {done.stderr.strip()}")
    if done.stderr.startswith(f"qemu-{cpu.kind}: ") and "Assertion" in done.stderr:
        pytest.skip(f"the emulator itself fails (qemu 7.2 on some vectors of RISC-V): {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    written = (program.parent / "result").read_bytes()
    _, bits, rank = numpy.frombuffer(written, "int64", 3)
    assert bits == like.itemsize * 8
    shape = numpy.frombuffer(written, "int64", rank, 24)
    return numpy.frombuffer(written, like.dtype, offset=24 + 8 * int(rank)).reshape(shape)
