#!/bin/sh
right=0
present=0

part() {
    [ -f "/app/$1" ] || return 0
    present=$((present + 1))
    if [ "$(xargs < "/app/$1")" = "$2" ]; then
        right=$((right + 1))
        echo "right    $1"
    else
        echo "wrong    $1"
    fi
}

part sum.txt 5050
part primes.txt '2 3 5 7 11 13 17 19'
part reversed.txt desserts
part roman.txt MCMLXXXVII

awk -v right="$right" -v present="$present" \
    'BEGIN { printf "{\"reward\": %.2f, \"present\": %.2f}\n", right / 4, present / 4 }' > /logs/verifier/reward.json
