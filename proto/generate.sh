#!/usr/bin/env bash
# generate.sh DIR          generates the Python stubs into DIR
# generate.sh --check DIR  fails if the stubs in DIR are not what the contract gives
#
# The compiler is older than the grpcio we run, on purpose: generated code demands a runtime at least as new as its compiler,
# and the client should install beside other people's pins.
set -euo pipefail

generate() {
  local out=$1
  run=("${UV:-uv}" run --isolated --no-project --quiet --with grpcio-tools==1.76.0 --with mypy-protobuf==3.6.0
    --with 'setuptools<80' python -m grpc_tools.protoc -I.)
  (
    cd "$here"
    "${run[@]}" --python_out="$out" --pyi_out="$out" toolsearch/v1/*.proto
    "${run[@]}" --grpc_python_out="$out" --mypy_grpc_out=quiet:"$out" toolsearch/v1/*_service.proto
  )
}

here=$(cd "$(dirname "$0")" && pwd)
if [ "$1" = --check ]; then
  fresh=$(mktemp -d)
  trap 'rm -rf "$fresh"' EXIT
  generate "$fresh"
  diff -r --exclude=__pycache__ --exclude=__init__.py "$fresh/toolsearch/v1" "$2/toolsearch/v1" ||
    { echo "the stubs are not what the contract gives: run make proto"; exit 1; }
else
  generate "$(cd "$1" && pwd)"
fi
