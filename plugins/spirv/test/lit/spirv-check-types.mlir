// RUN: relax-opt %s --spirv-check-types=lacks=f64+i8 --split-input-file --verify-diagnostics

gpu.module @kernels {
  gpu.func @kernel(%x: memref<8xf32>, %i: index) kernel {
    // Constants lose their locations, so the error does not name them.
    %c = arith.constant 1.0 : f64
    %0 = memref.load %x[%i] : memref<8xf32>
    // expected-error @+2 {{kernel 'kernel': 'arith.extf' op uses f64, which target 'vulkan{lacks=f64+i8}' lacks}}
    // expected-note @+1 {{devices that support it report shaderFloat64}}
    %1 = arith.extf %0 : f32 to f64
    gpu.return
  }
}

// -----

// Only in memory are truth values bytes.
gpu.module @kernels {
  gpu.func @kernel(%x: memref<8xi1>, %i: index, %a: i32, %b: i32) kernel {
    %0 = arith.cmpi slt, %a, %b : i32
    // expected-error @+2 {{kernel 'kernel': 'memref.store' op uses i8, which target 'vulkan{lacks=f64+i8}' lacks}}
    // expected-note @+1 {{devices that support it report shaderInt8 and storageBuffer8BitAccess}}
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
