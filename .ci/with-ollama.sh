#!/usr/bin/env bash
# Runs a command while a real Ollama server is up, and stops the server whatever happens.
#
#   with-ollama.sh DIR COMMAND...      DIR as made by real-ollama.sh
#
# The server listens on a free loopback port, keeps everything under DIR and reaches nothing else.
# The command finds its address in OLLAMA_HOST (host:port); its exit code is ours.
set -euo pipefail
dir=$(cd "${1:?DIR}" && pwd)
shift

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export OLLAMA_HOST=127.0.0.1:$port
mkdir -p "$dir/home"
log=$dir/serve-$port.log

# 9>&-: a lock that our caller holds must not live on in the server.
HOME=$dir/home OLLAMA_MODELS=$dir/models OLLAMA_NOPRUNE=1 "$dir/bin/ollama" serve >"$log" 2>&1 9>&- &
server=$!
stop() {
  kill "$server" 2>/dev/null || true
  wait "$server" 2>/dev/null || true
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

up=
for _ in $(seq 150); do
  if HOME=$dir/home "$dir/bin/ollama" list >/dev/null 2>&1; then up=1; break; fi
  kill -0 "$server" 2>/dev/null || break
  sleep 0.2
done
if [ -z "$up" ]; then
  echo "with-ollama: the server did not come up on $OLLAMA_HOST:" >&2
  tail -n 20 "$log" >&2
  exit 1
fi

code=0
"$@" 9>&- || code=$?
[ "$code" -eq 0 ] && rm -f "$log" || echo "with-ollama: the server's log is $log" >&2
exit "$code"
