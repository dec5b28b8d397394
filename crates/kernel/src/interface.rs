//! Network interfaces of this process's network namespace: their numbers, names and addresses.

use std::ffi::{CStr, CString};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr;

/// An address of an interface that is up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceAddress {
    /// Name of the interface, such as `eth0`.
    pub interface: String,
    /// The address.
    pub address: IpAddr,
    /// Number of the interface for a link-local IPv6 address, 0 for every other.
    pub scope: u32,
    /// Whether it is the machine's loopback interface.
    pub is_loopback: bool,
}

/// The number of an interface (`if_nametoindex(3)`).
///
/// # Errors
/// Where there is no such interface.
pub fn index(name: &str) -> io::Result<u32> {
    let name = CString::new(name)?;
    // SAFETY: the pointer is to a string that ends with a zero and outlives the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// The name of an interface (`if_indextoname(3)`).
///
/// # Errors
/// Where there is no such interface.
pub fn name(index: u32) -> io::Result<String> {
    let mut buffer: [libc::c_char; libc::IF_NAMESIZE] = [0; libc::IF_NAMESIZE];
    // SAFETY: the buffer has the length that the function asks for.
    let name = unsafe { libc::if_indextoname(index, buffer.as_mut_ptr()) };
    if name.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it points into the buffer, where the function has written a string that ends with a zero.
    Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}

/// The IPv4 and IPv6 addresses of all interfaces that are up (`getifaddrs(3)`), in the kernel's order.
///
/// # Errors
/// Where the kernel does not list them.
pub fn addresses() -> io::Result<Vec<InterfaceAddress>> {
    let mut first: *mut libc::ifaddrs = ptr::null_mut();
    // SAFETY: the function stores the head of a list, which is freed below.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found = Vec::new();
    let mut next = first;
    // SAFETY: each pointer of the list is null or points to an entry that lives until `freeifaddrs`.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: as for the list itself.
        found.extend(unsafe { read(entry) });
        next = entry.ifa_next;
    }
    // SAFETY: the list is of `getifaddrs`, and nothing points into it any more.
    unsafe { libc::freeifaddrs(first) };
    Ok(found)
}

/// An entry of the list; `None` if it is down or has no IP address.
///
/// # Safety
/// The entry has to be of `getifaddrs`, not freed yet.
unsafe fn read(entry: &libc::ifaddrs) -> Option<InterfaceAddress> {
    let has = |flag: libc::c_int| entry.ifa_flags & flag.unsigned_abs() != 0;
    if !has(libc::IFF_UP) || entry.ifa_addr.is_null() {
        return None;
    }
    // SAFETY: every address begins with its family; it may be aligned less than the family's own type asks for.
    let family = unsafe { ptr::read_unaligned(entry.ifa_addr) }.sa_family;
    let (address, scope) = match libc::c_int::from(family) {
        libc::AF_INET => {
            // SAFETY: an address of this family has this form.
            let address = unsafe { ptr::read_unaligned(entry.ifa_addr.cast::<libc::sockaddr_in>()) };
            (IpAddr::V4(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr))), 0)
        }
        libc::AF_INET6 => {
            // SAFETY: an address of this family has this form.
            let address = unsafe { ptr::read_unaligned(entry.ifa_addr.cast::<libc::sockaddr_in6>()) };
            (IpAddr::V6(Ipv6Addr::from(address.sin6_addr.s6_addr)), address.sin6_scope_id)
        }
        _ => return None,
    };
    // SAFETY: the name is a string that ends with a zero.
    let label = unsafe { CStr::from_ptr(entry.ifa_name) }.to_string_lossy();
    // An IPv4 address may have a label, such as `eth0:1`, which the C library gives in the place of the name.
    let interface = label.split(':').next().unwrap_or_default().to_owned();
    Some(InterfaceAddress { interface, address, scope, is_loopback: has(libc::IFF_LOOPBACK) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_has_its_number_its_name_and_its_address() {
        let number = index("lo").unwrap();
        assert_eq!(name(number).unwrap(), "lo");
        let all = addresses().unwrap();
        let loopback = all.iter().find(|one| one.address == IpAddr::V4(Ipv4Addr::LOCALHOST)).unwrap();
        assert!(loopback.is_loopback && loopback.interface == "lo" && loopback.scope == 0, "{loopback:?}");
        assert!(
            all.iter().all(|one| one.scope == 0 || matches!(one.address, IpAddr::V6(ip) if ip.segments()[0] == 0xfe80))
        );
    }

    #[test]
    fn an_interface_that_does_not_exist_is_an_error() {
        assert!(index("no-such-iface").is_err() && index("a\0b").is_err());
        assert!(name(u32::MAX).is_err());
    }
}
