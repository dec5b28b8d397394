# The script of the calibration's guest, for busybox's sh. LOAD is 0 (idle) or 1 (under SCHED_OTHER load). SEED, a small
# number, shifts the injections relative to ticks and to the instrument's own drain: without a difference, boots of a
# deterministic machine would all give the same sample.
# It leaves its evidence in the current folder, which is in memory: writing to a console would depend on the host's timing.
set -u
inject=/sys/kernel/debug/punctual_inject
cpu=0
wakeup="punctual measure wakeup --cpus $cpu --priority 98 --interval 200us --align-to 200ms --interval-maximum 60s"

# A moment on the grid of 200 ms, at least $1 ms from now, in us of CLOCK_MONOTONIC.
from_now() {
	read -r up _ </proc/uptime
	echo $(((${up%.*} * 1000 + 1${up#*.} * 10 - 1000 + $1 + 199) / 200 * 200000))
}

# The $2-th of several expected wake-ups from $1 us on, one every $3 ms (us). Each length of a plan meets different ones of
# the 20 positions between two ticks of the kernel, including the tick itself.
wake() {
	echo $(($1 + $2 * $3 * 1000 + ($2 * 3 + $2 / 5 * 7 + SEED) % 20 * 200))
}

if [ "$LOAD" = 1 ]; then
	(while :; do dd if=/dev/zero of=/dev/null bs=64k count=200 2>/dev/null; done) &
	load1=$!
	(while :; do ls -lR /sys/class /proc/sys >/dev/null 2>&1; done) &
	load2=$!
fi
# Time for everything that is started before a measurement to be ready for the first injection (ms).
lead=$((1200 + 800 * LOAD))

# Both clocks at one moment, read independently of the instrument.
punctual-proof inject clock-step --at $(($(from_now 400) * 1000)) --by 0ns >epoch.truth

$wakeup --duration 2s --output quiet.json
cyclictest -m -t1 -p98 -a$cpu -i200 -D2 -q -N --secaligned >cyclictest.txt

# Interrupts off, from 10 us before an expected wake-up.
start=$(from_now $lead)
i=0
while [ $i -lt 50 ]; do
	for length in 20 50 200 1000 5000; do
		echo "irqs-off $cpu $((($(wake "$start" $i 40) - 10) * 1000)) $((length * 1000))"
		i=$((i + 1))
	done
done >plan
cat plan >$inject/plan
$wakeup --duration $((lead + 2400))ms --output irqs-off.json
cat $inject/log >irqs-off.truth
echo >$inject/plan

# A hog with higher priority than the instrument, from 50 us before an expected wake-up; 7.5 ms are 37.5 periods.
start=$(from_now $lead)
i=0
hogs=
while [ $i -lt 16 ]; do
	for length in 100us 2ms 20ms 7500us; do
		hogs="$hogs $((($(wake "$start" $i 80) - 50) * 1000)):$length"
		i=$((i + 1))
	done
done
punctual-proof inject hog --cpu $cpu --priority 99 $hogs >hog.truth &
injector=$!
$wakeup --duration $((lead + 1600))ms --output hog.json
wait $injector

# What must not delay a FIFO thread: a hog of lower priority, and softirqs, which run in a thread on PREEMPT_RT.
start=$(from_now $lead)
punctual-proof inject hog --cpu $cpu --priority 50 $(((start - 50) * 1000)):2ms $(((start + 100000 - 50) * 1000)):20ms >controls-hog.truth &
injector=$!
for i in 2 3 4; do
	echo "softirq $cpu $(((start + i * 100000 - 10) * 1000)) 5000000"
done >$inject/plan
$wakeup --duration $((lead + 800))ms --output controls.json
wait $injector
cat $inject/log >controls-softirq.truth
echo >$inject/plan

# Steps of CLOCK_REALTIME: the first one during a run on CLOCK_MONOTONIC, which must not be affected.
for step in "monotonic 250ms monotonic" "realtime 123456us forwards" "realtime -123456us backwards"; do
	set -- $step
	punctual-proof inject clock-step --at $((($(from_now $lead) + 123456) * 1000)) --by "$2" >"step-$3.truth" &
	injector=$!
	# In intervals, of which the one of the step is kept apart.
	${wakeup% --interval-maximum*} --interval-maximum 100ms --clock "$1" --duration $((lead + 600))ms --output "step-$3.json"
	wait $injector
done

# A loop that never sleeps would share the only CPU with the load at equal priority, so it is measured idle.
if [ "$LOAD" = 0 ]; then
	# On the only CPU a file that grows while the run goes on would be noise of its own: it is written at the end.
	punctual measure noise --cpus $cpu --duration 1s --json >noise-quiet.json
	# Multiples of the tick that do not divide the drain's 250 ms.
	start=$(($(from_now $lead) + SEED * 44000))
	i=0
	while [ $i -lt 15 ]; do
		for length in 20 50 200 1000 5000; do
			# 1.5 ms after a tick: injections of up to 2 ms meet none.
			echo "irqs-off $cpu $(((start + i * 60000 + 1500) * 1000)) $((length * 1000))"
			i=$((i + 1))
		done
	done >plan
	cat plan >$inject/plan
	hogs=
	while [ $i -lt 21 ]; do
		for length in 100us 2ms 20ms; do
			hogs="$hogs $(((start + i * 60000 + 1500) * 1000)):$length"
			i=$((i + 1))
		done
	done
	punctual-proof inject hog --cpu $cpu --priority 99 $hogs >noise-hog.truth &
	injector=$!
	punctual measure noise --cpus $cpu --duration $((lead + 2000))ms --json >noise.json
	wait $injector
	cat $inject/log >noise-irqs-off.truth
	echo >$inject/plan
fi
rm -f plan
if [ "$LOAD" = 1 ]; then
	# The last program that they started may run a little longer.
	kill $load1 $load2
fi
