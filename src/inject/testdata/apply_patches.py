"""Applies JSON patches with a library that is not ours and compares: one case on each line, as
{"before": ..., "patch": [...], "after": ...}. Prints how many were right, and the first that was not."""
import json
import sys

import jsonpatch

right = 0
for line in sys.stdin:
    case = json.loads(line)
    got = jsonpatch.JsonPatch(case["patch"]).apply(case["before"])
    if got != case["after"]:
        print("differs:", json.dumps(case), json.dumps(got))
        sys.exit(1)
    right += 1
print(right)
