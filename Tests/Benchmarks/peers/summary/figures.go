package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"
	"strings"
)

// A run of one worker, as bellhop bench reports it.
type run struct {
	round  int
	worker string
	report report
}

type report struct {
	Events          int     `json:"events"`
	EventsPerSecond float64 `json:"eventsPerSecond"`
	Microseconds    struct {
		Worker   *float64 `json:"worker"`
		Database *float64 `json:"database"`
		Broker   *float64 `json:"broker"`
		Stub     *float64 `json:"stub"`
	} `json:"microsecondsPerEvent"`
	PeakWorkerBytes float64 `json:"peakWorkerBytes"`
	Machine         struct {
		Cores int     `json:"cores"`
		Load  float64 `json:"loadBefore"`
	} `json:"machine"`
	Verification struct {
		Passed bool     `json:"passed"`
		Faults []string `json:"faults"`
	} `json:"verification"`
}

// A figure of several runs.
type spread struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
}

// The processor time for an event, in microseconds.
type cost struct {
	Worker   spread `json:"worker"`
	Database spread `json:"database"`
	Broker   spread `json:"broker"`
	Stub     spread `json:"stub"`
}

type workerResult struct {
	Worker          string  `json:"worker"`
	EventsPerSecond spread  `json:"eventsPerSecond"`
	Microseconds    cost    `json:"microsecondsPerEvent"`
	PeakBytes       float64 `json:"peakBytes"`
}

// Bellhop's figures divided by a peer's, round by round.
type ratio struct {
	Peer     string `json:"peer"`
	Events   spread `json:"eventsPerSecond"`
	Worker   spread `json:"workerMicroseconds"`
	Database spread `json:"databaseMicroseconds"`
}

type result struct {
	Rounds  int            `json:"rounds"`
	Events  int            `json:"events"`
	Cores   int            `json:"cores"`
	Load    spread         `json:"loadBefore"`
	Workers []workerResult `json:"workers"`
	Ratios  []ratio        `json:"ratios"`
	Passed  bool           `json:"passed"`
	Faults  []string       `json:"faults"`
}

func readRuns(name string) ([]run, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var runs []run
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		parts := strings.SplitN(lines.Text(), " ", 3)
		var one run
		if len(parts) != 3 {
			return nil, fmt.Errorf("unexpected line %q", lines.Text())
		}
		if _, err := fmt.Sscan(parts[0], &one.round); err != nil {
			return nil, err
		}
		one.worker = parts[1]
		if err := json.Unmarshal([]byte(parts[2]), &one.report); err != nil {
			return nil, err
		}
		runs = append(runs, one)
	}
	if len(runs) == 0 && lines.Err() == nil {
		return nil, fmt.Errorf("%s has no runs", name)
	}
	return runs, lines.Err()
}

// spreadOf returns the median, the least and the greatest; of an even number, the median is the mean of the middle two.
// Values that are not known are left out.
func spreadOf(values []float64) spread {
	var sorted []float64
	for _, value := range values {
		if !math.IsNaN(value) {
			sorted = append(sorted, value)
		}
	}
	if len(sorted) == 0 {
		return spread{math.NaN(), math.NaN(), math.NaN()}
	}
	sort.Float64s(sorted)
	last := len(sorted) - 1
	return spread{(sorted[last/2] + sorted[(last+1)/2]) / 2, sorted[0], sorted[last]}
}

func (s spread) isKnown() bool { return !math.IsNaN(s.Median) }

// MarshalJSON writes null if no value is known.
func (s spread) MarshalJSON() ([]byte, error) {
	if !s.isKnown() {
		return []byte("null"), nil
	}
	type plain spread
	return json.Marshal(plain(s))
}

// number returns the time of a process, which is not known if the process is not visible.
func number(value *float64) float64 {
	if value == nil {
		return math.NaN()
	}
	return *value
}

func rate(r report) float64     { return r.EventsPerSecond }
func worker(r report) float64   { return number(r.Microseconds.Worker) }
func database(r report) float64 { return number(r.Microseconds.Database) }
func broker(r report) float64   { return number(r.Microseconds.Broker) }
func stub(r report) float64     { return number(r.Microseconds.Stub) }
func memory(r report) float64   { return r.PeakWorkerBytes }
func load(r report) float64     { return r.Machine.Load }

// The names of the workers in the order of the report; the first one is Bellhop's.
var names = []string{"bellhop", "worker", "floor"}

func summarise(runs []run) result {
	out := result{Passed: true, Faults: []string{}, Events: runs[0].report.Events, Cores: runs[0].report.Machine.Cores}
	byWorker := map[string]map[int]report{}
	var loads []float64
	for _, one := range runs {
		if byWorker[one.worker] == nil {
			byWorker[one.worker] = map[int]report{}
		}
		byWorker[one.worker][one.round] = one.report
		loads = append(loads, load(one.report))
		if one.round > out.Rounds {
			out.Rounds = one.round
		}
		if !one.report.Verification.Passed {
			out.Passed = false
			for _, fault := range one.report.Verification.Faults {
				out.Faults = append(out.Faults, fmt.Sprintf("%s, round %d: %s", one.worker, one.round, fault))
			}
		}
	}
	out.Load = spreadOf(loads)
	for _, name := range names {
		reports := byWorker[name]
		if len(reports) == 0 {
			continue
		}
		figure := func(of func(report) float64) spread {
			var values []float64
			for _, one := range reports {
				values = append(values, of(one))
			}
			return spreadOf(values)
		}
		costs := cost{figure(worker), figure(database), figure(broker), figure(stub)}
		out.Workers = append(out.Workers, workerResult{name, figure(rate), costs, figure(memory).Most})
		if name == names[0] {
			continue
		}
		ratioOf := func(of func(report) float64) spread {
			var values []float64
			for round, theirs := range reports {
				if ours, found := byWorker[names[0]][round]; found && of(theirs) > 0 {
					values = append(values, of(ours)/of(theirs))
				}
			}
			return spreadOf(values)
		}
		out.Ratios = append(out.Ratios, ratio{name, ratioOf(rate), ratioOf(worker), ratioOf(database)})
	}
	return out
}
