# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory over time in reports: the calls during which a buffer lives, its position, and the bytes in use at each
call."""

from __future__ import annotations

from typing import Any

from relax_mlir_report.memory_timeline import memory_of


class Facts:
    """Journal with the facts of one kind."""

    def __init__(self, *facts: Any):
        self._facts = facts

    def of(self, kind: str) -> Any:
        return self._facts if kind == "memory" else ()


def call(position: int, inputs: Any = (), outputs: Any = (), kernel: Any = 0, function: str = "main") -> dict[str, Any]:
    read, made = ([{"buffer": number} for number in numbers] for numbers in (inputs, outputs))
    return {"function": function, "position": position, "kernel": kernel, "inputs": read, "outputs": made}


def buffer(number: int, first: int, last: int, bytes_: int | str, **kind: Any) -> dict[str, Any]:
    placed = {"offset": 0, "slot": None, "shift": "0", "output": False, "origins": [], "type": "", **kind}
    return {"number": number, "first": first, "last": last, "bytes": bytes_, **placed}


#: Positions between calls belong to views and to operations without work.
CALLS = [
    call(2, outputs=[0]),
    call(3, outputs=[7], function="other"),
    call(4, inputs=[0], outputs=[0], kernel=None),
    call(5, inputs=[0], outputs=[1]),
    call(9, inputs=[0, 1], outputs=[2]),
]


def test_calls_that_a_buffer_is_there_for() -> None:
    buffers = [
        buffer(0, 1, 9, 64),
        buffer(1, 5, 9, 128, offset=64),
        buffer(2, 9, 12, 256, offset=192),
        buffer(3, 3, 6, 1024, offset=448),
        # Read by nothing: it is there for the call that follows its making, or the last one.
        buffer(4, 6, 6, 4096, offset=2048),
        buffer(5, 11, 11, 8192, offset=8192),
        buffer(6, 1, 20, 16384, offset=None, output=True),
    ]
    fact = {"function": "main", "fixed_bytes": 16384, "slots": [], "buffers": buffers}
    (plan,) = memory_of(Facts(fact), CALLS, {})  # type: ignore[arg-type]
    assert plan["steps"] == [0, 3, 4]
    spans = {each["number"]: (each["start"], each["end"]) for each in plan["buffers"]}
    assert spans == {0: (0, 2), 1: (1, 2), 2: (2, 2), 3: (1, 1), 4: (2, 2), 5: (2, 2), 6: (0, 2)}
    assert plan["live"] == [64, 64 + 128 + 1024, 64 + 128 + 256 + 4096 + 8192]
    assert (plan["peak"], plan["peak_step"]) == (12736, 2)
    assert plan["arena"] == 16384 and plan["symbolic"] == []


def test_slots_of_sizes_that_the_run_tells() -> None:
    """Place slots one after the other, each at a multiple of 64 bytes."""
    buffers = [
        buffer(0, 2, 5, "4*n", slot=0),
        buffer(1, 2, 5, "m*n", slot=1, shift="8*m"),
        buffer(2, 2, 2, None, slot=None, offset=None),  # type: ignore[arg-type]
    ]
    fact = {"function": "main", "fixed_bytes": 128, "slots": ["4*n", "m*n + 8*m"], "buffers": buffers}
    for sizes, offsets, arena, live in (
        ({"n": 17, "m": 3}, [128, 256 + 24, None], 256 + 128, 68 + 51),
        ({"n": 16}, [128, 192 + 8, None], 192 + 64, 64 + 16),
        ({}, [128, 192 + 8, None], 192 + 64, 4 + 1),
    ):
        (plan,) = memory_of(Facts(fact), CALLS, sizes)  # type: ignore[arg-type]
        assert [each["offset"] for each in plan["buffers"]] == offsets
        assert plan["arena"] == arena and plan["symbolic"] == ["m", "n"]
        assert plan["live"] == [live, live, 0]
        assert [each["text"] for each in plan["buffers"][:2]] == ["4*n", "m*n"]


def test_functions_without_calls() -> None:
    fact = {"function": "none", "fixed_bytes": 64, "slots": [], "buffers": [buffer(0, 0, 3, 64)]}
    (plan,) = memory_of(Facts(fact), CALLS, {})  # type: ignore[arg-type]
    assert (plan["steps"], plan["live"], plan["peak"], plan["peak_step"]) == ([], [], 0, 0)
