// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT
/*
 * A pair of network interfaces with hardware clocks whose time is known, for the calibration of what reads clocks.
 *
 * What punctual0 sends, punctual1 receives, and the other way round, also if they are in different network namespaces.
 * Each has a PTP hardware clock, which is an exact function of CLOCK_MONOTONIC_RAW, and stamps every frame in both
 * directions: when it is sent, with the sender's clock, and exactly the stated one-way delay later, with the receiver's
 * clock, however late the frame is handed over.
 *
 * <debugfs>/punctual_time/set takes lines
 *
 *	SIDE NAME VALUE
 *
 * SIDE is 0 or 1, the number of the interface; NAME is one of
 *
 *	offset-ns	sets the clock to CLOCK_REALTIME plus VALUE
 *	step-ns		adds VALUE to the clock
 *	rate-error-ppb	the rate of the clock's oscillator, less that of CLOCK_MONOTONIC_RAW; what adjfine() corrects is
 *			added to it
 *	delay-ns	one-way delay of the frames that this side sends
 *	read-before-ns	how long a comparison with the system clock takes before the clock is read (interrupts are off)
 *	read-after-ns	and after it was read
 *	log-every-ns	(the same for both sides) empties the log and starts it; 0 stops it
 *
 * <debugfs>/punctual_time/log has the truth, one line for each period and two for each change of a clock, before and
 * after it:
 *
 *	WHY RAW MONOTONIC REALTIME CLOCK0 CLOCK1
 *
 * all at one moment (ns). WHY is "sample", or which change: set0, step0, rate0, set1, step1, rate1. Between two lines
 * each clock is linear. The last line is "left-out N": how many lines found no place.
 *
 * With the module parameter precise=1, the clocks also offer cross time stamps (PTP_SYS_OFFSET_PRECISE).
 *
 * This module is for tests only.
 */
#include <linux/debugfs.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/hrtimer.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/net_tstamp.h>
#include <linux/netdevice.h>
#include <linux/platform_device.h>
#include <linux/ptp_clock_kernel.h>
#include <linux/seq_file.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

#define SIDES 2
/* Corrections that a clock takes, as those of a common network card (ppb). */
#define MAX_CORRECTION_PPB 62500000
/* 1 %: the oscillator of no machine is worse. */
#define MAX_RATE_ERROR_PPB 10000000
#define MAX_DELAY_NS NSEC_PER_SEC
/* With interrupts off. */
#define MAX_READ_NS NSEC_PER_MSEC
#define LEAST_PERIOD_NS NSEC_PER_MSEC
/* 10 minutes in steps of 20 ms. */
#define MAX_LINES 32768
#define MAX_SET_BYTES 4096
/* Frames on their way in one direction. */
#define MAX_FRAMES 4096
/* Rates are in units of 2^-40: a thousandth of a ns in a second. */
#define RATE_SHIFT 40

static bool precise;
module_param(precise, bool, 0444);
MODULE_PARM_DESC(precise, "Offer cross time stamps too");

/* A stretch of time in which a clock is linear. */
struct stretch {
	s64 raw_ns;
	s64 clock_ns;
	/* The clock's rate less 1, in units of 2^-RATE_SHIFT. */
	s64 rate;
};

struct side {
	unsigned int number;
	struct platform_device *parent;
	struct net_device *device;
	struct ptp_clock_info about;
	struct ptp_clock *clock;
	/* Now, and before the last change: a frame may have come before it and be handed over after it. */
	struct stretch now, before;
	s64 rate_error_ppb;
	s64 correction_scaled_ppm;
	s64 delay_ns;
	s64 read_before_ns;
	s64 read_after_ns;
	int tx_type;
	int rx_filter;
	/* Frames to this side, in the order in which they come. */
	spinlock_t arriving_lock;
	struct sk_buff_head arriving;
	struct hrtimer arrival;
};

struct in_side {
	struct side *side;
};

struct arriving {
	s64 raw_ns;
};

struct line {
	const char *why;
	s64 raw_ns;
	s64 monotonic_ns;
	s64 realtime_ns;
	s64 clock_ns[SIDES];
};

static struct side sides[SIDES];
/* Protects both clocks and the log. Held for a few instructions, with interrupts off. */
static DEFINE_RAW_SPINLOCK(clock_lock);
static struct line *lines;
static unsigned int logged;
static unsigned int left_out;
static s64 log_period_ns;
static struct hrtimer log_timer;
static struct dentry *folder;

static const char *const set_words[SIDES] = { "set0", "set1" };
static const char *const step_words[SIDES] = { "step0", "step1" };
static const char *const rate_words[SIDES] = { "rate0", "rate1" };

static s64 scaled(s64 elapsed_ns, s64 rate)
{
	u64 product = mul_u64_u64_shr(abs(elapsed_ns), abs(rate), RATE_SHIFT);

	return (elapsed_ns < 0) == (rate < 0) ? (s64)product : -(s64)product;
}

static s64 in_stretch(const struct stretch *stretch, s64 raw_ns)
{
	s64 elapsed_ns = raw_ns - stretch->raw_ns;

	return stretch->clock_ns + elapsed_ns + scaled(elapsed_ns, stretch->rate);
}

/* What the clock showed at a moment; under clock_lock. */
static s64 clock_at(const struct side *side, s64 raw_ns)
{
	return in_stretch(raw_ns < side->now.raw_ns ? &side->before : &side->now, raw_ns);
}

/* Both system clocks from one reading of the counter. */
static void system_clocks(s64 *raw_ns, s64 *monotonic_ns, s64 *realtime_ns)
{
	struct system_time_snapshot snapshot;

	ktime_get_snapshot(&snapshot);
	*raw_ns = ktime_to_ns(snapshot.raw);
	*realtime_ns = ktime_to_ns(snapshot.real);
	*monotonic_ns = *realtime_ns - ktime_to_ns(ktime_mono_to_real(0));
}

/* One line of the log; under clock_lock. */
static void log_at(const char *why, s64 raw_ns, s64 monotonic_ns, s64 realtime_ns)
{
	struct line *line;
	unsigned int i;

	if (!log_period_ns)
		return;
	if (logged == MAX_LINES) {
		left_out++;
		return;
	}
	line = &lines[logged++];
	line->why = why;
	line->raw_ns = raw_ns;
	line->monotonic_ns = monotonic_ns;
	line->realtime_ns = realtime_ns;
	for (i = 0; i < SIDES; i++)
		line->clock_ns[i] = clock_at(&sides[i], raw_ns);
}

enum change {
	CHANGE_SET,
	CHANGE_OFFSET,
	CHANGE_STEP,
	CHANGE_RATE_ERROR,
	CHANGE_CORRECTION,
};

/* Every change of a clock, with what is written in the log. */
static void change_clock(struct side *side, enum change change, s64 value)
{
	const char *const *words = change == CHANGE_STEP ? step_words :
				   change == CHANGE_SET || change == CHANGE_OFFSET ? set_words : rate_words;
	s64 raw_ns, monotonic_ns, realtime_ns, clock_ns, total;
	unsigned long flags;

	raw_spin_lock_irqsave(&clock_lock, flags);
	system_clocks(&raw_ns, &monotonic_ns, &realtime_ns);
	log_at(words[side->number], raw_ns, monotonic_ns, realtime_ns);
	clock_ns = clock_at(side, raw_ns);
	switch (change) {
	case CHANGE_SET:
		clock_ns = value;
		break;
	case CHANGE_OFFSET:
		clock_ns = realtime_ns + value;
		break;
	case CHANGE_STEP:
		clock_ns += value;
		break;
	case CHANGE_RATE_ERROR:
		side->rate_error_ppb = value;
		break;
	case CHANGE_CORRECTION:
		side->correction_scaled_ppm = value;
		break;
	}
	side->before = side->now;
	side->now.raw_ns = raw_ns;
	side->now.clock_ns = clock_ns;
	/* In units of 2^-16 ppm, as adjfine() has them; then of 2^-40. */
	total = side->correction_scaled_ppm + div_s64(side->rate_error_ppb * 65536, 1000);
	side->now.rate = div_s64(total * (1LL << (RATE_SHIFT - 16)), 1000000);
	log_at(words[side->number], raw_ns, monotonic_ns, realtime_ns);
	raw_spin_unlock_irqrestore(&clock_lock, flags);
}

/* The clock. */

static struct side *side_with(struct ptp_clock_info *about)
{
	return container_of(about, struct side, about);
}

static void spend(s64 ns)
{
	s64 until_ns = ktime_get_raw_ns() + ns;

	while (ns && (s64)ktime_get_raw_ns() < until_ns)
		cpu_relax();
}

static int clock_gettimex(struct ptp_clock_info *about, struct timespec64 *time, struct ptp_system_timestamp *system)
{
	struct side *side = side_with(about);
	unsigned long flags;
	s64 clock_ns;

	/* Also while time is spent: an interrupt in between would widen the window by more than was asked for. */
	raw_spin_lock_irqsave(&clock_lock, flags);
	ptp_read_system_prets(system);
	spend(side->read_before_ns);
	clock_ns = clock_at(side, ktime_get_raw_ns());
	spend(side->read_after_ns);
	ptp_read_system_postts(system);
	raw_spin_unlock_irqrestore(&clock_lock, flags);
	*time = ns_to_timespec64(clock_ns);
	return 0;
}

static int clock_crosststamp(struct ptp_clock_info *about, struct system_device_crosststamp *cross)
{
	struct side *side = side_with(about);
	s64 raw_ns, monotonic_ns, realtime_ns;
	unsigned long flags;

	raw_spin_lock_irqsave(&clock_lock, flags);
	system_clocks(&raw_ns, &monotonic_ns, &realtime_ns);
	cross->device = ns_to_ktime(clock_at(side, raw_ns));
	raw_spin_unlock_irqrestore(&clock_lock, flags);
	cross->sys_realtime = ns_to_ktime(realtime_ns);
	cross->sys_monoraw = ns_to_ktime(raw_ns);
	return 0;
}

static int clock_settime(struct ptp_clock_info *about, const struct timespec64 *time)
{
	change_clock(side_with(about), CHANGE_SET, timespec64_to_ns(time));
	return 0;
}

static int clock_adjtime(struct ptp_clock_info *about, s64 by_ns)
{
	change_clock(side_with(about), CHANGE_STEP, by_ns);
	return 0;
}

static int clock_adjfine(struct ptp_clock_info *about, long scaled_ppm)
{
	change_clock(side_with(about), CHANGE_CORRECTION, scaled_ppm);
	return 0;
}

static int clock_enable(struct ptp_clock_info *about, struct ptp_clock_request *request, int on)
{
	return -EOPNOTSUPP;
}

static const struct ptp_clock_info clock_about = {
	.owner = THIS_MODULE,
	.name = "punctual_time",
	.max_adj = MAX_CORRECTION_PPB,
	.gettimex64 = clock_gettimex,
	.settime64 = clock_settime,
	.adjtime = clock_adjtime,
	.adjfine = clock_adjfine,
	.enable = clock_enable,
};

/* The interfaces. */

static struct side *side_of(struct net_device *device)
{
	return ((struct in_side *)netdev_priv(device))->side;
}

static struct side *peer_of(const struct side *side)
{
	return &sides[!side->number];
}

static s64 stamp(struct side *side, s64 raw_ns)
{
	unsigned long flags;
	s64 clock_ns;

	raw_spin_lock_irqsave(&clock_lock, flags);
	clock_ns = clock_at(side, raw_ns);
	raw_spin_unlock_irqrestore(&clock_lock, flags);
	return clock_ns;
}

static s64 due_ns(const struct sk_buff *frame)
{
	return ((const struct arriving *)frame->cb)->raw_ns;
}

/* Waits for the first frame of the queue; under arriving_lock. */
static void await_first(struct side *side)
{
	struct sk_buff *first = skb_peek(&side->arriving);
	s64 wait_ns;

	if (!first)
		return;
	wait_ns = due_ns(first) - (s64)ktime_get_raw_ns();
	hrtimer_start(&side->arrival, ns_to_ktime(max_t(s64, wait_ns, 0)), HRTIMER_MODE_REL_SOFT);
}

static enum hrtimer_restart hand_over(struct hrtimer *timer)
{
	struct side *side = container_of(timer, struct side, arrival);
	struct sk_buff_head come;
	struct sk_buff *frame;
	s64 raw_ns = ktime_get_raw_ns();

	__skb_queue_head_init(&come);
	spin_lock_bh(&side->arriving_lock);
	while ((frame = skb_peek(&side->arriving)) && due_ns(frame) <= raw_ns) {
		__skb_unlink(frame, &side->arriving);
		__skb_queue_tail(&come, frame);
	}
	await_first(side);
	spin_unlock_bh(&side->arriving_lock);

	while ((frame = __skb_dequeue(&come))) {
		if (!netif_running(side->device)) {
			kfree_skb(frame);
			continue;
		}
		if (READ_ONCE(side->rx_filter) != HWTSTAMP_FILTER_NONE)
			skb_hwtstamps(frame)->hwtstamp = ns_to_ktime(stamp(side, due_ns(frame)));
		memset(frame->cb, 0, sizeof(frame->cb));
		side->device->stats.rx_packets++;
		side->device->stats.rx_bytes += frame->len;
		frame->protocol = eth_type_trans(frame, side->device);
		netif_rx(frame);
	}
	return HRTIMER_NORESTART;
}

/* Puts a frame where its time is: after a change of the delay, later frames may come earlier. */
static bool enqueue(struct side *to, struct sk_buff *frame)
{
	struct sk_buff *before = NULL, *other;
	bool has_place;

	spin_lock_bh(&to->arriving_lock);
	has_place = skb_queue_len(&to->arriving) < MAX_FRAMES;
	if (has_place) {
		skb_queue_reverse_walk(&to->arriving, other) {
			if (due_ns(other) <= due_ns(frame)) {
				before = other;
				break;
			}
		}
		if (before)
			__skb_queue_after(&to->arriving, before, frame);
		else
			__skb_queue_head(&to->arriving, frame);
		if (skb_peek(&to->arriving) == frame)
			await_first(to);
	}
	spin_unlock_bh(&to->arriving_lock);
	return has_place;
}

static netdev_tx_t device_xmit(struct sk_buff *sent, struct net_device *device)
{
	struct side *side = side_of(device);
	struct side *to = peer_of(side);
	struct skb_shared_hwtstamps stamps = {};
	struct sk_buff *frame = NULL;
	s64 raw_ns;

	/* A copy of the bytes alone: nothing of the sender's state comes with it. */
	if (to->device && netif_running(to->device))
		frame = netdev_alloc_skb_ip_align(to->device, sent->len);
	if (!frame || skb_copy_bits(sent, 0, skb_put(frame, sent->len), sent->len))
		goto drop;
	skb_tx_timestamp(sent);
	raw_ns = ktime_get_raw_ns();
	if (skb_shinfo(sent)->tx_flags & SKBTX_HW_TSTAMP && READ_ONCE(side->tx_type) == HWTSTAMP_TX_ON) {
		skb_shinfo(sent)->tx_flags |= SKBTX_IN_PROGRESS;
		stamps.hwtstamp = ns_to_ktime(stamp(side, raw_ns));
		skb_tstamp_tx(sent, &stamps);
	}
	((struct arriving *)frame->cb)->raw_ns = raw_ns + READ_ONCE(side->delay_ns);
	if (!enqueue(to, frame))
		goto drop;
	device->stats.tx_packets++;
	device->stats.tx_bytes += sent->len;
	consume_skb(sent);
	return NETDEV_TX_OK;

drop:
	device->stats.tx_dropped++;
	kfree_skb(frame);
	kfree_skb(sent);
	return NETDEV_TX_OK;
}

/* There is a link while both interfaces are up. */
static int device_open(struct net_device *device)
{
	struct side *peer = peer_of(side_of(device));

	if (peer->device && netif_running(peer->device)) {
		netif_carrier_on(device);
		netif_carrier_on(peer->device);
	}
	return 0;
}

static int device_stop(struct net_device *device)
{
	struct side *peer = peer_of(side_of(device));

	netif_carrier_off(device);
	if (peer->device)
		netif_carrier_off(peer->device);
	return 0;
}

static int set_stamping(struct side *side, int tx_type, int *rx_filter)
{
	if (tx_type != HWTSTAMP_TX_OFF && tx_type != HWTSTAMP_TX_ON)
		return -ERANGE;
	if (*rx_filter != HWTSTAMP_FILTER_NONE)
		*rx_filter = HWTSTAMP_FILTER_ALL;
	WRITE_ONCE(side->tx_type, tx_type);
	WRITE_ONCE(side->rx_filter, *rx_filter);
	return 0;
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
static int device_hwtstamp_get(struct net_device *device, struct kernel_hwtstamp_config *config)
{
	config->flags = 0;
	config->tx_type = side_of(device)->tx_type;
	config->rx_filter = side_of(device)->rx_filter;
	return 0;
}

static int device_hwtstamp_set(struct net_device *device, struct kernel_hwtstamp_config *config,
			       struct netlink_ext_ack *ack)
{
	return config->flags ? -EINVAL : set_stamping(side_of(device), config->tx_type, &config->rx_filter);
}
#else
static int device_ioctl(struct net_device *device, struct ifreq *request, int command)
{
	struct side *side = side_of(device);
	struct hwtstamp_config config = {};
	int error;

	switch (command) {
	case SIOCSHWTSTAMP:
		if (copy_from_user(&config, request->ifr_data, sizeof(config)))
			return -EFAULT;
		if (config.flags)
			return -EINVAL;
		error = set_stamping(side, config.tx_type, &config.rx_filter);
		if (error)
			return error;
		break;
	case SIOCGHWTSTAMP:
		config.tx_type = side->tx_type;
		config.rx_filter = side->rx_filter;
		break;
	default:
		return -EOPNOTSUPP;
	}
	return copy_to_user(request->ifr_data, &config, sizeof(config)) ? -EFAULT : 0;
}
#endif

static const struct net_device_ops device_operations = {
	.ndo_open = device_open,
	.ndo_stop = device_stop,
	.ndo_start_xmit = device_xmit,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	.ndo_hwtstamp_get = device_hwtstamp_get,
	.ndo_hwtstamp_set = device_hwtstamp_set,
#else
	.ndo_eth_ioctl = device_ioctl,
#endif
};

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
static int device_ts_info(struct net_device *device, struct kernel_ethtool_ts_info *info)
#else
static int device_ts_info(struct net_device *device, struct ethtool_ts_info *info)
#endif
{
	info->so_timestamping = SOF_TIMESTAMPING_TX_HARDWARE | SOF_TIMESTAMPING_RX_HARDWARE |
				SOF_TIMESTAMPING_RAW_HARDWARE | SOF_TIMESTAMPING_TX_SOFTWARE |
				SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
	info->phc_index = ptp_clock_index(side_of(device)->clock);
	info->tx_types = BIT(HWTSTAMP_TX_OFF) | BIT(HWTSTAMP_TX_ON);
	info->rx_filters = BIT(HWTSTAMP_FILTER_NONE) | BIT(HWTSTAMP_FILTER_ALL);
	return 0;
}

static const struct ethtool_ops device_ethtool = {
	.get_link = ethtool_op_get_link,
	.get_ts_info = device_ts_info,
};

/* What is set from outside. */

static int set_one(const char *text)
{
	struct side *side;
	char name[24];
	unsigned int number;
	s64 value;

	if (sscanf(text, "%u %23s %lld", &number, name, &value) != 3 || number >= SIDES)
		return -EINVAL;
	side = &sides[number];
	if (!strcmp(name, "offset-ns")) {
		change_clock(side, CHANGE_OFFSET, value);
	} else if (!strcmp(name, "step-ns")) {
		change_clock(side, CHANGE_STEP, value);
	} else if (!strcmp(name, "rate-error-ppb")) {
		if (abs(value) > MAX_RATE_ERROR_PPB)
			return -ERANGE;
		change_clock(side, CHANGE_RATE_ERROR, value);
	} else if (!strcmp(name, "delay-ns")) {
		if (value < 0 || value > MAX_DELAY_NS)
			return -ERANGE;
		WRITE_ONCE(side->delay_ns, value);
	} else if (!strcmp(name, "read-before-ns") || !strcmp(name, "read-after-ns")) {
		if (value < 0 || value > MAX_READ_NS)
			return -ERANGE;
		WRITE_ONCE(*(!strcmp(name, "read-after-ns") ? &side->read_after_ns : &side->read_before_ns), value);
	} else if (!strcmp(name, "log-every-ns")) {
		unsigned long flags;

		if (value && value < LEAST_PERIOD_NS)
			return -ERANGE;
		hrtimer_cancel(&log_timer);
		raw_spin_lock_irqsave(&clock_lock, flags);
		/* Stopping keeps what was logged. */
		if (value)
			logged = left_out = 0;
		log_period_ns = value;
		raw_spin_unlock_irqrestore(&clock_lock, flags);
		if (value)
			hrtimer_start(&log_timer, 0, HRTIMER_MODE_REL_HARD);
	} else {
		return -EINVAL;
	}
	return 0;
}

/* One write is some complete lines; those before an invalid one have taken effect. */
static ssize_t set_write(struct file *file, const char __user *from, size_t length, loff_t *at)
{
	static DEFINE_MUTEX(set_lock);
	char *text, *rest, *line;
	int error = 0;

	if (length > MAX_SET_BYTES)
		return -E2BIG;
	text = memdup_user_nul(from, length);
	if (IS_ERR(text))
		return PTR_ERR(text);
	mutex_lock(&set_lock);
	rest = text;
	while (!error && (line = strsep(&rest, "\n"))) {
		if (*line)
			error = set_one(line);
	}
	mutex_unlock(&set_lock);
	kfree(text);
	return error ? error : length;
}

static const struct file_operations set_operations = {
	.owner = THIS_MODULE,
	.write = set_write,
};

static enum hrtimer_restart log_sample(struct hrtimer *timer)
{
	s64 raw_ns, monotonic_ns, realtime_ns, period_ns;

	/* Interrupts are off: this is a hard timer. */
	raw_spin_lock(&clock_lock);
	system_clocks(&raw_ns, &monotonic_ns, &realtime_ns);
	log_at("sample", raw_ns, monotonic_ns, realtime_ns);
	period_ns = log_period_ns;
	raw_spin_unlock(&clock_lock);
	if (!period_ns)
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, ns_to_ktime(period_ns));
	return HRTIMER_RESTART;
}

static int log_show(struct seq_file *out, void *unused)
{
	unsigned int i;

	for (i = 0; i < READ_ONCE(logged); i++) {
		const struct line *line = &lines[i];

		seq_printf(out, "%s %lld %lld %lld %lld %lld\n", line->why, line->raw_ns, line->monotonic_ns,
			   line->realtime_ns, line->clock_ns[0], line->clock_ns[1]);
	}
	seq_printf(out, "left-out %u\n", READ_ONCE(left_out));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(log);

static void set_up_timer(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *),
			 enum hrtimer_mode mode)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, mode);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, mode);
	timer->function = function;
#endif
}

static int add_side(struct side *side)
{
	/* Locally administered, and the same at each start. */
	u8 address[ETH_ALEN] = { 2, 0, 0, 0, 'p', side->number + 1 };
	struct net_device *device;
	struct ptp_clock *clock;
	int error;

	side->parent = platform_device_register_simple("punctual_time", side->number, NULL, 0);
	if (IS_ERR(side->parent)) {
		error = PTR_ERR(side->parent);
		side->parent = NULL;
		return error;
	}
	side->about = clock_about;
	if (precise)
		side->about.getcrosststamp = clock_crosststamp;
	clock = ptp_clock_register(&side->about, &side->parent->dev);
	/* NULL from a kernel that was built without such clocks. */
	if (IS_ERR_OR_NULL(clock))
		return clock ? PTR_ERR(clock) : -EOPNOTSUPP;
	side->clock = clock;

	device = alloc_etherdev(sizeof(struct in_side));
	if (!device)
		return -ENOMEM;
	((struct in_side *)netdev_priv(device))->side = side;
	snprintf(device->name, IFNAMSIZ, "punctual%u", side->number);
	SET_NETDEV_DEV(device, &side->parent->dev);
	device->netdev_ops = &device_operations;
	device->ethtool_ops = &device_ethtool;
	device->priv_flags |= IFF_NO_QUEUE;
	eth_hw_addr_set(device, address);
	netif_carrier_off(device);
	error = register_netdev(device);
	if (error) {
		free_netdev(device);
		return error;
	}
	side->device = device;
	return 0;
}

static void remove_all(void)
{
	unsigned int i;

	debugfs_remove(folder);
	hrtimer_cancel(&log_timer);
	/* Nobody sends any more once both are gone; only then is the other end freed. */
	for (i = 0; i < SIDES; i++)
		if (sides[i].device)
			unregister_netdev(sides[i].device);
	for (i = 0; i < SIDES; i++) {
		struct side *side = &sides[i];

		hrtimer_cancel(&side->arrival);
		skb_queue_purge(&side->arriving);
		if (side->device)
			free_netdev(side->device);
		if (side->clock)
			ptp_clock_unregister(side->clock);
		if (side->parent)
			platform_device_unregister(side->parent);
	}
	vfree(lines);
}

static int __init pair_init(void)
{
	unsigned int i;
	int error;

	lines = vzalloc(array_size(MAX_LINES, sizeof(*lines)));
	if (!lines)
		return -ENOMEM;
	set_up_timer(&log_timer, log_sample, HRTIMER_MODE_REL_HARD);
	for (i = 0; i < SIDES; i++) {
		struct side *side = &sides[i];

		side->number = i;
		side->rx_filter = HWTSTAMP_FILTER_NONE;
		side->tx_type = HWTSTAMP_TX_OFF;
		spin_lock_init(&side->arriving_lock);
		skb_queue_head_init(&side->arriving);
		set_up_timer(&side->arrival, hand_over, HRTIMER_MODE_REL_SOFT);
		/* Both clocks are right until something else is set. */
		change_clock(side, CHANGE_OFFSET, 0);
	}
	for (i = 0; i < SIDES; i++) {
		error = add_side(&sides[i]);
		if (error)
			goto remove;
	}
	folder = debugfs_create_dir("punctual_time", NULL);
	if (IS_ERR(folder)) {
		error = PTR_ERR(folder);
		folder = NULL;
		goto remove;
	}
	debugfs_create_file("set", 0200, folder, NULL, &set_operations);
	debugfs_create_file("log", 0400, folder, NULL, &log_fops);
	return 0;

remove:
	remove_all();
	return error;
}

static void __exit pair_exit(void)
{
	remove_all();
}

module_init(pair_init);
module_exit(pair_exit);

MODULE_DESCRIPTION("Network interfaces and hardware clocks whose time is known, for the calibration of what reads clocks");
/* The kernel exports what it is made of only to modules under its own license. */
MODULE_LICENSE("GPL");
