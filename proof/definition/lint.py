"""Lints the state machine as AWS will see it: placeholders filled in, wrapped in a template."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from proof.definition.asl import definition_text

# What statelint says and we disagree with, each with the reason.
STATELINT_EXCEPTIONS = {
    # A JSONata state may compute its wait, which statelint does not know.
    'WaitAsTold.Seconds is "{% $waitSeconds %}" but should be an Integer',
    'WaitForSlot.Seconds is "{% $max([0, $ceil((($slot + 1 + $millis() * 919 % 1000 / 1000) * '
    '$slotMs - $millis()) / 1000)]) %}" but should be an Integer',
}


def wrapped_in_template(definition: str) -> str:
    return json.dumps(
        {
            "Resources": {
                "StateMachine": {
                    "Type": "AWS::StepFunctions::StateMachine",
                    "Properties": {
                        "StateMachineType": "EXPRESS",
                        "RoleArn": "arn:aws:iam::123456789012:role/machine",
                        "DefinitionString": definition,
                    },
                }
            }
        }
    )


def findings(linter: str, file_name: str, content: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, file_name)
        path.write_text(content)
        command = [str(Path(sys.executable).parent / linter), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return []
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
    return [
        line
        for line in lines
        if line
        and not line.endswith(("error:", "errors:"))
        and not any(line.endswith(exception) for exception in STATELINT_EXCEPTIONS)
    ]


def main() -> int:
    definition = definition_text()
    failed = 0
    for linter, file_name, content in (
        ("cfn-lint", "template.json", wrapped_in_template(definition)),
        ("statelint", "dedupe.asl.json", definition),
    ):
        found = findings(linter, file_name, content)
        print(f"{linter}: {len(found) or 'no'} findings in dedupe.asl.json", *found, sep="\n  ")
        failed |= bool(found)
    return failed


if __name__ == "__main__":
    sys.exit(main())
