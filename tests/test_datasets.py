"""Data sets: every change a version, every version readable, honest after a purge."""

from __future__ import annotations

import csv
import io
import random
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee import Item, OptionError, Turn, checks, create_scorer, to_run
from referee.datasets import difference, item_from_run, plain_item, to_csv, to_jsonl
from referee.errors import StoreError
from referee.items import read_item
from referee.results import Evaluation
from referee.storage import Store
from referee.suites.files import read_items
from stores import postgres_server, store, store_url

__all__ = ["postgres_server", "store", "store_url"]


def ids(store: Store, name: str) -> list[str]:
    return [item.id for item in store.datasets.read(name).items]


def test_every_change_makes_a_version_and_none_makes_none(store: Store) -> None:
    store.datasets.create("weather", "About the weather")
    assert store.datasets.get("weather").version == 0
    assert store.datasets.read("weather").items == []
    assert (
        store.datasets.put("weather", [{"id": "a", "input": "Rain?"}, {"id": "b", "input": "Sun?"}], note="first") == 1
    )
    assert store.datasets.put("weather", [{"id": "b", "input": "Sun?"}]) == 1
    assert store.datasets.put("weather", [{"id": "b", "input": "Snow?"}, "Wind?"]) == 2
    assert store.datasets.remove("weather", ["a"], note="too easy") == 3
    assert store.datasets.put("weather", [{"id": "z", "input": "Hail?"}], replace=True) == 4
    latest, *_, first = store.datasets.history("weather")
    assert (latest.version, latest.added, latest.removed, latest.items) == (4, 1, 2, 1)
    assert (first.version, first.note, first.added, first.items) == (1, "first", 2, 2)
    assert [item.input for item in store.datasets.read("weather@2").items] == ["Rain?", "Snow?", "Wind?"]
    assert ids(store, "weather@1") == ["a", "b"]
    assert ids(store, "weather@3")[0] == "b"
    assert ids(store, "weather") == ids(store, "weather@latest") == ["z"]


def test_an_item_keeps_its_place_when_it_changes(store: Store) -> None:
    store.datasets.create("d")
    store.datasets.put("d", [{"id": name, "input": name} for name in "abc"])
    store.datasets.put("d", [{"id": "a", "input": "changed"}])
    assert ids(store, "d") == ["a", "b", "c"]


def test_the_history_of_an_item(store: Store) -> None:
    store.datasets.create("d")
    for text in ("one", "two"):
        store.datasets.put("d", [{"id": "a", "input": text}])
    store.datasets.remove("d", ["a"])
    store.datasets.put("d", [{"id": "a", "input": "three"}])
    found = store.datasets.item("d", "a")
    assert [(version.since, version.until, version.item and version.item.input) for version in found] == [
        (4, None, "three"),
        (2, 3, "two"),
        (1, 2, "one"),
    ]
    with pytest.raises(StoreError, match="never had an item 'b'"):
        store.datasets.item("d", "b")


def test_diff(store: Store) -> None:
    store.datasets.create("d")
    store.datasets.put("d", [{"id": "a", "input": "1", "tags": ["x"]}, {"id": "b", "input": "2"}])
    store.datasets.put(
        "d", [{"id": "a", "input": "1!", "tags": ["x"], "ground_truth": "y"}, {"id": "c", "input": "3"}], replace=True
    )
    found = store.datasets.diff("d@1", "d@2")
    assert (found.added, found.removed) == (["c"], ["b"])
    assert [(change.id, change.fields) for change in found.changed] == [("a", ["input", "ground_truth"])]
    assert not store.datasets.diff("d@2", "d")


def test_pins(store: Store) -> None:
    store.datasets.create("d")
    for text in ("one", "two"):
        store.datasets.put("d", [{"id": "a", "input": text}])
    store.datasets.pin("d@1", "release")
    assert store.datasets.read("d@release").version == 1
    store.datasets.pin("d", "release")
    assert store.datasets.get("d").pins == {"release": 2}
    store.datasets.unpin("d", "release")
    with pytest.raises(StoreError, match="has no version pinned as 'release'; there are: none"):
        store.datasets.read("d@release")
    for pin in ("", "3", "latest", "a@b"):
        with pytest.raises(OptionError, match="a pin is a word"):
            store.datasets.pin("d", pin)


def test_the_digest_is_of_the_content_alone(store: Store) -> None:
    for name, order in (("one", "abc"), ("other", "cab")):
        store.datasets.create(name)
        store.datasets.put(
            name, [{"id": letter, "input": letter, "metadata": {"x": 1, "y": [1.0]}} for letter in order]
        )
    one, other = store.datasets.read("one"), store.datasets.read("other")
    assert one.digest == other.digest == store.datasets.history("one")[0].digest
    store.datasets.put("other", [{"id": "d", "input": "d"}])
    assert store.datasets.read("other").digest != one.digest
    store.datasets.remove("other", ["d"])
    assert store.datasets.read("other").digest == one.digest


def test_pages(store: Store) -> None:
    store.datasets.create("d")
    store.datasets.put("d", [{"id": f"{n}", "input": f"{n}"} for n in range(25)])
    store.datasets.remove("d", ["7"])
    seen: list[str] = []
    after: int | None = 0
    while after is not None:
        page = store.datasets.page("d", after=after, limit=10)
        seen += [item.id for item in page.items]
        assert (page.total, page.version) == (24, 2)
        after = page.next
    assert seen == ids(store, "d")


def test_items_come_back_as_they_were(store: Store) -> None:
    items = [
        Item(
            id="full",
            inputs=["Hi", [{"role": "user", "content": "Ho"}]],
            ground_truth={"a": [1, 2.5]},
            context={"user": 1},
            metadata={"x": None},
            tags=["t"],
            expected_tool_calls=["search"],
            expected_trajectory={"steps": [{"name": "s"}]},
            tool_mocks={"search": {"$error": "no"}},
        ),
        Item(
            id="scored",
            input="Hi",
            gates=[checks.includes("sun"), "completeness", {"scorer": checks.no_tool_errors(), "min": 1}],
            scorers=["my.module:scorer"],
        ),
        Item(id="turns", turns=[Turn(input="Hi"), Turn(input="Ho", gates=["checks.no_tool_errors"])]),
        Item(id="odd \x00 \ud800", input="\x00 \ud800"),
    ]
    store.datasets.create("d")
    store.datasets.put("d", items)
    found = store.datasets.read("d").items
    assert found[0] == items[0]
    assert [plain_item(item) for item in found[1:3]] == [plain_item(item) for item in items[1:3]]
    assert found[3].input == "\x00 \ufffd"
    assert store.datasets.put("d", found) == 1


def test_what_is_no_item_is_refused_and_changes_nothing(store: Store) -> None:
    own = create_scorer(id="own").generate_score(lambda run, results: 1)
    store.datasets.create("d")
    wrong: list[tuple[Any, str]] = [
        ([{"input": "a", "inptu": "b"}], "item 1: an item has no field 'inptu'; did you mean input"),
        (["fine", 7], "item 2: an item is an object or a text, not int"),
        ([{"id": "a"}], "item 1: give exactly one of input, inputs and turns; it has none"),
        ([{"id": "a", "input": "x"}, {"id": "a", "input": "y"}], "item 2: there is another item with the id 'a'"),
        ([Item(id="a", input="x", scorers=[own])], "item a: scorers: the scorer own is your own: name it as"),
        (
            [Item(id="a", input="x", tool_mocks={"t": len})],
            "item a: tool_mocks: a builtin_function_or_method is no plain",
        ),
    ]
    for items, message in wrong:
        with pytest.raises(OptionError, match=message):
            store.datasets.put("d", items)
    assert store.datasets.get("d").version == 0


def test_names_that_there_are_not(store: Store) -> None:
    store.datasets.create("weather")
    store.datasets.put("weather", ["Rain?"])
    for name, message in (
        ("wether", "there is no data set 'wether'; did you mean 'weather'"),
        ("weather@9", "has the versions 1 to 1, and no 9"),
        ("weather@0", "has the versions 1 to 1, and no 0"),
    ):
        with pytest.raises(StoreError, match=message):
            store.datasets.read(name)
    with pytest.raises(StoreError, match="has no item 'x'"):
        store.datasets.remove("weather", ["x"])
    with pytest.raises(OptionError, match="only the latest version changes"):
        store.datasets.put("weather@1", ["Sun?"])
    for name in ("", "a@b"):
        with pytest.raises(OptionError, match="a data set's name"):
            store.datasets.create(name)
    assert [row.name for row in store.datasets.all()] == ["weather"]


def test_the_baseline_is_the_chosen_experiment_or_the_one_before(store: Store) -> None:
    store.datasets.create("d")
    number = store.datasets.get("d").number
    for key in ("one", "two", "three"):
        store.experiments.begin(Evaluation(id=key), dataset=number, dataset_version=1)
        store.experiments.end(key, status="finished")
    assert store.experiments.baseline("one") is None
    before = store.experiments.baseline("three")
    assert before is not None
    assert before.key == "two"
    store.datasets.set_baseline("d", "one")
    chosen = store.experiments.baseline("three")
    assert chosen is not None
    assert (chosen.key, store.datasets.get("d").baseline) == ("one", "one")
    assert store.experiments.baseline("one") is None
    store.experiments.begin(Evaluation(id="elsewhere"))
    with pytest.raises(OptionError, match="did not use the data set"):
        store.datasets.set_baseline("d", "elsewhere")
    store.datasets.set_baseline("d", None)
    assert store.datasets.get("d").baseline is None


def test_many_random_changes_against_a_plain_dictionary(store: Store) -> None:
    chance = random.Random(5)
    store.datasets.create("d")
    expected: dict[str, str] = {}
    versions: dict[int, dict[str, str]] = {0: {}}
    for _ in range(60):
        if expected and chance.random() < 0.4:
            gone = chance.sample(sorted(expected), min(len(expected), chance.randint(1, 3)))
            for name in gone:
                del expected[name]
            version = store.datasets.remove("d", gone)
        else:
            put = {f"i{chance.randrange(12)}": f"text {chance.randrange(4)}" for _ in range(chance.randint(1, 4))}
            if chance.random() < 0.1:
                expected.clear()
                version = store.datasets.put("d", [{"id": k, "input": v} for k, v in put.items()], replace=True)
            else:
                version = store.datasets.put("d", [{"id": k, "input": v} for k, v in put.items()])
            expected |= put
        versions[version] = dict(expected)
    for version, content in versions.items():
        if version:
            assert {item.id: item.input for item in store.datasets.read(f"d@{version}").items} == content
    assert [row.version for row in store.datasets.history("d")] == sorted(versions, reverse=True)[:-1]


def test_two_writers_at_once_make_two_versions(store: Store) -> None:
    store.datasets.create("d")

    def write(letter: str) -> None:
        for number in range(10):
            store.datasets.put("d", [{"id": f"{letter}{number}", "input": "x"}])

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.datasets.get("d").version == 30
    assert len(ids(store, "d")) == 30


def test_items_from_recorded_runs() -> None:
    plain = to_run([{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": "Sunny."}])
    item = item_from_run(plain, keep_answer=True)
    assert (item.input, item.ground_truth, item.metadata) == ("Weather?", "Sunny.", {"run_id": plain.id})
    longer = to_run(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": "Sunny."},
        ]
    )
    item = item_from_run(longer)
    assert [message["role"] for message in item.input] == ["system", "user"]
    assert item.ground_truth is None
    assert item.id == item_from_run(longer).id


def test_files_are_read_as_they_were_written(tmp_path: Path) -> None:
    items = [
        Item(id="a", input='Rain, "or" sun?\n', ground_truth="Rain.", tags=["x", "y"]),
        Item(id="b", inputs=["Hi", "Ho"], metadata={"n": 1}, gates=["checks.no_tool_errors"]),
    ]
    (tmp_path / "items.jsonl").write_bytes(b"".join(to_jsonl(items)))
    (tmp_path / "items.csv").write_text(to_csv(items), newline="")
    for name in ("items.jsonl", "items.csv"):
        assert [read_item(plain) for plain in read_items(tmp_path / name)] == items
    for item in (Item(id="a", input=[{"role": "user", "content": "Hi"}]), Item(id="a", input="x", tags=["a;b"])):
        with pytest.raises(OptionError, match="JSON Lines"):
            to_csv([item])


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(
    st.lists(
        st.builds(
            Item,
            id=_TEXT.filter(bool),
            input=_TEXT.filter(bool),
            ground_truth=_JSON,
            metadata=st.dictionaries(_TEXT, _JSON, max_size=3) | st.none(),
        ),
        max_size=4,
    )
)
def test_json_lines_keep_every_item(items: list[Item]) -> None:
    import msgspec

    read = [read_item(msgspec.json.decode(line)) for line in to_jsonl(items)]
    assert [plain_item(item) for item in read] == [plain_item(item) for item in items]
    assert not difference(read, items)


@given(st.text(max_size=8), st.text(alphabet="=+-@\t\r\n'\",;a1 \uff1d\x00", max_size=6))
def test_csv_gives_every_text_again_and_no_formula(
    tmp_path_factory: pytest.TempPathFactory, any: str, odd: str
) -> None:
    item = Item(id="a", input=f"{odd}{any}", ground_truth=odd or None)
    if not item.input or any != any.encode("utf-8", "ignore").decode():
        return
    path = tmp_path_factory.getbasetemp() / "items.csv"
    text = to_csv([item])
    path.write_text(text, encoding="utf-8", newline="")
    assert list(map(read_item, read_items(path))) == [item]
    for cell in next(csv.reader(io.StringIO(text.partition("\n")[2], newline=""))):
        assert cell[:1] not in ("=", "@", "\t", "\r", "\n", "\uff1d") or not cell
        assert cell[:1] not in ("+", "-") or re.fullmatch(r"[+-]\d+(\.\d*)?", cell)


def test_a_long_input_comes_back_from_csv(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text(to_csv([Item(id="a", input="x" * 300_000)]), encoding="utf-8")
    assert len(read_items(path)[0]["input"]) == 300_000


def test_an_empty_text_is_kept(store: Store) -> None:
    store.datasets.create("odd")
    store.datasets.put("odd", [{"id": "a", "input": "", "ground_truth": ""}])
    [item] = store.datasets.read("odd").items
    assert (item.input, item.ground_truth) == ("", "")
    with pytest.raises(OptionError, match="an empty text and cannot stand in CSV"):
        to_csv([item])
