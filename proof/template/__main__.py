"""Runs every check on what we deploy, by default and with every option.

Run: python -m proof.template. Lists the checks; ends with 1 if one of them has a finding.
"""

import logging
import sys

from proof.template import machine, stack
from proof.template.check import CHECKS, Deployed
from proof.template.translated import Translated

REGISTERED = (machine, stack)  # importing them fills CHECKS
_KEY = "arn:aws:kms:eu-central-1:111122223333:key/"
EVERY_OPTION = {
    "EventSourceName": "aws.partner/genesys.com/cloud/1f0e6a52/live",
    "DetailTypes": "v2.users.{id}.presence,v2.detail.events.conversation.{id}.customer.end",
    "ActionTarget": "webhook",
    "WebhookUrl": "https://hooks.example.com/genesys",
    "DestinationSecretArn": "arn:aws:secretsmanager:eu-central-1:111122223333:secret:d-AbCdEf",
    "ArchiveDays": "14",
    "MaxConcurrentActions": "20",
    "AlarmEmail": "on-call@example.com",
    "KmsKeyArn": f"{_KEY}11111111-2222-4333-8444-555555555555",
    "FormerKmsKeyArn": f"{_KEY}99999999-2222-4333-8444-555555555555",
    "PermissionsBoundaryArn": "arn:aws:iam::111122223333:policy/boundary",
}


def main() -> int:
    # It warns of metrics about itself that were not sent.
    logging.getLogger("samtranslator").setLevel(logging.ERROR)
    deployments = [Deployed.of(Translated(given)) for given in ({}, EVERY_OPTION)]
    failed = False
    for one in CHECKS.values():
        findings = {finding for deployed in deployments for finding in one.find(deployed)}
        print(f"{'refused' if findings else 'ok':8}{one.name}: {one.rule}")
        if findings:
            failed = True
            print(*(f"        {line}" for line in (*sorted(findings), *one.sources)), sep="\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
