"""Sets of parameters that people deploy with, and the schemas of what is deployed."""

from importlib.util import find_spec
from pathlib import Path

from proof.template.translated import ACCOUNT, Translated

REGION = "eu-central-1"
GENESYS = "aws.partner/genesys.com/cloud/1f0e6a52-0000-4000-8000-00000000000a"
SECRET = f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:destination-AbCdEf"
KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/11111111-2222-4333-8444-555555555555"
OTHER_KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/99999999-2222-4333-8444-555555555555"
BOUNDARY = f"arn:aws:iam::{ACCOUNT}:policy/contact-centre/boundary"
TARGET_BUS = f"arn:aws:events:{REGION}:{ACCOUNT}:event-bus/lake"
TARGET_FUNCTION = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:ours:live"
WEBHOOK = {
    "ActionTarget": "webhook",
    "WebhookUrl": "https://hooks.example.com/genesys",
    "DestinationSecretArn": SECRET,
}
TO_GENESYS = {
    "ActionTarget": "genesys",
    "GenesysHost": "mypurecloud.de",
    "DestinationSecretArn": SECRET,
}
TO_BUS = {"ActionTarget": "eventbridge", "TargetArn": TARGET_BUS}
TO_FUNCTION = {"ActionTarget": "lambda", "TargetArn": TARGET_FUNCTION}
PARTNER = {"EventSourceName": f"{GENESYS}/live"}
OWN_EVENTS = {"SourcePrefix": "contact-centre"}
ON_BUSES: dict[str, dict[str, str]] = {
    "default bus": OWN_EVENTS,
    "own bus": {"EventBusName": "contact-centre"},
    "source": PARTNER,
    "another suffix": {"EventSourceName": f"{GENESYS}/second"},
    "source with its bus": {"EventBusName": f"{GENESYS}/live"},
}
SETS: dict[str, dict[str, str]] = {
    **ON_BUSES,
    "webhook": WEBHOOK,
    "genesys": TO_GENESYS,
    "bus": TO_BUS,
    "function": TO_FUNCTION,
    "limits": {**WEBHOOK, "MaxActionsPerMinute": "300", "MaxConcurrentActions": "20"},
    "key": {**WEBHOOK, "KmsKeyArn": KEY},
    "another key": {**WEBHOOK, "KmsKeyArn": OTHER_KEY, "FormerKmsKeyArn": KEY},
    "key removed": {**WEBHOOK, "FormerKmsKeyArn": KEY},
    "former claims": {"ClaimTableName": "once-ClaimTable-1A2B3C"},
    "archive": {"ArchiveDays": "14"},
    "archive of a source": {
        **PARTNER,
        "ArchiveDays": "3650",
        "DetailTypes": "v2.users.{id}.presence,v2.detail.events.conversation.{id}.customer.end",
        "KmsKeyArn": KEY,
    },
    "kept long": {
        "ClaimDays": "400",
        "LogLevel": "ERROR",
        "LogRetentionDays": "365",
        "AlarmEmail": "on-call@example.com",
    },
    "boundary": {"PermissionsBoundaryArn": BOUNDARY},
    "never silent": {"QuietMinutes": "0"},
    "payloads": {"LogLevel": "ALL_WITH_PAYLOADS", "ActionsLate": "p99.9/300"},
}
DEPLOYMENTS = {name: Translated(OWN_EVENTS | parameters) for name, parameters in SETS.items()}
# Of each type of resource, as CloudFormation's registry has them. cfn-lint takes long to import.
SCHEMAS = Path(str(getattr(find_spec("cfnlint"), "origin", ""))).parent / "data" / "schemas"
