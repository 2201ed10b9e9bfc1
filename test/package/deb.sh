#!/usr/bin/env bash
# Makes Debian packages of a build, looks into them, unpacks them into a folder of their own, and builds a user's programs from there.
#
#   deb.sh BUILD_FOLDER FOLDER INSTALLED VERSION CPACK COMPILER [FLAGS...]
#
# INSTALLED: where the build was installed last, all of which must be in one of the packages.
set -euo pipefail

build=$1 folder=$2 installed=$3 version=$4 cpack=$5
shift 5
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

for tool in dpkg-deb dpkg-shlibdeps; do
    command -v $tool >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done

rm -rf "$folder"
mkdir -p "$folder"
if ! said=$(cd "$folder" && "$cpack" -G DEB --config "$build/CPackConfig.cmake" -B "$folder" \
    -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip 2>&1) || grep -qiE 'warning|error' <<<"$said"; then
    echo "$said"
    exit 1
fi

check() { # PACKAGE FIELD REGEX
    local value
    value=$(dpkg-deb --field "$folder/$1"_"$version"_*.deb "$2")
    grep -Eq "$3" <<<"$value" || { echo "$1: $2 is '$value', which does not match $3"; exit 1; }
    echo "$1: $2: $value"
}
for package in tenon libtenon-dev; do
    check $package Package "^$package\$"
    check $package Version "^${version//./\\.}\$"
    check $package Architecture "^$(dpkg --print-architecture)\$"
    dpkg-deb -x "$folder/${package}_${version}"_*.deb "$folder/root"
    dpkg-deb --contents "$folder/${package}_${version}"_*.deb | awk '$1 ~ /^[-l]/ { print $6 }' >>"$folder/contents"
done
check libtenon-dev Depends "(^|, )tenon \\(= ${version//./\\.}\\)(,|\$)"
check libtenon-dev Depends '(^|, )libeigen3-dev(,|$)'

# Every installed file is in one package, and in one only.
diff <(sed "s,^$installed/,," "$build/install_manifest.txt" | sort) <(sed 's,^\./usr/,,' "$folder/contents" | sort)
[ "$(stat -c %a "$folder/root/usr/share/doc/tenon/LICENSE")" = 644 ] || { echo "LICENSE is not readable by all"; exit 1; }
grep -q '^Eigen' "$folder/root/usr/share/doc/tenon/third-party-notices.txt"

if [ -e "$installed/bin/tenon" ]; then
    check tenon Depends '(^|, )libc6 \(>= '
    [ "$("$folder/root/usr/bin/tenon" --version)" = "tenon $version" ] || { echo "tenon is of another version"; exit 1; }
fi
"$here/pkg_config/run.sh" "$folder/root/usr" "$folder/programs" "$@"
