#!/usr/bin/env bash
# install.sh FOLDER: what tests of the chart need, at fixed versions, into FOLDER. $GO is a Go, $UV is uv.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/bin" "$1/crds"
cache=$(cd "$1" && pwd)
export CGO_ENABLED=0 GOBIN=$cache/bin GOFLAGS="-trimpath -buildvcs=false"

"$GO" install helm.sh/helm/v4/cmd/helm@v4.3.1
"$GO" install github.com/zegl/kube-score/cmd/kube-score@v1.20.0
(cd "$here/podsecurity" && "$GO" build -o "$cache/bin/podsecurity" .)

"$UV" venv --quiet --allow-existing --python '>=3.11' "$cache/venv"
"$UV" pip sync --quiet --python "$cache/venv" --require-hashes "$here/requirements.lock"

# Definitions of the custom resources that the chart makes, from the modules that define them.
crds() {
	local folder
	folder=$(cd / && "$GO" mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	[ -n "$folder" ] || { echo "cannot download $1" >&2; exit 1; }
	shift
	(cd "$folder" && install --mode 644 --target-directory "$cache/crds" "$@")
}
crds sigs.k8s.io/gateway-api@v1.6.3 config/crd/standard/gateway.networking.k8s.io_grpcroutes.yaml
crds github.com/prometheus-operator/prometheus-operator@v0.85.0 \
	example/prometheus-operator-crd/monitoring.coreos.com_{servicemonitors,podmonitors,prometheusrules}.yaml
crds github.com/cert-manager/cert-manager@v1.21.2 deploy/crds/cert-manager.io_certificates.yaml
crds istio.io/api@v1.31.1 kubernetes/customresourcedefinitions.gen.yaml
crds github.com/envoyproxy/gateway@v1.9.1 \
	charts/gateway-helm/charts/crds/crds/generated/gateway.envoyproxy.io_backendtrafficpolicies.yaml
