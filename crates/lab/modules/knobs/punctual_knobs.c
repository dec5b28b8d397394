// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT
/*
 * Three settings whose effects are known, to see whether a search for settings that matter finds them.
 *
 * A hard hrtimer fires at random times, once a millisecond on average, on the CPU that loaded the module, and keeps it
 * busy with interrupts off: whatever else should run there is late by up to that long. Three parameters, 0 or 1, below
 * /sys/module/punctual_knobs/parameters, can be changed at any time:
 *
 *	helps	1: the CPU is kept busy for a fifth of the time
 *	harms	1: the CPU is kept busy for three times as long
 *	nothing	0 or 1: no effect
 *
 * This module is for tests only; never load it on a machine that has to be punctual.
 */
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/prandom.h>
#include <linux/smp.h>
#include <linux/version.h>

/* How long the CPU is kept busy if all parameters are 0. */
#define KEPT_NS 100000
/* The times between two firings are uniformly distributed between these bounds; the mean is 1 ms. */
#define LEAST_NS 200000
#define MOST_NS 1800000

static bool helps;
module_param(helps, bool, 0644);
static bool harms;
module_param(harms, bool, 0644);
static bool nothing;
module_param(nothing, bool, 0644);
static unsigned int seed = 1;
module_param(seed, uint, 0444);

static struct hrtimer timer;
static struct rnd_state random;

static enum hrtimer_restart fire(struct hrtimer *fired)
{
	s64 until_ns = ktime_get_ns() + KEPT_NS / (READ_ONCE(helps) ? 5 : 1) * (READ_ONCE(harms) ? 3 : 1);
	u32 next_ns = LEAST_NS + prandom_u32_state(&random) % (MOST_NS - LEAST_NS);

	while ((s64)ktime_get_ns() < until_ns)
		cpu_relax();
	hrtimer_forward_now(fired, ns_to_ktime(next_ns));
	return HRTIMER_RESTART;
}

static int __init knobs_init(void)
{
	prandom_seed_state(&random, seed);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&timer, fire, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
#else
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer.function = fire;
#endif
	hrtimer_start(&timer, ns_to_ktime(LEAST_NS), HRTIMER_MODE_REL_PINNED_HARD);
	return 0;
}

static void __exit knobs_exit(void)
{
	hrtimer_cancel(&timer);
}

module_init(knobs_init);
module_exit(knobs_exit);

MODULE_DESCRIPTION("Settings of known effect on how late a CPU is, for tests of a search for such settings");
/* The kernel exports hrtimers only to modules under its own license. */
MODULE_LICENSE("GPL");
