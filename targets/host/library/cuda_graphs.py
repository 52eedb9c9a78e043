# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA graphs: the launches of a function with static sizes are recorded once. Later calls launch the graph.

A graph reads and writes at the addresses that it was recorded with. Tensors of callers and results have new addresses
in each call, hence a graph has memory of its own: arguments are copied there before a launch and results are copied
back, on the caller's stream. Alternatives: a graph for each set of addresses needs no copies, but the allocator would
decide how many graphs exist and which call records one. Recording at each call with an update of the graph
(cuGraphExecUpdate) costs the host as much as the launches. Setting the parameters of the kernels that read an argument
(cuGraphExecKernelNodeSetParams) takes a call for each kernel, and a map from arguments to parameters of kernels.

A thread owns the graph of a function while it launches the graph. Other threads launch the kernels one by one
meanwhile. A graph that an estimate chose delays and fails no call: the kernels are launched one by one while its last
launch runs on another stream, and in all later calls if the driver cannot create the graph.
"""

from __future__ import annotations

from ..native.language import (
    I32, I64, NULL, Array, Ptr, Status, Text, atomic_load, atomic_store, clear, compare_exchange, library_function,
    likely, local_function, memcpy, place_of, stack,
)  # fmt: skip
from .cuda_recording import (
    FIRST_TENSOR, RecordedCall, GraphTensor, cuda_graph_behind, cuda_graph_drop, cuda_graph_exchange, cuda_graph_make,
    cuda_graph_record, cuda_graph_recorded, cuda_graph_status,
)  # fmt: skip
from .device import ONE, DeviceTable, GraphState, device_record, device_status, device_stream
from .prelude import OK, Profile, pthread_self

#: Modes of a call.
KERNELS, RECORDING, BY_GRAPH = 0, 1, 2
#: Roles of tensors.
READ, WRITTEN = 1, 2
#: Number of calls before the recorded one if no call is recorded.
NEVER = -1
#: CU_STREAM_CAPTURE_MODE_RELAXED: allocations must not invalidate a recording of this or another thread.
RELAXED = I32(2)
#: CU_STREAM_PER_THREAD: each thread has its own.
PER_THREAD = 2
COPY_NAME = "cuMemcpyDtoDAsync"


@library_function
def cuda_graph_begin(
    table: DeviceTable, function: I64, label: Text, profile: Profile, count: I64, addresses: Array[Ptr],
    tensors: Array[GraphTensor], passed: Array[Ptr], call: RecordedCall,
) -> I32:  # fmt: skip
    """Begin a call of the function at a place. Store the addresses of the tensors for the kernels in `passed`."""
    memcpy(passed, addresses, count * 8)
    graphs = table.graphs
    if graphs == NULL:
        return OK
    state = graphs.functions[function]
    if atomic_load(place_of(state.calls_before), "monotonic") == NEVER:
        return OK
    # A profiled call launches kernel by kernel, so that each kernel has a time.
    if profile != NULL and atomic_load(place_of(profile.thread), "monotonic") == pthread_self():
        return OK
    if not take_flag(place_of(state.is_taken)):
        return OK
    mode = choose_mode(table, state)
    if mode == KERNELS:
        atomic_store(place_of(state.is_taken), 0, "release")
        return OK
    clear(call)
    call.mode = mode
    call.table = table
    call.state = state
    if mode == BY_GRAPH:
        return OK
    before = cuda_graph_exchange(table, RELAXED)
    status = cuda_graph_record.status(table, label, count, tensors, passed, call)
    cuda_graph_exchange(table, before)
    if status == OK or state.is_estimated == 0:
        return status
    atomic_store(place_of(state.calls_before), NEVER, "monotonic")
    cuda_graph_leave(call)
    call.mode = KERNELS
    return OK


@local_function
def take_flag(flag: Array[I64]) -> bool:
    """Set a flag. Return False if it is set already."""
    _, is_mine = compare_exchange(flag, 0, 1, "acq_rel", "monotonic")
    return is_mine


@local_function
def choose_mode(table: DeviceTable, state: GraphState) -> I64:
    """Return the mode of a call on the caller's stream. A call in the mode RECORDING owns the recording."""
    graphs = table.graphs
    stream = device_stream(table)
    # A caller that records a graph gets the kernels in it: a graph that allocates cannot be part of another graph.
    is_capturing = stack(I32)
    is_capturing[0] = ONE
    status = graphs.is_capturing(stream, is_capturing)
    if status | is_capturing[0] != 0:
        return KERNELS
    if state.graph != NULL:
        return BY_GRAPH if is_ready(table, state, stream) else KERNELS
    before = state.calls_before
    if before > 0:
        atomic_store(place_of(state.calls_before), before - 1, "monotonic")
        return KERNELS
    # Another thread may have given up the graph meanwhile.
    return RECORDING if before != NEVER and take_flag(place_of(graphs.is_recording)) else KERNELS


@local_function
def is_ready(table: DeviceTable, state: GraphState, stream: Ptr) -> bool:
    """Check whether a call on a stream can use the graph. An estimated graph must not let the stream wait."""
    if state.is_estimated == 0:
        return True
    if (state.stream == stream) & (I64(stream) != PER_THREAD):
        return True
    before = cuda_graph_exchange(table, RELAXED)
    status = table.graphs.query_event(state.event)
    cuda_graph_exchange(table, before)
    return status == OK


@local_function
def move_bytes(table: DeviceTable, to: Ptr, source: Ptr, size: I64) -> I32:
    """Copy on the device, on the caller's stream. Return the driver's status."""
    if size == 0:
        return OK
    copy = table.copy
    return copy(to, source, size, device_stream(table))


@local_function
def copy_tensors(
    table: DeviceTable, count: I64, addresses: Array[Ptr], tensors: Array[GraphTensor], memory: Ptr, role: I64
) -> I32:
    """Copy the tensors of a role between the graph's and the caller's memory. Return the driver's status."""
    offset = FIRST_TENSOR
    for i in range(count):
        own, other, size = memory + offset, addresses[i], tensors[i].size
        offset = cuda_graph_behind(offset, size)
        if tensors[i].role & role != 0:
            status = move_bytes(table, own if role == READ else other, other if role == READ else own, size)
            if status != OK:
                return status
    return OK


@library_function
def cuda_graph_end(
    table: DeviceTable, label: Text, count: I64, addresses: Array[Ptr], tensors: Array[GraphTensor], call: RecordedCall
) -> I32:
    """Launch the graph on the caller's stream, after its last launch on any stream."""
    if call.mode == KERNELS:
        return OK
    state = call.state
    status = OK
    if call.mode == RECORDING:
        before = cuda_graph_exchange(table, RELAXED)
        status = cuda_graph_make.status(table, label, call)
        cuda_graph_exchange(table, before)
    stream = device_stream(table)
    if status == OK:
        status = launch_graph.status(table, label, count, addresses, tensors, state, stream)
    if not likely(status == OK):
        # Nothing is launched yet.
        if state.is_estimated == 0:
            return status
        atomic_store(place_of(state.calls_before), NEVER, "monotonic")
        call.is_repeated = 1
        return OK
    # Errors from here on are raised.
    copied = copy_tensors(table, count, addresses, tensors, state.memory, WRITTEN)
    status = device_status.status(table, label, COPY_NAME, copied)
    state.stream = stream
    recorded = table.record_event(state.event, stream)
    if status == OK:
        status = device_status.status(table, label, "cuEventRecord", recorded)
    return status


@local_function
def launch_graph(
    table: DeviceTable, label: Text, count: I64, addresses: Array[Ptr], tensors: Array[GraphTensor], state: GraphState,
    stream: Ptr,
) -> Status:  # fmt: skip
    """Copy the arguments and launch the graph."""
    graphs, memory = table.graphs, state.memory
    status = graphs.wait_for_event(stream, state.event, OK)
    cuda_graph_status(table, label, "cuStreamWaitEvent", status, state)
    status = copy_tensors(table, count, addresses, tensors, memory, READ)
    cuda_graph_status(table, label, COPY_NAME, status, state)
    if state.has_assertions != 0:
        # Assign the assertions of the graph's kernels to this thread. Kernels on other streams may set its flag.
        status = move_bytes(table, memory, device_record(table), 16)
        cuda_graph_status(table, label, COPY_NAME, status, state)
    cuda_graph_status(table, label, "cuGraphLaunch", graphs.launch(state.graph, stream), state)


@library_function
def cuda_graph_leave(call: RecordedCall) -> None:
    """End a call, successful or not."""
    if call.mode == KERNELS:
        return
    table, state = call.table, call.state
    if call.mode == RECORDING:
        if call.has_begun != 0:
            # A launch has failed: do not try again the graph that an estimate chose.
            atomic_store(place_of(state.calls_before), 0 if state.is_estimated == 0 else NEVER, "monotonic")
            graph = stack(Ptr)
            cuda_graph_recorded(table, call, graph)
            cuda_graph_drop(table, graph[0])
        if call.stream != NULL:
            table.graphs.destroy_stream(call.stream)
        atomic_store(place_of(table.graphs.is_recording), 0, "release")
    atomic_store(place_of(state.is_taken), 0, "release")
