#!/usr/bin/env python3
"""The judge of the bars judged: it passes, fails and calls noisy what it should."""

import sys
import unittest

from bars import P1, P4, P6, SCENES, SMOKE
from failures import P7, P7Q, P8M
from judging import FAIL, NOISY, PASS, judge, medians, rounds
from live_job import Stamp, progress_of
from run import EXIT_FAILED, EXIT_NOISY, exit_code


class Judging(unittest.TestCase):
    def test_a_median_below_the_bar_fails_and_one_above_it_passes(self):
        self.assertEqual(judge(P1, [0.89] * 7).word, FAIL)
        self.assertEqual(judge(P1, [0.91] * 7).word, PASS)
        self.assertEqual(judge(P4, [1.16] * 7).word, FAIL)
        self.assertEqual(judge(P4, [1.14] * 7).word, PASS)

    def test_quartiles_too_far_apart_are_noisy_and_tell_where_the_median_leans(self):
        verdict = judge(P1, [0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1])
        self.assertEqual((verdict.word, verdict.leaning), (NOISY, PASS))
        self.assertIn(PASS, verdict.text())

    def test_a_bar_may_be_about_another_figure_than_the_median(self):
        kills = [10.0] * 89 + [200.0] * 11
        self.assertEqual(judge(P7, kills).word, PASS)
        self.assertEqual(judge(P7Q, kills).word, FAIL)
        self.assertEqual(judge(P8M, [1.0] * 19 + [1001.0]).word, FAIL)
        self.assertEqual(judge(P6, [900.0, 199.0, 800.0]).word, PASS)
        self.assertEqual(judge(P6, [900.0, 201.0, 800.0]).word, FAIL)
        self.assertEqual(judge(P7.halved(), [79.0]).word, PASS)

    def test_records_that_no_stamp_covers_are_lost_and_repeated_ones_count_once(self):
        def stamp(at, first, last, kind=0):
            return Stamp(at, first, last, 1, 0, last - first + 1, kind)
        stamps = [stamp(1, 0, 9), stamp(5, 5, 19), stamp(9, 30, 39), stamp(8, 0, 99, kind=1)]
        records, holes, reached = progress_of(stamps, 2, 9)
        self.assertEqual((records, holes, reached), (10, [(0, 20, 30)], {0: 40}))

    def test_one_disturbed_pair_of_seven_changes_nothing(self):
        self.assertEqual(judge(P1, [0.95] * 6 + [0.1]).word, PASS)

    def test_the_smoke_fails_at_less_than_half_and_is_never_noisy(self):
        half_p1, half_p4 = SMOKE[0].bars
        self.assertEqual(judge(half_p1, [0.44, 0.44, 2.0]).word, FAIL)
        self.assertEqual(judge(half_p1, [0.46, 0.46, 2.0]).word, PASS)
        self.assertEqual(judge(half_p4, [2.31] * 3).word, FAIL)
        self.assertEqual(judge(half_p4, [2.29] * 3).word, PASS)

    def test_the_order_of_the_sides_is_turned_in_each_round(self):
        ran = []
        sides = {name: lambda name=name: ran.append(name) or {"rate": len(ran)} for name in "ab"}
        measured = rounds(3, sides)
        self.assertEqual("".join(ran), "abbaab")
        self.assertEqual([list(each) for each in measured], [["a", "b"]] * 3)
        self.assertEqual(medians(measured), {"a": {"rate": 4}, "b": {"rate": 3}})

    def test_only_passes_end_with_0(self):
        passed, failed = judge(P1, [1.0]), judge(P1, [0.1])
        noisy = judge(P1, [0.5, 1.0, 1.5])
        self.assertEqual(exit_code([passed], []), 0)
        self.assertEqual(exit_code([passed, failed], []), EXIT_FAILED)
        self.assertEqual(exit_code([passed, noisy], []), EXIT_NOISY)
        self.assertEqual(exit_code([passed], ["a side failed"]), EXIT_FAILED)
        self.assertEqual(exit_code([], []), EXIT_FAILED)

    def test_every_bar_is_selected_by_some_word_and_named_once(self):
        names = [bar.name for scene in SCENES for bar in scene.bars]
        self.assertEqual(len(names), len(set(names)))
        self.assertTrue(all(scene.words for scene in SCENES))


if __name__ == "__main__":
    sys.exit(unittest.main())
