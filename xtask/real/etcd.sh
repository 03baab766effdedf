#!/bin/bash
# Unpacks etcd 3.5 with its client from Debian's packages, once, and prints the folder of both.
set -euo pipefail
home=${PLIMSOLL_LAB:-$HOME/.cache/plimsoll-lab}/etcd-3.5
mkdir -p "$home"
exec 9> "$home/lock"
flock 9
if [ -x "$home/etcd" ] && [ -x "$home/etcdctl" ]; then echo "$home"; exit 0; fi
work=$(mktemp -d "$home/build.XXXXXX")
trap 'rm -rf "$work"' EXIT
{
  cd "$work"
  mkdir -p lists/partial cache/archives/partial
  : > status
  mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -m1 '/debian$')
  echo "deb $mirror trixie main" > sources.list
  own=(-q -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
       -o "Dir::State::Lists=$work/lists" -o "Dir::State::status=$work/status"
       -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root)
  apt-get "${own[@]}" update
  apt-get "${own[@]}" download etcd-server etcd-client
  for package in *.deb; do dpkg-deb -x "$package" unpacked; done
  cp unpacked/usr/bin/etcd unpacked/usr/bin/etcdctl unpacked/usr/bin/etcdutl "$home/"
} > "$home/build.log" 2>&1 || { tail -n 30 "$home/build.log" >&2; exit 1; }
echo "$home"
