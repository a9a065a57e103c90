// Package figures computes what benches and load tests print.
package figures

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Quantile sorts times and returns the smallest at or above a share q of them; 0 without times.
func Quantile(times []time.Duration, q float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[min(len(times)-1, int(q*float64(len(times))))]
}

// Processor returns the processor's name, or else its architecture.
func Processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.Trim(name, " \t:\n")
		}
	}
	return runtime.GOARCH
}
