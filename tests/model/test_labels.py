"""Labels: a sequence that finds an index by a label or by its text."""

import pickle

import numpy as np
import pytest

from rcpomdp.errors import ModelError
from rcpomdp.model.labels import Labels


def cell(i: int) -> tuple[int, int]:
    """A label made on demand; at module level so that it can be pickled."""
    return divmod(i, 3)


def given() -> Labels:
    return Labels([(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)], "state")


def computed() -> Labels:
    return Labels.computed(6, cell, "state")


BOTH = pytest.mark.parametrize("make", [given, computed])


@BOTH
def test_it_is_a_sequence(make):
    labels = make()
    assert len(labels) == 6
    assert list(labels) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert list(reversed(labels)) == list(labels)[::-1]
    assert (1, 1) in labels
    assert (2, 0) not in labels
    assert [labels[i] for i in range(6)] == list(labels)


@BOTH
def test_negative_indices_count_from_the_end(make):
    labels = make()
    assert labels[-1] == (1, 2)
    assert labels[-6] == (0, 0)


@BOTH
@pytest.mark.parametrize("i", [6, -7, 100])
def test_an_index_out_of_range_is_an_index_error(make, i):
    with pytest.raises(IndexError):
        make()[i]


@BOTH
@pytest.mark.parametrize(
    "cut", [slice(2), slice(1, None, 2), slice(None, None, -1), slice(-2, None), slice(4, 99), slice(3, 3)]
)
def test_slices_are_tuples(make, cut):
    assert make()[cut] == tuple(divmod(i, 3) for i in range(6))[cut]


@BOTH
def test_index_is_the_inverse_of_getitem(make):
    labels = make()
    assert [labels.index(label) for label in labels] == list(range(6))


@BOTH
def test_index_by_text(make):
    labels = make()
    assert labels.index("(1, 0)") == 3


def test_a_label_itself_comes_before_its_text():
    labels = Labels([1, "1", 2], "state")
    assert (labels.index(1), labels.index("1"), labels.index("2")) == (0, 1, 2)


def test_what_cannot_be_hashed_may_still_be_the_text_of_a_label():
    assert Labels(["[0, 1]"], "state").index([0, 1]) == 0


@BOTH
def test_an_unknown_label_offers_the_nearest(make):
    with pytest.raises(ModelError) as error:
        make().index("(1, 3)")
    assert str(error.value) == "state '(1, 3)' is not declared; did you mean '(1, 2)'?"


@BOTH
def test_membership_is_by_label_not_by_text(make):
    labels = make()
    assert "(1, 0)" not in labels
    assert [1, 0] not in labels


def test_resolve_takes_a_label_its_text_or_an_index():
    labels = Labels(["left", "right", 0], "action")
    assert [labels.resolve(x) for x in ("right", 1, np.int64(1), "0", 2)] == [1, 1, 1, 2, 2]
    assert labels.resolve(0) == 2  # a label comes before an index
    assert Labels(["left", "right"], "action").resolve(0) == 0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (2, "action 2 is not between 0 and 1"),
        (-1, "action -1 is not between 0 and 1"),
        (True, "action True is not declared"),
        (1.0, "action 1.0 is not declared"),
        ("rihgt", "action 'rihgt' is not declared; did you mean 'right'?"),
        (None, "action None is not declared"),
    ],
)
def test_resolve_refuses_what_is_neither(value, message):
    with pytest.raises(ModelError) as error:
        Labels(["left", "right"], "action").resolve(value)
    assert str(error.value) == message


def test_an_unknown_label_far_from_all_offers_nothing():
    with pytest.raises(ModelError) as error:
        Labels(["left", "right"], "action").index("jump")
    assert str(error.value) == "action 'jump' is not declared"


def test_no_search_for_the_nearest_among_very_many():
    with pytest.raises(ModelError) as error:
        Labels.computed(1_000_001, "s{}".format, "state").index("s1000001")
    assert str(error.value) == "state 's1000001' is not declared"


def test_computed_labels_are_made_on_demand():
    made = []

    def make(i: int) -> str:
        made.append(i)
        return f"s{i}"

    labels = Labels.computed(10**12, make, "state")
    assert labels[10**12 - 1] == "s999999999999"
    assert labels[5:7] == ("s5", "s6")
    assert made == [10**12 - 1, 5, 6]


@BOTH
def test_pickling(make):
    labels = make()
    labels.index((1, 1))
    again = pickle.loads(pickle.dumps(labels))
    assert list(again) == list(labels)
    assert again.index((1, 2)) == 5
    with pytest.raises(ModelError, match=r"^state 'x' is not declared$"):
        again.index("x")


def test_repr_shows_the_first_few():
    assert repr(Labels(["a", "b"], "state")) == "Labels('a', 'b')"
    assert repr(Labels("abcd", "state")) == "Labels('a', 'b', 'c', 'd')"
    assert repr(Labels("abcde", "state")) == "Labels('a', 'b', 'c', 'd', ...)"
    assert repr(given()) == "Labels((0, 0), (0, 1), (0, 2), (1, 0), ...)"


def test_any_iterable_will_do():
    assert list(Labels((f"s{i}" for i in range(3)), "state")) == ["s0", "s1", "s2"]


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["a", "b", "a"], "state 'a' is declared twice"),
        ([1, 2, 2, 1], "state 2 is declared twice"),
        ([1, 1.0], "state 1.0 is declared twice"),
        (["a", ["b"]], "state 1 has the label ['b'], which cannot be hashed"),
        ([("a", [])], "state 0 has the label ('a', []), which cannot be hashed"),
        (7, "state labels are 7, not a list"),
        (None, "state labels are None, not a list"),
    ],
)
def test_bad_labels(items, message):
    with pytest.raises(ModelError) as error:
        Labels(items, "state")
    assert str(error.value) == message
