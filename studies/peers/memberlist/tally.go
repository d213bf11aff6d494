package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// bucketUnits is how finely quantiles are told; buckets reach to 200 units.
const (
	bucketUnits = 0.01
	buckets     = 20_000
)

// tally is that of src/tally.rs.
type tally struct {
	unitUs         float64
	counts         []uint32
	total, max     float64
	known, missing uint64
	looking        time.Duration
}

func newTally(unit time.Duration) *tally {
	return &tally{unitUs: float64(unit.Microseconds()), counts: make([]uint32, buckets)}
}

// look counts what one node knows of all others.
func (t *tally) look(n *node) {
	began, now := time.Now(), nowUs()
	n.lock.Lock()
	for origin, birth := range n.births {
		if origin != n.number {
			t.count(now, birth)
		}
	}
	n.lock.Unlock()
	t.looking += time.Since(began)
}

func (t *tally) count(now, birth uint64) {
	if birth == 0 {
		t.missing++
		return
	}
	units := 0.0
	if now > birth {
		units = float64(now-birth) / t.unitUs
	}
	t.known++
	t.total += units
	t.max = max(t.max, units)
	t.counts[min(int(units/bucketUnits), buckets-1)]++
}

func (t *tally) quantile(q float64) float64 {
	wanted, below := uint64(float64(t.known)*q), uint64(0)
	for at, count := range t.counts {
		if below += uint64(count); below > wanted {
			return float64(at+1) * bucketUnits
		}
	}
	return 0
}

func (t *tally) missingShare() float64 {
	return float64(t.missing) / float64(t.known+t.missing)
}

// cpuS is the CPU seconds of the process, in user space and in the kernel.
func cpuS() float64 {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // it fails for a bad argument only
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}

// residentKiB is the resident memory of the process; 0 where the kernel does not tell.
func residentKiB() int64 {
	return int64(field("/proc/self/statm", 1)) * int64(os.Getpagesize()) / 1024
}

func load1m() float64 { return field("/proc/loadavg", 0) }

func field(file string, at int) float64 {
	text, _ := os.ReadFile(file)
	fields := strings.Fields(string(text))
	if at >= len(fields) {
		return 0
	}
	value, _ := strconv.ParseFloat(fields[at], 64)
	return value
}
