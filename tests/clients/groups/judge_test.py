"""The judge sees what it is there to see."""
import os
import tempfile
import unittest

import judge


class JudgeTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def log(self, name, *lines, died=None):
        log = judge.Log(name, os.path.join(self.directory.name, name))
        with open(log.path, "w") as file:
            file.write("".join(line + "\n" for line in lines))
        log.update()
        log.died = died
        return log

    def test_a_partition_that_moves_has_one_owner_at_a_time(self):
        a = self.log("a", "10 assigned t:0 t:1", "20 revoked t:0 t:1", "21 assigned t:1")
        b = self.log("b", "20 assigned t:0")
        self.assertEqual(judge.two_owners([a, b]), [])
        self.assertEqual((a.owned, b.owned), ({"t:1"}, {"t:0"}))

    def test_two_owners(self):
        a = self.log("a", "10 assigned t:0", "20 revoked t:0")
        for begin in (5, 10, 15, 19):
            b = self.log("b", f"{begin} assigned t:0", "30 revoked t:0")
            self.assertEqual(len(judge.two_owners([a, b])), 1, begin)

    def test_one_within_the_time_of_another(self):
        a = self.log("a", "10 assigned t:0", "90 revoked t:0")
        b = self.log("b", "20 assigned t:0", "30 revoked t:0")
        c = self.log("c", "80 assigned t:0", "85 revoked t:0")
        self.assertEqual(len(judge.two_owners([a, b, c])), 2)

    def test_who_is_killed_owns_nothing_from_then_on(self):
        b = self.log("b", "20 assigned t:0")
        self.assertEqual(judge.two_owners([self.log("a", "10 assigned t:0", died=19), b]), [])
        self.assertEqual(len(judge.two_owners([self.log("a", "10 assigned t:0", died=25), b])), 1)

    def test_who_was_silent_for_a_session_may_have_lost_what_it_had(self):
        a = self.log("a", "100 assigned t:0", "200 note", "9000 note", "9001 lost t:0")
        b = self.log("b", "6300 assigned t:0")
        self.assertEqual((len(judge.two_owners([a, b])), len(judge.losses([a]))), (1, 1))
        a.session_ms = 6000
        self.assertEqual((judge.two_owners([a, b]), judge.losses([a])), ([], []))
        for early in (150, 3000):
            self.assertEqual(len(judge.two_owners([a, self.log("b", f"{early} assigned t:0")])), 1, early)
        a = self.log("a", "100 assigned t:0", *(f"{at} note" for at in range(200, 9000, 1000)), "9001 lost t:0")
        a.session_ms = 6000
        self.assertEqual((len(judge.two_owners([a, b])), len(judge.losses([a]))), (1, 1))

    def test_chatter_and_half_lines_are_passed_over(self):
        log = self.log("a", "SLF4J: hello", "", "10 assigned t:0")
        with open(log.path, "a") as file:
            file.write("20 revo")
        log.update()
        self.assertEqual(log.owned, {"t:0"})
        with open(log.path, "a") as file:
            file.write("ked t:0\n")
        log.update()
        self.assertEqual(log.owned, set())

    def test_a_new_owner_that_goes_back(self):
        a = self.log("a", "10 assigned t:0", "11 read t:0 0 9", "12 committed t:0 10", "13 revoked t:0")
        self.assertEqual(judge.went_back([a, self.log("b", "20 assigned t:0", "21 read t:0 10 12")]), ([], 1))
        wrong, _ = judge.went_back([a, self.log("b", "20 assigned t:0", "21 read t:0 9 12")])
        self.assertEqual(len(wrong), 1)

    def test_what_nobody_read(self):
        a = self.log("a", "1 read t:0 0 4", "2 read t:1 0 9")
        b = self.log("b", "1 read t:0 3 7")
        self.assertEqual(judge.unread([a, b], {"t:0": 8, "t:1": 10}), {})
        self.assertEqual(judge.unread([a, b], {"t:0": 9, "t:1": 10, "t:2": 1}), {"t:0": (8, 9), "t:2": (0, 1)})
        self.assertEqual(judge.unread([a, self.log("c", "1 read t:0 6 8")], {"t:0": 9}), {"t:0": (5, 9)})

    def test_losses(self):
        a = self.log("a", "1 assigned t:0", "2 lost t:0")
        self.assertEqual((len(judge.losses([a])), a.owned), (1, set()))


unittest.main()
