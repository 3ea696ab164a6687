#!/bin/sh
set -eu
echo 'Hello from oddish' > /app/greeting.txt
