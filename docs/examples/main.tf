# The integration of Genesys Cloud, the data action and the stack: docs/operations.md, With Terraform.
# The provider of Genesys Cloud reads GENESYSCLOUD_OAUTHCLIENT_ID, GENESYSCLOUD_OAUTHCLIENT_SECRET and
# GENESYSCLOUD_REGION, the AWS region of the organisation.

terraform {
  required_version = ">= 1.5"
  required_providers {
    aws          = { source = "hashicorp/aws", version = ">= 5.0" }
    genesyscloud = { source = "mypurecloud/genesyscloud", version = ">= 1.15" }
  }
}

variable "region" {
  type        = string
  description = "The region of the stack and the bucket, to which Genesys Cloud sends its events."
}

variable "bucket" {
  type        = string
  description = "Your bucket with the packaged template."
}

variable "topics" {
  type        = list(string)
  default     = ["v2.detail.events.conversation.{id}.customer.end"]
  description = "The topics that Genesys Cloud sends."
}

variable "endpoint" {
  type        = string
  description = "The URL to which the data action sends its requests."
}

variable "parameters" {
  type        = map(string)
  default     = { ActionTarget = "none", AlarmEmail = "" }
  description = "Parameters of the template; the others keep their defaults."
}

locals {
  suffix = "genesys-once" # the last part of the name of the partner event source
}

provider "aws" {
  region = var.region
}

provider "genesyscloud" {}

data "aws_caller_identity" "current" {}

data "genesyscloud_organizations_me" "current" {}

resource "genesyscloud_integration" "events" {
  intended_state   = "ENABLED"
  integration_type = "amazon-eventbridge-source"
  config {
    name     = "genesys-once: events"
    advanced = jsonencode({})
    properties = jsonencode({
      awsAccountId      = data.aws_caller_identity.current.account_id
      awsAccountRegion  = var.region
      eventSourceSuffix = local.suffix
      eventFilter       = var.topics
    })
  }
}

# Pending until the stack associates it. It may take a minute to appear: then apply again.
data "aws_cloudwatch_event_source" "genesys" {
  name_prefix = "aws.partner/genesys.com/cloud/${data.genesyscloud_organizations_me.current.id}/${local.suffix}"
  depends_on  = [genesyscloud_integration.events]
}

resource "genesyscloud_integration" "actions" {
  intended_state   = "ENABLED"
  integration_type = "custom-rest-actions"
  config {
    name       = "genesys-once: actions"
    advanced   = jsonencode({})
    properties = jsonencode({})
  }
}

resource "genesyscloud_integration_action" "act" {
  name           = "genesys-once: act"
  category       = "genesys-once"
  integration_id = genesyscloud_integration.actions.id
  # Our function waits 8 seconds; after a later response it would send the request again.
  config_timeout_seconds = 7
  contract_input = jsonencode({
    type     = "object"
    required = ["idempotencyKey"]
    properties = {
      idempotencyKey = { type = "string" }
      occurredAtMs   = { type = "integer" }
      occurredAt     = { type = "string" }
      family         = { type = "string" }
      state          = { type = "string" }
      subjectType    = { type = "string" }
      subjectId      = { type = "string" }
      conversationId = { type = "string" }
      participantId  = { type = "string" }
      userId         = { type = "string" }
      queueId        = { type = "string" }
    }
  })
  contract_output = jsonencode({ type = "object", properties = {} })
  config_request {
    request_type         = "POST"
    request_url_template = var.endpoint
    request_template     = "$${input.rawRequest}"
    headers = {
      "Content-Type"    = "application/json"
      "Idempotency-Key" = "$${input.idempotencyKey}"
    }
  }
  config_response {
    success_template = "{}"
  }
}

resource "aws_s3_object" "template" {
  bucket = var.bucket
  key    = "genesys-once/${filemd5("packaged.yaml")}.yaml"
  source = "packaged.yaml"
}

resource "aws_cloudformation_stack" "genesys_once" {
  name         = "genesys-once"
  template_url = "https://${var.bucket}.s3.${var.region}.amazonaws.com/${aws_s3_object.template.key}"
  # The second one because the template names the transform of AWS SAM.
  capabilities = ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
  parameters = merge(
    { EventSourceName = data.aws_cloudwatch_event_source.genesys.name },
    var.parameters
  )
}

output "action_id" {
  value = genesyscloud_integration_action.act.id
}

output "executions" {
  value = aws_cloudformation_stack.genesys_once.outputs["StateMachineConsole"]
}
