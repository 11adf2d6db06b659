"""Names the SDK's models of the workforce management topics, like topic_models.py."""

USERS = {
    "adherence": "WfmUserScheduleAdherenceUpdatedTopicUserScheduleAdherenceUpdate",
    "adherence.explanations.jobs": (
        "WfmAdherenceExplanationJobCompleteTopicAdherenceExplanationJobNotification"
    ),
    "adherence.historical.agent": (
        "WfmHistoricalAdherenceAgentCalculationsCompleteTopic"
        "WfmHistoricalAdherenceAgentCalculationsCompleteNotification"
    ),
    "adherence.historical.bulk": (
        "WfmHistoricalAdherenceBulkCalculationsCompleteTopic"
        "WfmHistoricalAdherenceBulkCalculationsCompleteNotification"
    ),
    "agentschedules.managementunit.search.complete": (
        "WfmAgentMuScheduleSearchCompleteTopicAgentMuScheduleSearchCompleteNotification"
    ),
    "alternative.shift.jobs": (
        "WfmAlternativeShiftJobCompleteEventV3AlternativeShiftJobCompleteNotification"
    ),
    "historicaladherencequery": (
        "WfmHistoricalAdherenceCalculationsCompleteTopic"
        "WfmHistoricalAdherenceCalculationsCompleteNotice"
    ),
    "integrations.hris.timeofftypes.jobs": (
        "WfmIntegrationsHrisTimeOffTypesJobTopicHrisTimeOffTypesJobNotification"
    ),
    "notifications": "WfmUserNotificationTopicWfmUserNotification",
    "performanceprediction.schedules.recalculations": (
        "PerformancePredictionRecalculationCompleteEventTopic"
        "PerformancePredictionUserRecalculationNotification"
    ),
    "schedules": "WfmAgentScheduleUpdateTopicAgentScheduleUpdateNotification",
    "shift.trading.jobs": ("WfmShiftTradingJobCompleteEventShiftTradingJobCompleteNotification"),
    "shrinkage.jobs": (
        "WfmHistoricalShrinkageCalculationsCompleteTopic"
        "HistoricalShrinkageCalculationsCompleteNotification"
    ),
    "timeoffbalance.jobs": "WfmTimeOffBalanceJobTopicTimeOffBalanceJobNotification",
    "timeoffrequests": "WfmTimeOffRequestUpdateTopicTimeOffRequestUpdate",
}

WORKFORCE = {
    "agents": "WfmMoveAgentsCompleteTopicWfmMoveAgentsComplete",
    "agents.{id}.adherence.explanations": (
        "WfmAgentAdherenceExplanationChangedAgentTopicAdherenceExplanationChangedNotification"
    ),
    "historicaldata.delete.jobs": (
        "WfmHistoricalDataImportPurgeCompleteTopicHistoricalDataPurgeRequestComplete"
    ),
    "historicaldata.deletejob": (
        "WfmHistoricalDataUploadPurgeRequestStatusTopicHistoricalDataUploadPurgeRequestUpdate"
    ),
    "historicaldata.status": (
        "WfmHistoricalDataUploadRequestStatusTopicHistoricalDataUploadRequestUpdate"
    ),
    "managementunits.{id}": "WfmMoveManagementUnitTopicMoveManagementUnitNotification",
    "managementunits.{id}.adherence": (
        "WfmUserScheduleAdherenceUpdatedMuTopicUserScheduleAdherenceUpdate"
    ),
    "managementunits.{id}.agents.sync": ("WfmUpdateAgentDetailsTopicWfmUpdateAgentDetailsComplete"),
    "managementunits.{id}.schedules": "WfmScheduleTopicWfmScheduleNotification",
    "managementunits.{id}.shifttrades.state.bulk": (
        "WfmBulkShiftTradeStateUpdateNotificationTopicBulkShiftTradeStateUpdateNotification"
    ),
    "performanceprediction.schedules.{id}": (
        "PerformancePredictionCompleteEventTopicPerformancePredictionCalculationNotification"
    ),
    "teams.{id}.adherence": ("WfmUserScheduleAdherenceUpdatedTeamTopicUserScheduleAdherenceUpdate"),
    "users.{id}.schedules.query": (
        "WfmBuScheduleQueryResultTopicBuScheduleSearchResultNotification"
    ),
    "users.{id}.schedules.search": (
        "WfmBuScheduleSearchResultTopicBuScheduleSearchResultNotification"
    ),
}
BUSINESS_UNITS = {
    "activityplans.jobs": ("WfmActivityPlanJobCompleteTopicActivityPlanJobCompleteNotification"),
    "activityplans.runs.jobs": (
        "WfmActivityPlanRunJobCompleteTopicActivityPlanJobCompleteNotification"
    ),
    "adherence.explanations": (
        "WfmAgentAdherenceExplanationChangedBusinessUnitTopic"
        "AdherenceExplanationChangedNotification"
    ),
    "capacityplans.{id}.staffingrequirements": (
        "CapacityPlanningRequirementsResultTopicStaffingRequirementsNotification"
    ),
    "forecasts.staffingrequirement": (
        "WfmBuShortTermForecastStaffingRequirementsGenerateCompleteTopic"
        "BuForecastShortTermStaffingRequirementsNotification"
    ),
    "schedules": "WfmBuScheduleTopicBuScheduleNotification",
    "scheduling.runs": "WfmBuScheduleRunTopicBuSchedulingRunProgressNotification",
    "shorttermforecasts": (
        "WfmBuShortTermForecastUpdateCompleteTopicBuShortTermForecastNotification"
    ),
    "shorttermforecasts.copy": (
        "WfmBuShortTermForecastCopyCompleteTopicBuShortTermForecastNotification"
    ),
    "shorttermforecasts.generate": (
        "WfmBuShortTermForecastGenerateProgressTopicGenerateBuShortTermForecastProgressNotification"
    ),
    "shorttermforecasts.import": (
        "WfmBuShortTermForecastImportCompleteTopicBuShortTermForecastNotification"
    ),
    "workplanbids.{id}": "WorkPlanBiddingAdminNotificationTopicWorkPlanBiddingNotification",
}
