package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// subscriptions notifies clients of changes by any process. mcp-go acknowledges resources/subscribe without
// recording it, and sends no resources/updated on a listen stream. So the subscribers are kept here, from the
// library's hooks, and notifications are sent directly to the session's channel.
type subscriptions struct {
	ctx       context.Context // ends with the server
	service   func(context.Context) (*verbs.Service, error)
	log       *slog.Logger
	notifyAll func(method string, params map[string]any)
	resources []string // URIs of the fixed resources

	mu          sync.Mutex
	sessions    map[string]server.ClientSession // registered sessions by id; they outlive requests
	subscribers map[string]*subscriber
	tracks      map[*verbs.Service]*watchedTrack
	rules       bool // watchRules has run
	allTracks   bool // watchTracks has run
	running     sync.WaitGroup
}

// watchedTrack is a track that a client of the server works on. All clients are notified of the changes of all of these: a
// notification too many costs them one request.
type watchedTrack struct {
	watching  bool
	beginning bool       // a goroutine is about to watch
	phase     plan.Phase // phase of the last list of tools, "" before the first
	last      plan.State // last state that clients were notified of
	read      bool       // last was read from the log; otherwise it has only a phase and a revision
}

// track returns the record of a service's track. The caller holds the mutex.
func (s *subscriptions) track(service *verbs.Service) *watchedTrack {
	if s.tracks[service] == nil {
		s.tracks[service] = &watchedTrack{}
	}
	return s.tracks[service]
}

// subscriber is a session, or one of its listen streams, with its subscriptions. The lists belong to subscriptions.
type subscriber struct {
	session server.ClientSession
	listen  any // id of the listen request; nil in the handshake revisions
	uris    map[string]bool
	changed []string // of uris, not sent yet
	wake    chan struct{}
	done    chan struct{}
}

func (s *subscriptions) registerHooks(hooks *server.Hooks) {
	hooks.AddOnRegisterSession(func(_ context.Context, session server.ClientSession) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sessions[session.SessionID()] = session
	})
	hooks.AddOnUnregisterSession(func(_ context.Context, session server.ClientSession) {
		s.removeSubscriber(session.SessionID())
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.sessions, session.SessionID())
	})
	hooks.AddOnRequestInitialization(s.checkSubscription)
	hooks.AddAfterSubscribe(func(ctx context.Context, _ any, request *mcp.SubscribeRequest, _ *mcp.EmptyResult) {
		if session := server.ClientSessionFromContext(ctx); session != nil && strings.HasPrefix(request.Params.URI, scheme) {
			s.subscribe(ctx, session.SessionID(), session, nil, request.Params.URI)
		}
	})
	hooks.AddAfterUnsubscribe(func(ctx context.Context, _ any, request *mcp.UnsubscribeRequest, _ *mcp.EmptyResult) {
		if session := server.ClientSessionFromContext(ctx); session != nil {
			s.unsubscribe(session.SessionID(), request.Params.URI)
		}
	})
	hooks.AddBeforeSubscriptionsListen(func(ctx context.Context, id any, request *mcp.SubscriptionsListenRequest) {
		if session := server.ClientSessionFromContext(ctx); session != nil {
			key := fmt.Sprintf("listen %s %p %v", session.SessionID(), session, id) // over HTTP the sessions of streams have no id
			asked := request.Params.Notifications.ResourceSubscriptions
			known := slices.DeleteFunc(slices.Clone(asked), func(uri string) bool { return !s.isKnown(uri) })
			request.Params.Notifications.ResourceSubscriptions = known[:min(len(known), maxSubscribed)] // the acknowledgement repeats these
			s.subscribe(ctx, key, session, id, request.Params.Notifications.ResourceSubscriptions...)
			context.AfterFunc(ctx, func() { s.removeSubscriber(key) })
		}
	})
}

// Limits on one client's subscriptions.
const (
	maxSubscribed = 256
	maxURI        = 200 // bytes
)

// scheme begins every resource URI, and trackPrefix those of tracks.
const (
	scheme      = "plan://"
	tracksURI   = scheme + "tracks"
	trackPrefix = tracksURI + "/"
)

// isKnown reports whether a resource with this URI can exist.
func (s *subscriptions) isKnown(uri string) bool {
	if id, isStep := strings.CutPrefix(uri, "plan://steps/"); isStep {
		_, err := plan.ParseStepID(id)
		return err == nil && len(uri) <= maxURI
	}
	if name, isTrack := strings.CutPrefix(uri, trackPrefix); isTrack {
		return workspace.IsTrackName(name)
	}
	id, isPlan := strings.CutPrefix(uri, "plan://plans/")
	return isPlan && id != "" && len(uri) <= maxURI && safetext.PrintableLine(id) || slices.Contains(s.resources, uri)
}

// checkSubscription refuses a subscription beyond the limits, or to a plan:// resource that cannot exist. A subscription
// to another scheme is acknowledged, as the protocol's conformance suite requires, and ignored.
func (s *subscriptions) checkSubscription(ctx context.Context, _ any, message any) error {
	raw, _ := message.(json.RawMessage)
	var request struct {
		Method mcp.MCPMethod `json:"method"`
		Params struct {
			URI string `json:"uri"`
		} `json:"params"`
	}
	if json.Unmarshal(raw, &request) != nil || request.Method != mcp.MethodResourcesSubscribe {
		return nil // the library reports a malformed message
	}
	uri := request.Params.URI
	switch {
	case len(uri) > maxURI:
		return fmt.Errorf("the uri is longer than %d bytes; see resources/list and resources/templates/list for the valid ones", maxURI)
	case strings.HasPrefix(uri, scheme) && !s.isKnown(uri):
		return fmt.Errorf("unknown resource %s; see resources/list and resources/templates/list", uri)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	session := server.ClientSessionFromContext(ctx)
	if session == nil {
		return nil
	}
	if sub := s.subscribers[session.SessionID()]; sub != nil && len(sub.uris) >= maxSubscribed {
		return fmt.Errorf("more than %d subscriptions: unsubscribe from one first; plan://current covers all steps", maxSubscribed)
	}
	return nil
}

// subscribe records a session's subscriptions and starts watching for changes.
func (s *subscriptions) subscribe(ctx context.Context, key string, session server.ClientSession, listen any, uris ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if registered := s.sessions[session.SessionID()]; registered != nil {
		session = registered // a request's own session may end with the request
	}
	sub := s.subscribers[key]
	if sub == nil {
		sub = &subscriber{session: session, listen: listen, uris: map[string]bool{},
			wake: make(chan struct{}, 1), done: make(chan struct{})}
		s.subscribers[key] = sub
		s.running.Go(func() { s.deliver(sub) })
	}
	s.watchAll(ctx)
	for _, uri := range uris {
		sub.uris[uri] = true
		if name, isTrack := strings.CutPrefix(uri, trackPrefix); isTrack {
			s.watch(ctx, name)
		}
	}
	if slices.ContainsFunc(uris, dependsOnRules) {
		s.watchRules(ctx)
	}
	if slices.Contains(uris, tracksURI) {
		s.watchTracks(ctx)
	}
}

// recordPhase records the phase of the list of tools that a client got. The client is notified when the phase
// changes.
func (s *subscriptions) recordPhase(service *verbs.Service, phase plan.Phase, revision plan.Revision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.track(service)
	if t.phase = phase; !t.read {
		t.last = plan.State{Phase: phase, Revision: revision}
	}
}

// beginSoon starts to watch in a goroutine, so that the current call need not wait. A change before that is
// noticed from the listed phase. The goroutine ends once the watch runs.
func (s *subscriptions) beginSoon(ctx context.Context, service *verbs.Service) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.track(service)
	if t.watching || t.beginning || s.ctx.Err() != nil {
		return
	}
	t.beginning = true
	s.running.Go(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if ctx := context.WithoutCancel(ctx); t.phase.IsRestricted() {
			s.watchAll(ctx) // to notice when the phase expires
		} else {
			s.watch(ctx, "")
		}
	})
}

// begin starts to watch, from the current state, unless the watch already runs.
func (s *subscriptions) begin(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchAll(ctx)
}

func (s *subscriptions) unsubscribe(key, uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub := s.subscribers[key]; sub != nil {
		delete(sub.uris, uri)
	}
}

func (s *subscriptions) removeSubscriber(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub := s.subscribers[key]; sub != nil {
		delete(s.subscribers, key)
		close(sub.done)
	}
}

// watchAll watches, and reads the state to compare the next one with. The caller holds the mutex.
func (s *subscriptions) watchAll(ctx context.Context) {
	service := s.watch(ctx, "")
	if service == nil || s.track(service).read {
		return
	}
	t := s.track(service)
	var err error
	t.last, err = service.State(ctx)
	if t.read = err == nil; !t.read {
		s.log.Error("state not read", "error", err)
		return
	}
	if t.phase != "" && t.phase != t.last.PhaseNow() { // it changed before there was a log to watch
		s.notifyAll(mcp.MethodNotificationToolsListChanged, nil)
	}
}

// watch follows the state of a track, "" for the caller's, until the server ends, and returns its service; nil if it is not watched. A
// second call does nothing. For a client that has only listed the tools the log is not opened: the phase is enough. The caller holds the
// mutex; ctx is that of the request.
func (s *subscriptions) watch(ctx context.Context, track string) *verbs.Service {
	if s.ctx.Err() != nil {
		return nil
	}
	service, err := s.service(ctx)
	if err == nil && track != "" {
		service, err = service.OnTrack(ctx, track)
	}
	if err == nil && s.track(service).watching {
		return service
	}
	var changes <-chan struct{}
	if err == nil {
		changes, err = service.Watch(s.ctx)
	}
	if err != nil {
		s.log.Error("changes are not watched", "error", err)
		return nil
	}
	t := s.track(service)
	t.watching = true
	s.running.Go(func() { s.follow(service, t, changes) })
	return service
}

// watchRules notifies subscribers when the rule book on disk has drifted from the canonical one or is in order again,
// until the server ends. A second call does nothing. The caller holds the mutex.
func (s *subscriptions) watchRules(ctx context.Context) {
	service, err := s.service(ctx)
	if s.rules || err != nil || s.ctx.Err() != nil {
		return // an error of the service was logged
	}
	s.rules = true
	if drifts := service.RulesChanged(s.ctx); drifts != nil {
		before := service.RulesOnDisk()
		s.running.Go(func() {
			for range drifts {
				if after := service.RulesOnDisk(); after != before {
					before = after
					s.markChanged(dependsOnRules)
				}
			}
		})
	}
}

// watchTracks notifies subscribers of the list of tracks, until the server ends. A second call does nothing. The caller holds the mutex.
func (s *subscriptions) watchTracks(ctx context.Context) {
	service, err := s.service(ctx)
	if s.allTracks || err != nil || s.ctx.Err() != nil {
		return // an error of the service was logged
	}
	s.allTracks = true
	if changes := service.TracksChanged(s.ctx); changes != nil {
		s.running.Go(func() {
			for range changes {
				s.markChanged(func(uri string) bool { return uri == tracksURI })
			}
		})
	}
}

// retryInterval is the least time between two reads of an unreadable log once planning mode has expired.
const retryInterval = time.Minute

// follow notifies clients of every change of the state until the server ends. Its timer reads the state when
// planning mode expires: the first process to look records the expiry.
func (s *subscriptions) follow(service *verbs.Service, t *watchedTrack, changes <-chan struct{}) {
	s.mu.Lock()
	before := t.last
	s.mu.Unlock()
	timer, wait := time.NewTimer(0), time.Duration(0)
	defer timer.Stop()
	for {
		timer.Stop()
		if left, ends := service.ModeEnds(before); ends {
			timer.Reset(max(left, wait) + time.Millisecond)
		}
		select {
		case _, open := <-changes:
			if !open {
				return
			}
		case <-timer.C:
		}
		after, err := service.State(s.ctx)
		if s.ctx.Err() != nil {
			return // no client is left
		}
		if wait = 0; err != nil {
			s.log.Error("state not read", "error", err)
			wait = retryInterval
			continue
		}
		s.mu.Lock()
		former := planID(t.last) != planID(after)
		if !t.read { // last has no plan, so look for plans that ended since
			former = slices.ContainsFunc(after.Past, func(past plan.PastPlan) bool { return past.Revision >= t.last.Revision })
		}
		before, t.last, t.read = t.last, after, true
		s.mu.Unlock()
		s.notify(before, after, former)
		before = after
	}
}

// dependsOnRules reports whether a resource depends on the rule book on disk.
func dependsOnRules(uri string) bool { return uri == statusURI || uri == agentsURI }

// notify wakes the subscribers that a change concerns. former says whether the set of former plans has changed.
func (s *subscriptions) notify(before, after plan.State, former bool) {
	if before.PhaseNow() != after.PhaseNow() {
		s.notifyAll(mcp.MethodNotificationToolsListChanged, nil)
	} else if after.IsSame(before) {
		return
	}
	if former {
		s.notifyAll(mcp.MethodNotificationResourcesListChanged, nil)
	}
	s.markChanged(func(uri string) bool { return mayHaveChanged(uri, before, after) })
}

// markChanged records the resources that have changed, and wakes their subscribers.
func (s *subscriptions) markChanged(isChanged func(uri string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.subscribers {
		for uri := range sub.uris {
			if isChanged(uri) && !slices.Contains(sub.changed, uri) {
				sub.changed = append(sub.changed, uri)
			}
		}
		if len(sub.changed) > 0 {
			select {
			case sub.wake <- struct{}{}:
			default:
			}
		}
	}
}

func planID(state plan.State) string {
	if state.Plan == nil {
		return ""
	}
	return state.Plan.ID
}

// mayHaveChanged reports whether a change may have changed a resource.
func mayHaveChanged(uri string, before, after plan.State) bool {
	id, isStep := strings.CutPrefix(uri, "plan://steps/")
	if !isStep {
		return strings.HasPrefix(uri, "plan://") && uri != agentsURI && uri != guideURI
	}
	step, err := plan.ParseStepID(id)
	return err == nil && stepOf(before, step) != stepOf(after, step)
}

func stepOf(state plan.State, id plan.StepID) *plan.Step {
	if state.Plan == nil {
		return nil
	}
	step, _ := state.Plan.Steps.Get(id)
	return step
}

// deliver sends a subscriber's changes until its session or the server ends. A slow client gets one notification for many
// changes, and delays no other client.
func (s *subscriptions) deliver(sub *subscriber) {
	for {
		select {
		case <-sub.wake:
		case <-sub.done:
			return
		case <-s.ctx.Done():
			return
		}
		s.mu.Lock()
		changed := sub.changed
		sub.changed = nil
		s.mu.Unlock()
		for _, uri := range changed {
			select {
			case sub.session.NotificationChannel() <- sub.updated(uri):
			case <-sub.done:
				return
			case <-s.ctx.Done():
				return
			}
		}
	}
}

func (sub *subscriber) updated(uri string) mcp.JSONRPCNotification {
	n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
		Method: mcp.MethodNotificationResourceUpdated,
		Params: mcp.NotificationParams{AdditionalFields: map[string]any{"uri": uri}},
	}}
	if sub.listen != nil {
		n.Params.Meta = map[string]any{mcp.MetaKeySubscriptionID: sub.listen}
	}
	return n
}
