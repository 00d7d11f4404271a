"""What every implementation of `ContentGroups` must do."""

from __future__ import annotations

import random
from collections import defaultdict

from lycosa.dedupe.comparison import GROUP_BYTES, NO_SIGNATURE, Signature
from lycosa.dedupe.groups import MAX_LEADERS_PER_BAND, ContentGroups
from lycosa.dedupe.signature import signature_of

WORDS = [f"word{number}" for number in range(4000)]


def text_of(seed: int, length: int = 400) -> list[str]:
    return random.Random(seed).choices(WORDS, k=length)


def variant(words: list[str], seed: int, changes: int) -> list[str]:
    draws = random.Random(seed)
    words = list(words)
    for _ in range(changes):
        words[draws.randrange(len(words))] = draws.choice(WORDS)
    return words


def signed(words: list[str]) -> Signature:
    return signature_of(" ".join(words))


class GroupsContract:
    """Inherit, and offer `groups` as a fixture."""

    def test_a_text_like_no_other_leads_a_group_of_its_own(self, groups: ContentGroups) -> None:
        placements = groups.group_of([signed(text_of(seed)) for seed in range(20)])
        assert all(placement.is_first for placement in placements)
        assert len({placement.group for placement in placements}) == 20
        assert {len(placement.group) for placement in placements} == {GROUP_BYTES}

    def test_a_text_with_a_few_changes_joins(self, groups: ContentGroups) -> None:
        words = text_of(1)
        (first,) = groups.group_of([signed(words)])
        (second,) = groups.group_of([signed(variant(words, 2, changes=3))])
        assert second.group == first.group
        assert not second.is_first
        assert 0.9 <= second.similarity < 1.0

    def test_a_text_with_many_changes_does_not(self, groups: ContentGroups) -> None:
        words = text_of(1)
        first, second = groups.group_of([signed(words), signed(variant(words, 2, changes=40))])
        assert second.group != first.group

    def test_texts_placed_together_see_each_other(self, groups: ContentGroups) -> None:
        words = text_of(1)
        placements = groups.group_of([signed(variant(words, seed, changes=1)) for seed in range(10)])
        assert len({placement.group for placement in placements}) == 1

    def test_asking_again_changes_nothing(self, groups: ContentGroups) -> None:
        signatures = [signed(text_of(seed)) for seed in range(5)]
        before = groups.group_of(signatures)
        after = groups.group_of(signatures)
        assert [placement.group for placement in after] == [placement.group for placement in before]
        assert not any(placement.is_first for placement in after)

    def test_texts_without_words_are_in_no_group(self, groups: ContentGroups) -> None:
        first, second = groups.group_of([NO_SIGNATURE, NO_SIGNATURE])
        assert first.group == second.group == b""
        assert not first.is_first

    def test_the_order_of_arrival_changes_no_group_but_its_name(self, groups: ContentGroups) -> None:
        texts = {
            f"{family}-{member}": signed(variant(text_of(family), member, changes=member and 2))
            for family in range(12)
            for member in range(4)
        }
        names = list(texts)
        found = []
        for turn in range(3):
            random.Random(turn).shuffle(names)
            # Each turn in texts of its own, since what was placed before stays.
            placements = groups.group_of([_apart(texts[name], turn) for name in names])
            together = defaultdict(set)
            for name, placement in zip(names, placements, strict=True):
                together[placement.group].add(name)
            found.append({frozenset(members) for members in together.values()})
        assert found[0] == found[1] == found[2]
        assert len(found[0]) == 12

    def test_a_band_that_everybody_has_stays_small(self, groups: ContentGroups) -> None:
        shared = signed(text_of(1)).bands
        crowd = [signed(text_of(seed))._replace(bands=shared) for seed in range(5 * MAX_LEADERS_PER_BAND)]
        assert len({placement.group for placement in groups.group_of(crowd)}) == len(crowd)
        assert len(groups.group_of(crowd[:1])) == 1


def _apart(signature: Signature, turn: int) -> Signature:
    """The same text in a world where nothing of another turn is known."""
    mark = turn.to_bytes(1)
    return Signature(
        mark + signature.digest, tuple(mark + band[1:] + band[:1] for band in signature.bands), signature.sketch
    )
