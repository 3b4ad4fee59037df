package main

import (
	"fmt"
	"math"
	"strings"
)

// The chart's sizes, in pixels.
const (
	width    = 760
	left     = 190
	right    = 40
	top      = 76
	rowSize  = 56
	barSize  = 28
	plotSize = width - left - right
)

// What a bar stands for, in words.
var meanings = map[string]string{
	"bellhop": "all rules, leases, retries", "worker": "batched, with lean tables", "floor": "a limit, not a product",
}

// The chart has its own background, so that it is readable on light and dark pages.
const style = `<style>
text { font-family: -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
.page { fill: #ffffff; stroke: #d1d9e0 }
.title { font-size: 17px; font-weight: 600 }
.name { font-size: 15px; font-weight: 600 }
.small { font-size: 12px; fill: #59636e }
.value { font-size: 15px; font-weight: 600 }
.grid { stroke: #d1d9e0 }
.bellhop { fill: #0969da }
.worker { fill: #8c959f }
.floor { fill: #c3c9d0 }
.spread { stroke: #1f2328; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.page { fill: #0d1117; stroke: #3d444d }
.small { fill: #9198a1 }
.grid { stroke: #2f353d }
.bellhop { fill: #4493f8 }
.worker { fill: #767e88 }
.floor { fill: #4d545d }
.spread { stroke: #f0f6fc }
}
</style>`

// chart returns horizontal bars: the events per second of each worker, with a line from the least to the most.
func chart(r result) string {
	most := 0.0
	for _, w := range r.Workers {
		most = math.Max(most, w.EventsPerSecond.Most)
	}
	step := niceStep(most / 4)
	// The space at the right end is for the value of the longest bar.
	end := most * 1.22
	x := func(value float64) float64 { return left + value/end*plotSize }
	bottom := top + rowSize*len(r.Workers)
	height := bottom + 52

	var out strings.Builder
	add := func(format string, values ...any) { fmt.Fprintf(&out, format+"\n", values...) }
	add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`,
		width, height, width, height, description(r))
	add("%s", style)
	add(`<rect class="page" x="0.5" y="0.5" width="%d" height="%d" rx="6"/>`, width-1, height-1)
	add(`<text class="title" x="24" y="34">Events per second, longer is better</text>`)
	add(`<text class="small" x="24" y="54">%s</text>`, conditions(r))
	for value := 0.0; value <= most; value += step {
		add(`<line class="grid" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`, x(value), top-6, x(value), bottom)
		add(`<text class="small" x="%.1f" y="%d" text-anchor="middle">%s</text>`, x(value), bottom+16, grouped(value))
	}
	for row, w := range r.Workers {
		y := top + row*rowSize
		s := w.EventsPerSecond
		middle := y + barSize/2
		add(`<text class="name" x="24" y="%d">%s</text>`, middle-1, titles[w.Worker])
		add(`<text class="small" x="24" y="%d">%s</text>`, middle+15, meanings[w.Worker])
		add(`<rect class="%s" x="%d" y="%d" width="%.1f" height="%d" rx="3"/>`, w.Worker, left, y, x(s.Median)-left,
			barSize)
		add(`<path class="spread" d="M%.1f %dH%.1fM%.1f %dv12M%.1f %dv12"/>`, x(s.Least), middle, x(s.Most), x(s.Least),
			middle-6, x(s.Most), middle-6)
		add(`<text class="value" x="%.1f" y="%d">%s</text>`, x(s.Most)+10, middle+5, grouped(s.Median))
	}
	note := "Bars are medians; the lines go from the least to the most of the rounds."
	add(`<text class="small" x="24" y="%d">%s</text>`, height-14, note)
	add("</svg>")
	return out.String()
}

func conditions(r result) string {
	return fmt.Sprintf("Workload W1, %s events, %d rounds in turns, all on %d cores", grouped(float64(r.Events)), r.Rounds,
		r.Cores)
}

func description(r result) string {
	var parts []string
	for _, w := range r.Workers {
		parts = append(parts, fmt.Sprintf("%s %s", titles[w.Worker], grouped(w.EventsPerSecond.Median)))
	}
	return "Events per second: " + strings.Join(parts, ", ")
}

// niceStep returns 1, 2 or 5 times a power of ten, at least as large as the given one.
func niceStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(math.Max(1, least))))
	for _, factor := range []float64{1, 2, 5} {
		if power*factor >= least {
			return power * factor
		}
	}
	return power * 10
}

// grouped returns a whole number with commas.
func grouped(value float64) string {
	digits := fmt.Sprintf("%.0f", value)
	for place := len(digits) - 3; place > 0; place -= 3 {
		digits = digits[:place] + "," + digits[place:]
	}
	return digits
}
