// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @scalars
func.func @scalars(%x: f32) {
  // CHECK: "tir.acos"({{.*}}) : (f32) -> f32
  %acos = "tir.acos"(%x) : (f32) -> f32
  // CHECK: "tir.acosh"({{.*}}) : (f32) -> f32
  %acosh = "tir.acosh"(%x) : (f32) -> f32
  // CHECK: "tir.asin"({{.*}}) : (f32) -> f32
  %asin = "tir.asin"(%x) : (f32) -> f32
  // CHECK: "tir.asinh"({{.*}}) : (f32) -> f32
  %asinh = "tir.asinh"(%x) : (f32) -> f32
  // CHECK: "tir.atan"({{.*}}) : (f32) -> f32
  %atan = "tir.atan"(%x) : (f32) -> f32
  // CHECK: "tir.atanh"({{.*}}) : (f32) -> f32
  %atanh = "tir.atanh"(%x) : (f32) -> f32
  // CHECK: "tir.cos"({{.*}}) : (f32) -> f32
  %cos = "tir.cos"(%x) : (f32) -> f32
  // CHECK: "tir.cosh"({{.*}}) : (f32) -> f32
  %cosh = "tir.cosh"(%x) : (f32) -> f32
  // CHECK: "tir.cospi"({{.*}}) : (f32) -> f32
  %cospi = "tir.cospi"(%x) : (f32) -> f32
  // CHECK: "tir.sin"({{.*}}) : (f32) -> f32
  %sin = "tir.sin"(%x) : (f32) -> f32
  // CHECK: "tir.sinh"({{.*}}) : (f32) -> f32
  %sinh = "tir.sinh"(%x) : (f32) -> f32
  // CHECK: "tir.sinpi"({{.*}}) : (f32) -> f32
  %sinpi = "tir.sinpi"(%x) : (f32) -> f32
  // CHECK: "tir.sinc"({{.*}}) : (f32) -> f32
  %sinc = "tir.sinc"(%x) : (f32) -> f32
  // CHECK: "tir.tan"({{.*}}) : (f32) -> f32
  %tan = "tir.tan"(%x) : (f32) -> f32
  // CHECK: "tir.tanh"({{.*}}) : (f32) -> f32
  %tanh = "tir.tanh"(%x) : (f32) -> f32
  // CHECK: "tir.tanpi"({{.*}}) : (f32) -> f32
  %tanpi = "tir.tanpi"(%x) : (f32) -> f32
  // CHECK: "tir.deg2rad"({{.*}}) : (f32) -> f32
  %deg2rad = "tir.deg2rad"(%x) : (f32) -> f32
  // CHECK: "tir.rad2deg"({{.*}}) : (f32) -> f32
  %rad2deg = "tir.rad2deg"(%x) : (f32) -> f32
  // CHECK: "tir.exp"({{.*}}) : (f32) -> f32
  %exp = "tir.exp"(%x) : (f32) -> f32
  // CHECK: "tir.exp2"({{.*}}) : (f32) -> f32
  %exp2 = "tir.exp2"(%x) : (f32) -> f32
  // CHECK: "tir.exp10"({{.*}}) : (f32) -> f32
  %exp10 = "tir.exp10"(%x) : (f32) -> f32
  // CHECK: "tir.exp_below"({{.*}}) : (f32) -> f32
  %exp_below = "tir.exp_below"(%x) : (f32) -> f32
  // CHECK: "tir.expm1"({{.*}}) : (f32) -> f32
  %expm1 = "tir.expm1"(%x) : (f32) -> f32
  // CHECK: "tir.log"({{.*}}) : (f32) -> f32
  %log = "tir.log"(%x) : (f32) -> f32
  // CHECK: "tir.log2"({{.*}}) : (f32) -> f32
  %log2 = "tir.log2"(%x) : (f32) -> f32
  // CHECK: "tir.log10"({{.*}}) : (f32) -> f32
  %log10 = "tir.log10"(%x) : (f32) -> f32
  // CHECK: "tir.log1p"({{.*}}) : (f32) -> f32
  %log1p = "tir.log1p"(%x) : (f32) -> f32
  // CHECK: "tir.sqrt"({{.*}}) : (f32) -> f32
  %sqrt = "tir.sqrt"(%x) : (f32) -> f32
  // CHECK: "tir.rsqrt"({{.*}}) : (f32) -> f32
  %rsqrt = "tir.rsqrt"(%x) : (f32) -> f32
  // CHECK: "tir.cbrt"({{.*}}) : (f32) -> f32
  %cbrt = "tir.cbrt"(%x) : (f32) -> f32
  // CHECK: "tir.reciprocal"({{.*}}) : (f32) -> f32
  %reciprocal = "tir.reciprocal"(%x) : (f32) -> f32
  // CHECK: "tir.erf"({{.*}}) : (f32) -> f32
  %erf = "tir.erf"(%x) : (f32) -> f32
  // CHECK: "tir.erfc"({{.*}}) : (f32) -> f32
  %erfc = "tir.erfc"(%x) : (f32) -> f32
  // CHECK: "tir.tgamma"({{.*}}) : (f32) -> f32
  %tgamma = "tir.tgamma"(%x) : (f32) -> f32
  // CHECK: "tir.lgamma"({{.*}}) : (f32) -> f32
  %lgamma = "tir.lgamma"(%x) : (f32) -> f32
  // CHECK: "tir.i0"({{.*}}) : (f32) -> f32
  %i0 = "tir.i0"(%x) : (f32) -> f32
  // CHECK: "tir.sigmoid"({{.*}}) : (f32) -> f32
  %sigmoid = "tir.sigmoid"(%x) : (f32) -> f32
  // CHECK: "tir.ceil"({{.*}}) : (f32) -> f32
  %ceil = "tir.ceil"(%x) : (f32) -> f32
  // CHECK: "tir.floor"({{.*}}) : (f32) -> f32
  %floor = "tir.floor"(%x) : (f32) -> f32
  // CHECK: "tir.trunc"({{.*}}) : (f32) -> f32
  %trunc = "tir.trunc"(%x) : (f32) -> f32
  // CHECK: "tir.round"({{.*}}) : (f32) -> f32
  %round = "tir.round"(%x) : (f32) -> f32
  // CHECK: "tir.roundeven"({{.*}}) : (f32) -> f32
  %roundeven = "tir.roundeven"(%x) : (f32) -> f32
  // CHECK: "tir.rint"({{.*}}) : (f32) -> f32
  %rint = "tir.rint"(%x) : (f32) -> f32
  // CHECK: "tir.nearbyint"({{.*}}) : (f32) -> f32
  %nearbyint = "tir.nearbyint"(%x) : (f32) -> f32
  // CHECK: "tir.lround"({{.*}}) : (f32) -> i64
  %lround = "tir.lround"(%x) : (f32) -> i64
  // CHECK: "tir.lrint"({{.*}}) : (f32) -> i64
  %lrint = "tir.lrint"(%x) : (f32) -> i64
  // CHECK: "tir.fabs"({{.*}}) : (f32) -> f32
  %fabs = "tir.fabs"(%x) : (f32) -> f32
  // CHECK: "tir.logb"({{.*}}) : (f32) -> f32
  %logb = "tir.logb"(%x) : (f32) -> f32
  // CHECK: "tir.ilogb"({{.*}}) : (f32) -> i32
  %ilogb = "tir.ilogb"(%x) : (f32) -> i32
  // CHECK: "tir.spacing"({{.*}}) : (f32) -> f32
  %spacing = "tir.spacing"(%x) : (f32) -> f32
  // CHECK: "tir.frexp"({{.*}}) : (f32) -> (f32, i32)
  %frexp:2 = "tir.frexp"(%x) : (f32) -> (f32, i32)
  // CHECK: "tir.modf"({{.*}}) : (f32) -> (f32, f32)
  %modf:2 = "tir.modf"(%x) : (f32) -> (f32, f32)
  return
}

// CHECK-LABEL: func.func @vectors
func.func @vectors(%x: vector<4xf32>) {
  // CHECK: "tir.acos"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %acos = "tir.acos"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.acosh"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %acosh = "tir.acosh"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.asin"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %asin = "tir.asin"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.asinh"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %asinh = "tir.asinh"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.atan"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %atan = "tir.atan"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.atanh"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %atanh = "tir.atanh"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.cos"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %cos = "tir.cos"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.cosh"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %cosh = "tir.cosh"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.cospi"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %cospi = "tir.cospi"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.sin"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %sin = "tir.sin"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.sinh"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %sinh = "tir.sinh"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.sinpi"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %sinpi = "tir.sinpi"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.sinc"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %sinc = "tir.sinc"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.tan"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %tan = "tir.tan"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.tanh"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %tanh = "tir.tanh"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.tanpi"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %tanpi = "tir.tanpi"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.deg2rad"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %deg2rad = "tir.deg2rad"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.rad2deg"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %rad2deg = "tir.rad2deg"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.exp"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %exp = "tir.exp"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.exp2"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %exp2 = "tir.exp2"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.exp10"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %exp10 = "tir.exp10"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.expm1"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %expm1 = "tir.expm1"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.log"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %log = "tir.log"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.log2"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %log2 = "tir.log2"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.log10"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %log10 = "tir.log10"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.log1p"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %log1p = "tir.log1p"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.sqrt"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %sqrt = "tir.sqrt"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.rsqrt"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %rsqrt = "tir.rsqrt"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.cbrt"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %cbrt = "tir.cbrt"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.reciprocal"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %reciprocal = "tir.reciprocal"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.erf"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %erf = "tir.erf"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.erfc"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %erfc = "tir.erfc"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.tgamma"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %tgamma = "tir.tgamma"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.lgamma"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %lgamma = "tir.lgamma"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.i0"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %i0 = "tir.i0"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.sigmoid"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %sigmoid = "tir.sigmoid"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.ceil"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %ceil = "tir.ceil"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.floor"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %floor = "tir.floor"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.trunc"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %trunc = "tir.trunc"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.round"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %round = "tir.round"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.roundeven"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %roundeven = "tir.roundeven"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.rint"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %rint = "tir.rint"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.nearbyint"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %nearbyint = "tir.nearbyint"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.lround"({{.*}}) : (vector<4xf32>) -> vector<4xi64>
  %lround = "tir.lround"(%x) : (vector<4xf32>) -> vector<4xi64>
  // CHECK: "tir.lrint"({{.*}}) : (vector<4xf32>) -> vector<4xi64>
  %lrint = "tir.lrint"(%x) : (vector<4xf32>) -> vector<4xi64>
  // CHECK: "tir.fabs"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %fabs = "tir.fabs"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.logb"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %logb = "tir.logb"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.ilogb"({{.*}}) : (vector<4xf32>) -> vector<4xi32>
  %ilogb = "tir.ilogb"(%x) : (vector<4xf32>) -> vector<4xi32>
  // CHECK: "tir.spacing"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %spacing = "tir.spacing"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.frexp"({{.*}}) : (vector<4xf32>) -> (vector<4xf32>, vector<4xi32>)
  %frexp:2 = "tir.frexp"(%x) : (vector<4xf32>) -> (vector<4xf32>, vector<4xi32>)
  // CHECK: "tir.modf"({{.*}}) : (vector<4xf32>) -> (vector<4xf32>, vector<4xf32>)
  %modf:2 = "tir.modf"(%x) : (vector<4xf32>) -> (vector<4xf32>, vector<4xf32>)
  return
}

// CHECK-LABEL: func.func @other_types
func.func @other_types(%a: bf16, %b: f64, %c: f8E4M3FN, %d: vector<f16>, %e: vector<2x[4]xf32>, %f: vector<2x3x4xf64>) {
  // CHECK: "tir.exp"({{.*}}) : (bf16) -> bf16
  %0 = "tir.exp"(%a) : (bf16) -> bf16
  // CHECK: "tir.frexp"({{.*}}) : (f64) -> (f64, i32)
  %1:2 = "tir.frexp"(%b) : (f64) -> (f64, i32)
  // CHECK: "tir.sigmoid"({{.*}}) : (f8E4M3FN) -> f8E4M3FN
  %2 = "tir.sigmoid"(%c) : (f8E4M3FN) -> f8E4M3FN
  // CHECK: "tir.lround"({{.*}}) {dtype = i16} : (vector<f16>) -> vector<i16>
  %3 = "tir.lround"(%d) {dtype = i16} : (vector<f16>) -> vector<i16>
  // CHECK: "tir.ilogb"({{.*}}) : (vector<2x[4]xf32>) -> vector<2x[4]xi32>
  %4 = "tir.ilogb"(%e) : (vector<2x[4]xf32>) -> vector<2x[4]xi32>
  // CHECK: "tir.modf"({{.*}}) : (vector<2x3x4xf64>) -> (vector<2x3x4xf64>, vector<2x3x4xf64>)
  %5:2 = "tir.modf"(%f) : (vector<2x3x4xf64>) -> (vector<2x3x4xf64>, vector<2x3x4xf64>)
  return
}
