package scan

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"
)

// Options bounds a scan. Zero fields mean the default in brackets.
type Options struct {
	MaxFiles    int           // regular files, and folders, that are visited [100,000]
	MaxBytes    int           // size of a file above which it is not read [256 KiB]
	MaxFindings int           // findings that are returned [1,000]
	Duration    time.Duration // after which the scan ends with what it has [20 s]

	// Progress is called now and then with the number of files dealt with, never
	// by two goroutines at once. The scan waits for it.
	Progress func(done int)
}

func (o Options) withDefaults() Options {
	o.MaxFiles = orDefault(o.MaxFiles, 100_000)
	o.MaxBytes = orDefault(o.MaxBytes, 256<<10)
	o.MaxFindings = orDefault(o.MaxFindings, 1_000)
	o.Duration = orDefault(o.Duration, 20*time.Second)
	if o.Progress == nil {
		o.Progress = func(int) {}
	}
	return o
}

func orDefault[T int | time.Duration](n, otherwise T) T {
	if n <= 0 {
		return otherwise
	}
	return n
}

// errOutOfTime is the cause by which a scan's own time limit is told from the caller's.
var errOutOfTime = errors.New("out of time")

// Scan walks the tree once and returns what is worth doing in it. A bound that
// cuts it short is no error: Result.Cut names it. When ctx ends, Scan returns what
// it has with the cause.
func (t *Tree) Scan(ctx context.Context, o Options) (Result, error) {
	o = o.withDefaults()
	begin := time.Now()
	limited, cancel := context.WithTimeoutCause(ctx, o.Duration, errOutOfTime)
	defer cancel()

	c := newCollection(o)
	w := &walk{tree: t, maxFiles: o.MaxFiles}
	cut, err := t.scan(limited, w, c, o)
	result := c.result(limited, t, cut)
	result.Files, result.Folders, result.Duration = w.files, w.folders, time.Since(begin)
	result.Skipped = result.Skipped.plus(w.skipped)
	if ctx.Err() != nil {
		return result, fmt.Errorf("scan the workspace: %w", context.Cause(ctx))
	}
	return result, err
}

// scan runs the walk and its readers. The walk ends when the tree or a bound does,
// the readers when the walk is over and its jobs are done, or when ctx ends; scan
// waits for all of them.
func (t *Tree) scan(ctx context.Context, w *walk, c *collection, o Options) (cut Bound, err error) {
	group, ctx := errgroup.WithContext(ctx)
	jobs := make(chan job, 64)
	w.visit = func(f folder) error {
		for _, j := range c.jobsOf(f) {
			select {
			case jobs <- j:
			case <-ctx.Done():
				return nil // the walk notices
			}
		}
		return nil
	}
	group.Go(func() (err error) {
		defer close(jobs)
		cut, err = w.run(ctx)
		return err
	})
	for range min(max(runtime.GOMAXPROCS(0), 2), 8) {
		group.Go(func() error {
			r := reader{tree: t, options: o}
			for j := range jobs {
				c.add(r.read(ctx, j))
			}
			return nil
		})
	}
	err = group.Wait()
	return cut, err
}
