#!/bin/sh
set -eu
awk '{ count[length($0)]++ } END { for (n in count) print n, count[n] }' /app/words.txt | sort -n > /app/lengths.txt
