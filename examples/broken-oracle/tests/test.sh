#!/bin/sh
reward=0
if [ "$(xargs < /app/seconds.txt)" = '31622400' ]; then
    reward=1
fi
echo "$reward" > /logs/verifier/reward.txt
