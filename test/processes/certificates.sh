#!/usr/bin/env bash
# tenon certificates: what it makes is what servers and those who ask them show, by flags or by variables.
#
#   certificates.sh TENON
set -uo pipefail
tenon=$(realpath "$1")
. "$(dirname "${BASH_SOURCE[0]}")/begin.sh"

says 0 "TENON_KEY=$work/tenon-certificates/key.pem" certificates --hosts gpu1,10.0.0.3
[ "$(wc -l <out)" -eq 3 ] || fail "there are not three lines"
cp out variables
says 1 'already; give another folder, or --force' certificates --hosts gpu1
says 0 'TENON_CERTIFICATE=' certificates --hosts gpu1 --out others --days 1
says 2 'tenon certificates: --hosts is required' certificates
says 2 'tenon certificates: --days: ' certificates --hosts gpu1 --days 0

if command -v openssl >/dev/null; then
    check() { # ARGUMENT...
        openssl verify -x509_strict -CAfile tenon-certificates/authorities.pem "$@" tenon-certificates/certificate.pem \
            >out 2>&1
    }
    for purpose in sslserver sslclient; do check -purpose $purpose || fail "it is not good as $purpose"; done
    for name in gpu1 localhost; do check -verify_hostname $name || fail "it is not valid for $name"; done
    for number in 10.0.0.3 127.0.0.1 ::1; do check -verify_ip $number || fail "it is not valid for $number"; done
    check -verify_hostname gpu2 && fail "it is valid for another host"
fi

# By variables, on both sides.
cluster='{"ps": ["127.0.0.1:1"]}'
export TENON_TOKEN=secret
(
    set -a
    . ./variables
    exec "$tenon" serve --cluster "$cluster" --job ps --listen 127.0.0.1:0 2>log
) &
server=$!
for _ in $(seq 200); do
    address=$(sed -n 's/.* serves on \([0-9.:]*\) .*/\1/p' log)
    [ -n "$address" ] && break
    sleep 0.05
done
says 1 'does it want TLS?' status "$address" --timeout 2
says 0 'device:CPU:0' status "$address" --certificate tenon-certificates/certificate.pem \
    --key tenon-certificates/key.pem --authorities tenon-certificates/authorities.pem
TENON_CERTIFICATE=others/certificate.pem TENON_KEY=others/key.pem TENON_AUTHORITIES=others/authorities.pem \
    says 1 'an authority that is not known here' status "$address" --timeout 2
TENON_CERTIFICATE=no.pem says 2 '--certificate: File does not exist: no.pem; the variable TENON_CERTIFICATE is set' \
    status "$address"
TENON_KEY=no.pem says 2 '--key: File does not exist: no.pem; the variable TENON_KEY is set' launch -- true
TENON_INSECURE=perhaps says 2 '--insecure = perhaps; the variable TENON_INSECURE is set' status "$address"
set -a
. ./variables
set +a
says 0 'device:CPU:0' status "$address"
"$tenon" stop "$address" || fail "it cannot be stopped"
wait $server || fail "a server that was asked to stop ended with status $?"

[ $failed -eq 0 ] && echo "tenon certificates: all as it should be"
exit $failed
