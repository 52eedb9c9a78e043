# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-gradient='function=loop' --print-script | FileCheck %s
# RUN: relax-opt %s --relax-gradient='function=loop checkpoint-every=8' --print-script | FileCheck %s --check-prefix=PARTS
# RUN: relax-opt %s --relax-gradient='function=branches' --print-script | FileCheck %s --check-prefix=IF
# RUN: relax-opt %s --relax-gradient='function=growing' --print-script | FileCheck %s --check-prefix=GROWING
# RUN: relax-opt %s --relax-gradient='function=scalars' --print-script | FileCheck %s --check-prefix=SCALARS
# RUN: relax-opt %s --relax-gradient='function=marked' --print-script | FileCheck %s --check-prefix=MARKED
"""Control flow under differentiation: the backward pass computes its body once more."""

# Apache TVM: test_transform_gradient_checkpoint.py.
from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Module:
    # A loop that stores each iteration's initial state as a row replaces the loop. A print is done once.
    # CHECK-LABEL: def loop_adjoint(
    # CHECK: match_cast_0 = R.match_cast({{.*}}, out_sinfo=R.Tensor(("?", 4), "float32"))
    # CHECK-NEXT: for i in range(n):
    # CHECK-NEXT: expand_dims_0: R.Tensor((1, 4), "float32") = R.expand_dims(x, axis=(0,))
    # CHECK-NEXT: concat_0: R.Tensor(("?", 4), "float32") = R.concat((match_cast_0, expand_dims_0))
    # CHECK-NEXT: z: {{.*}} = R.multiply(x, w)
    # CHECK-NEXT: R.print((z,))
    # CHECK-NEXT: y: {{.*}} = R.sin(z)
    # CHECK-NEXT: x, match_cast_0 = y, concat_0
    # CHECK-NEXT: s: {{.*}} = R.sum(x)
    # CHECK: for i in range(n):
    # CHECK-NEXT: take_0: R.Tensor((4,), "float32") = R.take(
    # CHECK-NEXT: match_cast_0, arith.index_cast(n - 1 - i, T.int64), axis=0,
    # CHECK-NEXT: )
    # CHECK-NEXT: z: {{.*}} = R.multiply(take_0, w)
    # CHECK-NEXT: = R.cos(z)
    # CHECK-NOT: R.print(
    # CHECK: return s,
    # Parts of 8 iterations: a part stores its initial state, and computes its rows during the backward pass.
    # PARTS-LABEL: def loop_adjoint(
    # PARTS: for i in range(0, n, 8):
    # PARTS: with scf.for_(i, i + arith.minsi(n - i, 8), T.index(1), x, attrs={"relax.part_of_loop": I.unit})
    # PARTS: [[COUNT:v[0-9]+]] = arith.ceildivsi(n, 8)
    # PARTS-NEXT: for i in range([[COUNT]]):
    # PARTS: with scf.for_(
    # PARTS: R.concat(
    # PARTS: for j in range(
    # PARTS: R.cos(
    @R.function
    def loop(n: T.index, x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")) -> R.Tensor((), "float32"):
        y = x
        for i in range(0, n, 1):
            z = R.multiply(y, w)
            R.print(z)
            y = R.sin(z)
        s = R.sum(y)
        return s

    # The backward pass takes the same branch. A value that only one branch uses has a zero gradient in the other one.
    # IF-LABEL: def branches_adjoint(
    # IF: if c:
    # IF-NEXT: = R.exp(x)
    # IF: else:
    # IF-NEXT: = R.multiply(x, w)
    # IF: if c:
    # IF-NEXT: = R.exp(x)
    # IF-NEXT: R.multiply({{.*}}, y_1)
    # IF-NEXT: R.zeros_like(w)
    # IF: else:
    # IF-NEXT: R.multiply({{.*}}, w)
    # IF-NEXT: R.multiply({{.*}}, x)
    # IF: return s,
    @R.function
    def branches(c: T.bool, x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")) -> R.Tensor((), "float32"):
        if c:
            y = R.exp(x)
        else:
            y = R.multiply(x, w)
        s = R.sum(y)
        return s

    # A state of another size in each turn: its sizes are kept, and its elements one after the other. Of `rows` only the
    # sizes are read, and of `total` nothing at all.
    # GROWING-LABEL: def growing_adjoint(
    # GROWING: for i in range(n):
    # GROWING-NEXT: [[OF_ROWS:shape_of_0]]: {{.*}} = R.shape_of(rows)
    # GROWING-NEXT: R.shape_to_tensor([[OF_ROWS]])
    # GROWING-NEXT: R.expand_dims(
    # GROWING-NEXT: R.concat((match_cast_0,
    # GROWING-NEXT: [[OF_Y:shape_of_1]]: {{.*}} = R.shape_of(y)
    # GROWING-NEXT: R.shape_to_tensor([[OF_Y]])
    # GROWING-NEXT: R.expand_dims(
    # GROWING-NEXT: R.concat((match_cast_1,
    # GROWING-NEXT: [[ELEMENTS:flatten_0]]: {{.*}} = R.flatten(y)
    # GROWING-NEXT: R.concat((match_cast_2, [[ELEMENTS]]))
    # GROWING-NEXT: R.sin(y)
    # GROWING: [[LENGTHS:prod_0]]: {{.*}} = R.prod(match_cast_1, axis=(1,))
    # GROWING-NEXT: [[ENDS:cumsum_0]]: {{.*}} = R.cumsum([[LENGTHS]], axis=0)
    # GROWING-NEXT: [[BEGINS:subtract_0]]: {{.*}} = R.subtract([[ENDS]], [[LENGTHS]])
    # GROWING: for i in range(n,
    # GROWING-NEXT: [[TURN:v0]] = n - 1 - i
    # GROWING-NEXT: R.take(match_cast_0, arith.index_cast([[TURN]], T.int64), axis=0)
    # GROWING: R.take([[BEGINS]], arith.index_cast([[TURN]], T.int64), axis=0)
    # GROWING: R.take([[ENDS]], arith.index_cast([[TURN]], T.int64), axis=0)
    # GROWING: [[PIECE:dynamic_strided_slice_0]]: {{.*}} = R.dynamic_strided_slice(
    # GROWING-NEXT: match_cast_2,
    # GROWING: R.reshape([[PIECE]],
    # GROWING-NOT: R.sum(
    # GROWING: R.cos(
    # GROWING: return t,
    @R.function
    def growing(n: T.index, x: R.Tensor((4,), "float32")) -> R.Tensor((), "float32"):
        y = R.match_cast(x, R.Tensor(("?",), "float32"))
        rows = R.match_cast(x, R.Tensor(("?",), "float32"))
        total = R.sum(x)
        for i in range(0, n, 1):
            s = R.sin(y)
            total = R.add(total, R.sum(s))
            rows = R.concat((rows, x), axis=0)
            y = R.concat((s, x), axis=0)
        t = R.add(total, R.sum(rows))
        return t

    # Scalars are differentiated as tensors without axes.
    # SCALARS-LABEL: def scalars_adjoint(
    # SCALARS: [[ARRIVING:ones_like_0]]: R.Tensor((), "float32") = R.ones_like(k)
    # SCALARS-NEXT: [[V:from_elements_0]] = tensor.from_elements({{v[0-9]*}}, R.Tensor((), "float32"))
    # SCALARS: R.multiply([[ARRIVING]], [[V]])
    # SCALARS: return k,
    @R.function
    def scalars(x: R.Tensor((4,), "float32")) -> R.Tensor((), "float32"):
        m = R.mean(x)
        v = m[()]
        u = v * v
        k = tensor.from_elements(u, R.Tensor((), "float32"))
        return k

    # Between the marks everything is computed again, behind all else; the other operators' results are kept.
    # MARKED-LABEL: def marked_adjoint(
    # MARKED: b: {{.*}} = R.sin(a)
    # MARKED: e: {{.*}} = R.tanh(d)
    # MARKED: = R.ones_like(
    # MARKED-NOT: R.tanh(
    # MARKED: [[AGAIN:b_[0-9]+]]: {{.*}} = R.sin(a)
    # MARKED: R.cos(a)
    # MARKED: return
    @R.function
    def marked(x: R.Tensor((4,), "float32")) -> R.Tensor((), "float32"):
        a = R.grad.start_checkpoint(x)
        b = R.sin(a)
        c = R.exp(b)
        d = R.grad.end_checkpoint(c)
        e = R.tanh(d)
        s = R.sum(e)
        return s
