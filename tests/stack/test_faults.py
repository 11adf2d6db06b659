"""Broken functions and settings: what the records say, which command helps, and that the event acts
when the fault is repaired."""

from proof.events import customer_start
from proof.shared_stack import SharedStack, Variant
from tests.stack.sample_events import new_id


def configure(variant: Variant, function: str, **changes: object) -> None:
    variant.client("lambda").update_function_configuration(
        FunctionName=variant.outputs[function], **changes
    )


def test_function_that_cannot_be_loaded_keeps_the_event_until_it_is_repaired(
    local: SharedStack,
) -> None:
    conversation = new_id()
    with local.variant(Handler="nowhere.handler") as variant:
        variant.send(customer_start(conversation))
        first = variant.wait(variant.records)[0]
        assert (first.outcome, first.reason) == ("RETRY", "FUNCTION_FAILED")
        assert first.error_class == "Runtime.ImportModuleError"
        assert "FUNCTION_FAILED" in variant.once("status", "--json").out
        handler = local.client("lambda").get_function_configuration(
            FunctionName=local.outputs["DataActionFunctionName"]
        )["Handler"]
        configure(variant, "DataActionFunctionName", Handler=handler)
        variant.wait(lambda: variant.requests(conversation))


def test_enrichment_that_fails_leaves_the_message_until_it_is_repaired(local: SharedStack) -> None:
    conversation = new_id()
    with local.variant(visibility_seconds=5) as variant:
        handler = local.client("lambda").get_function_configuration(
            FunctionName=local.outputs["EnrichmentFunctionName"]
        )["Handler"]
        configure(variant, "EnrichmentFunctionName", Handler="nowhere.handler")
        variant.send(customer_start(conversation))
        variant.wait(lambda: variant.depth("ApproximateNumberOfMessagesNotVisible"))
        assert not variant.records()
        variant.wait(lambda: "ENRICHMENT_FAILS" in variant.once("status", "--json").out)
        configure(variant, "EnrichmentFunctionName", Handler=handler)
        variant.wait(lambda: variant.requests(conversation))


def test_parked_event_is_replayed_or_dropped(local: SharedStack) -> None:
    replayed, dropped = new_id(), new_id()
    with local.variant() as variant:
        for conversation in (replayed, dropped):
            variant.script(conversation, 422, then=200)
            (record,) = variant.settle(customer_start(conversation))
            assert (record.outcome, record.reason, record.status) == ("PARKED", "REJECTED", 422)
        listed = variant.once("parked", "list", "--json").json["messages"]
        assert [message["reason"] for message in listed] == ["REJECTED", "REJECTED"]
        assert variant.once("parked", "drop", dropped, "--yes").code == 0
        assert variant.once("parked", "replay", "--yes").code == 0
        variant.wait(lambda: any(request["acted"] for request in variant.requests(replayed)))
        assert variant.once("parked", "list", "--json").json["messages"] == []
        (copy,) = variant.settle(customer_start(dropped))
        assert copy.outcome == "DUPLICATE"


def test_forgotten_event_acts_again(local: SharedStack) -> None:
    conversation = new_id()
    with local.variant() as variant:
        (first,) = variant.settle(customer_start(conversation))
        assert first.key is not None
        assert variant.once("status").code == 0
        assert variant.once("forget", str(first.key), "--yes").code == 0
        (again,) = variant.settle(customer_start(conversation))
        assert again.outcome == "PROCESSED"
        assert len(variant.requests(conversation)) == 2


def test_explain_tells_the_story_of_an_event(local: SharedStack) -> None:
    conversation = new_id()
    local.settle(customer_start(conversation), customer_start(conversation), steps=True)
    answer = local.once("explain", conversation, "--json")
    assert answer.code == 0
    (event,) = (event for subject in answer.json["subjects"] for event in subject["events"])
    assert event["outcome"] == "PROCESSED"
    assert len(event["chains"]) == 2
    assert local.once("explain", new_id()).code != 0


def test_check_sends_canaries_through_the_real_path(local: SharedStack) -> None:
    answer = local.once("check", "--json", "--yes")
    assert answer.code in (0, 3), answer.out + answer.err
