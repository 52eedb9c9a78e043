# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""In-place inputs of kernels according to their loops, and kernels that only move elements."""

from __future__ import annotations

import itertools
import random

import pytest
from memref_kernels import HEAD, READ, kernel_of, loop, move, vectors
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.symbols import sym
from relax_mlir.dialects.tir.prim_func import prim_funcs_in
from relax_mlir.passes.memory.lower_calls import overwriting
from relax_mlir.passes.memory.lower_calls.overwriting import Kernel, Move

import relax_mlir as rx

_PLUS = "%j = arith.addi %i, %c1 : index\n"
_LAST = "%k = arith.subi %c64, %c1 : index\n%j = arith.subi %k, %i : index\n"
_ANY = "%j = memref.load %w[%i] : memref<64xindex>\n"

_OVER_ONE: dict[str, tuple[str, bool]] = {
    "same element": (loop(move("%i", "%i")), True),
    "the next one": (loop(_PLUS + move("%j", "%i"), bounds="%c0 to %c16 step %c1"), True),
    "the one before": (loop(_PLUS + move("%i", "%j"), bounds="%c0 to %c16 step %c1"), False),
    "the other way round": (loop(_LAST + move("%j", "%i")), False),
    "anywhere": (loop(_ANY + move("%j", "%i")), False),
    "to anywhere": (loop(_ANY + move("%i", "%j")), False),
    "always the first": (loop(move("%c0", "%i")), False),
    "into the first": (loop(move("%i", "%c0")), False),
    "read, then write": (
        loop(READ.format("%i", "memref<64xf32>")) + loop("memref.store %z, %y[%i] : memref<64xf32>"),
        True,
    ),
    "write, then read": (
        loop("memref.store %z, %y[%i] : memref<64xf32>") + loop(READ.format("%i", "memref<64xf32>")),
        False,
    ),
    "in halves": (
        loop(move("%i", "%i"), bounds="%c0 to %c8 step %c1") + loop(move("%i", "%i"), bounds="%c8 to %c64 step %c1"),
        True,
    ),
    "in halves that overlap": (
        loop(move("%i", "%i"), bounds="%c0 to %c16 step %c1") + loop(move("%i", "%i"), bounds="%c8 to %c64 step %c1"),
        False,
    ),
    "again and again": (loop(loop(move("%i", "%i")), "r", "%c0 to %c4 step %c1"), False),
    "once": (loop(loop(move("%i", "%i")), "r", "%c0 to %c1 step %c1"), True),
    "vectors": (loop(vectors("%i", "%i", 8), bounds="%c0 to %c64 step %c8"), True),
    "vectors that overlap": (loop(vectors("%i", "%i", 8), bounds="%c0 to %c64 step %c4"), False),
    "one of two branches": (
        loop(
            "%e = arith.cmpi slt, %i, %c8 : index\nscf.if %e {\nmemref.store %z, %y[%i] : memref<64xf32>\n} else {\n"
            + move("%i", "%i")
            + "}"
        ),
        True,
    ),
    "a loop without a counter": (
        "scf.while (%i = %c0) : (index) -> index {\n%e = arith.cmpi slt, %i, %c64 : index\n"
        "scf.condition(%e) %i : index\n} do {\n^bb0(%i: index):\n"
        + move("%i", "%i")
        + _PLUS
        + "scf.yield %j : index\n}",
        False,
    ),
    "nothing": ("", False),
    "linalg": (
        "linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>], iterator_types = "
        '["parallel"]} ins(%x : memref<64xf32>) outs(%y : memref<64xf32>) {\n^bb0(%a: f32, %b: f32):\n'
        "%s = arith.negf %a : f32\nlinalg.yield %s : f32\n}",
        True,
    ),
    "linalg with more reads": (
        "linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>], iterator_types = "
        '["parallel"]} ins(%x : memref<64xf32>) outs(%y : memref<64xf32>) {\n^bb0(%a: f32, %b: f32):\n'
        "%i = linalg.index 0 : index\n%j = arith.subi %c8, %i : index\n"
        "%s = memref.load %x[%j] : memref<64xf32>\nlinalg.yield %s : f32\n}",
        False,
    ),
    "a copy": ("memref.copy %x, %y : memref<64xf32> to memref<64xf32>", True),
    "both ways": (loop(move("%i", "%i")) + loop("memref.store %z, %x[%i] : memref<64xf32>"), False),
    "what is passed on": ("%q = arith.select %e, %x, %y : memref<64xf32>\n" + loop(move("%i", "%i")), False),
}


@pytest.mark.parametrize("name", _OVER_ONE)
def test_one_dimension(name: str) -> None:
    body, expected = _OVER_ONE[name]
    body = body.replace("%q =", "%e = arith.cmpi slt, %n, %c8 : index\n%q =")
    assert kernel_of(body).may_overwrite(0, 2, is_alike=True) == expected


_SQUARE = "memref<8x8xf32>"


def nest(body: str) -> str:
    return loop(loop(body, "k", "%c0 to %c8 step %c1"), "i", "%c0 to %c8 step %c1")


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("%i, %k", "%i, %k", True),
        ("%k, %i", "%k, %i", True),
        ("%k, %i", "%i, %k", False),
        ("%i, %c0", "%i, %k", False),
        ("%c0, %k", "%i, %k", False),
        ("%i, %k", "%i, %c0", False),
    ],
)
def test_two_dimensions(source: str, target: str, expected: bool) -> None:
    assert kernel_of(nest(move(source, target, _SQUARE)), _SQUARE).may_overwrite(0, 2, is_alike=True) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("same element", True), ("the next one", False), ("vectors", True), ("in halves", True), ("once", True)],
)
def test_loops_that_threads_share(name: str, expected: bool) -> None:
    """Treat iterations as unordered: no other iteration may write the elements that one reads."""
    body = _OVER_ONE[name][0].replace("\n}", "\n} {tir.parallel = 1 : i64}")
    assert body.count("tir.parallel") and kernel_of(body).may_overwrite(0, 2, is_alike=True) == expected


_CHUNKS = """
  %g = memref.load %w[%c0] : memref<64xindex>
  scf.for %c = %c0 to {size} step %g {{
    %left = arith.subi {size}, %c : index
    %own = arith.minsi %g, %left : index
    %rest = arith.remui %own, %c8 : index
    %whole = arith.subi %own, %rest : index
    {inside}
  }} {{tir.parallel = 1 : i64}}
"""
_IN_CHUNK = "%i = arith.addi %c, %k : index\n"
_LONG = "memref<?xf32>"


def in_chunks(body: str, bounds: str = "%c0 to %own step %c1") -> str:
    return loop(_IN_CHUNK + body, "k", bounds)


_HERE, _EIGHT, _AFTER = move("%i", "%i", _LONG), vectors("%i", "%i", 8, _LONG), _PLUS + move("%j", "%i", _LONG)
_MASKED = """
  %more = arith.subi {end}, %k : index
  %mask = vector.create_mask %more : vector<8xi1>
  %u = vector.transfer_read %x[%i], %z, %mask {{in_bounds = [true]}} : memref<?xf32>, vector<8xf32>
  vector.transfer_write %u, %y[%i], %mask {{in_bounds = [true]}} : vector<8xf32>, memref<?xf32>
"""
#: Work in a chunk of %own steps from %c on, and whether threads that share the chunks, or a single thread, may do it in
#: place.
_OF_CHUNKS: dict[str, tuple[str, bool, bool]] = {
    "same element": (in_chunks(_HERE), True, True),
    "the next one": (in_chunks(_AFTER), False, True),
    "the one before": (in_chunks(_PLUS + move("%i", "%j", _LONG)), False, False),
    "always the first": (in_chunks(move("%c0", "%i", _LONG)), False, False),
    "of the chunk the first": (in_chunks(move("%c", "%i", _LONG)), False, False),
    "all of it, then write": (
        in_chunks(READ.format("%i", _LONG)) + in_chunks("memref.store %z, %y[%i] : memref<?xf32>"),
        True,
        True,
    ),
    "write, then read": (
        in_chunks("memref.store %z, %y[%i] : memref<?xf32>") + in_chunks(READ.format("%i", _LONG)),
        False,
        False,
    ),
    "one more than a chunk": (
        "%more = arith.addi %own, %c1 : index\n" + in_chunks(_HERE, "%c0 to %more step %c1"),
        False,
        False,
    ),
    "another size of chunks": (
        "%o = memref.load %w[%c1] : memref<64xindex>\n%m = arith.minsi %o, %left : index\n"
        + in_chunks(_HERE, "%c0 to %m step %c1"),
        False,
        False,
    ),
    "to the end": (in_chunks(_HERE, "%c0 to %left step %c1"), False, False),
    "vectors": (in_chunks(_EIGHT, "%c0 to %whole step %c8"), True, True),
    "vectors beyond": (in_chunks(_EIGHT, "%c0 to %own step %c8"), False, False),
    "vectors, then the rest": (
        in_chunks(_EIGHT, "%c0 to %whole step %c8") + in_chunks(_HERE, "%whole to %own step %c1"),
        True,
        True,
    ),
    "vectors, then masked ones": (
        in_chunks(_EIGHT, "%c0 to %whole step %c8") + in_chunks(_MASKED.format(end="%own"), "%whole to %own step %c8"),
        True,
        True,
    ),
    "masked, but for one lane": (
        "%most = arith.addi %own, %c1 : index\n" + in_chunks(_MASKED.format(end="%most"), "%whole to %own step %c8"),
        False,
        False,
    ),
    "masked by the size": (in_chunks(_MASKED.format(end="%left"), "%whole to %own step %c8"), False, False),
    "what may begin before": (
        "%o = memref.load %w[%c1] : memref<64xindex>\n" + in_chunks(_HERE, "%o to %own step %c1"),
        False,
        False,
    ),
}


@pytest.mark.parametrize("is_shared", [True, False], ids=["shared", "alone"])
@pytest.mark.parametrize("size", ["%n", "%c64"])
@pytest.mark.parametrize("name", _OF_CHUNKS)
def test_chunks_of_a_loop(name: str, size: str, is_shared: bool) -> None:
    """Use chunks with a dynamic number of steps, and a smaller last one."""
    inside, *expected = _OF_CHUNKS[name]
    body = _CHUNKS.format(size=size, inside=inside)
    kernel = kernel_of(body if is_shared else body.replace(" {tir.parallel = 1 : i64}", ""), _LONG)
    assert kernel.may_overwrite(0, 2, is_alike=True) == expected[not is_shared]


_WIDE, _ZERO = "memref<?x?xf32>", "memref.store %z, %y[{}] : memref<?x?xf32>"
_ROW = "scf.for %k = %c0 to %c8 step %c1 {{\n{}\n}}\n"


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        (_ROW.format(move("%i, %k", "%i, %k", _WIDE)), True),
        (_ROW.format(move("%k, %i", "%i, %k", _WIDE)), False),
        (_ROW.format(READ.format("%i, %k", _WIDE)) + _ZERO.format("%i, %c0"), True),
        (_ROW.format(READ.format("%k, %i", _WIDE)) + _ZERO.format("%c0, %i"), True),
        (_ROW.format(READ.format("%i, %k", _WIDE)) + _ZERO.format("%c0, %i"), False),
    ],
    ids=["there", "transposed", "of rows", "of columns", "of rows in a row"],
)
def test_rows_in_chunks(inside: str, expected: bool) -> None:
    chunk = loop("%i = arith.addi %c, %m : index\n" + inside, "m", "%c0 to %own step %c1")
    kernel = kernel_of(_CHUNKS.format(size="%n", inside=chunk), "memref<?x?xf32>")
    assert kernel.may_overwrite(0, 2, is_alike=True) == expected


def test_a_row_before_it_is_written() -> None:
    """Accept a row that is read before it is written, as in softmax, but not if the previous row is read as well."""
    rows = "memref<8x8xf32>"
    reads, writes = READ.format("%i, %k", rows), "memref.store %z, %y[%i, %k] : memref<8x8xf32>\n"
    inner = [loop(each, "k", "%c0 to %c8 step %c1") for each in (reads, writes)]
    assert kernel_of(loop("".join(inner), bounds="%c0 to %c8 step %c1"), rows).may_overwrite(0, 2, is_alike=True)
    before = "%j = arith.subi %i, %c1 : index\n" + loop(READ.format("%j, %k", rows), "k", "%c0 to %c8 step %c1")
    both = loop(before + inner[1], bounds="%c1 to %c8 step %c1")
    assert not kernel_of(both, rows).may_overwrite(0, 2, is_alike=True)


@pytest.mark.parametrize(("step", "expected"), [("%c8", True), ("%c4", False)])
def test_what_is_left_of_a_size_that_the_run_tells(step: str, expected: bool) -> None:
    """Whole vectors as far as they go, then the rest; the vectors end before the rest only if they do not overlap."""
    unknown = "memref<?xf32>"
    rest = f"%m = arith.remui %n, {step} : index\n%k = arith.subi %n, %m : index\n"
    body = rest + loop(vectors("%i", "%i", 8, unknown), bounds=f"%c0 to %k step {step}")
    body += loop(move("%i", "%i", unknown).replace("%a", "%b"), bounds="%k to %n step %c1")
    assert kernel_of(body, unknown).may_overwrite(0, 2, is_alike=True) == expected


def test_parts_whose_dimensions_are_joined_are_others_in_each_round() -> None:
    """Refuse parts with collapsed dimensions: elements 0 and 5 of a part differ, but the part begins elsewhere in the
    next iteration."""
    wide, part = "memref<64x1xf32>", "memref<8x1xf32, strided<[1, 1], offset: ?>>"
    flat = "memref<8xf32, strided<[1], offset: ?>>"
    body = "".join(
        f"%s{name} = memref.subview %{name}[%i, 0] [8, 1] [1, 1] : {wide} to {part}\n"
        f"%f{name} = memref.collapse_shape %s{name} [[0, 1]] : {part} into {flat}\n"
        for name in ("x", "y")
    )
    body += f"%a = memref.load %fx[%c0] : {flat}\nmemref.store %a, %fy[%c4] : {flat}\n"
    assert not kernel_of(loop(body, bounds="%c0 to %c16 step %c1"), wide).may_overwrite(0, 2, is_alike=True)
    assert kernel_of(body.replace("%i", "%c8"), wide).may_overwrite(0, 2, is_alike=True)


def test_parameters_that_are_stated_to_be_apart() -> None:
    kernel = kernel_of(loop(move("%i", "%i")), attributes="tir.prim_func, tir.noalias")
    assert not kernel.may_overwrite(0, 2, is_alike=True) and not kernel.pairs


_SHIFTS = "".join(f"%i{shift} = arith.addi %i, %c{shift} : index\n" for shift in (1, 4, 8))


@pytest.mark.parametrize("seed", range(24))
def test_pairs_that_are_left_out_would_change_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check unrolled moves in any order: comparing only some pairs gives the result of comparing all pairs."""
    chosen = random.Random(seed)
    indices = ["%i", "%i1", "%i4", "%i8", "%c0", "%c8"]
    source, target = chosen.sample(indices, 4), chosen.sample(indices, 4)
    moves = [(source[at], target[chosen.choice((at, 0))] if seed % 3 else source[at]) for at in (0, 1, 2, 3)]
    reads = [f"%a{at} = memref.load %x[{read}] : memref<64xf32>" for at, (read, _) in enumerate(moves)]
    writes = [f"memref.store %a{at}, %y[{written}] : memref<64xf32>" for at, (_, written) in enumerate(moves)]
    lines = [*reads, *writes] if seed % 2 else [line for pair in zip(reads, writes, strict=True) for line in pair]
    body = loop(_SHIFTS + "\n".join(lines), bounds="%c0 to %c64 step %c16")
    found = kernel_of(body).may_overwrite(0, 2, is_alike=True)
    monkeypatch.setattr(overwriting, "distinct_pairs", lambda reads, writes: itertools.product(reads, writes))
    assert found == kernel_of(body).may_overwrite(0, 2, is_alike=True), f"not as all pairs say:\n{body}"


@pytest.mark.parametrize(("masks", "expected"), [([", %mask"], True), ([", %mask", ""], False), ([""], False)])
def test_under_a_mask_is_not_as_without(masks: list[str], expected: bool) -> None:
    """Write 8 of 16 lanes, which is the step of the loop.

    Without the mask the write would reach the next iteration's elements.
    """
    writes = [
        f"vector.transfer_write %zeros, %y[%i]{mask} {{in_bounds = [true]}} : vector<16xf32>, {_LONG}" for mask in masks
    ]
    body = f"""%u = vector.transfer_read %x[%i], %z {{in_bounds = [true]}} : {_LONG}, vector<8xf32>
  %zeros = vector.broadcast %z : f32 to vector<16xf32>
  %mask = vector.create_mask %c8 : vector<16xi1>
  """
    inside = loop(body + "\n".join(writes) + "\n", bounds="%c0 to %c64 step %c8")
    kernel = kernel_of(inside, _LONG)
    assert kernel.may_overwrite(0, 2, is_alike=True) is expected


def test_unrolled_code_is_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    original = overwriting._is_read_before
    monkeypatch.setattr(overwriting, "_is_read_before", lambda *pair: asked.append(pair) or original(*pair))
    places = range(32)
    shifts = "".join(f"%s{at} = arith.constant {at} : index\n%i{at} = arith.addi %i, %s{at} : index\n" for at in places)
    reads = "".join(f"%a{at} = memref.load %x[%i{at}] : memref<64xf32>\n" for at in places)
    writes = "".join(f"memref.store %a{at}, %y[%i{at}] : memref<64xf32>\n" for at in places)
    head = "%c32 = arith.constant 32 : index\n"
    kernel = kernel_of(head + loop(shifts + reads + writes, bounds="%c0 to %c64 step %c32"))
    assert kernel.may_overwrite(0, 2, is_alike=True)
    assert len(asked) < 2 * len(places) ** 1.5, f"{len(asked)} pairs of {len(places)} reads and writes were compared"


def test_of_another_shape_only_what_was_read_before() -> None:
    copied = "%t = memref.alloc() : memref<64xf32>\nmemref.copy %x, %t : memref<64xf32> to memref<64xf32>\n"
    kernel = kernel_of(copied + loop("memref.store %z, %y[%i] : memref<64xf32>"))
    assert kernel.may_overwrite(0, 2, is_alike=False)
    assert not kernel_of(loop(move("%i", "%i"))).may_overwrite(0, 2, is_alike=False)


# ---- moves ----

_ASSERTION = (
    '%e = arith.cmpi slt, %n, %c8 : index\n"tir.assert"(%e) {kind = "ValueError", message = "no"} : (i1) -> ()\n'
)
_TYPES = TensorInfo((64,), "float32"), TensorInfo((64,), "index"), TensorInfo((64,), "float32")
_NEGATIVE = READ.format("%i", "memref<64xf32>") + "%b = arith.negf %a : f32\nmemref.store %b, %y[%i] : memref<64xf32>\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (loop(move("%i", "%i")), [Move(0, 2, 0)]),
        ("memref.copy %x, %y : memref<64xf32> to memref<64xf32>", [Move(0, 2, 0)]),
        (loop(_PLUS + move("%j", "%i"), bounds="%c0 to %c16 step %c1"), [Move(0, 2, -1)]),
        (loop(_PLUS + move("%i", "%j"), bounds="%c0 to %c16 step %c1"), [Move(0, 2, 1)]),
        (loop(vectors("%i", "%i", 8), bounds="%c0 to %c64 step %c8"), [Move(0, 2, 0)]),
        (loop(_LAST + move("%j", "%i")), []),
        (loop(_ANY + move("%j", "%i")), []),
        (loop("memref.store %z, %y[%i] : memref<64xf32>"), []),
        (loop(move("%i", "%i")) + loop("memref.store %z, %y[%i] : memref<64xf32>"), []),
        (loop(_NEGATIVE), []),
        # Something else that can be seen.
        (_ASSERTION + loop(move("%i", "%i")), []),
    ],
)
def test_moves(body: str, expected: list[Move]) -> None:
    assert list(kernel_of(body).moves(_TYPES)) == expected


_ROWS = "memref<?x16xf32, strided<[16, 1], offset: ?>>"
_BEHIND = f"""
  %v = memref.subview %y[%n, 0] [%n, 16] [1, 1] : memref<?x16xf32> to {_ROWS}
  %q = memref.collapse_shape %x [[0, 1]] : memref<?x16xf32> into memref<?xf32>
  scf.for %i = %c0 to %c16 step %c1 {{
    %a = memref.load %q[%i] : memref<?xf32>
    memref.store %a, %v[%c0, %i] : {_ROWS}
  }}
"""


def test_distances_are_expressions_of_what_is_passed() -> None:
    kernel = kernel_of(_BEHIND, "memref<?x16xf32>")
    n, m = sym("n"), sym("m")
    wide = TensorInfo((n + m, 16), "float32")
    for rows, distance in ((n, 16 * n), (3, 48)):
        infos = TensorInfo((rows, 16), "float32"), TensorInfo((64,), "index"), wide
        assert list(kernel.moves(infos)) == [Move(0, 2, distance)]
    # Nothing says how many rows are before.
    assert not kernel.moves((TensorInfo((None, 16), "float32"), TensorInfo((64,), "index"), wide))


def test_copies() -> None:
    """Return the loops that do nothing if both parameters are the same memory."""
    kernel = kernel_of(loop(move("%i", "%i")) + loop(_PLUS + move("%j", "%i"), bounds="%c0 to %c16 step %c1"))
    assert [(op.name, writes) for op, writes in kernel.copies(0, 2)] == [("scf.for", 1)]
    assert kernel.copies(1, 2) == []


_FLAT = """
  %a = vector.transfer_read %{first}[%c0], %z {{in_bounds = [true]}} : memref<64xf32>, vector<64xf32>
  vector.transfer_write %a, %y[%c0] {{in_bounds = [true]}} : vector<64xf32>, memref<64xf32>
  %b = vector.transfer_read %{second}[%c0], %z {{in_bounds = [true]}} : memref<64xf32>, vector<64xf32>
  vector.transfer_write %{last}, %y[%c0] {{in_bounds = [true]}} : vector<64xf32>, memref<64xf32>
"""


@pytest.mark.parametrize(
    ("first", "second", "last", "count"),
    [
        ("x", "u", "b", 1),  # the value that is written there comes from somewhere else
        ("u", "x", "b", 1),
        ("x", "u", "a", 1),  # the same once more
    ],
)
def test_copies_of_whole_tensors(first: str, second: str, last: str, count: int) -> None:
    body = HEAD.replace("TYPE", "memref<64xf32>") + _FLAT.format(first=first, second=second, last=last)
    parameters = "%x: memref<64xf32>, %u: memref<64xf32>, %y: memref<64xf32>"
    module = rx.Module.parse(f"func.func @f({parameters}) attributes {{tir.prim_func}} {{{body}\n  return\n}}")
    (function,) = prim_funcs_in(module.operation)
    with module.context:
        assert len(Kernel(function).copies(0, 2)) == count
