#!/bin/sh
# Wrong on purpose: an ordinary year, not a leap year.
set -eu
echo $((365 * 24 * 60 * 60)) > /app/seconds.txt
