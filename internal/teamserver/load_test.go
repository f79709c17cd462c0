package teamserver_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/postgres"
	"github.com/planloop/planloop/internal/store/postgres/postgrestest"
	"github.com/planloop/planloop/internal/teamserver"
	"github.com/planloop/planloop/internal/teamserver/command"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// serveVariable makes the test's program a planloop-server.
const serveVariable = "PLANLOOP_TEST_SERVE"

func TestMain(m *testing.M) {
	if os.Getenv(serveVariable) == "" {
		os.Exit(testenv.Fixed{Tests: m}.Run())
	}
	if err := command.New(os.Getenv).ExecuteContext(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// process is a planloop-server in a process of its own.
type process struct {
	dsn, address string // HOST:PORT, the same after a restart
	cmd          *exec.Cmd
}

// start starts the server, and returns once it answers.
func (p *process) start() error {
	p.cmd = exec.Command(os.Args[0], "serve", "--listen", p.address, "--rate", "1000000")
	p.cmd.Env = append(os.Environ(), serveVariable+"=1", "PLANLOOP_SERVER_DSN="+p.dsn)
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	var said []string
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		var entry struct {
			Msg     string `json:"msg"`
			Address string `json:"address"`
		}
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == "serving" {
			if p.address != entry.Address { // others read it while the server starts again
				p.address = entry.Address
			}
			go io.Copy(io.Discard, stderr) // until it ends
			return nil
		}
		said = append(said, lines.Text())
	}
	return fmt.Errorf("the server does not start: %w: %q", p.cmd.Wait(), said)
}

// kill ends it as kill -9 does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// laptop changes one track and follows all, at whichever server answers.
type laptop struct {
	id      int
	token   string
	servers []*process
	track   string
	acked   map[string]plan.Revision // by note

	mu    sync.Mutex
	heads map[string]store.Head // as its stream has reported
}

func (l *laptop) send(ctx context.Context, server *process, method, path string, in, out any) error {
	data, err := json.Marshal(in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+server.address+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+l.token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%d %s", answer.StatusCode, text)
	}
	return json.Unmarshal(text, out)
}

// change sends a change to one server after the other, until one acknowledges it.
func (l *laptop) change(ctx context.Context, key string, a plan.Action) (plan.Revision, error) {
	return l.changeOn(ctx, key, a, nil)
}

// changeOn is change for one that relies on a basis. It returns 0 if the basis is another.
func (l *laptop) changeOn(ctx context.Context, key string, a plan.Action, basis *plan.Basis) (plan.Revision, error) {
	action, err := store.EncodeAction(a)
	if err != nil {
		return 0, err
	}
	request := teamwire.DoRequest{Key: fmt.Sprint(l.id, " ", key), Agent: fmt.Sprint("codex", l.id), Basis: basis, Action: action}
	for try, began := 0, time.Now(); ; try++ {
		var reply teamwire.DoReply
		if err = l.send(ctx, l.servers[(l.id+try)%len(l.servers)], "POST", "/v1/w/shop/t/"+l.track+"/do", request, &reply); err == nil {
			return reply.Seq, nil
		}
		if strings.HasPrefix(err.Error(), "409 ") && basis != nil {
			return 0, nil
		}
		if ctx.Err() != nil || time.Since(began) > 2*time.Minute {
			return 0, fmt.Errorf("laptop %d, change %s: %w", l.id, key, err)
		}
		time.Sleep(20 * time.Millisecond) // a client waits, too
	}
}

// work makes changes until stop is closed. Each is acknowledged before the next.
func (l *laptop) work(ctx context.Context, stop <-chan struct{}, acks chan<- struct{}) error {
	for n := 0; n < 900; n++ { // a step takes 1,000 notes
		select {
		case <-stop:
			return nil
		default:
		}
		note := fmt.Sprintf("note %d.%d", l.id, n)
		seq, err := l.change(ctx, note, plan.ReportStep{Step: plan.StepID(l.id + 1), Note: note})
		if err != nil {
			return err
		}
		l.acked[note] = seq
		select {
		case acks <- struct{}{}:
		default: // nothing waits for one
		}
	}
	return nil
}

// follow keeps an event stream open until ctx ends, at the next server if one breaks.
func (l *laptop) follow(ctx context.Context) {
	for try := 0; ctx.Err() == nil; try++ {
		l.readStream(ctx, l.servers[(l.id+try)%len(l.servers)])
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (l *laptop) readStream(ctx context.Context, server *process) {
	request, err := http.NewRequestWithContext(ctx, "GET", "http://"+server.address+"/v1/w/shop/events", nil)
	if err != nil {
		return
	}
	request.Header.Set("Authorization", "Bearer "+l.token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		var event teamwire.HeadEvent
		if data, is := strings.CutPrefix(lines.Text(), "data: "); is && json.Unmarshal([]byte(data), &event) == nil {
			l.mu.Lock()
			l.heads[event.Track] = event.Head
			l.mu.Unlock()
		}
	}
}

// seen returns the last head of a track that the stream has reported.
func (l *laptop) seen(track string) store.Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heads[track]
}

// newFleet starts servers on a database, with laptops that share as many tracks as there are.
func newFleet(t *testing.T, dsn string, servers, laptops, tracks int) (all []*laptop, running []*process) {
	t.Helper()
	check(t, postgres.Migrate(t.Context(), dsn))
	db, err := postgres.Open(t.Context(), dsn, postgres.Options{})
	check(t, err)
	defer db.Close()
	admin := teamserver.NewAdmin(db, teamserver.Operator)
	team, err := admin.CreateTeam(t.Context(), "blue")
	check(t, err)
	for range servers {
		p := &process{dsn: dsn, address: "127.0.0.1:0"}
		check(t, p.start())
		t.Cleanup(p.kill)
		running = append(running, p)
	}
	for i := range laptops {
		member := fmt.Sprint("ann", i)
		check(t, admin.AddMember(t.Context(), team, member, teamwire.RoleMember, ""))
		token, err := admin.CreateToken(t.Context(), team, member, teamwire.RoleMember, "laptop", time.Hour)
		check(t, err)
		l := &laptop{id: i, token: token, servers: running, track: fmt.Sprint("t", i%tracks), acked: map[string]plan.Revision{},
			heads: map[string]store.Head{}}
		all = append(all, l)
		if i >= tracks {
			continue
		}
		begin := plan.SetUp{Outline: plan.Outline{Objective: "Ship " + l.track}}
		for step := range laptops {
			begin.Steps = append(begin.Steps, plan.NewStep{Spec: plan.Spec{Title: fmt.Sprint("Step ", step)}})
		}
		_, err = l.change(t.Context(), "begin", begin)
		check(t, err)
	}
	return all, running
}

// TestNothingIsLostWhenServersAndTheDatabaseAreKilled: what servers have acknowledged to many laptops is recorded once, although servers
// and PostgreSQL are killed again and again, and every laptop hears of the last change.
func TestNothingIsLostWhenServersAndTheDatabaseAreKilled(t *testing.T) {
	database := postgrestest.Private(t, "fsync=on")
	laptops, servers := newFleet(t, database.DSN("postgres"), 3, testenv.Count(6, 12, 60), testenv.Count(2, 3, 8))
	following, cancel := context.WithCancel(t.Context())
	stop, acks := make(chan struct{}), make(chan struct{})
	var workers, followers sync.WaitGroup
	defer followers.Wait()
	defer cancel()
	var failed atomic.Pointer[error]
	for _, l := range laptops {
		followers.Go(func() { l.follow(following) })
		workers.Go(func() {
			if err := l.work(t.Context(), stop, acks); err != nil {
				failed.Store(&err)
			}
		})
	}
	await := func(changes int) {
		for range changes {
			select {
			case <-acks:
			case <-time.After(time.Minute):
				t.Error("no change was acknowledged for a minute")
				return
			}
		}
	}
	for round := range testenv.Count(2, 4, 20) {
		await(2 * len(laptops))
		if round%2 == 0 {
			check(t, database.Stop("immediate"))
			check(t, database.Start())
		} else {
			servers[round/2%3].kill()
			await(len(laptops)) // the others go on
			check(t, servers[round/2%3].start())
		}
	}
	await(len(laptops))
	close(stop)
	workers.Wait()
	if err := failed.Load(); err != nil {
		t.Fatal(*err)
	}
	heads := checkRecords(t, laptops)
	began := time.Now()
	for _, l := range laptops {
		for track, head := range heads {
			for l.seen(track) != head {
				if time.Sleep(10 * time.Millisecond); time.Since(began) > time.Minute { // 3 seconds and the time of a busy machine
					t.Fatalf("laptop %d has not heard of %v of %s", l.id, head, track)
				}
			}
		}
	}
	t.Logf("every laptop had heard of the last changes after %v", time.Since(began).Round(time.Millisecond))
}

// checkRecords compares the records of all tracks with the changes that were acknowledged, and returns the heads.
func checkRecords(t *testing.T, laptops []*laptop) map[string]store.Head {
	t.Helper()
	acked, heads, all := 0, map[string]store.Head{}, 0
	recorded := map[string]plan.Revision{}
	for _, l := range laptops {
		acked += len(l.acked)
		if _, isDone := heads[l.track]; isDone {
			continue
		}
		var list []plan.Record
		heads[l.track], list = l.readAll(t)
		for _, record := range list {
			for _, event := range record.Events {
				if noted, is := event.(plan.StepReported); is {
					recorded[noted.Note], all = record.Seq, all+1
				}
			}
		}
	}
	if all != acked || len(recorded) != acked {
		t.Errorf("%d changes were acknowledged, and %d different ones are recorded, %d in all", acked, len(recorded), all)
	}
	for _, l := range laptops {
		for note, seq := range l.acked {
			if recorded[note] != seq {
				t.Errorf("%s was acknowledged as %d and is %d", note, seq, recorded[note])
			}
		}
	}
	t.Logf("%d changes", acked)
	return heads
}

// readAll returns the records of the laptop's track.
func (l *laptop) readAll(t *testing.T) (head store.Head, list []plan.Record) {
	t.Helper()
	var lines []string
	for more := true; more; {
		var got teamwire.Records
		path := fmt.Sprintf("/v1/w/shop/t/%s/records?after=%d", l.track, len(lines))
		check(t, l.send(t.Context(), l.servers[0], "GET", path, nil, &got))
		lines, head, more = append(lines, got.Records...), got.Head, got.More
	}
	return head, records(t, head, lines)
}

// TestChangesReachFollowersSoon measures the time from a change's request until other laptops have its record, at three servers.
func TestChangesReachFollowersSoon(t *testing.T) {
	laptops, _ := newFleet(t, postgrestest.Private(t, "fsync=on").DSN("postgres"), 3, 21, 1)
	ctx, cancel := context.WithCancel(t.Context())
	var followers sync.WaitGroup
	defer followers.Wait()
	defer cancel()
	var mu sync.Mutex
	var began time.Time
	var times []time.Duration
	arrived := make(chan struct{}, len(laptops))
	for _, l := range laptops[1:] {
		followers.Go(func() { l.follow(ctx) })
		followers.Go(func() {
			for after := plan.Revision(1); ctx.Err() == nil; {
				if l.seen(l.track).Seq <= after {
					time.Sleep(time.Millisecond)
					continue
				}
				var got teamwire.Records
				path := fmt.Sprintf("/v1/w/shop/t/%s/records?after=%d", l.track, after)
				if l.send(ctx, l.servers[l.id%3], "GET", path, nil, &got) == nil {
					mu.Lock()
					times = append(times, time.Since(began))
					mu.Unlock()
					after = got.Head.Seq
					arrived <- struct{}{}
				}
			}
		})
	}
	for _, l := range laptops[1:] {
		for l.seen(l.track).Seq == 0 && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
	}
	for n := range testenv.Count(5, 15, 200) {
		mu.Lock()
		began = time.Now()
		mu.Unlock()
		_, err := laptops[0].change(ctx, fmt.Sprint(n), plan.ReportStep{Step: 1, Note: fmt.Sprint("note ", n)})
		check(t, err)
		for range laptops[1:] {
			select {
			case <-arrived:
			case <-time.After(time.Minute):
				t.Fatal("a laptop has not got the change within a minute")
			}
		}
	}
	slices.Sort(times)
	t.Logf("%d followers: p50 %v, p99 %v, most %v", len(laptops)-1, times[len(times)/2].Round(time.Millisecond),
		times[len(times)*99/100].Round(time.Millisecond), times[len(times)-1].Round(time.Millisecond))
}
