"""Which model of the Genesys SDK is the body of which topic: the SDK has no such table itself."""

from collections.abc import Iterator

from tests.enrichment.workforce_models import BUSINESS_UNITS, USERS, WORKFORCE

_DETAIL = {
    "acd.end": "AcdEndDetailEventTopicAcdEndEvent",
    "acd.start": "AcdStartDetailEventTopicAcdStartEvent",
    "acw": "AcwDetailEventTopicAfterCallWorkEvent",
    "attributes": "AttributeDetailEventTopicAttributeUpdateEvent",
    "contact": "ContactDetailEventTopicContactUpdateEvent",
    "customer.end": "CustomerEndDetailEventTopicCustomerEndEvent",
    "customer.start": "CustomerStartDetailEventTopicCustomerStartEvent",
    "flow.end": "FlowEndDetailEventTopicFlowEndEvent",
    "flow.outcome": "FlowOutcomeDetailEventTopicFlowOutcomeEvent",
    "flow.start": "FlowStartDetailEventTopicFlowStartEvent",
    "outbound": "OutboundDetailEventTopicOutboundInitEvent",
    "user.end": "UserEndDetailEventTopicUserEndEvent",
    "user.start": "UserStartDetailEventTopicUserStartEvent",
    "voicemail.end": "VoicemailEndDetailEventTopicVoicemailEndEvent",
    "voicemail.start": "VoicemailStartDetailEventTopicVoicemailStartEvent",
    "wrapup": "WrapupDetailEventTopicWrapupEvent",
}

# Medium in the topic, then in the names of the models.
_MEDIA = {
    "callbacks": "Callback",
    "calls": "Call",
    "chats": "Chat",
    "cobrowseSessions": "Cobrowse",
    "emails": "Email",
    "messages": "Message",
    "screenshares": "ScreenShare",
}
_SNAPSHOTS = {
    "users.{id}.conversations": "ConversationEventTopicConversation",
    "users.{id}.conversations.socialexpressions": (
        "ConversationSocialExpressionEventTopicSocialConversation"
    ),
    "users.{id}.conversations.videos": "ConversationVideoEventTopicVideoConversation",
    "routing.queues.{id}.conversations": "QueueConversationEventTopicConversation",
    "routing.queues.{id}.conversations.socialexpressions": (
        "QueueConversationSocialExpressionEventTopicConversation"
    ),
    "routing.queues.{id}.conversations.videos": "QueueConversationVideoEventTopicConversation",
}

_ANALYTICS = {
    "conversation.{id}.metrics": "ConversationMetricsTopicConversationMetricRecord",
    "conversations.details.jobs.availability": (
        "ConversationDetailsDatalakeAvailabilityTopicDataAvailabilityChangeNotification"
    ),
    "flow.{id}.aggregates": "StatEventFlowTopicStatsNotification",
    "flow.{id}.metrics": "FlowMetricsTopicFlowMetricRecord",
    "flowoutcome.{id}.aggregates": "StatEventFlowOutcomeTopicStatsNotification",
    "queues.{id}.activity": "V2QueueObservationObservationCountNotification",
    "queues.{id}.observations": "StatEventQueueTopicStatsNotification",
    "users.details.jobs.availability": (
        "UserDetailsDatalakeAvailabilityTopicDataAvailabilityChangeNotification"
    ),
    "users.{id}.aggregates": "StatEventUserTopicStatsNotification",
    "wrapup.{id}.aggregates": "StatEventWrapUpCodeTopicStatsNotification",
}

_CONVERSATIONS = {
    "agentchecklist": "ConversationChecklistTopicAgentChecklistRuntimeEventBody",
    "suggestions.intent": "ConversationIntentSuggestionsTopicIntentSuggestionEvent",
    "suggestions.knowledge.article": (
        "ConversationKnowledgeArticleSuggestionsTopicKnowledgeArticleSuggestionEvent"
    ),
    "suggestions.knowledge.search": (
        "ConversationKnowledgeSearchSuggestionsTopicKnowledgeSearchSuggestionEvent"
    ),
    "suggestions.response": ("ConversationResponseSuggestionsTopicCannedResponseSuggestionEvent"),
    "suggestions.script": "ConversationScriptSuggestionsTopicScriptSuggestionEvent",
    "suggestions.thirdpartyaction": (
        "ConversationThirdPartyActionSuggestionsTopicThirdPartyActionSuggestionEvent"
    ),
    "transcription": "TranscriptionTopicTranscriptionMessage",
}

_CONFIGURATION = {
    "attemptlimits": "DialerAttemptLimitsConfigChangeAttemptLimits",
    "callabletimesets": "DialerCallabletimesetConfigChangeCallableTimeSet",
    "campaignrules": "DialerCampaignRuleConfigChangeCampaignRule",
    "campaigns": "DialerCampaignConfigChangeCampaign",
    "contactlistfilters": "DialerContactlistfilterConfigChangeContactListFilter",
    "contactlists": "DialerContactlistConfigChangeContactList",
    "dnclists": "DialerDnclistConfigChangeDncList",
    "emailcampaigns": "OutboundMessagingEmailCampaignConfigChangeMessagingCampaign",
    "messagingcampaigns": "OutboundMessagingMessagingCampaignConfigChangeMessagingCampaign",
    "responsesets": "DialerResponsesetConfigChangeResponseSet",
    "rulesets": "DialerRulesetConfigChangeRuleSet",
    "schedules.campaigns": "DialerCampaignScheduleConfigChangeCampaignSchedule",
    "schedules.emailcampaigns": "EmailCampaignScheduleConfigChangeEmailCampaignSchedule",
    "schedules.messagingcampaigns": (
        "MessagingCampaignScheduleConfigChangeMessagingCampaignSchedule"
    ),
    "schedules.sequences": "DialerSequenceScheduleConfigChangeSequenceSchedule",
    "schedules.whatsappcampaigns": "WhatsappCampaignScheduleConfigChangeWhatsAppCampaignSchedule",
    "sequences": "DialerSequenceConfigChangeCampaignSequence",
    "whatsappcampaigns": "OutboundMessagingWhatsappCampaignConfigChangeMessagingCampaign",
    "wrapupcodemappings": "DialerWrapupcodemappingConfigChangeWrapUpCodeMapping",
}
_OUTBOUND = {
    "campaigns.{id}.progress": "DialerCampaignProgressEventCampaignProgress",
    "campaigns.{id}.skillstats": (
        "DialerCampaignSkillCombinationStatsEventCampaignSkillCombinationStats"
    ),
    "campaigns.{id}.stats": "StatEventCampaignTopicStatsNotification",
    "contactlists.{id}.importstatus": "ContactlistImportStatusImportStatus",
    "dnclists.{id}.importstatus": "DnclistImportStatusImportStatus",
    "emailcampaigns.{id}.progress": "OutboundMessagingEmailCampaignProgressEventCampaignProgress",
    "importtemplates.{id}.importstatus": "ImportTemplateImportStatusImportStatus",
    "messagingcampaigns.{id}.progress": (
        "OutboundMessagingMessagingCampaignProgressEventCampaignProgress"
    ),
    "settings": "DialerOutboundSettingsConfigChangeOutboundSettings",
    "whatsappcampaigns.{id}.progress": (
        "OutboundMessagingWhatsappCampaignProgressEventCampaignProgress"
    ),
}
# Medium in the topic, then in the first and in the second half of the models' names.
_MESSAGING = {"email": ("Email", "Email"), "messaging": ("Sms", "SMS")}
_MESSAGING |= {"whatsapp": ("Whatsapp", "WhatsApp")}
_DIALLED = {"preview": "Preview", "voice": "Voice"}

_STA = {
    "conversation.{id}.empathy": "V2StaEmpathyOverallTopicOverallEmpathyMessage",
    "conversation.{id}.sentiment": "V2StaSentimentOverallTopicOverallSentimentMessage",
    "conversation.{id}.topics": "V2StaTopicsDetectedTopicTopicsDetectedMessage",
    "conversations.{id}.categories": "V2StaConversationCategoriesStaConversationCategoriesMessage",
    "programs.general.jobs.{id}": "CreateGeneralProgramTopicsDefinitionsJob",
    "programs.publishjobs.{id}": "PublishProgramTopicsDefinitionsJob",
    "programs.topiclinks.jobs.{id}": "ProgramTopicLinksTopicsDefinitionsJob",
    "reprocessing.jobs.{id}": "V2ReprocessJobStateChangedTopicJobStateChanged",
    "topics.generatedphrases.jobs.{id}": "GenAiPhrasesTopicsDefinitionsJob",
    "topics.publishjobs.{id}": "PublishTopicTopicsDefinitionsJob",
    "topics.testphrase.jobs.{id}": "TestTopicPhraseTopicsDefinitionsJob",
}

_USERS = {
    "activity": "AgentActivityChangedTopicAgentActivity",
    "alerting.alerts": "V2MobiusAlertsTopicAlert",
    "alerting.rules": "V2MobiusRulesTopicRule",
    "analytics.reporting.exports": "ReportingDataExportTopicDataExportNotification",
    "badges.chats": "ChatBadgeTopicChatBadge",
    "callforwarding": "CallForwardingEventCallForwarding",
    "conversations.inbound.typing.event": (
        "V2ConversationMessageTypingEventForUserTopicMessageData"
    ),
    "conversations.summaries": "ConversationSummaryTopicConversationSummaryEvent",
    "conversations.summaries.settings.preview": (
        "V2SessionConversationsSummarySettingsPreviewEventConversationSummarySettingsPreviewMessage"
    ),
    "conversations.{id}.recordings": "RecordingEventRecording",
    "conversations.{id}.recordings.{id}": "RecordingTranscodeCompleteTopicRecording",
    "conversationsummary": "UserConversationsEventUserConversationSummary",
    "employeeengagement.celebrations": (
        "V2WemEngagementCelebrationUpdatesTopicEngagementCelebration"
    ),
    "fax.documents": "FaxTopicFaxDataV2",
    "geolocation": "GeolocationEventGeolocation",
    "greetings": "UserGreetingEventGreeting",
    "integrationpresence": "V2IntegrationPresenceEventPresenceActivityEvent",
    "integrations.calendar.teams": "GcuccTeamsCalendarEventsGCUCCTeamsCalendarEventV2",
    "outbound.contactlists.{id}.export": "ContactlistDownloadReadyExportUri",
    "outbound.dnclists.{id}.export": "DnclistDownloadReadyExportUri",
    "outofoffice": "OutOfOfficeEventOutOfOffice",
    "persistentconnection": "PersistentConnectionChangeTopicPersistentConnectionChangeEvent",
    "presence": "PresenceEventUserPresence",
    "recordings": "RecordingArchiveRestoreTopicRecording",
    "routingStatus": "UserRoutingStatusUserRoutingStatus",
    "station": "UserStationChangeTopicUserStations",
    "tokens": "UserTokensTopicTokenNotification",
    "userrecordings": "AdhocRecordingTopicRecordingDataV2",
    "voicemail.messages": "VoicemailMessagesTopicVoicemailMessage",
    "wem.coaching.notification": "WemCoachingUserNotificationTopicCoachingUserNotification",
    "wem.learning.assignment": "LearningAssignmentTopicLearningAssignmentNotification",
}

_EXTERNAL_CONTACTS = {
    "contacts.{id}": "ExternalContactsContactChangedTopicContact",
    "contacts.{id}.journey.segments": (
        "JourneySegmentAssignmentEventsNotificationSegmentAssignmentEventsNotification"
    ),
    "contacts.{id}.journey.sessions": "JourneySessionEventsNotificationSessionEvent",
    "contacts.{id}.notes.{id}": "ExternalContactsContactNoteChangedTopicNote",
    "contacts.{id}.unresolved": "ExternalContactsUnresolvedContactChangedTopicContact",
    "organizations.{id}": "ExternalContactsOrganizationChangedTopicExternalOrganization",
    "organizations.{id}.notes.{id}": "ExternalContactsOrganizationNoteChangedTopicNote",
    "relationships.{id}": "ExternalContactsRelationshipChangedTopicRelationship",
}

_EDGES = {
    "phones.{id}": "PhoneChangeTopicPhone",
    "trunks.{id}": "TrunkInstanceTopicTrunk",
    "trunks.{id}.metrics": "TrunkMetricsTopicTrunkMetrics",
    "{id}": "EdgeChangeTopicEdge",
    "{id}.logicalinterfaces": "EdgeLogicalInterfacesChangeTopicDomainLogicalInterfaceChange",
    "{id}.metrics": "EdgeMetricsTopicEdgeMetrics",
    "{id}.softwareupdate": "EdgeSoftwareUpdateTopicDomainEdgeSoftwareUpdate",
}

_OTHERS = {
    "architect.dependencytracking.build": (
        "ArchitectDependencyTrackingBuildNotificationDependencyTrackingBuildNotification"
    ),
    "architect.prompts.{id}": "ArchitectPromptNotificationPromptNotification",
    "architect.prompts.{id}.resources.{id}": (
        "ArchitectPromptResourceNotificationPromptResourceNotification"
    ),
    "architect.systemprompts.{id}.resources.{id}": (
        "ArchitectSystemPromptResourceNotificationSystemPromptResourceNotification"
    ),
    "audits.entitytype.{id}.entityid.{id}": "AuditTopicAuditLogMessage",
    "bot.conversation.{id}.conversations.summaries": (
        "ConversationSummaryTopicVirtualAgentsConversationSummaryEvent"
    ),
    "businessunits.{id}.workforcemanagement.intraday": (
        "WfmBuIntradayDataUpdateTopicBuIntradayNotification"
    ),
    "coaching.scheduleslots.jobs.{id}": (
        "WemCoachingScheduleSlotJobCompleteTopicCoachingScheduleSlotJobComplete"
    ),
    "contentmanagement.documents.{id}": "ContentManagementSingleDocumentTopicDocumentDataV2",
    "contentmanagement.workspaces.{id}.documents": (
        "ContentManagementWorkspaceDocumentsTopicDocumentDataV2"
    ),
    "detail.events.agent.{id}.state": "AgentStateEventTopicAgentStateEventNotification",
    "detail.events.collaboratechat.adhoc.{id}.messages": (
        "CollaborateChatAdhocMessageEventTopicCollaborateChatMessage"
    ),
    "detail.events.collaboratechat.group.{id}.messages": (
        "CollaborateChatGroupMessageEventTopicCollaborateChatMessage"
    ),
    "employeeperformance.externalmetrics.definitions": (
        "EmployeePerformanceExternalMetricsDefinitionExternalMetricsDefinition"
    ),
    "flows.instances.flow.{id}": "V2FlowExecutionDataFlowidTopicFlowExecutionHistory",
    "flows.outcomes.{id}": "ArchitectFlowOutcomeNotificationFlowOutcomeNotification",
    "flows.{id}": "ArchitectFlowNotificationFlowNotification",
    "gamification.scorecards.users.{id}": "GamificationScorecardChangeTopicScorecardChange",
    "groups.{id}.greetings": "GroupGreetingEventGreeting",
    "integrations.inbound.webhook.{id}.invocation": (
        "MaestroWebhooksInvocationTopicPublicWebhooksEvent"
    ),
    "journey.views.jobs.{id}.notification": (
        "JourneyViewJobNotificationTopicJourneyViewJobNotificationEventV2"
    ),
    "managementunits.{id}.workforcemanagement.intraday": (
        "WfmIntradayDataUpdateTopicIntradayDataUpdate"
    ),
    "operations.events.{id}": "OperationalEventNotificationTopicOperationalEventNotification",
    "quality.evaluations": "EvaluationQualityV2TopicEvaluationV2",
    "routing.queues.{id}.users": "QueueUserEventTopicQueueMember",
    "subscription.updated": "UpdatedTopicSystemMessage",
    "taskmanagement.workitems.queues.{id}": "WorkitemsQueueEventsNotificationWorkitem",
    "taskmanagement.workitems.users.{id}": "WorkitemsUserEventsNotificationWorkitem",
    "taskmanagement.workitems.{id}": "WorkitemsEventsNotificationWorkitem",
    "video.conferences.{id}": "VideoConferenceUpdateTopicVideoConference",
    "webdeployments.configurations.{id}": (
        "WebDeploymentsConfigTopicWebMessagingConfigChangeEventBody"
    ),
    "webdeployments.deployments.{id}": (
        "WebDeploymentsDeploymentTopicWebMessagingDeploymentChangeEventBody"
    ),
    "webmessaging.deployments.{id}.undelivered.messages": (
        "V2WebMessagingUndeliveredMessageTopicWebMessagingUndeliveredMessageEventBody"
    ),
    "wem.learning.assignments.modules.{id}": (
        "LearningAssignmentRuleRunTopicLearningAssignmentRuleRunNotification"
    ),
    "workflows.{id}.conversations.inbound.typing.event": (
        "V2ConversationMessageTypingEventForWorkflowTopicMessageData"
    ),
}

_SYSTEM = ("no_longer_subscribed.{id}", "socket_closing", "token_revoked.{id}", "{id}.{id}")


def _under(stem: str, models: dict[str, str]) -> Iterator[tuple[str, str]]:
    for rest, model in models.items():
        yield f"v2.{stem}{rest}", model


def _regular() -> Iterator[tuple[str, str]]:
    """Topics whose models follow from their names."""
    for medium, name in _MEDIA.items():
        model = f"Conversation{name}EventTopic{name}Conversation"
        yield f"v2.users.{{id}}.conversations.{medium}", model
        yield f"v2.routing.queues.{{id}}.conversations.{medium}", f"Queue{model}"
    for moment in ("pre", "post"):
        for medium, (one, two) in _MESSAGING.items():
            stem = f"OutboundMessagingCampaign{moment.title()}Contact"
            yield (
                f"v2.outbound.{medium}.campaigns.contact.{moment}Contact",
                f"{stem}{one}EventTopic{stem}{two}Event",
            )
        for medium, name in _DIALLED.items():
            stem = f"Outbound{name}Campaign{moment.title()}Contact"
            yield f"v2.outbound.{medium}.campaigns.contact.{moment}Contact", f"{stem}{stem}Event"
    for kind in ("Action", "App", "Outcome", "Web"):
        title = "WebAction" if kind == "Action" else kind
        yield (
            f"v2.journey.sessions.{{id}}.{kind.lower()}.events",
            f"Journey{title}EventsNotification{title}EventsNotification",
        )
    for kind in ("forecast", "historical", "snapshot"):
        stem = f"V2WfmMainForecastExport{kind.title()}Event"
        yield (
            f"v2.workforcemanagement.businessunits.{{id}}.main.forecast.export.{kind}",
            f"{stem}MainForecastExportNotification",
        )
    for rest in _SYSTEM:
        yield f"v2.system.{rest}", "SystemMessageSystemMessage"


MODELS: dict[str, str] = dict(
    [
        *_under("detail.events.conversation.{id}.", _DETAIL),
        *_under("", _SNAPSHOTS),
        *_under("analytics.", _ANALYTICS),
        *_under("conversations.{id}.", _CONVERSATIONS),
        *((f"v2.outbound.{name}.{{id}}", model) for name, model in _CONFIGURATION.items()),
        *_under("outbound.", _OUTBOUND),
        *_under("speechandtextanalytics.", _STA),
        *_under("users.{id}.", _USERS),
        *_under("users.{id}.workforcemanagement.", USERS),
        *_under("workforcemanagement.", WORKFORCE),
        *_under("workforcemanagement.businessunits.{id}.", BUSINESS_UNITS),
        *_under("externalcontacts.", _EXTERNAL_CONTACTS),
        *_under("telephony.providers.edges.", _EDGES),
        *_under("", _OTHERS),
        *_regular(),
    ]
)
"""Every topic that Genesys Cloud publishes, with the model of its body."""
