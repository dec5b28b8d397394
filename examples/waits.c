/* A SCHED_FIFO loop that waits in the form that its argument names, and writes each moment that it waited for beside the
 * moment at which it ran (CLOCK_MONOTONIC, ns): its own truth, against which a measurement of it can be held. The thread
 * is called like the form.
 *   waits FORM TURNS PERIOD_US FILE
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL
#define WORK_NS 200000

static int64_t period_ns, at_ns, start_ns;
static int turns, priority = 70;
static int64_t (*truth)[2];
static int written;

static int64_t now_on(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return time.tv_sec * NS_PER_S + time.tv_nsec;
}

static int64_t now(void)
{
    return now_on(CLOCK_MONOTONIC);
}

static struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){ns / NS_PER_S, ns % NS_PER_S};
}

static void fail(const char *what)
{
    fprintf(stderr, "waits: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void work(void)
{
    int64_t end_ns = now() + WORK_NS;

    while (now() < end_ns)
        ;
}

/* One turn: the moment that it waited for has come. */
static void ran(void)
{
    int64_t ran_ns = now();

    if (written < turns) {
        truth[written][0] = at_ns;
        truth[written][1] = ran_ns;
        written++;
    }
    work();
    at_ns += period_ns;
}

/* By how many more periods the timer went on meanwhile. */
static void skip(uint64_t periods)
{
    at_ns += (int64_t)periods * period_ns;
}

static void by_nanosleep(clockid_t clock)
{
    while (written < turns) {
        struct timespec until = timespec_of(at_ns - now() + now_on(clock));

        while (clock_nanosleep(clock, TIMER_ABSTIME, &until, NULL) == EINTR)
            ;
        ran();
    }
}

/* A time-out, from now on. */
static struct timespec rest(void)
{
    int64_t ns = at_ns - now();

    return timespec_of(ns > 0 ? ns : 0);
}

static void by_relative_sleep(void)
{
    while (written < turns) {
        struct timespec time = rest();

        clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
        ran();
    }
}

static void by_condition(clockid_t clock)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_condattr_t attributes;
    pthread_cond_t condition;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, clock);
    pthread_cond_init(&condition, &attributes);
    pthread_mutex_lock(&mutex);
    while (written < turns) {
        struct timespec until = timespec_of(at_ns - now() + now_on(clock));

        while (pthread_cond_timedwait(&condition, &mutex, &until) != ETIMEDOUT)
            ;
        ran();
    }
}

static void by_semaphore(void)
{
    sem_t semaphore;

    sem_init(&semaphore, 0, 0);
    while (written < turns) {
        struct timespec until = timespec_of(at_ns - now() + now_on(CLOCK_REALTIME));

        while (sem_timedwait(&semaphore, &until) != -1 || errno != ETIMEDOUT)
            ;
        ran();
    }
}

static void by_queue(void)
{
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
    mqd_t queue = mq_open("/waits-example", O_RDONLY | O_CREAT, 0600, &attributes);
    char message[8];

    if (queue == -1)
        fail("mq_open");
    mq_unlink("/waits-example");
    while (written < turns) {
        struct timespec until = timespec_of(at_ns - now() + now_on(CLOCK_REALTIME));

        while (mq_timedreceive(queue, message, sizeof message, NULL, &until) != -1 || errno != ETIMEDOUT)
            ;
        ran();
    }
}

static void by_time_out(const char *form)
{
    int set = epoll_create1(0);
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    while (written < turns) {
        struct epoll_event event;
        struct timespec time = rest();

        if (!strcmp(form, "ppoll"))
            ppoll(NULL, 0, &time, NULL);
        else if (!strcmp(form, "pselect"))
            pselect(0, NULL, NULL, NULL, &time, NULL);
        else if (!strcmp(form, "sigtimedwait"))
            sigtimedwait(&signals, NULL, &time);
        else if (syscall(SYS_epoll_pwait2, set, &event, 1, &time, NULL, 0) < 0)
            fail("epoll_pwait2");
        ran();
    }
}

static int timer_fd(clockid_t clock, int is_periodic)
{
    int fd = timerfd_create(clock, 0);
    struct itimerspec times = {
        .it_interval = timespec_of(is_periodic ? period_ns : 0),
        .it_value = timespec_of(at_ns - now() + now_on(clock)),
    };

    if (fd < 0 || timerfd_settime(fd, TFD_TIMER_ABSTIME, &times, NULL))
        fail("timerfd");
    return fd;
}

static void by_timer_fd(const char *form, clockid_t clock)
{
    int fd = timer_fd(clock, 1), set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};

    epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
    while (written < turns) {
        struct pollfd one = {.fd = fd, .events = POLLIN};
        uint64_t expirations = 0;
        fd_set fds;

        FD_ZERO(&fds);
        FD_SET(fd, &fds);
        if (!strcmp(form, "timerfd-poll"))
            poll(&one, 1, -1);
        else if (!strcmp(form, "timerfd-select"))
            select(fd + 1, &fds, NULL, NULL, NULL);
        else if (!strcmp(form, "timerfd-epoll"))
            epoll_wait(set, &event, 1, -1);
        if (!strcmp(form, "timerfd-read") || !strcmp(form, "timerfd-realtime")) {
            if (read(fd, &expirations, sizeof expirations) != sizeof expirations)
                fail("read");
            ran();
        } else {
            ran();
            /* As an event loop does: what expired while it worked is for the next turn. */
            if (read(fd, &expirations, sizeof expirations) != sizeof expirations)
                fail("read");
        }
        skip(expirations - 1);
    }
}

/* Set anew in each turn, as asio does, and never read. */
static void by_timer_fd_set_again(void)
{
    int fd = timer_fd(CLOCK_MONOTONIC, 0), set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};

    epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
    while (written < turns) {
        struct itimerspec times = {0};

        epoll_wait(set, &event, 1, -1);
        ran();
        times.it_value = timespec_of(at_ns);
        timerfd_settime(fd, TFD_TIMER_ABSTIME, &times, NULL);
    }
}

static timer_t posix_timer(int notify, pid_t thread)
{
    struct sigevent event = {.sigev_notify = notify, .sigev_signo = SIGRTMIN};
    struct itimerspec times = {timespec_of(period_ns), timespec_of(at_ns)};
    timer_t timer;

    event._sigev_un._tid = thread;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, TIMER_ABSTIME, &times, NULL))
        fail("timer_create");
    return timer;
}

static void by_signal_of(timer_t timer)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGRTMIN);
    while (written < turns) {
        while (sigwaitinfo(&signals, NULL) < 0)
            ;
        ran();
        skip((uint64_t)timer_getoverrun(timer));
    }
}

/* The timer was set by another thread, which sleeps. */
static timer_t given;
static pid_t taker_tid;
static sem_t ready, set_up;

static void be_real_time(void)
{
    struct sched_param parameters = {.sched_priority = priority};

    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters))
        fail("SCHED_FIFO");
}

static void *takes_signals(void *unused)
{
    be_real_time();
    taker_tid = gettid();
    sem_post(&ready);
    sem_wait(&set_up);
    by_signal_of(given);
    return unused;
}

static void by_timer_of_another_thread(void)
{
    pthread_t taker;

    sem_init(&ready, 0, 0);
    sem_init(&set_up, 0, 0);
    pthread_create(&taker, NULL, takes_signals, NULL);
    sem_wait(&ready);
    at_ns = now() + period_ns;
    given = posix_timer(SIGEV_THREAD_ID, taker_tid);
    sem_post(&set_up);
    pthread_join(taker, NULL);
}

static void nothing(int signal)
{
    (void)signal;
}

/* Runs in the main flow after the handler, as programs with setitimer and pause have it. */
static void by_interval_timer(void)
{
    struct itimerval times = {{0, period_ns / 1000}, {0, 0}};
    struct sigaction action = {.sa_handler = nothing};
    sigset_t alarm, before;

    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarm, &before);
    sigaction(SIGALRM, &action, NULL);
    times.it_value.tv_usec = period_ns / 1000;
    /* The kernel counts from a moment between these two readings, which must be one where nothing came between. */
    for (int tries = 0; tries < 1000; tries++) {
        int64_t before_ns = now();

        setitimer(ITIMER_REAL, &times, NULL);
        at_ns = now() + period_ns;
        if (at_ns - period_ns - before_ns < 3000)
            break;
    }
    while (written < turns) {
        sigsuspend(&before);
        ran();
        /* Expirations while one was pending are one signal, and nobody counts them. */
        int64_t behind_ns = truth[written - 1][1] - at_ns;
        skip(behind_ns >= 0 ? (uint64_t)(behind_ns / period_ns) + 1 : 0);
    }
}

static void by_signal_fd(void)
{
    sigset_t signals;
    int fd;

    sigemptyset(&signals);
    sigaddset(&signals, SIGRTMIN);
    fd = signalfd(-1, &signals, 0);
    timer_t timer = posix_timer(SIGEV_SIGNAL, 0);
    while (written < turns) {
        struct signalfd_siginfo information;
        struct pollfd one = {.fd = fd, .events = POLLIN};

        poll(&one, 1, -1);
        ran();
        if (read(fd, &information, sizeof information) != sizeof information)
            fail("signalfd");
        skip((uint64_t)timer_getoverrun(timer));
    }
}

/* io_uring, without its library: one time-out in flight, for an absolute moment. */
static void by_io_uring(void)
{
    struct io_uring_params parameters = {0};
    int ring = (int)syscall(SYS_io_uring_setup, 4, &parameters);
    size_t size;
    char *rings;
    struct io_uring_sqe *entries;

    if (ring < 0)
        fail("io_uring_setup");
    size = parameters.cq_off.cqes + parameters.cq_entries * sizeof(struct io_uring_cqe);
    rings = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
    entries = mmap(NULL, parameters.sq_entries * sizeof *entries, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
                   IORING_OFF_SQES);
    while (written < turns) {
        _Atomic unsigned *tail = (_Atomic unsigned *)(rings + parameters.sq_off.tail);
        _Atomic unsigned *head = (_Atomic unsigned *)(rings + parameters.cq_off.head);
        unsigned mask = *(unsigned *)(rings + parameters.sq_off.ring_mask), place = *tail & mask;
        struct __kernel_timespec until = {at_ns / NS_PER_S, at_ns % NS_PER_S};

        entries[place] = (struct io_uring_sqe){
            .opcode = IORING_OP_TIMEOUT, .fd = -1, .addr = (uint64_t)&until, .len = 1, .timeout_flags = IORING_TIMEOUT_ABS};
        ((unsigned *)(rings + parameters.sq_off.array))[place] = place;
        atomic_fetch_add(tail, 1);
        if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
            fail("io_uring_enter");
        ran();
        atomic_fetch_add(head, 1);
    }
}

/* Another thread sleeps until the moment, and wakes this one by a condition or by a packet. */
static pthread_mutex_t chain_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t chain_condition = PTHREAD_COND_INITIALIZER;
static int chain_count, chain_sockets[2];
static const char *chain_form;

static void *wakes(void *unused)
{
    int64_t wake_ns = at_ns;

    be_real_time();
    for (int turn = 0; turn < turns; turn++, wake_ns += period_ns) {
        struct timespec until = timespec_of(wake_ns);

        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        if (!strcmp(chain_form, "packet")) {
            if (write(chain_sockets[1], "x", 1) != 1)
                fail("write");
        } else {
            pthread_mutex_lock(&chain_mutex);
            chain_count++;
            pthread_cond_signal(&chain_condition);
            pthread_mutex_unlock(&chain_mutex);
        }
    }
    return unused;
}

static void by_another_thread(const char *form)
{
    pthread_t waker;
    char byte;

    chain_form = form;
    for (int end = 0; end < 2; end++) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        socklen_t length = sizeof address;

        chain_sockets[end] = socket(AF_INET, SOCK_DGRAM, 0);
        if (end && (getsockname(chain_sockets[0], (void *)&address, &length) ||
                    connect(chain_sockets[1], (void *)&address, length)))
            fail("connect");
        if (!end && bind(chain_sockets[0], (void *)&address, length))
            fail("bind");
    }
    pthread_create(&waker, NULL, wakes, NULL);
    while (written < turns) {
        if (!strcmp(form, "packet")) {
            if (read(chain_sockets[0], &byte, 1) != 1)
                fail("read");
        } else {
            pthread_mutex_lock(&chain_mutex);
            while (chain_count <= written)
                pthread_cond_wait(&chain_condition, &chain_mutex);
            pthread_mutex_unlock(&chain_mutex);
        }
        ran();
    }
}

static void by_deadline(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attributes = {sizeof attributes, 6, 0, 0, 0, (uint64_t)period_ns / 2, (uint64_t)period_ns, (uint64_t)period_ns};

    if (syscall(SYS_sched_setattr, 0, &attributes, 0))
        fail("SCHED_DEADLINE");
    at_ns = now() + period_ns;
    by_nanosleep(CLOCK_MONOTONIC);
}

int main(int argc, char **argv)
{
    const char *form = argc > 1 ? argv[1] : "";
    sigset_t signals;
    FILE *file;

    if (argc != 5) {
        fprintf(stderr, "usage: waits FORM TURNS PERIOD_US FILE\n");
        return 2;
    }
    turns = atoi(argv[2]);
    period_ns = atoll(argv[3]) * 1000;
    truth = calloc((size_t)turns, sizeof *truth);
    prctl(PR_SET_NAME, form);
    mlockall(MCL_CURRENT | MCL_FUTURE);
    sigemptyset(&signals);
    sigaddset(&signals, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    if (strcmp(form, "deadline"))
        be_real_time();
    start_ns = now();
    at_ns = start_ns + period_ns;
    if (!strcmp(form, "monotonic")) by_nanosleep(CLOCK_MONOTONIC);
    else if (!strcmp(form, "realtime")) by_nanosleep(CLOCK_REALTIME);
    else if (!strcmp(form, "tai")) by_nanosleep(CLOCK_TAI);
    else if (!strcmp(form, "boottime")) by_nanosleep(CLOCK_BOOTTIME);
    else if (!strcmp(form, "relative")) by_relative_sleep();
    else if (!strcmp(form, "condition")) by_condition(CLOCK_MONOTONIC);
    else if (!strcmp(form, "condition-realtime")) by_condition(CLOCK_REALTIME);
    else if (!strcmp(form, "semaphore")) by_semaphore();
    else if (!strcmp(form, "queue")) by_queue();
    else if (!strcmp(form, "ppoll") || !strcmp(form, "pselect") || !strcmp(form, "sigtimedwait") || !strcmp(form, "epoll"))
        by_time_out(form);
    else if (!strcmp(form, "timerfd-realtime")) by_timer_fd(form, CLOCK_REALTIME);
    else if (!strcmp(form, "timerfd-again")) by_timer_fd_set_again();
    else if (!strncmp(form, "timerfd-", 8)) by_timer_fd(form, CLOCK_MONOTONIC);
    else if (!strcmp(form, "posix-timer")) by_signal_of(posix_timer(SIGEV_SIGNAL, 0));
    else if (!strcmp(form, "posix-thread-id")) by_timer_of_another_thread();
    else if (!strcmp(form, "signalfd")) by_signal_fd();
    else if (!strcmp(form, "itimer")) by_interval_timer();
    else if (!strcmp(form, "io-uring")) by_io_uring();
    else if (!strcmp(form, "deadline")) by_deadline();
    else if (!strcmp(form, "another-thread") || !strcmp(form, "packet")) by_another_thread(form);
    else {
        fprintf(stderr, "waits: there is no form '%s'\n", form);
        return 2;
    }
    file = fopen(argv[4], "w");
    if (!file)
        fail(argv[4]);
    for (int turn = 0; turn < written; turn++)
        fprintf(file, "%lld %lld\n", (long long)truth[turn][0], (long long)truth[turn][1]);
    return fclose(file) ? 1 : 0;
}
