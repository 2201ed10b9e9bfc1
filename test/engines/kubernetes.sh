#!/usr/bin/env bash
# The manifests of examples/engines: they are as their schemas want them, and in pods as they make them, each a machine with the host
# name, the names and the variables that it would have, the program trains.
#
#   kubernetes.sh TRAIN TENON
. "$(dirname "$0")/machines.sh"
alone "$@"
. "$test_folder/checks.sh"
begin "$1" "$2"
need_python yaml "Debian: python3-yaml"

# The commands at a manifest's top: kubectl is one that writes down what it is told.
cat >"$bed/bin/kubectl" <<'END'
#!/usr/bin/env bash
case "$1 $2" in
"create secret")
    for argument; do
        case $argument in
        --from-literal=*) echo -n "${argument#--from-literal=token=}" >secret/token ;;
        --from-file=*) cp "${argument#--from-file=}"/* secret ;;
        esac
    done
    ;;
"apply -f") touch "applied-$(basename "$3")" ;;
*) exit 1 ;;
esac
END
chmod +x "$bed/bin/kubectl"

for manifest in kubernetes_job kubernetes_jobset; do
    folder=$bed/$manifest
    mkdir -p "$folder/secret" "$folder/volumes/checkpoints" "$folder/volumes/tmp" && cd "$folder" || exit 1
    cp "$examples/$manifest.yaml" .
    sed -n 's/^#   //p' $manifest.yaml >commands
    [ "$(wc -l <commands)" -eq 2 ] || fail "$manifest is not started in two commands" commands
    bash -eu commands >made 2>&1 || fail "$manifest: the commands at its top fail" made
    [ -e "applied-$manifest.yaml" ] || fail "$manifest is not applied by the commands at its top" commands
    ln -s ../secret volumes/keys
    "$python" "$test_folder/pods.py" "$manifest.yaml" secret "$folder/volumes" >pods 2>told || fail "$manifest" told
    cat told
    # A test has no time for so many steps.
    sed -i 's/--steps 100000/--steps 500 --pause 10/' pods
    names=$(cut -d' ' -f1 pods)
    machines_domain=train
    # shellcheck disable=SC2086 # several words
    machines $names
    pids=()
    while read -r host _ command; do
        on "$host" bash -c "$command" >"$folder/$host.out" 2>&1 &
        pids+=($!)
    done <pods
    # The kubelet asks from outside of the pod, and believes any certificate.
    command -v curl >/dev/null && while read -r host probe _; do
        until [ "$(on "${names%%[[:space:]]*}" curl -sk -o /dev/null -w '%{http_code}' "$probe")" = 200 ]; do
            kill -0 "${pids[0]}" 2>/dev/null || { fail "$probe was never ready" "$host.out" && break; }
        done
    done <pods
    for pid in "${pids[@]}"; do wait "$pid" || fail "a pod of $manifest ended with status $?" ""; done
    cat ./*.out >"$bed/$manifest.all"
    trained $manifest.all 4 3.00
    said $manifest.all 'other machines, encrypted'
    ls volumes/checkpoints/train-*.json >/dev/null 2>&1 || fail "$manifest: there is no checkpoint on the volume" "$bed/$manifest.all"
done
ended
finish "Kubernetes' manifests"
