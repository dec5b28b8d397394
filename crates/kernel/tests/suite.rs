//! One program for all tests of what the kernel does: each test program is linked anew, which takes longer than most tests.

mod flight;
mod packet_interface;
mod packet_link;
mod packet_other_kernels;
mod packet_udp;
mod packet_xdp;
mod two_namespaces;
