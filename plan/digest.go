package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
)

// Digest identifies what an approval binds of a plan: the objective, the summary and, of the
// steps in their order, each field that binds. What does not bind (hints, notes, progress,
// signals) does not touch it.
func Digest(p *Plan) string {
	type bound struct {
		ID     StepID
		Fields [][]string // each by its name, with its texts
	}
	form := struct {
		Objective, Summary string
		Steps              []bound
	}{Objective: p.Objective, Summary: p.Summary}
	for step := range p.Steps.All() {
		if step.Loop() != 0 {
			continue // an instance follows from its loop
		}
		if len(step.Args) > 0 && !json.Valid(step.Args) {
			return "" // equal to nothing, so never approved
		}
		form.Steps = append(form.Steps, bound{step.ID, boundFields(step, Field[Step].given)})
	}
	return digestOf(form)
}

// StepDigest identifies what an approval binds of a step, its place and number aside, and the order of what it waits for.
func StepDigest(step *Step) string { return digestOf(boundFields(step, Field[Step].Texts)) }

// HasDigest reports whether a digest of a step is that of this one: in those of the first logs the order of what it
// waits for counts.
func (step *Step) HasDigest(digest string) bool {
	return digest == StepDigest(step) || digest == digestOf(boundFields(step, Field[Step].given))
}

// boundFields is what an approval binds of a step: each field by its name, with its texts.
func boundFields(step *Step, textsOf func(Field[Step], *Step) []string) [][]string {
	var fields [][]string
	for _, f := range SpecFields() {
		if texts := textsOf(f, step); f.Binding != Unbound && len(texts) > 0 {
			fields = append(fields, slices.Concat([]string{f.Name}, texts))
		}
	}
	return fields
}

func digestOf(form any) string {
	hash := sha256.New()
	if err := json.NewEncoder(hash).Encode(form); err != nil {
		return ""
	}
	return hex.EncodeToString(hash.Sum(nil))
}
