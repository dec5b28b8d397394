/* Sends forged copies of a measured packet as fast as it can: flood INTERFACE PORT COUNT TO_PORT
 *
 * Takes one packet of 128 bytes of a run that leaves by INTERFACE to UDP port PORT, changes a byte that its tag covers (the last one of its
 * sequence number, byte 24 of the payload) and its destination to TO_PORT, and sends COUNT copies of that frame past the stack (AF_PACKET). Prints how many were sent and the
 * seconds that it took. IPv4 without options, no VLAN. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { IP = 14, UDP = IP + 20, PAYLOAD = UDP + 8, MEASURED = 128, LAST_OF_SEQUENCE = PAYLOAD + 23, BATCH = 64 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void put16(unsigned char *at, unsigned value)
{
    at[0] = value >> 8;
    at[1] = value & 255;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: flood INTERFACE PORT COUNT TO_PORT\n");
        return 2;
    }
    unsigned port = atoi(argv[2]), to_port = atoi(argv[4]);
    long count = atol(argv[3]);
    int socket_ = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
    struct sockaddr_ll link = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = if_nametoindex(argv[1])};
    if (socket_ < 0 || link.sll_ifindex == 0 || bind(socket_, (struct sockaddr *)&link, sizeof link) != 0) {
        perror(argv[1]);
        return 1;
    }
    unsigned char frame[2048];
    ssize_t length;
    double until = now() + 5;
    do {
        struct sockaddr_ll from;
        socklen_t size = sizeof from;
        length = recvfrom(socket_, frame, sizeof frame, 0, (struct sockaddr *)&from, &size);
        if (now() > until) {
            fprintf(stderr, "no packet to port %u within 5 s\n", port);
            return 1;
        }
    } while (length < PAYLOAD + MEASURED || frame[12] != 8 || frame[13] != 0 || frame[IP + 9] != 17 ||
             (unsigned)(frame[UDP + 2] << 8 | frame[UDP + 3]) != port);
    frame[LAST_OF_SEQUENCE] ^= 1;
    put16(frame + UDP + 2, to_port);
    /* No checksum: IPv4 allows that, and the forged bytes are to be found by the tag alone. */
    put16(frame + UDP + 6, 0);
    struct iovec bytes = {frame, length};
    struct mmsghdr batch[BATCH];
    memset(batch, 0, sizeof batch);
    for (int at = 0; at < BATCH; at++) {
        batch[at].msg_hdr.msg_iov = &bytes;
        batch[at].msg_hdr.msg_iovlen = 1;
    }
    long sent = 0;
    double begun = now();
    while (sent < count) {
        int done = sendmmsg(socket_, batch, count - sent < BATCH ? count - sent : BATCH, 0);
        if (done < 0) {
            perror("sendmmsg");
            return 1;
        }
        sent += done;
    }
    printf("%ld %.6f\n", sent, now() - begun);
    return 0;
}
