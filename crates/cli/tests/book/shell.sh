# What runs in the background ends with the page.
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

# Runs one command as typed, and stops at a failure. A plan with changes exits with 2.
step() {
  case "$1" in
    *'&'|*' | '*|*--help*) ;;
    'plimsoll operator '*) starts "$1"; return ;;
  esac
  local status=0
  eval "$1" || status=$?
  ended "$status" "$1"
}

ended() {
  case "$1:$2" in
    0:*|2:"plimsoll plan "*) ;;
    *) echo "ended with $1: $2"; exit 1 ;;
  esac
}

# An operator runs until it is stopped: this one, until it says that it is ready. Several share this machine.
starts() {
  local line
  coproc OPERATOR { eval "exec $1 --install-crds --metrics-address=off --health-address=off" 2>&1; }
  local operator=$OPERATOR_PID
  while read -r -u "${OPERATOR[0]}" line; do
    echo "$line"
    if [[ $line == *"the operator is ready"* ]]; then
      kill "$operator"
      # The rest of its log.
      cat <&"${OPERATOR[0]}" >/dev/null 2>&1
      wait "$operator" 2>/dev/null
      return
    fi
  done
  echo "did not start: $1"
  exit 1
}

# Keeps what a command prints in a file.
shows() {
  local status=0
  eval "$1" > "$2" 2>&1 || status=$?
  cat "$2"
  ended "$status" "$1"
}

shows_failure() {
  if eval "$1" > "$2" 2>&1; then
    echo "did not fail: $1"
    exit 1
  fi
}
