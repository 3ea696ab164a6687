#!/bin/sh
reward=0
if printf 'Hello from oddish\n' | cmp - /app/greeting.txt; then
    reward=1
fi
echo "$reward" > /logs/verifier/reward.txt
