# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-gradient='function=loss' --split-input-file --verify-diagnostics
"""Refusals of the differentiation, with locations."""

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class NoNumber:
    @R.function
    def loss(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        e = R.exp(x)
        # expected-error @+1 {{result #0 of @loss is tensor<4xf32>: only a 0-D tensor of floats can be differentiated}}
        return e


# -----
@I.ir_module(ssa=True)
class NoFloat:
    # expected-error @+2 {{@loss has no parameter of floats}}
    @R.function
    def loss(x: R.Tensor((), "int32")) -> R.Tensor((), "float32"):
        y = R.astype(x, dtype="float32")
        return y


# -----
@I.ir_module(ssa=True)
class NoBody:
    # expected-error @+2 {{@loss has no body to differentiate}}
    @R.function(private=True)
    def loss(x: R.Tensor((), "float32")) -> R.Tensor((), "float32"): ...


# -----
@I.ir_module(ssa=True)
class TwoBlocks:
    # expected-error @+2 {{@loss has several blocks: only one can be differentiated}}
    @R.function
    def loss(x: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
        cf.br(to=(second,))

        def second():
            return x


# -----
@I.ir_module(ssa=True)
class NoRule:
    @R.function
    def loss(x: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
        # expected-error @+1 {{no rule gives the derivative of 'relax.bitcast' (node 'y'): it reinterprets the bits of numbers; rx.rules.register_gradient("relax.bitcast") registers one}}
        y = R.bitcast(x, dtype="float32")
        return y


# -----
@I.ir_module(ssa=True)
class Refused:
    @R.function
    def loss(x: R.Tensor((1, 1, 4, 4, 2), "float32")) -> R.Tensor((), "float32"):
        # expected-error @+1 {{'relax.nn.max_pool2d' (node 'y') cannot be differentiated: only in layouts without blocks, not NCHW2c: differentiate before relax-convert-layout}}
        y = R.nn.max_pool2d(x, pool_size=[2, 2], layout="NCHW2c")
        s = R.sum(y)
        return s


# -----
@I.ir_module(ssa=True)
class External:
    @R.function(private=True)
    def outside(x: R.Tensor((), "float32")) -> R.Tensor((), "float32"): ...

    @R.function
    def loss(x: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
        # expected-error @+1 {{no rule gives the derivative of 'func.call' (node 'y'): only calls of functions that have a body and may be inlined are differentiated}}
        y = cls.outside(x)
        return y


# -----
@I.ir_module(ssa=True)
class NotTwice:
    @R.function
    def loss(n: T.index, x: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
        y = x
        for i in range(0, n, 1):
            # expected-error @+1 {{'relax.call_packed' is in control flow that is differentiated and therefore repeated: it must not have side effects}}
            z = R.call_packed("counter", x, out_sinfo=R.Tensor((), "float32"))
            y = R.multiply(y, z)
        return y


# -----
@I.ir_module(ssa=True)
class AnyRank:
    @R.function
    def loss(n: T.index, x: R.Tensor("float32")) -> R.Tensor((), "float32"):
        y = x
        # expected-error @+1 {{'scf.for' cannot be differentiated: it carries tensor<*xf32>, which cannot be stored for the backward pass: states must be numbers, or tensors with a rank (relax.match_cast)}}
        for i in range(0, n, 1):
            y = R.sin(y)
        f = R.flatten(y)
        s = R.sum(f)
        return s


# -----
@I.ir_module(ssa=True)
class Taken:
    @R.function
    def loss_adjoint():
        return

    # expected-error @+2 {{the module has a function @loss_adjoint already}}
    @R.function
    def loss(x: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
        return x
