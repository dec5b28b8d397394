// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT
/*
 * A GPIO chip of eight lines whose truth is known.
 *
 * Lines 0 to 7 are outputs or inputs; what is written to an even one is read at the odd one after it, as if a wire joined them.
 * Parameters below /sys/module/punctual_gpio/parameters, which can be changed at any time:
 *
 *	up_ns, down_ns	how long it takes to write a line high, or low: the CPU is kept busy for so long before the edge
 *	after_ns	how long it takes after the edge, until the write returns
 *
 * and, to be read, what the lines did:
 *
 *	edges		for each line: level, edges so far, and when the last one was (ns, CLOCK_MONOTONIC)
 *
 * This module is for tests only.
 */
#include <linux/gpio/driver.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/platform_device.h>
#include <linux/spinlock.h>
#include <linux/version.h>

#define LINES 8

static unsigned int up_ns;
module_param(up_ns, uint, 0644);
static unsigned int down_ns;
module_param(down_ns, uint, 0644);
static unsigned int after_ns;
module_param(after_ns, uint, 0644);

struct line {
	int level;
	bool is_output;
	u64 edges;
	s64 last_ns;
};

static struct line lines[LINES];
static DEFINE_RAW_SPINLOCK(lock);

static void keep_busy(unsigned int ns)
{
	s64 until_ns = ktime_get_ns() + ns;

	if (!ns)
		return;
	while ((s64)ktime_get_ns() < until_ns)
		cpu_relax();
}

static void put_level(unsigned int at, int level)
{
	unsigned long flags;

	level = !!level;
	keep_busy(level ? READ_ONCE(up_ns) : READ_ONCE(down_ns));
	raw_spin_lock_irqsave(&lock, flags);
	if (lines[at].level != level) {
		lines[at].level = level;
		lines[at].edges++;
		lines[at].last_ns = ktime_get_ns();
	}
	raw_spin_unlock_irqrestore(&lock, flags);
	keep_busy(READ_ONCE(after_ns));
}

static int get_direction(struct gpio_chip *chip, unsigned int at)
{
	return lines[at].is_output ? GPIO_LINE_DIRECTION_OUT : GPIO_LINE_DIRECTION_IN;
}

static int direction_input(struct gpio_chip *chip, unsigned int at)
{
	lines[at].is_output = false;
	return 0;
}

static int direction_output(struct gpio_chip *chip, unsigned int at, int level)
{
	lines[at].is_output = true;
	put_level(at, level);
	return 0;
}

static int get(struct gpio_chip *chip, unsigned int at)
{
	/* An input has the level of the output that a wire joins it with. */
	return lines[lines[at].is_output ? at : at & ~1U].level;
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
static int set(struct gpio_chip *chip, unsigned int at, int level)
{
	put_level(at, level);
	return 0;
}
#else
static void set(struct gpio_chip *chip, unsigned int at, int level)
{
	put_level(at, level);
}
#endif

static const char *const names[LINES] = { "valve", "valve-seen", "step", "step-seen", "", "", "", "" };

static struct gpio_chip chip = {
	.label = "punctual_gpio",
	.owner = THIS_MODULE,
	.base = -1,
	.ngpio = LINES,
	.names = names,
	.get_direction = get_direction,
	.direction_input = direction_input,
	.direction_output = direction_output,
	.get = get,
	.set = set,
};

static int edges_get(char *text, const struct kernel_param *parameter)
{
	unsigned long flags;
	int at, length = 0;

	raw_spin_lock_irqsave(&lock, flags);
	for (at = 0; at < LINES; at++)
		length += scnprintf(text + length, PAGE_SIZE - length, "%d %d %llu %lld\n", at, lines[at].level,
				    lines[at].edges, lines[at].last_ns);
	raw_spin_unlock_irqrestore(&lock, flags);
	return length;
}

static const struct kernel_param_ops edges_ops = { .get = edges_get };
module_param_cb(edges, &edges_ops, NULL, 0444);

static struct platform_device *device;

static int __init gpio_init(void)
{
	int error;

	device = platform_device_register_simple("punctual_gpio", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(device))
		return PTR_ERR(device);
	chip.parent = &device->dev;
	error = gpiochip_add_data(&chip, NULL);
	if (error)
		platform_device_unregister(device);
	return error;
}

static void __exit gpio_exit(void)
{
	gpiochip_remove(&chip);
	platform_device_unregister(device);
}

module_init(gpio_init);
module_exit(gpio_exit);

MODULE_DESCRIPTION("A GPIO chip whose lines do what is known, for tests of what programs measure of it");
/* The kernel exports what a GPIO chip needs only to modules under its own license. */
MODULE_LICENSE("GPL");
