# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # lists of words
"""Command lines: random ones, misspelt ones, malformed pipelines."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from case import INPUT, OUTPUT
from mutate_text import mutate_bytes
from relax_mlir.tools.opt.options import OPTIONS

from relax_mlir import all_passes

# Upstream passes that neither print, write files nor need a target.
_UPSTREAM = (
    "cse canonicalize symbol-dce inline sccp mem2reg strip-debuginfo loop-invariant-code-motion control-flow-sink "
    "affine-loop-fusion convert-elementwise-to-linalg linalg-fuse-elementwise-ops convert-scf-to-cf convert-arith-to-llvm "
    "convert-func-to-llvm one-shot-bufferize reconcile-unrealized-casts remove-dead-values snapshot-op-locations"
).split(" ")

_PIECES = (
    "builtin.module( func.func( any( scf.for( ( ) { } , = \" ' [ ] canonicalize cse {max-iterations=1} {top-down=false} "
    "{max-iterations=x} {nope=1} {} {a={b c}} {relax.codegen=dnnl} builtin.module{relax.codegen=dnnl}( csee canonicalise é \0"
).split(" ")

_VALUES = (
    "",
    "-",
    "0",
    "1",
    "-1",
    "true",
    "x",
    "99999999999999999999",
    "all",
    "cse",
    "a,b",
    "=",
    "é",
    INPUT,
    OUTPUT,
    ".",
    "/nonexistent/x",
    "/dev/null",
    "/dev/full",
)

# Their output is long, and the same every time.
_INFORMATION = frozenset({"help", "list-passes", "list-ops", "dump-irdl"})


def own_passes() -> list[str]:
    return list(all_passes())


def harmless_arguments(random: Random) -> tuple[str, ...]:
    """Return a command line without mistakes: errors are then the input's."""
    arguments = [INPUT]
    choice = random.randrange(8)
    if choice == 0:
        arguments.append("--allow-unregistered-dialect")
    elif choice == 1:
        arguments.append("--emit-bytecode")
    elif choice == 2:
        arguments += ["-o", OUTPUT]
    elif choice == 3:
        arguments.append(
            random.choice(("--mlir-print-op-generic", "--mlir-print-debuginfo", "--verify-roundtrip", "--print-script"))
        )
    elif choice == 4:
        arguments.append(
            random.choice(("--split-input-file", "--verify-diagnostics", "--irdl-names", "--mlir-print-ir-after-all"))
        )
    elif choice < 7:
        names = [*own_passes() * 3, *_UPSTREAM]
        arguments += [f"--{name}" for name in random.choices(names, k=random.choice((1, 1, 2)))]
    return tuple(arguments)


def mutated_arguments(random: Random) -> tuple[str, ...]:
    """Return options with strange values, misspelt names and broken pipelines."""
    arguments = list(harmless_arguments(random))
    for _ in range(random.choice((1, 1, 2, 3))):
        choice = random.randrange(3)
        if choice == 0:
            arguments.append(f"--pass-pipeline={_pipeline(random)}")
        elif choice == 1:
            arguments.append(_option(random))
        else:
            at = random.randrange(len(arguments))
            arguments[at] = _misspelt(random, arguments[at])
    random.shuffle(arguments)
    return tuple(arguments)


def _option(random: Random) -> str:
    name = random.choice([name for name in OPTIONS if name not in _INFORMATION])
    if random.random() < 0.3:
        name = random.choice([*own_passes(), *_UPSTREAM])
    value = random.choice(_VALUES) if random.random() < 0.7 else _pipeline(random)
    return f"--{name}={value}" if random.random() < 0.8 else f"--{name}"


def _pipeline(random: Random) -> str:
    if random.random() < 0.5:
        names = random.choices([*own_passes() * 3, *_UPSTREAM], k=random.choice((1, 2, 3)))
        text = f"builtin.module({','.join(names)},func.func(cse,canonicalize{{max-iterations=1}}))"
        return _misspelt(random, text) if random.random() < 0.7 else text
    return _joined(random, [*_PIECES, *own_passes()], random.randrange(1, 12))


def _joined(random: Random, pieces: Sequence[str], count: int) -> str:
    return "".join(random.choices(pieces, k=count)).replace("\0", "")


def _misspelt(random: Random, text: str) -> str:
    """Return a text with a few changed bytes. Arguments of processes cannot contain NUL."""
    return (
        mutate_bytes(random, text.encode("utf-8", "surrogateescape"))
        .replace(b"\0", b"")
        .decode("utf-8", "surrogateescape")
    )
