"""People's labels: whom they are of, whom they count for, and what a scorer earns by them."""

from __future__ import annotations

from typing import Any

import pytest

from referee import OptionError, Run
from referee.agreement import agreement
from referee.errors import StoreError
from referee.storage import ScoredRun, Store
from referee.storage.filters import ScoreFilter
from stores import postgres_server, run, score, scored, store, store_url

__all__ = ["postgres_server", "store", "store_url"]


def numbers(store: Store, **where: Any) -> dict[str, int]:
    """The numbers of scores by run id."""
    return {row.run_id: row.number for row in store.scores.page(ScoreFilter(**where), limit=1000).rows}


def judged(store: Store, count: int = 30, version: str = "v1", experiment: str = "recorded") -> dict[str, int]:
    """Runs that a judge scored, every third one 0."""
    names = [f"r{n:02d}" for n in range(count)]
    records = [
        ScoredRun(run=run(name, answered=f"At {name}."), scores=[score(name, "judge", float(place % 3 > 0), version)])
        for place, name in enumerate(names)
    ]
    store.save(records, experiment=experiment)
    return numbers(store, experiment=experiment, version=version)


def test_a_label_is_kept_and_a_second_one_of_the_same_person_replaces_it(store: Store) -> None:
    number = judged(store, 1)["r00"]
    first = store.label(1, author="ann", score=number, comment="fine")
    assert (first.run_id, first.scorer, first.turn, first.value, first.comment) == ("r00", "judge", None, 1.0, "fine")
    store.label(0, author="ben", score=number)
    store.label(0, author="ann", score=number)
    assert [(label.author, label.value) for label in store.labels.latest()] == [("ben", 0.0), ("ann", 0.0)]
    assert [label.author for label in store.labels.latest(author="ben", scorer="judge")] == ["ben"]
    store.labels.remove(first.number)
    assert [label.author for label in store.labels.latest(run=store.scores.get(number).row.run)] == ["ben"]
    with pytest.raises(StoreError, match="there is no label"):
        store.labels.remove(first.number)


def test_a_run_may_be_labelled_by_any_name(store: Store) -> None:
    row = store.scores.get(judged(store, 1)["r00"]).row
    label = store.label(4.5, author="ann", run=row.run, name="tone", turn=2)
    assert (label.scorer, label.value, label.turn) == ("tone", 4.5, 2)


def test_a_label_holds_for_every_version_and_wherever_the_same_content_was_scored(store: Store) -> None:
    first = judged(store, 3, "v1")
    store.label(1, author="ann", score=first["r01"])
    judged(store, 3, "v2")
    judged(store, 3, "v2", experiment="again")
    for version in ("v1", "v2"):
        assert [pair.value for pair in store.labels.pairs("judge", version=version)] == [1.0]
    assert len(store.labels.pairs("judge", experiment="again")) == 1
    store.save([ScoredRun(run=run("other", answered="No."), scores=[score("", "judge", 1.0)])])
    assert len(store.labels.pairs("judge", version="v1")) == 1


def test_a_label_of_a_run_without_content_is_of_that_run_alone(store: Store) -> None:
    store.save([ScoredRun(run=Run(id=name), scores=[score(name, "judge", 1.0)]) for name in "ab"])
    store.label(1, author="ann", score=numbers(store)["a"])
    assert len(store.labels.pairs("judge")) == 1


def test_agreement_is_that_of_the_pairs(store: Store) -> None:
    known = judged(store)
    pairs = []
    for place, (name, number) in enumerate(sorted(known.items())):
        label = float(place % 4 > 0)
        store.label(label, author="ann", score=number)
        pairs.append((store.scores.get(number).row.value or 0.0, label))
        assert name
    found = store.labels.agreement("judge")
    expected = agreement(pairs)
    assert (found.kappa, found.matrix, found.pairs) == (expected.kappa, expected.matrix, 30)
    assert store.labels.agreement("judge", author="nobody").pairs == 0


def test_the_label_of_most_people_counts_and_a_draw_is_disputed(store: Store) -> None:
    known = judged(store, 3)
    for author, labels in (("ann", (1, 1, 0)), ("ben", (1, 0, 1)), ("cem", (0, 1, None))):
        for name, label in zip(sorted(known), labels):
            if label is not None:
                store.label(label, author=author, score=known[name])
    by_score = {pair.score: pair.label for pair in store.labels.pairs("judge")}
    assert [by_score[known[name]] for name in sorted(known)] == [1.0, 1.0, None]
    found = store.labels.agreement("judge")
    assert (found.pairs, found.disputed) == (2, 1)


def test_the_queue_holds_what_a_person_has_not_labelled(store: Store) -> None:
    known = judged(store, 5)
    store.save([scored("failed", {"judge": None})])
    store.label(1, author="ann", score=known["r03"])
    assert [row.run_id for row in store.labels.queue("judge", author="ann")] == ["r04", "r02", "r01", "r00"]
    assert len(store.labels.queue("judge", author="ben", limit=2)) == 2
    assert store.labels.queue("judge", author="ann", version="v9") == []


def test_several_versions_are_never_pooled(store: Store) -> None:
    for version in ("v1", "v2"):
        for number in judged(store, 2, version).values():
            store.label(1, author="ann", score=number)
    with pytest.raises(OptionError, match="labelled scores of the versions v1, v2: name one"):
        store.labels.agreement("judge")
    assert store.labels.agreement("judge", version="v1").pairs == 2


def test_a_calibration_is_of_one_version(store: Store) -> None:
    known = judged(store)
    for place, name in enumerate(sorted(known)):
        store.label(float(place % 3 > 0), author="ann", score=known[name])
    kept = store.labels.calibrate("judge", weights="quadratic")
    assert (kept.scorer, kept.version, kept.kappa, kept.pairs, kept.weights) == ("judge", "v1", 1.0, 30, "quadratic")
    assert store.labels.calibration("judge", "v1") == kept
    assert store.labels.calibration("judge", "v2") is None
    assert store.labels.calibration("other", "v1") is None
    later = store.labels.calibrate("judge")
    assert store.labels.calibration("judge", "v1") == later


def test_too_few_labels_are_no_calibration(store: Store) -> None:
    for number in judged(store, 5).values():
        store.label(1, author="ann", score=number)
    with pytest.raises(OptionError, match="5 labelled scores say too little: label 20"):
        store.labels.calibrate("judge")
    assert store.labels.calibrate("judge", fewest=5).pairs == 5
    with pytest.raises(OptionError, match="0 labelled scores"):
        store.labels.calibrate("unheard of")


def test_what_is_no_label(store: Store) -> None:
    number = judged(store, 1)["r00"]
    wrong: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"value": 2, "author": "ann", "score": number}, OptionError, "goes from 0 to 1; the label 2 does not"),
        ({"value": float("nan"), "author": "ann", "score": number}, OptionError, "a finite number"),
        ({"value": 1, "author": " ", "score": number}, OptionError, "needs an author"),
        ({"value": 1, "author": "ann"}, OptionError, "say what is labelled"),
        ({"value": 1, "author": "ann", "run": 1}, OptionError, "what was judged"),
        ({"value": 1, "author": "ann", "score": 999}, StoreError, "there is no score 999"),
        ({"value": 1, "author": "ann", "run": 999, "name": "x"}, StoreError, "there is no run 999"),
    ]
    for given, kind, message in wrong:
        with pytest.raises(kind, match=message):
            store.label(**given)
    assert store.labels.latest() == []


@pytest.mark.parametrize("value", [10**400, float("nan"), None, "1"])
def test_a_label_is_a_number_that_a_float_can_hold(store: Store, value: Any) -> None:
    with pytest.raises(OptionError, match="a label is a finite number"):
        store.label(value, author="ann", score=1)


def test_there_is_no_turn_before_the_first(store: Store) -> None:
    with pytest.raises(OptionError, match="no turn -1"):
        store.label(1, author="ann", run=1, name="s", turn=-1)
