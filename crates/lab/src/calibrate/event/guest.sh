# The script of the guest that calibrates hand-overs between threads, for busybox's sh. LOAD is 0 (idle) or 1 (under
# SCHED_OTHER load); SEED, a small number, moves the injections. It leaves its evidence in the current folder, which is in
# memory.
set -u
inject=/sys/kernel/debug/punctual_inject
cpu=0
# The names of a pair's threads.
woken=punctual-e0
waker=punctual-k0

if [ "$LOAD" = 1 ]; then
	(while :; do dd if=/dev/zero of=/dev/null bs=64k count=200 2>/dev/null; done) &
	load1=$!
	(while :; do ls -lR /sys/class /proc/sys >/dev/null 2>&1; done) &
	load2=$!
fi
# Time for the measurement to start before the first injection (ms).
lead=$((600 + 600 * LOAD))

for kind in eventfd pipe futex futex-pi signal mqueue condvar; do
	read -r up _ </proc/uptime
	# In us of CLOCK_MONOTONIC.
	start=$(((${up%.*} * 1000 + 1${up#*.} * 10 - 1000 + lead) * 1000 + SEED * 300))
	i=0
	while [ $i -lt 24 ]; do
		for length in 20 50 200 1650 4950; do
			# One of six delays the waker's own wake-up, which ends before the hand-over begins.
			thread=$woken
			[ $((i % 6)) = 5 ] && thread=$waker
			# The distance is no multiple of a tick, and long enough for the longest to be over.
			echo "waking $cpu $(((start + i * 13000) * 1000)) $((length * 1000)) $thread"
			i=$((i + 1))
		done
	done >plan
	cat plan >$inject/plan
	punctual measure event --kind $kind --cpus $cpu --priority 98 --interval 1100us --duration $((lead + 300))ms \
		--interval-maximum 60s --output $kind.json >$kind.txt 2>&1
	grep " $woken\$" $inject/log | cut -d ' ' -f 1-6 >$kind.truth
	grep " $waker\$" $inject/log | cut -d ' ' -f 1-6 >$kind-before.truth
	echo >$inject/plan
done
rm -f plan
if [ "$LOAD" = 1 ]; then
	# The last program that they started may run a little longer.
	kill $load1 $load2
fi
