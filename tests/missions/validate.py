#!/usr/bin/env python3
"""Does the JSON Schema say of each document what the parser says? Argument: {schema, cases} as JSON.

Ends with 77, and the reason, where the packaged validator is missing."""
import json
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed", file=sys.stderr)
    sys.exit(77)

with open(sys.argv[1], encoding="utf-8") as given:
    task = json.load(given)
jsonschema.Draft7Validator.check_schema(task["schema"])
validator = jsonschema.Draft7Validator(task["schema"])
failed = 0
for case in task["cases"]:
    faults = [error.message for error in validator.iter_errors(case["document"])]
    if case["valid"] != (not faults):
        failed += 1
        print(f"{case['file']}: the schema says {faults or 'nothing'}", file=sys.stderr)
sys.exit(1 if failed else 0)
