package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/origin"
	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/strict"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

const (
	apiPrefix = "/api/"
	actPath   = apiPrefix + "act"
	enterPath = apiPrefix + "enter"
	maxBody   = 1 << 20
	actLasts  = time.Minute // for an act that may outlive its page
	logLines  = 100         // returned at a time
)

type route struct {
	method string
	params []string // of the query, each at most once
	open   bool     // open to browsers without a session
	do     func(call) (any, error)
}

// call is one request to a route. Session is nil for open routes.
type call struct {
	w       http.ResponseWriter
	r       *http.Request
	session *session
	query   url.Values
	body    []byte
}

func (s *Server) api() map[string]route {
	return map[string]route{
		enterPath:       {method: http.MethodPost, open: true, do: withBody(s.postEnter)},
		"/api/unlock":   {method: http.MethodPost, do: withBody(s.postUnlock)},
		"/api/code":     {method: http.MethodPost, do: withBody(s.postCode)},
		"/api/keep":     {method: http.MethodPost, do: withBody(s.postKeep)},
		"/api/unsent":   {method: http.MethodGet, params: []string{"workspace"}, do: s.withWorkspace(s.getUnsent)},
		actPath:         {method: http.MethodPost, do: withBody(s.postAct)},
		"/api/inbox":    {method: http.MethodGet, do: s.getInbox},
		"/api/view":     {method: http.MethodGet, params: []string{"workspace", "known"}, do: s.withWorkspace(s.getView)},
		"/api/plan":     {method: http.MethodGet, params: []string{"workspace", "plan"}, do: s.withWorkspace(s.getPlan)},
		"/api/log":      {method: http.MethodGet, params: []string{"workspace", "plan", "before"}, do: s.withWorkspace(s.getLog)},
		"/api/tail":     {method: http.MethodGet, params: []string{"workspace", "step"}, do: s.withWorkspace(s.getTail)},
		"/api/timeline": {method: http.MethodGet, params: []string{"workspace"}, do: s.withWorkspace(s.getTimeline)},
		"/api/events":   {method: http.MethodGet, do: s.getEvents},
	}
}

func (s *Server) route(w http.ResponseWriter, r *http.Request, route route, query string) (err error) {
	c := call{w: w, r: r}
	if err := checkMethod(w, r, route.method); err != nil {
		return err
	}
	if !route.open {
		if c.session, err = s.session(r); err != nil {
			return err
		}
	}
	if c.query, err = readQuery(query, route.params); err != nil {
		return err
	}
	if route.method == http.MethodGet {
		err = checkGet(w, r)
	} else {
		c.body, err = s.readBody(w, r)
	}
	if err == nil && !route.open {
		c.session, err = s.session(r) // it may have ended while the body was arriving
	}
	if err != nil {
		return err
	}
	answer, err := route.do(c)
	if err == nil && answer != nil {
		s.answer(w, http.StatusOK, answer)
	}
	return err
}

// session returns the session of a request. On a public page the request was admitted, and may decide.
func (s *Server) session(r *http.Request) (*session, error) {
	if s.opts.Public != nil {
		return &session{decides: true}, nil
	}
	return s.sessions.find(r)
}

func readQuery(query string, params []string) (url.Values, error) {
	values, err := url.ParseQuery(query)
	for name, given := range values {
		if len(given) > 1 || !slices.Contains(params, name) {
			return nil, plan.Refuse(plan.InvalidInput, "/"+name, "the query has an unknown or repeated name",
				"send each of these at most once: "+strings.Join(params, ", "))
		}
	}
	if err != nil {
		return nil, plan.Refuse(plan.InvalidInput, "", "the query cannot be read", "write it as name=value, percent-encoded")
	}
	return values, nil
}

// readBody reads a body of JSON, within bounds of size and time.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	long := &refusal{Kind: tooLarge, Problem: "the body is longer than 1 MB", Fix: "send less"}
	if r.ContentLength > maxBody { // do not wait for it
		return nil, long
	}
	body, err := origin.ReadJSON(w, r, maxBody, s.opts.BodyTimeout)
	switch {
	case errors.Is(err, origin.ErrNotJSON):
		return nil, &refusal{Kind: wrongType, Problem: "the body must have the type application/json",
			Fix: "send JSON, with that Content-Type"}
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, long
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &refusal{Kind: tooSlow, Problem: "the body did not arrive in time", Fix: "send it again"}
	case err != nil:
		return nil, &refusal{Kind: wrongForm, Problem: "the body did not arrive completely", Fix: "send it again"}
	}
	return body, nil
}

func withBody[In any](do func(c call, in In) (any, error)) func(call) (any, error) {
	return func(c call) (any, error) {
		var in In
		if err := strict.Decode(c.body, &in, nil); err != nil {
			if bad, ok := errors.AsType[*strict.Error](err); ok {
				return nil, bad.Refusal()
			}
			return nil, err
		}
		return do(c, in)
	}
}

// postEnter opens a session with a launch code or as ViewAccess allows; an Authorization header opens none.
func (s *Server) postEnter(c call, in struct {
	Code  string `json:"code,omitempty" text:"any"`
	Token string `json:"token,omitempty" text:"any"`
}) (any, error) {
	if err := s.checkUser(c.r); err != nil {
		return nil, err
	}
	decides, twice := false, false
	if in.Code != "" {
		decides, twice = s.sessions.useLaunchCode(in.Code)
	}
	if twice && s.opts.OnReusedLink != nil {
		s.opts.OnReusedLink()
	}
	if !decides {
		if err := s.checkViewAccess(in.Code, in.Token); err != nil {
			return nil, err
		}
	}
	cookie, key, err := s.sessions.open(decides, in.Code)
	if err != nil {
		return nil, err
	}
	http.SetCookie(c.w, &http.Cookie{Name: cookieName(c.r.Host), Value: cookie, Path: "/api", HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	return struct {
		Key     string `json:"key"`
		Decides bool   `json:"decides"`
	}{key, decides && s.opts.Refusal == ""}, nil
}

// checkUser refuses programs of other users of this machine, if the system reveals the owner of a connection.
func (s *Server) checkUser(r *http.Request) error {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local == nil {
		return nil
	}
	if uid, known := s.owner(r.RemoteAddr, local.String()); known && uid != 0 && uid != os.Geteuid() {
		return &refusal{Kind: forbidden, Problem: "the review page is only for the user that started planloop",
			Fix: "open it as that user, or run planloop review as this one"}
	}
	return nil
}

// checkViewAccess decides whether a browser without a valid launch code may look.
func (s *Server) checkViewAccess(code, token string) error {
	refused := &refusal{Kind: notEntered, Field: "/code", Problem: "the page opens only with a one-time link",
		Fix: "run `planloop review` in a terminal"}
	isBlank := code == "" && token == ""
	switch {
	case isBlank && s.opts.ViewAccess.Anyone:
		return nil
	case isBlank && s.opts.ViewAccess.Token == "":
	case !isBlank && !s.enter.Allow():
		return &refusal{Kind: tooMany, Problem: "too many sign-in attempts", Fix: "wait a second and try again", after: time.Second}
	case code != "":
		refused.Problem = "this link was already used, or is older than 30 seconds"
		refused.Fix = "run `planloop review` in a terminal for a new one"
	case s.opts.ViewAccess.Token == "":
		refused.Problem = "this server has no token for viewing"
	case token == "":
		refused.Field, refused.Problem = "/token", "the page needs this server's token, or a link"
		refused.Fix = "type the token to view; to decide, run `planloop review` in a terminal"
	case digestOf(token).is(digestOf(s.opts.ViewAccess.Token)):
		return nil
	default:
		refused.Field, refused.Problem, refused.Fix = "/token", "the token is wrong", "type the token that MCP clients of this server send"
	}
	return refused
}

func (s *Server) can(c call, workspace *review.Workspace) review.Can {
	refused := ""
	if workspace.Refused != nil {
		refused = workspace.Refused()
	}
	switch {
	case refused != "":
		return review.Can{Why: refused}
	case s.opts.Refusal != "":
		return review.Can{Why: s.opts.Refusal + ". To decide, run `planloop review` in a terminal of your own"}
	case !c.session.decides:
		return review.Can{Why: "deciding needs the link that `planloop review` prints in a terminal"}
	}
	if public := s.opts.Public; public != nil {
		if public.Age(c.r) >= strictProofLasts {
			return review.Can{Why: "you signed in more than an hour ago. To decide, sign in again at https://" + public.Host +
				"/signin?again"}
		}
		return review.Can{Decide: true}
	}
	lasts := proofLasts
	if state, err := workspace.Service.State(context.WithoutCancel(c.r.Context())); err != nil || workspace.Service.PersonOnly(state) {
		lasts = strictProofLasts
	}
	return review.Can{Decide: true, Code: !s.sessions.unlocked(c.session, c.r, lasts)}
}

func (s *Server) postCode(c call, in struct {
	Workspace string `json:"workspace"`
}) (any, error) {
	workspace, err := s.opts.Workspaces.Open(c.r.Context(), in.Workspace)
	if err != nil {
		return nil, err
	}
	if err := s.checkWriter(c, workspace); err != nil {
		return nil, err
	}
	switch {
	case s.opts.ShowCode == nil:
		return nil, &refusal{Kind: forbidden, Problem: "planloop has no terminal to show a code on",
			Fix: "approve in a terminal, or run `planloop review` in one"}
	case !s.codes.Allow():
		return nil, &refusal{Kind: tooMany, Problem: "too many codes were requested", Fix: "type the last code", after: 2 * time.Second}
	}
	code, err := s.sessions.newCode(c.session)
	if err != nil {
		return nil, err
	}
	return struct{}{}, s.opts.ShowCode(workspace.Place, code)
}

func (s *Server) postUnlock(c call, in struct {
	Code string `json:"code" text:"any"`
}) (any, error) {
	proof, err := s.sessions.unlock(c.session, strings.TrimSpace(in.Code))
	if wrong, is := errors.AsType[*plan.ValidationError](err); is && wrong.Kind == plan.InvalidInput && s.opts.OnWrongCode != nil {
		s.opts.OnWrongCode()
	}
	if err != nil {
		return nil, err
	}
	return struct {
		Unlock string `json:"unlock"`
	}{proof}, nil
}

// postAct performs a person's act. It continues if they close the page.
func (s *Server) postAct(c call, in struct {
	Workspace string         `json:"workspace"`
	Log       string         `json:"log,omitempty"`
	Act       string         `json:"act"`
	Input     jsontext.Value `json:"input,omitzero"`
}) (any, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), actLasts)
	defer cancel()
	workspace, err := s.opts.Workspaces.Open(ctx, in.Workspace)
	if err != nil {
		return nil, err
	}
	can := s.can(c, workspace)
	who := verbs.Caller{Actor: s.opts.Person, Face: review.Face{}}
	done, err := review.Act(ctx, workspace, review.Caller{Caller: who, Can: can, Log: in.Log}, in.Act, in.Input)
	return done, err
}

// postKeep stores texts that a person typed and did not send. It needs no code, since only a decision sends them.
func (s *Server) postKeep(c call, in struct {
	Workspace string              `json:"workspace"`
	Texts     []review.UnsentText `json:"texts"`
}) (any, error) {
	workspace, err := s.opts.Workspaces.Open(c.r.Context(), in.Workspace)
	if err == nil {
		err = s.checkWriter(c, workspace)
	}
	if err != nil {
		return nil, err
	}
	s.keeping.Lock()
	defer s.keeping.Unlock()
	return struct{}{}, review.KeepUnsent(context.WithoutCancel(c.r.Context()), workspace, s.opts.Person.Name, in.Texts)
}

func (s *Server) getUnsent(c call, workspace *review.Workspace) (any, error) {
	if err := s.checkWriter(c, workspace); err != nil {
		return nil, err
	}
	texts, err := review.ReadUnsent(c.r.Context(), workspace, s.opts.Person.Name)
	return struct {
		Texts []review.UnsentText `json:"texts"`
	}{texts}, err
}

// checkWriter refuses a session that may only look.
func (s *Server) checkWriter(c call, workspace *review.Workspace) error {
	if can := s.can(c, workspace); !can.Decide {
		fix := "decide in a terminal"
		if s.opts.Public != nil {
			fix = "then send it"
		}
		return &refusal{Kind: forbidden, Problem: can.Why, Fix: fix}
	}
	return nil
}

func (s *Server) withWorkspace(do func(call, *review.Workspace) (any, error)) func(call) (any, error) {
	return func(c call) (any, error) {
		opened, err := s.opts.Workspaces.Open(c.r.Context(), c.query.Get("workspace"))
		if err != nil {
			return nil, err
		}
		return do(c, opened)
	}
}

func (s *Server) getInbox(c call) (any, error) {
	return nil, s.answerShared(c, "inbox", nil, func(ctx context.Context) (any, error) { return review.ReadInbox(ctx, s.opts.Workspaces) })
}

func (s *Server) getPlan(c call, workspace *review.Workspace) (any, error) {
	id := c.query.Get("plan")
	return nil, s.answerShared(c, "plan of "+workspace.ID+" "+id, nil, func(ctx context.Context) (any, error) {
		return review.ReadFormer(ctx, workspace, id)
	})
}

func (s *Server) getTimeline(c call, workspace *review.Workspace) (any, error) {
	return nil, s.answerShared(c, "timeline of "+workspace.ID, nil, func(ctx context.Context) (any, error) {
		return review.ReadTimeline(ctx, workspace)
	})
}

func (s *Server) getLog(c call, workspace *review.Workspace) (any, error) {
	before, err := number(c, "before")
	if err != nil {
		return nil, err
	}
	return review.ReadLog(c.r.Context(), workspace, c.query.Get("plan"), plan.Revision(before), logLines)
}

func (s *Server) getTail(c call, workspace *review.Workspace) (any, error) {
	step, err := number(c, "step")
	if err != nil {
		return nil, err
	}
	var tail struct {
		Text string `json:"text"`
	}
	if workspace.Tail != nil {
		tail.Text, err = workspace.Tail(plan.StepID(step))
	}
	return tail, err
}

// number reads a number of the query, 0 if it is not given.
func number(c call, name string) (int, error) {
	text := c.query.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, plan.Refuse(plan.InvalidInput, "/"+name, name+" is not a number", "send digits")
	}
	return n, nil
}
