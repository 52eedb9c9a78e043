/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

   Interface of a program to tvm-ffi: the structures that it reads, and checks of arguments. */

typedef struct {
    void *data;
    int32_t device_type, device_id;
    int32_t rank;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *sizes, *strides;
    uint64_t offset;
} Tensor;

typedef struct {
    int32_t kind;
    uint32_t padding;
    union {
        int64_t integer;
        double number;
        void *pointer;
    } value;
} Any;

enum { KIND_INTEGER = 1, KIND_BOOL = 2, KIND_NUMBER = 3, KIND_TENSOR_POINTER = 7, KIND_TENSOR = 70, OBJECT_BYTES = 24 };

extern void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);

static int refuse(const char *kind, const char *format, const char *label, int64_t a, int64_t b) {
    char text[512];
    snprintf(text, sizeof(text), format, label, (long long)a, (long long)b);
    TVMFFIErrorSetRaisedFromCStr(kind, text);
    return -1;
}

/* A status as an error: the message begins with the error's kind. */
static int fail(const char *message, const int64_t *numbers) {
    char text[1024], kind[64];
    const char *colon = strchr(message, ':');
    const size_t length = colon == 0 || colon - message > 63 ? 0 : (size_t)(colon - message);
    memcpy(kind, message, length);
    kind[length] = 0;
    snprintf(text, sizeof(text), length > 0 ? colon + 2 : message, (long long)numbers[0], (long long)numbers[1],
             (long long)numbers[2], (long long)numbers[3]);
    TVMFFIErrorSetRaisedFromCStr(length > 0 ? kind : "RuntimeError", text);
    return -1;
}

static int check_count(int32_t given, int32_t expected, const char *label) {
    return given == expected ? 0 : refuse("TypeError", "%s: expected %lld arguments, got %lld", label, expected, given);
}

static int take_tensor(const Any *given, const char *label, int code, int bits, int32_t rank, const Tensor **found) {
    const Tensor *tensor;
    int64_t stride = 1;
    if (given->kind != KIND_TENSOR && given->kind != KIND_TENSOR_POINTER) {
        return refuse("TypeError", "%s: expected a tensor, got a value of kind %lld", label, given->kind, 0);
    }
    tensor = (const Tensor *)((const char *)given->value.pointer + (given->kind == KIND_TENSOR ? OBJECT_BYTES : 0));
    if (tensor->rank != rank) {
        return refuse("ValueError", "%s: expected %lld dimensions, got %lld", label, rank, tensor->rank);
    }
    if (tensor->code != code || tensor->bits != bits || tensor->lanes != 1) {
        return refuse("TypeError", "%s: expected elements of %lld bits, got %lld of another type", label, bits,
                      tensor->bits);
    }
    for (int32_t axis = rank - 1; axis >= 0 && tensor->strides != 0; axis--) {
        if (tensor->sizes[axis] != 1 && tensor->strides[axis] != stride) {
            return refuse("ValueError", "%s: dimension %lld has a stride of %lld: it must lie row by row", label, axis,
                          tensor->strides[axis]);
        }
        stride *= tensor->sizes[axis];
    }
    *found = tensor;
    return 0;
}

static void *data_of(const Tensor *tensor) {
    return (char *)tensor->data + tensor->offset;
}

static int check_size(const Tensor *tensor, const char *label, int32_t axis, int64_t expected) {
    const int64_t given = tensor->sizes[axis];
    return given == expected ? 0 : refuse("ValueError", "%s expected to be %lld, got %lld", label, expected, given);
}

static int take_integer(const Any *given, const char *label, int64_t *found) {
    *found = given->value.integer;
    return given->kind == KIND_INTEGER || given->kind == KIND_BOOL
               ? 0
               : refuse("TypeError", "%s: expected an integer, got a value of kind %lld", label, given->kind, 0);
}

static int take_number(const Any *given, const char *label, double *found) {
    if (given->kind == KIND_INTEGER) {
        *found = (double)given->value.integer;
        return 0;
    }
    *found = given->value.number;
    return given->kind == KIND_NUMBER
               ? 0
               : refuse("TypeError", "%s: expected a number, got a value of kind %lld", label, given->kind, 0);
}
