# What a plan does on a node, in any POSIX shell with coreutils. Arguments: VERB ROOT SESSION STEP and
# what the verb needs. A content comes on stdin and leaves the node for nobody but the verb "read".
# Says lines "@word ..." and ends with "@done", or with "@stale|@refused|@failed WHY".
LC_ALL=C
export LC_ALL
umask 077
# Where it works is said by whoever asks, and by nothing that is set on the node.
verb=$1 root=$2 session=$3 step=$4
shift 4
home=$root/var/lib/plimsoll/$session/$step
kept=$home/kept
line='
'

say() { printf '@%s\n' "$*"; }
give_up() { # WORD WHY
  say "$*"
  exit 1
}
must() { "$@" || give_up failed "$1 does not work"; }
settle() { sync "$@" 2> /dev/null || sync; }

# Below the root of a machine that does not run, no link may lead out of it.
inside() { # PATH
  if [ -n "$root" ]; then
    way=$root rest=${1#/}
    while [ "$rest" != "${rest#*/}" ]; do
      way=$way/${rest%%/*} rest=${rest#*/}
      if [ -L "$way" ]; then give_up refused "$1: there is a link on its way"; fi
    done
  fi
}

# What is there: kind, sum and mode.
see() { # FILE
  kind=absent sum=- mode=-
  if [ -L "$1" ]; then
    kind=link
    sum=$(readlink "$1" | sha256sum) || give_up failed "${1#"$root"} cannot be read"
  elif [ -f "$1" ]; then
    kind=file
    sum=$(sha256sum < "$1") || give_up failed "${1#"$root"} cannot be read"
    mode=$(stat -c %a "$1") || give_up failed "${1#"$root"} cannot be read"
  elif [ -e "$1" ]; then
    give_up refused "${1#"$root"} is no file"
  fi
  sum=${sum%% *}
}

# What patterns mean now, one path a line.
expand() { # PATTERN...
  found=
  for pattern in "$@"; do
    inside "$pattern"
    IFS=
    for one in "$root${pattern%/*}"/${pattern##*/}; do
      if [ -e "$one" ] || [ -L "$one" ]; then
        case $one in *"$line"*) give_up refused "$pattern: a name has a line break in it" ;; esac
        found=$found${one#"$root"}$line
      fi
    done
    unset IFS
  done
}

tell_kept() {
  if [ -e "$kept/manifest" ]; then
    say keeps
    while IFS= read -r entry; do say "kept $entry"; done < "$kept/manifest"
  fi
}

# Copies with owner, mode and label, and their sums. The first copy is the one that counts.
keep() { # PATH...
  for path in "/var/lib/plimsoll/$session/$step/kept" "$@"; do inside "$path"; done
  (umask 022 && mkdir -p "$root/var/lib") || give_up failed "mkdir does not work"
  must mkdir -p "$home"
  if [ ! -e "$kept" ]; then
    must rm -rf "$kept.part"
    must mkdir -p "$kept.part/files"
    : > "$kept.part/manifest" || give_up failed "nothing can be written below /var/lib/plimsoll"
    for path in "$@"; do
      see "$root$path"
      was="$kind $sum $mode"
      if [ "$kind" != absent ]; then
        must mkdir -p "$kept.part/files${path%/*}"
        must cp -a "$root$path" "$kept.part/files$path"
        see "$kept.part/files$path"
        if [ "$kind $sum $mode" != "$was" ]; then give_up stale "$path changes while it is copied"; fi
      fi
      must printf '%s %s\n' "$was" "$path" >> "$kept.part/manifest"
      if [ "${was%% *}" = file ]; then settle "$kept.part/files$path"; fi
    done
    settle "$kept.part/manifest" "$kept.part"
    must mv "$kept.part" "$kept"
    settle "$home"
  fi
}

keep_file() { # PATH [COPIES]
  found=
  if [ -n "${2:-}" ]; then expand "$2"; fi
  IFS=$line
  set -f
  # shellcheck disable=SC2086
  set -- "$1" $found
  set +f
  unset IFS
  keep "$@"
}

needs_kept() { if [ ! -e "$kept/manifest" ]; then give_up failed "nothing was kept before"; fi; }
is_kept() { # PATH, after see
  grep -Fxq -e "$kind $sum $mode $1" "$kept/manifest"
}
note() { # NAME TEXT: for good, before anything rests on it
  must printf '%s\n' "$2" > "$home/$1.part"
  settle "$home/$1.part"
  must mv "$home/$1.part" "$home/$1"
  settle "$home"
}
noted() { # NAME
  if [ -e "$home/$1" ]; then cat "$home/$1"; fi
}
beside() { # FILE: the name of what is not yet there
  printf '%s/.plimsoll-%s-%s' "${1%/*}" "$session" "$step"
}
label() { # FILE
  if command -v restorecon > /dev/null 2>&1 && [ -z "$root" ]; then restorecon "$1" 2> /dev/null; fi
  return 0
}

# The content is beside the file, whole; now it takes its place.
put() { # PATH MODE SUM
  file=$root$1 temp=$(beside "$root$1")
  see "$temp"
  if [ "$kind $sum" != "file $3" ]; then
    rm -f "$temp"
    give_up failed "the content of $1 did not arrive whole"
  fi
  see "$file"
  if ! is_kept "$1" && [ "$kind $sum $mode" != "$(noted wrote)" ]; then
    rm -f "$temp"
    give_up stale "$1 was changed by somebody else"
  fi
  if [ "$kind" = file ]; then
    chown --reference="$file" "$temp" 2> /dev/null || [ "$(id -u)" != 0 ] || give_up failed "chown does not work"
    chcon --reference="$file" "$temp" 2> /dev/null
  fi
  must chmod "$2" "$temp"
  note wrote "file $3 $2"
  settle "$temp"
  must mv -fT "$temp" "$file"
  label "$file"
  settle "${file%/*}"
}

restore() { # KIND SUM MODE PATH
  temp=$(beside "$root$4")
  must rm -f "$temp"
  if [ "$1" = absent ]; then
    must rm -f "$root$4"
  else
    see "$kept/files$4"
    if [ "$kind $sum $mode" != "$1 $2 $3" ]; then give_up failed "the copy of $4 was changed: $kept/files$4"; fi
    must cp -a "$kept/files$4" "$temp"
    if [ "$1" = file ]; then settle "$temp"; fi
    must mv -fT "$temp" "$root$4"
  fi
  settle "$root${4%/*}"
}

# What was cut off in the middle is taken back first, so that from outside a step is done or not.
recover_file() { # PATH
  if [ -e "$home" ]; then must rm -f "$(beside "$root$1")"; fi
}
recover_files() { # PATH...
  if [ ! -e "$home/begun" ]; then return; fi
  if [ ! -e "$home/did" ]; then
    for path in "$@"; do
      see "$root$path"
      # Somebody else was here meanwhile; that is told, and left.
      if ! is_kept "$path"; then return; fi
    done
    restore_missing
  fi
  must rm -f "$home/begun"
  settle "$home"
}
restore_missing() {
  while read -r k s m p; do
    see "$root$p"
    if [ "$kind" = absent ]; then restore "$k" "$s" "$m" "$p"; fi
  done < "$kept/manifest"
}

look_at_file() { # PATH [SOURCE]
  inside "$1"
  recover_file "$1"
  see "$root$1"
  say "present $kind $sum $mode $1"
  if [ -e "$home/wrote" ]; then say "wrote $(noted wrote)"; fi
  if [ -n "${2:-}" ]; then
    inside "$2"
    see "$root$2"
    say "source $kind $sum $mode $2"
  fi
  tell_kept
}

write_file() { # PATH MODE SUM [SOURCE]
  inside "$1"
  needs_kept
  sum_of_content=$3
  if [ ! -d "$root${1%/*}" ]; then give_up failed "there is no folder ${1%/*}"; fi
  temp=$(beside "$root$1")
  must rm -f "$temp"
  if [ -n "${4:-}" ]; then
    inside "$4"
    see "$root$4"
    if [ "$kind" != file ]; then give_up failed "there is no $4"; fi
    sum_of_content=$sum
    # What is lent is known by its certificate when it is taken back, whatever stands here by then.
    borrowed=$(borrowed_in "$root$4")
    if [ -z "$borrowed" ]; then give_up failed "$4 has no certificate in it"; fi
    note borrowed "$borrowed"
    cat "$root$4" > "$temp" || give_up failed "$1 cannot be written"
  else
    cat > "$temp" || give_up failed "$1 cannot be written"
  fi
  put "$1" "$2" "$sum_of_content"
}

undo_file() { # PATH [COPIES]
  inside "$1"
  if [ ! -e "$kept/manifest" ]; then return; fi
  rm -f "$(beside "$root$1")"
  see "$root$1"
  if ! is_kept "$1" && [ "$kind $sum $mode" != "$(noted wrote)" ]; then
    give_up stale "$1 was changed by somebody else since"
  fi
  # Also where somebody has put the file itself back: the kubelet speaks by its copies.
  if [ -n "${2:-}" ]; then
    borrowed=$(noted borrowed)
    each take_copies_away "$2"
    see "$root$1"
  fi
  if ! is_kept "$1"; then
    while read -r k s m p; do
      if [ "$p" = "$1" ]; then restore "$k" "$s" "$m" "$p"; fi
    done < "$kept/manifest"
  fi
  must rm -f "$home/wrote"
  settle "$home"
}

# A certificate as one line without its frame, to be compared.
certificate() { # of stdin, the first
  sed -n '/BEGIN CERTIFICATE/,/END CERTIFICATE/p' | sed '/END CERTIFICATE/q' | grep -v CERTIFICATE | tr -d '[:space:]'
}
borrowed_in() { # KUBECONFIG
  sed -n 's/^ *client-certificate-data: *//p' "$1" | head -n 1 | tr -d "\"'" | base64 -d 2> /dev/null | certificate
}

# A kubelet copies certificate and key of its kubeconfig into its own store when it starts, and speaks by them
# from then on. What it was lent goes with the kubeconfig; an identity that it got for itself stays.
take_copies_away() { # PATH...
  for path in "$@"; do
    see "$root$path"
    if [ -n "$borrowed" ] && [ "$kind" = file ] && ! is_kept "$path" && [ "$(certificate < "$root$path")" = "$borrowed" ]; then
      must rm -f "$root$path"
    fi
  done
  for path in "$@"; do
    see "$root$path"
    if [ "$kind" = link ] && ! is_kept "$path" && ! leads_somewhere "$path"; then must rm -f "$root$path"; fi
  done
  restore_missing
}
leads_somewhere() { # LINK
  to=$(readlink "$root$1")
  case $to in
    /*) [ -e "$root$to" ] ;;
    *) [ -e "$root${1%/*}/$to" ] ;;
  esac
}

look_at_files() { # PATH...
  for path in "$@"; do
    see "$root$path"
    say "present $kind $sum $mode $path"
  done
  if [ -e "$home/did" ]; then say did; fi
  tell_kept
}

retire() { # PATH...
  needs_kept
  for path in "$@"; do
    see "$root$path"
    is_kept "$path" || give_up stale "$path was changed by somebody else"
  done
  note begun retire
  for path in "$@"; do
    must rm -f "$root$path"
    settle "$root${path%/*}"
  done
  note did retire
  must rm -f "$home/begun"
}

undo_files() { # PATH...
  if [ ! -e "$kept/manifest" ]; then return; fi
  for path in "$@"; do
    see "$root$path"
    is_kept "$path" || give_up stale "$path was made anew since"
  done
  restore_missing
  must rm -f "$home/did" "$home/begun"
  settle "$home"
}

state_of() { # UNIT: sets loaded, active, run
  shown=$(systemctl show --property=LoadState --property=ActiveState --property=InvocationID -- "$1") ||
    give_up failed "systemctl does not answer"
  loaded= active= run=
  while IFS='=' read -r key value; do
    case $key in
      LoadState) loaded=$value ;;
      ActiveState) active=$value ;;
      InvocationID) run=$value ;;
    esac
  done << END
$shown
END
  if [ "$loaded" != loaded ]; then give_up failed "$1 is no unit of this node ($loaded)"; fi
}

look_at_unit() { # UNIT
  state_of "$1"
  say "unit $active $run"
  if [ -e "$home/unit" ]; then say "was $(noted unit)"; fi
  if [ -e "$home/did" ]; then say did; fi
}

keep_unit() { # UNIT
  inside "/var/lib/plimsoll/$session/$step/unit"
  state_of "$1"
  must mkdir -p "$home"
  if [ ! -e "$home/unit" ]; then note unit "$active"; fi
}

change_unit() { # START|STOP|RESTART UNIT
  systemctl "$1" -- "$2" || give_up failed "systemctl $1 $2 does not work"
  must mkdir -p "$home"
  note did "$1"
  state_of "$2"
  say "unit $active $run"
}

undo_unit() { # UNIT
  state_of "$1"
  case $(noted unit):$active in
    active:active | activating:active | reloading:active) ;;
    active:* | activating:* | reloading:*) systemctl start -- "$1" || give_up failed "systemctl start $1 does not work" ;;
    inactive:active | failed:active) systemctl stop -- "$1" || give_up failed "systemctl stop $1 does not work" ;;
  esac
  must rm -f "$home/did"
  state_of "$1"
  say "unit $active $run"
}

each() { # COMMAND: with what the patterns mean now
  command=$1
  shift
  expand "$@"
  IFS=$line
  set -f
  # shellcheck disable=SC2086
  set -- $found
  set +f
  unset IFS
  "$command" "$@"
}

if [ -z "$root" ] && [ "$(id -u)" != 0 ]; then
  give_up refused "this needs root on the node, and sudo wants a password"
fi
case $verb in
  look-file) look_at_file "$@" ;;
  keep-file)
    keep_file "$@"
    tell_kept
    ;;
  keep-files)
    each keep "$@"
    tell_kept
    ;;
  write-file) write_file "$@" ;;
  undo-file) undo_file "$@" ;;
  look-files)
    each recover_files "$@"
    each look_at_files "$@"
    ;;
  retire-files) each retire "$@" ;;
  undo-files) each undo_files "$@" ;;
  look-unit) look_at_unit "$@" ;;
  keep-unit) keep_unit "$@" ;;
  change-unit) change_unit "$@" ;;
  undo-unit) undo_unit "$@" ;;
  read)
    inside "$1"
    if [ ! -f "$root$1" ]; then give_up failed "there is no $1"; fi
    exec cat "$root$1"
    ;;
  *) give_up failed "no such verb: $verb" ;;
esac
say done
