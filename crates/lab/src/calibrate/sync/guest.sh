# The script of the guest that calibrates readings of clocks, for busybox's sh. SEED, a small number, gives each boot other
# clocks. It leaves its evidence in the current folder, which is in memory.
set -u
set=/sys/kernel/debug/punctual_time/set
log=/sys/kernel/debug/punctual_time/log
# From one line of the module's log of the truth to the next (ns).
every=100000000

# measure NAME SOURCE DURATION: one run, with the truth of its time.
measure() {
	echo "0 log-every-ns $every" >$set
	usleep 100000
	punctual measure sync --source "$2" --duration "$3" --output "$1.json" >"$1.txt" 2>&1
	usleep 100000
	echo "0 log-every-ns 0" >$set
	cat $log >"$1.truth"
}

# later SECONDS LINES: changes something while a run goes on.
later() {
	(
		sleep "$1"
		echo "$2" >$set
	) &
}

# One clock is 37 s ahead of the system clock and runs nearly as fast; the other is years behind and slow by one part in a
# thousand.
rates="$((1500 + 2500 * SEED)) -1000000"
echo "$rates" >rates
set_clocks() {
	echo "0 offset-ns $((37000000000 + SEED * 111111111))
0 rate-error-ppb ${rates% *}
1 offset-ns -$(((SEED + 1) * 31557600123456789))
1 rate-error-ppb ${rates#* }" >$set
}

# 1. The hardware clocks, against the system clock. Each reading takes no time of its own; then 30 us, all of it before the
# register is read, or after it; then both clocks are latched at one moment.
set_clocks
measure phc-plain phc 20s
echo "0 read-before-ns 30000
1 read-after-ns 30000" >$set
measure phc-slow phc 20s
rmmod punctual_time
insmod /lab/modules/punctual_time.ko precise=1
set_clocks
measure phc-precise phc 10s
rmmod punctual_time
insmod /lab/modules/punctual_time.ko

# 2. ptp4l with hardware stamps. Its grand master is on TAI; the clock to steer is years away and slow by 20 ppm, or by one
# part in a thousand.
case $SEED in
0 | 2) transport=L2 ;;
*) transport=UDPv4 ;;
esac
case $SEED in
0 | 3) slow_ppb=-20000 ;;
*) slow_ppb=-1000000 ;;
esac
echo "1 offset-ns 37000000000
1 rate-error-ppb 2000
0 offset-ns -94672800000000000
0 rate-error-ppb $slow_ppb
0 delay-ns 10000
1 delay-ns 10000" >$set
cat >master.cfg <<END
[global]
network_transport $transport
priority1 100
logSyncInterval -3
logMinDelayReqInterval -3
logAnnounceInterval 0
uds_address /run/ptp4l-master
tx_timestamp_timeout 100
END
cat >slave.cfg <<END
[global]
network_transport $transport
slaveOnly 1
slave_event_monitor /run/ptp4l-events
tx_timestamp_timeout 100
END
# By its path: busybox's shell prefers its own.
ip=/bin/ip
$ip netns add master
$ip link set punctual1 netns master
$ip netns exec master $ip address add 10.7.0.1/24 dev punctual1
$ip netns exec master $ip link set punctual1 up
$ip address add 10.7.0.2/24 dev punctual0
$ip link set punctual0 up
$ip netns exec master ptp4l -H -m -f master.cfg -i punctual1 >master.log 2>&1 &
master=$!
sleep 8
ptp4l -H -m -f slave.cfg -i punctual0 >slave.log 2>&1 &
slave=$!
usleep 300000
measure ptp-lock ptp 25s
sleep 5
measure ptp-even ptp 30s
# 3 ms more one way: the servo moves the clock by half of that, and sees nothing wrong.
later 5 "1 delay-ns 3010000"
measure ptp-uneven ptp 60s
later 5 "0 step-ns 5000000"
measure ptp-step ptp 15s
kill $slave $master
wait $slave
sleep 1

# 3. phc2sys steers the system clock by a hardware clock that is 3 s ahead and fast by 7 ppm.
echo "0 offset-ns 3000000000
0 rate-error-ppb 7000" >$set
phc2sys -m -s /dev/ptp0 -c CLOCK_REALTIME -O 0 >phc2sys.log 2>&1 &
phc2sys=$!
sleep 20
measure phc2sys phc 30s
kill $phc2sys
uname -r >kernel
dmesg | tail -n 60 >dmesg.log
