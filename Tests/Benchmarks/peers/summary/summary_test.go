package main

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const runsOfTwoRounds = `1 bellhop {"events":100,"eventsPerSecond":300,"microsecondsPerEvent":{"worker":30,"database":null},"machine":{"cores":2,"loadBefore":0.5},"verification":{"passed":true,"faults":[]}}
1 worker {"events":100,"eventsPerSecond":200,"microsecondsPerEvent":{"worker":60,"database":40},"machine":{"cores":2,"loadBefore":1},"verification":{"passed":true,"faults":[]}}
2 worker {"events":100,"eventsPerSecond":100,"microsecondsPerEvent":{"worker":20,"database":40},"machine":{"cores":2,"loadBefore":1},"verification":{"passed":false,"faults":["1 pushes arrived, expected 2"]}}
2 bellhop {"events":100,"eventsPerSecond":400,"microsecondsPerEvent":{"worker":10,"database":20},"machine":{"cores":2,"loadBefore":3},"verification":{"passed":true,"faults":[]}}
`

func read(t *testing.T, text string) ([]run, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "runs")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return readRuns(file)
}

func TestRatiosAreThoseOfEachRound(t *testing.T) {
	runs, err := read(t, runsOfTwoRounds)
	if err != nil {
		t.Fatal(err)
	}
	r := summarise(runs)
	if r.Rounds != 2 || len(r.Workers) != 2 || len(r.Ratios) != 1 {
		t.Fatalf("%+v", r)
	}
	// 300 to 200, and 400 to 100.
	if want := (spread{2.75, 1.5, 4}); r.Ratios[0].Events != want {
		t.Errorf("events: %+v", r.Ratios[0].Events)
	}
	if want := (spread{0.5, 0.5, 0.5}); r.Ratios[0].Worker != want {
		t.Errorf("worker: %+v", r.Ratios[0].Worker)
	}
	// The process was not visible in the first round, which therefore has no ratio.
	if want := (spread{0.5, 0.5, 0.5}); r.Ratios[0].Database != want {
		t.Errorf("database: %+v", r.Ratios[0].Database)
	}
	if want := (spread{1, 0.5, 3}); r.Load != want {
		t.Errorf("load: %+v", r.Load)
	}
}

func TestAFailedCheckIsReported(t *testing.T) {
	runs, err := read(t, runsOfTwoRounds)
	if err != nil {
		t.Fatal(err)
	}
	r := summarise(runs)
	if r.Passed || len(r.Faults) != 1 || r.Faults[0] != "worker, round 2: 1 pushes arrived, expected 2" {
		t.Errorf("%+v", r.Faults)
	}
	if text := table(r); !strings.Contains(text, "WRONG: worker, round 2") || strings.Contains(text, "checked:") {
		t.Error(text)
	}
}

func TestInvalidRunsAreErrors(t *testing.T) {
	for _, text := range []string{"", "1 bellhop", "x bellhop {}", "1 bellhop {", "\n"} {
		if runs, err := read(t, text); err == nil {
			t.Errorf("%q: %+v", text, runs)
		}
	}
}

func TestTheMedianOfAnEvenNumberIsTheMeanOfTheMiddleTwo(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   spread
	}{{[]float64{3}, spread{3, 3, 3}}, {[]float64{9, 1, 2, 4}, spread{3, 1, 9}}} {
		if got := spreadOf(c.values); got != c.want {
			t.Errorf("%v: %+v", c.values, got)
		}
	}
	if text, err := json.Marshal(spreadOf(nil)); string(text) != "null" {
		t.Error(string(text), err)
	}
}

func TestTheChartIsWellFormedAndHasEachWorker(t *testing.T) {
	runs, err := read(t, runsOfTwoRounds)
	if err != nil {
		t.Fatal(err)
	}
	picture := chart(summarise(runs))
	decoder := xml.NewDecoder(strings.NewReader(picture))
	for {
		if _, err := decoder.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, word := range []string{">Bellhop<", ">Go worker<", ">350<", ">150<"} {
		if !strings.Contains(picture, word) {
			t.Errorf("no %s", word)
		}
	}
}
