# Read on a node, in any POSIX shell. Writes nothing there. What it finds goes to stdout as blocks:
#   @file PATH
#   (what was found, then a line "@@STATUS" of the command that found it; gzip, base64)
#   @end
# Private keys stay on the node: of files that hold them only certificates and names are taken.
# Set by tests alone. It moves what is read and nothing that is changed: hands.sh does not know it.
root=${PLIMSOLL_ROOT:-}
lines=${PLIMSOLL_LINES:-20000}
seconds=${PLIMSOLL_SECONDS:-20}
LC_ALL=C
export LC_ALL

item() { # PATH COMMAND...
  path=$1
  shift
  printf '@file %s\n' "$path"
  { "$@" 2> /dev/null; printf '\n@@%s\n' "$?"; } | gzip -c | base64
  printf '@end\n'
}
has() { command -v "$1" > /dev/null 2>&1; }
# A command that hangs, on a dead disk or mount or a runtime that does not answer, is not waited for.
if has timeout; then soon() { timeout -k 5 "$seconds" "$@"; }; else soon() { "$@"; }; fi
run() { # PATH COMMAND...
  path=$1
  shift
  item "$path" soon "$@"
}
file() { if [ -f "$root/$1" ]; then item "$1" soon head -c 4194304 "$root/$1"; fi; }
certificates() { soon sed -n '/-----BEGIN CERTIFICATE-----/,/-----END CERTIFICATE-----/p' "$1"; }
kubeconfig() { soon sed -E 's/^( *(- )?(client-key-data|token|password): ).*/\1removed/' "$1"; }
nothing() { :; }

# Who it is, and what stands on its disk.
file etc/hostname
run commands/hostname hostname
run commands/uid id -u
for name in etc/kubernetes/kubeconfig var/lib/kubelet/kubeconfig; do
  if [ -f "$root/$name" ]; then item "$name" kubeconfig "$root/$name"; fi
done
for found in "$root"/var/lib/kubelet/pki/kubelet-client-*.pem "$root"/var/lib/kubelet/pki/kubelet-server-*.pem; do
  if [ -f "$found" ]; then item "${found#"$root"/}" certificates "$found"; fi
done
file etc/kubernetes/apiserver-url.env
file etc/machine-config-daemon/currentconfig
file etc/mcs-machine-config-content.json
file etc/resolv.conf
file etc/chrony.conf
file etc/.ignition-result.json
for folder in etc/kubernetes etc/kubernetes/manifests etc/kubernetes/cni/net.d var/lib/kubelet etc/machine-config-daemon; do
  for found in "$root/$folder"/*; do
    name=${found#"$root"/}
    case $name in
      */kubeconfig | */currentconfig | */apiserver-url.env | *.pem) ;;
      *) if [ -f "$found" ]; then item "$name" nothing; fi ;;
    esac
  done
done
# That a folder was looked into is told by this, also of an empty one; and so that it could not be.
for folder in etc/kubernetes etc/kubernetes/manifests etc/kubernetes/cni/net.d var/lib/kubelet \
  var/lib/kubelet/pki etc/machine-config-daemon; do
  if [ -d "$root/$folder" ] && ! { [ -r "$root/$folder" ] && [ -x "$root/$folder" ]; }; then
    item "$folder/.denied" false
  fi
done
for folder in etc/kubernetes var/lib/kubelet etc/machine-config-daemon; do
  if [ -d "$root/$folder" ]; then item "$folder/.seen" nothing; fi
done

# What runs on it, and what the machine says of itself.
run commands/date date -u +%Y-%m-%dT%H:%M:%SZ
run commands/df df -Pl
run commands/uptime cat /proc/uptime
if has ip; then
  run commands/ip_addr ip -j address
  run commands/ip_route ip -j route
  run commands/ip6_route ip -6 -j route
  run commands/ip_neigh ip -j neighbour
fi
if has chronyc; then
  run commands/chronyc_tracking chronyc tracking
  run commands/chronyc_sources chronyc -n sources
fi
if has crictl; then run commands/crictl_ps crictl ps -a -o json; fi
if has systemctl; then
  run commands/failed_units systemctl list-units --failed --no-legend --plain --no-pager
  run commands/kubelet_show systemctl show kubelet crio NetworkManager --property=Id,ActiveState,SubState,Result,NRestarts
fi
if has journalctl; then
  seconds=$((seconds * 3))
  for unit in kubelet crio NetworkManager chronyd nodeip-configuration ovs-configuration \
    machine-config-daemon-firstboot machine-config-daemon-pull bootkube release-image \
    release-image-pivot node-image-pull node-image-overlay approve-csr progress ironic; do
    run "journal/$unit.log" journalctl -u "$unit" -n "$lines" --utc --no-pager --quiet -o short-precise
  done
  run journal/kernel.log journalctl -k -n 5000 --utc --no-pager --quiet -o short-precise
fi

# On a master: what etcd says of itself, by the client that runs beside it.
if has crictl; then
  client=$(soon crictl ps --name '^etcdctl$' --state running -q 2> /dev/null | head -n 1)
  if [ -n "$client" ]; then
    for question in 'member list' 'endpoint health' 'endpoint status' 'alarm list'; do
      name=$(printf '%s' "$question" | tr ' ' '_')
      # shellcheck disable=SC2086
      run "etcd_info/$name.json" crictl exec "$client" etcdctl $question -w json
    done
  fi
fi
printf '@done\n'
