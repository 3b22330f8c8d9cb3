#!/bin/bash
# Whether the packages run on machines that have nothing: ci/package_test.sh [FOLDER]
#
# Takes the tarball and the .deb that ci/package.sh left in FOLDER (default: build/dist), and for each system makes a minimal
# root with debootstrap, installs each of them there and runs the program. Needs root, debootstrap and a network for the
# first run (the roots, 0.6 GB, stay in the cache), so that ci/test.sh does not run it.
#
#   FA_PROFILE_SYSTEMS   which: default "bookworm trixie" (Debian 12 and 13); noble is Ubuntu 24.04
#
# Nothing of this machine reaches into the roots but nvdisasm, cuobjdump and libcupti, which lie there as pip installs them.
# Exit code: 0 all ran, 1 something failed, 2 it could not be tried.
set -euo pipefail
cd "$(dirname "$(readlink -f -- "${BASH_SOURCE[0]}")")/.."
say() { echo "package test: $*" >&2; }
fail() { say "$*"; exit 2; }

if [ "$(id -u)" != 0 ]; then fail "chroot needs root: sudo ci/package_test.sh"; fi
command -v debootstrap >/dev/null || fail "there is no debootstrap: apt-get install debootstrap"
# shellcheck disable=SC1091
. ci/cuda.sh
roots=${fa_profile_cache:?set HOME}/roots  # of ci/cuda.sh
dist=$(readlink -f "${1:-build/dist}")
tarball=$(find "$dist" -name 'fa-profile-*-linux-x86_64.tar.gz' | head -n 1)
deb=$(find "$dist" -name 'fa-profile_*_amd64.deb' | head -n 1)
if [ -z "$tarball" ] || [ -z "$deb" ]; then fail "no packages in $dist: run ci/package.sh"; fi
# One mount namespace for all that follows: /proc of a root goes with it, whatever happens.
if [ -z "${FA_PROFILE_UNSHARED:-}" ]; then exec env FA_PROFILE_UNSHARED=1 unshare -m "$0" "$dist"; fi
work=$(mktemp -d)
trap 'umount "$work"/*/proc 2>/dev/null; rm -rf "$work"' EXIT

minimal_root() {  # <suite>: prints its folder
  local suite=$1 root=$roots/$1 mirror=http://deb.debian.org/debian options=()
  if ! [ -e "$root/.whole" ]; then
    rm -rf "$root"
    mkdir -p "${root%/*}"
    # Debian's keys do not sign Ubuntu, and its debootstrap of 2023 does not know that noble's files are merged already.
    if [ "$suite" = noble ]; then
      mirror=http://archive.ubuntu.com/ubuntu options=(--no-check-gpg --no-merged-usr)
    fi
    debootstrap --variant=minbase "${options[@]}" "$suite" "$root" "$mirror" \
      ${options:+/usr/share/debootstrap/scripts/sid} >"$work/debootstrap.log" 2>&1 ||
      { tail -n 5 "$work/debootstrap.log" >&2; fail "no root of $suite could be made"; }
    touch "$root/.whole"
  fi
  echo "$root"
}

# The result of `pip install nvidia-cuda-nvdisasm nvidia-cuda-cuobjdump nvidia-cuda-cupti`.
add_pip_packages() {  # <root>
  local tool library folder=$1/usr/local/lib/python3.11/dist-packages/nvidia/cu13
  mkdir -p "$folder/bin" "$folder/lib"
  for tool in nvdisasm cuobjdump; do
    for library in "$(command -v "$tool" || true)" /usr/local/cuda/bin/"$tool"; do
      if [ -x "$library" ] && ! [ -e "$folder/bin/$tool" ]; then cp -L "$library" "$folder/bin/"; fi
    done
  done
  for library in libcupti.so.13 libnvperf_host.so libnvperf_target.so; do
    cp -L "$(find -L "$(dirname "$(dirname "$CUDACXX")")" -name "$library" -print -quit)" "$folder/lib/"
  done
}

# Runs in the root, with the program's path. Prints what failed.
read -r -d '' checks <<'END' || true
program=$1 tree=$2 failed=0
cd /tmp
expect() {  # <exit code> <text of stdout or stderr> <command...>
  local code=$1 text=$2 out got=0
  shift 2
  out=$("$@" 2>&1 </dev/null) || got=$?
  if [ "$got" != "$code" ] || [[ $out != *"$text"* ]]; then
    echo "FAILED: $*: exit code $got and not $code, or without '$text':"; head -n 12 <<<"$out"; failed=1
  elif [ "$code" = 2 ] && grep -qE "$tree|share/fa-profile|fa[-_]profile\S* is missing" <<<"$out"; then
    echo "FAILED: $*: a file of the package is missing:"; head -n 12 <<<"$out"; failed=1
  fi
}
for file in "$tree"/bin/* "$tree"/lib/*.so "$tree"/lib/fa-profile/*; do
  if ldd "$file" 2>&1 | grep 'not found'; then echo "FAILED: $file lacks libraries"; failed=1; fi
  if readelf -d "$file" 2>/dev/null | grep -E 'R(UN)?PATH' | grep -v 'ORIGIN'; then failed=1; fi
done
# Loaded into a program as the driver would: with everything that it needs, and silently.
ln -s "$tree/lib" lib
if [ -n "$(LD_PRELOAD=/tmp/lib/libfa_profile_inject.so LD_BIND_NOW=1 /bin/true 2>&1)" ]; then
  echo "FAILED: libfa_profile_inject.so cannot be loaded"; failed=1
fi
expect 0 'fa-profile ' "$program" --version
expect 0 'complete -F _fa_profile fa-profile' "$program" completion bash
expect 0 '.SH OPTIONS' "$program" man report
expect 0 'REPLAY, not a measurement' "$program" --ncu-set full
expect 0 'softmax' "$program" report "$tree"/share/fa-profile/recordings/*-ladder-full.fap --kernel serial_softmax
expect 0 'flash_fwd_kernel' "$program" report "$tree/share/fa-profile/recordings/pytorch-sdpa.fap"
# The first commands that users run, with only the packed files.
recordings=$tree/share/fa-profile/recordings
expect 0 'top phase' "$program" report "$recordings/h100-ladder-full.fap" --summary
expect 0 'short_scoreboard' "$program" report "$recordings/h100-ladder-full.fap" --kernel serial_softmax --shape 1,8,512,64
expect 0 'softmax' "$program" report "$recordings/h100-ladder-full.fap" --details
expect 0 'fa-profile' "$program" report "$recordings/h100-hopper.fap"
expect 0 'fa-profile' "$program" diff "$recordings/hopper/1-plain.fap" "$recordings/hopper/8-sums.fap"
expect 0 '' "$program" report "$recordings/pytorch-sdpa.fap" --format html -o sdpa.html
expect 0 '' "$program" report "$recordings/pytorch-sdpa.fap" --format perfetto -o sdpa.pftrace
expect 0 'serial-softmax' "$program" report "$recordings/h100-ladder-full.fap" --explain serial-softmax
expect 0 'mma' "$program" report "$recordings/h100-ladder-full.fap" --source --kernel '^mma$'
expect 0 '' "$program" textfile "$recordings/h100-ladder-full.fap" -o a.prom
expect 0 '' "$program" new kernel-lib mine
mkdir -p repository
expect 0 'repository/skills/fa-profile/SKILL.md' "$program" new skill repository
# All others that README.md names: without a GPU and without Python the error is about those.
echo 'def kernel(): pass' >k.py
lib=$(ldd /bin/tar | sed -n 's/.* => \(\/\S*\) .*/\1/p' | head -n 1)  # has no kernel
expect 2 '--kernel-lib needs a GPU' "$program" --kernel-lib "$lib" --kernel mine --phase-map mine/phases.yaml -o mine.fap
expect 2 'needs a GPU' "$program" --kernel-py k.py:kernel -o k.fap
expect 2 'has no function fa_profile_kernel_abi_version' "$program" verify --kernel-lib "$lib" --receipt mine.json
expect 2 'python3 cannot be started' "$program" verify --kernel-py k.py:kernel --receipt mine.json
expect 2 'mine.json' "$program" receipt check mine.json --kernel-lib "$lib"
expect 2 'needs a GPU' "$program" -o train.fap -- /bin/true
expect 2 'needs a GPU' "$program" --torch-modules -- /bin/true
expect 2 'python3 cannot be started' "$program" mcp --root .
expect 2 'needs a GPU' "$program" selftest
expect 2 'needs a GPU' "$program" watch "$lib"
expect 2 'checkout' "$program" demo
for file in share/fa-profile/python/fa_profile_kernel.py share/fa-profile/python/fa_profile_worker.py \
    share/fa-profile/python/fa_profile_mcp/server.py share/fa-profile/skills/fa-profile/SKILL.md include/fa_profile/kernel_abi_2.h; do
  if ! [ -e "$tree/$file" ] && ! [ -e "/usr/$file" ]; then echo "FAILED: the package lacks $file"; failed=1; fi
done
expect 0 'PASS' "$program" gate --replay /inputs/pair-same-code.json
expect 1 'REGRESSION' "$program" gate --replay /inputs/pair-ptxas-o1.json
expect 2 'needs a GPU' "$program" gate --pair /inputs/a.cubin /inputs/a.cubin --markdown comment.md
expect 2 'needs a GPU' "$program" gate --pair k.py:kernel k.py:kernel
expect 1 'REGRESSION' "$program" gate --baseline "$recordings/hopper/slip-none.fap" --candidate "$recordings/hopper/slip-barrier.fap"
expect 0 'registers' "$program" lint /inputs/a.cubin
expect 0 'PASS' "$program" gate --static /inputs/a.cubin /inputs/a.cubin
expect 0 'wrote ci/thresholds.yaml' "$program" gate init /inputs/a.cubin --workflow github
expect 0 'from ci/thresholds.yaml' "$program" gate --explain --static /inputs/a.cubin /inputs/a.cubin
expect 0 'GH100' "$program" list chips
expect 2 'no NVIDIA driver' "$program" doctor
expect 2 'needs a GPU' "$program" -- /bin/true
mv /usr/local/lib/python3.11/dist-packages/nvidia /nvidia
expect 2 'nvidia-cuda-cupti' "$program" list chips
expect 2 'nvidia-cuda-nvdisasm' "$program" lint /inputs/a.cubin
expect 0 'REPLAY, not a measurement' "$program" --ncu-set basic
CUDA_HOME=/nvidia/cu13 expect 0 'GH100' "$program" list chips
mv /nvidia /usr/local/lib/python3.11/dist-packages/
mkdir -p spool state
cp "$tree/share/fa-profile/recordings/pytorch-sdpa.fap" spool/
"$program" serve --spool spool --state state --listen "127.0.0.1:$3" >serve.log 2>&1 &
server=$!
page=
for _ in $(seq 600); do
  page=$({ exec 3<>"/dev/tcp/127.0.0.1/$3" && printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3 && cat <&3; } 2>/dev/null) || true
  if [[ $page = *faprof_kernel_launches_total* ]]; then break; fi
  sleep 0.1
done
kill "$server"
wait "$server" || true
if [[ $page != *faprof_kernel_launches_total* ]]; then echo "FAILED: serve"; cat serve.log; failed=1; fi
expect 2 'error' "$program" push --gateway "http://127.0.0.1:9" --job nightly "$tree/share/fa-profile/recordings/pytorch-sdpa.fap"
exit $failed
END

# TLS and a password go through the carried GnuTLS, libmicrohttpd and libcrypt. The client is this machine's: roots have none.
serve_over_tls() {  # <root> <program>
  local root=$1 folder=$1/inputs server page=
  openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -keyout "$folder/key.pem" -out "$folder/cert.pem" 2>/dev/null
  # The hash of "secret".
  # shellcheck disable=SC2016
  printf '%s\n' 'tls_server_config: {cert_file: /inputs/cert.pem, key_file: /inputs/key.pem}' \
    'basic_auth_users: {me: "$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a"}' >"$folder/web.yml"
  mkdir "$root/tmp/empty"
  chroot "$root" "$2" serve --spool /tmp/empty --state /tmp/state2 --listen "127.0.0.1:$port" --web-config /inputs/web.yml \
    >"$work/tls.log" 2>&1 &
  server=$!
  for _ in $(seq 300); do
    page=$(curl -sk -u me:secret "https://127.0.0.1:$port/metrics") || true
    if [[ $page = *faprof_* || $page = Unauthorized* ]]; then break; fi
    sleep 0.1
  done
  kill $server
  wait $server || true
  if [[ $page != *faprof_* ]]; then echo "FAILED: serve over TLS: ${page:0:300}"; cat "$work/tls.log"; return 1; fi
}

try() {  # <suite> <tarball|deb>
  local suite=$1 kind=$2 root=$work/$1-$2 program tree
  mkdir "$root"
  cp -a "$(minimal_root "$suite")/." "$root"
  mkdir -p "$root/proc" "$root/inputs"
  mount -t proc proc "$root/proc"
  cp tests/data/gate/pair-{same-code,ptxas-o1}.json "$root/inputs/"
  cp tests/data/cubins/sm_90a.cubin "$root/inputs/a.cubin"
  add_pip_packages "$root"
  if [ "$kind" = tarball ]; then
    mkdir -p "$root/srv/any folder"
    tar -xzf "$tarball" -C "$root/srv/any folder" --strip-components=1
    tree="/srv/any folder" program="$tree/bin/fa-profile"
  else
    cp "$deb" "$root/inputs/fa-profile.deb"
    chroot "$root" dpkg -i /inputs/fa-profile.deb >"$work/dpkg.log" 2>&1 || { tail -n 5 "$work/dpkg.log"; return 1; }
    tree=/usr/lib/fa-profile program=fa-profile
  fi
  chroot "$root" /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 bash -c "$checks" - "$program" "$tree" "$port" || return 1
  serve_over_tls "$root" "$program" || return 1
  if [ "$kind" = deb ]; then
    chroot "$root" dpkg -r fa-profile >/dev/null
    if [ -e "$root/usr/lib/fa-profile" ]; then echo "FAILED: the package leaves files behind"; return 1; fi
  fi
  umount "$root/proc"
  rm -rf "$root"
}

failures=0
port=$((20000 + RANDOM % 10000))
for suite in ${FA_PROFILE_SYSTEMS:-bookworm trixie}; do
  for kind in tarball deb; do
    if try "$suite" "$kind"; then say "$suite, $kind: all ran"; else say "$suite, $kind: FAILED"; failures=1; fi
  done
done
exit $failures
