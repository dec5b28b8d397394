// What reading CLOCK_MONOTONIC costs when nothing else is done: the median over blocks of the mean of 1000 readings,
// in nanoseconds. `clock_loop CPU [BLOCKS]`
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { READINGS = 1000, WARM_UP = 200, MOST_BLOCKS = 100000 };

static long long block_ns(void)
{
    struct timespec first, last;
    clock_gettime(CLOCK_MONOTONIC, &first);
    last = first;
    for (int i = 0; i < READINGS; i++)
        clock_gettime(CLOCK_MONOTONIC, &last);
    return (last.tv_sec - first.tv_sec) * 1000000000LL + (last.tv_nsec - first.tv_nsec);
}

static int by_size(const void *a, const void *b)
{
    long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: clock_loop CPU [BLOCKS]\n");
        return 2;
    }
    int cpu = atoi(argv[1]);
    long blocks = argc > 2 ? atol(argv[2]) : 1000;
    if (blocks < 1 || blocks > MOST_BLOCKS)
        return 2;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        perror("sched_setaffinity");
        return 1;
    }
    static long long totals[MOST_BLOCKS];
    for (int i = 0; i < WARM_UP; i++)
        block_ns();
    for (long i = 0; i < blocks; i++)
        totals[i] = block_ns();
    qsort(totals, (size_t)blocks, sizeof totals[0], by_size);
    printf("%.3f\n", (double)totals[blocks / 2] / READINGS);
    return 0;
}
