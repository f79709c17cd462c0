//go:build !linux

package process

import (
	"runtime"
	"slices"
	"time"
)

// Hide does nothing: this system has no such setting.
func Hide() error { return nil }

// variablesOf returns nothing: on this system a process cannot read other environments.
func variablesOf(int) Variables { return nil }

// LineageOf returns the lineage of the process at the beginning of a chain.
func LineageOf(chain []Ancestor) Lineage {
	l := Lineage{Chain: chain, Top: -1, Leader: -1, NoTable: !slices.Contains([]string{"darwin", "windows"}, runtime.GOOS)}
	if len(chain) > 0 {
		l.Leader = leader(chain[0].PID)
		if _, parent, ok := processFinder()(chain[len(chain)-1].PID); ok && parent <= 1 {
			l.Top = parent
		}
	}
	return l
}

// beganAt is not implemented for this system.
func beganAt(Ancestor) time.Time { return time.Time{} }

// writtenAt is not implemented for this system.
func writtenAt(Ancestor) time.Time { return time.Time{} }
