# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-gradient='function=loss' --split-input-file --verify-diagnostics
"""Refusals of the differentiation, with locations."""


def loss(x: f32[4]) -> f32[4]:
    e = R.exp(x)
    # expected-error @+1 {{result #0 of @loss is tensor<4xf32>: only a 0-D tensor of floats can be differentiated}}
    return e


# -----
# expected-error @+1 {{@loss has no parameter of floats}}
def loss(x: i32) -> f32:
    y = R.astype(x, dtype="float32")
    return y


# -----
# expected-error @+2 {{@loss has no body to differentiate}}
@R.function(private=True)
def loss(x: f32) -> f32: ...


# -----
# expected-error @+1 {{@loss has several blocks: only one can be differentiated}}
def loss(x: f32) -> f32:
    cf.br(to=(second,))

    def second():
        return x


# -----
def loss(x: f32) -> f32:
    # expected-error @+1 {{no rule gives the derivative of 'relax.bitcast' (node 'y'): it reinterprets the bits of numbers; rx.rules.register_gradient("relax.bitcast") registers one}}
    y = R.bitcast(x, dtype="float32")
    return y


# -----
def loss(x: f32[1, 1, 4, 4, 2]) -> f32:
    # expected-error @+1 {{'relax.nn.max_pool2d' (node 'y') cannot be differentiated: only in layouts without blocks, not NCHW2c: differentiate before relax-convert-layout}}
    y = R.nn.max_pool2d(x, pool_size=[2, 2], layout="NCHW2c")
    s = R.sum(y)
    return s


# -----
@R.function(private=True)
def outside(x: f32) -> f32: ...


def loss(x: f32) -> f32:
    # expected-error @+1 {{no rule gives the derivative of 'func.call' (node 'y'): only calls of functions that have a body and may be inlined are differentiated}}
    y = cls.outside(x)
    return y


# -----
def loss(n: T.index, x: f32) -> f32:
    y = x
    for i in range(0, n, 1):
        # expected-error @+1 {{'relax.call_packed' is in control flow that is differentiated and therefore repeated: it must not have side effects}}
        z = R.call_packed("counter", x, out_sinfo=f32)
        y = R.multiply(y, z)
    return y


# -----
def loss(n: T.index, x: R.Tensor("float32")) -> f32:
    y = x
    # expected-error @+1 {{'scf.for' cannot be differentiated: it carries tensor<*xf32>, which cannot be stored for the backward pass: states must be numbers, or tensors with a rank (relax.match_cast)}}
    for i in range(0, n, 1):
        y = R.sin(y)
    f = R.flatten(y)
    s = R.sum(f)
    return s


# -----
def loss_adjoint():
    return


# expected-error @+1 {{the module has a function @loss_adjoint already}}
def loss(x: f32) -> f32:
    return x
