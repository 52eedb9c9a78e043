# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PJRT's C interface as data: the functions in table order, and the argument fields of the implemented functions.

Each function takes the address of a structure: its size, a pointer to extensions, then these fields.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from types import MappingProxyType

#: Version that the table claims. jaxlib reads past a table that claims a later version, and accepts versions from 0.29
#: on.
VERSION = (0, 90)
#: All functions in table order.
NAMES = """
Error_Destroy Error_Message Error_GetCode Plugin_Initialize Plugin_Attributes
Event_Destroy Event_IsReady Event_Error Event_Await Event_OnReady
Client_Create Client_Destroy Client_PlatformName Client_ProcessIndex Client_PlatformVersion Client_Devices
Client_AddressableDevices Client_LookupDevice Client_LookupAddressableDevice Client_AddressableMemories Client_Compile
Client_DefaultDeviceAssignment Client_BufferFromHostBuffer
DeviceDescription_Id DeviceDescription_ProcessIndex DeviceDescription_Attributes DeviceDescription_Kind
DeviceDescription_DebugString DeviceDescription_ToString
Device_GetDescription Device_IsAddressable Device_LocalHardwareId Device_AddressableMemories Device_DefaultMemory
Device_MemoryStats
Memory_Id Memory_Kind Memory_DebugString Memory_ToString Memory_AddressableByDevices
Executable_Destroy Executable_Name Executable_NumReplicas Executable_NumPartitions Executable_NumOutputs
Executable_SizeOfGeneratedCodeInBytes Executable_GetCostAnalysis Executable_OutputMemoryKinds
Executable_OptimizedProgram Executable_Serialize
LoadedExecutable_Destroy LoadedExecutable_GetExecutable LoadedExecutable_AddressableDevices LoadedExecutable_Delete
LoadedExecutable_IsDeleted LoadedExecutable_Execute Executable_DeserializeAndLoad LoadedExecutable_Fingerprint
Buffer_Destroy Buffer_ElementType Buffer_Dimensions Buffer_UnpaddedDimensions Buffer_DynamicDimensionIndices
Buffer_GetMemoryLayout Buffer_OnDeviceSizeInBytes Buffer_Device Buffer_Memory Buffer_Delete Buffer_IsDeleted
Buffer_CopyToDevice Buffer_ToHostBuffer Buffer_IsOnCpu Buffer_ReadyEvent Buffer_UnsafePointer
Buffer_IncreaseExternalReferenceCount Buffer_DecreaseExternalReferenceCount Buffer_OpaqueDeviceMemoryDataPointer
CopyToDeviceStream_Destroy CopyToDeviceStream_AddChunk CopyToDeviceStream_TotalBytes CopyToDeviceStream_GranuleSize
CopyToDeviceStream_CurrentBytes
TopologyDescription_Create TopologyDescription_Destroy TopologyDescription_PlatformName
TopologyDescription_PlatformVersion TopologyDescription_GetDeviceDescriptions TopologyDescription_Serialize
TopologyDescription_Attributes
Compile Executable_OutputElementTypes Executable_OutputDimensions Buffer_CopyToMemory Client_CreateViewOfDeviceBuffer
Executable_Fingerprint Client_TopologyDescription Executable_GetCompiledMemoryStats Memory_Kind_Id
ExecuteContext_Create ExecuteContext_Destroy Buffer_CopyRawToHost
AsyncHostToDeviceTransferManager_Destroy AsyncHostToDeviceTransferManager_TransferData
Client_CreateBuffersForAsyncHostToDevice AsyncHostToDeviceTransferManager_RetrieveBuffer
AsyncHostToDeviceTransferManager_Device AsyncHostToDeviceTransferManager_BufferCount
AsyncHostToDeviceTransferManager_BufferSize AsyncHostToDeviceTransferManager_SetBufferError
AsyncHostToDeviceTransferManager_AddMetadata
Client_DmaMap Client_DmaUnmap Client_CreateUninitializedBuffer Client_UpdateGlobalProcessInfo
TopologyDescription_Deserialize Client_CreateAliasBuffer Client_FulfillAliasBuffer
LoadedExecutable_GetDeviceAssignment Client_CreateErrorBuffer AsyncHostToDeviceTransferManager_TransferLiteral
Buffer_CopyRawToHostFuture Device_PoisonExecution Device_CreateAsyncTrackingEvent AsyncTrackingEvent_Destroy
Executable_GetCompileOptions Buffer_DonateWithControlDependency Event_Create Event_Set
""".split()

_KINDS = {"p": ctypes.c_void_p, "z": ctypes.c_size_t, "i": ctypes.c_int32, "q": ctypes.c_int64, "b": ctypes.c_bool}
# The first field is the object of the call, if there is one. `text` and `size` are a string's address and length.
_TEXT, _LIST = "of:p text:p size:z", "of:p items:p count:z"
_FIELDS = {
    **dict.fromkeys(["Plugin_Initialize"], ""),
    **dict.fromkeys([name for name in NAMES if name.endswith("_Destroy")], "of:p"),
    "Error_Message": _TEXT,
    "Error_GetCode": "of:p code:i",
    "Plugin_Attributes": "items:p count:z",
    "Event_IsReady": "of:p value:b",
    "Event_Error": "of:p",
    "Event_Await": "of:p",
    "Event_OnReady": "of:p callback:p argument:p",
    "Client_Create": "options:p count:z get:p get_argument:p put:p put_argument:p client:p",
    "Client_ProcessIndex": "of:p value:i",
    **dict.fromkeys(["Client_LookupDevice", "Client_LookupAddressableDevice"], "of:p id:i device:p"),
    "Client_Compile": "of:p program:p options:p options_size:z executable:p",
    "Client_DefaultDeviceAssignment": "of:p replicas:i partitions:i count:z assigned:p",
    "Client_BufferFromHostBuffer": "of:p data:p type:i sizes:p rank:z strides:p strides_count:z semantics:i device:p "
    "memory:p layout:p done:p buffer:p",
    **dict.fromkeys(
        ["DeviceDescription_Id", "DeviceDescription_ProcessIndex", "Device_LocalHardwareId"], "of:p value:i"
    ),
    **dict.fromkeys(["Memory_Id", "Memory_Kind_Id", "Buffer_ElementType"], "of:p value:i"),
    "DeviceDescription_Attributes": "of:p count:z items:p",
    "Device_IsAddressable": "of:p value:b",
    "Device_GetDescription": "of:p value:p",
    "Device_DefaultMemory": "of:p value:p",
    **dict.fromkeys(["Client_Devices", "Client_AddressableDevices", "Client_AddressableMemories"], _LIST),
    **dict.fromkeys(["Device_AddressableMemories", "Memory_AddressableByDevices"], _LIST),
    **dict.fromkeys(["LoadedExecutable_AddressableDevices", "TopologyDescription_GetDeviceDescriptions"], _LIST),
    **dict.fromkeys(["TopologyDescription_Attributes", "Executable_OutputElementTypes"], _LIST),
    **dict.fromkeys(["Buffer_Dimensions", "Buffer_UnpaddedDimensions", "Buffer_DynamicDimensionIndices"], _LIST),
    **dict.fromkeys(["Client_PlatformName", "Client_PlatformVersion", "DeviceDescription_Kind"], _TEXT),
    **dict.fromkeys(["DeviceDescription_DebugString", "DeviceDescription_ToString", "Memory_Kind"], _TEXT),
    **dict.fromkeys(["Memory_DebugString", "Memory_ToString", "Executable_Name", "Executable_Fingerprint"], _TEXT),
    **dict.fromkeys(["LoadedExecutable_Fingerprint", "TopologyDescription_PlatformName"], _TEXT),
    "TopologyDescription_PlatformVersion": _TEXT,
    "LoadedExecutable_GetDeviceAssignment": f"{_TEXT} holder:p deleter:p",
    **dict.fromkeys([f"Executable_Num{name}" for name in ("Replicas", "Partitions", "Outputs")], "of:p value:z"),
    "Executable_SizeOfGeneratedCodeInBytes": "of:p value:q",
    "Executable_GetCostAnalysis": "of:p count:z items:p",
    "Executable_OutputMemoryKinds": "of:p count:z items:p sizes:p",
    "Executable_OutputDimensions": "of:p count:z items:p sizes:p",
    "Executable_OptimizedProgram": "of:p program:p",
    **dict.fromkeys(["LoadedExecutable_GetExecutable", "Client_TopologyDescription"], "of:p value:p"),
    "Executable_Serialize": f"{_TEXT} holder:p deleter:p",
    "Executable_DeserializeAndLoad": "of:p data:p size:z executable:p options:p options_size:z",
    "LoadedExecutable_Delete": "of:p",
    "LoadedExecutable_IsDeleted": "of:p value:b",
    "LoadedExecutable_Execute": "of:p options:p arguments:p devices:z count:z results:p events:p device:p",
    "Buffer_GetMemoryLayout": "of:p layout_size:z extension_of_layout:p tiled_size:z tiled_extension:p order:p "
    "order_size:z tiles:p tile_sizes:p tile_count:z kind:i",
    "Buffer_OnDeviceSizeInBytes": "of:p value:z",
    **dict.fromkeys(["Buffer_Device", "Buffer_Memory", "Buffer_UnsafePointer", "Buffer_ReadyEvent"], "of:p value:p"),
    "Buffer_OpaqueDeviceMemoryDataPointer": "of:p value:p",
    "Buffer_Delete": "of:p",
    **dict.fromkeys(["Buffer_IsDeleted", "Buffer_IsOnCpu"], "of:p value:b"),
    **dict.fromkeys(["Buffer_CopyToDevice", "Buffer_CopyToMemory"], "of:p to:p value:p"),
    "Buffer_ToHostBuffer": "of:p layout:p data:p size:z event:p",
    "ExecuteContext_Create": "value:p",
}


def _structure(name: str, fields: str, has_head: bool = True) -> type[ctypes.Structure]:
    head = [("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p)] if has_head else []
    parts = [word.split(":") for word in fields.split()]
    return type(name, (ctypes.Structure,), {"_fields_": [*head, *((name, _KINDS[kind]) for name, kind in parts)]})


#: Argument structures of the implemented functions, by name.
ARGUMENTS: Mapping[str, type[ctypes.Structure]] = MappingProxyType(
    {name: _structure(name, fields) for name, fields in _FIELDS.items()}
)
Program = _structure("Program", "code:p size:z format:p format_size:z")
NamedValue = _structure("NamedValue", "name:p name_size:z type:i value:q size:z")
ExecuteOptions = _structure(
    "ExecuteOptions", "send:p receive:p send_count:z receive_count:z launch:i kept:p kept_count:z context:p place:p"
)
Table = _structure("Table", f"version_size:z version_extension:p major:i minor:i {' '.join(f'{n}:p' for n in NAMES)}")

#: PJRT's numbers of element types, by our names.
TYPES = {
    name: number
    for number, name in enumerate(
        "none bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 bfloat16 complex64 "
        "complex128 float8_e5m2 float8_e4m3fn float8_e4m3b11fnuz float8_e5m2fnuz float8_e4m3fnuz "
        "int4 uint4 token int2 uint2 float8_e4m3 float8_e3m4 float8_e8m0fnu float4_e2m1fn".split()
    )
}
NAMES_OF_TYPES = {number: name for name, number in TYPES.items()}
