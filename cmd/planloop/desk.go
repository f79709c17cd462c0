package main

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

	"github.com/planloop/planloop/internal/broadcast"
	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// desk is the workspaces of the user, or one of them alone. Each is an app of its own, which opens it when it is
// first looked at.
//
// One goroutine, follow, hears of what other processes change, with one watcher for all logs. It ends with close, and
// so does who listens to it; a run that was begun here ends with the context that newDesk was given, or drains.
type desk struct {
	*app
	first workspace.Workspace
	alone bool // with no other
	runs  runsHere
	quiet quiet

	mu     sync.Mutex // guards what follows
	sheets map[string]*sheet
	heads  map[string]store.Head // as they were last told

	told   broadcast.Hub // when heads have changed
	end    context.CancelFunc
	ending sync.WaitGroup
}

// newDesk lays out the workspace that the command was started in and, unless it is to be alone, all others of the user.
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

// close ends the use of all workspaces but that of the command, which ends it itself. No run goes on here any more.
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

// laidOut lists the workspaces that have a state, after the first, as their names sort. A new one is added to the desk.
func (d *desk) laidOut() []*sheet {
	d.mu.Lock()
	defer d.mu.Unlock()
	first := d.lay(d.first)
	if d.alone {
		return []*sheet{first}
	}
	var others []*sheet
	home := filepath.Dir(d.first.StateDir)
	entries, _ := os.ReadDir(home) // where it is not there, nobody has planned anything yet
	for _, entry := range entries {
		s := d.sheets[entry.Name()]
		if s == nil {
			place, is := workspace.InState(filepath.Join(home, entry.Name()))
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

// lay puts a workspace on the desk, unless it is there. It is called with mu held.
func (d *desk) lay(place workspace.Workspace) *sheet {
	id := filepath.Base(place.StateDir) // no other one is called so
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

// placeOf is a workspace as people tell it from others.
func placeOf(place workspace.Workspace) review.Place {
	shown := review.Place{ID: filepath.Base(place.StateDir), Name: place.Name, Doubt: place.Doubt} // no other one has that id
	if !place.Default {
		shown.Path = safetext.EscapeLine(place.Path)
	}
	return shown
}

// within is an app for another workspace, beside this one.
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
func (d *desk) Open(ctx context.Context, id string) (*review.Sheet, error) {
	s, err := d.sheet(id)
	if err != nil {
		return nil, err
	}
	return s.open(ctx, true)
}

// InInbox implements review.Desk. No log is opened that has not grown since it was last asked for.
func (d *desk) InInbox(ctx context.Context, place review.Place) (review.InboxPlace, []review.Waiting, error) {
	s, err := d.sheet(place.ID)
	if err != nil {
		return review.InboxPlace{Place: place}, nil, err
	}
	found, err := s.inbox(ctx)
	found.listed.Place = place
	return found.listed, found.waiting, err
}

// sheet is the workspace with an id.
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

// joined is how long changes that follow each other are told as one.
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

// restFor waits, and reports whether ctx goes on.
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

// lookAgain is how often it is looked for workspaces that are new, and for what time alone changes.
const lookAgain = 2 * time.Second

// follow hears of what changes in any workspace, whichever process changes it, until ctx ends.
func (d *desk) follow(ctx context.Context) {
	if d.flags.ephemeral {
		d.followMemory(ctx)
		return
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		d.logger().Warn("changes are seen late: they cannot be watched for", "error", err)
		watcher = &fsnotify.Watcher{} // of which nothing is heard
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
			delete(f.folders, event.Name) // it may be gone, and be made again
			f.lookAround()
		case <-watcher.Errors: // some were lost
			clear(f.folders)
			f.lookAround()
		}
	}
}

// keepQuiet has it kept where nothing waits, unless that was done a short while ago.
func (d *desk) keepQuiet(again time.Duration) {
	if err := d.quiet.save(again); err != nil {
		d.logger().Debug("what was found is not kept for the next start", "error", err)
	}
}

// followMemory is follow for a log that only this process has.
func (d *desk) followMemory(ctx context.Context) {
	opened, err := d.open(ctx, nil)
	if err != nil {
		return // who opens it is told
	}
	grown, err := opened.verbs.Watch(ctx)
	if err != nil {
		return
	}
	for range grown {
		d.look(d.laidOut()[0])
	}
}

// following is what follow watches.
type following struct {
	*desk
	watcher *fsnotify.Watcher
	deaf    bool
	folders map[string]*sheet // of growth files, that are watched
	growth  map[*sheet]string // where they are
}

// lookAround looks at the workspaces that are not watched, and watches them from then on.
func (f *following) lookAround() []*sheet {
	if !f.deaf && !f.alone {
		_ = f.watcher.Add(filepath.Dir(f.first.StateDir)) // where it is not there yet, the next look finds it
	}
	sheets, watched := f.laidOut(), slices.Collect(maps.Values(f.folders))
	for _, s := range sheets {
		if slices.Contains(watched, s) {
			continue
		}
		if _, err := os.Stat(s.state); err != nil {
			continue // nobody has planned anything there yet
		}
		if f.growth[s] == "" {
			f.growth[s], _ = sqlite.Growth(s.state) // later it is nobody's to make: its state may be being deleted
		}
		if folder := f.growth[s]; !f.deaf && f.watcher.Add(folder) == nil {
			f.folders[folder] = s
		}
		f.look(s)
	}
	return sheets
}

// look tells of a workspace whose log has another end than before.
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
	review.Sheet
	app    *app
	desk   *desk
	folder string // "" for the one named default
	state  string // the folder of its state

	finding sync.Mutex // held while what waits is being found

	mu      sync.Mutex   // guards what follows
	rest    func() error // lets go of the files of its log; nil: it was not opened yet
	looked  time.Time    // when somebody last looked at it alone
	running int          // runs here
	found   found
}

// found is what waited in a workspace when its log ended with head.
type found struct {
	head    store.Head
	listed  review.InboxPlace
	waiting []review.Waiting
	until   time.Time // when that changes by time alone; zero: never
	lively  bool      // somebody is at work, whose silence changes the headline
}

// placeNow is the workspace as it is listed now.
func (s *sheet) placeNow() review.Place {
	place := s.Place
	if info, err := os.Stat(s.folder); place.Doubt == "" && s.folder != "" && (err != nil || !info.IsDir()) {
		place.Doubt = "its directory is gone"
	}
	return place
}

// open opens the workspace, unless it is.
func (s *sheet) open(ctx context.Context, looked bool) (*review.Sheet, error) {
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
		s.Refused = s.app.notPresent // an agent that works there is known once it was opened
		if !opened.place.Default {
			s.Start = s.start
		}
	}
	return &s.Sheet, nil
}

// head is where the log ended last, found without opening it; the zero Head where nothing tells.
func (s *sheet) head() store.Head {
	if !s.app.flags.ephemeral {
		return sqlite.Peek(s.state)
	}
	opened, err := s.app.open(context.Background(), nil)
	if err != nil {
		return store.Head{}
	}
	head, _ := opened.session.Glance(context.Background()) // memory does not fail
	return head
}

// inbox is what waits for a person. Nothing is read where the log has not grown since it was last found.
func (s *sheet) inbox(ctx context.Context) (found, error) {
	s.finding.Lock() // who comes meanwhile gets what is found
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

// findUnlessQuiet is find where it is not known that nothing waits.
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

// find reads what waits, and lets go of the log again unless somebody looks at it.
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

// idleAfter is how long a log stays open after somebody has looked at it.
const idleAfter = time.Minute

// settle does what is due by time alone: it has planning mode recorded as over, and lets go of a log that nobody looks at.
func (s *sheet) settle(ctx context.Context) {
	s.mu.Lock()
	over := s.found.over()
	s.mu.Unlock()
	if over {
		_, _ = s.inbox(ctx) // who looks records it; a fault is told to who asks
	}
	s.letGo()
}

// letGo lets go of the files of a log that nobody looks at.
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
