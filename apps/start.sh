# npm start: builds missing or stale outputs, then starts.
node apps/prepare.mjs "$@"
status=$?
[ "$status" -ne 100 ] || exit 0
[ "$status" -eq 0 ] || exit "$status"
exec node dist/programs/podcast-sync.js start "$@"
