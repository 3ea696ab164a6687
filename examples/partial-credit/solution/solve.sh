#!/bin/sh
# Three of the four parts, so that the example shows a reward between 0 and 1.
set -eu
seq 100 | awk '{ total += $1 } END { print total }' > /app/sum.txt
printf '%s\n' 2 3 5 7 11 13 17 19 > /app/primes.txt
echo desserts > /app/reversed.txt
