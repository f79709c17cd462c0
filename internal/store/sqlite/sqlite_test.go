package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// setUp returns record 1: a plan of n steps with details.
func setUp(n int) plan.Record {
	steps := make([]*plan.Step, n)
	for i := range steps {
		step := &plan.Step{ID: plan.StepID(i + 1)}
		step.Status = plan.Pending
		step.Title = fmt.Sprintf("Implement part %d of the importer and cover it with tests", i+1)
		step.Details = strings.Repeat("Read the format, keep unknown fields, report the line. ", 4)
		steps[i] = step
	}
	at := clock(1)
	body := plan.Body{Steps: steps, Plan: plan.Plan{ID: "import-20260504-0900", Status: plan.StatusActive, Version: 1, CreatedAt: at,
		UpdatedAt: at}}
	return record(1, "set_up_plan", plan.PlanSetUp{Plan: body})
}

// mark returns record seq, which sets the status of a step and adds a note.
func mark(seq plan.Revision, step plan.StepID) plan.Record {
	return record(seq, "mark_step", plan.StepMarked{Step: step, Status: plan.Blocked, Note: fmt.Sprintf("note %d", seq), By: "agent",
		At: clock(seq)})
}

func record(seq plan.Revision, action string, event plan.Event) plan.Record {
	return plan.Record{Seq: seq, Action: action, Actor: plan.Actor{Kind: plan.Agent, Name: "agent"}, Time: clock(seq),
		Phase: plan.PhaseInactive, Events: []plan.Event{event}}
}

func clock(seq plan.Revision) time.Time {
	return time.Date(2026, time.May, 4, 9, 0, int(seq), 0, time.UTC)
}

var noContext = context.Background()

// copyLog copies a log, as a crash at this moment would leave it.
func copyLog(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	testenv.Check(t, os.CopyFS(to, os.DirFS(from)))
	err := filepath.WalkDir(to, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return errors.Join(err, os.Chmod(path, 0o700))
		}
		return os.Chmod(path, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info := testenv.Must(os.Stat(path))(t)
	return info.Size()
}

// content returns the content of a file, nothing if it does not exist.
func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	testenv.Check(t, os.WriteFile(path, []byte(text), 0o600))
}

func flip(t *testing.T, path string, offset int64, bit int) {
	t.Helper()
	data := []byte(content(t, path))
	data[offset] ^= 1 << bit
	write(t, path, string(data))
}

// execute changes a database without planloop's knowledge.
func execute(t *testing.T, dir, statement string) {
	t.Helper()
	db := testenv.Must(sql.Open("sqlite", filepath.Join(dir, "plan.db")))(t)
	defer db.Close()
	testenv.Must(db.Exec(statement))(t)
}
