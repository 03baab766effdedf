# `systemctl` of a node whose only unit is its kubelet, which is started again whenever it ends.
# COMMAND is what runs; its output goes to the log that `journalctl` shows.
state=/run/kubelet.unit
for last; do :; done
# The first process of the node reaps nobody: what has ended stays as a zombie.
runs() {
  [ -s "$state/pid" ] || return 1
  case $(sed -n 's/^State:[[:space:]]*//p' "/proc/$(cat "$state/pid")/status" 2> /dev/null) in
    '' | Z*) return 1 ;;
  esac
}
stop() {
  rm -f "$state/wanted"
  while runs; do
    # The loop ends with what it waits for.
    kill "$(cat "$state/child")" "$(cat "$state/pid")" 2> /dev/null
    sleep 0.2
  done
}
start() {
  runs && return
  mkdir -p "$state"
  touch "$state/wanted"
  echo run >> "$state/runs"
  setsid sh -c '
    echo $$ > '$state'/pid
    while [ -e '$state'/wanted ]; do
      /run/bin/run-kubelet < /dev/null >> /var/log/kubelet.log 2>&1 &
      echo $! > '$state'/child
      wait $!
      sleep 2
    done' < /dev/null > /dev/null 2>&1 &
  while ! runs; do sleep 0.1; done
}
case "$1 $last" in
  "start kubelet") start ;;
  "stop kubelet") stop ;;
  "restart kubelet") stop; start ;;
  "show kubelet")
    echo LoadState=loaded
    if runs; then echo ActiveState=active; else echo ActiveState=inactive; fi
    echo "InvocationID=$(wc -l < $state/runs)" ;;
  show*) [ "$2" = kubelet ] && { runs && echo ActiveState=active || echo ActiveState=inactive; } ;;
esac
exit 0
