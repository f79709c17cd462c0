package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

const (
	askKey      = "planloop"       // key of the only question in a request for input
	maxAskTime  = 10 * time.Minute // how long to wait for a client of the handshake revisions
	maxStateAge = 30 * time.Minute // how long a sealed request state is valid
	wordApprove = "approve"
	wordEdit    = "edit"
	wordReject  = "reject"
	wordRestore = "restore"
	wordAccept  = "accept"

	maxQuoted = 40 // characters of an invalid decision to quote
)

// elicitation is one question to the user through the host, in either protocol era. With the handshake revisions
// the call waits for the answer; in the stateless one the client's next call brings it.
type elicitation struct {
	toolCall
	question *verbs.Ask
	reply    verbs.Reply // of the call that asked; nil if the client has called again
}

// canAsk reports whether the user can be asked through the client and the answer counts.
func (s *Server) canAsk(ctx context.Context) bool {
	can := capabilities[server.SessionWithElicitation](ctx).Elicitation
	declared := can != nil && (can.Form != nil || can.URL == nil) // no mode means forms; only URLs means no forms
	return declared && !s.agentControlled(ctx)
}

func (s *Server) agentControlled(ctx context.Context) bool {
	return s.opts.AgentControlled != nil && s.opts.AgentControlled(ctx)
}

// asUser returns the caller as a user speaking through the client. If the client's users do not count,
// the caller stays the agent.
func (s *Server) asUser(ctx context.Context, caller verbs.Caller) verbs.Caller {
	if !s.agentControlled(ctx) {
		caller.Actor = caller.Actor.WithChannel(plan.ChannelClient)
	}
	return caller
}

// capabilities returns the client's capabilities. In the handshake revisions they count only if its session is an
// S, which can carry the request.
func capabilities[S any](ctx context.Context) mcp.ClientCapabilities {
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		if info.ClientCapabilities == nil {
			return mcp.ClientCapabilities{}
		}
		return *info.ClientCapabilities
	}
	session := server.ClientSessionFromContext(ctx)
	known, ok := session.(server.SessionWithClientInfo)
	if _, can := session.(S); !ok || !can {
		return mcp.ClientCapabilities{}
	}
	return known.GetClientCapabilities()
}

// start asks the user and returns the result of the call: the user's decision, or the unchanged reply if the
// user cannot be asked.
func (d elicitation) start(ctx context.Context) *mcp.CallToolResult {
	if !d.canAsk(ctx) {
		d.recordUndecided(ctx, "unsupported")
		return d.unanswered(ctx)
	}
	return d.ask(ctx)
}

func (d elicitation) ask(ctx context.Context) *mcp.CallToolResult {
	if server.IsModernRequest(ctx) {
		return d.inputRequired(ctx)
	}
	return d.wait(ctx)
}

func (d elicitation) form() mcp.ElicitationParams {
	field := func(title, description string, options ...string) map[string]any {
		f := map[string]any{"type": "string", "title": title}
		if description != "" {
			f["description"] = description
		}
		if len(options) > 0 {
			f["enum"] = options
		}
		return f
	}
	message, required, fields := d.question.Message, "decision", map[string]any{}
	switch {
	case d.question.Question != "" || d.question.Kind == plan.AskPause:
		required, fields["answer"] = "answer", field("Your answer", "")
	case d.question.Step != 0:
		message += "\nRun this step? It waits for your decision."
		fields["decision"] = field("Decision", "reject: the step is skipped", wordApprove, wordReject)
		fields["comment"] = field("Comment", "")
	default:
		message += "\nApprove this plan? Nothing of it is done until you do."
		fields["decision"] = field("Decision", "edit: the agent revises it as your comment asks; reject: nothing of it is done",
			wordApprove, wordEdit, wordReject)
		fields["comment"] = field("Comment", "required for edit")
		if d.question.Undone {
			fields["edits"] = field("Your undone edits", "restore: they are put back, and you are asked again", wordRestore, wordAccept)
		}
	}
	return mcp.ElicitationParams{Mode: mcp.ElicitationModeForm, Message: message, RequestedSchema: map[string]any{
		"type": "object", "required": []string{required}, "properties": fields}}
}

// inputRequired answers a stateless call with the question. The state that travels with it is sealed and
// bound to the content shown.
func (d elicitation) inputRequired(ctx context.Context) *mcp.CallToolResult {
	if d.opts.Sealer == nil {
		return d.unanswered(ctx)
	}
	state, step := "", ""
	if d.question.Step != 0 {
		step = fmt.Sprintf("%d %d %s", int(d.question.Step), d.question.Attempt, d.question.Kind)
	}
	sealer, err := d.opts.Sealer()
	log, unread := d.service.LogID(ctx)
	if err = cmp.Or(err, unread); err == nil {
		state, err = sealer.Seal(SealClaims{By: clientName(d.caller), Log: log, Tool: d.row.Name,
			Arguments: Fingerprint(d.request.Params.RawArguments),
			Request:   d.question.Request, Question: d.question.Question, Step: step, Digest: d.question.Digest,
			Expires: time.Now().Add(maxStateAge)})
	}
	if err != nil {
		d.opts.Logger.Error("the user is not asked", "error", err)
		return d.unanswered(ctx)
	}
	return server.NewInputRequestBuilder(state).Elicit(askKey, d.form()).ToolResult()
}

// clientName returns the name that a request's state is bound to: the client's name without its connection, which
// ends with the server. The server may restart while the user thinks.
func clientName(caller verbs.Caller) string {
	name, _, _ := strings.Cut(caller.Actor.Name, "#")
	return name
}

// wait asks a client of the handshake revisions. It waits until the user answers, the question is settled
// another way, or maxAskTime has passed.
func (d elicitation) wait(ctx context.Context) *mcp.CallToolResult {
	ctx, cancel := context.WithTimeout(ctx, maxAskTime)
	defer cancel()
	changes, err := d.service.Watch(ctx)
	if err != nil {
		d.opts.Logger.Warn("decisions made elsewhere cannot be watched for", "error", err)
	}
	if d.isSettled(ctx) { // already settled before the watch began
		return d.status(ctx)
	}
	d.opts.Yield(ctx)
	type answer struct {
		result *mcp.ElicitationResult
		err    error
	}
	answers := make(chan answer, 1)
	go func() { // ends with the answer or with ctx
		result, err := d.MCP.RequestElicitation(ctx, mcp.ElicitationRequest{
			Request: mcp.Request{Method: string(mcp.MethodElicitationCreate)}, Params: d.form()})
		answers <- answer{result, err}
	}()
	for {
		select {
		case a := <-answers:
			if a.err != nil {
				d.recordUndecided(context.WithoutCancel(ctx), failure(a.err))
				return d.undecided(ctx)
			}
			return d.answered(context.WithoutCancel(ctx), a.result)
		case _, open := <-changes:
			if !open {
				changes = nil
			}
			if d.isSettled(ctx) {
				return d.status(ctx)
			}
		}
	}
}

func failure(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "timed_out"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return "failed"
}

// isSettled reports whether the question was settled another way.
func (d elicitation) isSettled(ctx context.Context) bool {
	if d.question.Step != 0 {
		open, err := d.service.StepAsks(ctx, d.caller, d.question)
		return err == nil && open == nil
	}
	state, err := d.service.State(ctx)
	if err != nil {
		return false
	}
	if d.question.Question != "" {
		return !slices.ContainsFunc(state.OpenQuestions(), func(q plan.Question) bool { return q.ID == d.question.Question })
	}
	request := state.ModeNow().Request
	return request == nil || request.ID != d.question.Request
}

func (d elicitation) status(ctx context.Context) *mcp.CallToolResult {
	if d.question.Step != 0 {
		return d.callVerb(ctx) // the run continues
	}
	reply, err := d.service.Status(context.WithoutCancel(ctx), d.caller, verbs.Status{})
	return d.result(ctx, reply, err)
}

// unanswered answers with the reply of the call when the user gave no valid answer.
func (d elicitation) unanswered(ctx context.Context) *mcp.CallToolResult {
	switch {
	case d.reply != nil && d.question.Step == 0:
		return d.result(ctx, d.reply, nil)
	case d.row.ReadOnly: // a status call that asked again
		return d.status(ctx)
	}
	return d.stillOpen(ctx, "")
}

// undecided answers after a dialogue that ended without a valid answer. If a plan waits, the agent must stop.
func (d elicitation) undecided(ctx context.Context) *mcp.CallToolResult {
	switch {
	case d.question.Request == "":
		return d.unanswered(ctx)
	case d.row.ReadOnly:
		reply, err := d.service.Status(context.WithoutCancel(ctx), d.caller, verbs.Status{Waited: true})
		return d.result(ctx, reply, err)
	}
	return d.stillOpen(ctx, "")
}

// stillOpen answers with the reply of the call that asked, preceded by the error in the user's answer.
func (d elicitation) stillOpen(ctx context.Context, wrong string) *mcp.CallToolResult {
	reply, err := d.service.Unanswered(context.WithoutCancel(ctx), d.caller, d.question, wrong)
	return d.result(ctx, reply, err)
}

// answered records the user's answer. Declining or closing a dialog decides nothing: some hosts do so without
// asking the user.
func (d elicitation) answered(ctx context.Context, result *mcp.ElicitationResult) *mcp.CallToolResult {
	how := "failed"
	switch {
	case result == nil:
	case result.Action == mcp.ElicitationResponseActionDecline:
		how = "declined"
	case result.Action == mcp.ElicitationResponseActionCancel:
		how = "cancelled"
	case result.Action == mcp.ElicitationResponseActionAccept:
		content, _ := result.Content.(map[string]any)
		if d.question.Step != 0 {
			return d.answeredStep(ctx, content)
		}
		if reply, err := d.record(ctx, content); err != nil && d.isOutdated(ctx) {
			return d.repeat(ctx)
		} else if reply != nil || err != nil {
			return d.result(ctx, reply, err)
		}
		if d.question.Request != "" {
			d.recordUndecided(ctx, "invalid")
			problem := "no decision"
			if word, _ := content["decision"].(string); word != "" {
				problem = "the invalid decision " + plan.Quote(plan.Shorten(word, maxQuoted))
			}
			return d.stillOpen(ctx, "The user's form has "+problem+", so nothing was decided; ask the user.")
		}
	}
	d.recordUndecided(ctx, how)
	return d.undecided(ctx)
}

// isOutdated reports whether the plan that the user saw still waits but was changed by a person since.
func (d elicitation) isOutdated(ctx context.Context) bool {
	state, err := d.service.State(ctx)
	return err == nil && d.question.Request != "" && !d.isSettled(ctx) && plan.Digest(state.Draft) != d.question.Digest
}

// record records the user's answer. It returns nil if the answer is not valid: a client need not follow the
// form.
func (d elicitation) record(ctx context.Context, content map[string]any) (verbs.Reply, error) {
	confirmed := d.asUser(ctx, d.caller)
	if d.question.Question != "" {
		text, _ := content["answer"].(string)
		if strings.TrimSpace(text) == "" {
			return nil, nil
		}
		return d.service.Answer(ctx, confirmed, d.question.Question, text)
	}
	word, _ := content["decision"].(string)
	comment, _ := content["comment"].(string)
	outcome, ok := map[string]plan.Outcome{wordApprove: plan.Approved, wordEdit: plan.Returned, wordReject: plan.Rejected}[word]
	settle, _ := content["edits"].(string)
	if !ok && settle != wordRestore {
		return nil, nil
	}
	if settle == wordRestore || settle == wordAccept { // a restored edit changes the plan, so that the decision is refused and asked again
		in := verbs.SettleUndone{Digest: d.question.Digest, Accept: settle == wordAccept}
		if _, err := d.service.SettleUndone(ctx, confirmed, in); err != nil {
			return nil, err
		}
	}
	return d.service.Decide(ctx, confirmed, plan.DecideDraft{Outcome: outcome, Request: d.question.Request, Digest: d.question.Digest,
		Comment: comment})
}

// recordUndecided records that the client brought no decision. A failure to record it does not fail the call.
func (d elicitation) recordUndecided(ctx context.Context, how string) {
	if d.question.Request == "" {
		return
	}
	if err := d.service.RecordNoDecision(ctx, d.caller, d.question.Request, how); err != nil {
		d.opts.Logger.Warn("could not record the missing decision", "error", err)
	}
}

// resume continues a stateless call that comes back with the user's answer. The state that it brings is
// untrusted until it is unsealed.
func (c toolCall) resume(ctx context.Context) *mcp.CallToolResult {
	refuse := func() *mcp.CallToolResult {
		return mcp.NewToolResultError("Nothing was decided: " + ErrSealInvalid.Error() + ". Call planloop_status for the current state.")
	}
	if c.opts.Sealer == nil {
		return refuse()
	}
	sealer, err := c.opts.Sealer()
	log, unread := c.service.LogID(ctx)
	if err = cmp.Or(err, unread); err != nil {
		return mcp.NewToolResultError(c.internalError(c.row.Name, err))
	}
	claims, err := sealer.Unseal(c.request.Params.RequestState)
	if err != nil || claims.By != clientName(c.caller) || claims.Log != log || claims.Tool != c.row.Name ||
		claims.Arguments != Fingerprint(c.request.Params.RawArguments) {
		return refuse()
	}
	ask := &verbs.Ask{Request: claims.Request, Digest: claims.Digest, Question: claims.Question}
	var step int
	if n, err := fmt.Sscanf(claims.Step, "%d %d %s", &step, &ask.Attempt, (*string)(&ask.Kind)); err == nil && n == 3 {
		ask.Step = plan.StepID(step)
	}
	d := elicitation{toolCall: c, question: ask}
	if d.isSettled(ctx) {
		return d.status(ctx)
	}
	if !time.Now().Before(claims.Expires) {
		return d.repeat(ctx)
	}
	return d.answered(ctx, server.ElicitationResponse(c.request.Params.InputResponses, askKey))
}

// repeat asks an open question again: the answer came too late, or was about an earlier version.
func (d elicitation) repeat(ctx context.Context) *mcp.CallToolResult {
	if d.question.Step != 0 {
		return d.status(ctx) // which asks the open question
	}
	state, former, err := d.service.Draft(ctx)
	if err != nil {
		return d.result(ctx, nil, err)
	}
	if d.question.Question == "" && state.ModeNow().Request != nil { // in case it was decided just now
		d.question = d.service.AskToDecide(ctx, state, former)
	}
	for _, q := range state.OpenQuestions() {
		if q.ID == d.question.Question {
			d.question.Message = q.Text
		}
	}
	if d.question.Message != "" && d.canAsk(ctx) {
		return d.ask(ctx)
	}
	return d.unanswered(ctx)
}

// answeredStep records the user's answer for a step and continues the run.
func (d elicitation) answeredStep(ctx context.Context, content map[string]any) *mcp.CallToolResult {
	answer := verbs.StepAnswer{Step: d.question.Step, Digest: d.question.Digest}
	word, _ := content["decision"].(string)
	if d.question.Kind == plan.AskPause {
		answer.Text, _ = content["answer"].(string)
		answer.Choice = plan.Reply
	} else {
		answer.Text, _ = content["comment"].(string)
		answer.Choice = map[string]plan.Choice{wordApprove: plan.Approve, wordReject: plan.Deny}[word]
	}
	if answer.Choice == "" || answer.Choice == plan.Reply && strings.TrimSpace(answer.Text) == "" {
		return d.unanswered(ctx)
	}
	if _, err := d.service.AnswerStep(ctx, d.asUser(ctx, d.caller), answer); err != nil {
		return d.result(ctx, nil, err)
	}
	return d.status(ctx)
}
