"""The words that kinds and states of a contact centre's events are made of.

What people name so themselves is logged and kept, in keys and families. A word that is none of
these may be somebody's name: it is hashed. No first names, surnames or places belong in here. The
second half are the words of Genesys' own topics.
"""

import re

from once_enrichment.keys import digest

_WORDS = frozenset(
    """
    abandon abandoned accept accepted acd action active activity acw add added adherence after
    agent alert alerting all an analytics and answer answered appointment as assigned assignment
    at attribute attributes audio audit available avatar away back began begin bot break busy by
    call callback called caller calls campaign cancel canceled cancelled case center centre
    change changed channel chat check clear client close closed cloud co cobrowse communicating
    communication complete completed connect connected contact contacting conversation
    conversations create created customer data deflected delete deleted deliver delivered
    delivery department detail details dial dialer dialing digital disconnect disconnected
    division done email enable enabled end ended enter entered error escalated escalation
    evaluated evaluation event exit exited expired external fail failed failure feedback finish
    finished first flow for forecast from genesys group held hold idle in inactive inbound info
    interacting interaction internal invited ivr join joined knowledge last lead leave left log
    logged login logout meal media meeting member membership message metric metrics missed
    mobile modified monitoring move moved mute muted my new no not note notification number of
    off offered offline on once online open opened operation order out outbound outcome overflow
    own parked participant pause paused payment pending phone predictive presence preview
    priority processed processing profile progress quality queue queued rang read ready receive
    received record recording refused rejected released reminder remove removed reopened reply
    report request requested reset resolved responding response result resume resumed retry
    returned review ring ringing routed routing rule schedule scheduled score screen script
    segment send sent service session set settings shift skill sla sms social start started
    state station statistics status step stop stopped submitted succeeded success summary
    supervisor survey sync system talk talking task team terminated test ticket time timed
    timeout to topic training transcript transcription transfer transferred trigger triggered
    type unanswered unavailable unmuted unparked up update updated upload uploaded uploading
    user users verified video voice voicemail wait waited waiting was web webchat widget with
    work workflow workitem wrap wrapped wrapup
    activityplans adhoc agentchecklist agents agentschedules aggregates alerts alternative
    app architect article assignments attemptlimit attemptlimits audits availability badges
    build bulk businessunit businessunits calendar callabletimeset callabletimesets
    callbacks callforwarding campaignrule campaignrules campaigns capacityplan capacityplans
    categories celebrations chats closing coaching collaboratechat conference conferences
    configuration configurations contactlist contactlistfilter contactlistfilters
    contactlists contacts contentmanagement conversationsummary copy definitions deletejob
    dependencytracking deployment deployments dnclist dnclists document documents edge edges
    emailcampaign emailcampaigns emails empathy employeeengagement employeeperformance
    entityid entitytype evaluations events explanations export exports externalcontacts
    externalmetrics fax flowoutcome flows forecasts gamification general generate
    generatedphrases geolocation greetings groups historical historicaladherencequery
    historicaldata hris id import importstatus importtemplate importtemplates instances
    integrationpresence integrations intent intraday invocation job jobs journey learning
    logicalinterfaces longer main managementunit managementunits messages messaging
    messagingcampaign messagingcampaigns module modules notes notifications observations
    operations organization organizations outcomes outofoffice performanceprediction
    persistentconnection phones post pre programs prompt prompts providers publishjob
    publishjobs query queues recalculations recordings relationship relationships reporting
    reprocessing resource resources responseset responsesets revoked rules ruleset rulesets
    runs schedules scheduleslots scheduling scorecards screenshares search segments
    sentiment sequence sequences sessions shifttrades shorttermforecasts shrinkage
    skillstats snapshot socialexpressions socket softwareupdate speechandtextanalytics
    staffingrequirement staffingrequirements stats subscribed subscription suggestions
    summaries systemprompt systemprompts taskmanagement teams telephony testphrase
    thirdpartyaction timeoffbalance timeoffrequests timeofftypes token tokens topiclinks
    topics trading trunk trunks typing undelivered unresolved userrecordings v videos views
    webdeployments webhook webmessaging wem whatsapp whatsappcampaign whatsappcampaigns
    workflows workforcemanagement workitems workplanbid workplanbids workspace workspaces
    wrapupcodemapping wrapupcodemappings
    """.split()  # noqa: SIM905 - a list would fill pages
)
_A_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[^A-Za-z .:_/-]")
_NO_WORD = re.compile(r"[^0-9A-Za-z]+")
_MOST_DIGITS = 4  # together: more may be a number of a phone
_LONGEST_FAMILY = 100


def is_known(text: str) -> bool:
    """Returns true for text made of words from here, and maybe of a short number."""
    words = _A_WORD.findall(text)
    digits = sum(map(str.isdecimal, words))
    known = sum(word.lower() in _WORDS for word in words)
    return digits <= _MOST_DIGITS and known + digits == len(words)


def family_of(text: str) -> str:
    """Makes the name of a family of a kind; what may be private is hashed."""
    if is_known(text):
        return _NO_WORD.sub(".", text).strip(".").lower()[:_LONGEST_FAMILY] or "event"
    known = [word for one in _A_WORD.findall(text) if (word := one.lower()) in _WORDS]
    return f"{'.'.join(known)[:_LONGEST_FAMILY] or 'event'}.{digest(text)[:8]}"
