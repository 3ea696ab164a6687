#!/bin/sh
reward=0
if [ "$(xargs < /app/lengths.txt)" = '3 3 4 2 5 3' ]; then
    reward=1
fi
echo "$reward" > /logs/verifier/reward.txt
