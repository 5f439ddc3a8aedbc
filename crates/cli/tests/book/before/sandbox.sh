plimsoll sandbox up --detach
eval "$(plimsoll sandbox env)"
kubectl() { plimsoll sandbox exec -- kubectl "$@"; }
