#!/bin/sh
set -eu
printf '%s\n' the quick brown fox jumps over the lazy dog | LC_ALL=C sort -u > /app/words.txt
