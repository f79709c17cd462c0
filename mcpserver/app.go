package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// Tools that only the app calls.
const (
	lookTool = "review_look"
	actTool  = "review_act"
)

func isAppTool(name string) bool { return name == lookTool || name == actTool }

// offersApp reports whether the client is offered this tool of the app.
func (s *Server) offersApp(ctx context.Context, name string) bool {
	return isAppTool(name) && rendersApps(ctx) && (name == lookTool || !s.opts.AppViewOnly)
}

const (
	viewKey     = "planloop/review" // key in a result's _meta, which no host shows a model
	viewPurpose = "view"            // purpose that nonces are sealed for
	maxNonce    = 4 << 10
	maxView     = 1 << 20 // limit in bytes of a view
)

// viewClaims is the content of a nonce: which view the user saw. It is sealed with a key that only this process
// has, because a shell of the same user could read a key in a file. A host that starts planloop again must
// therefore show the plan again.
type viewClaims struct {
	Workspace string    `json:"workspace,omitempty"`
	Log       string    `json:"log"`
	Request   string    `json:"request,omitempty"` // the waiting one
	Digest    string    `json:"digest,omitempty"`  // digest of the waiting plan, else of the current one
	Salt      string    `json:"salt"`
	Expires   time.Time `json:"expires"`
}

func claimsOf(v review.View) viewClaims {
	s := viewClaims{Workspace: v.Workspace.ID, Log: v.Log}
	switch {
	case v.Draft != nil:
		s.Request, s.Digest = v.Draft.Request, v.Draft.Plan.Digest
	case v.Plan != nil:
		s.Digest = v.Plan.Digest
	}
	return s
}

// isOf reports whether the user saw the latest state of the workspace.
func (s viewClaims) isOf(workspace string, state plan.State) bool {
	now := viewClaims{Workspace: workspace, Digest: plan.Digest(state.Draft)}
	switch request := state.ModeNow().Request; {
	case state.Draft == nil && state.Plan != nil && !state.Plan.IsCleared():
		now.Digest = plan.Digest(state.Plan)
	case state.Draft != nil && request != nil:
		now.Request = request.ID
	}
	return s.Workspace == now.Workspace && s.Request == now.Request && s.Digest == now.Digest
}

// appData is the data that the app gets with a result.
type appData struct {
	View     *review.View            `json:"view,omitempty"`
	Nonce    string                  `json:"nonce,omitempty"`
	Log      *review.Log             `json:"log,omitempty"`
	Former   *review.Former          `json:"former,omitempty"`
	Timeline *[]history.TimelineStep `json:"timeline,omitempty"`
	Error    *appError               `json:"error,omitempty"`
}

// appError is the reason for a refusal, in the page's words.
type appError struct {
	Kind    plan.ErrorKind `json:"kind"`
	Problem string         `json:"problem"`
	Fix     string         `json:"fix,omitempty"`
	Field   string         `json:"field,omitempty"`
}

func (h appData) meta() *mcp.Meta { return mcp.NewMetaFromMap(map[string]any{viewKey: h}) }

func (s *Server) addAppTools() {
	no, yes := false, true
	tool := func(name, title, description, input string, reads *bool) mcp.Tool {
		return mcp.Tool{Name: name, Title: title, Description: description, RawInputSchema: json.RawMessage(input),
			Meta:        mcp.NewMetaFromMap(map[string]any{"ui": map[string]any{"visibility": []string{"app"}}}),
			Annotations: mcp.ToolAnnotation{ReadOnlyHint: reads, DestructiveHint: &no, IdempotentHint: reads, OpenWorldHint: &no}}
	}
	s.MCP.AddTool(tool(lookTool, "Look at the plan", "For the review app only: the current plan.",
		`{"type":"object","properties":{"nonce":{"type":"string"},"log":{"type":"integer"},`+
			`"plan":{"type":"string"},"timeline":{"type":"boolean"}},"additionalProperties":false}`, &yes), appTool(s, lookTool, s.look))
	s.MCP.AddTool(tool(actTool, "Act on the plan", "For the review app only: the user's actions.",
		`{"type":"object","properties":{"nonce":{"type":"string"},"act":{"type":"string"},"input":{"type":"object"}},`+
			`"required":["nonce","act","input"],"additionalProperties":false}`, &no), appTool(s, actTool, s.act))
}

// withView adds the current view to a tool's result for a client that declared the app. The text and the structured
// content, which models see, stay the same.
func (s *Server) withView(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		result, err := next(ctx, request)
		if err != nil || result.IsError || result.NeedsInput() || !rendersApps(ctx) {
			return result, err
		}
		view, err := s.view(ctx)
		if err != nil {
			s.opts.Logger.Warn("the app is shown nothing", "error", err)
			return result, nil
		}
		result.Meta = s.appDataFor(ctx, view, true).meta()
		return result, nil
	}
}

func (s *Server) view(ctx context.Context) (review.View, error) {
	workspace, err := s.workspace(ctx)
	if err != nil {
		return review.View{}, err
	}
	view, err := review.ReadView(ctx, workspace)
	if err != nil {
		return review.View{}, err
	}
	state, err := workspace.Service.State(ctx)
	view.Can = s.can(ctx, workspace.Service, state)
	return view, err
}

func (s *Server) workspace(ctx context.Context) (*review.Workspace, error) {
	service, err := s.service(ctx)
	if err != nil || s.opts.Workspace == nil {
		return &review.Workspace{Service: service}, err
	}
	return s.opts.Workspace(ctx, s.session(ctx))
}

// can returns the actions that the user may take in the app.
func (s *Server) can(ctx context.Context, service *verbs.Service, state plan.State) review.Can {
	instead := s.howToDecide()
	switch {
	case s.opts.AppViewOnly:
		return review.Can{Why: "over HTTP, an agent's shell could send the same requests; " + instead}
	case s.agentControlled(ctx):
		return review.Can{Why: "an agent's shell started planloop, which therefore cannot tell you from the agent; " + instead}
	case service.PersonOnly(state):
		return review.Can{Why: "decisions made in this program do not count; " + instead}
	}
	return review.Can{Decide: true}
}

func (s *Server) howToDecide() string {
	approve, _ := verbs.Caller{Face: s.opts.User}.Can(verbs.Call{Kind: verbs.CallApprove})
	return "decide on the review page, or with `" + approve + "` on a terminal"
}

// appDataFor returns the view for the app, with a nonce if the app may decide about it. The nonce is sent only in
// _meta, which models do not see, so a model cannot send it back.
func (s *Server) appDataFor(ctx context.Context, view review.View, decides bool) appData {
	h := appData{View: shrink(view, maxView)}
	if h.View != nil && h.View.Draft != nil && h.View.Draft.Plan.LeftOut > 0 && view.Can.Decide { // approve only a plan shown in full
		decides, h.View.Can = false, review.Can{Why: "the plan is too long to show here in full; " + s.howToDecide()}
	}
	if h.View != nil && decides && view.Can.Decide {
		claims := claimsOf(view)
		claims.Salt, claims.Expires = rand.Text(), time.Now().Add(maxStateAge)
		nonce, err := s.sealer.SealAs(viewPurpose, claims)
		if err != nil {
			s.opts.Logger.Error("the app decides nothing", "error", err)
		}
		h.Nonce = nonce
	}
	return h
}

// unsealView unseals a nonce. It returns false if the nonce has expired or another process issued it.
func (s *Server) unsealView(nonce string) (viewClaims, bool) {
	var claims viewClaims
	err := s.sealer.UnsealAs(viewPurpose, nonce, maxNonce, &claims)
	return claims, err == nil && time.Now().Before(claims.Expires)
}

// logLines is the number of log records that the app gets at once.
const logLines = 100

// appTool decodes and handles a call of the app. It reports refusals in the page's words.
func appTool[In any](s *Server, name string,
	do func(context.Context, *review.Workspace, In) (string, appData, error)) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in In
		err := verbs.Decode(request.Params.RawArguments, &in)
		var workspace *review.Workspace
		if err == nil {
			workspace, err = s.workspace(ctx)
		}
		var text string
		var data appData
		if err == nil {
			text, data, err = do(ctx, workspace, in)
		}
		if refused, ok := errors.AsType[*plan.ValidationError](err); ok {
			result := mcp.NewToolResultError(refused.Error())
			result.Meta = appData{Error: &appError{refused.Kind, refused.Problem, refused.Fix, refused.Field}}.meta()
			return result, nil
		} else if err != nil {
			return mcp.NewToolResultError(s.internalError(name, err)), nil
		}
		result := mcp.NewToolResultText(text)
		if data != (appData{}) {
			result.Meta = data.meta()
		}
		return result, nil
	}
}

// look returns the current view for the app and, on request, an earlier part of the log, a former plan or timelines. A
// caller that sends a nonce may decide about the new view.
func (s *Server) look(ctx context.Context, workspace *review.Workspace, in struct {
	Nonce    string         `json:"nonce,omitempty" text:"any"`
	Log      *plan.Revision `json:"log,omitempty"`      // the log before this revision; 0 for the newest
	Plan     string         `json:"plan,omitempty"`     // a former plan to read, or to read the log from
	Timeline bool           `json:"timeline,omitempty"` // the timelines of the current plan's steps
}) (string, appData, error) {
	view, err := s.view(ctx)
	if err != nil {
		return "", appData{}, err
	}
	claims, valid := s.unsealView(in.Nonce)
	data := s.appDataFor(ctx, view, valid && claims.Workspace == view.Workspace.ID)
	switch {
	case in.Log != nil:
		var log review.Log
		log, err = review.ReadLog(ctx, workspace, in.Plan, *in.Log, logLines)
		data.Log = &log
	case in.Plan != "":
		var former review.Former
		former, err = review.ReadFormer(ctx, workspace, in.Plan)
		if err == nil && sizeOf(former) > maxView { // the page cannot show that steps were left out
			err = plan.Refuse(plan.Conflict, "/plan", "this earlier plan is too long to show here", "open it on the review page")
		}
		data.Former = &former
	case in.Timeline:
		var steps []history.TimelineStep
		if steps, err = review.ReadTimeline(ctx, workspace); sizeOf(steps) > maxView {
			err = plan.Refuse(plan.Conflict, "/timeline", "this timeline is too long to show here", "open it on the review page")
		}
		data.Timeline = &steps
	}
	return "Shown to the user.", data, err
}

// sizeOf returns the size of v as JSON in bytes, or math.MaxInt32 if v cannot be encoded.
func sizeOf(v any) int {
	data, err := json.Marshal(v)
	if err != nil {
		return math.MaxInt32
	}
	return len(data)
}

// act carries out the user's action in the app.
func (s *Server) act(ctx context.Context, workspace *review.Workspace, in struct {
	Nonce string          `json:"nonce" text:"any"`
	Act   string          `json:"act"`
	Input json.RawMessage `json:"input"`
}) (text string, data appData, err error) {
	seen, err := s.mayAct(ctx, workspace, in.Nonce)
	if err != nil {
		return "", data, err
	}
	seen.Caller = s.caller(ctx, workspace.Service)
	seen.Face = review.Face{}
	seen.Caller = s.asUser(ctx, seen.Caller)
	done, err := review.Act(ctx, workspace, seen, in.Act, in.Input)
	if err != nil {
		return "", data, err
	}
	s.subscriptions.begin(ctx)
	if view, err := s.view(ctx); err == nil {
		data = s.appDataFor(ctx, view, true)
	}
	return done.Message, data, nil
}

// mayAct returns the actions that a nonce allows, and the log that the user saw. It refuses a nonce for an outdated view.
func (s *Server) mayAct(ctx context.Context, workspace *review.Workspace, nonce string) (review.Caller, error) {
	claims, valid := s.unsealView(nonce)
	if !valid || claims.Workspace != workspace.ID {
		return review.Caller{}, plan.Refuse(plan.NotFound, "/nonce", "the plan shown here is out of date, or comes from another server",
			"ask the agent to show the plan again")
	}
	state, err := workspace.Service.State(ctx)
	if err == nil && !claims.isOf(workspace.ID, state) {
		err = plan.Refuse(plan.Conflict, "", "the plan has changed since it was shown", "review the current plan")
	}
	return review.Caller{Can: s.can(ctx, workspace.Service, state), Log: claims.Log}, err
}

// shrink returns the view, cut to at most limit bytes as JSON. It drops former plans first, then the current
// plan next to a draft, older comments and questions, and last whole steps from the end, which it counts. It
// returns nil if even that does not fit.
func shrink(view review.View, limit int) *review.View {
	less := []func(){
		func() { view.Plans = []review.PastPlan{} },
		func() {
			if view.Draft != nil && view.Plan != nil {
				view.Plan = withoutSteps(*view.Plan, 0)
			}
		},
		func() { view.Comments = lastTen(view.Comments) },
		func() { view.Questions = lastTen(view.Questions) },
	}
	for _, drop := range less {
		if sizeOf(view) <= limit {
			return &view
		}
		drop()
	}
	over := sizeOf(view) - limit
	if over <= 0 {
		return &view
	}
	of := view.Plan
	if view.Draft != nil {
		of = &view.Draft.Plan
	}
	if of == nil {
		return nil
	}
	keep := len(of.Steps)
	for over += omittedCountSize; keep > 0 && over > 0; keep-- {
		over -= sizeOf(of.Steps[keep-1]) + 1
	}
	cut := withoutSteps(*of, keep)
	if view.Draft != nil {
		draft := *view.Draft
		draft.Plan, view.Draft = *cut, &draft
	} else {
		view.Plan = cut
	}
	if sizeOf(view) > limit {
		return nil
	}
	return &view
}

// omittedCountSize is the number of bytes that the count of omitted steps takes.
const omittedCountSize = 32

func withoutSteps(p review.Plan, keep int) *review.Plan {
	p.LeftOut = len(p.Steps) - keep
	p.Steps = p.Steps[:keep]
	return &p
}

func lastTen[T any](list []T) []T { return list[max(0, len(list)-10):] }

// Names from the MCP apps extension. A host that renders an app shows it next to the call of a tool that
// names it, passes it the call's result, and lets it call the app's own tools.
const (
	appExtension = "io.modelcontextprotocol/ui"
	appMIME      = "text/html;profile=mcp-app"
	appURI       = "ui://planloop/review"
)

// rendersApps reports whether the client declared that it shows apps and hides their tools from the model.
func rendersApps(ctx context.Context) bool {
	said, _ := capabilities[server.ClientSession](ctx).Extensions[appExtension].(map[string]any)
	types, _ := said["mimeTypes"].([]any)
	return slices.Contains(types, any(appMIME))
}

func showsApp(tool string) bool {
	return tool == "planning_submit_plan" || tool == "planning_read_plan"
}

// appMeta returns the metadata that links a tool to the app. It is always sent, because some hosts show apps
// without declaring it. Older hosts read the flat name.
func appMeta(tool string) *mcp.Meta {
	if !showsApp(tool) {
		return nil
	}
	return mcp.NewMetaFromMap(map[string]any{"ui": map[string]any{"resourceUri": appURI}, "ui/resourceUri": appURI})
}

// addApp registers the app as a resource. The app loads nothing over the network, so its content security
// policy allows no address.
func (s *Server) addApp() {
	none := []string{}
	ui := map[string]any{"ui": map[string]any{"prefersBorder": false, "csp": map[string]any{
		"connectDomains": none, "resourceDomains": none, "frameDomains": none, "baseUriDomains": none}}}
	app := mcp.NewResource(appURI, "review", mcp.WithResourceTitle("Review page"), mcp.WithMIMEType(appMIME),
		mcp.WithResourceDescription("The page where the user reviews the plan, for hosts that show apps."))
	app.Meta = &mcp.Meta{AdditionalFields: ui}
	s.MCP.AddResource(app, func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: appURI, MIMEType: appMIME, Text: review.AppPage(), Meta: ui}}, nil
	})
}
