#!/usr/bin/env bash
# install.sh FOLDER: an API server and its etcd, built from their modules, into FOLDER. Takes minutes. $GO is a Go.
set -euo pipefail
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")"
export CGO_ENABLED=0 GOFLAGS="-trimpath -buildvcs=false"
version=$("$GO" list -m -f '{{.Version}}' k8s.io/kubernetes)
minor=${version#v1.}
named=k8s.io/component-base/version
"$GO" build -ldflags "-s -w -X $named.gitVersion=$version -X $named.gitMajor=1 -X $named.gitMinor=${minor%%.*}" \
	-o "$folder/kube-apiserver" k8s.io/kubernetes/cmd/kube-apiserver
"$GO" build -ldflags "-s -w" -o "$folder/etcd" go.etcd.io/etcd/server/v3
