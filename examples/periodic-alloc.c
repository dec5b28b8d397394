/* periodic-good.c with one fault: a small allocation in each turn, which the C library serves from memory that it has.
 *
 * Build: cc -O0 -pthread -o periodic-alloc periodic-alloc.c
 * Usage: periodic-alloc [TURNS]    1 kHz, 3000 turns unless told otherwise; needs the right to real-time priority
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { PERIOD_NS = 1000000, PRIORITY = 80, STACK_BYTES = 256 * 1024, RING = 1024 };

/* What the loop tells the rest of the program: written by one thread, read by one, without a lock. */
static struct {
    _Atomic unsigned written;
    long lateness_ns[RING];
} told;

static long turns = 3000;

/* As deep as the loop will ever get, once, so that no page of it is new later. */
static void touch_stack(void)
{
    volatile char deep[STACK_BYTES / 2];
    for (size_t i = 0; i < sizeof deep; i += 1024)
        deep[i] = 1;
}

static void *loop(void *unused)
{
    struct timespec next, now;
    (void)unused;
    pthread_setname_np(pthread_self(), "control");
    touch_stack();
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long turn = 0; turn < turns; turn++) {
        next.tv_nsec += PERIOD_NS;
        if (next.tv_nsec >= 1000000000) {
            next.tv_nsec -= 1000000000;
            next.tv_sec++;
        }
        /* Until a moment, on a clock that nobody sets. */
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) == EINTR)
            ;
        char *message = malloc(64);         /* FAULT app-heap-in-loop */
        snprintf(message, 64, "turn %ld", turn);
        free(message);
        clock_gettime(CLOCK_MONOTONIC, &now);
        unsigned place = atomic_load_explicit(&told.written, memory_order_relaxed);
        told.lateness_ns[place % RING] =
            (now.tv_sec - next.tv_sec) * 1000000000L + (now.tv_nsec - next.tv_nsec);
        atomic_store_explicit(&told.written, place + 1, memory_order_release);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_attr_t attributes;
    struct sched_param priority = { .sched_priority = PRIORITY };
    long worst_ns = 0;
    unsigned read = 0;
    int error;

    if (argc > 1)
        turns = strtol(argv[1], NULL, 10);
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        perror("mlockall");
        return 1;
    }
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &priority);
    error = pthread_create(&thread, &attributes, loop, NULL);
    if (error != 0) {
        fprintf(stderr, "no real-time thread: %s\n", strerror(error));
        return 2;
    }
    /* The main thread, of ordinary policy, does what may take its time. */
    while ((long)read < turns) {
        struct timespec pause = { 0, 20000000 };
        nanosleep(&pause, NULL);
        for (; read != atomic_load_explicit(&told.written, memory_order_acquire); read++)
            if (told.lateness_ns[read % RING] > worst_ns)
                worst_ns = told.lateness_ns[read % RING];
    }
    pthread_join(thread, NULL);
    printf("worst lateness %ld us\n", worst_ns / 1000);
    return 0;
}
