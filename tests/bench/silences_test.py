#!/usr/bin/env python3
"""The judge of silences judged: it sees those that are there, also one that did not end."""

import sys
import unittest

from silences import (Fate, Row, Silence, fate_of, fates_text, first_said, longest_silence, merged,
                      spans_of, spans_text, table)


class Silences(unittest.TestCase):
    def test_the_longest_time_between_two_records_is_the_silence(self):
        self.assertEqual(longest_silence([0, 1, 2, 5, 6, 7], 0, 7), Silence(3, True))

    def test_a_silence_that_did_not_end_counts_and_says_so(self):
        silence = longest_silence([0, 1, 2], 0, 82)
        self.assertEqual(silence, Silence(80, False))
        self.assertIn("over 80 s", silence.text())
        self.assertEqual(longest_silence([], 10, 30), Silence(20, False))

    def test_what_came_before_the_blow_does_not_end_its_silence(self):
        self.assertEqual(longest_silence([1, 2, 9], 4, 10), Silence(5, True))
        self.assertEqual(longest_silence([1, 2, 30], 4, 10), Silence(6, False))

    def test_a_connector_whose_records_ended_is_not_one_with_a_long_silence(self):
        # Silent for 43 s, then what was read before once more, then dead.
        self.assertEqual(fate_of([1, 2, 143, 143.5], 100, 154), Fate(Silence(43, True), 43.5))
        self.assertEqual(fate_of([1, 2], 100, 154), Fate(Silence(54, False), 0))
        self.assertEqual(fate_of([101, 143, 153], 100, 154), Fate(Silence(42, True), None))

    def test_the_fates_of_several_are_told_by_name_as_soon_as_one_ended(self):
        flows, slow = Fate(Silence(0.3, True), None), Fate(Silence(2, True), None)
        ended, never = Fate(Silence(10, False), 43.64), Fate(Silence(54, False), 0)
        self.assertEqual(fates_text({"a": flows, "b": slow}), "flows on, longest silence 2.0 s")
        self.assertEqual(fates_text({"a": flows, "b": ended, "c": never}),
                         "a: flows on, longest silence 0.3 s; b: no record after 43.6 s; "
                         "c: no more records")

    def test_what_status_said_is_told_in_spans(self):
        looks = [(10, "RUNNING"), (11, "RUNNING"), (14, "FAILED"), (16, "RUNNING")]
        self.assertEqual([span.text for span in spans_of(looks)], ["RUNNING", "FAILED", "RUNNING"])
        self.assertEqual(spans_text(looks), "RUNNING 0-1 s; FAILED 4-4 s; RUNNING 6-6 s")
        self.assertEqual(spans_text([]), "nothing")

    def test_the_first_look_that_names_it_counts(self):
        looks = [(10, "RUNNING"), (14, "slot 0: hang"), (16, "slot 0: hang")]
        self.assertEqual(first_said(looks, "hang"), 4)
        self.assertIsNone(first_said(looks, "UNASSIGNED"))

    def test_a_side_that_was_not_measured_is_no_figure(self):
        rows = merged({"sluice": {"silence": "0.3 s"}, "connect": None})
        self.assertEqual(rows, [Row("silence", "0.3 s", None)])
        self.assertIn("NOT MEASURED", table(rows, "Kafka Connect"))

    def test_rows_of_both_sides_meet_by_their_name(self):
        rows = merged({"sluice": {"a": "1", "b": "2"}, "connect": {"b": "3", "c": "4"}})
        self.assertEqual(rows, [Row("a", "1", None), Row("b", "2", "3"), Row("c", None, "4")])


if __name__ == "__main__":
    sys.exit(unittest.main())
