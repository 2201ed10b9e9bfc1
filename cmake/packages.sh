# shellcheck shell=bash
# To be sourced by scripts that set up a machine.

apt_get=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0)

# need PACKAGE...   installs those of these Debian packages that are missing
need() {
    if ! command -v apt-get >/dev/null; then
        echo "== this is no Debian or Ubuntu: nothing is installed here. Needed: $*"
        return 0
    fi
    local missing=() package
    for package in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
    done
    if [ ${#missing[@]} -eq 0 ]; then
        echo "== packages: all there"
        return 0
    fi

    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "== missing, and neither root nor sudo to install them: ${missing[*]}"
            return 1
        fi
        as_root=(sudo)
    fi
    echo "== packages: installing ${missing[*]}"
    local apt=("${as_root[@]}" "${apt_get[@]}")
    "${apt[@]}" update
    "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null
}

# own_python FOLDER PACKAGE...   an environment of Python with these packages of PyPI: made there, where it is not yet. Prints its
# interpreter; nothing, and why not, where they are not to be had.
own_python() {
    local folder=$1 python
    shift
    for python in /usr/bin/python3 python3; do
        [ -x "$folder/bin/python" ] || "$python" -m venv "$folder" >/dev/null 2>&1 || continue
        break
    done
    local names
    names=$(IFS=, && echo "$*")
    if "$folder/bin/python" -c "import $names" 2>/dev/null || "$folder/bin/python" -m pip install -q "$@" >&2; then
        echo "$folder/bin/python"
    else
        echo "== no Python with $*: what needs it is left out" >&2
    fi
}

# The version of the newest clang that is packaged; where there is no apt, that is installed.
newest_clang() {
    local known
    if command -v apt-get >/dev/null; then
        known=$(apt-cache search --names-only '^clang-[0-9]+$' | sed 's/^clang-\([0-9]*\).*/\1/')
        if [ -z "$known" ]; then # the lists of packages are not there yet
            need clang >&2
            known=$(apt-cache search --names-only '^clang-[0-9]+$' | sed 's/^clang-\([0-9]*\).*/\1/')
        fi
    else
        known=$(compgen -c clang++- | sed -n 's/^clang++-\([0-9]\+\)$/\1/p')
    fi
    sort -n <<<"$known" | tail -1
}

# What building and testing Tenon needs.
# shellcheck disable=SC2034  # the sourcing script uses it
build_packages=(
    cmake ninja-build ccache g++ pkg-config
    libeigen3-dev nlohmann-json3-dev zlib1g-dev libzstd-dev libpng-dev libjpeg-dev libre2-dev libdnnl-dev libxsmm-dev doctest-dev
    libbenchmark-dev libasio-dev libssl-dev libcli11-dev libcpp-httplib-dev libopenmpi-dev openmpi-bin mpich
)
