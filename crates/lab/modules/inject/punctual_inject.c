// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT
/*
 * Known delays for the calibration of a measuring instrument.
 *
 * A plan is written to <debugfs>/punctual_inject/plan, one injection per line:
 *
 *	KIND CPU START_NS LENGTH_NS [THREAD]
 *
 * START_NS is on CLOCK_MONOTONIC; KIND is one of
 *
 *	irqs-off	a hard hrtimer pinned to CPU spins with interrupts off
 *	softirq		the same timer schedules a tasklet, which spins
 *	soft-timer	a soft hrtimer pinned to CPU spins, on PREEMPT_RT in the thread ktimers
 *	thread-irqs-off	a SCHED_OTHER thread, running since 40 us before, spins with interrupts off
 *	preempt-off	the same thread spins with preemption off and interrupts on
 *	irq		the hard handler of interrupt line IRQ_LINE spins; a hard hrtimer raises the line
 *	irq-thread	the threaded handler of interrupt line IRQ_THREAD_LINE spins
 *	waking		whoever wakes the thread named THREAD on CPU spins with interrupts off before it is made runnable:
 *			the first time after START_NS that it is woken from an interruptible sleep. These happen in the
 *			order of the plan, each once those before it have happened
 *
 * <debugfs>/punctual_inject/log then shows, one injection per line in the order of the plan,
 *
 *	KIND CPU START_NS LENGTH_NS TRUE_START_NS TRUE_END_NS [THREAD]
 *
 * with the request and the readings of CLOCK_MONOTONIC at which the spinning really began and ended; 0 for what has
 * not happened (yet). TRUE_END_NS is the reading that ended the spinning, so the CPU is free a little later, never
 * earlier. An empty line in the plan deletes everything planned before.
 *
 * It reads the clock instead of using udelay(), whose calibrated loops are nearly 1 % short. This module is for tests
 * only: whoever may write the plan can make the machine miss any deadline.
 */
#include <linux/debugfs.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <linux/version.h>

/* More than the number of worst samples in a record. */
#define MAX_INJECTIONS 256
/* Longer would look like a hang: the soft lockup detector's limit is 20 s, and clock sources wrap some time later. */
#define MAX_LENGTH_NS (1 * NSEC_PER_SEC)
#define MAX_PLAN_BYTES 65536
/* Lines that no device of the lab's machines uses (3, 4 and 8 are used). The kernel can only inject edge-triggered ones. */
#define IRQ_LINE 7
#define IRQ_THREAD_LINE 6
/* A thread that has to run at a given moment is woken this long before. */
#define THREAD_LEAD_NS (40 * NSEC_PER_USEC)

enum kind {
	IRQS_OFF,
	SOFTIRQ,
	SOFT_TIMER,
	THREAD_IRQS_OFF,
	PREEMPT_OFF,
	IRQ,
	IRQ_THREAD,
	WAKING,
};

static const char *const kind_names[] = {
	[IRQS_OFF] = "irqs-off",
	[SOFTIRQ] = "softirq",
	[SOFT_TIMER] = "soft-timer",
	[THREAD_IRQS_OFF] = "thread-irqs-off",
	[PREEMPT_OFF] = "preempt-off",
	[IRQ] = "irq",
	[IRQ_THREAD] = "irq-thread",
	[WAKING] = "waking",
};

struct injection {
	struct hrtimer timer;
	struct tasklet_struct tasklet;
	enum kind kind;
	/* The thread to be woken; empty for other kinds. */
	char thread[TASK_COMM_LEN];
	unsigned int cpu;
	s64 start_ns;
	s64 length_ns;
	s64 true_start_ns;
	s64 true_end_ns;
};

static struct injection injections[MAX_INJECTIONS];
static unsigned int planned;
/* Held while the plan changes or is read; the injections themselves take no lock. */
static DEFINE_MUTEX(plan_lock);
static struct dentry *folder;
/* The thread for the kinds that need one, and its next injection. */
static struct task_struct *holder;
static struct injection *for_holder;
/* The next injection of each line's handler. */
static struct injection *for_line[2];
/* Where the kernel says that a thread is being woken; it exports no symbol for it. NULL if it has none. */
static struct tracepoint *waking_point;
static bool is_waking_watched;
/* Index from which the next waking to delay is looked for. */
static unsigned int next_waking;

static void wait_and_log(struct injection *injection)
{
	s64 start_ns = ktime_get_ns();
	s64 now_ns;

	do {
		cpu_relax();
		now_ns = ktime_get_ns();
	} while (now_ns - start_ns < injection->length_ns);
	injection->true_start_ns = start_ns;
	/* Written last: a log with an end has a start. */
	smp_store_release(&injection->true_end_ns, now_ns);
}

static void wait_in_tasklet(struct tasklet_struct *tasklet)
{
	wait_and_log(container_of(tasklet, struct injection, tasklet));
}

static void hold(struct injection *injection)
{
	unsigned long flags;

	while (ktime_get_ns() < injection->start_ns)
		cpu_relax();
	if (injection->kind == PREEMPT_OFF) {
		preempt_disable();
		wait_and_log(injection);
		preempt_enable();
	} else {
		local_irq_save(flags);
		wait_and_log(injection);
		local_irq_restore(flags);
	}
}

static int holder_main(void *unused)
{
	while (!kthread_should_stop()) {
		struct injection *injection;

		set_current_state(TASK_INTERRUPTIBLE);
		injection = xchg(&for_holder, NULL);
		if (!injection) {
			if (!kthread_should_stop())
				schedule();
			__set_current_state(TASK_RUNNING);
			continue;
		}
		__set_current_state(TASK_RUNNING);
		set_cpus_allowed_ptr(current, cpumask_of(injection->cpu));
		hold(injection);
	}
	return 0;
}

static irqreturn_t line_handler(int line, void *unused)
{
	struct injection *injection = xchg(&for_line[line == IRQ_THREAD_LINE], NULL);

	if (injection)
		wait_and_log(injection);
	return IRQ_HANDLED;
}

/* Runs in the waker, with interrupts off, at every wake-up: it looks at one injection alone, so that it takes little time. */
static void on_waking(void *unused, struct task_struct *woken)
{
	unsigned int from = READ_ONCE(next_waking), at = from, count = smp_load_acquire(&planned);
	struct injection *injection;

	while (at < count && injections[at].kind != WAKING)
		at++;
	if (at >= count)
		return;
	injection = &injections[at];
	if (injection->cpu != smp_processor_id() || injection->start_ns > ktime_get_ns() ||
	    strncmp(woken->comm, injection->thread, TASK_COMM_LEN))
		return;
	/* On PREEMPT_RT a thread that waits for a lock inside of the kernel is woken too: that is no end of its own wait. */
	if (READ_ONCE(woken->__state) & TASK_INTERRUPTIBLE && cmpxchg(&next_waking, from, at + 1) == from)
		wait_and_log(injection);
}

static void find_waking_point(struct tracepoint *point, void *unused)
{
	if (!strcmp(point->name, "sched_waking"))
		waking_point = point;
}

/* Only while such an injection is planned: it delays every wake-up a little. */
static int watch_waking(void)
{
	int error;

	if (is_waking_watched)
		return 0;
	if (!waking_point)
		return -EOPNOTSUPP;
	error = tracepoint_probe_register(waking_point, on_waking, NULL);
	is_waking_watched = !error;
	return error;
}

static enum hrtimer_restart fire(struct hrtimer *timer)
{
	struct injection *injection = container_of(timer, struct injection, timer);

	switch (injection->kind) {
	case SOFTIRQ:
		tasklet_schedule(&injection->tasklet);
		break;
	case THREAD_IRQS_OFF:
	case PREEMPT_OFF:
		WRITE_ONCE(for_holder, injection);
		wake_up_process(holder);
		break;
	case IRQ:
	case IRQ_THREAD:
		WRITE_ONCE(for_line[injection->kind == IRQ_THREAD], injection);
		irq_inject_interrupt(injection->kind == IRQ_THREAD ? IRQ_THREAD_LINE : IRQ_LINE);
		break;
	default:
		/* A hard timer expires in the interrupt itself, even on PREEMPT_RT: interrupts are off here. */
		wait_and_log(injection);
	}
	return HRTIMER_NORESTART;
}

static enum hrtimer_mode mode_of(enum kind kind)
{
	return kind == SOFT_TIMER ? HRTIMER_MODE_ABS_PINNED_SOFT : HRTIMER_MODE_ABS_PINNED_HARD;
}

/* Runs on the CPU to delay: a pinned timer stays on the CPU where it was started. */
static void arm_here(void *data)
{
	struct injection *injection = data;
	s64 lead_ns = injection->kind == THREAD_IRQS_OFF || injection->kind == PREEMPT_OFF ? THREAD_LEAD_NS : 0;

	hrtimer_start(&injection->timer, ns_to_ktime(injection->start_ns - lead_ns), mode_of(injection->kind));
}

static void forget_all(void)
{
	unsigned int i;

	if (is_waking_watched) {
		tracepoint_probe_unregister(waking_point, on_waking, NULL);
		tracepoint_synchronize_unregister();
		is_waking_watched = false;
	}
	for (i = 0; i < planned; i++) {
		hrtimer_cancel(&injections[i].timer);
		tasklet_kill(&injections[i].tasklet);
	}
	memset(injections, 0, sizeof(injections));
	planned = 0;
	next_waking = 0;
}

static int plan_one(const char *line)
{
	struct injection *injection = &injections[planned];
	char name[16], thread[TASK_COMM_LEN] = "";
	long long start_ns, length_ns;
	unsigned int cpu;
	int kind, fields;

	fields = sscanf(line, "%15s %u %lld %lld %15s", name, &cpu, &start_ns, &length_ns, thread);
	if (fields < 4)
		return -EINVAL;
	kind = match_string(kind_names, ARRAY_SIZE(kind_names), name);
	if (kind < 0 || (kind == WAKING) != (fields == 5) || length_ns <= 0 || length_ns > MAX_LENGTH_NS)
		return -EINVAL;
	if (planned == MAX_INJECTIONS)
		return -ENOSPC;
	/* A timer in the past would fire at once, at a moment that was not requested. */
	if (start_ns <= ktime_get_ns() + THREAD_LEAD_NS)
		return -ETIME;

	injection->kind = kind;
	injection->cpu = cpu;
	injection->start_ns = start_ns;
	injection->length_ns = length_ns;
	strscpy(injection->thread, thread, sizeof(injection->thread));
	tasklet_setup(&injection->tasklet, wait_in_tasklet);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&injection->timer, fire, CLOCK_MONOTONIC, mode_of(kind));
#else
	hrtimer_init(&injection->timer, CLOCK_MONOTONIC, mode_of(kind));
	injection->timer.function = fire;
#endif
	smp_store_release(&planned, planned + 1);
	if (kind == WAKING)
		return watch_waking();
	/* ENXIO if the CPU is not online; the entry then stays in the log as one that never happened. */
	return smp_call_function_single(cpu, arm_here, injection, 1);
}

/* One write is one plan of complete lines; lines before an invalid one are armed. */
static ssize_t plan_write(struct file *file, const char __user *from, size_t length, loff_t *at)
{
	char *text, *rest, *line;
	int error = 0;

	if (length > MAX_PLAN_BYTES)
		return -E2BIG;
	text = memdup_user_nul(from, length);
	if (IS_ERR(text))
		return PTR_ERR(text);

	mutex_lock(&plan_lock);
	rest = text;
	while (!error && (line = strsep(&rest, "\n"))) {
		/* Nothing follows the newline of the last line. */
		if (!rest && !*line)
			break;
		if (*line)
			error = plan_one(line);
		else
			forget_all();
	}
	mutex_unlock(&plan_lock);
	kfree(text);
	return error ? error : length;
}

static const struct file_operations plan_operations = {
	.owner = THIS_MODULE,
	.write = plan_write,
};

static int log_show(struct seq_file *out, void *unused)
{
	unsigned int i;

	mutex_lock(&plan_lock);
	for (i = 0; i < planned; i++) {
		struct injection *injection = &injections[i];
		s64 true_end_ns = smp_load_acquire(&injection->true_end_ns);

		seq_printf(out, "%s %u %lld %lld %lld %lld%s%s\n", kind_names[injection->kind], injection->cpu,
			   injection->start_ns, injection->length_ns, true_end_ns ? injection->true_start_ns : 0,
			   true_end_ns, injection->thread[0] ? " " : "", injection->thread);
	}
	mutex_unlock(&plan_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(log);

static int __init inject_init(void)
{
	int error;

	for_each_kernel_tracepoint(find_waking_point, NULL);
	holder = kthread_run(holder_main, NULL, "punctual-holder");
	if (IS_ERR(holder))
		return PTR_ERR(holder);
	error = request_irq(IRQ_LINE, line_handler, IRQF_NO_THREAD, "punctual-line", &for_line[0]);
	if (error)
		goto stop_holder;
	error = request_threaded_irq(IRQ_THREAD_LINE, NULL, line_handler, IRQF_ONESHOT, "punctual-thread", &for_line[1]);
	if (error)
		goto free_line;
	folder = debugfs_create_dir("punctual_inject", NULL);
	if (IS_ERR(folder)) {
		error = PTR_ERR(folder);
		goto free_thread_line;
	}
	debugfs_create_file("plan", 0200, folder, NULL, &plan_operations);
	debugfs_create_file("log", 0400, folder, NULL, &log_fops);
	return 0;

free_thread_line:
	free_irq(IRQ_THREAD_LINE, &for_line[1]);
free_line:
	free_irq(IRQ_LINE, &for_line[0]);
stop_holder:
	kthread_stop(holder);
	return error;
}

static void __exit inject_exit(void)
{
	debugfs_remove(folder);
	forget_all();
	free_irq(IRQ_THREAD_LINE, &for_line[1]);
	free_irq(IRQ_LINE, &for_line[0]);
	kthread_stop(holder);
}

module_init(inject_init);
module_exit(inject_exit);

MODULE_DESCRIPTION("Delays of known length at known times, for the calibration of a measuring instrument");
/* The kernel exports hrtimers and debugfs only to modules under its own license. */
MODULE_LICENSE("GPL");
