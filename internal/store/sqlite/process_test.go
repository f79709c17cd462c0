package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

var (
	kills = flag.Int("kills", 25, "how often a process is killed while it appends")
	opens = flag.Int("opens", 200, "how many processes open a new log at once")
)

// helperVariable makes the test binary act as another process on a log.
const helperVariable = "PLANLOOP_STORE_TEST_HELPER"

func TestMain(m *testing.M) {
	act := map[string]func(dir string) error{"append": appendForEver, "once": appendOnce, "contend": contend}[os.Getenv(helperVariable)]
	if act == nil {
		os.Exit(testenv.Fixed{Tests: m}.Run())
	}
	if err := act(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func helper(ctx context.Context, mode, dir string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], dir)
	cmd.Env = append(os.Environ(), helperVariable+"="+mode)
	return cmd
}

// appendNext appends one record as a session does: under the lock, at the head.
func appendNext(ctx context.Context, log store.Log) (plan.Revision, error) {
	unlock, err := log.Lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	head, err := log.Head(ctx)
	if err != nil {
		return 0, err
	}
	head, err = log.Append(ctx, victimRecord(head.Seq+1))
	return head.Seq, err
}

func appendOnce(dir string) error {
	log := sqlite.New(dir, sqlite.Options{LockWait: time.Minute})
	_, err := appendNext(context.Background(), log)
	return errors.Join(err, log.Close())
}

// appendForEver prints each number once it is acknowledged.
func appendForEver(dir string) error {
	log := sqlite.New(dir, sqlite.Options{})
	for {
		seq, err := appendNext(context.Background(), log)
		if err != nil {
			return err
		}
		fmt.Println(seq)
	}
}

// contendAppends is how often each contending process appends.
const contendAppends = 500

// contend prints the longest wait for one append, in microseconds.
func contend(dir string) error {
	log := sqlite.New(dir, sqlite.Options{})
	var worst time.Duration
	for range contendAppends {
		began := time.Now()
		if _, err := appendNext(context.Background(), log); err != nil {
			return err
		}
		worst = max(worst, time.Since(began))
	}
	fmt.Println(worst.Microseconds())
	return log.Close()
}

// Acknowledged records survive a kill, and the next process continues at once.
func TestKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	acknowledged := plan.Revision(0)
	for round := range testenv.Count(*kills/5, *kills, *kills) {
		cmd := helper(t.Context(), "append", dir)
		out := testenv.Must(cmd.StdoutPipe())(t)
		testenv.Check(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for range 1 + round*7%40 {
			if !lines.Scan() {
				break
			}
			acknowledged = number(t, lines.Text())
		}
		testenv.Check(t, cmd.Process.Kill())
		for lines.Scan() { // its output before it died
			if last := lines.Text(); last != "" {
				acknowledged = max(acknowledged, number(t, last))
			}
		}
		_ = cmd.Wait()
		expectAcknowledged(t, dir, acknowledged)
	}
}

func expectAcknowledged(t *testing.T, dir string, acknowledged plan.Revision) {
	t.Helper()
	if acknowledged == 0 {
		t.Fatal("nothing was acknowledged")
	}
	began := time.Now()
	log := sqlite.New(dir, sqlite.Options{})
	defer log.Close()
	head := testenv.Must(log.Head(t.Context()))(t)
	if took := time.Since(began); took > 9*time.Second {
		t.Errorf("opening took %v", took)
	}
	if head.Seq < acknowledged || head.Seq > acknowledged+1 {
		t.Fatalf("the head is %d, but %d was acknowledged", head.Seq, acknowledged)
	}
	records, err := readAll(dir)
	if err != nil || plan.Revision(len(records)) != head.Seq {
		t.Fatalf("%d of %d records: %v", len(records), head.Seq, err)
	}
	diffVictim(t, "killed", records)
}

// Many processes that find nothing create one log together.
func TestManyFirstOpens(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	var group errgroup.Group
	group.SetLimit(16) // on a slow machine 32 wait for each other longer than the lock allows
	most := testenv.Count(*opens/5, *opens, *opens)
	for range most {
		group.Go(func() error {
			out, err := helper(t.Context(), "once", dir).CombinedOutput()
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		})
	}
	testenv.Check(t, group.Wait())
	if records, err := readAll(dir); err != nil || len(records) != most {
		t.Errorf("%d records, %v", len(records), err)
	}
}

// Busy processes wait for each other, but never long.
func TestContention(t *testing.T) {
	const processes = 4
	dir := filepath.Join(t.TempDir(), "log")
	worst := make([]time.Duration, processes)
	var group errgroup.Group
	began := time.Now()
	for i := range processes {
		group.Go(func() error {
			cmd := helper(t.Context(), "contend", dir)
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			n, parseErr := strconv.Atoi(strings.TrimSpace(string(out)))
			worst[i] = time.Duration(n) * time.Microsecond
			return errors.Join(err, parseErr)
		})
	}
	testenv.Check(t, group.Wait())
	took := time.Since(began)
	t.Logf("%d appends in %v, longest waits %v", processes*contendAppends, took, worst)
	if records, err := readAll(dir); err != nil || len(records) != processes*contendAppends {
		t.Errorf("%d records, %v", len(records), err)
	}
}

// Another process's append is noticed.
func TestWatchAnotherProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	log := sqlite.New(dir, sqlite.Options{})
	defer log.Close()
	grown := testenv.Must(log.Watch(t.Context()))(t)
	for seq := plan.Revision(1); seq <= 5; seq++ {
		if out, err := helper(t.Context(), "once", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		select {
		case <-grown:
		case <-time.After(2 * time.Minute):
			t.Fatal("not noticed")
		}
		if head, err := log.Head(t.Context()); err != nil || head.Seq != seq {
			t.Fatalf("head %+v, %v", head, err)
		}
	}
}

// An abandoned wait does not keep the lock when its turn comes.
func TestAbandonedWaitGivesTheLockBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	holder, waiter := sqlite.New(dir, sqlite.Options{}), sqlite.New(dir, sqlite.Options{LockWait: 30 * time.Millisecond})
	defer holder.Close()
	defer waiter.Close()
	unlock := testenv.Must(holder.Lock(t.Context()))(t)
	for range 3 { // the second and third use the first one's remains
		if _, err := waiter.Lock(t.Context()); !errors.Is(err, store.ErrBusy) {
			t.Errorf("got %v, want ErrBusy", err)
		}
	}
	unlock()
	testenv.Must(holder.Lock(t.Context()))(t)()
}

func number(t *testing.T, line string) plan.Revision {
	t.Helper()
	n := testenv.Must(strconv.ParseInt(line, 10, 64))(t)
	return plan.Revision(n)
}
