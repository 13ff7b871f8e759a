#!/usr/bin/env bash
# generate.sh PYTHON GO TYPESCRIPT          generates the stubs: Python's into PYTHON/toolsearch/v1, Go's into GO/toolsearchv1,
#                                           TypeScript's into TYPESCRIPT/src/toolsearch/v1
# generate.sh --check PYTHON GO TYPESCRIPT  fails if the stubs there are not what the contract gives
#
# Python's compiler is older than the grpcio we run, on purpose: generated code demands a runtime at least as new as its compiler,
# and the client should install beside other people's pins. Go's plugins are pinned in GO/tools.mod,
# TypeScript's in TYPESCRIPT/package-lock.json.
set -euo pipefail

generate_python() {
  local out=$1
  run=("${UV:-uv}" run --isolated --no-project --quiet --with grpcio-tools==1.76.0 --with mypy-protobuf==3.6.0
    --with 'setuptools<80' python -m grpc_tools.protoc -I.)
  (
    cd "$here"
    "${run[@]}" --python_out="$out" --pyi_out="$out" toolsearch/v1/*.proto
    "${run[@]}" --grpc_python_out="$out" --mypy_grpc_out=quiet:"$out" toolsearch/v1/*_service.proto
  )
}

generate_go() {
  local out=$1
  "${GO:-go}" -C "$go" build -modfile=tools.mod -o "$scratch/bin/" \
    google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc
  PATH="$scratch/bin:$PATH" "$here/../.venv/bin/buf" generate "$here" --template "$here/buf.gen.yaml" --output "$out"
}

generate_typescript() {
  local out=$1
  PATH="$typescript/node_modules/.bin:$(dirname "${NODE:-$(command -v node)}"):$PATH" \
    "$here/../.venv/bin/buf" generate "$here" --template "$here/buf.gen.typescript.yaml" --output "$out"
}

check() {
  diff -r --exclude=__pycache__ --exclude=__init__.py "$1" "$2" ||
    { echo "the stubs are not what the contract gives: run make proto"; exit 1; }
}

checking=
if [ "$1" = --check ]; then
  checking=yes
  shift
fi
here=$(cd "$(dirname "$0")" && pwd)
python=$(cd "$1" && pwd)
go=$(cd "$2" && pwd)
typescript=$(cd "$3" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if [ "$checking" ]; then
  mkdir "$scratch/python" "$scratch/go" "$scratch/typescript"
  generate_python "$scratch/python"
  generate_go "$scratch/go"
  generate_typescript "$scratch/typescript"
  check "$scratch/python/toolsearch/v1" "$python/toolsearch/v1"
  check "$scratch/go/toolsearchv1" "$go/toolsearchv1"
  check "$scratch/typescript/toolsearch/v1" "$typescript/src/toolsearch/v1"
else
  generate_python "$python"
  generate_go "$go"
  generate_typescript "$typescript/src"
fi
