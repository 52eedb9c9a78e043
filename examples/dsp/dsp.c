/* The functions of the device, for this machine: what the board's own library does there. Copies are done when they are
   waited for, the oldest first, as the board may do them so late. */

#include <stdint.h>
#include <string.h>

#define MOST 256

static struct {
    void *to;
    const void *from;
    int64_t bytes;
} copies[MOST];
static int64_t started, done, ends[MOST], groups;

/* Number of uses of the unit, for reports. */
int64_t dsp_products;

static void finish(int64_t end) {
    for (; done < end; ++done) {
        memcpy(copies[done % MOST].to, copies[done % MOST].from, (size_t)copies[done % MOST].bytes);
    }
}

void dsp_copy(void *to, const void *from, int64_t bytes) {
    finish(started - MOST + 1);
    copies[started % MOST].to = to;
    copies[started % MOST].from = from;
    copies[started % MOST].bytes = bytes;
    ++started;
}

/* The copies since the last commit are a group. */
void dsp_commit(void) { ends[groups++ % MOST] = started; }

/* All groups but the last `pending` are done then. */
void dsp_wait(int64_t pending) {
    if (groups > pending) {
        finish(ends[(groups - pending - 1) % MOST]);
    }
}

void dsp_clear(int32_t *sums) { memset(sums, 0, 32 * sizeof(int32_t)); }

/* Adds 16 numbers times 16 rows of 32 numbers to 32 sums. */
void dsp_product(const int8_t *numbers, const int8_t *rows, int64_t stride, int32_t *sums) {
    ++dsp_products;
    for (int k = 0; k < 16; ++k) {
        for (int j = 0; j < 32; ++j) {
            sums[j] += numbers[k] * rows[k * stride + j];
        }
    }
}
