# Runs podcast-sync with the given command. Builds first where there is no build.
test -f dist/programs/podcast-sync.js || npm run -s build >&2
exec node dist/programs/podcast-sync.js "$@"
