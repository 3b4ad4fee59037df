"""What the C library knows of zones, for tests to hold Bellhop's own reading of the tz database against.

Reads questions from stdin, a line each, and answers each with a line. A zone is a name below TZDIR or a POSIX rule;
times are seconds since 1970, offsets seconds east of UTC.

    at ZONE TIME...             the offset at each time
    changes ZONE START END      TIME:BEFORE:AFTER for each change, looked for twice a day and found to the second
    minutes ZONE START END      OFFSET:COUNT for each run of minutes with the same offset, every minute asked for
"""

import os
import sys
import time


def at(offset, times):
    return [offset(int(moment)) for moment in times]


def changes(offset, bounds):
    start, end = map(int, bounds)
    found = []
    known, at_known = start, offset(start)
    while known < end:
        after = min(known + 43_200, end)
        if offset(after) == at_known:
            known = after
            continue
        before = known
        while after - before > 1:
            middle = (before + after) // 2
            if offset(middle) == at_known:
                before = middle
            else:
                after = middle
        found.append(f"{after}:{at_known}:{offset(after)}")
        known, at_known = after, offset(after)
    return found


def minutes(offset, bounds):
    start, end = map(int, bounds)
    runs = []
    for moment in range(start, end, 60):
        shown = offset(moment)
        if runs and runs[-1][0] == shown:
            runs[-1][1] += 1
        else:
            runs.append([shown, 1])
    return [f"{shown}:{count}" for shown, count in runs]


def main():
    for line in sys.stdin.read().splitlines():
        question, zone, *words = line.split()
        os.environ["TZ"] = zone
        time.tzset()
        answers = {"at": at, "changes": changes, "minutes": minutes}
        print(*answers[question](lambda moment: time.localtime(moment).tm_gmtoff, words))


main()
