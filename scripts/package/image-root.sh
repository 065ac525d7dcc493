#!/usr/bin/env bash
# Makes the root of the container image, within its first stage: the files of the Debian packages that the daemon uses, Node, and Trawl from
# its tarball. There is no package manager, no Perl and no shell but dash.
#
#   scripts/package/image-root.sh TARBALL ROOT
set -euo pipefail
tarball=$1 root=$2
here=$(dirname "$0")
packages=(base-files ca-certificates dash git libatomic1 libdeflate0 libstdc++6 openssh-client universal-ctags)

# What is in the closure of these packages, and neither read nor run: what configures packages, and Perl, in which git has commands that the
# daemon does not use.
unused='^(adduser|base-passwd|coreutils|debconf|debianutils|git-man|init-system-helpers|liberror-perl|libacl1|libattr1|libaudit.*|libbz2.*|libcap.*|libdb5.*|libdebconfclient0|libgdbm.*|libpam.*|libperl.*|libsemanage.*|libsepol2|libsystemd0|login.defs|mawk|openssl|openssl-provider-legacy|passwd|perl.*)$'

# With an empty record of what is installed, apt fetches the whole closure, and verifies it.
archives=$(mktemp -d)
mkdir "$archives/partial"
: >"$archives/status"
chmod -R a+rX "$archives"
apt-get install -y -qq --no-install-recommends --download-only -o Dir::State::status="$archives/status" -o Dir::Cache::archives="$archives" \
  -o APT::Sandbox::User=root "${packages[@]}"

mkdir -p "$root/var/lib/dpkg/status.d"
for archive in "$archives"/*.deb; do
  name=$(dpkg-deb -f "$archive" Package)
  if [[ $name =~ $unused ]]; then continue; fi
  dpkg-deb --fsys-tarfile "$archive" | tar -x -C "$root" --exclude='./usr/share/doc/*/*' --exclude=./usr/share/man --exclude=./usr/share/locale \
    --exclude=./usr/share/lintian --exclude=./usr/share/bash-completion --exclude=./usr/share/gitweb --exclude='./usr/lib/*/gconv'
  mkdir -p "$root/usr/share/doc/$name"
  dpkg-deb --fsys-tarfile "$archive" | tar -x -C "$root" --wildcards './usr/share/doc/*/copyright' 2>/dev/null || true
  # Where scanners look for the packages of an image without dpkg.
  dpkg-deb -f "$archive" >"$root/var/lib/dpkg/status.d/$name"
done
# Servers and clients of protocols that the daemon does not speak.
(cd "$root/usr/lib/git-core" && rm -f git-daemon git-http-backend git-http-fetch git-http-push git-imap-send git-shell scalar)
ln -sf ../../bin/git "$root/usr/lib/git-core/git"
rm -f "$root/usr/bin/git-shell" "$root/usr/bin/scalar" "$root/usr/bin/optscript"
# What the scripts of the packages would have made.
ln -s ctags-universal "$root/usr/bin/ctags"
ln -sf dash "$root/usr/bin/sh"
mkdir -p "$root/etc/ssl/certs"
find "$root/usr/share/ca-certificates" -name '*.crt' -print0 | sort -z | xargs -0 cat >"$root/etc/ssl/certs/ca-certificates.crt"
printf 'root:x:0:0:root:/:/bin/sh\ntrawl:x:10001:10001:Trawl:/var/lib/trawl:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\ntrawl:x:10001:\n' >"$root/etc/group"
printf 'passwd: files\ngroup: files\nhosts: files dns\n' >"$root/etc/nsswitch.conf"

install -m 755 "$(command -v node)" "$root/usr/bin/node"
strip --strip-unneeded "$root/usr/bin/node"

tar -xJf "$tarball" -C "$root" --strip-components=1 --wildcards '*/usr/lib/trawl' '*/usr/share/trawl' '*/usr/bin/trawl' '*/usr/share/doc/trawl/copyright'
install -m 644 config/trawl.jsonc "$root/usr/share/trawl/trawl.jsonc"
install -m 755 "$here/container-entry" "$root/usr/lib/trawl/container-entry"
install -m 644 "$here/container-health.mjs" "$root/usr/lib/trawl/container-health.mjs"
install -D -m 644 "$here/container.jsonc" "$root/etc/trawl/trawl.jsonc"
mkdir -p "$root-data" "$root/tmp" "$root/proc" "$root/sys" "$root/dev" "$root/run"
chmod 1777 "$root/tmp"

# Without one of its libraries a program fails only when it is first used.
for program in bin/node bin/git bin/ssh bin/ctags bin/sh lib/git-core/git-remote-http; do
  chroot "$root" "/usr/$program" --version >/dev/null 2>&1 </dev/null || code=$?
  # 127 is the loader's.
  if [ "${code:-0}" = 127 ]; then echo "failed: $program lacks a library in the image" >&2; exit 1; fi
done
du -sm "$root" | awk '{ print "root of the image: " $1 " MB" }'
