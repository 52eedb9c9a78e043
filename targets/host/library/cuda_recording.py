# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recording of a CUDA graph. cuda_graphs.py calls these functions."""

from __future__ import annotations

from ..native.language import (
    I32, I64, NULL, Array, Ptr, Status, Struct, Text, c_function, library_function, place_of, require_ok, stack,
)  # fmt: skip
from .device import DeviceTable, GraphState, device_status
from .prelude import OK


class GraphTensor(Struct):
    """Bytes of a tensor, and its role: 1 read, 2 written, 3 both."""

    size: I64
    role: I64


class RecordedCall(Struct):
    """State of a call that may run by a graph."""

    #: 0 kernel by kernel, 1 recording, 2 by the graph.
    mode: I64
    table: DeviceTable
    state: GraphState
    #: Stream in recording, and the caller's stream meanwhile.
    stream: Ptr
    callers_stream: Ptr
    has_begun: I64
    #: 1 if the program must launch the kernels after all.
    is_repeated: I64


#: DLPack's number of CUDA devices.
CUDA = I32(2)
#: Flags of the driver.
NON_BLOCKING, UNTIMED, THREAD_LOCAL = I32(1), I32(2), I32(1)
#: Offset of the first tensor in a graph's memory.
FIRST_TENSOR = 256


@c_function
def TVMFFIEnvSetStream(kind: I32, number: I32, stream: Ptr, before: Array[Ptr]) -> I32: ...


@library_function
def cuda_graph_status(table: DeviceTable, label: Text, name: Text, status: I32, state: GraphState) -> Status:
    """Raise a status of the driver, unless an estimate chose the graph: the kernels then run without a graph."""
    if state.is_estimated == 0:
        device_status(table, label, name, status)
    require_ok(status)


@library_function
def cuda_graph_exchange(table: DeviceTable, mode: I32) -> I32:
    """Set this thread's capture mode, which says how its calls affect recordings. Return the mode before."""
    place = stack(I32)
    place[0] = mode
    table.graphs.exchange_mode(place)
    return place[0]


@library_function
def cuda_graph_behind(place: I64, size: I64) -> I64:
    """Return the offset in a graph's memory after a tensor: a multiple of 256 bytes."""
    return place + size + 255 & -256


@library_function.cold
def cuda_graph_record(
    table: DeviceTable, label: Text, count: I64, tensors: Array[GraphTensor], passed: Array[Ptr], call: RecordedCall
) -> Status:
    """Start to record the following calls, with tensors in the graph's memory.

    A new stream becomes the thread's stream meanwhile: the default stream cannot be recorded. After a failure,
    cuda_graph_leave releases the resources.
    """
    state, graphs = call.state, table.graphs
    if state.memory == NULL:
        total = FIRST_TENSOR
        for i in range(count):
            total = cuda_graph_behind(total, tensors[i].size)
        cuda_graph_status(table, label, "cuMemAlloc", graphs.allocate(place_of(state.memory), total), state)
    if state.event == NULL:
        created = table.create_event(place_of(state.event), UNTIMED)
        cuda_graph_status(table, label, "cuEventCreate", created, state)
    created = graphs.create_stream(place_of(call.stream), NON_BLOCKING)
    cuda_graph_status(table, label, "cuStreamCreate", created, state)
    stream = call.stream
    # Other threads may do what they like.
    cuda_graph_status(table, label, "cuStreamBeginCapture", graphs.begin(stream, THREAD_LOCAL), state)
    call.has_begun = 1
    TVMFFIEnvSetStream(CUDA, table.number, stream, place_of(call.callers_stream))
    memory = state.memory
    graphs.flag = memory
    graphs.has_assertions = 0
    graphs.stream = stream
    offset = FIRST_TENSOR
    for i in range(count):
        passed[i] = memory + offset
        offset = cuda_graph_behind(offset, tensors[i].size)


@library_function
def cuda_graph_recorded(table: DeviceTable, call: RecordedCall, graph: Array[Ptr]) -> I32:
    """Restore the caller's stream and store the recorded graph, if there is one. Return the driver's status."""
    table.graphs.stream = NULL
    TVMFFIEnvSetStream(CUDA, table.number, call.callers_stream, NULL)
    call.has_begun = 0
    graph[0] = NULL
    return table.graphs.end(call.stream, graph)


@library_function
def cuda_graph_drop(table: DeviceTable, graph: Ptr) -> None:
    """Destroy a recorded graph, if there is one."""
    if graph != NULL:
        table.graphs.destroy_graph(graph)


@library_function.cold
def cuda_graph_make(table: DeviceTable, label: Text, call: RecordedCall) -> Status:
    """Instantiate the recorded graph."""
    graph = stack(Ptr)
    state, graphs = call.state, table.graphs
    name = "cuStreamEndCapture"
    status = cuda_graph_recorded(table, call, graph)
    if status == OK:
        state.has_assertions = graphs.has_assertions
        name = "cuGraphInstantiateWithFlags"
        status = graphs.instantiate(place_of(state.graph), graph[0], 0)
    cuda_graph_drop(table, graph[0])
    cuda_graph_status(table, label, name, status, state)
