// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT
/*
 * A GPIO chip of eight lines whose truth is known.
 *
 * Lines 0 to 7 are outputs or inputs; what is written to an even one is read at the odd one after it, as if a wire joined them.
 * Parameters below /sys/module/punctual_gpio/parameters, which can be changed at any time:
 *
 *	up_ns, down_ns	how long it takes to write a line high, or low: the CPU is kept busy for so long before the edge
 *	after_ns	how long it takes after the edge, until the write returns
 *	irq_ns		how long it takes from an edge until its interrupt is handled: the CPU is kept busy for so long in it
 *	late, late_ns	lines whose interrupts are handled late_ns later still, one bit for each odd one
 *	lose_every	of so many interrupts that an edge should raise one is lost; 0: none
 *	one		not 0: the wires of all odd lines come from line 0, as one signal on several inputs
 *	cut		lines whose wire is cut, one bit for each odd one: they are low, and raise no interrupt
 *
 * and, to be read, what the lines did:
 *
 *	lost		interrupts that were lost so far because of lose_every
 *	edges		for each line: level, edges so far, and when the last one was (ns, CLOCK_MONOTONIC and CLOCK_REALTIME)
 *
 * /proc/punctual_gpio has the last 65,536 edges of all lines that were written, the oldest first: number of the edge, from 0 on;
 * line; level after it; when it was (ns, CLOCK_REALTIME and CLOCK_MONOTONIC).
 *
 * An odd line that is an input raises an interrupt for each edge, so that a program can ask for events. The interrupt comes to
 * the CPU that writes, right after the edge and before after_ns, in hard interrupt context even where the kernel is PREEMPT_RT.
 * An edge that comes before the interrupt of the last one was handled raises no second one, as with a GPIO chip that has one
 * bit for each line.
 *
 * This module is for tests only.
 */
#include <linux/gpio/driver.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/irqdomain.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/platform_device.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/version.h>

#define LINES 8
/* A power of two: the edges of 8 s, where two are made each 250 us. */
#define LOGGED 65536

static unsigned int up_ns;
module_param(up_ns, uint, 0644);
static unsigned int down_ns;
module_param(down_ns, uint, 0644);
static unsigned int after_ns;
module_param(after_ns, uint, 0644);
static unsigned int irq_ns;
module_param(irq_ns, uint, 0644);
static unsigned int late;
module_param(late, uint, 0644);
static unsigned int late_ns;
module_param(late_ns, uint, 0644);
static unsigned int lose_every;
module_param(lose_every, uint, 0644);
static unsigned int one;
module_param(one, uint, 0644);
static unsigned int cut;
module_param(cut, uint, 0644);
static unsigned int lost;
module_param(lost, uint, 0444);

struct line {
	int level;
	bool is_output;
	u64 edges;
	s64 last_ns;
	s64 last_real_ns;
	/* Whether somebody wants its interrupt, and of which edges (IRQ_TYPE_EDGE_*). */
	bool is_unmasked;
	unsigned int irq_type;
	struct irq_work irq_work;
};

/* An edge of a line that was written. */
struct edge {
	u64 number;
	unsigned int line;
	int level;
	s64 real_ns;
	s64 monotonic_ns;
};

static struct line lines[LINES];
/* Edge n is at n % LOGGED. */
static struct edge *logged;
static u64 edges_so_far;
/* Interrupts that an edge should have raised. */
static unsigned int interrupts_due;
/* Guards all of the above. */
static DEFINE_RAW_SPINLOCK(lock);

static void keep_busy(unsigned int ns)
{
	s64 until_ns = ktime_get_ns() + ns;

	if (!ns)
		return;
	while ((s64)ktime_get_ns() < until_ns)
		cpu_relax();
}

/* The level of an output has changed just now. The lock is held. */
static void note_edge(unsigned int at)
{
	struct edge *edge = &logged[edges_so_far % LOGGED];
	struct line *line = &lines[at];

	line->last_real_ns = ktime_get_real_ns();
	line->last_ns = ktime_get_ns();
	line->edges++;
	edge->number = edges_so_far++;
	edge->line = at;
	edge->level = line->level;
	edge->real_ns = line->last_real_ns;
	edge->monotonic_ns = line->last_ns;
}

static bool is_cut(unsigned int at)
{
	return READ_ONCE(cut) & BIT(at);
}

/* The output that an input is joined with. */
static unsigned int source_of(unsigned int at)
{
	return READ_ONCE(one) ? 0 : at & ~1U;
}

/* An output has a new level: the inputs that are joined with it raise an interrupt if that is wanted. The lock is held. */
static void raise_interrupts(unsigned int from)
{
	unsigned int type = lines[from].level ? IRQ_TYPE_EDGE_RISING : IRQ_TYPE_EDGE_FALLING;
	unsigned int of_these = READ_ONCE(lose_every);
	unsigned int at;

	for (at = 1; at < LINES; at += 2) {
		struct line *input = &lines[at];

		if (source_of(at) != from || is_cut(at) || input->is_output || !input->is_unmasked || !(input->irq_type & type))
			continue;
		if (of_these && ++interrupts_due % of_these == 0)
			lost++;
		else
			irq_work_queue(&input->irq_work);
	}
}

static void put_level(unsigned int at, int level)
{
	unsigned long flags;

	level = !!level;
	keep_busy(level ? READ_ONCE(up_ns) : READ_ONCE(down_ns));
	raw_spin_lock_irqsave(&lock, flags);
	if (lines[at].level != level) {
		lines[at].level = level;
		note_edge(at);
		raise_interrupts(at);
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
	if (lines[at].is_output)
		return lines[at].level;
	/* An input has the level of the output that a wire joins it with. */
	return is_cut(at) ? 0 : lines[source_of(at)].level;
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

/* Runs in hard interrupt context with interrupts off, as the handler of a chip's own interrupt would. */
static void handle_input(struct irq_work *work)
{
	struct line *line = container_of(work, struct line, irq_work);

	keep_busy(READ_ONCE(irq_ns));
	if (READ_ONCE(late) & BIT(line - lines))
		keep_busy(READ_ONCE(late_ns));
	generic_handle_domain_irq(chip.irq.domain, line - lines);
}

static void input_ack(struct irq_data *data)
{
	/* There is no latch to be cleared, but the handler of edges calls this in any case. */
}

static void set_unmasked(struct irq_data *data, bool is_unmasked)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	lines[irqd_to_hwirq(data)].is_unmasked = is_unmasked;
	raw_spin_unlock_irqrestore(&lock, flags);
}

static void input_mask(struct irq_data *data)
{
	set_unmasked(data, false);
	gpiochip_disable_irq(irq_data_get_irq_chip_data(data), irqd_to_hwirq(data));
}

static void input_unmask(struct irq_data *data)
{
	gpiochip_enable_irq(irq_data_get_irq_chip_data(data), irqd_to_hwirq(data));
	set_unmasked(data, true);
}

static int input_set_type(struct irq_data *data, unsigned int type)
{
	unsigned long flags;

	if (!(type & IRQ_TYPE_EDGE_BOTH) || (type & ~IRQ_TYPE_EDGE_BOTH))
		return -EINVAL;
	raw_spin_lock_irqsave(&lock, flags);
	lines[irqd_to_hwirq(data)].irq_type = type;
	raw_spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static const struct irq_chip input_irq_chip = {
	.name = "punctual_gpio",
	.irq_ack = input_ack,
	.irq_mask = input_mask,
	.irq_unmask = input_unmask,
	.irq_set_type = input_set_type,
	.flags = IRQCHIP_IMMUTABLE,
	GPIOCHIP_IRQ_RESOURCE_HELPERS,
};

static int edges_get(char *text, const struct kernel_param *parameter)
{
	unsigned long flags;
	int at, length = 0;

	raw_spin_lock_irqsave(&lock, flags);
	for (at = 0; at < LINES; at++)
		length += scnprintf(text + length, PAGE_SIZE - length, "%d %d %llu %lld %lld\n", at, lines[at].level,
				    lines[at].edges, lines[at].last_ns, lines[at].last_real_ns);
	raw_spin_unlock_irqrestore(&lock, flags);
	return length;
}

static const struct kernel_param_ops edges_ops = { .get = edges_get };
module_param_cb(edges, &edges_ops, NULL, 0444);

/* Copies the edge with this number, or the oldest one that is still logged, to the reader. */
static void *log_at(struct seq_file *file, loff_t *number)
{
	struct edge *copy = file->private;
	bool is_there;

	raw_spin_lock_irq(&lock);
	if (edges_so_far > LOGGED && *number < edges_so_far - LOGGED)
		*number = edges_so_far - LOGGED;
	is_there = *number < edges_so_far;
	if (is_there)
		*copy = logged[*number % LOGGED];
	raw_spin_unlock_irq(&lock);
	return is_there ? copy : NULL;
}

static void *log_next(struct seq_file *file, void *edge, loff_t *number)
{
	++*number;
	return log_at(file, number);
}

static void log_stop(struct seq_file *file, void *edge)
{
}

static int log_show(struct seq_file *file, void *shown)
{
	const struct edge *edge = shown;

	seq_printf(file, "%llu %u %d %lld %lld\n", edge->number, edge->line, edge->level, edge->real_ns, edge->monotonic_ns);
	return 0;
}

static const struct seq_operations log_operations = {
	.start = log_at,
	.next = log_next,
	.stop = log_stop,
	.show = log_show,
};

static struct platform_device *device;

static int __init gpio_init(void)
{
	int at, error = -ENOMEM;

	logged = kvcalloc(LOGGED, sizeof(*logged), GFP_KERNEL);
	if (!logged)
		return error;
	for (at = 0; at < LINES; at++)
		lines[at].irq_work = IRQ_WORK_INIT_HARD(handle_input);
	/* No parent: the chip's interrupts are raised by this module alone, in a domain that gpiolib makes. */
	gpio_irq_chip_set_chip(&chip.irq, &input_irq_chip);
	chip.irq.handler = handle_edge_irq;
	chip.irq.default_type = IRQ_TYPE_NONE;
	if (!proc_create_seq_private("punctual_gpio", 0444, NULL, &log_operations, sizeof(struct edge), NULL))
		goto free_log;
	device = platform_device_register_simple("punctual_gpio", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(device)) {
		error = PTR_ERR(device);
		goto remove_log;
	}
	chip.parent = &device->dev;
	error = gpiochip_add_data(&chip, NULL);
	if (!error)
		return 0;
	platform_device_unregister(device);
remove_log:
	remove_proc_entry("punctual_gpio", NULL);
free_log:
	kvfree(logged);
	return error;
}

static void __exit gpio_exit(void)
{
	int at;

	/* Who holds a line holds this module, too: nothing is written any more. */
	for (at = 0; at < LINES; at++)
		irq_work_sync(&lines[at].irq_work);
	gpiochip_remove(&chip);
	platform_device_unregister(device);
	remove_proc_entry("punctual_gpio", NULL);
	kvfree(logged);
}

module_init(gpio_init);
module_exit(gpio_exit);

MODULE_DESCRIPTION("A GPIO chip whose lines do what is known, for tests of what programs measure of it");
/* The kernel exports what a GPIO chip needs only to modules under its own license. */
MODULE_LICENSE("GPL");
