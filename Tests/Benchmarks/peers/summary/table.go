package main

import (
	"fmt"
	"strings"
)

// The names for people.
var titles = map[string]string{"bellhop": "Bellhop", "worker": "Go worker", "floor": "C floor"}

func table(r result) string {
	var out strings.Builder
	line := func(format string, values ...any) { fmt.Fprintf(&out, format+"\n", values...) }
	line("W1: %d events, %d rounds in turns, %d cores, load %.1f to %.1f before", r.Events, r.Rounds, r.Cores,
		r.Load.Least, r.Load.Most)
	line("")
	line("%-10s %26s %34s %8s", "", "events per second", "µs of processor time per event", "peak")
	line("%-10s %9s %16s %10s %9s %7s %5s %8s", "", "median", "least to most", "worker", "database", "broker", "stub",
		"memory")
	for _, w := range r.Workers {
		c := w.Microseconds
		between := fmt.Sprintf("%.0f to %.0f", w.EventsPerSecond.Least, w.EventsPerSecond.Most)
		line("%-10s %9.0f %16s %10s %9s %7s %5s %5.0f MB", titles[w.Worker], w.EventsPerSecond.Median, between,
			median(c.Worker), median(c.Database), median(c.Broker), median(c.Stub), w.PeakBytes/1e6)
	}
	line("")
	line("Bellhop divided by, round by round: median (least to most)")
	for _, one := range r.Ratios {
		line("%-10s events %s, worker's processor time %s, database's %s", titles[one.Peer], words(one.Events),
			words(one.Worker), words(one.Database))
	}
	line("")
	if r.Passed {
		line("checked: nothing lost, nothing doubled, the same pushes")
	}
	for _, fault := range r.Faults {
		line("WRONG: %s", fault)
	}
	return out.String()
}

func words(s spread) string {
	if !s.isKnown() {
		return "unknown"
	}
	return fmt.Sprintf("%.2f (%.2f to %.2f)", s.Median, s.Least, s.Most)
}

func median(s spread) string {
	if !s.isKnown() {
		return "–"
	}
	return fmt.Sprintf("%.1f", s.Median)
}
