"""The Amazon States Language, read from AWS's documentation: the part of it that our definition
uses, in JSONata only. What the documentation leaves open is a switch in `readings`.

Pages are named as under https://docs.aws.amazon.com/step-functions/latest/dg/. "Recorded" means
seen on AWS and kept in LocalStack's validated snapshots, tests/aws/services/stepfunctions/v2/.
"""
