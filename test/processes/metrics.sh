#!/usr/bin/env bash
# What others' readers make of a server's metrics: promtool (Debian: prometheus), and the parser of prometheus_client (Debian:
# python3-prometheus-client). Those that are not installed are left out; where none is, it is skipped.
#
#   metrics.sh TENON
set -uo pipefail
tenon=$(realpath "$1")
unset "${!TENON_@}"
python=
for p in /usr/bin/python3 python3; do
    "$p" -c 'import prometheus_client.parser' 2>/dev/null && python=$p && break
done
command -v promtool >/dev/null || [ -n "$python" ] || {
    echo "skipped: neither promtool nor prometheus_client is installed (Debian: prometheus, python3-prometheus-client)"
    exit 77
}
command -v curl >/dev/null || { echo "skipped: there is no curl"; exit 77; }
work=$(mktemp -d)
trap 'kill $server 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
"$tenon" serve --cluster '{"ps": ["127.0.0.1:1"], "worker": ["127.0.0.1:2"]}' --job ps --task 0 --listen 127.0.0.1:0 --http 0 2>log &
server=$!
for _ in $(seq 200); do
    url=$(sed -n 's/.* tells how it is at //p' log)
    [ -n "$url" ] && break
    sleep 0.05
done
curl -sS --max-time 20 "$url/metrics" >metrics.txt || exit 1
if command -v promtool >/dev/null; then
    promtool check metrics <metrics.txt || exit 1
    echo "promtool: no complaint"
fi
if [ -n "$python" ]; then
    "$python" - <<'PYTHON' || exit 1
from prometheus_client.parser import text_string_to_metric_families
families = list(text_string_to_metric_families(open("metrics.txt").read()))
by_name = {f.name: f for f in families}
assert len(families) > 20, len(families)
assert by_name["tenon_steps"].type == "counter" and by_name["tenon_step_seconds"].type == "histogram"
assert all(f.documentation for f in families)
print("prometheus_client:", len(families), "families")
PYTHON
fi
