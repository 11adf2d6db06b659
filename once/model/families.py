"""Knows the families that are declared, by the names that records and routes have for them."""

from functools import cache

from once_enrichment.families import FAMILIES, Family, family_name


@cache
def declared() -> list[tuple[str, Family]]:
    """Returns each declared family with its name, once for each of its topics."""
    return [(family_name(topic), family) for family in FAMILIES for topic in family.topics]


@cache
def windowed() -> frozenset[str]:
    """Returns the families whose copies differ in time: with `every`, each copy would act."""
    return frozenset(
        name for name, family in declared() if not family.time and family.order != "changes"
    )
