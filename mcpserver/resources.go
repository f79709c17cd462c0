package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

const (
	mimeJSON     = "application/json"
	mimeMarkdown = "text/markdown"
	mimeMermaid  = "text/vnd.mermaid"
)

// URIs that code refers to by name.
const (
	statusURI = "plan://status"
	agentsURI = "plan://agents.md"
	guideURI  = "plan://planning-guide.md"
)

type resource struct {
	uri, name, title, description, mime string
	render                              func(context.Context, *verbs.Service, plan.State) ([]byte, error)
}

func (s *Server) resourceTable() []resource {
	ofState := func(render func(plan.State) ([]byte, error)) func(context.Context, *verbs.Service, plan.State) ([]byte, error) {
		return func(_ context.Context, _ *verbs.Service, state plan.State) ([]byte, error) { return render(state) }
	}
	return []resource{
		{"plan://current", "current", "Current plan", "The current plan with all its steps, as JSON.", mimeJSON, ofState(resources.JSON)},
		{"plan://current.md", "current.md", "Current plan as a check list", "The current plan as Markdown.", mimeMarkdown,
			ofState(func(state plan.State) ([]byte, error) { return resources.Markdown(state), nil })},
		{"plan://current.mmd", "current.mmd", "Current plan as a graph", "The dependencies of the steps as a Mermaid flowchart.",
			mimeMermaid, ofState(func(state plan.State) ([]byte, error) { return resources.Mermaid(state), nil })},
		// The reader of the status may be a panel of the host, so this does not count as informing the agent.
		{statusURI, "status", "Status", "The reply of planloop_status, as JSON.", mimeJSON,
			func(ctx context.Context, service *verbs.Service, state plan.State) ([]byte, error) {
				reply, err := service.StatusIn(ctx, state, s.caller(ctx, service))
				if err != nil {
					return nil, err
				}
				return json.Marshal(reply)
			}},
		{"plan://plans", "plans", "All plans", "The current plan and the former ones, newest first, as JSON.", mimeJSON,
			ofState(resources.Plans)},
		{tracksURI, "tracks", "Open tracks", "The open plans of this workspace, each on a track, as JSON.", mimeJSON,
			func(ctx context.Context, service *verbs.Service, _ plan.State) ([]byte, error) {
				open, err := service.OpenTracks(ctx)
				if err != nil {
					return nil, err
				}
				return json.Marshal(map[string]any{"tracks": append([]verbs.TrackView{}, open...)})
			}},
		{"plan://log", "log", "Log", "The latest changes with their authors and times, oldest first, as JSON.", mimeJSON, s.renderLog},
		{"plan://events", "events", "Events", "The newest events of the running plan, oldest first, as JSON.", mimeJSON,
			renderEvents},
		{agentsURI, "agents.md", "Rules for agents", "The canonical rule book, as in the workspace's file for agents.",
			mimeMarkdown, func(_ context.Context, service *verbs.Service, _ plan.State) ([]byte, error) {
				return []byte(service.AgentsMD()), nil
			}},
	}
}

func (s *Server) addResources() {
	s.subscriptions.resources = []string{guideURI}
	for _, r := range s.resourceTable() {
		s.subscriptions.resources = append(s.subscriptions.resources, r.uri)
		s.MCP.AddResource(mcp.NewResource(r.uri, r.name, mcp.WithResourceTitle(r.title),
			mcp.WithResourceDescription(r.description), mcp.WithMIMEType(r.mime)), s.reading(r.mime,
			func(ctx context.Context, _ string) ([]byte, error) {
				service, state, err := s.state(ctx)
				if err != nil {
					return nil, err
				}
				return r.render(ctx, service, state)
			}))
	}
	s.MCP.AddResource(mcp.NewResource(guideURI, "planning-guide.md", mcp.WithResourceTitle("Planning guide"),
		mcp.WithResourceDescription("Advice on good tasks, the checks of the quality gates, and an example."),
		mcp.WithMIMEType(mimeMarkdown)),
		s.reading(mimeMarkdown, func(context.Context, string) ([]byte, error) { return []byte(resources.PlanningGuide()), nil }))
	s.MCP.AddResourceTemplate(mcp.NewResourceTemplate("plan://steps/{step_id}", "step",
		mcp.WithTemplateTitle("A step"), mcp.WithTemplateDescription("One step of the current plan, as JSON."),
		mcp.WithTemplateMIMEType(mimeJSON)), server.ResourceTemplateHandlerFunc(s.reading(mimeJSON, s.readStep)))
	s.MCP.AddResourceTemplate(mcp.NewResourceTemplate("plan://plans/{plan_id}", "plan",
		mcp.WithTemplateTitle("A plan"), mcp.WithTemplateDescription("One plan, current or former, with all its steps, as JSON."),
		mcp.WithTemplateMIMEType(mimeJSON)), server.ResourceTemplateHandlerFunc(s.reading(mimeJSON, s.readPlan)))
	s.MCP.AddResourceTemplate(mcp.NewResourceTemplate("plan://tracks/{name}", "track",
		mcp.WithTemplateTitle("A track"), mcp.WithTemplateDescription("The current plan of a track, as JSON."),
		mcp.WithTemplateMIMEType(mimeJSON)), server.ResourceTemplateHandlerFunc(s.reading(mimeJSON, s.readTrack)))
}

// readTrack renders the current plan of a track.
func (s *Server) readTrack(ctx context.Context, uri string) ([]byte, error) {
	service, err := s.service(ctx)
	if err != nil {
		return nil, err
	}
	if service, err = service.OnTrack(ctx, path.Base(uri)); err != nil {
		return nil, err
	}
	state, err := service.State(ctx)
	if err != nil {
		return nil, err
	}
	return resources.JSON(state)
}

// reading serves the data that load returns for a URI, on the track of the session that the request names. No hook reports reads.
func (s *Server) reading(mime string, load func(ctx context.Context, uri string) ([]byte, error)) server.ResourceHandlerFunc {
	return func(ctx context.Context, request mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		uri := request.Params.URI
		actor, connection := s.actor(ctx)
		session, _ := namedSession(request.Params.Meta)
		session = s.connections.session(connection, actor.Name, session)
		data, err := load(context.WithValue(ctx, sessionInContext{}, session), uri)
		var refused *plan.ValidationError
		switch {
		case errors.As(err, &refused):
			return nil, refused
		case err != nil:
			return nil, errors.New(s.internalError(uri, err)) // without the cause: only the part that helps
		}
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: mime, Text: string(data)}}, nil
	}
}

func (s *Server) state(ctx context.Context) (*verbs.Service, plan.State, error) {
	service, err := s.service(ctx)
	if err != nil {
		return nil, plan.State{}, err
	}
	state, err := service.State(ctx)
	return service, state, err
}

func (s *Server) readStep(ctx context.Context, uri string) ([]byte, error) {
	_, state, err := s.state(ctx)
	if err != nil {
		return nil, err
	}
	_, name := path.Split(uri)
	id, err := plan.ParseStepID(name)
	if err != nil {
		return nil, err
	}
	return resources.Step(state, id)
}

func (s *Server) readPlan(ctx context.Context, uri string) ([]byte, error) {
	service, err := s.service(ctx)
	if err != nil {
		return nil, err
	}
	_, id := path.Split(uri)
	state, err := service.PlanState(ctx, id)
	if err != nil {
		return nil, err
	}
	return resources.JSON(state)
}

// maxLogRecords is the number of latest records in plan://log.
const maxLogRecords = 50

func (s *Server) renderLog(ctx context.Context, service *verbs.Service, state plan.State) ([]byte, error) {
	records := []json.RawMessage{}
	for record, err := range service.Records(ctx, max(0, state.Revision-maxLogRecords)) {
		if err != nil {
			return nil, err
		}
		line, err := store.EncodeRecord(record)
		if err != nil {
			return nil, err
		}
		records = append(records, line)
	}
	return json.Marshal(map[string]any{"revision": state.Revision, "records": records})
}

// maxEventRecords is the number of latest records that plan://events reads.
const maxEventRecords = 500

func renderEvents(ctx context.Context, service *verbs.Service, state plan.State) ([]byte, error) {
	var events []history.Event
	after := max(0, state.Revision-maxEventRecords)
	for event, err := range service.Events(ctx, after, false) {
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	return resources.Events(state.Revision, events, after == 0)
}

// maxFormerPlans is the number of former plans in the list of resources.
const maxFormerPlans = 20

// listFormerPlans adds the latest former plans to the list of resources, so that a person can attach one to a
// conversation.
func (s *Server) listFormerPlans(ctx context.Context, _ any, _ *mcp.ListResourcesRequest, result *mcp.ListResourcesResult) {
	_, state, err := s.state(ctx)
	if err != nil {
		s.opts.Logger.Warn("former plans not listed", "error", err)
		return
	}
	former := state.FormerPlans()
	for _, head := range former[:min(len(former), maxFormerPlans)] {
		result.Resources = append(result.Resources, mcp.NewResource("plan://plans/"+head.ID, head.ID,
			mcp.WithResourceTitle(plan.Shorten(head.Objective, 80)), mcp.WithMIMEType(mimeJSON),
			mcp.WithResourceDescription(fmt.Sprintf("A former plan, %s, %d of %d steps done.", verbs.PastStatus(state, head), head.Done,
				head.Steps))))
	}
}

// maxCompletions is the protocol's limit for one answer.
const maxCompletions = 100

// completion completes the arguments of templates and prompts from the state.
type completion struct{ s *Server }

// CompletePromptArgument completes a goal, task or request with the objective of the current plan.
func (c completion) CompletePromptArgument(ctx context.Context, _ string, argument mcp.CompleteArgument,
	within mcp.CompleteContext) (*mcp.Completion, error) {
	return c.CompleteResourceArgument(ctx, "", argument, within)
}

// CompleteResourceArgument completes step and plan ids, and names of open tracks. It returns the values that start with the argument,
// ignoring case.
func (c completion) CompleteResourceArgument(ctx context.Context, _ string, argument mcp.CompleteArgument,
	_ mcp.CompleteContext) (*mcp.Completion, error) {
	service, state, err := c.s.state(ctx)
	if err != nil {
		return nil, err
	}
	values := []string{}
	switch {
	case argument.Name == "name":
		open, err := service.OpenTracks(ctx)
		if err != nil {
			return nil, err
		}
		for _, track := range open {
			values = append(values, track.Name)
		}
	case argument.Name == "plan_id":
		values = append(values, state.PlanIDs()...)
	case state.Plan == nil:
	case slices.Contains([]string{"goal", "task", "request"}, argument.Name):
		values = append(values, state.Plan.Objective)
	case argument.Name == "step_id":
		for step := range state.Plan.Steps.All() {
			values = append(values, step.ID.String())
		}
	}
	begun := argument.Value
	values = slices.DeleteFunc(values, func(value string) bool {
		return len(value) < len(begun) || !strings.EqualFold(value[:len(begun)], begun)
	})
	total := len(values)
	return &mcp.Completion{Values: values[:min(total, maxCompletions)], Total: total, HasMore: total > maxCompletions}, nil
}
