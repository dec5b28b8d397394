// What writing a GPIO line costs when nothing else is done: the clock, the line up, the line down, the clock, and how long that took
// written down; the median of all (ns). `gpio_loop CHIP LINE WRITES`
#include <fcntl.h>
#include <linux/gpio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

enum { MOST_WRITES = 1000000 };

static long long took_ns[MOST_WRITES];

static int set(int line, int is_up)
{
    struct gpio_v2_line_values values = { .bits = is_up, .mask = 1 };
    return ioctl(line, GPIO_V2_LINE_SET_VALUES_IOCTL, &values);
}

// A function of its own, so that its instructions can be told from those of the rest.
__attribute__((noipa)) static int writes(int line, long long *to, long count)
{
    for (long i = 0; i < count; i++) {
        struct timespec before, after;
        clock_gettime(CLOCK_MONOTONIC, &before);
        if (set(line, 1) != 0 || set(line, 0) != 0)
            return -1;
        clock_gettime(CLOCK_MONOTONIC, &after);
        to[i] = (after.tv_sec - before.tv_sec) * 1000000000LL + (after.tv_nsec - before.tv_nsec);
    }
    return 0;
}

static int by_size(const void *a, const void *b)
{
    long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    long count = argc == 4 ? atol(argv[3]) : 0;
    if (count < 1 || count > MOST_WRITES) {
        fprintf(stderr, "usage: gpio_loop CHIP LINE WRITES\n");
        return 2;
    }
    int chip = open(argv[1], O_RDWR);
    struct gpio_v2_line_request request = { .offsets = { (unsigned)atoi(argv[2]) }, .num_lines = 1 };
    request.config.flags = GPIO_V2_LINE_FLAG_OUTPUT;
    strcpy(request.consumer, "gpio_loop");
    if (chip < 0 || ioctl(chip, GPIO_V2_GET_LINE_IOCTL, &request) != 0) {
        perror("gpio_loop: line");
        return 1;
    }
    if (writes(request.fd, took_ns, count) != 0) {
        perror("gpio_loop: write");
        return 1;
    }
    qsort(took_ns, (size_t)count, sizeof took_ns[0], by_size);
    printf("%lld\n", took_ns[count / 2]);
    return 0;
}
