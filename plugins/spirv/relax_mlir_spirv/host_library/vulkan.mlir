// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Driver functions of programs for Vulkan: the functions that device.py calls, with its signatures, written with vk*. A
// stream is the device's page, one for all programs of a process (vulkan_runtime/opened.py creates it and fills in the
// structures for Vulkan). vulkan_commands.mlir records commands in order into a ring of command buffers, each command
// followed by a barrier, and submits a buffer when a thread waits or the buffer is full. vulkan_graphs.mlir records the
// commands of a function once.
//
// `%page` has words of 8 bytes, the first 16 as device_memory.mlir says:
//  16 VkDevice   17 VkQueue   18 VkSemaphore, a timeline   19 its value once all submitted is done   20 commands recorded
//  21 the ring's place   22 its rows   23 the ring: command buffer, value, parameters of launches as the host and as the
//  device sees them   24 bytes of these in each row   25 bytes of them in use   26 commands in a buffer at most
//  27 whether memory is mapped   28 staging memory   29 its VkBuffer   30 its bytes   31 VkBufferCreateInfo
//  32 VkMemoryAllocateInfo   33 VkBufferDeviceAddressInfo   34 VkCommandBufferBeginInfo   35 VkMemoryBarrier
//  36 VkSubmitInfo   37 VkBufferCopy   38 VkMemoryRequirements   39 blocks in a row at most
//  40 the command buffer in use
//  41 the thread that records a function's commands, 0: none   42 into what, a row (vulkan_graphs.mlir)
//  43 bytes of parameters in use there   44 commands there, -1 where they cannot be recorded
//  45 VkCommandBufferBeginInfo for these
//  48 vkCreateBuffer  49 vkDestroyBuffer  50 vkGetBufferMemoryRequirements  51 vkAllocateMemory  52 vkFreeMemory
//  53 vkBindBufferMemory  54 vkMapMemory  55 vkGetBufferDeviceAddress  56 vkBeginCommandBuffer  57 vkEndCommandBuffer
//  58 vkCmdPipelineBarrier  59 vkCmdBindPipeline  60 vkCmdPushConstants  61 vkCmdDispatch  62 vkCmdCopyBuffer
//  63 vkQueueSubmit  64 vkWaitSemaphores   65 vkCmdExecuteCommands
//  72 a mutex of 8 words: who has it looks for recorded commands, or records some
// Statuses are Vulkan's or device_memory.mlir's.

// Types of device_memory.mlir.
!chunk = !llvm.struct<(i64, i64, ptr, i64, i64)>
!piece = !llvm.struct<(ptr, ptr, i64, i64, i64)>

func.func private @__relax_now() -> i64
func.func private @__relax_vulkan_finish_locked(!ptr) -> i32
func.func private @__relax_vulkan_flush(!ptr) -> i32
func.func private @__relax_vulkan_is_kept(!ptr) -> i1
func.func private @__relax_vulkan_open(!ptr) -> i32
func.func private @__relax_vulkan_recorded(!ptr) -> i32
func.func private @__relax_vulkan_room(!ptr) -> (!ptr, i64)
func.func private @__relax_vulkan_row(!ptr) -> !ptr
func.func private @__relax_vulkan_wait_for(!ptr, i64) -> i32
func.func private @__relax_device_lock(!ptr)
func.func private @__relax_device_unlock(!ptr)
func.func private @__relax_device_piece_of(!ptr, i64) -> !ptr

// ---- memory; with the lock (device_memory.mlir calls these) ----

// Gives a chunk back, and what there is of one that could not be made.
llvm.func internal @__relax_vulkan_drop(%page: !ptr, %chunk: !ptr) {
  %done = func.call @__relax_vulkan_finish_locked(%page) : (!ptr) -> i32
  %null = llvm.mlir.zero : !ptr  %c0 = arith.constant 0 : i64  %held = llvm.load %chunk : !ptr -> !chunk
  %buffer = llvm.extractvalue %held[0] : !chunk  %memory = llvm.extractvalue %held[1] : !chunk
  %bytes = llvm.extractvalue %held[4] : !chunk  %less = arith.subi %c0, %bytes : i64
  %device_at = llvm.getelementptr %page[16] : (!ptr) -> !ptr, !ptr  %device = llvm.load %device_at : !ptr -> !ptr
  %destroy_at = llvm.getelementptr %page[49] : (!ptr) -> !ptr, !ptr  %destroy = llvm.load %destroy_at : !ptr -> !ptr
  llvm.call %destroy(%device, %buffer, %null) : !ptr, (!ptr, i64, !ptr) -> ()
  %free_at = llvm.getelementptr %page[52] : (!ptr) -> !ptr, !ptr  %free = llvm.load %free_at : !ptr -> !ptr
  llvm.call %free(%device, %memory, %null) : !ptr, (!ptr, i64, !ptr) -> ()
  %all_at = llvm.getelementptr %page[13] : (!ptr) -> !ptr, i64
  func.call @__relax_add(%all_at, %less) : (!ptr, i64) -> ()
  llvm.call @free(%chunk) : (!ptr) -> ()
  llvm.return
}
// A chunk of so many bytes, with one free block before all others. Vulkan's status.
llvm.func internal @__relax_vulkan_grow(%page: !ptr, %bytes: i64) -> i32 {
  %ok = arith.constant 0 : i32  %full = arith.constant 2 : i32  %null = llvm.mlir.zero : !ptr
  %c0 = arith.constant 0 : i64  %size = arith.constant 40 : i64  %whole = arith.constant -1 : i64
  %zero = arith.constant 0 : i32
  %chunk = func.call @malloc(%size) : (i64) -> !ptr  %lacks_chunk = llvm.icmp "eq" %chunk, %null : !ptr
  cf.cond_br %lacks_chunk, ^return(%full : i32), ^create
^create:
  %none = llvm.mlir.zero : !chunk  %with_bytes = llvm.insertvalue %bytes, %none[4] : !chunk
  llvm.store %with_bytes, %chunk : !chunk, !ptr
  %all_at = llvm.getelementptr %page[13] : (!ptr) -> !ptr, i64
  func.call @__relax_add(%all_at, %bytes) : (!ptr, i64) -> ()
  %device_at = llvm.getelementptr %page[16] : (!ptr) -> !ptr, !ptr  %device = llvm.load %device_at : !ptr -> !ptr
  %buffer_info_at = llvm.getelementptr %page[31] : (!ptr) -> !ptr, !ptr
  %buffer_info = llvm.load %buffer_info_at : !ptr -> !ptr
  %info_bytes_at = llvm.getelementptr %buffer_info[24] : (!ptr) -> !ptr, i8
  llvm.store %bytes, %info_bytes_at : i64, !ptr
  %create_at = llvm.getelementptr %page[48] : (!ptr) -> !ptr, !ptr  %create = llvm.load %create_at : !ptr -> !ptr
  %created = llvm.call %create(%device, %buffer_info, %null, %chunk) : !ptr, (!ptr, !ptr, !ptr, !ptr) -> i32
  %is_created = arith.cmpi eq, %created, %ok : i32
  cf.cond_br %is_created, ^allocate, ^fail(%created : i32)
^allocate:
  %buffer = llvm.load %chunk : !ptr -> i64
  %needs_at = llvm.getelementptr %page[38] : (!ptr) -> !ptr, !ptr  %needs = llvm.load %needs_at : !ptr -> !ptr
  %ask_at = llvm.getelementptr %page[50] : (!ptr) -> !ptr, !ptr  %ask = llvm.load %ask_at : !ptr -> !ptr
  llvm.call %ask(%device, %buffer, %needs) : !ptr, (!ptr, i64, !ptr) -> ()
  %needed = llvm.load %needs : !ptr -> i64
  %memory_info_at = llvm.getelementptr %page[32] : (!ptr) -> !ptr, !ptr
  %memory_info = llvm.load %memory_info_at : !ptr -> !ptr
  %memory_bytes_at = llvm.getelementptr %memory_info[16] : (!ptr) -> !ptr, i8
  llvm.store %needed, %memory_bytes_at : i64, !ptr
  %memory_at = llvm.getelementptr %chunk[8] : (!ptr) -> !ptr, i8
  %allocate_at = llvm.getelementptr %page[51] : (!ptr) -> !ptr, !ptr  %allocate = llvm.load %allocate_at : !ptr -> !ptr
  %allocated = llvm.call %allocate(%device, %memory_info, %null, %memory_at) : !ptr, (!ptr, !ptr, !ptr, !ptr) -> i32
  %is_allocated = arith.cmpi eq, %allocated, %ok : i32
  cf.cond_br %is_allocated, ^bind, ^fail(%allocated : i32)
^bind:
  %memory = llvm.load %memory_at : !ptr -> i64
  %bind_at = llvm.getelementptr %page[53] : (!ptr) -> !ptr, !ptr  %bind = llvm.load %bind_at : !ptr -> !ptr
  %bound = llvm.call %bind(%device, %buffer, %memory, %c0) : !ptr, (!ptr, i64, i64, i64) -> i32
  %is_bound = arith.cmpi eq, %bound, %ok : i32
  cf.cond_br %is_bound, ^map, ^fail(%bound : i32)
^map:
  %is_mapped_at = llvm.getelementptr %page[27] : (!ptr) -> !ptr, i64  %is_mapped = llvm.load %is_mapped_at : !ptr -> i64
  %maps = arith.cmpi ne, %is_mapped, %c0 : i64
  %mapped = scf.if %maps -> i32 {
    %host_at = llvm.getelementptr %chunk[16] : (!ptr) -> !ptr, i8
    %map_at = llvm.getelementptr %page[54] : (!ptr) -> !ptr, !ptr  %map = llvm.load %map_at : !ptr -> !ptr
    %answer = llvm.call %map(%device, %memory, %c0, %whole, %zero, %host_at)
      : !ptr, (!ptr, i64, i64, i64, i32, !ptr) -> i32
    scf.yield %answer : i32
  } else {
    scf.yield %ok : i32
  }
  %is_there = arith.cmpi eq, %mapped, %ok : i32
  cf.cond_br %is_there, ^address, ^fail(%mapped : i32)
^address:
  %address_info_at = llvm.getelementptr %page[33] : (!ptr) -> !ptr, !ptr
  %address_info = llvm.load %address_info_at : !ptr -> !ptr
  %of_buffer_at = llvm.getelementptr %address_info[16] : (!ptr) -> !ptr, i8
  llvm.store %buffer, %of_buffer_at : i64, !ptr
  %where_at = llvm.getelementptr %page[55] : (!ptr) -> !ptr, !ptr  %where = llvm.load %where_at : !ptr -> !ptr
  %address = llvm.call %where(%device, %address_info) : !ptr, (!ptr, !ptr) -> i64
  %address_at = llvm.getelementptr %chunk[24] : (!ptr) -> !ptr, i8
  llvm.store %address, %address_at : i64, !ptr
  %block = func.call @malloc(%size) : (i64) -> !ptr  %lacks_block = llvm.icmp "eq" %block, %null : !ptr
  cf.cond_br %lacks_block, ^fail(%full : i32), ^add
^add:
  %first_at = llvm.getelementptr %page[8] : (!ptr) -> !ptr, !ptr  %first = llvm.load %first_at : !ptr -> !ptr
  %b0 = llvm.mlir.zero : !piece  %b1 = llvm.insertvalue %first, %b0[0] : !piece
  %b2 = llvm.insertvalue %chunk, %b1[1] : !piece  %b3 = llvm.insertvalue %address, %b2[2] : !piece
  %b4 = llvm.insertvalue %bytes, %b3[3] : !piece
  llvm.store %b4, %block : !piece, !ptr
  llvm.store %block, %first_at : !ptr, !ptr
  cf.br ^return(%ok : i32)
^fail(%reason: i32):
  llvm.call @__relax_vulkan_drop(%page, %chunk) : (!ptr, !ptr) -> ()
  // VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY, too many objects
  %host_full = arith.constant -1 : i32  %device_full = arith.constant -2 : i32  %too_many = arith.constant -10 : i32
  %is_host = arith.cmpi eq, %reason, %host_full : i32  %is_device = arith.cmpi eq, %reason, %device_full : i32
  %is_many = arith.cmpi eq, %reason, %too_many : i32
  %either = arith.ori %is_host, %is_device : i1  %is_full = arith.ori %either, %is_many : i1
  %told = arith.select %is_full, %full, %reason : i32
  cf.br ^return(%told : i32)
^return(%status: i32):
  llvm.return %status : i32
}

// Memory as device_memory.mlir gives it; to commands that are to be kept what others of them have given back.
llvm.func internal @__relax_vulkan_take(%place: !ptr, %asked: i64, %page: !ptr) -> i32 {
  %ok = arith.constant 0 : i32  %null = llvm.mlir.zero : !ptr
  %is_kept = func.call @__relax_vulkan_is_kept(%page) : (!ptr) -> i1
  %found = scf.if %is_kept -> !ptr {
    func.call @__relax_device_lock(%page) : (!ptr) -> ()
    %given_back = func.call @__relax_vulkan_given_back(%page, %asked) : (!ptr, i64) -> !ptr
    func.call @__relax_device_unlock(%page) : (!ptr) -> ()
    scf.yield %given_back : !ptr
  } else {
    scf.yield %null : !ptr
  }
  %is_found = llvm.icmp "ne" %found, %null : !ptr
  %status = scf.if %is_found -> i32 {
    llvm.store %found, %place : !ptr, !ptr
    scf.yield %ok : i32
  } else {
    %answer = llvm.call @__relax_device_take_piece(%place, %asked, %page) : (!ptr, i64, !ptr) -> i32
    scf.yield %answer : i32
  }
  llvm.return %status : i32
}
// Give memory back. Memory that a kept recording gives back stays reserved for the recording.
llvm.func internal @__relax_vulkan_give(%given: !ptr, %page: !ptr) -> i32 {
  %ok = arith.constant 0 : i32  %null = llvm.mlir.zero : !ptr
  %is_kept = func.call @__relax_vulkan_is_kept(%page) : (!ptr) -> i1
  %status = scf.if %is_kept -> i32 {
    %address = llvm.ptrtoint %given : !ptr to i64
    func.call @__relax_device_lock(%page) : (!ptr) -> ()
    %piece = func.call @__relax_device_piece_of(%page, %address) : (!ptr, i64) -> !ptr
    %mark_at = llvm.getelementptr %piece[32] : (!ptr) -> !ptr, i8  %mark = func.call @__relax_vulkan_mark_of(%page) : (!ptr) -> i64
    llvm.store %mark, %mark_at : i64, !ptr
    func.call @__relax_device_unlock(%page) : (!ptr) -> ()
    scf.yield %ok : i32
  } else {
    %answer = llvm.call @__relax_device_give_piece(%given, %page) : (!ptr, !ptr) -> i32
    scf.yield %answer : i32
  }
  llvm.return %status : i32
}
// Return the mark of pieces that the current recording has given back.
func.func private @__relax_vulkan_mark_of(%page: !ptr) -> i64 {
  %c1 = arith.constant 1 : i64  %row = func.call @__relax_vulkan_row(%page) : (!ptr) -> !ptr
  %number = llvm.ptrtoint %row : !ptr to i64  %mark = arith.addi %number, %c1 : i64
  return %mark : i64
}
// Take a free piece of at least `bytes` bytes from the page's list of commands. Return its address, or null.
func.func private @__relax_vulkan_given_back(%page: !ptr, %bytes: i64) -> !ptr {
  %null = llvm.mlir.zero : !ptr  %taken = arith.constant 1 : i64
  %mark = func.call @__relax_vulkan_mark_of(%page) : (!ptr) -> i64
  %piece = func.call @__relax_vulkan_marked(%page, %mark, %bytes) : (!ptr, i64, i64) -> !ptr
  %is_none = llvm.icmp "eq" %piece, %null : !ptr
  cf.cond_br %is_none, ^return(%null : !ptr), ^take
^take:
  %mark_at = llvm.getelementptr %piece[32] : (!ptr) -> !ptr, i8
  llvm.store %taken, %mark_at : i64, !ptr
  %address_at = llvm.getelementptr %piece[16] : (!ptr) -> !ptr, i8  %address = llvm.load %address_at : !ptr -> !ptr
  cf.br ^return(%address : !ptr)
^return(%found: !ptr):
  return %found : !ptr
}
// The first piece with a mark that is large enough; null where there is none.
func.func private @__relax_vulkan_marked(%page: !ptr, %mark: i64, %bytes: i64) -> !ptr {
  %null = llvm.mlir.zero : !ptr
  %first_at = llvm.getelementptr %page[8] : (!ptr) -> !ptr, !ptr  %first = llvm.load %first_at : !ptr -> !ptr
  cf.br ^head(%first : !ptr)
^head(%piece: !ptr):
  %is_end = llvm.icmp "eq" %piece, %null : !ptr
  cf.cond_br %is_end, ^return(%null : !ptr), ^look
^look:
  %held = llvm.load %piece : !ptr -> !piece  %next = llvm.extractvalue %held[0] : !piece
  %room = llvm.extractvalue %held[3] : !piece  %own = llvm.extractvalue %held[4] : !piece
  %is_marked = arith.cmpi eq, %own, %mark : i64  %is_enough = arith.cmpi uge, %room, %bytes : i64
  %is_it = arith.andi %is_marked, %is_enough : i1
  cf.cond_br %is_it, ^return(%piece : !ptr), ^head(%next : !ptr)
^return(%found: !ptr):
  return %found : !ptr
}
// Gives back what commands in a row have had, which are kept no more.
llvm.func hidden @__relax_vulkan_forget(%page: !ptr, %row: !ptr) {
  %null = llvm.mlir.zero : !ptr  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64
  %number = llvm.ptrtoint %row : !ptr to i64  %mark = arith.addi %number, %c1 : i64
  cf.br ^next
^next:
  func.call @__relax_device_lock(%page) : (!ptr) -> ()
  %piece = func.call @__relax_vulkan_marked(%page, %mark, %c0) : (!ptr, i64, i64) -> !ptr
  func.call @__relax_device_unlock(%page) : (!ptr) -> ()
  %is_none = llvm.icmp "eq" %piece, %null : !ptr
  cf.cond_br %is_none, ^return, ^give
^give:
  %address_at = llvm.getelementptr %piece[16] : (!ptr) -> !ptr, i8  %address = llvm.load %address_at : !ptr -> !ptr
  %status = llvm.call @__relax_device_give_piece(%address, %page) : (!ptr, !ptr) -> i32
  cf.br ^next
^return:
  llvm.return
}

// ---- what device.py calls ----

// Waits for all that was started before, without keeping others from starting more.
llvm.func internal @__relax_vulkan_finish(%page: !ptr) -> i32 {
  %ok = arith.constant 0 : i32
  func.call @__relax_device_lock(%page) : (!ptr) -> ()
  %flushed = func.call @__relax_vulkan_flush(%page) : (!ptr) -> i32
  %value_at = llvm.getelementptr %page[19] : (!ptr) -> !ptr, i64  %value = llvm.load %value_at : !ptr -> i64
  func.call @__relax_device_unlock(%page) : (!ptr) -> ()
  %is_flushed = arith.cmpi eq, %flushed, %ok : i32
  %status = scf.if %is_flushed -> i32 {
    %waited = func.call @__relax_vulkan_wait_for(%page, %value) : (!ptr, i64) -> i32
    scf.yield %waited : i32
  } else {
    scf.yield %flushed : i32
  }
  llvm.return %status : i32
}

// A kernel's handle: pipeline, its layout, words of its parameters, whether these are in memory and it is given their
// address. The last of the words is the number of blocks, which are more than one dimension may take; `params` is where
// the address of each other word is.
llvm.func internal @__relax_vulkan_launch(%kernel: !ptr, %blocks: i32, %y: i32, %z: i32, %threads: i32, %y2: i32,
    %z2: i32, %shared: i32, %page: !ptr, %params: !ptr, %extra: !ptr) -> i32 {
  %launched = arith.extui %blocks : i32 to i64
  %smaller_at = llvm.getelementptr %kernel[32] : (!ptr) -> !ptr, i8  %smaller = llvm.load %smaller_at : !ptr -> i64
  %all = arith.muli %launched, %smaller : i64
  func.call @__relax_device_lock(%page) : (!ptr) -> ()
  %status = func.call @__relax_vulkan_dispatch(%page, %kernel, %params, %all) : (!ptr, !ptr, !ptr, i64) -> i32
  func.call @__relax_device_unlock(%page) : (!ptr) -> ()
  llvm.return %status : i32
}
// Records a launch, of as many rows of blocks as it takes; with the lock.
func.func private @__relax_vulkan_dispatch(%page: !ptr, %kernel: !ptr, %params: !ptr, %blocks: i64) -> i32 {
  %ok = arith.constant 0 : i32  %one = arith.constant 1 : i32
  %c0 = arith.constant 0 : i64  %c1 = arith.constant 1 : i64  %c8 = arith.constant 8 : i64
  %count_at = llvm.getelementptr %kernel[16] : (!ptr) -> !ptr, i8  %count = llvm.load %count_at : !ptr -> i64
  %bytes = arith.muli %count, %c8 : i64  %given = arith.subi %count, %c1 : i64
  %words = llvm.alloca %count x i64 : (i64) -> !ptr  %address_at = llvm.alloca %c1 x i64 : (i64) -> !ptr
  cf.br ^open
^open:
  %opened = func.call @__relax_vulkan_open(%page) : (!ptr) -> i32
  %is_open = arith.cmpi eq, %opened, %ok : i32
  cf.cond_br %is_open, ^place, ^return(%opened : i32)
^place:
  %row = func.call @__relax_vulkan_row(%page) : (!ptr) -> !ptr  %buffer = llvm.load %row : !ptr -> !ptr
  %in_memory_at = llvm.getelementptr %kernel[24] : (!ptr) -> !ptr, i8
  %in_memory = llvm.load %in_memory_at : !ptr -> i64  %is_in_memory = arith.cmpi ne, %in_memory, %c0 : i64
  cf.cond_br %is_in_memory, ^memory, ^copy(%words, %words, %bytes : !ptr, !ptr, i64)
^memory:
  %used_at, %room = func.call @__relax_vulkan_room(%page) : (!ptr) -> (!ptr, i64)
  %used = llvm.load %used_at : !ptr -> i64
  %after = arith.addi %used, %bytes : i64  %fits = arith.cmpi ule, %after, %room : i64
  cf.cond_br %fits, ^inside, ^exceed
^exceed:
  %is_kept = func.call @__relax_vulkan_is_kept(%page) : (!ptr) -> i1
  cf.cond_br %is_kept, ^give_up, ^flush
// Commands that cannot be kept are launched later, kernel by kernel.
^give_up:
  %commands_at = llvm.getelementptr %page[44] : (!ptr) -> !ptr, i64  %never = arith.constant -1 : i64
  llvm.store %never, %commands_at : i64, !ptr
  cf.br ^return(%ok : i32)
^flush:
  %flushed = func.call @__relax_vulkan_flush(%page) : (!ptr) -> i32
  %is_flushed = arith.cmpi eq, %flushed, %ok : i32
  cf.cond_br %is_flushed, ^open, ^return(%flushed : i32)
^inside:
  llvm.store %after, %used_at : i64, !ptr
  %host_at = llvm.getelementptr %row[2] : (!ptr) -> !ptr, i64  %host = llvm.load %host_at : !ptr -> !ptr
  %own_at = llvm.getelementptr %row[3] : (!ptr) -> !ptr, i64  %own = llvm.load %own_at : !ptr -> i64
  %to = llvm.getelementptr %host[%used] : (!ptr, i64) -> !ptr, i8  %address = arith.addi %own, %used : i64
  llvm.store %address, %address_at : i64, !ptr
  cf.br ^copy(%to, %address_at, %c8 : !ptr, !ptr, i64)
^copy(%place: !ptr, %pushed: !ptr, %pushed_bytes: i64):
  scf.for %i = %c0 to %given step %c1 : i64 {
    %param_at = llvm.getelementptr %params[%i] : (!ptr, i64) -> !ptr, !ptr  %param = llvm.load %param_at : !ptr -> !ptr
    %word = llvm.load %param : !ptr -> i64  %word_at = llvm.getelementptr %place[%i] : (!ptr, i64) -> !ptr, i64
    llvm.store %word, %word_at : i64, !ptr
  }
  %last = llvm.getelementptr %place[%given] : (!ptr, i64) -> !ptr, i64
  llvm.store %blocks, %last : i64, !ptr
  %pipeline = llvm.load %kernel : !ptr -> i64
  %bind_at = llvm.getelementptr %page[59] : (!ptr) -> !ptr, !ptr  %bind = llvm.load %bind_at : !ptr -> !ptr
  llvm.call %bind(%buffer, %one, %pipeline) : !ptr, (!ptr, i32, i64) -> ()
  %layout_at = llvm.getelementptr %kernel[8] : (!ptr) -> !ptr, i8  %layout = llvm.load %layout_at : !ptr -> i64
  %compute = arith.constant 0x20 : i32  %zero = arith.constant 0 : i32
  %narrow = arith.trunci %pushed_bytes : i64 to i32
  %push_at = llvm.getelementptr %page[60] : (!ptr) -> !ptr, !ptr  %push = llvm.load %push_at : !ptr -> !ptr
  llvm.call %push(%buffer, %layout, %compute, %zero, %narrow, %pushed) : !ptr, (!ptr, i64, i32, i32, i32, !ptr) -> ()
  %most_at = llvm.getelementptr %page[39] : (!ptr) -> !ptr, i64  %most = llvm.load %most_at : !ptr -> i64
  %columns = arith.minui %blocks, %most : i64  %before = arith.subi %blocks, %c1 : i64
  %begun = arith.divui %before, %columns : i64  %rows = arith.addi %begun, %c1 : i64
  %x = arith.trunci %columns : i64 to i32  %y = arith.trunci %rows : i64 to i32
  %dispatch_at = llvm.getelementptr %page[61] : (!ptr) -> !ptr, !ptr  %dispatch = llvm.load %dispatch_at : !ptr -> !ptr
  llvm.call %dispatch(%buffer, %x, %y, %one) : !ptr, (!ptr, i32, i32, i32) -> ()
  %recorded = func.call @__relax_vulkan_recorded(%page) : (!ptr) -> i32
  cf.br ^return(%recorded : i32)
^return(%status: i32):
  return %status : i32
}

// Records a copy from one buffer to another; with the lock.
func.func private @__relax_vulkan_record_copy(%page: !ptr, %from: i64, %from_offset: i64, %to: i64, %to_offset: i64,
    %bytes: i64) -> i32 {
  %ok = arith.constant 0 : i32  %one = arith.constant 1 : i32
  %opened = func.call @__relax_vulkan_open(%page) : (!ptr) -> i32
  %is_open = arith.cmpi eq, %opened, %ok : i32
  %status = scf.if %is_open -> i32 {
    %region_at = llvm.getelementptr %page[37] : (!ptr) -> !ptr, !ptr  %region = llvm.load %region_at : !ptr -> !ptr
    %to_at = llvm.getelementptr %region[8] : (!ptr) -> !ptr, i8  %bytes_at = llvm.getelementptr %region[16] : (!ptr) -> !ptr, i8
    llvm.store %from_offset, %region : i64, !ptr
    llvm.store %to_offset, %to_at : i64, !ptr
    llvm.store %bytes, %bytes_at : i64, !ptr
    %row = func.call @__relax_vulkan_row(%page) : (!ptr) -> !ptr  %buffer = llvm.load %row : !ptr -> !ptr
    %copy_at = llvm.getelementptr %page[62] : (!ptr) -> !ptr, !ptr  %copy = llvm.load %copy_at : !ptr -> !ptr
    llvm.call %copy(%buffer, %from, %to, %one, %region) : !ptr, (!ptr, i64, i64, i32, !ptr) -> ()
    %recorded = func.call @__relax_vulkan_recorded(%page) : (!ptr) -> i32
    scf.yield %recorded : i32
  } else {
    scf.yield %opened : i32
  }
  return %status : i32
}
// The buffer that an address is in, and its offset there; 0 where it is in none. With the lock.
func.func private @__relax_vulkan_find(%page: !ptr, %address: i64) -> (i64, i64, !ptr) {
  %null = llvm.mlir.zero : !ptr  %c0 = arith.constant 0 : i64
  %block = func.call @__relax_device_piece_of(%page, %address) : (!ptr, i64) -> !ptr
  %is_some = llvm.icmp "ne" %block, %null : !ptr
  %buffer, %offset, %host = scf.if %is_some -> (i64, i64, !ptr) {
    %chunk_at = llvm.getelementptr %block[8] : (!ptr) -> !ptr, i8  %chunk = llvm.load %chunk_at : !ptr -> !ptr
    %held = llvm.load %chunk : !ptr -> !chunk  %its = llvm.extractvalue %held[0] : !chunk
    %begin = llvm.extractvalue %held[3] : !chunk  %behind = arith.subi %address, %begin : i64
    %mapped = llvm.extractvalue %held[2] : !chunk  %at = llvm.getelementptr %mapped[%behind] : (!ptr, i64) -> !ptr, i8
    scf.yield %its, %behind, %at : i64, i64, !ptr
  } else {
    scf.yield %c0, %c0, %null : i64, i64, !ptr
  }
  return %buffer, %offset, %host : i64, i64, !ptr
}
llvm.func internal @__relax_vulkan_copy(%to: !ptr, %from: !ptr, %bytes: i64, %page: !ptr) -> i32 {
  %foreign = arith.constant 4 : i32  %c0 = arith.constant 0 : i64
  %to_address = llvm.ptrtoint %to : !ptr to i64  %from_address = llvm.ptrtoint %from : !ptr to i64
  func.call @__relax_device_lock(%page) : (!ptr) -> ()
  %to_buffer, %to_offset, %to_host = func.call @__relax_vulkan_find(%page, %to_address) : (!ptr, i64) -> (i64, i64, !ptr)
  %buffer, %offset, %host = func.call @__relax_vulkan_find(%page, %from_address) : (!ptr, i64) -> (i64, i64, !ptr)
  %has_to = arith.cmpi ne, %to_buffer, %c0 : i64  %has_from = arith.cmpi ne, %buffer, %c0 : i64
  %has_both = arith.andi %has_to, %has_from : i1
  %status = scf.if %has_both -> i32 {
    %copied = func.call @__relax_vulkan_record_copy(%page, %buffer, %offset, %to_buffer, %to_offset, %bytes)
      : (!ptr, i64, i64, i64, i64, i64) -> i32
    scf.yield %copied : i32
  } else {
    scf.yield %foreign : i32
  }
  func.call @__relax_device_unlock(%page) : (!ptr) -> ()
  llvm.return %status : i32
}
llvm.func internal @__relax_vulkan_write(%to: !ptr, %from: !ptr, %bytes: i64, %page: !ptr) -> i32 {
  %yes = arith.constant true
  %status = func.call @__relax_vulkan_exchange(%to, %from, %bytes, %page, %yes) : (!ptr, !ptr, i64, !ptr, i1) -> i32
  llvm.return %status : i32
}
llvm.func internal @__relax_vulkan_read(%to: !ptr, %from: !ptr, %bytes: i64, %page: !ptr) -> i32 {
  %no = arith.constant false
  %status = func.call @__relax_vulkan_exchange(%from, %to, %bytes, %page, %no) : (!ptr, !ptr, i64, !ptr, i1) -> i32
  llvm.return %status : i32
}
// Copies between the device's memory and the host's, once what was started before is done; it is done when this returns.
func.func private @__relax_vulkan_exchange(%device: !ptr, %host: !ptr, %bytes: i64, %page: !ptr, %writes: i1) -> i32 {
  %ok = arith.constant 0 : i32  %foreign = arith.constant 4 : i32  %c0 = arith.constant 0 : i64
  %address = llvm.ptrtoint %device : !ptr to i64
  %finished = llvm.call @__relax_vulkan_finish(%page) : (!ptr) -> i32
  %is_finished = arith.cmpi eq, %finished, %ok : i32
  cf.cond_br %is_finished, ^begin, ^leave(%finished : i32)
^begin:
  func.call @__relax_device_lock(%page) : (!ptr) -> ()
  %buffer, %offset, %mapped = func.call @__relax_vulkan_find(%page, %address) : (!ptr, i64) -> (i64, i64, !ptr)
  %is_none = arith.cmpi eq, %buffer, %c0 : i64
  cf.cond_br %is_none, ^return(%foreign : i32), ^look
^look:
  %is_mapped_at = llvm.getelementptr %page[27] : (!ptr) -> !ptr, i64  %is_mapped = llvm.load %is_mapped_at : !ptr -> i64
  %is_here = arith.cmpi ne, %is_mapped, %c0 : i64
  cf.cond_br %is_here, ^here, ^piece(%c0 : i64)
^here:
  func.call @__relax_device_unlock(%page) : (!ptr) -> ()
  scf.if %writes {
    "llvm.intr.memcpy"(%mapped, %host, %bytes) <{isVolatile = false}> : (!ptr, !ptr, i64) -> ()
  } else {
    "llvm.intr.memcpy"(%host, %mapped, %bytes) <{isVolatile = false}> : (!ptr, !ptr, i64) -> ()
  }
  cf.br ^leave(%ok : i32)
^piece(%done: i64):
  %is_done = arith.cmpi uge, %done, %bytes : i64
  cf.cond_br %is_done, ^return(%ok : i32), ^move
^move:
  %room_at = llvm.getelementptr %page[30] : (!ptr) -> !ptr, i64  %room = llvm.load %room_at : !ptr -> i64
  %left = arith.subi %bytes, %done : i64  %size = arith.minui %left, %room : i64
  %staging_at = llvm.getelementptr %page[28] : (!ptr) -> !ptr, !ptr  %staging = llvm.load %staging_at : !ptr -> !ptr
  %staged_at = llvm.getelementptr %page[29] : (!ptr) -> !ptr, i64  %staged = llvm.load %staged_at : !ptr -> i64
  %there = arith.addi %offset, %done : i64  %here = llvm.getelementptr %host[%done] : (!ptr, i64) -> !ptr, i8
  %next = arith.addi %done, %size : i64
  %recorded = scf.if %writes -> i32 {
    "llvm.intr.memcpy"(%staging, %here, %size) <{isVolatile = false}> : (!ptr, !ptr, i64) -> ()
    %answer = func.call @__relax_vulkan_record_copy(%page, %staged, %c0, %buffer, %there, %size)
      : (!ptr, i64, i64, i64, i64, i64) -> i32
    scf.yield %answer : i32
  } else {
    %answer = func.call @__relax_vulkan_record_copy(%page, %buffer, %there, %staged, %c0, %size)
      : (!ptr, i64, i64, i64, i64, i64) -> i32
    scf.yield %answer : i32
  }
  %is_recorded = arith.cmpi eq, %recorded, %ok : i32
  cf.cond_br %is_recorded, ^wait, ^return(%recorded : i32)
^wait:
  %waited = func.call @__relax_vulkan_finish_locked(%page) : (!ptr) -> i32
  %is_waited = arith.cmpi eq, %waited, %ok : i32
  cf.cond_br %is_waited, ^fetch, ^return(%waited : i32)
^fetch:
  scf.if %writes {
  } else {
    "llvm.intr.memcpy"(%here, %staging, %size) <{isVolatile = false}> : (!ptr, !ptr, i64) -> ()
  }
  cf.br ^piece(%next : i64)
^return(%status: i32):
  func.call @__relax_device_unlock(%page) : (!ptr) -> ()
  cf.br ^leave(%status : i32)
^leave(%answer: i32):
  return %answer : i32
}

// ---- events: when the host saw that all before them was done ----

llvm.func internal @__relax_vulkan_mark(%event: !ptr, %page: !ptr) -> i32 {
  %status = llvm.call @__relax_vulkan_finish(%page) : (!ptr) -> i32
  %time = func.call @__relax_now() : () -> i64
  llvm.store %time, %event : i64, !ptr
  llvm.return %status : i32
}
