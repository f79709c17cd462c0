package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"slices"

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
	viewKey   = "planloop/review" // key in a result's _meta, which no host shows a model
	viewAs    = "view"            // purpose that nonces are sealed for
	maxNonce  = 4 << 10
	wholeView = 1 << 20  // limit in bytes of a view for a client that shows apps
	someView  = 64 << 10 // the same for a client that may show apps
)

// shown is the content of a nonce: which view the user saw. It is sealed with a key that only this process
// has, because a shell of the same user could read a key in a file. A host that starts planloop again must
// therefore show the plan again.
type shown struct {
	Workspace string    `json:"workspace,omitempty"`
	Request   string    `json:"request,omitempty"` // the waiting one
	Digest    string    `json:"digest,omitempty"`  // digest of the waiting plan, else of the current one
	Salt      string    `json:"salt"`
	Expires   time.Time `json:"expires"`
}

func shownIn(v review.View) shown {
	s := shown{Workspace: v.Workspace.ID}
	switch {
	case v.Draft != nil:
		s.Request, s.Digest = v.Draft.Request, v.Draft.Plan.Digest
	case v.Plan != nil:
		s.Digest = v.Plan.Digest
	}
	return s
}

// isOf reports whether the user saw the latest state of the workspace.
func (s shown) isOf(workspace string, state plan.State) bool {
	now := shown{Workspace: workspace, Digest: plan.Digest(state.Draft)}
	switch request := state.ModeNow().Request; {
	case state.Draft == nil && state.Plan != nil && !state.Plan.IsCleared():
		now.Digest = plan.Digest(state.Plan)
	case state.Draft != nil && request != nil:
		now.Request = request.ID
	}
	return s.Workspace == now.Workspace && s.Request == now.Request && s.Digest == now.Digest
}

// handed is the data that the app gets with a result.
type handed struct {
	View   *review.View   `json:"view,omitempty"`
	Nonce  string         `json:"nonce,omitempty"`
	Log    *review.Log    `json:"log,omitempty"`
	Former *review.Former `json:"former,omitempty"`
	Error  *refused       `json:"error,omitempty"`
}

// refused is the reason for a refusal, in the page's words.
type refused struct {
	Kind    plan.ErrorKind `json:"kind"`
	Problem string         `json:"problem"`
	Fix     string         `json:"fix,omitempty"`
	Field   string         `json:"field,omitempty"`
}

func (h handed) meta() *mcp.Meta { return mcp.NewMetaFromMap(map[string]any{viewKey: h}) }

func (s *Server) addAppTools() {
	no, yes := false, true
	tool := func(name, title, description, input string, reads *bool) mcp.Tool {
		return mcp.Tool{Name: name, Title: title, Description: description, RawInputSchema: json.RawMessage(input),
			Meta:        mcp.NewMetaFromMap(map[string]any{"ui": map[string]any{"visibility": []string{"app"}}}),
			Annotations: mcp.ToolAnnotation{ReadOnlyHint: reads, DestructiveHint: &no, IdempotentHint: reads, OpenWorldHint: &no}}
	}
	s.MCP.AddTool(tool(lookTool, "Look at the plan", "For the review app alone: the plan as it is now.",
		`{"type":"object","properties":{"nonce":{"type":"string"},"log":{"type":"integer"},`+
			`"plan":{"type":"string"}},"additionalProperties":false}`, &yes), s.look)
	s.MCP.AddTool(tool(actTool, "Act on the plan", "For the review app alone: what the user does there.",
		`{"type":"object","properties":{"nonce":{"type":"string"},"act":{"type":"string"},"input":{"type":"object"}},`+
			`"required":["nonce","act","input"],"additionalProperties":false}`, &no), s.act)
}

// decidesInApp reports whether the user can decide in the client's app.
func (s *Server) decidesInApp(ctx context.Context) bool {
	return s.offersApp(ctx, actTool) && !s.unheard(ctx)
}

// withView adds the current view for the app to a tool's result. The text and the structured content, which
// models see, stay the same.
func (s *Server) withView(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		result, err := next(ctx, request)
		if err != nil || result.IsError || result.NeedsInput() {
			return result, err
		}
		view, err := s.view(ctx)
		if err != nil {
			s.opts.Logger.Warn("the app is shown nothing", "error", err)
			return result, nil
		}
		result.Meta = s.hand(ctx, view, true).meta()
		return result, nil
	}
}

// view returns the current view and the actions that the app may take.
func (s *Server) view(ctx context.Context) (review.View, error) {
	sheet, err := s.sheet(ctx)
	if err != nil {
		return review.View{}, err
	}
	view, err := review.Look(ctx, sheet)
	if err != nil {
		return review.View{}, err
	}
	state, err := sheet.Service.State(ctx)
	view.Can = s.can(ctx, sheet.Service, state)
	return view, err
}

func (s *Server) sheet(ctx context.Context) (*review.Sheet, error) {
	service, err := s.service(ctx)
	if err != nil || s.opts.Sheet == nil {
		return &review.Sheet{Service: service}, err
	}
	return s.opts.Sheet(ctx)
}

// can returns the actions that the user may take in the app.
func (s *Server) can(ctx context.Context, service *verbs.Service, state plan.State) review.Can {
	instead := s.elsewhere()
	switch {
	case !rendersApps(ctx):
		return review.Can{Why: "this program has not said that it keeps these buttons from the agent: " + instead}
	case s.opts.AppViewOnly:
		return review.Can{Why: "over HTTP an agent's shell could send what these buttons send: " + instead}
	case s.unheard(ctx):
		return review.Can{Why: "planloop was started here from an agent's shell, where nobody can be told from the agent: " + instead}
	case service.PersonOnly(state):
		return review.Can{Why: "only what a person decides outside this program counts here: " + instead}
	}
	return review.Can{Decide: true}
}

// elsewhere tells the user where to decide instead.
func (s *Server) elsewhere() string {
	approve, _ := verbs.Caller{Face: s.opts.User}.Can(verbs.Call{Kind: verbs.CallApprove})
	return "decide on the review page, or with `" + approve + "` on a terminal"
}

// hand returns the view for the app, with a nonce if the app may decide about it. The nonce is sent only in
// _meta, which models do not see, so a model cannot send it back.
func (s *Server) hand(ctx context.Context, view review.View, decides bool) handed {
	most := someView
	if rendersApps(ctx) {
		most = wholeView
	}
	h := handed{View: bounded(view, most)}
	if h.View != nil && h.View.Draft != nil && h.View.Draft.Plan.LeftOut > 0 && view.Can.Decide { // approve only a plan shown in full
		decides, h.View.Can = false, review.Can{Why: "the plan is too long to be shown here whole: " + s.elsewhere()}
	}
	if h.View != nil && decides && view.Can.Decide {
		claims := shownIn(view)
		claims.Salt, claims.Expires = rand.Text(), time.Now().Add(stateLasts)
		nonce, err := s.sealer.SealAs(viewAs, claims)
		if err != nil {
			s.opts.Logger.Error("the app decides nothing", "error", err)
		}
		h.Nonce = nonce
	}
	return h
}

// wasShown unseals a nonce. It returns false if the nonce has expired or another process issued it.
func (s *Server) wasShown(nonce string) (shown, bool) {
	var claims shown
	err := s.sealer.UnsealAs(viewAs, nonce, maxNonce, &claims)
	return claims, err == nil && time.Now().Before(claims.Expires)
}

// logLines is the number of log records that the app gets at once.
const logLines = 100

// look returns the current view for the app and, on request, an earlier part of the log or a former plan. A
// caller that sends a nonce may decide about the new view.
func (s *Server) look(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		Nonce string         `json:"nonce,omitempty" text:"any"`
		Log   *plan.Revision `json:"log,omitempty"`  // the log before this revision; 0 for the newest
		Plan  string         `json:"plan,omitempty"` // a former plan to read, or to read the log from
	}
	if err := verbs.Decode(request.Params.RawArguments, &in); err != nil {
		return s.refuseApp(lookTool, err), nil
	}
	view, err := s.view(ctx)
	if err != nil {
		return s.refuseApp(lookTool, err), nil
	}
	claims, valid := s.wasShown(in.Nonce)
	h := s.hand(ctx, view, valid && claims.Workspace == view.Workspace.ID)
	sheet, err := s.sheet(ctx)
	switch {
	case err != nil:
	case in.Log != nil:
		var log review.Log
		log, err = review.ReadLog(ctx, sheet, in.Plan, *in.Log, logLines)
		h.Log = &log
	case in.Plan != "":
		h.Former, err = former(ctx, sheet, in.Plan)
	}
	if err != nil {
		return s.refuseApp(lookTool, err), nil
	}
	result := mcp.NewToolResultText("Shown to the user.")
	result.Meta = h.meta()
	return result, nil
}

// former returns a former plan in full, or an error: the page cannot show that steps were left out.
func former(ctx context.Context, sheet *review.Sheet, id string) (*review.Former, error) {
	f, err := review.ReadFormer(ctx, sheet, id)
	if err != nil {
		return nil, err
	}
	if sizeOf(f) > wholeView {
		return nil, plan.Refuse(plan.Conflict, "/plan", "this earlier plan is too long to be shown here", "open it on the review page")
	}
	return &f, nil
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
func (s *Server) act(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		Nonce string          `json:"nonce" text:"any"`
		Act   string          `json:"act"`
		Input json.RawMessage `json:"input"`
	}
	if err := verbs.Decode(request.Params.RawArguments, &in); err != nil {
		return s.refuseApp(actTool, err), nil
	}
	sheet, err := s.sheet(ctx)
	if err != nil {
		return s.refuseApp(actTool, err), nil
	}
	can, err := s.mayAct(ctx, sheet, in.Nonce)
	if err != nil {
		return s.refuseApp(actTool, err), nil
	}
	caller := s.caller(ctx, sheet.Service)
	caller.Face = review.Face{}
	done, err := review.Act(ctx, sheet, review.Caller{Caller: s.confirmed(ctx, caller), Can: can}, in.Act, in.Input)
	if err != nil {
		return s.refuseApp(actTool, err), nil
	}
	s.subscriptions.begin(ctx)
	result := mcp.NewToolResultText(done.Message)
	if view, err := s.view(ctx); err == nil {
		result.Meta = s.hand(ctx, view, true).meta()
	}
	return result, nil
}

// mayAct returns the actions that a nonce allows. It refuses a nonce for an outdated view.
func (s *Server) mayAct(ctx context.Context, sheet *review.Sheet, nonce string) (review.Can, error) {
	claims, valid := s.wasShown(nonce)
	if !valid || claims.Workspace != sheet.ID {
		return review.Can{}, plan.Refuse(plan.NotFound, "/nonce", "what is shown here is too old to decide by, or of another server",
			"have the agent show the plan again")
	}
	state, err := sheet.Service.State(ctx)
	if err == nil && !claims.isOf(sheet.ID, state) {
		err = plan.Refuse(plan.Conflict, "", "the plan is another than the one that was shown", "look at it as it is now")
	}
	return s.can(ctx, sheet.Service, state), err
}

// refuseApp returns the reason for a refusal to the app.
func (s *Server) refuseApp(tool string, err error) *mcp.CallToolResult {
	var why *plan.ValidationError
	if !errors.As(err, &why) {
		return mcp.NewToolResultError(s.fault(tool, err))
	}
	result := mcp.NewToolResultError(why.Error())
	result.Meta = handed{Error: &refused{why.Kind, why.Problem, why.Fix, why.Field}}.meta()
	return result
}

// bounded returns the view, cut to at most most bytes as JSON. It drops former plans first, then the current
// plan next to a draft, older comments and questions, and last whole steps from the end, which it counts. It
// returns nil if even that does not fit.
func bounded(view review.View, most int) *review.View {
	less := []func(){
		func() { view.Plans = []review.PastPlan{} },
		func() {
			if view.Draft != nil && view.Plan != nil {
				view.Plan = withoutSteps(*view.Plan, 0)
			}
		},
		func() { view.Comments = lastOf(view.Comments) },
		func() { view.Questions = lastOf(view.Questions) },
	}
	for _, drop := range less {
		if sizeOf(view) <= most {
			return &view
		}
		drop()
	}
	over := sizeOf(view) - most
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
	for over += leftOutRoom; keep > 0 && over > 0; keep-- {
		over -= sizeOf(of.Steps[keep-1]) + 1
	}
	cut := withoutSteps(*of, keep)
	if view.Draft != nil {
		draft := *view.Draft
		draft.Plan, view.Draft = *cut, &draft
	} else {
		view.Plan = cut
	}
	if sizeOf(view) > most {
		return nil
	}
	return &view
}

// leftOutRoom is the number of bytes that the count of omitted steps takes.
const leftOutRoom = 32

func withoutSteps(p review.Plan, keep int) *review.Plan {
	p.LeftOut = len(p.Steps) - keep
	p.Steps = p.Steps[:keep]
	return &p
}

// lastOf returns the last ten elements of a list.
func lastOf[T any](list []T) []T { return list[max(0, len(list)-10):] }

// Names from the MCP apps extension. A host that renders an app shows it next to the call of a tool that
// names it, passes it the call's result, and lets it call the app's own tools.
const (
	appExtension = "io.modelcontextprotocol/ui"
	appMIME      = "text/html;profile=mcp-app"
	appURI       = "ui://planloop/review"
)

// rendersApps reports whether the client declared that it shows apps and hides their tools from the model. In
// a client that shows apps without declaring it, the app is view only.
func rendersApps(ctx context.Context) bool {
	said, _ := declared[server.ClientSession](ctx).Extensions[appExtension].(map[string]any)
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
		mcp.WithResourceDescription("The page on which the user sees the plan and decides, for hosts that show apps."))
	app.Meta = &mcp.Meta{AdditionalFields: ui}
	s.MCP.AddResource(app, func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: appURI, MIMEType: appMIME, Text: review.AppPage(), Meta: ui}}, nil
	})
}
