package verbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

// Suggest is the input of Suggest (planloop: Prompt Catalog, P-3).
type Suggest struct {
	Limit int    `json:"limit,omitempty"`
	Focus string `json:"focus,omitempty"`
}

// Suggestion is a suggested task, in the contract's form.
type Suggestion struct {
	Title             string        `json:"title"`
	Type              plan.StepType `json:"type"`
	ContextHints      []string      `json:"context_hints"`
	RelevantFilePaths []string      `json:"relevant_file_paths"`
	Reason            string        `json:"reason,omitempty"`
	More              string        `json:"more,omitempty"` // counts of the parts not shown

	Line int `json:"-"` // of the first path, for excerpts; 0 for the first line
}

// SuggestReply lists tasks that are not in the plan yet, most important first.
type SuggestReply struct {
	Suggestions []Suggestion `json:"suggestions"`
	Left        int          `json:"left_off,omitempty"` // found beyond the limit
	By          string       `json:"by"`                 // planloop, or the model that refined them
	Notes       []string     `json:"notes,omitempty"`    // parts that were not examined, with reasons
	Heartbeat
}

const (
	defaultSuggestions = 10
	maxSuggestions     = 50
)

// Suggest finds work in the code, the signals and the plan itself. It changes nothing.
func (s *Service) Suggest(ctx context.Context, c Caller, in Suggest) (SuggestReply, error) {
	limit := cmp.Or(in.Limit, defaultSuggestions)
	if limit < 1 || limit > maxSuggestions {
		return SuggestReply{}, plan.Refuse(plan.InvalidInput, "/limit", fmt.Sprintf("%d cannot be listed", in.Limit),
			fmt.Sprintf("give 1 to %d", maxSuggestions))
	}
	focus, err := plan.Text{Field: "/focus", Max: plan.MaxLongLine}.Clean(in.Focus)
	if err != nil {
		return SuggestReply{}, err
	}
	if err := c.beyond(); err != nil {
		return SuggestReply{}, err
	}
	c.yield()
	state, err := s.State(ctx)
	if err != nil {
		return SuggestReply{}, err
	}
	found, notes, err := s.collectSuggestions(ctx, c, state)
	if err != nil {
		return SuggestReply{}, err
	}
	reply := SuggestReply{By: "planloop", Notes: notes, Suggestions: []Suggestion{}}
	all := withoutKnown(state, matchingFocus(found, focus))
	if model := s.opts.Model; model != nil {
		refined, err := s.refine(ctx, model, state, focus, all)
		if err == nil {
			all, reply.By = withoutKnown(state, refined), model.Name()
		} else {
			reply.Notes = append(reply.Notes, "the model could not refine the list: "+err.Error())
		}
	}
	reply.Suggestions = append(reply.Suggestions, all[:min(len(all), limit)]...)
	reply.Left = len(all) - len(reply.Suggestions)
	if c.brief() {
		reply.fit(suggestRoom)
	}
	reply.Heartbeat = s.heartbeat(state, c)
	return reply, nil
}

// Limits in tokens on the suggestions in a reply, and on one suggestion without its title.
const (
	suggestRoom    = 3_600
	suggestionRoom = 300
)

// fit keeps as many suggestions as fit into room tokens, and counts the others.
func (r *SuggestReply) fit(room int) {
	for i := range r.Notes {
		r.Notes[i] = tokens.ShortenCautiously(r.Notes[i], suggestionRoom/3, plan.MaxHint)
		room -= tokens.CountCautiously(r.Notes[i])
	}
	for i := range r.Suggestions {
		s := &r.Suggestions[i]
		s.Title = tokens.ShortenCautiously(s.Title, suggestionRoom/3, plan.MaxTitle)
		s.Reason = tokens.ShortenCautiously(s.Reason, suggestionRoom/3, plan.MaxTitle)
		parts := []tokens.Part{{Name: "path", Texts: s.RelevantFilePaths}, {Name: "hint", Texts: s.ContextHints}}
		shown, left := tokens.Fit(parts, suggestionRoom)
		s.RelevantFilePaths, s.ContextHints, s.More = list(shown[0].Texts), list(shown[1].Texts), tokens.Left(left)
		room -= suggestionFrame + tokens.CountCautiously(strings.Join(slices.Concat([]string{s.Title, s.Reason, s.More}, s.ContextHints,
			s.RelevantFilePaths), "\n"))
		if i > 0 && room < 0 {
			r.Left += len(r.Suggestions) - i
			r.Suggestions = r.Suggestions[:i]
			return
		}
	}
}

// suggestionFrame is the cost of a suggestion in tokens, without its texts.
const suggestionFrame = 40

// collectSuggestions collects suggestions from the signals, the plan and the tree, in this order.
func (s *Service) collectSuggestions(ctx context.Context, c Caller, state plan.State) ([]Suggestion, []string, error) {
	found := fromSignals(state)
	files, err := s.files()
	if err != nil {
		return nil, nil, err
	}
	if files == nil {
		return found, nil, nil
	}
	found = append(found, missingFiles(state, files)...)
	surveyed, cut, err := s.opts.Tree.Survey(ctx, func(done int) { c.progress(done, 0, "files read") })
	found = append(found, surveyed...)
	if err != nil || cut == "" {
		return found, nil, err
	}
	return found, []string{cut}, nil
}

// fromSignals suggests fixing the problems that open signals report, except signals that belong to a task of the
// plan.
func fromSignals(state plan.State) []Suggestion {
	var found []Suggestion
	for _, signal := range append(state.OpenSignals(plan.Blocker), state.OpenSignals(plan.Warning)...) {
		if state.SignalStep(signal) != 0 {
			continue
		}
		found = append(found, Suggestion{
			Title: fmt.Sprintf("Fix the problem of signal '%s'", plan.Shorten(signal.ID, titleShown)), Type: plan.Bugfix,
			ContextHints:      []string{"Read the signal: " + plan.Shorten(oneLine(signal.Message), 200)},
			RelevantFilePaths: []string{"."}, Reason: "an open " + string(signal.Level),
		})
	}
	return found
}

// missingFiles suggests correcting open steps that name missing files.
func missingFiles(state plan.State, files fs.FS) []Suggestion {
	steps, created := currentSteps(state), map[string]bool{}
	for step := range steps.All() {
		for _, path := range step.Creates {
			created[path] = true
		}
	}
	var found []Suggestion
	for step := range steps.Unfinished() {
		for _, path := range step.RelevantFilePaths {
			if created[path] || strings.ContainsAny(path, "*?[") || !fs.ValidPath(path) {
				continue
			}
			if _, err := fs.Stat(files, path); err == nil {
				continue
			}
			found = append(found, Suggestion{
				Title: fmt.Sprintf("Correct the path `%s` in %s", path, step.ID), Type: plan.Chore,
				ContextHints:      []string{"Read " + step.ID.String() + " of the plan and find the intended file."},
				RelevantFilePaths: []string{"."}, Reason: "the file does not exist",
			})
		}
	}
	return found
}

// matchingFocus keeps the suggestions that contain a word of the focus, or all if none do.
func matchingFocus(all []Suggestion, focus string) []Suggestion {
	words := strings.Fields(strings.ToLower(focus))
	kept := slices.DeleteFunc(slices.Clone(all), func(s Suggestion) bool {
		text := strings.ToLower(s.Title + " " + s.Reason + " " + strings.Join(s.RelevantFilePaths, " "))
		return !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
	})
	if len(kept) == 0 {
		return all
	}
	return kept
}

// withoutKnown drops suggestions that are already in the plan or repeated.
func withoutKnown(state plan.State, all []Suggestion) []Suggestion {
	seen := map[string]bool{}
	for step := range currentSteps(state).All() {
		if !step.Status.IsFinished() {
			seen[plan.FoldTitle(step.Title)] = true
		}
	}
	kept := []Suggestion{}
	for _, s := range all {
		if key := plan.FoldTitle(s.Title); key != "" && !seen[key] {
			seen[key] = true
			kept = append(kept, s)
		}
	}
	return kept
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func (r SuggestReply) Text() string {
	var b strings.Builder
	if len(r.Suggestions) == 0 {
		b.WriteString("No new suggestions by " + r.By)
	} else {
		fmt.Fprintf(&b, "%s by %s", plan.Pluralize(len(r.Suggestions), "suggestion"), r.By)
		if r.Left > 0 {
			fmt.Fprintf(&b, ", %d more were found", r.Left)
		}
	}
	for i, s := range r.Suggestions {
		fmt.Fprintf(&b, "\n%d. [%s] %s", i+1, s.Type, s.Title)
		b.WriteString(inBrackets(strings.Join(s.RelevantFilePaths, ", ")))
		b.WriteString(prefixed(": ", s.Reason) + prefixedAll("\n   - ", s.ContextHints))
		if s.More != "" {
			b.WriteString("\n   (" + s.More + " more)")
		}
	}
	return r.under(b.String() + prefixedAll("\nNote: ", r.Notes))
}

// refine asks a model to improve the suggestions, with a view of the tree. Its answer is cleaned like any input;
// suggestions that name missing files are dropped.
func (s *Service) refine(ctx context.Context, model Model, state plan.State, focus string, found []Suggestion) ([]Suggestion, error) {
	answer, err := model.Ask(ctx, prompts.SuggestTasks(s.suggestData(ctx, state, focus, found)))
	if err != nil {
		return nil, err
	}
	var given struct {
		Suggestions []Suggestion `json:"suggestions"`
	}
	if err := Decode(answer, &given); err != nil {
		return nil, err
	}
	var kept []Suggestion
	for _, suggestion := range given.Suggestions[:min(len(given.Suggestions), maxSuggestions)] {
		if clean, ok := s.cleanSuggestion(suggestion); ok {
			kept = append(kept, clean)
		}
	}
	return kept, nil
}

func (s *Service) cleanSuggestion(in Suggestion) (Suggestion, bool) {
	fields := TaskFields{Title: &in.Title, ContextHints: &in.ContextHints, RelevantFilePaths: &in.RelevantFilePaths}
	if in.Type != "" {
		fields.Type = &in.Type
	}
	patch, wrongField := fields.patch("")
	reason, wrongReason := plan.Text{Max: plan.MaxLongLine, Multiline: true}.Clean(in.Reason)
	spec := patch.Apply(plan.Spec{})
	files, unread := s.files()
	missing := func(path string) bool {
		_, err := fs.Stat(files, path)
		return err != nil
	}
	wrong := errors.Join(wrongField, wrongReason, unread) != nil
	if wrong || files != nil && slices.ContainsFunc(spec.RelevantFilePaths, missing) {
		return Suggestion{}, false
	}
	return Suggestion{Title: spec.Title, Type: spec.Type, ContextHints: spec.ContextHints, RelevantFilePaths: spec.RelevantFilePaths,
		Reason: oneLine(reason)}, true
}

func (s *Service) suggestData(ctx context.Context, state plan.State, focus string, found []Suggestion) prompts.SuggestData {
	data := prompts.SuggestData{Focus: focus}
	if p := state.Plan; p != nil {
		data.Goal = p.Objective
		for step := range p.Steps.All() {
			data.Tasks = append(data.Tasks, step.Title)
		}
	}
	for _, f := range found {
		data.Marks = append(data.Marks, f.Title)
	}
	if s.opts.Tree != nil {
		if tree, err := s.opts.Tree.Summary(ctx); err == nil { // an unreadable tree is left out
			data.Tree = tree
		}
		data.Files = append(s.excerpts(found), s.documents(filesNamed(data.Goal+" "+focus))...)
	}
	return data
}

// Limits on the excerpts in the prompt suggest_tasks: their number, and lines.
const (
	excerptsShown = 12
	excerptBefore = 5
	excerptLines  = 25
	excerptRead   = 256 << 10 // bytes of one file
)

func (s *Service) excerpts(found []Suggestion) []prompts.Document {
	var all []prompts.Document
	for _, f := range found {
		if len(all) == excerptsShown {
			break
		}
		if len(f.RelevantFilePaths) == 0 {
			continue
		}
		path := f.RelevantFilePaths[0]
		text, ok := s.opts.Tree.Document(path, excerptRead)
		lines := strings.Split(text, "\n")
		from := max(0, min(f.Line-1, len(lines)-1)-excerptBefore)
		lines = lines[from:min(len(lines), from+excerptLines)]
		label := fmt.Sprintf("%s, lines %d to %d", path, from+1, from+len(lines))
		if ok && !slices.ContainsFunc(all, func(d prompts.Document) bool { return d.Path == label }) {
			all = append(all, prompts.Document{Path: label, Text: strings.Join(lines, "\n")})
		}
	}
	return all
}
