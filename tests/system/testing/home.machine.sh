# Replaces the parts of a machine that the commands of docs/guide/home.md and home-maintain.md change
# and a test must not: packages, users and services. tests/system/home.full-spec.ts sources it before
# each command.
# ROOT is the folder instead of `/`; the user of the server is `nobody`.
set -euo pipefail

sudo() { "$@"; }
useradd() { :; }
userdel() { :; }
apt-get() { mkdir -p "$ROOT/etc/caddy"; }
journalctl() { cat "$ROOT/log"; }
systemctl() {
  case "$*" in
    'restart caddy' | 'start caddy') start_caddy ;;
    'stop caddy') stop_process caddy.pid ;;
    'enable --now podcast-sync' | 'start podcast-sync') start_server ;;
    'disable --now podcast-sync' | 'stop podcast-sync') stop_process pid ;;
    *) return 1 ;;
  esac
}

start_caddy() {
  cat "$ROOT/options.caddy" "$ROOT/etc/caddy/Caddyfile" >"$ROOT/Caddyfile"
  caddy run --adapter caddyfile --config "$ROOT/Caddyfile" >"$ROOT/caddy.log" 2>&1 &
  echo $! >"$ROOT/caddy.pid"
}

# Starts the server as systemd does, with the folder, the user and the variables of the unit.
start_server() (
  setting() { sed -n "s|^$1=-*||p" "$ROOT/etc/systemd/system/podcast-sync.service"; }
  set -a
  . "$(setting EnvironmentFile)"
  cd "$(setting WorkingDirectory)"
  : >"$ROOT/log"
  as_user="setpriv --reuid $(setting User) --regid $(id -g nobody) --clear-groups"
  {
    exec >"$ROOT/log" 2>&1
    eval "HOME=/ exec $as_user $(setting ExecStart)"
  } &
  echo $! >"$ROOT/pid"
)

# Ends the process whose id is in a file, and waits for its end: stop_process FILE
stop_process() {
  kill -TERM "$(cat "$ROOT/$1")"
  tail --pid="$(cat "$ROOT/$1")" -f /dev/null
  rm "$ROOT/$1"
}
