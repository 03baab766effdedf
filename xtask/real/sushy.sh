#!/bin/sh
# Installs the Redfish emulator of OpenStack once, and prints where it is.
set -eu

version=2.2.0
folder="${PLIMSOLL_LAB:-$HOME/.cache/plimsoll-lab}/sushy-$version"
emulator="$folder/bin/sushy-emulator"

if [ ! -e "$folder/.complete" ]; then
    sh "$(dirname "$0")/apt.sh" python3 python3-venv >&2
    mkdir -p "$(dirname "$folder")"
    # Two callers at once: the second waits, and finds it done.
    exec 9>"$folder.lock"
    if command -v flock >/dev/null; then flock 9; fi
    if [ ! -e "$folder/.complete" ]; then
        rm -rf "$folder"
        python3 -m venv "$folder" >&2
        "$folder/bin/pip" install --quiet --disable-pip-version-check "sushy-tools==$version" bcrypt >&2
        touch "$folder/.complete"
    fi
fi

test -x "$emulator" || { echo "$emulator is missing" >&2; exit 1; }
echo "$emulator"
