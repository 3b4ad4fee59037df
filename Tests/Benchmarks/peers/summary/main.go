// Summarises the runs of compare-workers: a table, JSON, and a chart.
// Usage: summary [-json] [-chart FILE] RUNS
// RUNS has one line for each run: the round, the worker's name, and the report of bellhop bench --json.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"os"
)

func main() {
	log.SetFlags(0)
	asJSON := flag.Bool("json", false, "print JSON only")
	chartFile := flag.String("chart", "", "write a chart in SVG to this file")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: summary [-json] [-chart FILE] RUNS")
	}
	runs, err := readRuns(flag.Arg(0))
	if err != nil {
		log.Fatal("reading the runs: ", err)
	}
	result := summarise(runs)
	if *chartFile != "" {
		if err := os.WriteFile(*chartFile, []byte(chart(result)), 0o644); err != nil {
			log.Fatal("writing the chart: ", err)
		}
	}
	if *asJSON {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(result)
	} else {
		_, err = os.Stdout.WriteString(table(result))
	}
	if err != nil {
		log.Fatal("writing the result: ", err)
	}
	if !result.Passed {
		os.Exit(1)
	}
}
