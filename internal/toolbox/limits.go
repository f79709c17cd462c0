package toolbox

import "time"

// Limits bounds what a call takes and gives. A field that is zero has its default.
type Limits struct {
	PageLines int // lines or directory entries that view shows at once: 400
	PageBytes int // bytes that view, glob or grep shows at once: 32 KB
	LineBytes int // bytes of a line that view or grep shows: 2,000 and a fifth of it

	FileBytes   int64         // the largest file that is read whole or written: 2 MB
	Matches     int           // paths of glob, and lines of grep that asks for more: 1,000
	Entries     int           // files and directories that a search looks at: 200,000
	SearchBytes int64         // bytes that grep reads: 512 MB
	SearchTime  time.Duration // time that view, glob and grep take: 15 s

	OutputBytes int           // bytes of each stream of a command, its end: 16 KB
	Timeout     time.Duration // of a command that asks for none: 1 min
	MaxTimeout  time.Duration // that a command may ask for: 10 min
}

const (
	firstMatches = 100    // lines that grep gives when not asked for more
	maxPattern   = 1_000  // bytes of a pattern
	maxCommand   = 32_000 // bytes of a command; systems refuse arguments of 128 KB
)

func (l Limits) orDefault() Limits {
	defaultTo(&l.PageLines, 400)
	defaultTo(&l.PageBytes, 32<<10)
	defaultTo(&l.LineBytes, 2_000)
	defaultTo(&l.FileBytes, 2<<20)
	defaultTo(&l.Matches, 1_000)
	defaultTo(&l.Entries, 200_000)
	defaultTo(&l.SearchBytes, 512<<20)
	defaultTo(&l.SearchTime, 15*time.Second)
	defaultTo(&l.OutputBytes, 16<<10)
	defaultTo(&l.Timeout, time.Minute)
	defaultTo(&l.MaxTimeout, 10*time.Minute)
	return l
}

func defaultTo[T int | int64 | time.Duration](value *T, otherwise T) {
	if *value <= 0 {
		*value = otherwise
	}
}
