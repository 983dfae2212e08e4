#!/usr/bin/env bash
# Succeeds if the server in this container is ready to answer. Needs nothing but bash.
set -euo pipefail
exec 3<>/dev/tcp/127.0.0.1/"${WEFT_PORT:-8080}"
printf 'GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
read -r status_line <&3
[[ $status_line == 'HTTP/1.1 200 '* ]]
