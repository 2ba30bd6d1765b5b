# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The wrapped Update() releases the interpreter's lock once, whether or not SWIG has released it before.

usage: test_python_update.py LIBRARY
"""

import ctypes
import sys
import threading
import unittest

HELD_BEFORE, HELD_UPSTREAM, HELD_IN_FILTER, HELD_BY_OBSERVER, HELD_AFTER, WHOLE, RAN, PASSED = (
    1 << bit for bit in range(8)
)
LIBRARY = sys.argv.pop(1)

# SWIG's wrappers hold the lock while they call C++, as PyDLL does; with -threads they release it, as CDLL does.
HOLDING = ctypes.PyDLL(LIBRARY).DescribeUpdate
RELEASING = ctypes.CDLL(LIBRARY).DescribeUpdate
ALWAYS = HELD_UPSTREAM | HELD_BY_OBSERVER | RAN


class PythonUpdate(unittest.TestCase):
    """Who holds the lock when, by the way the method is called."""

    def test_caller_holds_the_lock(self):
        self.assertEqual(HOLDING(0, 0), ALWAYS | HELD_BEFORE | HELD_AFTER)

    def test_caller_has_released_the_lock(self):
        self.assertEqual(RELEASING(0, 0), ALWAYS)

    def test_whole_image(self):
        self.assertEqual(HOLDING(1, 0), ALWAYS | HELD_BEFORE | HELD_AFTER | WHOLE)
        self.assertEqual(RELEASING(1, 0), ALWAYS | WHOLE)

    def test_exception_leaves_the_lock_as_it_was(self):
        self.assertEqual(HOLDING(0, 1), ALWAYS | HELD_BEFORE | HELD_AFTER | PASSED)
        self.assertEqual(RELEASING(0, 1), ALWAYS | PASSED)

    def test_from_other_threads(self):
        seen = []

        def work():
            for _ in range(200):
                seen.append((HOLDING(0, 0), RELEASING(0, 0)))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(set(seen), {(ALWAYS | HELD_BEFORE | HELD_AFTER, ALWAYS)})
        self.assertEqual(len(seen), 800)


if __name__ == "__main__":
    unittest.main()
