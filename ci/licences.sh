# Sourced by ci/package.sh and ci/wheel.sh, which define fail(): the licences of Debian's libraries that they pack.

# The Debian package that a library is from.
owner_of() {
  local file owner
  # dpkg knows a file by /lib or by /usr/lib, which are one.
  for file in "$1" "/usr$1" "$(readlink -f "$1")" "/usr$(readlink -f "$1")" "${1#/usr}"; do
    if owner=$(dpkg -S "$file" 2>/dev/null); then echo "${owner%%:*}"; return; fi
  done
  fail "no Debian package has $1: its licence is not known"
}

# For the Debian packages named on stdin, one per line: the licences, the version of each, and the texts they refer to.
write_licences() {
  local folder=$1 package name
  mkdir -p "$folder/common"
  while read -r package; do
    cp -L "/usr/share/doc/$package/copyright" "$folder/$package"
    dpkg-query -W -f='${binary:Package} ${Version}, source ${source:Package} ${source:Version}\n' "$package"
  done >"$folder/VERSIONS"
  for name in Apache-2.0 Artistic BSD GFDL-1.3 GPL-2 GPL-3 LGPL-2.1 LGPL-3 LGPL-2 MPL-2.0; do
    cp -L "/usr/share/common-licenses/$name" "$folder/common/"
  done
}
