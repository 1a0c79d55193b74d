#!/bin/sh
# Succeeds when the command fails by the canary's planted bug and by nothing else.
output=$("$@" 2>&1) && { echo "the canary's bug was not found"; exit 1; }
printf '%s\n' "$output" | grep -q "the canary's planted bug was reached" || { printf '%s\n' "$output"; exit 1; }
echo "the canary's bug was found"
