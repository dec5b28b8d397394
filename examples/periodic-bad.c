/* The same task as periodic-good.c, written as it should not be: each FAULT is one that `punctual app` finds.
 *
 * Build: cc -O0 -pthread -o periodic-bad periodic-bad.c
 * Usage: periodic-bad [TURNS]      500 Hz or so, 1000 turns unless told otherwise; needs the right to real-time priority
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* FAULT app-lock-without-inheritance */
static int request[2], reply[2];
static long turns = 1000;
static volatile int done;

/* Holds the lock now and then, at ordinary priority. */
static void *holder(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "holder");
    while (!done) {
        struct timespec held = { 0, 3000000 }, pause = { 0, 1000000 };
        pthread_mutex_lock(&lock);
        nanosleep(&held, NULL);
        pthread_mutex_unlock(&lock);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* Answers each request, when it gets round to it. */
static void *peer(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "peer");
    for (char byte; read(request[0], &byte, 1) == 1;) {
        struct timespec pause = { 0, 500000 };
        nanosleep(&pause, NULL);
        if (write(reply[1], "x", 1) != 1)
            break;
    }
    return NULL;
}

/* FAULT app-helper-threads: made by a real-time thread, whose policy it inherits, and has no period. */
static void *helper(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "helper");
    while (!done)
        sleep(1);
    return NULL;
}

/* A little deeper each time. */
static int deeper(long depth)
{
    volatile char frame[4096];
    frame[0] = (char)depth;
    return depth > 0 ? deeper(depth - 1) + frame[0] : frame[0];
}

static void *loop(void *unused)
{
    pthread_t thread;
    char byte;
    (void)unused;
    pthread_setname_np(pthread_self(), "control");
    pthread_create(&thread, NULL, helper, NULL);
    for (long turn = 0; turn < turns; turn++) {
        usleep(1000);                       /* FAULT app-relative-sleep */
        /* FAULT app-heap-in-loop: more each time, so that the library's stock never suffices. */
        char *memory = malloc(256 * 1024 + (size_t)turn * 8192); /* FAULT app-memory-in-loop */
        memset(memory, 1, 65536);           /* FAULT app-page-faults-in-loop */
        free(memory);
        deeper(turn / 4);                   /* FAULT app-stack-growth-in-loop */
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
        if (write(request[1], "x", 1) != 1 || read(reply[0], &byte, 1) != 1) /* FAULT app-blocking-in-loop */
            break;
        printf("turn %ld\n", turn);         /* FAULT app-logging-in-loop */
        fflush(stdout);
        close(open("/proc/self/stat", O_RDONLY)); /* FAULT app-files-in-loop */
    }
    done = 1;
    close(request[1]);
    pthread_join(thread, NULL);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[3];
    pthread_attr_t attributes;
    struct sched_param priority = { .sched_priority = 99 }; /* FAULT app-top-priority */
    int error;

    /* FAULT app-memory-not-locked: nothing is. */
    if (argc > 1)
        turns = strtol(argv[1], NULL, 10);
    if (pipe(request) != 0 || pipe(reply) != 0)
        return 1;
    pthread_create(&threads[0], NULL, holder, NULL);
    pthread_create(&threads[1], NULL, peer, NULL);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 8 * 1024 * 1024);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &priority);
    error = pthread_create(&threads[2], &attributes, loop, NULL);
    if (error != 0) {
        fprintf(stderr, "no real-time thread: %s\n", strerror(error));
        return 2;
    }
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
