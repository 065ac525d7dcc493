#!/usr/bin/env bash
# Boots the systemd of a Debian root as the first process of new namespaces, which systemd-test.sh creates. Limits what
# it can change on the host: it has its own devices, and /proc/sys and /sys are read-only.
#
#   scripts/systemd-boot.sh ROOT
set -euo pipefail
root=$1
mount --make-rprivate /
mount --bind "$root" "$root"
cd "$root"
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -o remount,bind,ro sys
mount -t tmpfs -o mode=755 tmpfs dev
while read -r name minor; do mknod -m 666 "dev/$name" c 1 "$minor"; done <<<$'null 3\nzero 5\nfull 7\nrandom 8\nurandom 9'
mknod -m 666 dev/tty c 5 0
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mkdir run/before
pivot_root . run/before
umount -l /run/before
exec env -i container=trawl-test PATH=/usr/sbin:/usr/bin:/sbin:/bin /usr/lib/systemd/systemd --system --show-status=0
