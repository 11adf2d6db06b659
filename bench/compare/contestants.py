"""Who takes part: each rival as a module of its own, and this project on its real stack."""

from collections.abc import Callable
from dataclasses import dataclass

from bench.compare.function import Handler, World
from bench.compare.rivals import (
    bare_put,
    dynamodb_check_then_write,
    dynamodb_updated_at,
    fifo,
    in_memory,
    powertools,
    redis_get_setex,
    redis_set_nx,
    window_hash,
)


@dataclass(frozen=True)
class Rival:
    letter: str
    title: str
    build: Callable[[World], Handler]
    fifo: bool = False


RIVALS = (
    Rival("a", "Redis GET, then SETEX 10 s", redis_get_setex.build),
    Rival("b", "Redis SET NX EX, event id", redis_set_nx.build),
    Rival("c", "DynamoDB: if exists, write, event id", dynamodb_check_then_write.build),
    Rival("d", "DynamoDB: newer `updated_at` per conversation", dynamodb_updated_at.build),
    Rival("e", "hash of conversation and state, 500 ms", window_hash.build),
    Rival("f", "event id and timestamp, in memory", in_memory.build),
    Rival("g", "Powertools idempotency, SQS batches", powertools.build),
    Rival("h", "put with `attribute_not_exists`, content", bare_put.build),
    Rival("i", "SQS FIFO, content deduplication", fifo.build, fifo=True),
)
OURS = ("j", "genesys-once")
