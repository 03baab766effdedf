# The first process of a node. It has namespaces of its own for mounts, network, processes and the
# host name, so when it ends, all that ran in them ends as well, and their mounts and links are gone.
# In the environment: NODE and its ADDRESS, GATEWAY and LINK on the side of the one who started it,
# ROOT with what the node has below etc, var and run, CGROUP, and the program KUBELET.
# On fd 3 the network namespace from which it was started. On stdin: what is to be done, by lines.
set -eu

hostname "$NODE"
ip link add eth0 type veth peer name "$LINK" netns /proc/self/fd/3
nsenter --net=/proc/self/fd/3 ip address add "$GATEWAY/30" dev "$LINK"
nsenter --net=/proc/self/fd/3 ip link set "$LINK" up
exec 3<&-
ip address add "$ADDRESS/30" dev eth0
ip link set eth0 up
ip link set lo up
ip route add default via "$GATEWAY"

# The kubelet sets these, and they are those of the whole machine: it gets copies.
mkdir -p "$ROOT/run/sysctl" "$ROOT/run/bin"
for name in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops \
  kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
  copy=$ROOT/run/sysctl/$(basename "$name")
  cat "/proc/sys/$name" > "$copy"
  mount --bind "$copy" "/proc/sys/$name"
done
: > "$ROOT/run/bin/kubelet"
mount --bind "$KUBELET" "$ROOT/run/bin/kubelet"
for folder in etc run var; do mount --rbind "$ROOT/$folder" "/$folder"; done
# Nobody leaves anything elsewhere.
mount -o remount,bind,ro /
cd /

# Every version 1 hierarchy has a group of its own for what runs on the node.
for controller in /sys/fs/cgroup/*/; do
  [ -e "$controller/cgroup.clone_children" ] || continue
  mkdir "$controller$CGROUP"
  for set in cpuset.cpus cpuset.mems; do
    if [ -e "$controller$set" ]; then cat "$controller$set" > "$controller$CGROUP/$set"; fi
  done
done

containerd --config /etc/containerd/config.toml < /dev/null > /var/log/containerd.log 2>&1 &
socket=/run/containerd/containerd.sock
tries=0
until ctr -a $socket version > /dev/null 2>&1; do
  tries=$((tries + 1))
  [ $tries -lt 300 ] || { echo "containerd does not answer" >&2; exit 1; }
  sleep 0.1
done

# An image of one static program, as `docker save` would write it.
mkdir -p /run/image/layer/bin /run/image/layer/tmp
cd /run/image
cp "$(command -v busybox)" layer/bin/busybox
for applet in cat echo seq sh sleep touch true; do ln -s busybox "layer/bin/$applet"; done
tar -C layer -cf layer.tar .
layer=$(sha256sum < layer.tar | cut -d ' ' -f 1)
printf '{"architecture":"amd64","os":"linux","config":{"Env":["PATH=/bin"],"Cmd":["/bin/sleep","100000"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' "$layer" > config.json
printf '[{"Config":"config.json","RepoTags":["%s"],"Layers":["layer.tar"]}]' "$IMAGE" > manifest.json
tar -cf image.tar manifest.json config.json layer.tar
ctr -a $socket -n k8s.io images import image.tar
cd /
touch /run/prepared

cat > /run/bin/run-kubelet << end
#!/bin/sh
exec /run/bin/kubelet --config=/etc/kubernetes/kubelet.conf --kubeconfig=/var/lib/kubelet/kubeconfig \\
  --cert-dir=/var/lib/kubelet/pki --volume-plugin-dir=/var/lib/kubelet/plugins \\
  --container-runtime=remote --container-runtime-endpoint=unix://$socket \\
  --image-service-endpoint=unix://$socket --pod-infra-container-image="$IMAGE" \\
  --node-ip="$ADDRESS" \$(cat /run/bin/more-arguments 2> /dev/null)
end
chmod +x /run/bin/run-kubelet

kubelet=
while read -r command; do
  case $command in
    start)
      /run/bin/run-kubelet < /dev/null >> /var/log/kubelet.log 2>&1 &
      kubelet=$!
      ;;
    sshd)
      mkdir -p /run/sshd
      /usr/sbin/sshd -f /etc/ssh/sshd_config -E /var/log/sshd.log
      touch /run/done
      ;;
    freeze)
      kill -STOP "$kubelet"
      touch /run/done
      ;;
    kill)
      kill -KILL "$kubelet"
      wait "$kubelet" || true
      touch /run/done
      ;;
  esac
done
