package cli

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"bytes"
	"strings"

	"github.com/planloop/planloop/internal/broadcast"
	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// desk holds all workspaces of the user, or just one. Each is an app of its own, opened on first use.
//
// One goroutine, follow, notices the changes of other processes, with one watcher for all logs. It ends with close, which also ends all
// listeners; a run that was started here ends with the context given to newDesk, or drains.
type desk struct {
	*app
	first workspace.Workspace
	alone bool // the desk has no other workspace
	runs  runsHere
	quiet quiet

	mu     sync.Mutex // guards the fields below
	sheets map[string]*sheet
	heads  map[string]store.Head // as last reported

	told   broadcast.Hub // notifies when heads change
	end    context.CancelFunc
	ending sync.WaitGroup
}

// newDesk returns a desk with the workspace that the command was started in and, unless alone is set, all others of the user.
func (a *app) newDesk(first workspace.Workspace, alone bool, runs runsHere) *desk {
	d := &desk{app: a, first: first, alone: alone, runs: runs, sheets: map[string]*sheet{}, heads: map[string]store.Head{}}
	if !alone && !a.flags.ephemeral {
		d.quiet.path = filepath.Join(filepath.Dir(first.StateDir), quietName)
	}
	ctx, end := context.WithCancel(context.Background())
	d.end = end
	d.ending.Go(func() { d.follow(ctx) })
	return d
}

// close closes all workspaces except the command's own, which the command closes itself. By then, no run is active here.
func (d *desk) close() error {
	d.end()
	d.ending.Wait()
	d.told.Close()
	d.keepQuiet(0)
	d.mu.Lock()
	defer d.mu.Unlock()
	var failed error
	for _, s := range d.sheets {
		if s.app != d.app {
			failed = errors.Join(failed, s.app.close())
		}
	}
	return failed
}

// laidOut lists the workspaces that have a state: the first one, then the others sorted by name. It adds new ones to the desk.
func (d *desk) laidOut() []*sheet {
	d.mu.Lock()
	defer d.mu.Unlock()
	first := d.lay(d.first)
	if d.alone {
		return []*sheet{first}
	}
	var others []*sheet
	home := filepath.Dir(d.first.StateDir)
	entries, _ := os.ReadDir(home) // without this folder there are no other plans yet
	for _, entry := range entries {
		s := d.sheets[entry.Name()]
		if s == nil {
			place, is := workspace.LookUpState(filepath.Join(home, entry.Name()))
			if !is {
				continue
			}
			s = d.lay(place)
		}
		if s != first {
			others = append(others, s)
		}
	}
	slices.SortFunc(others, func(a, b *sheet) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Path, b.Path)) })
	return append([]*sheet{first}, others...)
}

// lay adds a workspace to the desk, unless it is there already. The caller holds mu.
func (d *desk) lay(place workspace.Workspace) *sheet {
	id := filepath.Base(place.StateDir) // unique
	s := d.sheets[id]
	if s != nil {
		return s
	}
	s = &sheet{app: d.app, desk: d, state: place.StateDir}
	if !d.alone {
		s.app = d.within(place)
	}
	if s.Place = placeOf(place); !place.Default {
		s.folder = place.Path
	}
	d.sheets[id] = s
	return s
}

// placeOf returns the name and path by which people recognize a workspace.
func placeOf(place workspace.Workspace) review.Place {
	shown := review.Place{ID: filepath.Base(place.StateDir), Name: place.Name, Doubt: place.Doubt} // the ID is unique
	if !place.Default {
		shown.Path = safetext.EscapeLine(place.Path)
	}
	return shown
}

// within returns an app for another workspace, sharing this one's world.
func (a *app) within(place workspace.Workspace) *app {
	inner := &app{world: a.world, fixed: &place, beside: a, launch: a.launch}
	inner.flags.agent, inner.flags.verbose = a.flags.agent, a.flags.verbose
	return inner
}

// Places implements review.Desk.
func (d *desk) Places(context.Context) ([]review.Place, error) {
	sheets := d.laidOut()
	places := make([]review.Place, len(sheets))
	for i, s := range sheets {
		places[i] = s.placeNow()
	}
	return places, nil
}

// Open implements review.Desk.
func (d *desk) Open(ctx context.Context, id string) (*review.Workspace, error) {
	s, err := d.sheet(id)
	if err != nil {
		return nil, err
	}
	return s.open(ctx, true)
}

// InInbox implements review.Desk. It opens no log that has not grown since the last call.
func (d *desk) InInbox(ctx context.Context, place review.Place) (review.InboxPlace, []review.Waiting, error) {
	s, err := d.sheet(place.ID)
	if err != nil {
		return review.InboxPlace{Place: place}, nil, err
	}
	found, err := s.inbox(ctx)
	found.listed.Place = place
	return found.listed, found.waiting, err
}

// sheet returns the workspace with an id.
func (d *desk) sheet(id string) (*sheet, error) {
	d.mu.Lock()
	s := d.sheets[id]
	d.mu.Unlock()
	if s != nil {
		return s, nil
	}
	if at := slices.IndexFunc(d.laidOut(), func(s *sheet) bool { return s.ID == id }); at < 0 {
		return nil, plan.Refuse(plan.NotFound, "/workspace", "there is no workspace "+plan.Quote(id), "choose one of those that are listed")
	}
	return d.sheet(id)
}

// joinedFor is the time in which successive changes are reported as one.
const joinedFor = 20 * time.Millisecond

// Watch implements review.Desk. Its goroutine ends with ctx, or with the desk.
func (d *desk) Watch(ctx context.Context) <-chan review.Change {
	changes, woken := make(chan review.Change), d.told.Listen(ctx)
	known := d.headsNow()
	go func() {
		defer close(changes)
		for range woken {
			for id, head := range d.headsNow() {
				if before, is := known[id]; is && before == head {
					continue
				}
				known[id] = head
				select {
				case changes <- review.Change{Workspace: id, Revision: head.Seq}:
				case <-ctx.Done():
					return
				}
			}
			restFor(ctx, joinedFor)
		}
	}()
	return changes
}

// restFor waits, and reports whether ctx is still open.
func restFor(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

func (d *desk) headsNow() map[string]store.Head {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.heads)
}

// lookAgain is how often follow looks for new workspaces and for changes by time alone.
const lookAgain = 2 * time.Second

// follow notices the changes of every process in any workspace, until ctx ends.
func (d *desk) follow(ctx context.Context) {
	if d.flags.ephemeral {
		d.followMemory(ctx)
		return
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		d.logger().Warn("changes are seen late: they cannot be watched for", "error", err)
		watcher = &fsnotify.Watcher{} // it never reports an event
	} else {
		defer watcher.Close()
	}
	f := following{desk: d, watcher: watcher, deaf: err != nil, folders: map[string]*sheet{},
		growth: map[*sheet]string{}}
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for f.lookAround(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for _, s := range f.lookAround() {
				s.settle(ctx)
			}
			d.keepQuiet(time.Minute)
		case event := <-watcher.Events:
			if s := f.folders[filepath.Dir(event.Name)]; s != nil {
				d.look(s)
				break
			}
			delete(f.folders, event.Name) // the folder may be deleted and created again
			f.lookAround()
		case <-watcher.Errors: // some events were lost
			clear(f.folders)
			f.lookAround()
		}
	}
}

// keepQuiet saves the list of quiet workspaces, unless it was saved less than again ago.
func (d *desk) keepQuiet(again time.Duration) {
	if err := d.quiet.save(again); err != nil {
		d.logger().Debug("what was found is not kept for the next start", "error", err)
	}
}

// followMemory does the work of follow for a log in memory.
func (d *desk) followMemory(ctx context.Context) {
	opened, err := d.open(ctx, nil)
	if err != nil {
		return // reported to the caller that opens it
	}
	grown, err := opened.verbs.Watch(ctx)
	if err != nil {
		return
	}
	for range grown {
		d.look(d.laidOut()[0])
	}
}

// following is the state of follow.
type following struct {
	*desk
	watcher *fsnotify.Watcher
	deaf    bool
	folders map[string]*sheet // the watched folders of growth files
	growth  map[*sheet]string // the folders of growth files
}

// lookAround checks the workspaces that are not watched, and watches them from then on.
func (f *following) lookAround() []*sheet {
	if !f.deaf && !f.alone {
		_ = f.watcher.Add(filepath.Dir(f.first.StateDir)) // if it does not exist yet, the next look finds it
	}
	sheets, watched := f.laidOut(), slices.Collect(maps.Values(f.folders))
	for _, s := range sheets {
		if slices.Contains(watched, s) {
			continue
		}
		if _, err := os.Stat(s.state); err != nil {
			continue // no plan there yet
		}
		if f.growth[s] == "" {
			// only once: later the state may be in deletion, and must not be created again
			f.growth[s], _ = sqlite.MakeGrowthFolder(s.state)
		}
		if folder := f.growth[s]; !f.deaf && f.watcher.Add(folder) == nil {
			f.folders[folder] = s
		}
		f.look(s)
	}
	return sheets
}

// look reports a workspace if the end of its log has changed.
func (d *desk) look(s *sheet) {
	head := s.head()
	d.mu.Lock()
	before, known := d.heads[s.ID]
	d.heads[s.ID] = head
	d.mu.Unlock()
	if !known || before != head {
		d.told.Notify()
	}
}

// sheet is a workspace on the desk.
type sheet struct {
	review.Workspace
	app    *app
	desk   *desk
	folder string // "" for the one named default
	state  string // the folder of its state

	finding sync.Mutex // held while the inbox is read

	mu      sync.Mutex   // guards the fields below
	rest    func() error // closes the files of its log; nil: not opened yet
	looked  time.Time    // the last time it was opened for the page
	running int          // runs here
	found   found
}

// found is the inbox of a workspace at the log's end head.
type found struct {
	head    store.Head
	listed  review.InboxPlace
	waiting []review.Waiting
	until   time.Time // when it changes by time alone; zero: never
	lively  bool      // an agent is at work, and its silence changes the headline
}

// placeNow returns the workspace as it is listed now.
func (s *sheet) placeNow() review.Place {
	place := s.Place
	if info, err := os.Stat(s.folder); place.Doubt == "" && s.folder != "" && (err != nil || !info.IsDir()) {
		place.Doubt = "its directory is gone"
	}
	return place
}

// open opens the workspace, unless it is open.
func (s *sheet) open(ctx context.Context, looked bool) (*review.Workspace, error) {
	opened, err := s.app.open(ctx, nil)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if looked {
		s.looked = time.Now()
	}
	if s.rest == nil {
		s.rest, s.Service, s.Tail = opened.rest, opened.verbs, s.tail
		s.Fresh = opened.others.refreshFor
		s.Refused = s.app.notPresent // an agent at work there is known once the workspace is open
		if !opened.place.Default {
			s.Start = s.start
		}
	}
	return &s.Workspace, nil
}

// head returns the last end of the log, without opening it; the zero Head if unknown.
func (s *sheet) head() store.Head {
	if !s.app.flags.ephemeral {
		return sqlite.CachedHead(s.state)
	}
	opened, err := s.app.open(context.Background(), nil)
	if err != nil {
		return store.Head{}
	}
	head, _ := opened.session.CachedHead(context.Background()) // memory does not fail
	return head
}

// inbox returns the user's waiting plans, questions and steps. It reads nothing if the log has not grown since the last call.
func (s *sheet) inbox(ctx context.Context) (found, error) {
	s.finding.Lock() // concurrent callers share the result
	defer s.finding.Unlock()
	head := s.head()
	s.mu.Lock()
	last := s.found
	s.mu.Unlock()
	if head.Seq > 0 && last.head == head && !last.over() {
		return last, nil
	}
	now, err := s.findUnlessQuiet(ctx)
	if err != nil {
		return now, err
	}
	now.head = head
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = now
	return now, nil
}

func (f found) over() bool { return !f.until.IsZero() && time.Now().After(f.until) }

// findUnlessQuiet calls find, unless the workspace is known to be quiet.
func (s *sheet) findUnlessQuiet(ctx context.Context) (found, error) {
	end, told := logEndOf(s.state)
	if told && s.desk.quiet.path != "" {
		if listed, known := s.desk.quiet.at(s.ID, end); known {
			return found{listed: listed}, nil
		}
	}
	now, err := s.find(ctx)
	if err == nil && told && s.desk.quiet.path != "" {
		s.desk.quiet.note(s.ID, end, now)
	}
	return now, err
}

// find reads the inbox, then closes the log again unless it is in use.
func (s *sheet) find(ctx context.Context) (f found, err error) {
	sheet, err := s.open(ctx, false)
	if err != nil {
		return f, err
	}
	defer s.letGo()
	state, err := sheet.Service.State(ctx)
	if err != nil {
		return f, err
	}
	if left, will := sheet.Service.ModeEnds(state); will {
		f.until = time.Now().Add(left)
	}
	f.lively = state.OpenRun() != nil || state.Plan != nil && state.Plan.Steps.Count(plan.InProgress) > 0
	f.listed, f.waiting, err = review.InInbox(ctx, sheet)
	return f, err
}

// idleAfter is how long a log stays open after its last use.
const idleAfter = time.Minute

// settle does the work that is due by time alone: it records the end of planning mode, and closes an idle log.
func (s *sheet) settle(ctx context.Context) {
	s.mu.Lock()
	over := s.found.over()
	s.mu.Unlock()
	if over {
		_, _ = s.inbox(ctx) // reading records it; errors are reported to the next reader
	}
	s.letGo()
}

// letGo closes the files of an idle log.
func (s *sheet) letGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rest == nil || s.desk.alone || s.running > 0 || time.Since(s.looked) < idleAfter {
		return
	}
	if err := s.rest(); err != nil {
		s.app.logger().Debug("the log was not closed", "error", err)
	}
}

// runsHere holds the runs that people start on the page of this process. Its creator ends them and waits for them.
type runsHere struct {
	working context.Context // ends all running work
	drained <-chan struct{} // closed when nothing new may start
	going   *sync.WaitGroup
}

// pageCaller returns the user as the caller on the review page.
func (a *app) pageCaller() verbs.Caller {
	me := workspace.Caller{Login: a.login(), Present: true}
	return verbs.Caller{Actor: me.Actor().WithChannel(plan.ChannelPage), Face: review.Face{}}
}

// start joins the run of a plan, as planloop run does.
func (s *sheet) start(ctx context.Context, of string) error {
	caller, runs := s.app.pageCaller(), s.desk.runs
	caller.Of = of
	caller.Background = func(work func(context.Context)) {
		s.count(1)
		runs.going.Go(func() {
			defer s.count(-1)
			work(runs.working)
		})
	}
	return s.Service.StartRun(ctx, caller, verbs.EngineOptions{Wait: true, Drain: runs.drained, Agents: s.app.notPresent() == ""})
}

func (s *sheet) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running += n
}

// tailShown is how much of a log the page shows, in bytes.
const tailShown = 64 << 10

// tail returns the end of a step's output, safe to display.
func (s *sheet) tail(id plan.StepID) (string, error) {
	ctx := context.Background()
	opened, state, err := s.app.state(ctx)
	if err != nil {
		return "", err
	}
	l, err := s.app.findLog(ctx, opened, state, id.String(), 0)
	if refused, is := errors.AsType[*plan.ValidationError](err); is && refused.Kind == plan.NotFound && l.step != nil {
		return "", nil // the step may have ended just now
	}
	if err != nil {
		return "", err
	}
	var shown bytes.Buffer
	err = printed(strings.NewReader(l.end(tailShown)), &printable{out: &shown})
	return shown.String(), err
}
