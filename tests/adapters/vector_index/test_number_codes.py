"""Numbers as codes."""

import numpy as np

from app.adapters.vector_index.number_codes import FIRST_ROOM, NumberCodes


def test_codes_lead_back_to_their_numbers_however_many_there_are():
    codes, numbers = NumberCodes(), np.arange(3 * FIRST_ROOM, dtype=np.int64) * 7_000_000_001
    given = [codes.codes(some) for some in np.array_split(numbers, 11)]
    again = codes.codes(numbers[::-1])
    assert (codes.numbers(np.concatenate(given)) == numbers).all()
    assert (codes.numbers(again) == numbers[::-1]).all()
    assert codes.table([int(numbers[-1]), 5]).nonzero()[0].tolist() == [3 * FIRST_ROOM - 1]


def test_a_set_that_is_asked_for_again_gives_what_it_holds_by_then():
    codes, wanted = NumberCodes(), frozenset({5, 9})
    codes.codes(np.array([5, 6]))
    first = codes.table(wanted)
    assert codes.table(wanted) is first
    codes.codes(np.array([7, 9]))
    assert codes.table(wanted).nonzero()[0].tolist() == [0, 3]
    assert codes.table(frozenset({6})).nonzero()[0].tolist() == [1]
