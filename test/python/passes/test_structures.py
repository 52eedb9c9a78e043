# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Structures of PrimFuncs of any origin: equal structures, and similar ones that differ."""

from __future__ import annotations

from typing import Any

import pytest
from relax_mlir.bindings.navigation import functions_in, symbol_name
from relax_mlir.dialects.tir.prim_func import is_prim_func
from relax_mlir.passes.kernels.structures.canonical import body_of_prim_func, canonical
from relax_mlir.support.errors import RelaxError

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import structure, structures

M = "tensor<?x?xf32>"
ZERO = "%zero = arith.constant 0.0 : f32"
FILL = f"{ZERO}\n%0 = linalg.fill ins(%zero : f32) outs(%out : {M}) -> {M}"
MATMUL = f"{FILL}\n%1 = linalg.matmul ins(%a, %b : {M}, {M}) outs(%0 : {M}) -> {M}"


def prim(body: str, parameters: str = f"%a: {M}, %b: {M}, %out: {M}", result: str = M, name: str = "f") -> str:
    return f"func.func @{name}({parameters}) -> {result} attributes {{tir.prim_func}} {{\n{body}\n}}"


def sum_of_products(a: str, b: str, out: str = "(i, j)", loops: str = "i, j, k", kinds: str = "ppr") -> str:
    """Return a generic product with these maps."""
    kind = {"p": '"parallel"', "r": '"reduction"'}
    maps = ", ".join(f"affine_map<({loops}) -> {each}>" for each in (a, b, out))
    return f"""{FILL}
    %1 = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{", ".join(kind[each] for each in kinds)}]}}
        ins(%a, %b : {M}, {M}) outs(%0 : {M}) {{
    ^bb0(%x: f32, %y: f32, %sum: f32):
      %2 = arith.mulf %x, %y : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    }} -> {M}
    return %1 : {M}"""


PRODUCT = prim(f"{MATMUL}\nreturn %1 : {M}")


def key(text: str) -> bytes:
    return structure(text).key


def relu(source: str, into: str = "%out", name: str = "%r") -> str:
    return f"""{name} = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
        iterator_types = ["parallel", "parallel"]}} ins({source} : {M}) outs({into} : {M}) {{
    ^bb0(%x: f32, %o: f32):
      %c = arith.constant 0.0 : f32
      %m = arith.maximumf %c, %x : f32
      linalg.yield %m : f32
    }} -> {M}"""


# ---- the same ----
GENERIC = prim(sum_of_products("(i, k)", "(k, j)"))
SAME = {
    "generic": GENERIC,
    "the factors the other way round": prim(
        sum_of_products("(i, k)", "(k, j)").replace("%x, %y : f32", "%y, %x : f32")
    ),
    "the sum the other way round": prim(sum_of_products("(i, k)", "(k, j)").replace("%sum, %2", "%2, %sum")),
    "loops in another order": prim(sum_of_products("(i, k)", "(k, j)", loops="k, j, i", kinds="rpp")),
    "operands of the loops in another order": prim(
        sum_of_products("(k, j)", "(i, k)").replace("ins(%a, %b", "ins(%b, %a")
    ),
    "parameters in another order": prim(f"{MATMUL}\nreturn %1 : {M}", f"%b: {M}, %a: {M}, %out: {M}"),
    "sizes that are known": PRODUCT.replace("?x?", "4x4"),
    "a fill that is a generic": prim(
        sum_of_products("(i, k)", "(k, j)").replace(
            f"%0 = linalg.fill ins(%zero : f32) outs(%out : {M}) -> {M}",
            f"""%0 = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>],
            iterator_types = ["parallel", "parallel"]}} outs(%out : {M}) {{
            ^bb0(%o: f32):
              linalg.yield %zero : f32
            }} -> {M}""",
        )
    ),
    "memory of its own, and what nothing needs": f"""
        func.func @f(%a: {M}, %b: {M}) -> {M} {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %m = tensor.dim %a, %c0 : {M}
          %n = tensor.dim %b, %c1 : {M}
          %unused = arith.addi %m, %n : index
          %out = tensor.empty(%m, %n) : {M}
          {MATMUL}
          return %1 : {M}
        }}""",
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_products_that_are_the_same(text: str) -> None:
    assert key(text) == key(PRODUCT)


OTHER = {
    "transposed": prim(sum_of_products("(i, k)", "(j, k)")),
    "the result transposed": prim(sum_of_products("(i, k)", "(k, j)", out="(j, i)")),
    "of one matrix": prim(f"{MATMUL}\nreturn %1 : {M}".replace("%a, %b :", "%a, %a :")),
    "added to what is there": prim(f"{MATMUL}\nreturn %1 : {M}".replace("outs(%0", "outs(%out")),
    "of other elements": PRODUCT.replace("f32", "f64"),
    "a difference": prim(sum_of_products("(i, k)", "(k, j)").replace("addf", "subf")),
    "negated": prim(f"{MATMUL}\n%2 = linalg.negf ins(%1 : {M}) outs(%out : {M}) -> {M}\nreturn %2 : {M}"),
    "with a check": PRODUCT.replace(
        ZERO, f'{ZERO}\n%ok = arith.constant true\n"tir.assert"(%ok) {{kind = "E", message = "m"}} : (i1) -> ()'
    ),
}


@pytest.mark.parametrize("text", OTHER.values(), ids=OTHER)
def test_other_products_have_other_keys(text: str) -> None:
    assert key(text) != key(PRODUCT)


def test_other_numbers_are_distinguished_by_the_binding_alone() -> None:
    """Ignore numbers in the key, since they may be wildcards."""
    one, two = structure(PRODUCT), structure(PRODUCT.replace("0.0", "1.0"))
    assert one.key == two.key
    assert one.bindings(two._canonical, two.shapes) == "has the literal 1.0, expected 0.0"
    minus = structure(PRODUCT.replace("0.0", "-0.0"))
    assert one.bindings(minus._canonical, minus.shapes) == "has the literal -0.0, expected 0.0"


def test_elementwise_steps_are_one_or_several() -> None:
    """Compare relu(a @ b + bias) as three operations and as one after the product."""
    bias = f"%a: {M}, %b: {M}, %bias: tensor<?xf32>, %out: {M}"
    added = f"""%2 = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
        affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
        ins(%1, %bias : {M}, tensor<?xf32>) outs(%out : {M}) {{
    ^bb0(%x: f32, %y: f32, %o: f32):
      %s = arith.addf %x, %y : f32
      BODY
      linalg.yield YIELDED : f32
    }} -> {M}"""
    apart = f"{MATMUL}\n{added}\n{relu('%2')}\nreturn %r : {M}".replace("BODY", "").replace("YIELDED", "%s")
    body = "%c = arith.constant 0.0 : f32\n%m = arith.maximumf %s, %c : f32"
    together = f"{MATMUL}\n{added}\nreturn %2 : {M}".replace("BODY", body).replace("YIELDED", "%m")
    assert key(prim(apart, bias)) == key(prim(together, bias))
    without = f"{MATMUL}\n{added}\nreturn %2 : {M}".replace("BODY", "").replace("YIELDED", "%s")
    assert key(prim(without, bias)) != key(prim(together, bias))


def test_a_copy_before_the_product_is_read_through() -> None:
    """Include an elementwise factor in the product."""
    scaled = prim(f"{relu('%a', into='%a', name='%p')}\n{MATMUL}\nreturn %1 : {M}".replace("ins(%a, %b", "ins(%p, %b"))
    assert key(scaled) != key(PRODUCT)
    inside = sum_of_products("(i, k)", "(k, j)").replace(
        "%2 = arith.mulf %x, %y",
        "%c = arith.constant 0.0 : f32\n%m = arith.maximumf %x, %c : f32\n%2 = arith.mulf %m, %y",
    )
    assert key(scaled) == key(prim(inside))


def test_reductions_over_several_axes() -> None:
    """Ignore the order of the loops over taps."""
    image, taps = "tensor<?x?xf32>", "tensor<?x?xf32>"

    def convolution(loops: str, read: str, of: str) -> str:
        text = sum_of_products(read, of, loops=loops, kinds="pprr")
        return prim(text, f"%a: {image}, %b: {taps}, %out: {M}")

    one = key(convolution("i, j, p, q", "(i + p, j + q)", "(p, q)"))
    assert key(convolution("i, j, q, p", "(i + p, j + q)", "(p, q)")) == one
    assert key(convolution("i, j, p, q", "(p + i, q + j)", "(p, q)")) == one
    assert key(convolution("i, j, p, q", "(i + p, j + q)", "(q, p)")) != one
    assert key(convolution("i, j, p, q", "(i + p * 2, j + q)", "(p, q)")) != one
    named = prim(
        f"%1 = linalg.conv_2d ins(%a, %b : {M}, {M}) outs(%0 : {M}) -> {M}\nreturn %1 : {M}".replace(
            "%1 =", f"{FILL}\n%1 ="
        )
    )
    assert key(named) == one


def test_the_size_of_what_is_not_read_counts() -> None:
    """Sum over an axis that only the shape of another tensor has."""
    window = """%1 = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i)>, affine_map<(i, k) -> (k)>,
        affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]}
        ins(%a, %w : tensor<?xf32>, tensor<TAPSxf32>) outs(%out : tensor<?xf32>) {
    ^bb0(%x: f32, %t: f32, %sum: f32):
      %s = arith.addf %x, %sum : f32
      linalg.yield %s : f32
    } -> tensor<?xf32>
    return %1 : tensor<?xf32>"""
    parameters = "%a: tensor<?xf32>, %out: tensor<?xf32>"
    three, four = (
        prim(
            f"%w = tensor.empty() : tensor<{taps}xf32>\n{window}".replace("TAPS", str(taps)),
            parameters,
            "tensor<?xf32>",
        )
        for taps in ("3", "4")
    )
    assert key(three) == key(three.replace("%sum :", "%sum  :")) != key(four)


def test_sizes_that_are_computed_on_the_way() -> None:
    """Sum over a size that no parameter has. The tensor of the result determines it."""

    def halves(divisor: int) -> str:
        steps = f"""%zero = arith.constant 0 : index
        %count = arith.constant {divisor} : index
        %length = tensor.dim %a, %zero : tensor<?xf32>
        %half = arith.divsi %length, %count : index
        %empty = tensor.empty(%half) : tensor<?xf32>
        %some = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
          outs(%empty : tensor<?xf32>) {{
        ^bb0(%old: f32):
          %i = linalg.index 0 : index
          %x = tensor.extract %a[%i] : tensor<?xf32>
          linalg.yield %x : f32
        }} -> tensor<?xf32>
        %sum = linalg.generic {{indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>],
          iterator_types = ["reduction"]}} ins(%some : tensor<?xf32>) outs(%out : tensor<f32>) {{
        ^bb0(%x: f32, %so_far: f32):
          %s = arith.addf %x, %so_far : f32
          linalg.yield %s : f32
        }} -> tensor<f32>
        return %sum : tensor<f32>"""
        return prim(steps, "%a: tensor<?xf32>, %out: tensor<f32>", "tensor<f32>")

    assert key(halves(2)) == key(halves(2).replace("%half", "%part")) != key(halves(3))


def test_regions_of_other_operations() -> None:
    def chosen(then: str, otherwise: str) -> str:
        inside = f"""%c = arith.constant 0.0 : f32
          %p = arith.cmpf ogt, %x, %c : f32
          %m = scf.if %p -> f32 {{
            scf.yield {then} : f32
          }} else {{
            scf.yield {otherwise} : f32
          }}"""
        body = relu("%a").replace("%c = arith.constant 0.0 : f32\n      %m = arith.maximumf %c, %x : f32", inside)
        return prim(f"{body}\nreturn %r : {M}", f"%a: {M}, %out: {M}")

    assert key(chosen("%x", "%c")) == key(chosen("%x", "%c").replace("%p", "%q")) != key(chosen("%c", "%x"))


# ---- PrimFuncs of legalization ----
def legalized(body: Any, *infos: Any) -> dict[str, Any]:
    module = rx.Module()
    with module.function("main", list(infos)) as f:
        made = body(*f)
        f.returns(*(made if isinstance(made, tuple) else (made,)))
    rx.Pipeline("builtin.module(relax-legalize-ops)").run(module)
    functions = [each for each in functions_in(module.operation) if is_prim_func(each)]
    return {"module": module, **{symbol_name(each): each for each in functions}}


@pytest.mark.parametrize("sizes", [((4, 7), (7, 3)), (("m", "k"), ("k", "n")), (("m", 7), (7, 3)), ((1, 7), (7, 1))])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_of_the_graph(sizes: Any, dtype: str) -> None:
    made = legalized(relax.matmul, *(rx.tensor(shape, dtype) for shape in sizes))
    text = PRODUCT if dtype == "float32" else PRODUCT.replace("f32", "f64")
    assert canonical(body_of_prim_func(made["matmul"])).key == key(text)


def test_keys_do_not_depend_on_known_sizes() -> None:
    """Compare keys of operators whose legalization does not depend on sizes."""

    def body(x: Any, w: Any) -> Any:
        hidden = relax.nn.gelu(relax.add(x, x))
        return relax.nn.conv2d(w, w), relax.max(hidden, axis=[1]), relax.permute_dims(hidden), relax.exp(hidden)

    image = (1, 3, 5, 5)
    known = legalized(body, rx.tensor((4, 7)), rx.tensor(image))
    symbolic = legalized(body, rx.tensor(("m", "n")), rx.tensor((1, 3, "h", "w")))
    names = set(known) - {"module"}
    assert names == set(symbolic) - {"module"} and len(names) > 5
    for name in names - {"nn_conv2d"}:
        assert canonical(body_of_prim_func(known[name])).key == canonical(body_of_prim_func(symbolic[name])).key, name


# ---- how they are stated ----
def test_from_python_and_from_a_script() -> None:
    def product(a: Any, b: Any, out: Any) -> Any:
        from relax_mlir.bindings.mlir import dialect_module, ir

        linalg, arith = dialect_module("linalg"), dialect_module("arith")
        zero = arith.constant(ir.F32Type.get(), 0.0)
        return linalg.matmul(a, b, outs=[linalg.fill(zero, outs=[out])])

    assert structure(product, [M, rx.tensor(("k", "n"))], [M]).key == key(PRODUCT)
    script = """
@T.prim_func
def product(A: T.Buffer(("m", "k"), "float32"), B: T.Buffer(("k", "n"), "float32"), C: T.Buffer(("m", "n"), "float32")):
    for i, j, k in T.grid(m, n, k):
        with T.block("product"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
    assert structure(rx.Module.from_script(script)).key == key(PRODUCT)


def test_a_structure_is_one_function() -> None:
    both = PRODUCT + PRODUCT.replace("@f(", "@g(")
    assert list(structures(both)) == ["f", "g"]
    with pytest.raises(RelaxError, match=r"not 2 functions \(@f, @g\); use structures"):
        structure(both)


UNREADABLE = {
    "on memory": (
        "func.func @f(%a: memref<4xf32>) attributes {tir.prim_func} {\nreturn\n}",
        "works on memory, not on tensors",
    ),
    "no body": (f"func.func private @f(%a: {M}, %out: {M}) -> {M} attributes {{tir.prim_func}}", "no function"),
    "a call": (
        prim(f'"tir.call_extern"() {{func = "f"}} : () -> ()\nreturn %out : {M}'),
        "contains tir.call_extern, which has side effects",
    ),
    "weights": (
        prim(
            "%w = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>\nreturn %w : tensor<2xf32>",
            "%out: tensor<2xf32>",
            "tensor<2xf32>",
        ),
        "contains a constant tensor",
    ),
}


@pytest.mark.parametrize("text, problem", UNREADABLE.values(), ids=UNREADABLE)
def test_malformed_structures_are_refused(text: str, problem: str) -> None:
    with pytest.raises(RelaxError, match=problem.replace("no function", r"not 0 functions \(none\)")):
        structure(text)


def test_long_bodies_are_left_alone() -> None:
    steps = "\n".join(relu("%a" if n == 0 else f"%r{n - 1}", name=f"%r{n}") for n in range(60))
    with pytest.raises(RelaxError, match="structure @f is too long"):
        structure(prim(f"{steps}\nreturn %r59 : {M}", f"%a: {M}, %out: {M}"))
