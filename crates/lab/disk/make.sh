#!/bin/sh
# Makes the file system of an installed Debian. Runs as root of a mount and a process namespace of its own, so that
# nothing of it outlives the process that made them, and the tree, which is in memory, leaves nothing behind.
#
# SUITE, SOURCES, PACKAGES (with commas): what apt is to install, and from where
# FILES: files of the lab's own that go in; SETTINGS: apt settings for reaching the mirror
# WORK: a folder for the tree; OUT: where the results go
# UUID, OFFSET (bytes), BLOCKS (of 4096 bytes): the file system in OUT/disk.raw
set -eu

say() { echo "lab: $*" >&2; }

mount -t tmpfs -o mode=0755 punctual-lab "$WORK"
mkdir "$WORK/tmp"
tree=$WORK/tree

export TMPDIR="$WORK/tmp" LC_ALL=C.UTF-8

# The lab's files are there before the packages, which read some of them, and again after the last clean-up.
mmdebstrap --mode=root --variant=apt --format=directory --aptopt="$SETTINGS" --include="$PACKAGES" \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --setup-hook='cp -a "$FILES/." "$1/"' "$SUITE" "$tree" "$SOURCES"
cp -a "$FILES/." "$tree/"
rm -f "$tree/etc/apt/apt.conf.d/99mmdebstrap" "$tree/etc/dpkg/dpkg.cfg.d/99mmdebstrap"

say "asking the package manager what it thinks of it"
odd=$(chroot "$tree" dpkg --audit)
[ -z "$odd" ] || { echo "E: dpkg --audit: $odd" >&2; exit 1; }
# What was left out on purpose is known to be missing.
odd=$(chroot "$tree" dpkg --verify | grep -Ev '^missing .* /usr/share/(man|doc|locale)(/|$)' || true)
[ -z "$odd" ] || { echo "E: dpkg --verify: $odd" >&2; exit 1; }

# Scripts of update-grub for what no guest has; each costs an emulated machine seconds (/etc/grub.d/README).
chmod -x "$tree"/etc/grub.d/05_debian_theme "$tree"/etc/grub.d/20_linux_xen "$tree"/etc/grub.d/30_os-prober \
    "$tree"/etc/grub.d/30_uefi-firmware
[ ! -e "$tree/etc/grub.d/25_bli" ] || chmod -x "$tree/etc/grub.d/25_bli"

# What the first sectors need to find /boot/grub; the rest they load from there.
mkdir -p "$tree/boot/grub/i386-pc"
cp "$tree"/usr/lib/grub/i386-pc/*.mod "$tree"/usr/lib/grub/i386-pc/*.lst "$tree/boot/grub/i386-pc/"
chroot "$tree" grub-mkimage -O i386-pc -o /boot/grub/i386-pc/core.img -p '(hd0,msdos1)/boot/grub' \
    biosdisk part_msdos ext2
cp "$tree/usr/lib/grub/i386-pc/boot.img" "$tree/boot/grub/i386-pc/core.img" "$OUT/"

say "writing the file system"
rm -rf "$tree"/dev/* "$tree"/tmp/*
mke2fs -q -F -t ext4 -b 4096 -m 0 -J size=16 -U "$UUID" -E "offset=$OFFSET,root_owner=0:0" -d "$tree" \
    "$OUT/disk.raw" "$BLOCKS"
