// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory pool for drivers without stream-ordered allocation, and time marks for drivers without clocks. Programs for such
// devices use these functions instead of the driver's (vulkan.mlir, opencl.mlir). Large chunks of the driver's memory are
// split into pieces, each free or taken. All work of a device runs in order, so a freed piece may be reused at once.
//
// `%page` is the device's state, one for all programs of a process, of words of 8 bytes:
//   0 a mutex of 8 words   8 the first piece   9 bytes of a new chunk at least   10 bytes of a chunk at most
//  11 bytes taken   12 pieces taken   13 bytes of all chunks   14 function that allocates a chunk (page, bytes) -> status
//  15 function that frees a chunk (page, chunk). Both run with the lock. The words after 15 belong to the driver.
// Status 2 is out of memory, 4 an address in no piece.

// A chunk of the driver's memory: two handles, host address, device address, bytes.
!chunk = !llvm.struct<(i64, i64, ptr, i64, i64)>
// A piece of a chunk: next piece, chunk, address, bytes, 1 if taken. The pieces of a chunk are in order of addresses.
!piece = !llvm.struct<(ptr, ptr, i64, i64, i64)>

func.func private @pthread_mutex_lock(!ptr) -> i32
func.func private @pthread_mutex_unlock(!ptr) -> i32

func.func @__relax_device_lock(%page: !ptr) {
  %status = func.call @pthread_mutex_lock(%page) : (!ptr) -> i32
  return
}
func.func @__relax_device_unlock(%page: !ptr) {
  %status = func.call @pthread_mutex_unlock(%page) : (!ptr) -> i32
  return
}

// ---- pieces; with the lock ----

// Return the piece that contains an address, or null.
func.func @__relax_device_piece_of(%page: !ptr, %address: i64) -> !ptr {
  %null = llvm.mlir.zero : !ptr  %c0 = arith.constant 0 : i64
  %first_at = llvm.getelementptr %page[8] : (!ptr) -> !ptr, !ptr  %first = llvm.load %first_at : !ptr -> !ptr
  cf.br ^head(%first : !ptr)
^head(%piece: !ptr):
  %is_end = llvm.icmp "eq" %piece, %null : !ptr
  cf.cond_br %is_end, ^return(%null : !ptr), ^look
^look:
  %held = llvm.load %piece : !ptr -> !piece  %begin = llvm.extractvalue %held[2] : !piece
  %bytes = llvm.extractvalue %held[3] : !piece  %taken = llvm.extractvalue %held[4] : !piece
  %next = llvm.extractvalue %held[0] : !piece
  %offset = arith.subi %address, %begin : i64  %is_inside = arith.cmpi ult, %offset, %bytes : i64
  %is_taken = arith.cmpi ne, %taken, %c0 : i64  %is_it = arith.andi %is_inside, %is_taken : i1
  cf.cond_br %is_it, ^return(%piece : !ptr), ^head(%next : !ptr)
^return(%found: !ptr):
  return %found : !ptr
}
// Take the first free piece that is large enough and split off the rest. Return null if there is none.
func.func private @__relax_device_fit(%page: !ptr, %bytes: i64) -> !ptr {
  %null = llvm.mlir.zero : !ptr  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64
  %size = arith.constant 40 : i64
  %first_at = llvm.getelementptr %page[8] : (!ptr) -> !ptr, !ptr  %first = llvm.load %first_at : !ptr -> !ptr
  cf.br ^head(%first : !ptr)
^head(%piece: !ptr):
  %is_end = llvm.icmp "eq" %piece, %null : !ptr
  cf.cond_br %is_end, ^return(%null : !ptr), ^look
^look:
  %held = llvm.load %piece : !ptr -> !piece  %room = llvm.extractvalue %held[3] : !piece
  %taken = llvm.extractvalue %held[4] : !piece  %next = llvm.extractvalue %held[0] : !piece
  %is_free = arith.cmpi eq, %taken, %c0 : i64  %is_enough = arith.cmpi uge, %room, %bytes : i64
  %is_it = arith.andi %is_free, %is_enough : i1
  cf.cond_br %is_it, ^take, ^head(%next : !ptr)
^take:
  %is_larger = arith.cmpi ugt, %room, %bytes : i64
  cf.cond_br %is_larger, ^split, ^mark(%held : !piece)
^split:
  %rest = func.call @malloc(%size) : (i64) -> !ptr  %lacks_rest = llvm.icmp "eq" %rest, %null : !ptr
  cf.cond_br %lacks_rest, ^return(%null : !ptr), ^divide
^divide:
  %begin = llvm.extractvalue %held[2] : !piece  %behind = arith.addi %begin, %bytes : i64
  %left = arith.subi %room, %bytes : i64
  %r0 = llvm.insertvalue %behind, %held[2] : !piece  %r1 = llvm.insertvalue %left, %r0[3] : !piece
  llvm.store %r1, %rest : !piece, !ptr
  %h0 = llvm.insertvalue %rest, %held[0] : !piece  %h1 = llvm.insertvalue %bytes, %h0[3] : !piece
  cf.br ^mark(%h1 : !piece)
^mark(%own: !piece):
  %marked = llvm.insertvalue %c1, %own[4] : !piece
  llvm.store %marked, %piece : !piece, !ptr
  cf.br ^return(%piece : !ptr)
^return(%found: !ptr):
  return %found : !ptr
}
// Join adjacent free pieces. If asked, free the chunks without taken pieces.
func.func private @__relax_device_join(%page: !ptr, %gives_back: i1) {
  %null = llvm.mlir.zero : !ptr  %c0 = arith.constant 0 : i64
  %first_at = llvm.getelementptr %page[8] : (!ptr) -> !ptr, !ptr
  cf.br ^head(%first_at : !ptr)
^head(%link: !ptr):
  %piece = llvm.load %link : !ptr -> !ptr  %is_end = llvm.icmp "eq" %piece, %null : !ptr
  cf.cond_br %is_end, ^return, ^look
^look:
  %held = llvm.load %piece : !ptr -> !piece  %next = llvm.extractvalue %held[0] : !piece
  %taken = llvm.extractvalue %held[4] : !piece  %is_taken = arith.cmpi ne, %taken, %c0 : i64
  cf.cond_br %is_taken, ^head(%piece : !ptr), ^free
^free:
  %is_last = llvm.icmp "eq" %next, %null : !ptr
  cf.cond_br %is_last, ^whole, ^neighbour
^neighbour:
  %other = llvm.load %next : !ptr -> !piece  %other_taken = llvm.extractvalue %other[4] : !piece
  %chunk = llvm.extractvalue %held[1] : !piece  %other_chunk = llvm.extractvalue %other[1] : !piece
  %is_free = arith.cmpi eq, %other_taken, %c0 : i64  %is_same = llvm.icmp "eq" %chunk, %other_chunk : !ptr
  %joins = arith.andi %is_free, %is_same : i1
  cf.cond_br %joins, ^join, ^whole
^join:
  %own_bytes = llvm.extractvalue %held[3] : !piece  %other_bytes = llvm.extractvalue %other[3] : !piece
  %both = arith.addi %own_bytes, %other_bytes : i64  %behind = llvm.extractvalue %other[0] : !piece
  %j0 = llvm.insertvalue %behind, %held[0] : !piece  %j1 = llvm.insertvalue %both, %j0[3] : !piece
  llvm.store %j1, %piece : !piece, !ptr
  llvm.call @free(%next) : (!ptr) -> ()
  cf.br ^head(%link : !ptr)
^whole:
  %of_chunk = llvm.extractvalue %held[1] : !piece  %chunk_bytes_at = llvm.getelementptr %of_chunk[32] : (!ptr) -> !ptr, i8
  %chunk_bytes = llvm.load %chunk_bytes_at : !ptr -> i64  %room = llvm.extractvalue %held[3] : !piece
  %is_whole = arith.cmpi eq, %chunk_bytes, %room : i64  %goes = arith.andi %is_whole, %gives_back : i1
  cf.cond_br %goes, ^give_back, ^head(%piece : !ptr)
^give_back:
  llvm.store %next, %link : !ptr, !ptr
  llvm.call @free(%piece) : (!ptr) -> ()
  %drop_at = llvm.getelementptr %page[15] : (!ptr) -> !ptr, !ptr  %drop = llvm.load %drop_at : !ptr -> !ptr
  llvm.call %drop(%page, %of_chunk) : !ptr, (!ptr, !ptr) -> ()
  cf.br ^head(%link : !ptr)
^return:
  return
}
// Allocate a chunk of a number of bytes, with one free piece.
func.func private @__relax_device_grow(%page: !ptr, %bytes: i64) -> i32 {
  %full = arith.constant 2 : i32
  %most_at = llvm.getelementptr %page[10] : (!ptr) -> !ptr, i64  %most = llvm.load %most_at : !ptr -> i64
  %is_possible = arith.cmpi ule, %bytes, %most : i64
  %status = scf.if %is_possible -> i32 {
    %make_at = llvm.getelementptr %page[14] : (!ptr) -> !ptr, !ptr  %make = llvm.load %make_at : !ptr -> !ptr
    %answer = llvm.call %make(%page, %bytes) : !ptr, (!ptr, i64) -> i32
    scf.yield %answer : i32
  } else {
    scf.yield %full : i32
  }
  return %status : i32
}

// ---- functions of the table (device.py) ----

llvm.func hidden @__relax_device_nothing(%context: !ptr) -> i32 {
  %ok = arith.constant 0 : i32
  llvm.return %ok : i32
}
llvm.func hidden @__relax_device_take_piece(%place: !ptr, %asked: i64, %page: !ptr) -> i32 {
  %ok = arith.constant 0 : i32  %null = llvm.mlir.zero : !ptr  %yes = arith.constant true
  %c1 = arith.constant 1 : i64  %c255 = arith.constant 255 : i64  %mask = arith.constant -256 : i64
  %more = arith.addi %asked, %c255 : i64  %bytes = arith.andi %more, %mask : i64
  func.call @__relax_device_lock(%page) : (!ptr) -> ()
  %found = func.call @__relax_device_fit(%page, %bytes) : (!ptr, i64) -> !ptr
  %is_found = llvm.icmp "ne" %found, %null : !ptr
  cf.cond_br %is_found, ^give(%found : !ptr), ^grow
^grow:
  %least_at = llvm.getelementptr %page[9] : (!ptr) -> !ptr, i64  %least = llvm.load %least_at : !ptr -> i64
  %large = arith.maxui %least, %bytes : i64
  %grown = func.call @__relax_device_grow(%page, %large) : (!ptr, i64) -> i32
  %is_grown = arith.cmpi eq, %grown, %ok : i32
  cf.cond_br %is_grown, ^again, ^retry
^retry:
  // Try again after freeing unused chunks, with exactly the needed bytes.
  func.call @__relax_device_join(%page, %yes) : (!ptr, i1) -> ()
  %retried = func.call @__relax_device_grow(%page, %bytes) : (!ptr, i64) -> i32
  %is_there = arith.cmpi eq, %retried, %ok : i32
  cf.cond_br %is_there, ^again, ^return(%retried : i32)
^again:
  %fitting = func.call @__relax_device_fit(%page, %bytes) : (!ptr, i64) -> !ptr
  %is_fitting = llvm.icmp "ne" %fitting, %null : !ptr
  %full = arith.constant 2 : i32
  cf.cond_br %is_fitting, ^give(%fitting : !ptr), ^return(%full : i32)
^give(%piece: !ptr):
  %address_at = llvm.getelementptr %piece[16] : (!ptr) -> !ptr, i8  %address = llvm.load %address_at : !ptr -> !ptr
  llvm.store %address, %place : !ptr, !ptr
  %taken_at = llvm.getelementptr %page[11] : (!ptr) -> !ptr, i64
  func.call @__relax_add(%taken_at, %bytes) : (!ptr, i64) -> ()
  %pieces_at = llvm.getelementptr %page[12] : (!ptr) -> !ptr, i64
  func.call @__relax_add(%pieces_at, %c1) : (!ptr, i64) -> ()
  cf.br ^return(%ok : i32)
^return(%status: i32):
  func.call @__relax_device_unlock(%page) : (!ptr) -> ()
  llvm.return %status : i32
}
// Work that is under way may still use the piece: later work runs after it.
llvm.func hidden @__relax_device_give_piece(%given: !ptr, %page: !ptr) -> i32 {
  %ok = arith.constant 0 : i32  %foreign = arith.constant 4 : i32  %null = llvm.mlir.zero : !ptr
  %c0 = arith.constant 0 : i64  %less = arith.constant -1 : i64  %no = arith.constant false
  %address = llvm.ptrtoint %given : !ptr to i64
  func.call @__relax_device_lock(%page) : (!ptr) -> ()
  %piece = func.call @__relax_device_piece_of(%page, %address) : (!ptr, i64) -> !ptr
  %is_some = llvm.icmp "ne" %piece, %null : !ptr
  %status = scf.if %is_some -> i32 {
    %bytes_at = llvm.getelementptr %piece[24] : (!ptr) -> !ptr, i8  %bytes = llvm.load %bytes_at : !ptr -> i64
    %mark_at = llvm.getelementptr %piece[32] : (!ptr) -> !ptr, i8
    llvm.store %c0, %mark_at : i64, !ptr
    %fewer = arith.subi %c0, %bytes : i64
    %taken_at = llvm.getelementptr %page[11] : (!ptr) -> !ptr, i64
    func.call @__relax_add(%taken_at, %fewer) : (!ptr, i64) -> ()
    %pieces_at = llvm.getelementptr %page[12] : (!ptr) -> !ptr, i64
    func.call @__relax_add(%pieces_at, %less) : (!ptr, i64) -> ()
    func.call @__relax_device_join(%page, %no) : (!ptr, i1) -> ()
    scf.yield %ok : i32
  } else {
    scf.yield %foreign : i32
  }
  func.call @__relax_device_unlock(%page) : (!ptr) -> ()
  llvm.return %status : i32
}
// ---- time marks by the host's clock ----

llvm.func hidden @__relax_device_make_mark(%place: !ptr, %flags: i32) -> i32 {
  %ok = arith.constant 0 : i32  %full = arith.constant 2 : i32  %null = llvm.mlir.zero : !ptr
  %c8 = arith.constant 8 : i64  %event = func.call @malloc(%c8) : (i64) -> !ptr
  llvm.store %event, %place : !ptr, !ptr
  %is_none = llvm.icmp "eq" %event, %null : !ptr  %status = arith.select %is_none, %full, %ok : i32
  llvm.return %status : i32
}
llvm.func hidden @__relax_device_between_marks(%milliseconds: !ptr, %first: !ptr, %last: !ptr) -> i32 {
  %ok = arith.constant 0 : i32  %mega = arith.constant 1.0e6 : f64
  %begin = llvm.load %first : !ptr -> i64  %end = llvm.load %last : !ptr -> i64
  %time = arith.subi %end, %begin : i64  %float = arith.sitofp %time : i64 to f64
  %shorter = arith.divf %float, %mega : f64  %narrow = arith.truncf %shorter : f64 to f32
  llvm.store %narrow, %milliseconds : f32, !ptr
  llvm.return %ok : i32
}
llvm.func hidden @__relax_device_end_mark(%event: !ptr) -> i32 {
  %ok = arith.constant 0 : i32
  llvm.call @free(%event) : (!ptr) -> ()
  llvm.return %ok : i32
}

