# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-canonicalize --print-script | FileCheck %s

# CHECK-LABEL: def permutations(
# CHECK: ) ->
# CHECK-NEXT: twice: R.Tensor((3, 4, "n"), "float32") = R.permute_dims(x, axes=(1, 2, 0))
# CHECK-NEXT: return twice, x
def permutations(x: f32[n, 3, 4]) -> R.Tuple(f32[3, 4, n], f32[n, 3, 4]):
    once = R.permute_dims(x, (2, 0, 1))
    twice = R.permute_dims(once, (2, 0, 1))
    back = R.permute_dims(twice, (-1, 0, 1))
    return twice, back


# Only the last shape counts.
# CHECK-LABEL: def reshapes(
# CHECK: ) ->
# CHECK-NEXT: b: R.Tensor((4, 3), "float32") = R.reshape(x, t)
# CHECK-NEXT: flat: R.Tensor((12,), "float32") = R.flatten(x)
# CHECK-NEXT: return b, flat, x
def reshapes(x: f32[2, 6], s: R.Shape((3, 4)), t: R.Shape((4, 3)), u: R.Shape((2, 6))) -> R.Tuple(
    f32[4, 3], f32[12], f32[2, 6]
):
    a = R.reshape(x, s)
    b = R.reshape(a, t)
    c = R.expand_dims(b, (0,))
    flat = R.flatten(c)
    back = R.reshape(flat, u)
    return b, flat, back


# Two unknown sizes: the shapes may differ although the types are the same. One follows from the other sizes.
# CHECK-LABEL: def unknown_sizes(
# CHECK: ) ->
# CHECK-NEXT: two: R.Tensor(("?", "?"), "float32") = R.reshape(x, s)
# CHECK-NEXT: return two, y
def unknown_sizes(x: f32["?", "?"], y: f32["?", 4], s: R.Shape(("?", "?"))) -> R.Tuple(f32["?", "?"], f32["?", 4]):
    two = R.reshape(x, s)
    one: f32["?", 4] = R.reshape(y, s)
    return two, one


# Two steps that are valid alone but not together stay, and the run reports the error.
# CHECK-LABEL: def impossible(
# CHECK-NEXT: any: R.Tensor("float32") = R.reshape(x, s)
# CHECK-NEXT: four: R.Tensor((4,), "float32") = R.reshape(any, t)
# CHECK-NEXT: return four
def impossible(x: f32[5], s: R.Shape(), t: R.Shape((4,))) -> f32[4]:
    any = R.reshape(x, s)
    four = R.reshape(any, t)
    return four


# CHECK-LABEL: def expansions(
# CHECK: ) ->
# CHECK-NEXT: x4: R.Tensor((1, 2, 1, 3), "float32") = R.expand_dims(x, axis=(0, 2))
# CHECK-NEXT: y2: R.Tensor((2, 3), "float32") = R.squeeze(y, axis=(0, 2))
# CHECK-NEXT: return x4, x, y2, y, x
def expansions(x: f32[2, 3], y: f32[1, 2, 1, 3]) -> R.Tuple(
    f32[1, 2, 1, 3], f32[2, 3], f32[2, 3], f32[1, 2, 1, 3], f32[2, 3]
):
    x3 = R.expand_dims(x, (1,))
    x4 = R.expand_dims(x3, (0,))
    x2 = R.squeeze(x3, (-2,))
    y3 = R.squeeze(y, (0,))
    y2 = R.squeeze(y3, (1,))
    y4 = R.expand_dims(y2, (2, 0))
    same = R.squeeze(x)
    return x4, x2, y2, y4, same


# An unknown size may be 1 and grow.
# CHECK-LABEL: def broadcasts(
# CHECK: ) ->
# CHECK-NEXT: unknown: R.Tensor(("?",), "float32") = R.broadcast_to(y, t)
# CHECK-NEXT: larger: R.Tensor((2, "n"), "float32") = R.broadcast_to(x, u)
# CHECK-NEXT: return x, unknown, larger
def broadcasts(x: f32[n], y: f32["?"], s: R.Shape(("n",)), t: R.Shape(("?",)), u: R.Shape((2, "n"))) -> R.Tuple(
    f32[n], f32["?"], f32[2, n]
):
    same = R.broadcast_to(x, s)
    unknown = R.broadcast_to(y, t)
    larger = R.broadcast_to(same, u)
    return same, unknown, larger


# CHECK-LABEL: def copies(
# CHECK: ) ->
# CHECK-NEXT: return x, x, x
def copies(x: f32[2, 3]) -> R.Tuple(f32[2, 3], f32[2, 3], f32[2, 3]):
    flipped = R.flip(x, 1)
    back = R.flip(flipped, -1)
    repeated = R.repeat(x, 1, 0)
    tiled = R.tile(x, (1,))
    return back, repeated, tiled


# CHECK-LABEL: def slices(
# CHECK: ) ->
# CHECK-NEXT: part: R.Tensor(("?",), "float32") = R.strided_slice(y, axes=(0,), begin=(0,), end=(3,))
# CHECK-NEXT: return x, y, part
def slices(x: f32[2, 3], y: f32["?"]) -> R.Tuple(f32[2, 3], f32["?"], f32["?"]):
    whole = R.strided_slice(x, axes=(0, -1), begin=(0, -3), end=(9, 3))
    up_to_any = R.strided_slice(y, axes=(0,), begin=(0,), end=(9223372036854775807,))
    part = R.strided_slice(y, axes=(0,), begin=(0,), end=(3,))
    return whole, up_to_any, part


# CHECK-LABEL: def parts(
# CHECK: ) ->
# CHECK-NEXT: three: R.Tensor((12,), "float32") = R.concat((x, x, x), axis=-1)
# CHECK-NEXT: stacked: R.Tensor((4, 1), "float32") = R.expand_dims(x, axis=(1,))
# CHECK-NEXT: return three, x, x, x, stacked, x
def parts(x: f32[4], none: f32[0]) -> R.Tuple(f32[12], f32[4], f32[4], f32[4], f32[4, 1], f32[4]):
    two = R.concat((x, x))
    three = R.concat((x, two), axis=-1)
    alone = R.concat((x,))
    with_none = R.concat((none, x))
    whole = R.split(x, 1)
    stacked = R.stack((x,), axis=1)
    a, b, c = R.split(x, (1, 3))
    together = R.concat((a, b, c))
    return three, alone, with_none, whole, stacked, together


# A concat with several readers is copied once: the next concat takes the whole.
# CHECK-LABEL: def concat_read_twice(
# CHECK: ) ->
# CHECK-NEXT: two: R.Tensor((8,), "float32") = R.concat((x, y))
# CHECK-NEXT: three: R.Tensor((12,), "float32") = R.concat((two, x))
# CHECK-NEXT: return two, three
def concat_read_twice(x: f32[4], y: f32[4]) -> R.Tuple(f32[8], f32[12]):
    two = R.concat((x, y))
    three = R.concat((two, x))
    return two, three


# An end of the size itself is the end, as an expression too.
# CHECK-LABEL: def slice_up_to_symbol(
# CHECK: ) ->
# CHECK-NEXT: part: R.Tensor(("min(k, n)",), "float32") = R.strided_slice(x, axes=(0,), begin=(0,), end=("k",))
# CHECK-NEXT: return x, part
def slice_up_to_symbol(x: f32[n], y: f32[k]) -> R.Tuple(f32[n], f32[min(k, n)]):
    whole = R.strided_slice(x, axes=(0,), begin=(0,), end=("n + 1",))
    part = R.strided_slice(x, axes=(0,), begin=(0,), end=("k",))
    return whole, part
