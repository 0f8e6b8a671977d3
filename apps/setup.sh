# Sourced by apps/demo, apps/fetch, tests/run and .ci/run, which stand in the repository's root when they do: what Reel
# needs of a machine, and how it gets there. Says nothing, and needs neither network nor root, where nothing is missing.

missing=()
reasons=()

# need PACKAGE REASON COMMAND...: PACKAGE (by Debian's name) is missing if COMMAND fails.
need() {
  if ! "${@:3}" &>/dev/null; then
    missing+=("$1")
    reasons+=("$2")
  fi
}

has_header() {
  printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" | g++ -E -x c++ -
}

has_catch2() {
  has_header catch2/catch_all.hpp || has_header catch2/catch.hpp
}

need_build_tools() {
  need g++ "the C++ compiler" command -v g++
  need cmake "plans the build" command -v cmake
  need ninja-build "runs the build" command -v ninja
  need libxsimd-dev "vector instructions under one name for every processor" has_header xsimd/xsimd.hpp
}

need_curl() {
  # Debian's curl does not depend on the certificates that it needs.
  command -v curl >/dev/null || need ca-certificates "whom to trust" test -e /etc/ssl/certs/ca-certificates.crt
  need curl "downloads" command -v curl
}

need_unzip() {
  need unzip "unpacks .zip" command -v unzip
}

need_catch2() {
  need catch2 "the framework of the tests" has_catch2
}

install_missing() {
  ((${#missing[@]})) || return 0
  if ! command -v apt-get >/dev/null; then
    echo "Not found here: ${missing[*]} (Debian's names), nor apt-get to install them. Going on: CMake fetches the" \
      "libraries itself, and will say if a tool is missing."
    return 0
  fi

  echo "Reel needs some packages that are not here yet, and installs them with apt-get:"
  local i
  for i in "${!missing[@]}"; do printf '  %-13s %s\n' "${missing[i]}" "${reasons[i]}"; done
  local as_root=()
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "That takes root, and there is no sudo here. As root: apt-get install ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}
