"""Random questions for `bellhop quiet` and `bellhop next-run`, with answers that Python's zoneinfo gives.

    clock_cases.py SEED COUNT

Quiet hours are answered by looking at every minute until the hour is outside; local times by asking zoneinfo for both
readings of an ambiguous time, and by looking at every minute where a change skips it. Zones that change their clocks
are preferred; there, most instants lie within two days of a change, and half of their local times within an hour of
what the clock shows then, whether it ever shows them or not. Each line is a question and its answer:

    quiet START END ZONE INSTANT UNTIL|-
    next-run HH:MM ZONE INSTANT DAYS|- COUNT INSTANT...
"""

import random
import sys
from datetime import datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo, available_timezones

START = 1_704_067_200  # 2024-01-01
END = 2_051_222_400  # 2035-01-01
DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


def clock(zone, moment):
    return datetime.fromtimestamp(moment, zone).replace(tzinfo=None)


def text(moment):
    return datetime.fromtimestamp(moment, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def changes(zone):
    """Where the offset differs from that of the day before, to the minute."""
    found = []
    offset = lambda moment: datetime.fromtimestamp(moment, zone).utcoffset()
    for after in range(START + 86_400, END, 86_400):
        before = after - 86_400
        if offset(before) == offset(after):
            continue
        low, high = before // 60, after // 60
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset(middle * 60) == offset(before) else (low, middle)
        found.append(high * 60)
    return found


def quiet_until(zone, start, end, moment):
    def is_quiet(at):
        hour = clock(zone, at).hour
        return start <= hour < end if start <= end else hour >= start or hour < end

    if start == end or not is_quiet(moment):
        return None
    at = moment // 60 * 60 + 60
    while is_quiet(at):
        at += 60
    return at


def instant(zone, day, at):
    wall = datetime.combine(day, at)
    readings = [int(wall.replace(tzinfo=zone, fold=fold).timestamp()) for fold in (0, 1)]
    shown = [moment for moment in readings if clock(zone, moment) == wall]
    if shown:
        return min(shown)
    moment = int(wall.replace(tzinfo=timezone.utc).timestamp()) - 27 * 3600
    while clock(zone, moment) < wall:
        moment += 60
    return moment


def runs(zone, at, after, days, count):
    found = []
    day = clock(zone, after).date() - timedelta(days=1)
    while len(found) < count:
        if day.weekday() in days:
            moment = instant(zone, day, at)
            if moment > after:
                found.append(moment)
        day += timedelta(days=1)
    return found


def case(chance, name, zone, near):
    moment = chance.randrange(START, END)
    at = time(chance.randrange(24), chance.randrange(60))
    if near and chance.random() < 0.8:
        change = chance.choice(near)
        moment = change + chance.randrange(-172_800, 43_200)
        if chance.random() < 0.5:
            wall = clock(zone, change - 60) + timedelta(seconds=chance.randrange(-3_600, 7_200))
            at = wall.time().replace(second=0)
    if chance.random() < 0.5:
        start, end = chance.randrange(24), chance.randrange(24)
        until = quiet_until(zone, start, end, moment)
        return ["quiet", start, end, name, text(moment), "-" if until is None else text(until)]
    days = chance.sample(range(7), chance.randrange(1, 7)) if chance.random() < 0.3 else []
    count = chance.randrange(1, 5)
    found = runs(zone, at, moment, days or range(7), count)
    shown = ",".join(DAYS[day] for day in days) or "-"
    return ["next-run", at.strftime("%H:%M"), name, text(moment), shown, count, *map(text, found)]


def main():
    chance = random.Random(int(sys.argv[1]))
    names = sorted(name for name in available_timezones() if name not in ("localtime", "posixrules"))
    left = int(sys.argv[2])
    while left > 0:
        name = chance.choice(names)
        zone = ZoneInfo(name)
        near = changes(zone)
        if not near and chance.random() < 0.8:
            continue
        for _ in range(min(20, left)):
            print(*case(chance, name, zone, near))
        left -= 20


main()
