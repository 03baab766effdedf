#!/bin/sh
# Installs what is missing of the packages named, quietly. No daemon starts by it.
# usage: apt.sh PACKAGE...
set -eu

missing=""
for package in "$@"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

# Two tests may come here at the same time.
exec 9>/tmp/plimsoll-apt.lock
flock 9

# Maintainer scripts ask this file whether they may start a daemon; 101 says no.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi

export DEBIAN_FRONTEND=noninteractive
get() {
  # shellcheck disable=SC2086
  apt-get install -qq -y --no-install-recommends -o DPkg::Lock::Timeout=300 $missing >/dev/null
}
get 2>/dev/null || { apt-get update -qq >/dev/null && get; }
