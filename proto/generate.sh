#!/usr/bin/env bash
# Generates the Python stubs into the folder given. The compiler is older than the grpcio we run on purpose: generated code
# demands a runtime at least as new as its compiler, and the client should install beside other people's pins.
set -euo pipefail
out=$1
uv=${UV:-uv}
here=$(cd "$(dirname "$0")" && pwd)
cd "$here"
run() {
  "$uv" run --isolated --no-project --quiet --with grpcio-tools==1.76.0 --with mypy-protobuf==3.6.0 --with 'setuptools<80' \
    python -m grpc_tools.protoc -I. "$@"
}
mkdir -p "$out"
run --python_out="$out" --pyi_out="$out" toolsearch/v1/*.proto
run --grpc_python_out="$out" --mypy_grpc_out=quiet:"$out" toolsearch/v1/*_service.proto
