#!/bin/sh
reward=0
if [ "$(xargs < /app/words.txt)" = 'brown dog fox jumps lazy over quick the' ]; then
    reward=1
fi
echo "$reward" > /logs/verifier/reward.txt
