// RUN: relax-opt %s --spirv-check-types=lacks=f64+i8 --split-input-file --verify-diagnostics

gpu.module @kernels {
  gpu.func @kernel(%x: memref<8xf32>, %i: index) kernel {
    %0 = memref.load %x[%i] : memref<8xf32>
    // expected-error @+2 {{kernel 'kernel': 'arith.extf' op works with f64, which the target says that the device lacks}}
    // expected-note @+1 {{its option: lacks=f64+i8}}
    %1 = arith.extf %0 : f32 to f64
    gpu.return
  }
}

// -----

// Truth values are bytes in memory alone.
gpu.module @kernels {
  gpu.func @kernel(%x: memref<8xi1>, %i: index, %a: i32, %b: i32) kernel {
    %0 = arith.cmpi slt, %a, %b : i32
    // expected-error @+2 {{kernel 'kernel': 'memref.store' op works with i8, which the target says that the device lacks}}
    // expected-note @+1 {{its option: lacks=f64+i8}}
    memref.store %0, %x[%i] : memref<8xi1>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @kernel(%x: memref<8xf16>, %i: index) kernel {
    %0 = memref.load %x[%i] : memref<8xf16>
    gpu.return
  }
}
