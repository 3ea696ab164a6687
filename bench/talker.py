#!/usr/bin/env python3
"""Stands in for the program of claude-code: so many lines a second, each with its number and the time."""

import json
import os
import sys
import time
import urllib.request

if "--version" in sys.argv:
    print("0.0.1 (talker)")
    sys.exit()
urllib.request.urlopen(os.environ["TALK_GATE"]).close()
rate, seconds = float(os.environ["TALK_RATE"]), float(os.environ["TALK_SECONDS"])
began = time.time()
for number in range(int(rate * seconds)):
    time.sleep(max(0.0, began + number / rate - time.time()))
    usage = {"input_tokens": 10, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 0, "output_tokens": 5}
    content = [{"type": "text", "text": f"{number} {time.time()}"}]
    message = {"id": f"msg_{number}", "role": "assistant", "model": "claude-sonnet-4-5", "content": content}
    print(json.dumps({"type": "assistant", "message": {**message, "usage": usage}}), flush=True)
