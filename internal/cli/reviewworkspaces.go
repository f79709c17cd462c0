package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/planloop/planloop/internal/broadcast"
	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// reviewWorkspaces holds all workspaces of the user, or just one. Each is an app of its own, opened on first use.
//
// One goroutine, follow, notices the changes of other processes, with one watcher for all logs. It ends with close, which also ends all
// listeners; a run that was started here ends with the context given to newReviewWorkspaces, or drains.
type reviewWorkspaces struct {
	*app
	first  workspace.Workspace
	single bool // no other workspaces are shown
	runs   pageRuns
	cache  inboxCache

	mu         sync.Mutex // guards the fields below
	workspaces map[string]*reviewWorkspace
	heads      map[string]store.Head // as last reported

	changed broadcast.Hub // notifies when heads change
	end     context.CancelFunc
	ending  sync.WaitGroup
}

// newReviewWorkspaces returns the workspace that the command was started in and, unless alone is set, all others of the user.
func (a *app) newReviewWorkspaces(first workspace.Workspace, single bool, runs pageRuns) *reviewWorkspaces {
	d := &reviewWorkspaces{app: a, first: first, single: single, runs: runs,
		workspaces: map[string]*reviewWorkspace{}, heads: map[string]store.Head{}}
	if !single && !a.flags.ephemeral {
		d.cache.path = filepath.Join(first.StateHome(), inboxCacheName)
	}
	ctx, end := context.WithCancel(context.Background())
	d.end = end
	d.ending.Go(func() { d.follow(ctx) })
	return d
}

// close closes all workspaces except the command's own, which the command closes itself. By then, no run is active here.
func (d *reviewWorkspaces) close() error {
	d.end()
	d.ending.Wait()
	d.changed.Close()
	d.cache.save(0, d.logger())
	d.mu.Lock()
	defer d.mu.Unlock()
	var failed error
	for _, s := range d.workspaces {
		if s.app != d.app {
			failed = errors.Join(failed, s.app.close())
		}
	}
	return failed
}

// list lists the workspaces that have a state: the first one, then the others sorted by name. It adds new ones to the workspaces.
func (d *reviewWorkspaces) list() []*reviewWorkspace {
	d.mu.Lock()
	defer d.mu.Unlock()
	first := d.add(d.first)
	var others []*reviewWorkspace
	for _, main := range d.mains() {
		for _, track := range tracksOf(main) {
			if s := d.add(track); s != first {
				others = append(others, s)
			}
		}
	}
	slices.SortFunc(others, func(a, b *reviewWorkspace) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Path, b.Path))
	})
	return append([]*reviewWorkspace{first}, others...)
}

// mains returns the workspaces whose tracks are listed. The caller holds mu.
func (d *reviewWorkspaces) mains() (all []workspace.Workspace) {
	switch {
	case d.flags.ephemeral:
		return nil
	case d.single:
		return []workspace.Workspace{d.first}
	}
	home := d.first.StateHome()
	entries, _ := os.ReadDir(home) // without this folder there are no other plans yet
	for _, entry := range entries {
		if known := d.workspaces[entry.Name()]; known != nil {
			all = append(all, known.local)
		} else if place, is := workspace.LookUpState(filepath.Join(home, entry.Name())); is {
			all = append(all, place)
		}
	}
	return all
}

// add adds a workspace, unless it is there already. The caller holds mu.
func (d *reviewWorkspaces) add(place workspace.Workspace) *reviewWorkspace {
	id := place.ID()
	s := d.workspaces[id]
	if s != nil {
		return s
	}
	s = &reviewWorkspace{Workspace: review.Workspace{Place: placeOf(place)}, app: d.app, workspaces: d, local: place}
	if !d.single || place.Track != d.first.Track {
		s.app = d.within(place)
	}
	d.workspaces[id] = s
	return s
}

func placeOf(place workspace.Workspace) review.Place {
	shown := review.Place{ID: place.ID(), Name: place.Name, Doubt: place.Doubt}
	if place.Track != "" {
		shown.Name += " · " + place.Track
	}
	if !place.Default {
		shown.Path = safetext.EscapeLine(place.Path)
	}
	return shown
}

// within returns an app for another workspace, sharing this one's world.
func (a *app) within(place workspace.Workspace) *app {
	inner := &app{environment: a.environment, place: &place, parent: a, launch: a.launch}
	inner.flags.agent, inner.flags.verbose = a.flags.agent, a.flags.verbose
	return inner
}

func (d *reviewWorkspaces) Places(context.Context) ([]review.Place, error) {
	workspaces := d.list()
	places := make([]review.Place, len(workspaces))
	for i, s := range workspaces {
		places[i] = s.Place
		if info, err := os.Stat(s.local.Path); s.Doubt == "" && !s.local.Default && (err != nil || !info.IsDir()) {
			places[i].Doubt = "its directory does not exist"
		}
	}
	return places, nil
}

func (d *reviewWorkspaces) Open(ctx context.Context, id string) (*review.Workspace, error) {
	s, err := d.workspace(id)
	if err != nil {
		return nil, err
	}
	return s.open(ctx, true)
}

func (d *reviewWorkspaces) workspace(id string) (*reviewWorkspace, error) {
	d.mu.Lock()
	s := d.workspaces[id]
	d.mu.Unlock()
	if s != nil {
		return s, nil
	}
	for _, s := range d.list() {
		if s.ID == id {
			return s, nil
		}
	}
	return nil, plan.Refuse(plan.NotFound, "/workspace", "workspace "+plan.Quote(id)+" does not exist", "choose a listed workspace")
}

const changeWindow = 20 * time.Millisecond // successive changes within it are reported as one

// Watch implements review.Workspaces. Its goroutine ends with ctx, or when the workspaces are closed.
func (d *reviewWorkspaces) Watch(ctx context.Context) <-chan review.Change {
	changes, woken := make(chan review.Change), d.changed.Listen(ctx)
	known := d.currentHeads()
	go func() {
		defer close(changes)
		for range woken {
			heads := d.currentHeads()
			for id, head := range heads {
				main := workspace.MainID(id) // its signals concern this track too
				if before, is := known[id]; is && before == head && known[main] == heads[main] {
					continue
				}
				select {
				case changes <- review.Change{Workspace: id, Revision: head.Seq}:
				case <-ctx.Done():
					return
				}
			}
			known = heads
			waitFor(ctx, changeWindow)
		}
	}()
	return changes
}

// waitFor waits, and reports whether ctx is still open.
func waitFor(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

func (d *reviewWorkspaces) currentHeads() map[string]store.Head {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.heads)
}

const pollInterval = 2 * time.Second // for new workspaces, and for changes by time alone

// follow notices the changes of every process in any workspace, until ctx ends.
func (d *reviewWorkspaces) follow(ctx context.Context) {
	if d.flags.ephemeral {
		d.followMemory(ctx)
		return
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		d.logger().Warn("changes are noticed late: files cannot be watched", "error", err)
		watcher = &fsnotify.Watcher{} // it never reports an event
	} else {
		defer watcher.Close()
	}
	f := changeWatcher{d, watcher, err != nil, map[string]*reviewWorkspace{}}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for f.watchNew(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for _, s := range f.watchNew() {
				s.settle(ctx)
			}
			d.cache.save(time.Minute, d.logger())
		case event := <-watcher.Events:
			if s := f.folders[filepath.Dir(event.Name)]; s != nil {
				d.checkHead(s)
				break
			}
			delete(f.folders, event.Name) // the folder may be deleted and created again
			f.watchNew()
		case <-watcher.Errors: // some events were lost
			clear(f.folders)
			f.watchNew()
		}
	}
}

// followMemory does the work of follow for a log in memory.
func (d *reviewWorkspaces) followMemory(ctx context.Context) {
	ws, err := d.open(ctx, nil)
	if err != nil {
		return // reported to the caller that opens it
	}
	grown, err := ws.verbs.Watch(ctx)
	if err != nil {
		return
	}
	for range grown {
		d.checkHead(d.list()[0])
	}
}

type changeWatcher struct {
	*reviewWorkspaces
	watcher   *fsnotify.Watcher
	noWatcher bool
	folders   map[string]*reviewWorkspace // the watched folders of growth files
}

// watchNew checks the workspaces that are not watched, and watches them from then on.
func (f *changeWatcher) watchNew() []*reviewWorkspace {
	if !f.noWatcher && !f.single {
		_ = f.watcher.Add(f.first.StateHome()) // if it does not exist yet, the next look finds it
	}
	workspaces := f.list()
	for _, s := range workspaces {
		if f.folders[s.growth] == s {
			continue
		}
		if entries, _ := os.ReadDir(s.local.StateDir); len(entries) == 0 {
			continue // no plan there yet
		}
		if s.growth == "" {
			// only once: later the state may be in deletion, and must not be created again
			s.growth, _ = sqlite.MakeGrowthFolder(s.local.StateDir)
		}
		if !f.noWatcher && f.watcher.Add(s.growth) == nil {
			f.folders[s.growth] = s
		}
		f.checkHead(s)
	}
	return workspaces
}

func (d *reviewWorkspaces) checkHead(s *reviewWorkspace) {
	head := s.head()
	d.mu.Lock()
	before, known := d.heads[s.ID]
	d.heads[s.ID] = head
	d.mu.Unlock()
	if !known || before != head {
		d.changed.Notify()
	}
}

type reviewWorkspace struct {
	review.Workspace
	app        *app
	workspaces *reviewWorkspaces
	local      workspace.Workspace
	growth     string // the folder of its growth file, only for follow; "": not made yet

	running atomic.Int32 // runs here
	inboxMu sync.Mutex   // held while the inbox is read

	mu         sync.Mutex   // guards the fields below
	release    func() error // closes the files of its log; nil: not opened yet
	lastOpened time.Time    // the last time it was opened for the page
	found      inboxState
}

func (s *reviewWorkspace) open(ctx context.Context, isUse bool) (*review.Workspace, error) {
	ws, err := s.app.open(ctx, nil)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if isUse {
		s.lastOpened = time.Now()
	}
	if s.Service != ws.verbs { // also after the track was shared, or left
		s.releaseLog()
		s.release, s.Service, s.Tail = ws.release, ws.verbs, s.tail
		s.Fresh = ws.servers.refreshFor
		if !s.app.flags.ephemeral {
			s.Unsent = s.local.StateDir
		}
		s.Refused = s.app.whyNoPerson // an agent at work there is known once the workspace is open
		if where := ws.decidePlace(); where != "" {
			s.Refused = func() string { return "people decide about this track " + where }
		}
		if !ws.place.Default {
			s.Start = s.start
		}
	}
	shown := s.Workspace
	shown.Doubt = cmp.Or(shown.Doubt, ws.copied.Stale())
	return &shown, nil
}

// head returns the last end of the log, without opening it; the zero Head if unknown.
func (s *reviewWorkspace) head() store.Head {
	if !s.app.flags.ephemeral {
		return sqlite.CachedHead(s.local.StateDir)
	}
	ws, err := s.app.open(context.Background(), nil)
	if err != nil {
		return store.Head{}
	}
	head, _ := ws.session.CachedHead(context.Background()) // memory does not fail
	return head
}

const idleTimeout = time.Minute // after the last use of a log

// settle does the work that is due by time alone: it records the end of planning mode, and closes an idle log.
func (s *reviewWorkspace) settle(ctx context.Context) {
	s.mu.Lock()
	over := s.found.over()
	s.mu.Unlock()
	if over {
		_, _ = s.inbox(ctx) // reading records it; errors are reported to the next reader
	}
	s.closeIdle()
}

func (s *reviewWorkspace) closeIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.workspaces.single || s.running.Load() > 0 || time.Since(s.lastOpened) < idleTimeout {
		return
	}
	s.releaseLog()
}

// releaseLog closes the files of the log. The caller holds mu.
func (s *reviewWorkspace) releaseLog() {
	if s.release == nil {
		return
	}
	if err := s.release(); err != nil {
		s.app.logger().Debug("the log was not closed", "error", err)
	}
}

// pageRuns holds the runs that people start on the page of this process. Its creator ends them and waits for them.
type pageRuns struct {
	working context.Context // ends all running work
	drained <-chan struct{} // closed when nothing new may start
	going   *sync.WaitGroup
}

func (a *app) pageCaller() verbs.Caller {
	me, channel := workspace.Caller{Login: a.login(), Present: true}, plan.ChannelPage
	if a.person().Shared != "" {
		channel = plan.ChannelShared // which shows the codes
	}
	return verbs.Caller{Actor: me.Actor().WithChannel(channel), Face: review.Face{}}
}

func (s *reviewWorkspace) start(ctx context.Context, of string) error {
	shown, err := s.open(ctx, true)
	if err != nil {
		return err
	}
	caller, runs := s.app.pageCaller(), s.workspaces.runs
	caller.Of = of
	caller.Background = func(work func(context.Context)) {
		s.running.Add(1)
		runs.going.Go(func() {
			defer s.running.Add(-1)
			work(runs.working)
		})
	}
	return shown.Service.StartRun(ctx, caller, verbs.EngineOptions{Wait: true, Drain: runs.drained, Agents: s.app.whyNoPerson() == ""})
}

const maxTail = 64 << 10 // bytes of a log that the page shows

func (s *reviewWorkspace) tail(id plan.StepID) (string, error) {
	ctx := context.Background()
	ws, state, err := s.app.state(ctx)
	if err != nil {
		return "", err
	}
	l, err := s.app.findLog(ctx, ws, state, id.String(), 0)
	if refused, is := errors.AsType[*plan.ValidationError](err); is && refused.Kind == plan.NotFound && l.step != nil {
		return "", nil // the step may have ended just now
	}
	if err != nil {
		return "", err
	}
	var shown bytes.Buffer
	err = copyOutput(strings.NewReader(l.end(maxTail)), &outputPrinter{out: &shown})
	return shown.String(), err
}
